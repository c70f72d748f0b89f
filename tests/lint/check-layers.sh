#!/bin/bash
# The arrows between wings and rooms (docs/ARCHITECTURE.md): an include goes only to a room that the Makefile's USES_ names, USES_ only points
# down, to the same wing or a lower one, and only what is included is named; each outside library is included in one room.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
complain() { printf '%s\n' "$*" >&2; bad=1; }

declare -A uses=() wing=() below=() included=() home=([curl]=llm [cjson]=json [yaml.h]=yaml [seccomp.h]=limits [readline]=term
    [md4c.h]=markdown [chafa.h]=show [sqlite3.h]=store [microhttpd.h]=server)
for name in $(sed -n 's/^WINGS *= *//p' Makefile); do
    for room in $(sed -n "s/^ROOMS_$name *= *//p" Makefile); do
        uses[$room]=" $(sed -n "s/^USES_$room *= *//p" Makefile) " wing[$room]=$name
        for other in ${uses[$room]}; do
            [ -n "${below[$other]:-}" ] || complain "Makefile: USES_$room names $other, which is not lower"
        done
        below[$room]=1
    done
done
for folder in src/*/ src/*/*/; do
    folder=${folder#src/} folder=${folder%/} room=${folder##*/}
    [ -z "$(find "src/$folder" -maxdepth 1 -name '*.[ch]')" ] || [ "$folder" = "${wing[$room]:-}/$room" ] || [ "$folder" = "${wing[$room]:-}" ] ||
        complain "src/$folder is no room of the Makefile's ROOMS_"
done

# Bytes in, bytes out: nothing in these rooms waits, asks what time it is, or opens anything.
pure=' calls wire openai '
impure='^(time|poll|fcntl|unistd|netdb|dlfcn|signal|pthread)\.h$|^(arpa|net|netinet)/'
impure+='|^sys/(socket|time|un|stat|mman|epoll|select|wait)\.h$|^base/(clock|file|newfile|place)\.h$'

while IFS=: read -r file line text; do
    room=${file%/*} room=${room##*/}
    [[ $text != *" CHAT_COMMANDS" ]] || continue        # made by the Makefile
    [[ $text =~ [\<\"]([^\>\"]+) ]] || { complain "$file:$line: cannot read $text"; continue; }
    target=${BASH_REMATCH[1]} first=${BASH_REMATCH[1]%%/*}
    [[ $pure == *" $room "* && $target =~ $impure ]] &&
        complain "$file:$line: $room may not include $target: no socket, no clock, no file"
    if [[ $text == *\"* ]]; then
        [ -f "src/${wing[$first]:-}/$target" ] || [ -f "src/$target" ] || complain "$file:$line: \"$target\" is not written as \"room/file.h\""
        included[$room:$first]=1
        [ "$room" = "$first" ] || [[ "${uses[$room]:-}" == *" $first "* ]] ||
            complain "$file:$line: $room may not include $first (an arrow that is not in the Makefile's USES_$room)"
    elif [ -n "${home[$first]:-}" ] && [ "${home[$first]}" != "$room" ]; then
        complain "$file:$line: <$target> belongs to ${home[$first]} alone"
    fi
done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' src/*/*.[ch] src/*/*/*.[ch])
for room in "${!uses[@]}"; do
    for other in ${uses[$room]}; do
        [ -n "${included[$room:$other]:-}" ] || complain "Makefile: USES_$room names $other, which it does not include"
    done
done
exit $bad
