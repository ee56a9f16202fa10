#!/bin/bash
# opencode: automatic compactions in the middle of a turn, before a turn and
# after an error of the model, with the newest messages kept.
. "$(dirname "$(readlink -f "$0")")/lib-opencode.sh"
begin opencode-auto
opencode_seed '"compaction":{"preserve_recent_tokens":150},'
opencode_start
SID=$(opencode_new)
ECHO='{"name":"bash","input":{"command":"echo hi","description":"say hi"}}'
mark first
script '[{"tools":[{"name":"todowrite","input":{"todos":[{"content":"alpha","status":"in_progress","priority":"high"},{"content":"beta","status":"pending","priority":"low"}]}}]},{"text":"todos made"}]'
opencode_say "$SID" 'make todos'
opencode_say "$SID" 'second prompt'
mark auto-in-turn
script "[{\"tools\":[$ECHO],\"usage\":99000},{\"text\":\"said hi\"}]"
opencode_say "$SID" 'say hi'
mark epoch-second
opencode_say "$SID" 'prompt after the compaction'
mark auto-before-turn
script '[{"text":"much used","usage":99000}]'
opencode_say "$SID" 'turn with much use'
opencode_say "$SID" 'turn after much use'
mark epoch-second
opencode_say "$SID" 'another prompt'
mark overflow
script '[{"overflow":true}]'
opencode_say "$SID" 'a prompt that is too long'
mark epoch-second
opencode_say "$SID" 'prompt after the overflow'
mark manual
opencode_compact "$SID"
opencode_say "$SID" 'prompt after a manual compaction'
opencode_stop
end
