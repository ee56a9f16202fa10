#!/bin/bash
# cline in a terminal: a question, team tasks, a subagent, an interrupted turn,
# plan mode and back; then one headless run.
. "$(dirname "$(readlink -f "$0")")/lib-cline.sh"
begin cline-tools
cline_seed
tui "${CLINE_ENV[@]}" "$CLINE" -i
shows 'What can I do'
press Escape # an advertisement
mark ask
script '[{"tools":[{"name":"ask_question","input":{"question":"Which db?","options":["sqlite","postgres"]}}]},{"text":"understood"}]'
say 'ask about the db'
press Down Enter
mark team
task() { printf '{"tools":[{"name":"team_task","input":%s}]}' "$1"; }
script '['"$(task '{"action":"create","title":"alpha","description":"do alpha"}'),$(task '{"action":"create","title":"beta","description":"do beta"}'),$(task '{"action":"list"}'),$(task '{"action":"claim","taskId":"task_0001"}'),$(task '{"action":"complete","taskId":"task_0099","summary":"no such task"}'),$(task '{"action":"block","taskId":"task_0002","reason":"no reason"}')"',
 '"$(task '{"action":"complete","taskId":"task_0001","summary":"alpha is done"}'),$(task '{"action":"complete","taskId":"task_0002","summary":"beta is done"}'),$(task '{"action":"list"}')"',{"text":"tasks done"}]'
say 'make tasks'
mark subagent
script '[{"tools":[{"name":"spawn_agent","input":{"systemPrompt":"You are a helper.","task":"say hi as a subagent"}}]},{"text":"hi from the subagent"},{"text":"understood"}]'
say 'start a subagent'
mark interrupted
script '[{"tools":[{"name":"run_commands","input":{"commands":["sleep 30"]}}]}]'
interrupt 'run something'
say 'a prompt after the interruption'
mark plan-mode
press Tab
say 'make a plan'
mark act-mode
press Tab
say 'carry it out'
tui_end
mark headless
cline_p 'one prompt' >out.txt 2>&1
leftovers
end
