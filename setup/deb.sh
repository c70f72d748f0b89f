#!/bin/bash
# deb.sh - "make deb": build/deb/sandpiper_VERSION_ARCH.deb, from a copy of the tree, so that nothing else here changes.
set -euo pipefail
cd "$(dirname "$0")/.."
setup/packages.sh deb
version=$(sed -n 's/^VERSION *= *//p' Makefile)
grep -q "^sandpiper ($version)" debian/changelog || { echo "deb: debian/changelog does not begin with version $version of the Makefile" >&2; exit 1; }

out=build/deb tree=build/deb/sandpiper-$version
rm -rf "$out"
mkdir -p "$tree"
tar -c --exclude=./build --exclude=./.git --exclude=__pycache__ . | tar -x -C "$tree"
(cd "$tree" && dpkg-buildpackage -b -us -uc >../build.log 2>&1) || { tail -20 "$out/build.log" >&2; echo "deb: the build failed; $out/build.log has all of it" >&2; exit 1; }
rm -rf "$tree"
deb=$(echo "$out"/sandpiper_*.deb)
lintian --tag-display-limit 0 --fail-on error,warning "$out"/*.changes
echo "$deb"
