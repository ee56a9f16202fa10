#!/bin/bash
# fixtures.sh: the captures under $CAPTURE_DIR become the fixtures of one
# version. $CLAUDE_VERSION, $CODEX_VERSION and so on say which; leave one out to
# leave that agent out.
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
if [ -n "${OPENCODE_VERSION:-}" ]; then
	sequence opencode-todos "opencode-$OPENCODE_VERSION/todowrite-compact"
	sequence opencode-auto "opencode-$OPENCODE_VERSION/auto-compact-kept"
	sequence opencode-agents "opencode-$OPENCODE_VERSION/subagent-interrupt"
	sequence opencode-ask "opencode-$OPENCODE_VERSION/question-plan-mode"
	sequence opencode-messages "opencode-$OPENCODE_VERSION/messages"
	sequence opencode-responses "opencode-$OPENCODE_VERSION/responses"
fi
if [ -n "${PI_VERSION:-}" ]; then
	sequence pi-chat "pi-$PI_VERSION/chat"
	sequence pi-chat-affinity "pi-$PI_VERSION/chat-affinity"
	sequence pi-responses "pi-$PI_VERSION/responses"
	sequence pi-messages "pi-$PI_VERSION/messages"
	sequence pi-messages-affinity "pi-$PI_VERSION/messages-affinity"
	sequence pi-tree "pi-$PI_VERSION/tui-branch-summary"
fi
if [ -n "${QWEN_VERSION:-}" ]; then
	sequence qwen-compact "qwen-code-$QWEN_VERSION/todos-compact"
	sequence qwen-plan "qwen-code-$QWEN_VERSION/tui-plan-mode"
	case "$QWEN_VERSION" in 0.1[0-9].*) ;; *) sequence qwen-deferred "qwen-code-$QWEN_VERSION/deferred-tools" ;; esac
fi
if [ -n "${GEMINI_VERSION:-}" ]; then
	sequence gemini-compact "gemini-cli-$GEMINI_VERSION/todos-compact"
	sequence gemini-refused "gemini-cli-$GEMINI_VERSION/refused-summary"
	sequence gemini-agents "gemini-cli-$GEMINI_VERSION/subagent"
	sequence gemini-plan "gemini-cli-$GEMINI_VERSION/tui-plan-mode"
fi
if [ -n "${CLINE_VERSION:-}" ]; then
	sequence cline-compact "cline-$CLINE_VERSION/tui-compact"
	sequence cline-basic "cline-$CLINE_VERSION/basic-compact"
	sequence cline-tools "cline-$CLINE_VERSION/tui-team-tasks"
fi
