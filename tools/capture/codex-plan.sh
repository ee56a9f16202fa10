#!/bin/bash
# codex in a terminal: request_user_input in plan mode (answered, with a note,
# two questions, interrupted), a proposed plan refused and accepted, update_plan
# in and out of plan mode, one step back with Esc Esc, two compactions, and a
# plan accepted in a new thread.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin codex-plan
codex_seed
tui "${CODEX_ENV[@]}" "$CODEX" --sandbox danger-full-access
press Down Enter # keep the model
DB='{"id":"db","header":"DB","question":"Which db?","options":[{"label":"sqlite","description":"small"},{"label":"postgres","description":"big"}]}'
OS='{"id":"os","header":"OS","question":"Which system?","options":[{"label":"linux","description":"l"},{"label":"macos","description":"m"}]}'
ask() { script '[{"tools":[{"name":"request_user_input","input":{"questions":['"$1"']}}]},{"text":"understood"}]'; }
PLAN='{"text":"<proposed_plan>\n# Plan\n1. alpha\n2. beta\n</proposed_plan>"}'

mark outside-plan-mode
ask "$DB"; say 'ask outside of plan mode'
mark answered
say '/plan'
ask "$DB"; say 'ask me'
press Down Enter
mark answered-with-note
ask "$DB"; say 'ask me again'
press Tab
keys -l 'but see the docs'; sleep 0.6
press Enter
mark none-of-the-above
ask "$DB"; say 'ask me a third time'
press Down Down Tab
keys -l 'duckdb'; sleep 0.6
press Enter
mark two-questions
ask "$DB,$OS"; say 'ask both'
press Enter
press Down Enter
mark interrupted
ask "$DB"; say 'ask and be interrupted'
press Escape
say 'a prompt after esc'
mark update-plan-in-plan-mode
script '[{"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"in_progress"}]}}]},{"text":"understood"}]'
say 'update the plan in plan mode'
mark plan-refused
script "[$PLAN]"
say 'propose a plan'
press Down Down Enter # stay in plan mode
say 'use postgres in step two'
mark plan-accepted
script "[$PLAN]"
say 'propose it again'
press Enter
mark update-plan
script '[{"tools":[{"name":"update_plan","input":{"explanation":"why","plan":[{"step":"alpha","status":"in_progress"},{"step":"beta","status":"pending"}]}}]},
  {"tools":[{"name":"update_plan","input":{"plan":[{"step":"alpha","status":"finished"}]}}]},{"text":"understood"}]'
say 'update the plan'
mark backtrack
press Escape Escape
press Enter
press C-u
say 'another prompt in place of the last'
mark manual-1
say '/compact'
say 'prompt after the compaction'
say 'second prompt after the compaction'
mark manual-2
say '/compact'
say 'prompt after the second compaction'
mark plan-accepted-in-a-new-thread
say '/plan'
script "[$PLAN]"
say 'propose it a third time'
press Down Enter # clear the context and implement
tui_end
end
