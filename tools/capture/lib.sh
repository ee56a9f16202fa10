# Helpers of the capture scripts. Everything is kept under $CAPTURE_DIR: the
# installed agents, one HOME and one workspace for each run, and the captures.
# Nothing leaves loopback and every key is a dummy.
#
#   npm install --prefix $CAPTURE_DIR/claude @anthropic-ai/claude-code
#   npm install --prefix $CAPTURE_DIR/codex  @openai/codex
#   go build -o $CAPTURE_DIR/mock ./tools/capture/mock
set -u
: "${CAPTURE_DIR:?set it to a directory outside the repository}"
PORT="${PORT:-9301}"
URL="http://127.0.0.1:$PORT"
CLAUDE="${CLAUDE:-$CAPTURE_DIR/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude}"
CODEX="${CODEX:-$(find -L "$CAPTURE_DIR/codex" -type f -name codex -perm -u+x 2>/dev/null | head -1)}"

# begin NAME: a fresh HOME, workspace and capture directory, and the mock.
begin() {
	H="$CAPTURE_DIR/home/$1" WS="$CAPTURE_DIR/ws/$1" CAP="$CAPTURE_DIR/captures/$1"
	rm -rf "$H" "$WS" "$CAP"
	mkdir -p "$H" "$WS" "$CAP" "$CAPTURE_DIR/screens/$1"
	SCREENS="$CAPTURE_DIR/screens/$1"
	cd "$WS" && git init -q .
	"$CAPTURE_DIR/mock" -addr "127.0.0.1:$PORT" -dir "$CAP" >"$CAPTURE_DIR/captures/$1.log" 2>&1 &
	MOCK=$!
	until curl -s "$URL/ready" >/dev/null; do sleep 0.1; done
	rm -f "$CAP"/*
}
end() { kill "$MOCK"; wait "$MOCK" 2>/dev/null || true; }

script() { curl -s "$URL/__script" --data-binary @- <<<"$1" >/dev/null; }
mark() { curl -s "$URL/__mark" -d "$1" >/dev/null; }

BASE_ENV=(PATH=/usr/local/bin:/usr/bin:/bin TERM=xterm-256color LANG=C.UTF-8
	NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost)
CLAUDE_ENV=(IS_SANDBOX=1 "ANTHROPIC_BASE_URL=$URL" ANTHROPIC_AUTH_TOKEN=dummy
	DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1)

# claude_p ARGS...: one headless run.
claude_p() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${CLAUDE_ENV[@]}" timeout 60 "$CLAUDE" \
		--model claude-sonnet-4-5 --permission-mode bypassPermissions -p "$@" </dev/null
}

# claude_seed: no first-run dialogs.
claude_seed() {
	cat >"$H/.claude.json" <<-X
		{"hasCompletedOnboarding":true,"theme":"dark","bypassPermissionsModeAccepted":true,
		 "projects":{"$WS":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}
	X
}

# tui COMMAND...: start it in a terminal of its own.
tui() {
	TMUX_NAME="capture-$PORT"
	tmux -L "$TMUX_NAME" new-session -d -s t -x 150 -y 60 "env -i HOME=$H ${BASE_ENV[*]} $*"
	STEP=0
	settle
}
tui_end() { tmux -L "$TMUX_NAME" kill-server; }
keys() { tmux -L "$TMUX_NAME" send-keys -t t "$@"; }
screen() { tmux -L "$TMUX_NAME" capture-pane -p -t t; }

# settle: until neither the screen nor the captures change for two seconds;
# what is seen then is kept as a text file.
settle() {
	local last="" now="" same=0
	for _ in $(seq 1 60); do
		sleep 0.5
		now="$(screen | md5sum) $(ls "$CAP" | wc -l)"
		if [ "$now" = "$last" ]; then same=$((same + 1)); else same=0; fi
		last="$now"
		[ "$same" -ge 4 ] && break
	done
	STEP=$((STEP + 1))
	screen >"$SCREENS/$(printf %02d "$STEP").txt"
}

# interrupt TEXT: type it, send it, and press Escape while it is at work.
interrupt() { keys -l "$1"; sleep 0.6; keys Enter; sleep 3; press Escape; }
# say TEXT: type it, send it, wait.
say() { keys -l "$1"; sleep 0.6; keys Enter; settle; }
# shows TEXT: until it stands on the screen, for a minute at most.
shows() {
	for _ in $(seq 1 120); do
		screen | grep -qF "$1" && return
		sleep 0.5
	done
}
# press KEY...: one after the other, then wait.
press() { for k in "$@"; do keys "$k"; sleep 0.4; done; settle; }

# codex_seed [LINE...]: a configuration with the scripted model, the plan tool
# on, and no first-run dialogs or daemons.
codex_seed() {
	mkdir -p "$H/.codex"
	cat >"$H/.codex/config.toml" <<-X
		model = "gpt-5.5"
		model_provider = "mock"
		check_for_update_on_startup = false
		[model_providers.mock]
		name = "mock"
		base_url = "$URL/v1"
		env_key = "MOCK_KEY"
		wire_api = "responses"
		[features]
		daemon_auto_start = false
		[tools]
		update_plan = { enabled = true }
		[analytics]
		enabled = false
		[projects."$WS"]
		trust_level = "trusted"
	X
}
CODEX_ENV=(MOCK_KEY=dummy)

# codex_exec ARGS...: one headless run.
codex_exec() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${CODEX_ENV[@]}" timeout 90 "$CODEX" exec \
		--skip-git-repo-check --sandbox danger-full-access "$@" </dev/null
}

# codex_session: the id of the first session of this HOME.
codex_session() {
	find "$H/.codex/sessions" -name '*.jsonl' | sort | head -1 | grep -oE '[0-9a-f]{8}-[0-9a-f-]{27}'
}

# leftovers: end what an agent left running, daemons too: all of this HOME. A
# client that is about to end starts its daemon anew, so look more than once.
leftovers() {
	local p
	for _ in 1 2 3 4 5 6; do
		for p in $(pgrep -f "$CAPTURE_DIR"); do
			tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx "HOME=$H" && kill "$p"
		done
		sleep 0.5
	done
}
