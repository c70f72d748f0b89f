#!/bin/bash
# What no source may contain: functions without bounds, shells, exit() away from main, typedef'd structs; and what no committed file
# may contain: a package registry's host, a path of the machine it was written on.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0

# Code without comments and with empty strings, under its line numbers.
code() { "${CC:-cc}" -fpreprocessed -dD -E "$1" 2>/dev/null | sed -E 's/"([^"\\]|\\.)*"/""/g'; }
# forbid FILE CODE PATTERN WHY
forbid() {
    local found
    found=$(grep -nE "$3" <<<"$2" || true)
    [ -z "$found" ] && return
    printf '%s: %s: %s\n' "$1" "$4" "$(head -1 <<<"$found" | cut -d: -f2-)" >&2
    bad=1
}
for file in src/*/*.[ch] tests/unit/*/*.c tests/fuzz/*.c; do
    [ -f "$file" ] || continue
    text=$(code "$file")
    forbid "$file" "$text" '(^|[^A-Za-z0-9_.>])(strcpy|strcat|sprintf|vsprintf|gets|system|popen|strtok|atoi|alloca)[[:space:]]*\(' 'banned function'
    forbid "$file" "$text" 'typedef[[:space:]]+(struct|union|enum)[[:space:]]' 'structs are not typedef-ed'
    case $file in
    src/main/*) ;;
    src/*) forbid "$file" "$text" '(^|[^A-Za-z0-9_.>])(exit|err|errx)[[:space:]]*\(' 'exit() outside src/main' ;;
    esac
done

hosts='pypi[.]org|pythonhosted[.]org|npmjs[.](org|com)|crates[.]io|proxy[.]golang[.]org|huggingface[.]co|hf[.]co|rubygems[.]org|conda[.]anaconda'
paths='(^|[^A-Za-z0-9_.*])/work/|/root/[.]pyenv|/tmp/b-'
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    # One of them is a model service as well, at an address of its own.
    git grep -nIE "$hosts|$paths" -- . ':!tests/lint/check-source.sh' | grep -v 'router[.]huggingface[.]co' >&2 && { echo "^ a registry's host or a path of one machine" >&2; bad=1; }
fi
exit $bad
