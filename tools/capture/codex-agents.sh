#!/bin/bash
# codex: a fork and a subagent, headless; a session in a terminal, whose title is
# a side call.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin codex-agents
codex_seed
mark first
script '[{"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"in_progress"},{"step":"beta","status":"pending"}]}}]},{"text":"plan made"}]'
codex_exec 'make a plan' >out.txt 2>&1
SID=$(codex_session)
mark fork
script '[{"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"completed"},{"step":"beta","status":"pending"}]}}]},{"text":"plan updated"}]'
codex_exec fork "$SID" 'update the plan in the fork' >out.txt 2>&1
mark parent
codex_exec resume "$SID" 'prompt in the parent' >out.txt 2>&1
mark subagent
# Both threads run a command first, so that neither ends before the other began.
WAIT='{"tools":[{"name":"exec_command","input":{"cmd":"sleep 2"}}]}'
script '[{"tools":[{"name":"spawn_agent","namespace":"multi_agent_v1","input":{"message":"subagent: say hi"}}]},'"$WAIT,$WAIT"',{"text":"hi"},{"text":"hi"}]'
codex_exec 'start a subagent' >out.txt 2>&1
mark terminal
tui "${CODEX_ENV[@]}" "$CODEX" --sandbox danger-full-access
press Down Enter # keep the model
say 'hello'
say 'hello again'
tui_end
end
