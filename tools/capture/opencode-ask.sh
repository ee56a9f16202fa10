#!/bin/bash
# opencode: the question tool answered, with several choices, with a text of the
# user's own, with two questions, dismissed; a permission refused with a word
# and without; plan mode with a plan refused and approved; a compaction.
. "$(dirname "$(readlink -f "$0")")/lib-opencode.sh"
begin opencode-ask
OPENCODE_ENV+=(OPENCODE_EXPERIMENTAL_PLAN_MODE=1)
opencode_seed '"permission":{"bash":"ask"},'
opencode_start
SID=$(opencode_new)
DB='{"question":"Which db?","header":"DB","options":[{"label":"sqlite","description":"small"},{"label":"postgres","description":"big"}]}'
OS='{"question":"Which systems?","header":"OS","multiple":true,"options":[{"label":"linux","description":"l"},{"label":"macos","description":"m"}]}'
ask() { script '[{"tools":[{"name":"question","input":{"questions":['"$1"']}}]},{"text":"understood"}]'; }
# answer TEXT ANSWERS [FIELDS]: a prompt whose question is answered.
answer() {
	opencode_say "$SID" "$1" "${3:-}" &
	oc POST "/question/$(opencode_pending question)/reply" "{\"answers\":$2}" >>out.txt
	wait $!
}

mark answered
ask "$DB"; answer 'ask about the db' '[["postgres"]]'
mark multi-select
ask "$OS"; answer 'ask about systems' '[["linux","macos"]]'
mark other
ask "$DB"; answer 'ask about the db again' '[["duckdb, \"the fast one\""]]'
mark two-questions
ask "$DB,$OS"; answer 'ask both' '[["sqlite"],["linux"]]'
mark no-answer
ask "$DB,$OS"; answer 'ask both again' '[["sqlite"],[]]'
mark dismissed
ask "$DB"
opencode_say "$SID" 'ask and be dismissed' &
oc POST "/question/$(opencode_pending question)/reject" '{}' >>out.txt
wait $!
opencode_say "$SID" 'prompt after dismissing'
mark permission-refused
ECHO='{"tools":[{"name":"bash","input":{"command":"echo hi","description":"say hi"}}]}'
script "[$ECHO]"
opencode_say "$SID" 'run a command' &
oc POST "/permission/$(opencode_pending permission)/reply" '{"reply":"reject"}' >>out.txt
wait $!
opencode_say "$SID" 'prompt after the refusal'
mark permission-refused-with-a-word
script "[$ECHO,{\"text\":\"understood\"}]"
opencode_say "$SID" 'run it again' &
oc POST "/permission/$(opencode_pending permission)/reply" '{"reply":"reject","message":"use ls instead"}' >>out.txt
wait $!
mark plan
opencode_say "$SID" 'make a plan' '"agent":"plan",'
FILE=$(cat "$CAP"/*.json | grep -oE "$WS/[^ ]*/plans/[0-9a-z-]+\.md" | tail -1)
script "[{\"tools\":[{\"name\":\"write\",\"input\":{\"filePath\":\"$FILE\",\"content\":\"# Plan\\n1. alpha\\n2. beta\\n\"}}]},{\"text\":\"plan written\"}]"
opencode_say "$SID" 'write the plan' '"agent":"plan",'
mark plan-refused
EXIT='{"tools":[{"name":"plan_exit","input":{}}]}'
script "[$EXIT]"
answer 'show me the plan' '[["No"]]' '"agent":"plan",'
opencode_say "$SID" 'use postgres in step two' '"agent":"plan",'
mark plan-approved
script "[$EXIT,{\"text\":\"understood\"}]"
answer 'show me the plan again' '[["Yes"]]' '"agent":"plan",'
mark build
opencode_say "$SID" 'prompt in build mode' '"agent":"build",'
mark build-without-the-plan-tool
opencode_say "$SID" 'make another plan' '"agent":"plan",'
opencode_say "$SID" 'build it now' '"agent":"build",'
mark manual
opencode_compact "$SID"
opencode_say "$SID" 'prompt after the compaction'
opencode_stop
end
