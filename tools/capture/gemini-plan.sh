#!/bin/bash
# gemini-cli in a terminal: questions of the model, a plan rejected and approved,
# an interrupted turn, /compress.
. "$(dirname "$(readlink -f "$0")")/lib-gemini.sh"
begin gemini-plan
gemini_seed
tui "${GEMINI_ENV[@]}" $GEMINI -m gemini-2.5-pro
shows 'Type your message'
DB='{"question":"Which db?","header":"DB","type":"choice","multiSelect":false,"options":[{"label":"sqlite","description":"small"},{"label":"postgres","description":"big"}]}'
OS='{"question":"Which systems?","header":"OS","type":"choice","multiSelect":true,"options":[{"label":"linux","description":"l"},{"label":"macos","description":"m"}]}'
ask() { script '[{"tools":[{"name":"ask_user","input":{"questions":['"$1"']}}]},{"text":"understood"}]'; }
mark ask
ask "$DB"; say 'ask about the db'
press Down Enter
mark ask-other
ask "$DB"; say 'ask once more'
press Down Down
keys -l 'duckdb, "the fast one"'; sleep 0.6
press Enter
mark ask-two
ask "$DB,$OS"; say 'ask both'
press Enter          # sqlite, and on to the next
press Enter Down Enter # linux and macos
press Right
press Enter
mark ask-declined
ask "$DB"; say 'ask and be declined'
press Escape
say 'a prompt after declining'
mark plan-mode
script '[{"tools":[{"name":"enter_plan_mode","input":{"reason":"to plan"}}]},{"text":"in plan mode"}]'
say 'enter plan mode'
press Enter
PLANS=$(find "$H/.gemini/tmp" -type d -name plans | head -1)
plan() { script '[{"tools":[{"name":"write_file","input":{"file_path":"'"$PLANS"'/plan.md","content":"# Plan\n1. alpha\n2. beta\n"}}]},{"tools":[{"name":"exit_plan_mode","input":{"plan_filename":"plan.md"}}]},{"text":"understood"}]'; }
mark plan-rejected
plan; say 'write the plan and ask for approval'
press Down Down
keys -l 'use postgres in step two'; sleep 0.6
press Enter
mark plan-cancelled
script '[{"tools":[{"name":"exit_plan_mode","input":{"plan_filename":"plan.md"}}]},{"text":"understood"}]'
say 'ask again'
press Escape
say 'a prompt after esc'
mark plan-approved
script '[{"tools":[{"name":"exit_plan_mode","input":{"plan_filename":"plan.md"}}]},{"text":"understood"}]'
say 'ask a third time'
press Enter
mark denied
script '[{"tools":[{"name":"run_shell_command","input":{"command":"tail -f /dev/null"}}]}]'
say 'run something'
press Escape # the question whether it may
say 'a prompt after denying'
mark interrupted
script '[{"tools":[{"name":"run_shell_command","input":{"command":"tail -f /dev/null"}}]}]'
say 'run it again'
keys Enter # allow it
sleep 3
press Escape
say 'a prompt after the interruption'
mark manual
say '/compress'
say 'prompt after the compaction'
say 'second prompt after the compaction'
mark manual
say '/compress'
say 'prompt after the second compaction'
tui_end
leftovers
end
