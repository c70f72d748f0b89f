#!/bin/bash
# run.sh - "make run": set up what is missing, build, and start the chat. With no model configured and none running on this machine the
# embedded one is fetched (once), served on 127.0.0.1 for as long as the chat runs, and ended with it. Arguments go to sandpiper.
#
#   MODEL=none       never fetch or start the embedded model
#   run.sh --plan    says what it would do first, and does nothing
#
# What it installs, fetches and builds is said before it begins.
set -euo pipefail
cd "$(dirname "$0")/.."

python=/usr/bin/python3

# Before the program is there to say whether a model is configured, this is a guess: a key or URL in the environment that the program
# knows, a configuration, a server that listens. It decides nothing but what is said.
model_here() {
    local name port
    if [ -x build/sandpiper ] && build/sandpiper config >build/config.now 2>/dev/null; then
        grep -q '^# none configured' build/config.now || { echo "as configured"; return; }
    else
        for name in SANDPIPER_BASE_URL SANDPIPER_PROVIDER $(awk -v RS= '!/by_name: true/' src/data/config/providers.yaml |
            sed -n 's/^  \(key\|url\|host\)_variable: *\[*\([^]]*\)\]*$/\2/p' | tr ',' '\n'); do
            [ -z "${!name:-}" ] || { echo "as $name says"; return; }
        done
        for name in .env "${XDG_CONFIG_HOME:-$HOME/.config}/sandpiper/config.yaml"; do
            [ ! -e "$name" ] || { echo "as $name says"; return; }
        done
    fi
    for port in 11434 9931 8080 1234; do
        if timeout 1 bash -c ": </dev/tcp/127.0.0.1/$port" 2>/dev/null; then echo "the server on port $port of this machine"; return; fi
    done
    return 1
}

plan() {
    local packages model
    packages=$(setup/packages.sh run --plan 2>/dev/null) || packages=
    [ -z "$packages" ] || echo "  install  $packages"
    [ -x build/sandpiper ] || echo "  build    sandpiper from this source: half a minute on two processors"
    [ "${MODEL:-}" != none ] || return 0
    if model=$(model_here); then
        [ -z "$packages" ] && [ -x build/sandpiper ] || echo "  model    $model: nothing to download"
    elif [ ! -e "${XDG_DATA_HOME:-$HOME/.local/share}/sandpiper/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf" ]; then
        packages=$(setup/packages.sh model --plan 2>/dev/null) || packages=
        [ -z "$packages" ] || [[ $packages != "1 package"* ]] || echo "  install  $packages"
        echo "  model    a small one, since no key and no model server was found: 1.1 GB to download (2 minutes at 100 Mbit/s, 15 at 10), kept in"
        echo "           ${XDG_DATA_HOME:-$HOME/.local/share}/sandpiper; with OPENAI_API_KEY, another key or Ollama nothing is downloaded (make run MODEL=none skips it)"
    fi
}

todo=$(plan)
if [ "${1:-}" = --plan ]; then
    [ -z "$todo" ] || printf '%s\n' "$todo"
    exit 0
fi
[ -z "$todo" ] || printf 'make run will (Ctrl-C stops it; a second run continues):\n%s\n' "$todo" >&2

setup/packages.sh run
mkdir -p build
flock build/.lock make -s -j"$(nproc)" build/sandpiper     # two at once would write the same objects
program=$PWD/build/sandpiper

# At a terminal it has a process group of its own: make would get its Ctrl-C too, and fail (130). Ctrl-Z stops make as well.
chat() {
    local code=0
    if [ -t 0 ]; then set -m; elif [ -z "$server" ]; then exec "$program" "$@"; fi
    "$program" "$@" || code=$?
    while [ $code = 148 ]; do
        kill -TSTP 0
        code=0
        fg >/dev/null || code=$?
    done
    exit $code
}

server=
# The program knows best what is configured; a mistake in the configuration is for it to say.
[ "${MODEL:-}" != none ] || chat "$@"
config=$("$program" config 2>/dev/null) || chat "$@"
grep -q '^# none configured' <<<"$config" || chat "$@"
! "$python" setup/local_model.py found || chat "$@"

setup/packages.sh model
"$python" setup/local_model.py fetch

said=$(mktemp)
end() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -f "$said"
}
trap end EXIT
trap 'exit 143' TERM HUP

# A session of its own: Ctrl-C in the chat is for the chat.
setsid "$python" setup/local_model.py serve >"$said" &
server=$!
while [ ! -s "$said" ]; do
    kill -0 "$server" 2>/dev/null || { wait "$server" || exit $?; exit 1; }
    sleep 0.1
done
url=$(cat "$said")

export SANDPIPER_BASE_URL=$url SANDPIPER_MODEL=qwen2.5-coder-1.5b
trap : INT     # the program answers it
chat "$@"
