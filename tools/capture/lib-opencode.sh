# Helpers for opencode: its server, driven over HTTP.
#
#   npm install --prefix $CAPTURE_DIR/opencode opencode-ai
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
OPENCODE="${OPENCODE:-$CAPTURE_DIR/opencode/node_modules/opencode-linux-x64/bin/opencode}"
OPENCODE_PORT=$((PORT + 50))
# No registry: the server would install its plugin package before it answers.
OPENCODE_ENV=(OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
	npm_config_registry=http://127.0.0.1:1 npm_config_fetch_retries=0)

# opencode_seed [FIELDS [NPM [BASE]]]: a configuration with the scripted model,
# further FIELDS of JSON, and another package of the AI SDK at another base.
opencode_seed() {
	mkdir -p "$H/.config/opencode"
	cat >"$H/.config/opencode/opencode.json" <<-X
		{"autoupdate":false,"share":"disabled","snapshot":false,${1:-}
		 "model":"mock/mock-model","small_model":"mock/mock-small",
		 "provider":{"mock":{"npm":"${2:-@ai-sdk/openai-compatible}","name":"mock","options":{"baseURL":"$URL${3:-/v1}","apiKey":"dummy"},
		 "models":{"mock-model":{"name":"mock","limit":{"context":100000,"output":8000}},
		  "mock-small":{"name":"small","limit":{"context":100000,"output":8000}}}}}}
	X
}

# opencode_start: the server, until it answers. It never answers what is asked
# while it starts.
opencode_start() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${OPENCODE_ENV[@]}" timeout 300 "$OPENCODE" serve --port "$OPENCODE_PORT" >>"$CAPTURE_DIR/captures/opencode-serve.log" 2>&1 &
	SERVER=$!
	until OC_WAIT=3 oc GET /session >/dev/null; do sleep 0.3; done
}
opencode_stop() { kill "$SERVER"; wait "$SERVER" 2>/dev/null || true; }

# oc METHOD PATH [BODY]: one call of the server's API.
oc() {
	curl -sf -m "${OC_WAIT:-90}" -X "$1" "http://127.0.0.1:$OPENCODE_PORT$2?directory=$WS" -H 'Content-Type: application/json' ${3:+-d "$3"}
}

# opencode_new: the id of a new session. opencode_fork ID: of a fork.
opencode_new() { oc POST /session '{}' | opencode_id; }
opencode_fork() { oc POST "/session/$1/fork" '{}' | opencode_id; }
opencode_id() { grep -oE 'ses_[A-Za-z0-9]+' | head -1; }

# opencode_say ID TEXT [FIELDS]: one prompt, until its answer is complete.
opencode_say() {
	oc POST "/session/$1/message" "{${3:-}\"model\":{\"providerID\":\"mock\",\"modelID\":\"mock-model\"},\"parts\":[{\"type\":\"text\",\"text\":\"$2\"}]}" >>out.txt
}
opencode_compact() { oc POST "/session/$1/summarize" '{"providerID":"mock","modelID":"mock-model"}' >>out.txt; }

# opencode_pending KIND: the id of the question or permission that is waited for.
opencode_pending() {
	local id=""
	for _ in $(seq 1 100); do
		id=$(oc GET "/$1" | grep -oE '"(que|per)_[A-Za-z0-9]+' | head -1 | cut -c2-)
		[ -n "$id" ] && break
		sleep 0.2
	done
	echo "$id"
}

# opencode_requests: how many were captured. opencode_until N: wait for the Nth.
opencode_requests() { ls "$CAP" | grep -c POST; }
opencode_until() { for _ in $(seq 1 150); do [ "$(opencode_requests)" -ge "$1" ] && break; sleep 0.2; done; }

# opencode_protocol: what differs between the protocols, in one short session.
opencode_protocol() {
	opencode_start
	SID=$(opencode_new)
	mark first
	script '[{"tools":[{"name":"todowrite","input":{"todos":[{"content":"alpha","status":"in_progress","priority":"high"}]}},{"name":"bash","input":{"command":"echo hi","description":"say hi"}}]},{"text":"todos made"}]'
	opencode_say "$SID" 'make todos'
	mark second
	opencode_say "$SID" 'second prompt'
	mark subagent
	script '[{"tools":[{"name":"task","input":{"description":"one","prompt":"subagent: one","subagent_type":"general"}}]},{"text":"one done"},{"text":"understood"}]'
	opencode_say "$SID" 'start a subagent'
	mark manual-1
	opencode_compact "$SID"
	opencode_say "$SID" 'first prompt after the compaction'
	mark auto-in-turn
	script '[{"tools":[{"name":"bash","input":{"command":"echo hi","description":"say hi"}}],"usage":99000},{"text":"said hi"}]'
	opencode_say "$SID" 'say hi'
	mark fork
	opencode_say "$(opencode_fork "$SID")" 'prompt in a fork'
	opencode_stop
}
