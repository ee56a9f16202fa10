#!/bin/bash
# opencode with the responses protocol: todowrite, two compactions, a subagent.
. "$(dirname "$(readlink -f "$0")")/lib-opencode.sh"
begin opencode-responses
opencode_seed '' @ai-sdk/openai
opencode_protocol
end
