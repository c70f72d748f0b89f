#!/bin/bash
# Run fuzz targets: run.sh BUILD TARGET... Each gets FUZZ_SECONDS (60; 0 runs the corpus only), a copy of its corpus, and its dictionary if
# there is one; as many at a time as there are processors. What was found is written under BUILD, never into the tree.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift

# The wire cases as seeds: each target has its own bytes in front of a body.
seed_from_cases() {
    local target=$1 corpus=$2 case status
    for case in "$here"/../wire/*/; do
        status=$(cat "$case/status" 2>/dev/null || echo 200)
        case $target in
        sse) cat "$case/response.body" ;;
        reader) printf "\\x$([ "$status" -lt 300 ] && echo 00 || printf %x $((128 + (status - 400) % 128)))"; cat "$case/response.body" ;;
        failure) printf "\\x$(printf %02x $(((status - 300) & 255)))"; cat "$case/response.headers" 2>/dev/null; echo; cat "$case/response.body" ;;
        *) return ;;
        esac >"$corpus/case-$(basename "$case")"
    done
}
export -f seed_from_cases

one() {
    local build=$1 target=$2 name corpus log
    name=$(basename "$target")
    corpus=$build/corpus/${name#fuzz_} log=$build/$name.log
    mkdir -p "$corpus" "$build/found"
    cp -n "$here/corpus/${name#fuzz_}"/* "$corpus"/ 2>/dev/null || true
    seed_from_cases "${name#fuzz_}" "$corpus"
    local options=(-timeout=20 -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 "-artifact_prefix=$build/found/$name-")
    [ -f "$here/$name.dict" ] && options+=("-dict=$here/$name.dict")
    if [ "${FUZZ_SECONDS:-60}" -gt 0 ]; then options+=("-max_total_time=${FUZZ_SECONDS:-60}"); else options+=(-runs=0); fi
    if "$target" "${options[@]}" "$corpus" >"$log" 2>&1; then
        printf '%s: nothing found, %s inputs run, %s in the corpus\n' "$name" "$(sed -n 's/stat::number_of_executed_units: *//p' "$log")" \
            "$(find "$corpus" -type f | wc -l)"
    else
        tail -40 "$log"
        printf '%s: FOUND SOMETHING; once more with: %s %s\n' "$name" "$target" "$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)"
        return 1
    fi
}
export -f one
export here
printf '%s\0' "$@" | xargs -0 -P "${FUZZ_JOBS:-$(nproc)}" -I{} bash -c 'one "$@"' one "$build" {}
