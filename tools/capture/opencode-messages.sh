#!/bin/bash
# opencode with the messages protocol: todowrite, two compactions, a subagent.
. "$(dirname "$(readlink -f "$0")")/lib-opencode.sh"
begin opencode-messages
opencode_seed '' @ai-sdk/anthropic
opencode_protocol
end
