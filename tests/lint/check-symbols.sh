#!/bin/bash
# check-symbols.sh OBJECT... - a function or variable that other files can see has a name of its own, since the linker takes the first that
# it finds in an archive and says nothing, so a room could run another room's function; and another file uses it, be it a test.
set -euo pipefail

defined() { nm --defined-only "$@" | awk '$2 ~ /^[TDBR]$/ { print $3 }' | sort; }
bad=0

twice=$(defined "$@" | uniq -d)
[ -z "$twice" ] || { printf 'defined in two files: %s\n' $twice >&2; bad=1; }

# What EMBED() brings in (base/embed.h) has an end beside it.
embedded=$(defined "$@" | sed -n 's/^\(.*\)_end$/\1\n&/p')
alone=$(comm -23 <(defined "$@") <({ nm -u "$@" | awk '$1 == "U" { print $2 }'; printf 'main\n%s\n' "$embedded"; } | sort -u))
for name in $alone; do
    grep -rqw --include='*.[ch]' "$name" tests || { echo "$name is used in its own file alone: make it static" >&2; bad=1; }
done
exit $bad
