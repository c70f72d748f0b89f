#!/bin/bash
# make-image.sh - build the image sandpiper:latest with docker, podman or both. Quick when nothing has changed (the image carries a
# sum of this folder as a label). Where no registry of images can be reached the base is made of Debian's packages by debootstrap. Where no
# index of Python packages can be reached the image lacks what the file wheels lists, has Debian's older pandas instead (packages.without-wheels),
# says so, and is made anew when there is one.
#
#   ENGINE="docker podman"   which engines (default: every one that answers)
#   IMAGE=sandpiper:latest   the name to give
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
image=${IMAGE:-sandpiper:latest}
base=$(sed -n 's/^FROM //p' "$here/Dockerfile")
sum=$(cd "$here" && cat Dockerfile packages packages.without-wheels dpkg.cfg matplotlibrc wheels wheels.leave-out | sha256sum | cut -c1-16)
work=

say() { printf 'image: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "needs root: $*"
    fi
}

cleanup() { [ -z "$work" ] || as_root rm -rf --one-file-system "$work"; }
trap cleanup EXIT

# crun 1.8 refuses a machine with both kinds of cgroup mounted; runc does not.
engine() {
    local name=$1; shift
    if [ "$name" = podman ] && [ -d /sys/fs/cgroup/unified ] && command -v runc >/dev/null; then podman --runtime runc "$@"
    else "$name" "$@"
    fi
}

label_of() { engine "$1" image inspect -f '{{index .Config.Labels "sandpiper.source"}}' "$2" 2>/dev/null || true; }
has_image() { engine "$1" image inspect "$2" >/dev/null 2>&1; }

# The sources the host itself installs Debian's packages from, so that the image gets security updates too.
host_sources() {
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' \
        2>/dev/null | grep -E ' bookworm(-updates|-security)? main$' | sort -u || true
}

# The root of a minimal Debian 12 in $work/root, with the rest of our packages when "$1" is "all".
make_root() {
    local root=$work/root mirror
    mirror=$(host_sources | awk '$3 == "bookworm" { print $2; exit }')
    command -v debootstrap >/dev/null || [ -x /usr/sbin/debootstrap ] || die "debootstrap is missing: apt-get install debootstrap"
    [ -d "$root" ] || {
        say "making $base of Debian's packages (debootstrap) ..."
        as_root env PATH="$PATH:/usr/sbin:/sbin" debootstrap --variant=minbase bookworm "$root" ${mirror:+"${mirror%/}"} >"$work/debootstrap.log" 2>&1 ||
            { tail -5 "$work/debootstrap.log" >&2; die "debootstrap failed"; }
        if [ -n "$(host_sources)" ]; then host_sources | as_root tee "$root/etc/apt/sources.list" >/dev/null; fi
        as_root cp "$here/dpkg.cfg" "$root/etc/dpkg/dpkg.cfg.d/sandpiper"
        as_root find "$root/usr/share/doc" ! -type d ! -name copyright -delete
        as_root find "$root/usr/share/man" "$root/usr/share/info" "$root/usr/share/locale" -mindepth 1 -delete
        as_root find "$root/var/cache/apt/archives" "$root/var/log" -type f -delete
    }
}

import_root() { say "importing $base into $1"; as_root tar -C "$work/root" --numeric-owner --one-file-system -c . | engine "$1" import - "$base" >/dev/null; }

have_base() {
    has_image "$1" "$base" && return
    say "looking for $base in a registry ..."
    timeout 300 "$1" pull -q "$( [ "$1" = podman ] && printf docker.io/library/ )$base" >/dev/null 2>&1 && return
    say "no registry answers"
    make_work
    make_root
    import_root "$1"
}

make_work() { [ -n "$work" ] || work=$(mktemp -d "${TMPDIR:-/var/tmp}/sandpiper-image.XXXXXX"); }

wheels() { sed -n 's/==.*//p' "$here/wheels" | xargs; }

