#!/bin/bash
# opencode: a subagent, two at once, one mentioned by the person, a subagent
# taken up again, a compaction with a subagent's result in it; a turn stopped
# while a tool runs and one while the model speaks.
. "$(dirname "$(readlink -f "$0")")/lib-opencode.sh"
begin opencode-agents
opencode_seed
opencode_start
SID=$(opencode_new)
task() { printf '{"name":"task","input":{"description":"%s","prompt":"subagent: %s","subagent_type":"general"%s}}' "$1" "$1" "${2:-}"; }
TODOS='{"name":"todowrite","input":{"todos":[{"content":"alpha","status":"in_progress","priority":"high"}]}}'

mark subagent
script "[{\"tools\":[$(task one)]},{\"tools\":[$TODOS]},{\"text\":\"one done\"},{\"text\":\"understood\"}]"
opencode_say "$SID" 'start a subagent'
mark resumed
CHILD=$(oc GET "/session/$SID/children" | opencode_id)
script "[{\"tools\":[$(task one-again ",\"task_id\":\"$CHILD\"")]},{\"text\":\"one done again\"},{\"text\":\"understood\"}]"
opencode_say "$SID" 'take up the subagent again'
mark parallel
script "[{\"tools\":[$(task two),$(task three)]},{\"text\":\"done\"},{\"text\":\"done\"},{\"text\":\"understood\"}]"
opencode_say "$SID" 'start two subagents'
mark mentioned
script "[{\"tools\":[$(task four)]},{\"text\":\"four done\"},{\"text\":\"understood\"}]"
oc POST "/session/$SID/message" '{"model":{"providerID":"mock","modelID":"mock-model"},"parts":[{"type":"text","text":"ask @general"},{"type":"agent","name":"general"}]}' >>out.txt
mark tool-stopped
script '[{"tools":[{"name":"bash","input":{"command":"sleep 60","description":"wait"}}]}]'
N=$(opencode_requests)
opencode_say "$SID" 'wait for long' &
opencode_until $((N + 1))
sleep 2 # the tool has begun
oc POST "/session/$SID/abort" '{}' >>out.txt
wait $!
opencode_say "$SID" 'prompt after stopping a tool'
mark answer-stopped
script '[{"text":"a long answer that never comes to its end","held":true}]'
N=$(opencode_requests)
opencode_say "$SID" 'speak for long' &
opencode_until $((N + 1))
sleep 2 # half of the answer has arrived
oc POST "/session/$SID/abort" '{}' >>out.txt
wait $!
opencode_say "$SID" 'prompt after stopping the model'
mark manual
opencode_compact "$SID"
opencode_say "$SID" 'prompt after the compaction'
opencode_stop
end
