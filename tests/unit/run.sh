#!/bin/bash
# The unit tests, given by their programs, three a processor: most of their time they wait. What fails beside others is run once more, alone,
# and told: the machine may have been too busy for it, but what fails alone as well has failed.
#
#   SANDPIPER_UNITS_AGAIN   a file for the names of those instead, for a caller that runs other tests beside us
set -uo pipefail
export failed=${SANDPIPER_UNITS_AGAIN:-$(mktemp)}
[ -n "${SANDPIPER_UNITS_AGAIN:-}" ] || trap 'rm -f "$failed"' EXIT
: >"$failed"

one() { timeout 600 "$1" >"$1.log" 2>&1 && echo "passed $1" || echo "$1" >>"$failed"; }
export -f one
[ $# = 0 ] || printf '%s\n' "$@" | xargs -P "$(($(nproc) * 3))" -I {} bash -c 'one {}'
code=0
while read -r test; do
    printf 'failed beside others, once more: %s\n%s\n' "$test" "$(grep -a ERROR "$test.log")"
    [ -z "${SANDPIPER_UNITS_AGAIN:-}" ] || continue
    timeout 300 "$test" >"$test.log" 2>&1 || { cat "$test.log"; echo "FAILED $test"; code=1; }
done <"$failed"
exit $code
