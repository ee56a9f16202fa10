#!/bin/bash
# claude-code headless: TodoWrite with the task tools on, where it does not exist;
# then with CLAUDE_CODE_ENABLE_TASKS=0 TodoWrite, an automatic compaction in the
# middle of a turn, and one before a turn.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
TODOS='{"name":"TodoWrite","input":{"todos":[{"content":"alpha","status":"in_progress","activeForm":"doing alpha"},{"content":"beta","status":"pending","activeForm":"doing beta"}]}}'
DONE='{"name":"TodoWrite","input":{"todos":[{"content":"alpha","status":"completed","activeForm":"doing alpha"},{"content":"beta","status":"in_progress","activeForm":"doing beta"}]}}'
ECHO='{"name":"Bash","input":{"command":"echo hi","description":"say hi"}}'

begin claude-todos-off
mark no-such-tool
script "[{\"tools\":[$TODOS]},{\"text\":\"understood\"}]"
claude_p 'make todos' >out.txt
end

begin claude-todos
CLAUDE_ENV+=(CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000 CLAUDE_CODE_ENABLE_TASKS=0)
mark todos
script "[{\"tools\":[$TODOS]},{\"text\":\"todos made\"}]"
SID=$(claude_p --output-format json 'make todos' | grep -oE '"session_id":"[^"]+' | head -1 | cut -d'"' -f4)
mark auto-in-turn
script "[{\"tools\":[$ECHO],\"usage\":98000},{\"text\":\"said hi\"}]"
claude_p --resume "$SID" 'say hi' >out.txt
mark epoch-second
script "[{\"tools\":[$DONE]},{\"text\":\"todos updated\",\"usage\":98000}]"
claude_p --resume "$SID" 'update the todos' >out.txt
mark auto-before-turn
claude_p --resume "$SID" 'turn after much use' >out.txt
mark epoch-second
claude_p --resume "$SID" 'another turn' >out.txt
end
