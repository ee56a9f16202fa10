#!/bin/bash
# fixtures.sh: the captures under $CAPTURE_DIR become the fixtures of one
# version. $CLAUDE_VERSION and $CODEX_VERSION say which; leave one out to leave
# that agent out.
set -eu
: "${CAPTURE_DIR:?set it to the directory that was captured into}"
cd "$(dirname "$(readlink -f "$0")")/../.."
sequence() { # RUN FOLDER
	rm -rf "testdata/wire/$2"
	go run ./tools/fixture -in "$CAPTURE_DIR/captures/$1" -out "testdata/wire/$2"
}
if [ -n "${CLAUDE_VERSION:-}" ]; then
	sequence claude-tasks "claude-code-$CLAUDE_VERSION/task-tools"
	sequence claude-todos "claude-code-$CLAUDE_VERSION/todowrite-auto-compact"
	sequence claude-todos-off "claude-code-$CLAUDE_VERSION/todowrite-off"
	sequence claude-agents "claude-code-$CLAUDE_VERSION/subagent-fork"
	sequence claude-ask "claude-code-$CLAUDE_VERSION/tui-ask-compact"
	sequence claude-plan "claude-code-$CLAUDE_VERSION/tui-plan-mode"
	sequence claude-rewind "claude-code-$CLAUDE_VERSION/tui-rewind-clear"
fi
if [ -n "${CODEX_VERSION:-}" ]; then
	sequence codex-local "codex-$CODEX_VERSION/local-compact"
	sequence codex-remote "codex-$CODEX_VERSION/remote-compact"
	sequence codex-agents "codex-$CODEX_VERSION/fork-subagent-title"
	sequence codex-plan "codex-$CODEX_VERSION/tui-plan-mode"
fi
