#!/bin/bash
# gemini-cli headless: every form of write_todos, resume, and an automatic
# compaction in the middle of a turn, which asks twice.
. "$(dirname "$(readlink -f "$0")")/lib-gemini.sh"
begin gemini-compact
gemini_seed
todos() { printf '{"name":"write_todos","input":{"todos":[{"description":"alpha","status":"%s"},{"description":"beta","status":"%s"}]}}' "$1" "$2"; }
echo_one='{"name":"run_shell_command","input":{"command":"echo one","description":"say one"}}'

mark todos
script '[{"tools":['"$(todos in_progress pending)"']},
  {"tools":['"$(todos in_progress in_progress)"']},
  {"tools":['"$(todos done pending)"']},
  {"tools":['"$(todos cancelled blocked)"','"$echo_one"']},
  {"tools":[{"name":"write_todos","input":{"todos":[]}}]},
  {"tools":['"$(todos completed in_progress)"']},{"text":"todos made"}]'
gemini_p -o json -p 'make a list' >out.txt 2>&1
mark resumed
gemini_p --resume latest -p 'second turn' >out.txt 2>&1
mark auto-in-turn
script '[{"tools":['"$echo_one"'],"usage":900000},
  {"compaction":true,"text":"BEFORE 1\n<scratchpad>IN SCRATCHPAD 1</scratchpad>\n<state_snapshot>\nIN SNAPSHOT 1\n</state_snapshot>\nAFTER 1\n"},
  {"compaction":true,"text":"BEFORE 2\n<scratchpad>IN SCRATCHPAD 2</scratchpad>\n<state_snapshot>\nIN SNAPSHOT 2\n</state_snapshot>\nAFTER 2\n"},
  {"tools":['"$(todos completed completed)"']},{"text":"turn done"}]'
gemini_p --resume latest -p 'a long turn' >out.txt 2>&1
mark epoch-first
gemini_p --resume latest -p 'prompt after the compaction' >out.txt 2>&1
mark auto-again
script '[{"tools":['"$echo_one"'],"usage":900000},
  {"compaction":true,"text":"<state_snapshot>\nscripted summary 1\n</state_snapshot>"},
  {"compaction":true,"text":"<state_snapshot>\nscripted summary 2\n</state_snapshot>"},{"text":"turn done"}]'
gemini_p --resume latest -p 'a second long turn' >out.txt 2>&1
mark epoch-first
gemini_p --resume latest -p 'prompt after the second compaction' >out.txt 2>&1
end
