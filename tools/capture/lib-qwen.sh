# qwen-code, on top of lib.sh.
#
#   npm install --prefix $CAPTURE_DIR/qwen @qwen-code/qwen-code
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

# qwen_seed: a configuration without dialogs, updates and statistics.
qwen_seed() {
	mkdir -p "$H/.qwen"
	cat >"$H/.qwen/settings.json" <<-X
		{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false},
		 "telemetry":{"enabled":false},"general":{"enableAutoUpdate":false},"model":{"name":"qwen3-coder-plus"}}
	X
}
QWEN="node $CAPTURE_DIR/qwen/node_modules/@qwen-code/qwen-code/cli.js"
QWEN_ENV=(OPENAI_API_KEY=dummy "OPENAI_BASE_URL=$URL/v1" OPENAI_MODEL=qwen3-coder-plus)

# qwen_p ARGS...: one headless run.
qwen_p() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${QWEN_ENV[@]}" timeout 90 $QWEN --yolo --auth-type openai "$@" </dev/null
}
