#!/bin/bash
# The tests. Sets up what is missing first.
#
#   run.sh quick   units (with the wire cases) and end to end on bwrap, without the tests marked "slow" and, of a test with several cases,
#                  with the first alone
#   run.sh test    units and end to end with the release build, on every engine that is there; the wire cases
#   run.sh check   the rest: units and end to end (on bwrap) with ASan and UBSan, but for the tests of something
#                  else than the program's own memory (marked "no_asan", or but for the first case, "asan_once"); the long repetitions (marked "check") with
#                  the release build on every engine; the containment probes
#                  The two share the cases of a test: tests/e2e/turns.py says how
#   run.sh ready   no test: gets from the network, and builds, what the others need, for who runs them all (CI)
#
# What follows goes to pytest, as in "run.sh test -k chat"; then every case runs in both. The second round needs bwrap alone: what differs between
# engines is in the argument vectors and outside the program.
#
# Units, long repetitions and probes wait for most of their time, so they run beside the end-to-end round. The few tests that fail beside others are run
# once more when all the rest is over, alone: what fails alone as well has failed, what passes then is a flake. Flakes are named in the summary,
# and with more than FLAKES_MOST of them the run has failed.
#
#   SANDPIPER_TEST_JOBS     tests at once (three times the processors, since much of their time they wait)
#   SANDPIPER_TEST_EVERY    1: test and check run every case, on every engine
#   SANDPIPER_TEST_FLAKES   a file to which the flakes are added, for several runs that are counted together (CI)
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-test}
[ $# = 0 ] || shift
setup/packages.sh test
jobs=$(nproc)
workers=${SANDPIPER_TEST_JOBS:-$((3 * jobs))}
few=$(((2 * workers + 2) / 3))      # for each of several rounds beside each other
scratch=$(mktemp -d)
trap 'cat "$scratch"/beside.* 2>/dev/null || true; rm -rf "$scratch"' EXIT
# Seconds for one test and for a round of tests. A test that hangs has failed, with the line that it hung at; CI never waits for one.
TEST_MOST=${SANDPIPER_TEST_MOST:-300}
ROUND_MOST=${SANDPIPER_ROUND_MOST:-2100}
FLAKES_MOST=2
flakes=${SANDPIPER_TEST_FLAKES:-$scratch/flakes}
turns=()
[ $# != 0 ] || [ -n "${SANDPIPER_TEST_EVERY:-}" ] || [ "$what" = quick ] || turns=(--turns)
touch "$flakes"

# Of the processors' time since the last line.
ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $5 + $6 }' /proc/stat; }
was=$(ticks)
say() {
    local now
    now=$(ticks)
    awk -v now="$now" -v was="$was" 'BEGIN { split(now, n); split(was, w); work = n[1] - w[1]; all = work + n[2] - w[2]
        printf "%d", all ? 100 * work / all : 0 }' >"$scratch/busy"
    was=$now
    printf '\n== %s (%d s; until here the processors were %d %% busy)\n' "$*" "$SECONDS" "$(cat "$scratch/busy")"
}

# A step that may fail: the others run all the same. In a folder of its own, $at: its name, code and seconds, its last line, what the summary tells
# of failures (told), the tests to be run once more (again) and how (how), and which of them failed then as well (failed).
step() {
    local name=$1 start=$SECONDS code=0
    at=$(mktemp -d "$scratch/step.XXXX")
    shift
    say "$name"
    echo "$name" >"$at/name"
    echo "$at" >>"$scratch/steps"
    : >"$at/told"
    "$@" 2>&1 | tee "$at/log" || code=1
    echo $code >"$at/code"
    echo $((SECONDS - start)) >"$at/seconds"
    [ -s "$at/last" ] || { grep -v '^$' "$at/log" || true; } | tail -1 >"$at/last"
    [ -s "$at/told" ] || [ "$code" = 0 ] || grep -aE '^(FAILED|BROKEN|NOT RUN) ' "$at/log" >"$at/told" || true
}
# Steps beside those that follow. Their output is shown when they are over, or we are.
beside() { "$@" >"$scratch/beside.$1" 2>&1 & }
joined() {
    wait
    cat "$scratch"/beside.* 2>/dev/null || true
    rm -f "$scratch"/beside.*
}

