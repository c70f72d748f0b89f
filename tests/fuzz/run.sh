#!/bin/bash
# Run fuzz targets: run.sh BUILD TARGET... Each gets FUZZ_SECONDS (60; 0 runs the corpus only), a copy of its corpus, and its dictionary if
# there is one; as many at a time as there are processors. What was found is written under BUILD, never into the tree.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift

# The wire cases as seeds: each target has its own bytes in front of a body. For the reader the first byte is the dialect, or the status.
seed_from_cases() {
    local target=$1 seeds=$2 case name status mode
    if [ "$target" = models ]; then
        for case in "$here"/../unit/llm/models/*.json; do
            { echo gpt-4.1-mini; cat "$case"; } >"$seeds/list-$(basename "$case")"
        done
        return
    fi
    for case in "$here"/../wire/*/; do
        status=$(cat "$case/status" 2>/dev/null || echo 200) name=$(basename "$case")
        case $target in
        sse) cat "$case/response.body" >"$seeds/case-$name" ;;
        json) sed 's/^data: *//' "$case/response.body" | split -l 1 - "$seeds/case-$name-" ;;
        reader)
            for mode in 00 01 02; do
                [ "$status" -lt 300 ] || mode=$(printf %x $((128 + (status - 400) % 128)))
                { printf "\\x$mode"; cat "$case/response.body"; } >"$seeds/case-$mode-$name"
            done
            ;;
        failure)
            { printf "\\x$(printf %02x $(((status - 300) & 255)))"; cat "$case/response.headers" 2>/dev/null; echo; cat "$case/response.body"; } \
                >"$seeds/case-$name"
            ;;
        esac
    done
}
export -f seed_from_cases

one() {
    local build=$1 target=$2 name corpus log seeds
    name=$(basename "$target")
    corpus=$build/corpus/${name#fuzz_} log=$build/$name.log seeds=$build/seeds/${name#fuzz_}
    mkdir -p "$corpus" "$seeds" "$build/found"
    seed_from_cases "${name#fuzz_}" "$seeds"
    local folders=("$corpus" "$seeds")
    [ -d "$here/corpus/${name#fuzz_}" ] && folders+=("$here/corpus/${name#fuzz_}")
    local options=(-timeout=20 -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 "-artifact_prefix=$build/found/$name-")
    [ -f "$here/$name.dict" ] && options+=("-dict=$here/$name.dict")
    if [ "${FUZZ_SECONDS:-60}" -gt 0 ]; then options+=("-max_total_time=${FUZZ_SECONDS:-60}"); else options+=(-runs=0); fi
    # Only what reaches something new is kept in the corpus, which lives on from run to run; the seeds are read each time.
    if "$target" "${options[@]}" "${folders[@]}" >"$log" 2>&1; then
        printf '%s: nothing found, %s inputs run, %s in the corpus, %s edges\n' "$name" \
            "$(sed -n 's/stat::number_of_executed_units: *//p' "$log")" "$(find "$corpus" -type f | wc -l)" \
            "$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)"
    else
        tail -40 "$log"
        printf '%s: FOUND SOMETHING; once more with: %s %s\n' "$name" "$target" "$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)"
        return 1
    fi
}
export -f one
export here
printf '%s\0' "$@" | xargs -0 -P "${FUZZ_JOBS:-$(nproc)}" -I{} bash -c 'one "$@"' one "$build" {}
