#!/bin/bash
# wheel_arm64.sh - "make wheel-arm64": the wheel and the npm package for arm64, built by Debian's cross compiler in a Debian 12 of its own (build/arm64/root,
# made at the first time), and the program of the wheel started once, by qemu.
set -euo pipefail
cd "$(dirname "$0")/.."
root=build/arm64/root
inside() { setup/machine.sh enter "$PWD/$root" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
log=build/arm64/log
mkdir -p build/arm64 build/dist
if [ ! -e $root/ready ]; then
    echo "arm64: making a Debian with the cross compiler, 300 MB to download ..." >&2
    [ -d $root ] || setup/machine.sh make $root python3,make,pkg-config,gcc,libc6-dev
    # Their names in the set "build", as packages.sh has them.
    libraries=$(setup/packages.sh build --for debian | grep -o 'lib[^ ]*-dev' | sed 's/$/:arm64/' | xargs)
    # An installation that was interrupted is finished first, or apt-get refuses.
    { inside dpkg --configure -a && inside dpkg --add-architecture arm64 && inside apt-get update -q &&
        inside sh -c "apt-get install -y --no-install-recommends crossbuild-essential-arm64 qemu-user-static $libraries && apt-get clean"; } >$log 2>&1 ||
        { tail -5 $log >&2; exit 1; }
    touch $root/ready
fi
rm -rf $root/root/tree
mkdir -p $root/root/tree
tar -c --exclude=./build --exclude=./.git --exclude=__pycache__ . | tar -x -C $root/root/tree
inside SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-315532800}" make -s -j"$(nproc)" -C /root/tree wheel B=build/arm64 CC=aarch64-linux-gnu-gcc \
    AR=aarch64-linux-gnu-ar PKG_CONFIG=aarch64-linux-gnu-pkg-config >$log 2>&1 || { tail -5 $log >&2; exit 1; }
cp $root/root/tree/build/dist/*aarch64.whl $root/root/tree/build/dist/*arm64.tgz build/dist/
inside sh -euc 'rm -rf /opt/arm64; mkdir /opt/arm64; tar -xzf /root/tree/build/dist/*arm64.tgz -C /opt/arm64 --strip-components=1; qemu-aarch64-static /opt/arm64/bin/sandpiper --version'
grep MB $log