# Debian's own Python with Debian's pytest, whatever else is first in PATH. Rewriting their asserts is most of what it takes to read the tests, and
# each worker reads them all: the bytecode is kept in build, for the workers and for the next run, whatever the user's environment says of it.
bytecode=(PYTHONPYCACHEPREFIX="$PWD/build/bytecode" PYTHONDONTWRITEBYTECODE=)
python() {
    : >"$at/notes"
    SANDPIPER_BIN=build/$build/sandpiper SANDPIPER_TEST_NOTES=$at/notes \
        env "${bytecode[@]}" timeout -k 60 "$ROUND_MOST" /usr/bin/python3 -m pytest -q -p no:cacheprovider --timeout "$TEST_MOST" "$@" 2>&1 | tee "$at/round"
}
# Compiles the tests once, while other things run, instead of in each worker.
compiled() { [ -d build/bytecode ] || env "${bytecode[@]}" timeout 300 /usr/bin/python3 -m pytest -q -p no:cacheprovider --collect-only tests/e2e >/dev/null 2>&1 || true; }
# Of the round that just ended: what failed, and what was under way if it was stopped or died. tell WORD EXIT-CODE
tell() {
    local how
    awk -F '\t' -v word="$1" '$1 == "FAILED" { print word, $2, $3 }' "$at/notes" | sort -u >>"$at/told"
    awk -F '\t' '$1 == "began" { runs[$2] } $1 == "ended" || $1 == "FAILED" { delete runs[$2] } END { for (test in runs) print "  " test }' \
        "$at/notes" >"$at/under-way"
    case $2 in
        0 | 1 | 5) how="pytest was ended" ;;
        124 | 137) how="stopped after $ROUND_MOST s" ;;
        *) how="pytest ended with $2" && { grep -a '^ERROR ' "$at/round" >>"$at/told" || true; } ;;
    esac
    grep -avE '^(began|ended|FAILED)\s' "$at/notes" || true      # where a test was that took its worker with it
    [ "$2" -le 1 ] && [ ! -s "$at/under-way" ] || { echo "$how; under way were:"; cat "$at/under-way"; } | tee -a "$at/told"
}
last_of_round() { grep -av '^$' "$at/round" | tail -1; }
# e2e BUILD ENGINES MARKED WORKERS [ARGUMENTS]. Tests of one group (see conftest.py) stay with one worker.
e2e() {
    local build=$1 code=0 again
    export SANDPIPER_TEST_ENGINES=$2
    python -n "$4" --dist loadgroup -m "$3" "${turns[@]}" tests/e2e "${@:5}" || code=$?
    last_of_round >"$at/last"
    awk -F '\t' '$1 == "FAILED" { print $2 }' "$at/notes" | sort -u >"$at/again"
    again=$(wc -l <"$at/again")
    if [ "$code" = 1 ] && [ "$again" -gt 0 ] && [ "$again" -le 10 ]; then
        printf '%s\n' e2e_alone "$build" "$2" "$3" >"$at/how"
        return 0
    fi
    tell FAILED "$code"
    return "$code"
}
e2e_alone() {
    local build=$1 code=0 again
    mapfile -t again <"$at/again"
    SANDPIPER_TEST_ENGINES=$2 python -m "$3" "${again[@]}" || code=$?
    awk -F '\t' '$1 == "FAILED" { print $2 }' "$at/notes" | sort -u >"$at/failed"
    tell FAILED "$code"
    echo "$(cat "$at/last"); those that failed, alone: $(last_of_round)" >"$at/last.new"
    mv "$at/last.new" "$at/last"
    return "$code"
}
# Texts longer than a kilobyte are cut at every third byte with sanitizers, at every fifth without; a run by hand cuts at each.
units() {
    local cuts=5
    [ "$1" != asan ] || cuts=3
    SANDPIPER_UNIT_CUTS=${SANDPIPER_UNIT_CUTS:-$cuts} SANDPIPER_UNITS_AGAIN=$at/again make -s -j"$jobs" MODE="$1" unit || return 1
    echo "every unit test passed" >"$at/last"
    [ ! -s "$at/again" ] || echo units_alone >"$at/how"
}
units_alone() {
    local again
    mapfile -t again <"$at/again"
    tests/unit/run.sh "${again[@]}" 2>&1 | tee "$at/round" && return
    grep '^FAILED' "$at/round" | tee -a "$at/told" | tail -1 >"$at/last"
    sed -n 's/^FAILED //p' "$at/round" >"$at/failed"
    return 1
}
# What failed beside others, when nothing else runs. A test that passes now is a flake, unless the round was ended before it came to it.
once_more() {
    local how code
    while read -r at; do
        [ -s "$at/how" ] || continue
        mapfile -t how <"$at/how"
        say "$(cat "$at/name"), alone: the $(wc -l <"$at/again") that failed beside others"
        : >"$at/failed"
        code=0
        "${how[@]}" </dev/null || code=$?
        [ "$code" = 0 ] || echo 1 >"$at/code"
        [ "$code" -gt 1 ] || grep -vxFf "$at/failed" "$at/again" >>"$flakes" || true
    done <"$scratch/steps"
}
summary() {
    local failed=
    while read -r at; do
        [ "$(cat "$at/code")" = 0 ] || failed="$failed $(cat "$at/name");"
        printf '%-34s %s, %d s: %s\n' "$(cat "$at/name")" "$([ "$(cat "$at/code")" = 0 ] && echo passed || echo FAILED)" "$(cat "$at/seconds")" \
            "$(cat "$at/last")"
        head -40 "$at/told" | cut -c 1-300 | sed 's/^/    /'
    done <"$scratch/steps"
    [ ! -s "$flakes" ] || { printf 'flakes, which failed beside others and passed alone: %d\n' "$(wc -l <"$flakes")"; sed 's/^/    /' "$flakes"; }
    [ "$(wc -l <"$flakes")" -le $FLAKES_MOST ] || failed="$failed more than $FLAKES_MOST flakes;"
    [ -z "$failed" ] || { echo "failed:${failed%;}"; return 1; }
    echo "all passed"
}

