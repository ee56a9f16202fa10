#!/bin/bash
# gemini-cli headless: a subagent, and a model of the third generation, which is
# offered no write_todos.
. "$(dirname "$(readlink -f "$0")")/lib-gemini.sh"
begin gemini-agents
gemini_seed
mark subagent
script '[{"tools":[{"name":"invoke_agent","input":{"agent_name":"codebase_investigator","prompt":"say hi as a subagent"}}]},
  {"tools":[{"name":"complete_task","input":{"report":{"SummaryOfFindings":"hi","ExplorationTrace":["none"],"RelevantLocations":[]}}}]},{"text":"understood"}]'
gemini_p -p 'start a subagent' >out.txt 2>&1
mark third-generation
script '[{"tools":[{"name":"write_todos","input":{"todos":[{"description":"alpha","status":"pending"}]}}]},{"text":"understood"}]'
gemini_p -m gemini-3-pro-preview -p 'make a list' >out3.txt 2>&1
end
