#!/bin/bash
# codex headless with a provider of its own: update_plan, resume, an automatic
# compaction before a turn and one in the middle of a turn.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin codex-local
codex_seed
mark first
script '[{"tools":[{"name":"update_plan","input":{"explanation":"why","plan":[{"step":"alpha","status":"in_progress"},{"step":"beta","status":"pending"}]}}]},{"text":"plan made"}]'
codex_exec 'make a plan' >out.txt 2>&1
SID=$(codex_session)
mark resumed
script '[{"text":"much used","usage":400000}]'
codex_exec resume "$SID" 'second turn' >out.txt 2>&1
mark auto-before-turn
script '[{"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"completed"},{"step":"beta","status":"in_progress"}]}}]},{"text":"plan updated"}]'
codex_exec resume "$SID" 'third turn' >out.txt 2>&1
mark auto-in-turn
script '[{"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"completed"},{"step":"beta","status":"completed"}]}}],"usage":400000},{"text":"plan done"}]'
codex_exec resume "$SID" 'fourth turn' >out.txt 2>&1
mark epoch-second
codex_exec resume "$SID" 'fifth turn' >out.txt 2>&1
end
