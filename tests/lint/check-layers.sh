#!/bin/bash
# The arrows between rooms (docs/ARCHITECTURE.md): an include goes only to a room that the Makefile's USES_ table allows, the table
# itself only points down, and each outside library is included in one room.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
complain() { printf '%s\n' "$*" >&2; bad=1; }

declare -A uses=() below=() home=([curl]=llm [cjson]=json [yaml.h]=yaml [seccomp.h]=limits [readline]=term [md4c.h]=markdown
    [chafa.h]=show [sqlite3.h]=store [microhttpd.h]=server)
rooms=$(sed -n 's/^ROOMS *= *//p' Makefile)
for room in $rooms; do
    uses[$room]=" $room $(sed -n "s/^USES_$room *= *//p" Makefile) "
    for other in ${uses[$room]}; do
        [ "$other" = "$room" ] || [ -n "${below[$other]:-}" ] || complain "Makefile: USES_$room names $other, which is not lower in ROOMS"
    done
    below[$room]=1
done

# Bytes in, bytes out: nothing in these rooms waits, asks what time it is, or opens anything.
pure=' calls wire openai '
impure='^(time|poll|fcntl|unistd|netdb|dlfcn|signal|pthread)\.h$|^(arpa|net|netinet)/'
impure+='|^sys/(socket|time|un|stat|mman|epoll|select|wait)\.h$|^base/(clock|file|newfile|place)\.h$'

while IFS=: read -r file line text; do
    room=${file#src/} room=${room%%/*}
    [[ $text =~ [\<\"]([^\>\"]+) ]] || { complain "$file:$line: cannot read $text"; continue; }
    target=${BASH_REMATCH[1]} first=${BASH_REMATCH[1]%%/*}
    [[ $pure == *" $room "* && $target =~ $impure ]] &&
        complain "$file:$line: $room may not include $target: no socket, no clock, no file"
    if [[ $text == *\"* ]]; then
        [ -f "src/$target" ] || complain "$file:$line: \"$target\" is not written as \"room/file.h\""
        [[ "${uses[$room]:-}" == *" $first "* ]] || complain "$file:$line: $room may not include $first (an arrow that is not in the Makefile's USES_$room)"
    elif [ -n "${home[$first]:-}" ] && [ "${home[$first]}" != "$room" ]; then
        complain "$file:$line: <$target> belongs to src/${home[$first]} alone"
    fi
done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' src/*/*.[ch])
exit $bad
