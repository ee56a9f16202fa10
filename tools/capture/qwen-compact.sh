#!/bin/bash
# qwen-code headless: every form of todo_write, resume, /compress twice in one
# session, where a text must stand in the summary, an empty summary, and an
# automatic compaction in the middle of a turn.
. "$(dirname "$(readlink -f "$0")")/lib-qwen.sh"
begin qwen-compact
qwen_seed
# 0.24 asks with the tools of its turns, and again without them where no snapshot comes
# back; only with the second are tokens compared.
case "$(qwen_version)" in 0.1[0-9].*) ASKED="" ;; *) ASKED='{"compaction":true,"usage":5000,"text":"no snapshot"},' ;; esac
todos() { printf '{"name":"todo_write","input":{"todos":[{"id":"1","content":"alpha","status":"%s"},{"id":"2","content":"beta","status":"%s"}]}}' "$1" "$2"; }

mark todos
script '[{"tools":['"$(todos in_progress pending)"']},
  {"tools":[{"name":"todo_write","input":{"todos":[{"content":"alpha","status":"in_progress"}]}}]},
  {"tools":[{"name":"todo_write","input":{"todos":[{"id":"1","content":"alpha","status":"done"}]}}]},
  {"tools":[{"name":"todo_write","input":{"todos":[{"id":"1","content":"alpha","status":"pending"},{"id":"1","content":"beta","status":"pending"}]}}]},
  {"tools":['"$(todos completed in_progress)"',{"name":"run_shell_command","input":{"command":"echo hi","is_background":false}}]},
  {"tools":[{"name":"todo_write","input":{"todos":[]}}]},
  {"tools":['"$(todos completed in_progress)"']},{"text":"todos made"}]'
qwen_p -o json 'make a list' >out.txt 2>&1
SID=$(grep -oE '"session_id": ?"[^"]+' out.txt | head -1 | cut -d'"' -f4)
mark resumed
qwen_p -r "$SID" 'second turn' >out.txt 2>&1
# One look at the memory subagent is enough.
sed -i 's|"model":|"memory":{"enableManagedAutoMemory":false},&|' "$H/.qwen/settings.json"
mark manual-1
# Its rule compares reported tokens: prompt - 1000 of this call must be more than the answer's.
script '[{"compaction":true,"usage":5000,"text":"BEFORE\n<scratchpad>IN SCRATCHPAD</scratchpad>\n<state_snapshot>\nIN SNAPSHOT\n</state_snapshot>\nAFTER\n"}]'
qwen_p -r "$SID" '/compress' >out.txt 2>&1
mark epoch-first
script '[{"tools":['"$(todos completed completed)"']},{"text":"todos done"}]'
qwen_p -r "$SID" 'first prompt after the compaction' >out.txt 2>&1
mark epoch-second
qwen_p -r "$SID" 'second prompt after the compaction' >out.txt 2>&1
mark manual-2
script '[{"compaction":true,"usage":5000,"text":"<state_snapshot>\nscripted summary 2\n</state_snapshot>"}]'
qwen_p -r "$SID" '/compress' >out.txt 2>&1
mark epoch-first
qwen_p -r "$SID" 'prompt after the second compaction' >out.txt 2>&1
mark empty
script "[$ASKED"'{"compaction":true}]'
qwen_p -r "$SID" '/compress' >out-empty.txt 2>&1
mark after-empty
qwen_p -r "$SID" 'prompt after an empty summary' >out.txt 2>&1
mark refused
script "[$ASKED"'{"compaction":true,"usage":1000,"text":"<state_snapshot>\nscripted summary 9\n</state_snapshot>"}]'
qwen_p -r "$SID" '/compress' >out-refused.txt 2>&1
mark after-refused
qwen_p -r "$SID" 'prompt after a refused summary' >out.txt 2>&1
mark auto-in-turn
script '[{"tools":[{"name":"run_shell_command","input":{"command":"echo one","is_background":false}}],"usage":900000},{"compaction":true,"usage":500000,"text":"<state_snapshot>\nscripted summary 3\n</state_snapshot>"},
  {"tools":['"$(todos pending in_progress)"']},{"text":"turn done"}]'
qwen_p -r "$SID" 'a long turn' >out.txt 2>&1
mark epoch-first
qwen_p -r "$SID" 'prompt after the automatic compaction' >out.txt 2>&1
[ -z "$ASKED" ] && end && exit
mark asked-again
script "[$ASKED"'{"compaction":true,"usage":5000,"text":"<state_snapshot>\nscripted summary 4\n</state_snapshot>"}]'
qwen_p -r "$SID" '/compress' >out-again.txt 2>&1
mark epoch-first
qwen_p -r "$SID" 'prompt after being asked again' >out.txt 2>&1
end
