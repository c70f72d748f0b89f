#!/bin/sh
# entry.sh - starts "sandpiper serve" in its image, with the arguments that follow. The engine is what SANDPIPER_SANDBOX says; else bubblewrap, if this
# container may make namespaces; else the host's docker, if its socket is here. It says which. The token is made once, and kept in the volume.
set -eu
state=/var/lib/sandpiper
engine=${SANDPIPER_SANDBOX:-}
if [ -n "$engine" ]; then
    said="as SANDPIPER_SANDBOX says"
elif why=$(bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true 2>&1); then
    engine=bwrap said="bubblewrap, inside this container"
elif docker version >/dev/null 2>&1; then
    engine=docker said="the host's docker, by its socket, which gives this container all rights on the host (bubblewrap may not: $why)"
else
    cat >&2 <<WORDS
serve: no sandbox can be made here: $why
  Let bubblewrap make namespaces: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined
  or give it the host's docker:   docker run -v /var/run/docker.sock:/var/run/docker.sock --group-add GROUP-OF-THE-SOCKET
  (for sandboxes with a name also a folder of user 1000 at the same place in both: -v /srv/sandpiper:/srv/sandpiper -e XDG_RUNTIME_DIR=/srv/sandpiper)
WORDS
    exit 1
fi
echo "serve: sandboxes are made by $engine: $said" >&2
[ -d "$XDG_RUNTIME_DIR" ] || mkdir -m 700 "$XDG_RUNTIME_DIR"
if [ -z "${SANDPIPER_SERVE_TOKEN_FILE:-}" ]; then
    SANDPIPER_SERVE_TOKEN_FILE=$state/token
    export SANDPIPER_SERVE_TOKEN_FILE
    [ -s "$SANDPIPER_SERVE_TOKEN_FILE" ] || (umask 077; od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$SANDPIPER_SERVE_TOKEN_FILE")
    echo "serve: the token is in $SANDPIPER_SERVE_TOKEN_FILE: docker exec NAME cat $SANDPIPER_SERVE_TOKEN_FILE" >&2
fi
# Whatever the port is that the host has for it.
exec sandpiper serve --sandbox "$engine" --listen 0.0.0.0:8000 --allow-host 127.0.0.1 --allow-host localhost "$@"
