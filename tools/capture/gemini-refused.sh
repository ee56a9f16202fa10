#!/bin/bash
# gemini-cli headless: a second answer of a compaction that is empty, and a
# summary that makes the history longer. The threshold is set so low that a
# short history is compacted.
. "$(dirname "$(readlink -f "$0")")/lib-gemini.sh"
begin gemini-refused
gemini_seed
sed -i 's|"ui":|"model":{"compressionThreshold":0.002},&|' "$H/.gemini/settings.json"
echo_one='{"name":"run_shell_command","input":{"command":"echo one","description":"say one"}}'
LONG=$(printf 'word %.0s' $(seq 1 3200))
mark first
gemini_p -p 'first turn' >out.txt 2>&1 # a session of one prompt is never compacted
mark inflated
script '[{"tools":['"$echo_one"'],"usage":3000},
  {"compaction":true,"text":"<state_snapshot>\nscripted summary 1\n</state_snapshot>"},
  {"compaction":true,"text":"<state_snapshot>\n'"$LONG"'\n</state_snapshot>"},
  {"tools":['"$echo_one"'],"usage":3000},{"text":"turn done"}]'
gemini_p --resume latest -p 'a turn with a summary that is too long' >out.txt 2>&1
mark second-empty
script '[{"tools":['"$echo_one"'],"usage":3000},
  {"compaction":true,"text":"<state_snapshot>\nscripted summary 3\n</state_snapshot>"},
  {"compaction":true},{"compaction":true},{"compaction":true},{"compaction":true},{"compaction":true},
  {"compaction":true},{"compaction":true},{"compaction":true},{"compaction":true},{"compaction":true},{"text":"turn done"}]'
gemini_p --resume latest -p 'a turn with an empty second answer' >out-empty.txt 2>&1
end
