#!/bin/bash
# Every test: units and end-to-end, of the release and of the ASan and UBSan build. Sets up what is missing first.
# The second end-to-end round (ASan) uses bwrap alone: what differs between engines is in the argument vectors and outside the program.
# It runs beside the first, since tests mostly wait; what it says is printed when both have ended.
set -euo pipefail
cd "$(dirname "$0")/.."

src/setup/packages.sh test
jobs=$(nproc)
say() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# Debian's own Python with Debian's pytest, whatever else is first in PATH; no bytecode in the tree.
e2e() { SANDPIPER_BIN=$1 PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/e2e "${@:2}"; }

say "build"
make -s -j"$jobs" MODE=release build/release/sandpiper
make -s -j"$jobs" MODE=asan build/asan/sandpiper

say "units, release"
make -s -j"$jobs" MODE=release unit
say "units, ASan and UBSan"
make -s -j"$jobs" MODE=asan unit

say "end to end, release; ASan and UBSan on bwrap beside it"
log=$(mktemp)
beside=
end() {
    [ -z "$beside" ] || pkill -P "$beside" || true
    rm -f "$log"
}
trap end EXIT
SANDPIPER_TEST_ENGINES=bwrap e2e build/asan/sandpiper "$@" >"$log" 2>&1 &
beside=$!
failed=0
e2e build/release/sandpiper "$@" || failed=1
say "end to end, ASan and UBSan, bwrap"
wait "$beside" || failed=1
beside=
cat "$log"
[ "$failed" = 0 ] || { say "some failed"; exit 1; }
say "all passed"
