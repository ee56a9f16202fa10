# cline, on top of lib.sh.
#
#   npm install --prefix $CAPTURE_DIR/cline cline
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

# cline_seed: a provider of its own.
cline_seed() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${CLINE_ENV[@]}" timeout 60 "$CLINE" auth -p openai -k dummy -m mock-model -b "$URL/v1" >/dev/null 2>&1 </dev/null
}
CLINE="$CAPTURE_DIR/cline/node_modules/@cline/cli-linux-x64/bin/cline"
CLINE_ENV=(CLINE_TELEMETRY_DISABLED=1 DO_NOT_TRACK=1 CLINE_NO_AUTO_UPDATE=1)

# cline_p ARGS...: one headless run.
cline_p() {
	env -i HOME="$H" "${BASE_ENV[@]}" "${CLINE_ENV[@]}" timeout 110 "$CLINE" --json "$@" </dev/null
}
