#!/bin/bash
# qwen-code in a terminal: questions of the model, a plan rejected and approved,
# a subagent, an interrupted turn, /compress.
. "$(dirname "$(readlink -f "$0")")/lib-qwen.sh"
begin qwen-plan
qwen_seed
sed -i 's|"model":|"memory":{"enableManagedAutoMemory":false},&|' "$H/.qwen/settings.json"
tui "${QWEN_ENV[@]}" $QWEN --auth-type openai --approval-mode plan
shows 'Type your message'
DB='{"question":"Which db?","header":"DB","multiSelect":false,"options":[{"label":"sqlite","description":"small"},{"label":"postgres","description":"big"}]}'
OS='{"question":"Which systems?","header":"OS","multiSelect":true,"options":[{"label":"linux","description":"l"},{"label":"macos","description":"m"}]}'
ask() { script '[{"tools":[{"name":"ask_user_question","input":{"questions":['"$1"']}}]},{"text":"understood"}]'; }
plan() { script '[{"tools":[{"name":"exit_plan_mode","input":{"plan":"# Plan\n1. alpha\n2. beta\n"}}]},{"text":"understood"}]'; }
# allow: yes, where it asks before a tool.
allow() { if screen | grep -qF 'Do you want to proceed?'; then press Enter; fi; }
mark ask
ask "$DB"; say 'ask about the db'
press Down Enter
mark ask-two
ask "$DB,$OS"; say 'ask both'
press Enter            # sqlite, and on to the next
press Space Down Space # linux and macos
press Enter
press Enter            # submit
mark ask-declined
ask "$DB"; say 'ask and be declined'
press Escape
say 'a prompt after declining'
mark plan-rejected
plan; say 'propose a plan'
press Escape
say 'a prompt after esc'
mark plan-approved
plan; say 'propose it again'
press Enter
mark subagent
script '[{"tools":[{"name":"agent","input":{"description":"say hi","prompt":"say hi as a subagent","subagent_type":"general-purpose"}}]},{"text":"hi from the subagent"},{"text":"understood"}]'
say 'start a subagent'
allow
mark interrupted
script '[{"tools":[{"name":"run_shell_command","input":{"command":"tail -f /dev/null","is_background":false}}]}]'
keys -l 'run something'; sleep 0.6; keys Enter; sleep 4
allow; sleep 2
press C-c
say 'a prompt after the interruption'
mark manual
script '[{"compaction":true,"usage":5000,"text":"<state_snapshot>\nscripted summary 1\n</state_snapshot>"}]'
say '/compress'
say 'prompt after the compaction'
say 'second prompt after the compaction'
tui_end
leftovers
end
