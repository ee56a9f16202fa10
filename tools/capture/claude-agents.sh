#!/bin/bash
# claude-code headless: a subagent, a fork, and a subagent that 2.1.332 runs in
# the background and reports with a notification.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin claude-agents
mark subagent
script '[{"tools":[{"name":"TaskCreate","input":{"subject":"alpha","description":"do alpha"}}]},
  {"tools":[{"name":"Agent","input":{"description":"sub","prompt":"subagent: say hi","subagent_type":"general-purpose","run_in_background":false}}]},
  {"text":"hi from the subagent"},{"text":"the subagent said hi"}]'
SID=$(claude_p --output-format json 'make a task and start a subagent' | grep -oE '"session_id":"[^"]+' | head -1 | cut -d'"' -f4)
mark resumed
claude_p --resume "$SID" 'second turn' >out.txt
mark fork
claude_p --resume "$SID" --fork-session 'prompt in the fork' >out.txt
mark parent
claude_p --resume "$SID" 'prompt in the parent' >out.txt
mark background
script '[{"tools":[{"name":"Agent","input":{"description":"sub","prompt":"subagent: say hi","subagent_type":"general-purpose"}}]},
  {"text":"hi"},{"text":"hi"},{"text":"hi"}]'
claude_p --resume "$SID" 'start another subagent' >out.txt
end
