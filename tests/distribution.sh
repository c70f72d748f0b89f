#!/bin/bash
# distribution.sh - builds what tests/e2e/test_distribution.py installs, before the tests run: a test that waits for a compiler would seem to hang.
#
#   distribution.sh wheel|machine|deb|again|arm64 ...     again: the wheel once more, of a copy of the tree in build/again
set -euo pipefail
cd "$(dirname "$0")/.."
for part in "$@"; do
    case $part in
        wheel) mkdir -p build && flock build/wheel.lock make -s -j"$(nproc)" wheel ;;      # one at a time
        machine)
            mkdir -p build/bare
            # Root alone can make one, and no two at once.
            [ "$(id -u)" != 0 ] || [ -d build/bare/root ] || (flock 9; [ -d build/bare/root ] ||
                setup/machine.sh make "$PWD/build/bare/root" python3,python3-venv,bubblewrap) 9>build/bare/lock
            ;;
        deb) make -s deb ;;
        again)
            rm -rf build/again
            mkdir -p build/again
            tar -c --exclude=./build --exclude=./.git --exclude=__pycache__ . | tar -x -C build/again
            make -s -j"$(nproc)" -C build/again wheel
            ;;
        arm64) make -s wheel-arm64 ;;
        *) echo "usage: distribution.sh wheel|machine|deb|again|arm64 ..." >&2; exit 2 ;;
    esac
done
