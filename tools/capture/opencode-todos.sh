#!/bin/bash
# opencode: todowrite with every status, with a bad one and beside another call;
# two compactions of one session with marks around the tags, an empty summary;
# a fork, the parent, a restart, a step back, a command of the shell.
. "$(dirname "$(readlink -f "$0")")/lib-opencode.sh"
todos() { printf '{"name":"todowrite","input":{"todos":[%s]}}' "$1"; }
todo() { printf '{"content":"%s","status":"%s","priority":"high"}' "$1" "$2"; }
begin opencode-todos
opencode_seed
opencode_start
SID=$(opencode_new)

mark parallel
script "[{\"tools\":[$(todos "$(todo alpha in_progress),$(todo beta pending),$(todo gamma pending)"),{\"name\":\"bash\",\"input\":{\"command\":\"echo hi\",\"description\":\"say hi\"}}]},{\"text\":\"todos made\"}]"
opencode_say "$SID" 'make three todos'
mark updates
script "[{\"tools\":[$(todos "$(todo alpha completed),$(todo beta in_progress),$(todo gamma cancelled)")]},
  {\"tools\":[$(todos "$(todo alpha finished)")]},
  {\"tools\":[{\"name\":\"todowrite\",\"input\":{\"todos\":[{\"content\":\"alpha\"}]}}]},
  {\"tools\":[{\"name\":\"no_such_tool\",\"input\":{}}]},
  {\"tools\":[$(todos "$(todo alpha completed),$(todo beta in_progress)")]},{\"text\":\"updates done\"}]"
opencode_say "$SID" 'update the todos'
mark manual-1
script '[{"compaction":true,"text":"mark before\n<summary>\nmark inside\n</summary>\nmark after"}]'
opencode_compact "$SID"
mark epoch-first
opencode_say "$SID" 'first prompt after the compaction'
mark epoch-second
script "[{\"tools\":[$(todos "$(todo beta completed)")]},{\"text\":\"beta done\"}]"
opencode_say "$SID" 'second prompt after the compaction'
mark manual-2
opencode_compact "$SID"
mark epoch-first
opencode_say "$SID" 'prompt after the second compaction'
mark fork
FORK=$(opencode_fork "$SID")
opencode_say "$FORK" 'prompt in a fork'
mark parent
opencode_say "$SID" 'prompt in the parent'
mark restart
opencode_stop
opencode_start
opencode_say "$SID" 'prompt after a restart'
mark shell
oc POST "/session/$SID/shell" '{"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"command":"echo typed"}' >>out.txt
opencode_say "$SID" 'prompt after a command'
mark revert
LAST=$(oc GET "/session/$SID/message" | grep -oE '"id":"msg_[A-Za-z0-9]+"' | tail -2 | head -1 | cut -d'"' -f4)
oc POST "/session/$SID/revert" "{\"messageID\":\"$LAST\"}" >>out.txt
opencode_say "$SID" 'another prompt in its place'
mark empty
script '[{"compaction":true,"text":""}]'
opencode_compact "$SID"
opencode_say "$SID" 'prompt after an empty summary'
opencode_stop
end