# The Python packages of the file wheels, unpacked in $work/context/site without what no code reads. They are fetched here and not in the
# image, because it is this machine's pip that knows its index, proxy and certificates; nothing of a wheel is run. Says why there are none.
fetch_wheels() {
    local pip=(python3 -m pip) to=$work/wheels site=$work/context/site wheel pattern glibc platforms=()
    # by their names the wheels say for which glibc they are at least, and pip takes each name as it stands
    for glibc in 2_28 2_24 2_17; do platforms+=(--platform "manylinux_${glibc}_$(uname -m)"); done
    command -v python3 >/dev/null || { echo "python3 is not installed"; return 1; }
    "${pip[@]}" --version >/dev/null 2>&1 || {
        python3 -m venv "$work/pip" >/dev/null 2>&1 || { echo "there is no pip: apt-get install python3-venv"; return 1; }
        pip=("$work/pip/bin/python" -m pip)
    }
    timeout 900 "${pip[@]}" download --quiet --retries 3 --timeout 30 --disable-pip-version-check --no-deps --require-hashes \
        --only-binary :all: --implementation cp --python-version 3.11 "${platforms[@]}" \
        --dest "$to" -r "$here/wheels" >"$work/pip.log" 2>&1 ||
        { grep '^ERROR' "$work/pip.log" | tail -1 | cut -c1-300 | grep . || echo "pip was not ready in 15 minutes"; return 1; }
    for wheel in "$to"/*.whl; do
        python3 -m zipfile -e "$wheel" "$site" || { rm -rf "$site"; mkdir "$site"; echo "no room in $work?"; return 1; }
    done
    while read -r pattern; do find "$site" -mindepth 2 -depth -name "$pattern" -exec rm -rf {} +; done <"$here/wheels.leave-out"
    ! command -v strip >/dev/null || find "$site" -name '*.so*' -exec strip --strip-unneeded {} +
    chmod -R u=rwX,go=rX "$site"
}

# What the engine is given to build from. Without the wheels the image has another sum, so that the next run tries again.
make_context() {
    local why
    make_work
    mkdir -p "$work/context/site"
    cp "$here/Dockerfile" "$here/packages" "$here/dpkg.cfg" "$here/matplotlibrc" "$work/context/"
    say "fetching $(wheels | wc -w) packages from PyPI ..."
    why=$(fetch_wheels) || {
        say "$image will lack $(wheels | wc -w) packages, so code in it has an older pandas and cannot read Parquet (an index of Python packages is needed): $why"
        cat "$here/packages.without-wheels" >>"$work/context/packages"
        sum=$sum-without
    }
}

build() {
    local name=$1 args=() v
    [ -n "$work" ] && [ -d "$work/context" ] || make_context
    for v in http_proxy https_proxy no_proxy; do [ -z "${!v:-}" ] || args+=(--build-arg "$v=${!v}"); done
    # The host's network: in a bridge the resolver of a machine that is itself a container or a VM is often out of reach.
    engine "$name" build --network host --label "sandpiper.source=$sum" -t "$image" ${args[@]+"${args[@]}"} "$work/context" >&2
}

one() {
    local name=$1 other
    if [ "$(label_of "$name" "$image")" = "$sum" ]; then say "$image in $name is up to date"; return; fi
    for other in docker podman; do
        [ "$other" != "$name" ] && [ "$(label_of "$other" "$image")" = "$sum" ] || continue
        say "copying $image from $other to $name"
        engine "$other" save "$image" | engine "$name" load >/dev/null
        has_image "$name" "$image" && return
        # podman keeps what it saves under localhost/, and docker loads it under that name
        engine "$name" tag "localhost/$image" "$image" && return
    done
    have_base "$name"
    say "building $image with $name"
    build "$name"
}

answers() { timeout 60 "$1" info >/dev/null 2>&1; }

engines=${ENGINE:-}
if [ -z "$engines" ]; then
    for e in docker podman; do if command -v $e >/dev/null && answers $e; then engines+=" $e"; fi; done
    [ -n "$engines" ] || die "neither docker nor podman answers; bwrap needs no image (sandpiper --sandbox bwrap)"
fi
# Nothing is fetched where the image is up to date in one engine: the others copy it.
ready=
for e in docker podman; do [ "$(label_of $e "$image")" != "$sum" ] || ready=1; done
[ -n "$ready" ] || make_context
for e in $engines; do
    command -v "$e" >/dev/null || die "$e is not installed"
    answers "$e" || die "$e does not answer: $("$e" info 2>&1 | grep -i -m1 -E 'error|cannot' || echo "see $e info")"
    one "$e"
    say "$e: $image, $(engine "$e" image inspect -f '{{.Size}}' "$image" | awk '{ printf "%d MB", $1 / 1e6 }')"
done
