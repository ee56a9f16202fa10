#!/bin/bash
# cline headless with --compaction basic: the history is cut without a request.
. "$(dirname "$(readlink -f "$0")")/lib-cline.sh"
begin cline-basic
cline_seed
long() { # COUNT USAGE: calls with results of some 8 kB
	for i in $(seq 1 "$1"); do
		printf '{"text":"step %d","tools":[{"name":"run_commands","input":{"commands":["seq %d %d"]}}],"usage":%d},' \
			"$i" $((100000 + i * 3000)) $((100000 + i * 3000 + 2500)) "$2"
	done
}
mark basic
script "[$(long 14 300000)"'{"text":"turn done"}]'
cline_p --compaction basic 'run the long job' >out.txt 2>&1
leftovers
end
