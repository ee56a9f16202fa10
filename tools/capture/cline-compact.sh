#!/bin/bash
# cline in a terminal: two compactions by /compact, an empty summary, an
# automatic compaction in the middle of a turn, and the session resumed.
. "$(dirname "$(readlink -f "$0")")/lib-cline.sh"
begin cline-compact
cline_seed
tui "${CLINE_ENV[@]}" "$CLINE" -i
shows 'What can I do'
press Escape # an advertisement
long() { # COUNT USAGE: calls with results of some 8 kB
	for i in $(seq 1 "$1"); do
		printf '{"tools":[{"name":"run_commands","input":{"commands":["seq %d %d"]}}],"usage":%d},' \
			$((100000 + i * 3000)) $((100000 + i * 3000 + 2500)) "$2"
	done
}
mark first
say 'first prompt'
mark second
script '[{"tools":[{"name":"run_commands","input":{"commands":["echo one"]}}]},{"text":"one said"}]'
say 'second prompt'
mark third
say 'third prompt'
mark manual-1
script '[{"compaction":true,"text":"BEFORE\n<summary>\nIN TAGS\n</summary>\nAFTER\n"}]'
say '/compact'
mark epoch-first
say 'first prompt after the compaction'
mark epoch-second
say 'second prompt after the compaction'
mark manual-2
script '[{"compaction":true,"text":"BEFORE FILES\n\n## Files\nRead: none\nEdited: none\n\nAFTER FILES\n"}]'
say '/compact'
mark epoch-first
say 'prompt after the second compaction'
mark empty # it asks three times
script '[{"compaction":true},{"compaction":true},{"compaction":true}]'
say '/compact'
mark after-empty
say 'prompt after an empty summary'
mark auto-in-turn
script "[$(long 9 300000)"'{"text":"turn done"}]'
say 'run the long job'
shows 'turn done'
mark epoch-first
say 'prompt after the automatic compaction'
SID=$(find "$H/.cline/data/sessions" -name '*.messages.json' | head -1 | xargs basename | cut -d. -f1)
tui_end
mark resumed
tui "${CLINE_ENV[@]}" "$CLINE" -i --id "$SID"
shows 'Ask anything'
say 'prompt after resuming'
tui_end
leftovers
end
