#!/bin/bash
# qwen-code 0.24 headless, told to keep most tools out of its requests: todo_write
# through tool_call, a file read, resumed, /compress and a turn.
. "$(dirname "$(readlink -f "$0")")/lib-qwen.sh"
begin qwen-deferred
qwen_seed
sed -i 's|"tools":{|"memory":{"enableManagedAutoMemory":false},&"eager":["read_file"],|' "$H/.qwen/settings.json"
bridged() { printf '{"name":"tool_call","input":{"name":"%s","arguments":%s}}' "$1" "$2"; }
todos() { bridged todo_write '{"todos":[{"id":"1","content":"alpha","status":"'"$1"'"},{"id":"2","content":"beta","status":"'"$2"'"}]}'; }

mark todos
echo notes >notes.txt
script '[{"tools":[{"name":"tool_search","input":{"query":"select:todo_write"}}]},
  {"tools":['"$(todos in_progress pending)"']},{"tools":['"$(todos in_progress done)"']},
  {"tools":['"$(bridged ask_user_question '{"questions":[]}')"']},{"tools":['"$(bridged nothing '{}')"']},
  {"tools":['"$(todos completed in_progress)"',{"name":"read_file","input":{"file_path":"'"$WS"'/notes.txt"}}]},{"tools":['"$(todos completed in_progress)"']},{"text":"todos made"}]'
qwen_p -o json 'make a list' >out.txt 2>&1
SID=$(grep -oE '"session_id": ?"[^"]+' out.txt | head -1 | cut -d'"' -f4)
mark resumed
qwen_p -r "$SID" 'second turn' >out.txt 2>&1
mark manual
script '[{"compaction":true,"usage":5000,"text":"<state_snapshot>\nscripted summary 1\n</state_snapshot>"}]'
qwen_p -r "$SID" '/compress' >out.txt 2>&1
mark epoch-first
qwen_p -r "$SID" 'prompt after the compaction' >out.txt 2>&1
end
