#!/bin/bash
# machine.sh - a Debian 12 in a folder, for builds and tests that must not touch this machine's packages. Root alone can.
#
#   machine.sh make ROOT PACKAGE,PACKAGE    by debootstrap, from where this machine gets its packages; ROOT is there when all of it is
#   machine.sh enter ROOT COMMAND ...       runs that there, in a mount namespace of its own, as the same process: with this machine's /tmp, /proc, /dev and
#                                           network, and nothing of it is left mounted
set -euo pipefail

what=$1 root=$2
shift 2
if [ "$what" = make ]; then
    PATH=$PATH:/usr/sbin:/sbin
    new=$root.new
    rm -rf --one-file-system "$new"
    sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
        grep -E ' bookworm(-updates|-security)? main$' | sort -u || true)
    mirror=$(awk '$3 == "bookworm" { print $2; exit }' <<<"$sources")
    mkdir -p "$(dirname "$root")"
    log=$new.log
    debootstrap --variant=minbase --include="$1" bookworm "$new" ${mirror:+"${mirror%/}"} >"$log" 2>&1 || { tail -5 "$log" >&2; exit 1; }
    [ -z "$sources" ] || echo "$sources" >"$new/etc/apt/sources.list"
    find "$new/var/cache/apt/archives" -name '*.deb' -delete
    rm "$log"
    mv "$new" "$root"
else
    # What is mounted goes with the process.
    # shellcheck disable=SC2016
    exec unshare --mount sh -c 'set -eu
        here=$PWD
        mount --make-rprivate /
        mount --rbind "$0" "$0"
        cd "$0"
        for d in proc dev sys tmp; do mount --rbind /$d $d; done
        [ ! -e /etc/resolv.conf ] || { touch etc/resolv.conf; mount --bind "$(realpath /etc/resolv.conf)" etc/resolv.conf; }
        pivot_root . mnt
        umount -l /mnt
        cd "$here" 2>/dev/null || cd /
        exec "$@"' "$root" "$@"
fi
