#!/bin/bash
# pi in a terminal: back to an earlier prompt with a summary of the branch that is
# left, which is a side call that looks like a compaction; then a compaction.
. "$(dirname "$(readlink -f "$0")")/lib-pi.sh"
begin pi-tree
pi_seed 40
tui PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1 node "$PI" --provider chat --model mock-model
until screen | grep -q ' pi v'; do sleep 0.2; done
settle
mark first
say 'first prompt'
say 'second prompt'
say 'third prompt'
mark tree
say '/tree'
press Up Up Enter
press Down Enter
say 'prompt in another branch'
mark manual
say "$LONG"
say '/compact'
say 'prompt after the compaction'
tui_end
end
