# gemini-cli, on top of lib.sh.
#
#   npm install --prefix $CAPTURE_DIR/gemini @google/gemini-cli
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

# gemini_seed: a configuration without dialogs, updates and statistics.
gemini_seed() {
	mkdir -p "$H/.gemini"
	cat >"$H/.gemini/settings.json" <<-X
		{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},
		 "privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},
		 "general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},
		 "ui":{"hideTips":true,"hideBanner":true}}
	X
}
GEMINI="node $CAPTURE_DIR/gemini/node_modules/@google/gemini-cli/bundle/gemini.js"
GEMINI_ENV=(GEMINI_API_KEY=dummy "GOOGLE_GEMINI_BASE_URL=$URL" GEMINI_CLI_TRUST_WORKSPACE=true)

# gemini_p ARGS...: one headless run.
gemini_p() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${GEMINI_ENV[@]}" timeout 110 $GEMINI -m gemini-2.5-pro --approval-mode yolo "$@" </dev/null
}
