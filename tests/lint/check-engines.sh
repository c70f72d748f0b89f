#!/bin/bash
# An engine is a description (src/engine/engines.h): only its own file, and container.c for docker and podman, may know which one it is.
# Elsewhere nothing compares an engine's name, points at one of them or looks into what is its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0

for file in src/*/*.[ch]; do
    case $file in
    src/engine/engines.[ch] | src/engine/docker.c | src/engine/podman.c | src/engine/bwrap*.[ch] | src/engine/container*.[ch] | src/engine/custom.c) continue ;;
    esac
    # Code without comments, under its line numbers.
    found=$("${CC:-cc}" -fpreprocessed -dD -E "$file" 2>/dev/null | grep -v '^#' |
        grep -E '\<engine_(docker|podman|bwrap|custom)\>|"(docker|podman|bwrap)"|\<(engine|e)(->|[.])own\>|engine(->|[.])container\>|"engine/(bwrap|docker|podman)[.]h"' || true)
    [ -z "$found" ] && continue
    printf '%s: asks which engine it is; that belongs into a member of struct engine: %s\n' "$file" "$(head -1 <<<"$found")" >&2
    bad=1
done
exit $bad
