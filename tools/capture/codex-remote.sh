#!/bin/bash
# codex headless with its built-in provider at another address: the WebSocket is
# refused, the compaction is the opaque one.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin codex-remote
codex_seed
sed -i -e '/^model_provider/d' -e '/^\[model_providers/,/^wire_api/d' "$H/.codex/config.toml"
sed -i "1i openai_base_url = \"$URL/v1\"" "$H/.codex/config.toml"
CODEX_ENV=(CODEX_API_KEY=dummy)
mark first
script '[{"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"in_progress"},{"step":"beta","status":"pending"}]}}]},{"text":"plan made"}]'
codex_exec 'make a plan' >out.txt 2>&1
SID=$(codex_session)
mark resumed
script '[{"text":"much used","usage":400000}]'
codex_exec resume "$SID" 'second turn' >out.txt 2>&1
mark auto-before-turn
codex_exec resume "$SID" 'third turn' >out.txt 2>&1
mark auto-in-turn
script '[{"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"completed"},{"step":"beta","status":"in_progress"}]}}],"usage":400000},{"text":"plan updated"}]'
codex_exec resume "$SID" 'fourth turn' >out.txt 2>&1
mark epoch-second
codex_exec resume "$SID" 'fifth turn' >out.txt 2>&1
end
