#!/bin/bash
# packages.sh - install the Debian packages that something needs, and only those that are missing. Quiet when all are there.
#
#   packages.sh build|run|test|image|engines [--check]
#
# --check installs nothing: it says what is missing and the command, and exits 1. Where we are neither root nor have sudo the command is
# printed and the exit code is 1 too. Engines are apart from test: nobody gets a docker daemon on their laptop for running tests.
set -euo pipefail

# a|b: either will do.
build="gcc make pkg-config libcurl4-openssl-dev|libcurl4-gnutls-dev libcjson-dev libyaml-dev libreadline-dev libseccomp-dev libmd4c-dev libsqlite3-dev libchafa-dev libglib2.0-dev"
run="$build python3 python3-venv bubblewrap python3-numpy python3-pandas python3-matplotlib"
image="debootstrap"
engines="docker.io|docker-ce podman runc|containerd.io uidmap openssh-server openssh-client $image"
test="$run clang clang-format libclang-rt-dev libcmocka-dev python3-pytest python3-pytest-xdist python3-pexpect python3-yaml openssl mandoc tmux python3-nbformat lintian debhelper fakeroot"

say() { printf '%s\n' "$*" >&2; }

what=${1:-}
case $what in
    build) want=$build ;;
    run) want=$run ;;
    image) want=$image ;;
    engines) want=$engines ;;
    test) want=$test ;;
    *) say "usage: packages.sh build|run|test|image|engines [--check]"; exit 2 ;;
esac

command -v dpkg-query >/dev/null || { say "packages: this is not Debian or Ubuntu; install the equivalents of: $want"; exit 1; }

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }

missing=()
for p in $want; do
    found=
    for one in ${p//|/ }; do installed "$one" && { found=1; break; }; done
    [ -n "$found" ] || missing+=("${p%%|*}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=
[ "$(id -u)" = 0 ] || sudo="sudo "
command="${sudo}apt-get install -y --no-install-recommends ${missing[*]}"
if [ "${2:-}" = --check ]; then
    say "missing packages: ${missing[*]}"
    say "install them:     $command"
    exit 1
fi
if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
    say "missing packages: ${missing[*]}"
    say "as root, run:     ${command#sudo }"
    exit 1
fi

say "packages: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
wait=(-o DPkg::Lock::Timeout=300)     # a fresh machine is often busy with its own updates
install() { ${sudo}env DEBIAN_FRONTEND=noninteractive apt-get "${wait[@]}" install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
# The lists of a fresh machine may be missing or old: fetch them only when the first try says so.
install || { ${sudo}apt-get "${wait[@]}" update >"$log" 2>&1 && install; } || { tail -5 "$log" >&2; say "packages: that failed: $command"; exit 1; }
