#!/bin/bash
# The form of the C code (.clang-format); at most 110 columns in it and in the Python of src; no two files of one name.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8
bad=0

mapfile -t files < <(find src tests -name '*.[ch]' ! -name utf8_width.c | sort)
format=$(command -v clang-format-14 || command -v clang-format || true)
case $("${format:-true}" --version 2>/dev/null) in
*"version 14."*) "$format" --dry-run --Werror --style=file "${files[@]}" >&2 || bad=1 ;;
*) echo "lint: the form of the C code was not checked: it is what clang-format 14 makes of it" >&2 ;;
esac

mapfile -t scripts < <(find src -name '*.py' ! -name utf8_width.py | sort)
if grep -nP '^.{111,}' "${files[@]}" "${scripts[@]}" >&2; then
    echo "^ lines of more than 110 columns" >&2
    bad=1
fi

# private.h says what the files of one room share, in each room that has one.
twice=$(find src -type f ! -name private.h -printf '%f\n' | sort | uniq -d)
if [ -n "$twice" ]; then
    for name in $twice; do find src -name "$name" >&2; done
    echo "^ two files of one name" >&2
    bad=1
fi
exit $bad