probe() { timeout 1800 make -s probe; }
# What comes from the network: other people's clients, storage servers, a bare machine. Side by side, while the program is built, and by who asks
# first: the others wait. Without an index the tests of clients are skipped, in CI they fail; those of the others say what is missing.
fetch() {
    timeout 600 setup/storage_servers.sh >/dev/null 2>&1 </dev/null &
    timeout 600 setup/compose.sh >/dev/null 2>&1 </dev/null &
    tests/distribution.sh machine &
    timeout 600 tests/clients/install.sh || echo "other people's clients could not all be installed"
    wait
}

build() {
    say "build, $1"
    make -s -j"$jobs" MODE="$1" "build/$1/sandpiper"
}
unit_round() { step "units, $1" units "${2:-$1}"; }
distributed() { tests/distribution.sh wheel machine deb again arm64; }
long_round() {
    step "what is distributed" distributed
    step "long repetitions, release" e2e release "$engines" check "$few" "$@"
}
probe_round() { step "containment probes" probe; }

engines=${SANDPIPER_TEST_ENGINES:-}
case $what in
    quick)
        compiled &
        collected=$!
        build release
        wait "$collected"
        beside unit_round release
        step "end to end, quick, bwrap" e2e release "${SANDPIPER_TEST_ENGINES:-bwrap}" "not check" "$workers" --quick "$@"
        ;;
    ready)
        fetch &
        # What make check builds, in what time the other rounds leave.
        nice -n 19 tests/distribution.sh arm64 deb again || true        # make check says why
        nice -n 19 make -s -j"$jobs" MODE=asan build/asan/sandpiper units || true
        wait
        exit 0
        ;;
    test)
        fetch &
        fetched=$!
        build release
        beside unit_round release
        compiled &
        collected=$!
        tests/distribution.sh wheel || true         # its tests say what is missing
        wait "$fetched" "$collected"
        step "end to end, release" e2e release "$engines" "not check" "$workers" "$@"
        ;;
    check)
        compiled &
        build release
        # The probes wait for most of their time. Behind the repetitions they went on alone when all the rest was over.
        beside long_round "$@"
        beside probe_round
        build asan
        unit_round "ASan and UBSan" asan
        step "end to end, ASan and UBSan, bwrap" e2e asan bwrap "not check" "$few" "$@"
        ;;
    *) echo "usage: run.sh quick|test|check|ready [ARGUMENTS OF PYTEST]" >&2; exit 2 ;;
esac

joined
once_more
say "summary of make $what"
summary
