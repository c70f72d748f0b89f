#!/bin/bash
# run.sh - "make run": set up what is missing, build, and start the chat. With no model configured and none running on this machine the
# embedded one is fetched (once), served on 127.0.0.1 for as long as the chat runs, and ended with it. Arguments go to sandpiper.
#
#   MODEL=none       never fetch or start the embedded model
set -euo pipefail
cd "$(dirname "$0")/../.."

src/setup/packages.sh run
mkdir -p build
flock build/.lock make -s -j"$(nproc)" build/sandpiper     # two at once would write the same objects
program=$PWD/build/sandpiper

python=/usr/bin/python3
chat() { exec "$program" "$@"; }

# The program knows best what is configured; a mistake in the configuration is for it to say.
[ "${MODEL:-}" != none ] || chat "$@"
config=$("$program" config 2>/dev/null) || chat "$@"
grep -q '^# none configured' <<<"$config" || chat "$@"
! "$python" src/setup/local_model.py found || chat "$@"

if ! "$python" src/setup/local_model.py path >/dev/null; then
    echo "No model is configured: fetching a small one, 1.1 GB, once. To use another instead: set OPENAI_API_KEY, start Ollama, or see README.md (make run MODEL=none skips this)." >&2
fi
"$python" src/setup/local_model.py fetch

server=
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
setsid "$python" src/setup/local_model.py serve >"$said" &
server=$!
while [ ! -s "$said" ]; do
    kill -0 "$server" 2>/dev/null || { wait "$server" || exit $?; exit 1; }
    sleep 0.1
done
url=$(cat "$said")

trap '' INT     # the chat answers Ctrl-C; this script waits for it
code=0
(trap - INT; SANDPIPER_BASE_URL=$url SANDPIPER_MODEL=qwen2.5-coder-1.5b exec "$program" "$@") || code=$?
exit $code
