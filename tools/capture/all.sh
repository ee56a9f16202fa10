#!/bin/bash
# all.sh [AGENT]: every capture script of one agent, one after the other.
cd "$(dirname "$(readlink -f "$0")")" || exit 1
for s in "${1:-claude}"-*.sh; do
	echo "$s"
	"./$s" || exit 1
done
