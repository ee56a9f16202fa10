#!/bin/bash
# claude-code headless: three TaskCreate calls in one answer, every kind of
# TaskUpdate, TaskList and TaskGet, two compactions of one session,
# a fork, and a summary without the tags that the agent asked for.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
begin claude-tasks

mark parallel
script '[{"tools":[
  {"name":"TaskCreate","input":{"subject":"alpha","description":"do alpha","activeForm":"doing alpha"}},
  {"name":"TaskCreate","input":{"subject":"beta","description":"do beta"}},
  {"name":"TaskCreate","input":{"subject":"gamma","description":"do gamma"}}]},{"text":"three tasks made"}]'
SID=$(claude_p --output-format json 'make three tasks' | grep -oE '"session_id":"[^"]+' | head -1 | cut -d'"' -f4)

mark updates
script '[{"tools":[{"name":"TaskUpdate","input":{"taskId":"1","status":"in_progress"}}]},
  {"tools":[{"name":"TaskUpdate","input":{"taskId":"1","status":"completed"}}]},
  {"tools":[{"name":"TaskUpdate","input":{"taskId":"2","status":"deleted"}}]},
  {"tools":[{"name":"TaskUpdate","input":{"taskId":"99","status":"completed"}}]},
  {"tools":[{"name":"TaskUpdate","input":{"taskId":"3","subject":"gamma renamed"}}]},
  {"tools":[{"name":"TaskUpdate","input":{"taskId":"3","status":"finished"}}]},
  {"tools":[{"name":"TaskUpdate","input":{"taskId":"3","status":"in_progress"}},{"name":"TaskCreate","input":{"subject":"delta","description":"do delta"}}]},
  {"tools":[{"name":"TaskGet","input":{"taskId":"3"}}]},
  {"tools":[{"name":"TaskList","input":{}}]},{"text":"updates done"}]'
claude_p --resume "$SID" 'update the tasks' >out.txt

mark manual-1
claude_p --resume "$SID" '/compact' >out.txt
mark epoch-first
claude_p --resume "$SID" 'first prompt after the compaction' >out.txt
mark epoch-second
script '[{"tools":[{"name":"TaskUpdate","input":{"taskId":"3","status":"completed"}}]},{"text":"gamma done"}]'
claude_p --resume "$SID" 'second prompt after the compaction' >out.txt
mark manual-2
claude_p --resume "$SID" '/compact' >out.txt
mark epoch-first
script '[{"tools":[{"name":"TaskList","input":{}}]},{"text":"listed"}]'
claude_p --resume "$SID" 'prompt after the second compaction' >out.txt
mark fork
claude_p --resume "$SID" --fork-session 'prompt in a fork' >out.txt
mark untagged
script '[{"compaction":true,"text":"summary without tags 1"},{"compaction":true,"text":"summary without tags 2"}]'
claude_p --resume "$SID" '/compact' >out.txt
claude_p --resume "$SID" 'prompt after a summary without tags' >out.txt
end
