#!/bin/bash
# check-symbols.sh OBJECT... - no function or variable that other files can see has the name of another one. The linker takes the first that it
# finds in an archive and says nothing, so a room could run another room's function.
set -euo pipefail

twice=$(nm --defined-only "$@" | awk '$2 ~ /^[TDBR]$/ { print $3 }' | sort | uniq -d)
[ -z "$twice" ] || { printf 'defined in two files: %s\n' $twice >&2; exit 1; }
