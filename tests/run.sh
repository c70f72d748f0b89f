#!/bin/bash
# The tests. Sets up what is missing first.
#
#   run.sh test    units and end to end with the release build, on every engine that is there; the wire cases
#   run.sh check   the rest: units and end to end (on bwrap) with ASan and UBSan, but for the files that test something
#                  else than the program's own memory (conftest.py: NO_ASAN); the long repetitions (marked "check") with
#                  the release build on every engine; the containment probes
#
# What follows goes to pytest, as in "run.sh test -k chat". The second round needs bwrap alone: what differs between
# engines is in the argument vectors and outside the program.
#
#   SANDPIPER_TEST_JOBS   tests at once (four times the processors, since most of their time they wait)
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-test}
[ $# = 0 ] || shift
src/setup/packages.sh test
jobs=$(nproc)
workers=${SANDPIPER_TEST_JOBS:-$((4 * jobs))}
# Fetched meanwhile, for tests/e2e/test_upload.py, which waits for them and tells what failed.
[ "$what" != test ] || timeout 600 src/setup/storage_servers.sh >/dev/null 2>&1 </dev/null &
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log told=$scratch/told notes=$scratch/notes
# Seconds for one test and for a round of tests. A test that hangs has failed, with the line that it hung at; CI never waits for one.
TEST_MOST=${SANDPIPER_TEST_MOST:-300}
ROUND_MOST=${SANDPIPER_ROUND_MOST:-1200}
summary=()
failed=

say() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# A step that may fail: the others run all the same. Its last line goes into the summary, with the tests that failed.
step() {
    local name=$1 start=$SECONDS code=0
    shift
    say "$name"
    : >"$told"
    "$@" 2>&1 | tee "$log" || code=1
    [ "$code" = 0 ] || failed="$failed $name;"
    summary+=("$(printf '%-34s %s, %d s: %s' "$name" "$([ $code = 0 ] && echo passed || echo FAILED)" $((SECONDS - start)) \
        "$(grep -v '^$' "$log" | tail -1)")")
    [ -s "$told" ] || [ "$code" = 0 ] || grep -aE '^(FAILED|BROKEN|NOT RUN) ' "$log" >"$told" || true
    [ ! -s "$told" ] || summary+=("$(head -40 "$told" | cut -c 1-300 | sed 's/^/    /')")
}

# Debian's own Python with Debian's pytest, whatever else is first in PATH; its bytecode is kept for the workers of this run, outside the tree.
python() {
    : >"$notes"
    SANDPIPER_BIN=build/$build/sandpiper SANDPIPER_TEST_NOTES=$notes PYTHONPYCACHEPREFIX=$scratch/bytecode \
        timeout -k 60 "$ROUND_MOST" /usr/bin/python3 -m pytest -q -p no:cacheprovider --timeout "$TEST_MOST" "$@" 2>&1 | tee "$scratch/round"
}
# Compiles the tests once, while the unit tests run, instead of in each worker.
compiled() { PYTHONPYCACHEPREFIX=$scratch/bytecode timeout 300 /usr/bin/python3 -m pytest -q -p no:cacheprovider --collect-only tests/e2e >/dev/null 2>&1 || true; }
# Of the round that just ended: what failed, and what was under way if it was stopped or died. tell WORD EXIT-CODE
tell() {
    local how
    awk -F '\t' -v word="$1" '$1 == "FAILED" { print word, $2, $3 }' "$notes" | sort -u >>"$told"
    awk -F '\t' '$1 == "began" { runs[$2] } $1 == "ended" || $1 == "FAILED" { delete runs[$2] } END { for (test in runs) print "  " test }' \
        "$notes" >"$scratch/under-way"
    case $2 in
        0 | 1 | 5) how="pytest was ended" ;;
        124 | 137) how="stopped after $ROUND_MOST s" ;;
        *) how="pytest ended with $2" && { grep -a '^ERROR ' "$scratch/round" >>"$told" || true; } ;;
    esac
    grep -avE '^(began|ended|FAILED)\s' "$notes" || true         # where a test was that took its worker with it
    [ "$2" -le 1 ] && [ ! -s "$scratch/under-way" ] || { echo "$how; under way were:"; cat "$scratch/under-way"; } | tee -a "$told"
}
# Tests of one group (see conftest.py) stay with one worker. The few that fail beside others are run once more, alone, and both are told: the
# machine may have been too busy for them, but what fails alone as well has failed.
e2e() {
    local build=$1 code=0 first again
    python -n "$workers" --dist loadgroup -m "$2" tests/e2e "${@:3}" || code=$?
    first=$(grep -av '^$' "$scratch/round" | tail -1)
    mapfile -t again < <(awk -F '\t' '$1 == "FAILED" { print $2 }' "$notes" | sort -u)
    if [ "$code" = 1 ] && [ ${#again[@]} -gt 0 ] && [ ${#again[@]} -le 10 ]; then
        tell "failed beside others:" 0
        code=0
        say "end to end, $build, alone: the ${#again[@]} that failed beside others"
        python -m "$2" "${again[@]}" || code=$?
        first="$first; those that failed, alone: $(grep -av '^$' "$scratch/round" | tail -1)"
    fi
    tell FAILED "$code"
    echo "$first"
    return "$code"
}
asan_e2e() { SANDPIPER_TEST_ENGINES=bwrap e2e asan "not check" "$@"; }
units() { make -s -j"$jobs" MODE="$1" unit && echo "every unit test passed"; }
probe() { timeout 900 make -s probe; }
# Other people's clients come from PyPI while the program is built. Without an index their tests are skipped, in CI they fail.
clients() { timeout 600 tests/clients/install.sh || echo "other people's clients could not all be installed"; }

build() {
    say "build, $1"
    make -s -j"$jobs" MODE="$1" "build/$1/sandpiper"
}

case $what in
    test)
        clients &
        build release
        compiled &
        step "units, release" units release
        wait
        step "end to end, release" e2e release "not check" "$@"
        ;;
    check)
        build release
        build asan
        compiled &
        step "units, ASan and UBSan" units asan
        step "end to end, ASan and UBSan, bwrap" asan_e2e "$@"
        step "long repetitions, release" e2e release check "$@"
        step "containment probes" probe
        ;;
    *) echo "usage: run.sh test|check [ARGUMENTS OF PYTEST]" >&2; exit 2 ;;
esac

wait # for the servers, if no test needed them
say "summary of make $what"
printf '%s\n' "${summary[@]}"
[ -z "$failed" ] || { echo "failed:${failed%;}"; exit 1; }
echo "all passed"
