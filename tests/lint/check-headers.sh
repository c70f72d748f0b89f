#!/bin/bash
# Every header compiles alone, and twice, so no file depends on what another happened to include before. Flags: "$@".
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
for header in src/*/*.h src/*/*/*.h; do
    printf '#include "%s"\n#include "%s"\nextern int nothing;\n' "$header" "$header" |
        ${CC:-cc} "$@" -fsyntax-only -x c - || { printf '%s does not compile alone\n' "$header" >&2; bad=1; }
done
exit $bad
