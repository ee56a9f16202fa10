#!/bin/bash
# claude-code in a terminal: AskUserQuestion with several choices, with a text
# of the user's own, with two questions, turned into a chat, and declined;
# then a compaction.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin claude-ask
claude_seed
tui "${CLAUDE_ENV[@]}" "$CLAUDE" --model claude-sonnet-4-5 --permission-mode bypassPermissions
DB='{"question":"Which db?","header":"DB","multiSelect":false,"options":[{"label":"sqlite","description":"small"},{"label":"postgres","description":"big"}]}'
OS='{"question":"Which systems?","header":"OS","multiSelect":true,"options":[{"label":"linux","description":"l"},{"label":"macos","description":"m"},{"label":"windows","description":"w"}]}'
ask() { script '[{"tools":[{"name":"AskUserQuestion","input":{"questions":['"$1"']}}]},{"text":"understood"}]'; }

mark multi-select
ask "$OS"; say 'ask about systems'
press Enter Down Enter # linux and macos
press Right            # to the submit page
press Enter
mark other
ask "$DB"; say 'ask about the db'
press Down Down
keys -l 'duckdb, "the fast one"'; sleep 0.6
press Enter
mark two-questions
ask "$DB,$OS"; say 'ask both'
press Down Enter
press Enter Right
press Enter
mark chat
ask "$DB"; say 'ask and talk about it'
press Up Enter # the last line: chat about this
say 'a prompt of the chat'
mark declined
ask "$DB"; say 'ask and be declined'
press Escape
say 'a prompt after declining'
mark manual
say '/compact'
say 'prompt after the compaction'
say 'second prompt after the compaction'
tui_end
end
