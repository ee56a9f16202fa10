# Helpers for pi: one process in RPC mode, JSON lines in and out.
#
#   npm install --prefix $CAPTURE_DIR/pi @earendil-works/pi-coding-agent
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
PI="${PI:-$CAPTURE_DIR/pi/node_modules/@earendil-works/pi-coding-agent/dist/cli.js}"

# LONG is longer than what pi_seed 40 keeps of the newest messages.
LONG='a prompt that is long enough to reach over the few tokens which this configuration keeps of the newest messages, so that whatever stands before it becomes a part of the summary'

# pi_seed KEEP [COMPAT]: a configuration with the scripted model in three
# protocols, with KEEP tokens kept by a compaction.
pi_seed() {
	mkdir -p "$H/.pi/agent"
	echo "{\"compaction\":{\"enabled\":true,\"reserveTokens\":16384,\"keepRecentTokens\":$1}}" >"$H/.pi/agent/settings.json"
	local model='"name":"mock","reasoning":false,"input":["text"],"contextWindow":100000,"maxTokens":8000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}'
	provider() { printf '"%s":{"baseUrl":"%s","api":"%s","apiKey":"dummy","compat":{%s},"models":[{"id":"mock-model",%s}]}' "$1" "$URL$2" "$3" "$COMPAT" "$model"; }
	COMPAT="${2:-}"
	echo "{\"providers\":{$(provider chat /v1 openai-completions),$(provider responses /v1 openai-responses),$(provider messages '' anthropic-messages)}}" >"$H/.pi/agent/models.json"
}

# pi_start PROTOCOL ARGS...: the process; pi_stop ends it.
pi_start() {
	local protocol="$1"
	shift
	coproc PI_RPC { exec env -i HOME="$H" "${BASE_ENV[@]}" PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1 timeout 200 \
		node "$PI" --provider "$protocol" --model mock-model --mode rpc "$@" 2>>err.txt; }
	PI_PID=$PI_RPC_PID
	pi_do '{"type":"get_state"}' get_state
}
pi_stop() { kill "$PI_PID"; wait "$PI_PID" 2>/dev/null || true; }

pi_send() { echo "$1" >&"${PI_RPC[1]}"; }
# pi_await PATTERN: read until a line matches; it is left in LINE.
pi_await() {
	while read -r -t 40 LINE <&"${PI_RPC[0]}"; do
		echo "$LINE" >>out.txt
		[[ "$LINE" =~ $1 ]] && return 0
	done
	echo "pi: no $1 came" >&2
	return 1
}
# pi_do JSON COMMAND: a command and its response.
pi_do() { pi_send "$1"; pi_await "\"type\":\"response\",\"command\":\"$2\""; }
# pi_idle: until no answer and no compaction is under way. A compaction begins a
# moment after the end of the answer.
pi_idle() {
	sleep 0.5
	until pi_do '{"type":"get_state"}' get_state && [[ "$LINE" == *'"isStreaming":false,"isCompacting":false'* ]]; do sleep 0.2; done
}
# pi_say TEXT: one prompt, its answer, and what follows by itself.
pi_say() { pi_send "{\"type\":\"prompt\",\"message\":\"$1\"}"; pi_await '"type":"agent_end"'; pi_idle; }
pi_compact() { pi_do '{"type":"compact"}' compact; }
