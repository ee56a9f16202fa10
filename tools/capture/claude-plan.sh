#!/bin/bash
# claude-code in a terminal: a plan rejected with a word of the user, the same
# plan rejected with Esc, approved with a word of the
# user, asked for outside of plan mode, and edited by the user before approval.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin claude-plan
claude_seed
printf '#!/bin/sh\necho "3. by the user" >>"$1"\n' >"$H/editor" && chmod +x "$H/editor"
tui "EDITOR=$H/editor" "${CLAUDE_ENV[@]}" "$CLAUDE" --model claude-sonnet-4-5 --permission-mode plan
mark first
say 'plan please'
PLAN=$(grep -ohE "$H/.claude/plans/[a-z0-9-]+\.md" "$CAP"/*messages.json | head -1)
plan() { script '[{"tools":[{"name":"Write","input":{"file_path":"'"$PLAN"'","content":"# Plan\n1. alpha\n2. beta\n"}}]},{"tools":[{"name":"ExitPlanMode","input":{}}]},{"text":"understood"}]'; }

mark rejected-with-feedback
plan; say 'write the plan and ask for approval'
press Up # the last choice takes a text
keys -l 'use postgres in step two'; press Enter
mark rejected-with-esc
script '[{"tools":[{"name":"ExitPlanMode","input":{}}]},{"text":"understood"}]'
say 'ask again'
press Escape
say 'a prompt after esc'
mark approved-with-feedback
script '[{"tools":[{"name":"ExitPlanMode","input":{}}]},{"text":"understood"}]'
say 'ask with a word to the approval'
press Up
keys -l 'and keep it small'; sleep 0.6
press BTab
mark not-in-plan-mode
script '[{"tools":[{"name":"ExitPlanMode","input":{}}]},{"text":"understood"}]'
say 'ask once more'
say 'another turn'
mark edited
say '/plan'
script '[{"tools":[{"name":"Write","input":{"file_path":"'"$PLAN"'","content":"# Plan\n1. alpha\n2. gamma\n"}}]},{"tools":[{"name":"ExitPlanMode","input":{}}]},{"text":"understood"}]'
say 'write it anew'
press C-g # the editor appends a line
press Enter
mark manual
say '/compact'
say 'prompt after the compaction'
tui_end
end
