#!/bin/bash
# distribution.sh - builds what tests/e2e/test_distribution.py installs, before the tests run: a test that waits for a compiler would seem to hang.
#
#   distribution.sh wheel|machine|deb|again|arm64 ...     again: the wheel once more, of a copy of the tree in build/again
#
# The last three are left as they are where nothing in the tree has changed since. Several may ask for a part at once: one builds, the others wait.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

make_machine() {
    # Root alone can make one.
    [ "$(id -u)" != 0 ] || [ -d build/bare/root ] || setup/machine.sh make "$PWD/build/bare/root" python3,python3-venv,bubblewrap
}
make_again() {
    rm -rf build/again && mkdir -p build/again &&
        tar -c --exclude=./build --exclude=./.git --exclude=__pycache__ . | tar -x -C build/again &&
        make -s -j"$(nproc)" -C build/again wheel
}
# Has anything in the tree changed since then?
changed() { [ ! -e "$1" ] || [ -n "$(find . \( -path ./build -o -path ./.git -o -name __pycache__ \) -prune -o -type f -newer "$1" -print -quit)" ]; }
# once RESULT COMMAND ...
once() {
    local begun=build/.$part
    ! compgen -G "$1" >/dev/null || changed "$begun" || return 0
    touch "$begun.new"
    "${@:2}" && mv "$begun.new" "$begun"
}

for part in "$@"; do
    (
        flock 9
        case $part in
            wheel) make -s -j"$(nproc)" wheel ;;
            machine) make_machine ;;
            deb) once "build/deb/*.deb" make -s deb ;;
            again) once "build/again/build/dist/*.whl" make_again ;;
            arm64) once "build/dist/*_aarch64.whl" make -s wheel-arm64 ;;
            *) echo "usage: distribution.sh wheel|machine|deb|again|arm64 ..." >&2; exit 2 ;;
        esac
    ) 9>"build/$part.lock" || exit
done
