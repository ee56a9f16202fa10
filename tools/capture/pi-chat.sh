#!/bin/bash
# pi with chat completions, which send no id: calls at once, a failed one, a
# command of the person; compactions by hand with marks around the tags, twice,
# in the middle of a turn that is too long, with an empty answer and with nothing
# to summarize; automatic ones after a turn and after an error; resumed, forked,
# cloned; stopped while a tool runs and while the model speaks; steered.
. "$(dirname "$(readlink -f "$0")")/lib-pi.sh"
begin pi-chat
pi_seed 40
pi_start chat
ECHO='{"name":"bash","input":{"command":"echo hi"}}'

mark parallel
script "[{\"tools\":[$ECHO,{\"name\":\"write\",\"input\":{\"path\":\"a.txt\",\"content\":\"alpha\\n\"}}]},{\"tools\":[{\"name\":\"bash\",\"input\":{\"command\":\"exit 3\"}},{\"name\":\"no_such_tool\",\"input\":{}},{\"name\":\"read\",\"input\":{}}]},{\"text\":\"understood\"}]"
pi_say 'call some tools'
mark command
pi_do '{"type":"bash","command":"echo typed"}' bash
pi_say "$LONG"
mark manual-1
script '[{"compaction":true,"text":"mark before\n<summary>\nmark inside\n</summary>\nmark after"}]'
pi_compact
mark epoch-first
pi_say 'first prompt after the compaction'
mark epoch-second
script "[{\"tools\":[$ECHO]},{\"text\":\"said hi\"}]"
pi_say 'second prompt after the compaction'
mark manual-2
pi_say "$LONG"
pi_do '{"type":"compact","customInstructions":"keep the decisions"}' compact
pi_say 'prompt after the second compaction'
mark auto-after-turn
script '[{"text":"much used","usage":99000}]'
pi_say "$LONG"
pi_say 'prompt after the automatic compaction'
mark auto-in-turn
script "[{\"tools\":[$ECHO],\"usage\":99000},{\"text\":\"said hi\"}]"
pi_say 'say hi with much use'
mark overflow
script '[{"overflow":true}]'
pi_say "$LONG"
mark epoch-second
pi_say 'prompt after the overflow'
mark long-turn
script "[{\"tools\":[$ECHO],\"text\":\"$LONG\"},{\"tools\":[{\"name\":\"read\",\"input\":{\"path\":\"a.txt\"}}],\"text\":\"$LONG\"},{\"text\":\"said hi\"}]"
pi_say 'a turn that is too long'
pi_compact
pi_say 'prompt after the long turn'
mark empty
script '[{"compaction":true,"text":""}]'
pi_say "$LONG"
pi_compact
pi_say 'prompt after an empty summary'
mark resumed
pi_stop
pi_start chat --continue
pi_say 'prompt after resuming'
mark fork
pi_do '{"type":"get_fork_messages"}' get_fork_messages
ENTRY=$(grep -oE '"entryId":"[^"]+' <<<"$LINE" | tail -1 | cut -d'"' -f4)
pi_do "{\"type\":\"fork\",\"entryId\":\"$ENTRY\"}" fork
pi_say 'prompt in the fork'
mark clone
pi_do '{"type":"clone"}' clone
pi_say 'prompt in the clone'
mark tool-stopped
script '[{"tools":[{"name":"bash","input":{"command":"sleep 60"}}]}]'
pi_send '{"type":"prompt","message":"wait for long"}'
pi_await '"type":"tool_execution_start"'
pi_do '{"type":"abort"}' abort
pi_say 'prompt after stopping a tool'
mark answer-stopped
script '[{"text":"a long answer that never comes to its end","held":true}]'
pi_send '{"type":"prompt","message":"speak for long"}'
pi_await '"type":"message_update"'
pi_do '{"type":"abort"}' abort
pi_say 'prompt after stopping the model'
mark steered
script '[{"tools":[{"name":"bash","input":{"command":"sleep 2"}}]},{"text":"steered"}]'
pi_send '{"type":"prompt","message":"wait a little"}'
pi_await '"type":"tool_execution_start"'
pi_do '{"type":"steer","message":"a word in between"}' steer
pi_do '{"type":"follow_up","message":"a word for later"}' follow_up
pi_await '"type":"agent_end"'
pi_idle
mark new
pi_do '{"type":"new_session"}' new_session
pi_say 'prompt in a new session'
mark nothing-to-summarize
pi_compact
pi_say 'prompt after it'
pi_stop
end
