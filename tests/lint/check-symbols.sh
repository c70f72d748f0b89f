#!/bin/bash
# check-symbols.sh OBJECT... - a function or variable that other files can see has a name of its own, since the linker takes the first that
# it finds in an archive and says nothing, so a room could run another room's function; and another file uses it, be it a test.
set -euo pipefail

defined() { nm --defined-only "$@" | awk '$2 ~ /^[TDBR]$/ { print $3 }' | sort; }
bad=0
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

twice=$(defined "$@" | uniq -d)
[ -z "$twice" ] || { printf 'defined in two files: %s\n' $twice >&2; bad=1; }

# What EMBED() brings in (base/embed.h) has an end beside it.
embedded=$(defined "$@" | sed -n 's/^\(.*\)_end$/\1\n&/p')
alone=$(comm -23 <(defined "$@") <({ nm -u "$@" | awk '$1 == "U" { print $2 }'; printf 'main\n%s\n' "$embedded"; } | sort -u))
for name in $alone; do
    grep -rqw --include='*.[ch]' "$name" tests || { echo "$name is used in its own file alone: make it static" >&2; bad=1; }
done

# In these rooms the files call each other in one direction only (agent/private.h, llm/private.h): tsort finds no order where there is a circle.
for room in agent llm; do
    mapfile -t objects < <(printf '%s\n' "$@" | grep "/$room/[^/]*$")
    nm -A "${objects[@]}" | awk '{ sub(/:.*/, "", $1); sub(/.*\//, "", $1) }
        $(NF - 1) ~ /^[TDBR]$/ { home[$NF] = $1 }
        $(NF - 1) == "U" { user[++n] = $1; used[n] = $NF }
        END { for (i = 1; i <= n; i++) if (used[i] in home) print user[i], home[used[i]] }' | tsort >/dev/null 2>"$scratch" ||
        { echo "files of $room call each other in a circle:" >&2; sed 's/^tsort: //' "$scratch" >&2; bad=1; }
done
exit $bad
