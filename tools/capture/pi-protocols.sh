#!/bin/bash
# pi with the responses and the messages protocol, then with all three told to
# send the id of the session: calls at once, resumed, a compaction by hand and an
# automatic one, a fork.
. "$(dirname "$(readlink -f "$0")")/lib-pi.sh"
session() { # PROTOCOL
	pi_start "$1"
	mark first
	script '[{"tools":[{"name":"bash","input":{"command":"echo hi"}},{"name":"bash","input":{"command":"exit 3"}}]},{"text":"said hi"}]'
	pi_say 'say hi'
	mark resumed
	pi_stop
	pi_start "$1" --continue
	pi_say "$LONG"
	mark manual
	script '[{"compaction":true,"text":"mark before\n<summary>\nmark inside\n</summary>\nmark after"}]'
	pi_compact
	pi_say 'first prompt after the compaction'
	pi_say 'second prompt after the compaction'
	mark auto-after-turn
	script '[{"text":"much used","usage":99000}]'
	pi_say "$LONG"
	pi_say 'prompt after the automatic compaction'
	mark fork
	pi_do '{"type":"get_fork_messages"}' get_fork_messages
	ENTRY=$(grep -oE '"entryId":"[^"]+' <<<"$LINE" | tail -1 | cut -d'"' -f4)
	pi_do "{\"type\":\"fork\",\"entryId\":\"$ENTRY\"}" fork
	pi_say 'prompt in the fork'
	pi_stop
}
for protocol in responses messages; do
	begin "pi-$protocol"
	pi_seed 40
	session "$protocol"
	end
done
for protocol in chat messages; do
	begin "pi-$protocol-affinity"
	pi_seed 40 '"sendSessionAffinityHeaders":true'
	session "$protocol"
	end
done
