#!/bin/bash
# claude-code in a terminal: two turns, back to the second with Esc Esc, another
# prompt; then the two partial summaries that the same dialog offers; then
# /clear and a prompt.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin claude-rewind
claude_seed
mark first
tui "${CLAUDE_ENV[@]}" "$CLAUDE" --model claude-sonnet-4-5 --permission-mode bypassPermissions
script '[{"tools":[{"name":"TaskCreate","input":{"subject":"alpha","description":"do alpha"}}]},{"text":"made"}]'
say 'first prompt'
say 'second prompt'
mark rewind
keys Escape; sleep 0.2; keys Escape; settle
press Up
press Enter
press Enter
press C-u
say 'third prompt, in place of the second'
say 'fourth prompt'
mark summarize-from-here
keys Escape; sleep 0.2; keys Escape; settle
press Up
press Enter
press Down Enter # summarize from here
press Enter
press C-u
say 'prompt after a summary of the end'
mark summarize-up-to-here
keys Escape; sleep 0.2; keys Escape; settle
press Up
press Enter
press Down Down Enter # summarize up to here
press Enter
press C-u
say 'prompt after a summary of the start'
mark clear
say '/clear'
say 'prompt after clear'
tui_end
end
