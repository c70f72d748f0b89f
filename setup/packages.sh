#!/bin/bash
# packages.sh - install the packages that something needs, and only those that are missing. Quiet when all are there.
#
#   packages.sh build|run|model|test|image|deb|machine|engines [--check | --plan | --for DISTRIBUTION]
#
# --check installs nothing: it says what is missing and the command, and exits 1. --plan prints one line of what would be installed and its
# size, and nothing if all is there. Where we are neither root nor have sudo the command is printed and the exit code is 1 too. Engines are
# apart from test: nobody gets a docker daemon on their laptop for running tests.
# Only on Debian and Ubuntu is anything installed, and on Debian it was tried. On Fedora, Arch, openSUSE and Alpine the command is printed;
# --for prints it anywhere, for all packages of the set.
set -euo pipefail

distributions=(debian fedora arch opensuse alpine)
# A row: the set | the names in the order above. a/b: either will do. An empty place: part of another package there. Sets that name a fellow
# at their head (includes, below) have its packages too. What has one name only is known for Debian alone.
table='
build | gcc            | gcc                  | gcc          | gcc             | gcc musl-dev linux-headers
build | make           | make                 | make         | make            | make
build | pkg-config     | pkgconf-pkg-config   | pkgconf      | pkg-config      | pkgconf
build | libcurl4-openssl-dev/libcurl4-gnutls-dev | libcurl-devel | curl | libcurl-devel | curl-dev
build | libcjson-dev   | cjson-devel          | cjson        | cJSON-devel     | cjson-dev
build | libyaml-dev    | libyaml-devel        | libyaml      | libyaml-devel   | yaml-dev
build | libreadline-dev | readline-devel      | readline     | readline-devel  | readline-dev
build | libseccomp-dev | libseccomp-devel     | libseccomp   | libseccomp-devel | libseccomp-dev
build | libmd4c-dev    | md4c-devel           | md4c         | md4c-devel      | md4c-dev
build | libsqlite3-dev | sqlite-devel         | sqlite       | sqlite3-devel   | sqlite-dev
build | libchafa-dev   | chafa-devel          | chafa        | chafa-devel     | chafa-dev
build | libmicrohttpd-dev | libmicrohttpd-devel | libmicrohttpd | libmicrohttpd-devel | libmicrohttpd-dev
build | libglib2.0-dev | glib2-devel          | glib2        | glib2-devel     | glib-dev
run   | python3        | python3              | python       | python3         | python3
run   | bubblewrap     | bubblewrap           | bubblewrap   | bubblewrap      | bubblewrap
run   | python3-numpy  | python3-numpy        | python-numpy | python3-numpy   | py3-numpy
run   | python3-pandas | python3-pandas       | python-pandas | python3-pandas | py3-pandas
run   | python3-matplotlib | python3-matplotlib | python-matplotlib | python3-matplotlib | py3-matplotlib
run   | python3-chardet | python3-chardet      | python-chardet | python3-chardet | py3-chardet
run   | python3-openpyxl | python3-openpyxl    | python-openpyxl | python3-openpyxl | py3-openpyxl
run   | python3-jinja2 | python3-jinja2       | python-jinja | python3-Jinja2  | py3-jinja2
model | python3-venv   |                      |              |                 |
image | debootstrap python3-venv
deb   | python3 debhelper dpkg-dev fakeroot lintian
machine | debootstrap
engines | docker.io/docker-ce podman runc/containerd.io uidmap runsc openssh-server openssh-client slurm-wlm munge debootstrap
test  | clang clang-format shellcheck libclang-rt-dev libcmocka-dev python3-pytest python3-pytest-xdist python3-pytest-timeout python3-pexpect
test  | python3-yaml python3-jsonschema python3-openpyxl openssl mandoc tmux python3-pyte python3-nbformat npm/nodejs chromium iproute2
'
declare -A includes=([build]="" [run]="build" [model]="build run" [image]="" [deb]="build" [machine]="" [engines]="" [test]="build run model deb machine")
declare -A command_of=([debian]="apt-get install -y --no-install-recommends" [fedora]="dnf install -y" [arch]="pacman -S --needed --noconfirm"
    [opensuse]="zypper install -y" [alpine]="apk add")

say() { printf '%s\n' "$*" >&2; }
usage() { say "usage: packages.sh build|run|model|test|image|deb|machine|engines [--check | --plan | --for $(IFS='|'; echo "${distributions[*]}")]"; exit 2; }

what=${1:-} how=${2:-}
[ -n "$what" ] && [ -n "${includes[$what]+x}" ] || usage
case $how in --check | --plan | --for | "") ;; *) usage ;; esac

# The distribution of this machine, or of a relative of it that the table has.
here() {
    local id
    # shellcheck source=/dev/null
    for id in $(. "${OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}"); do
        case $id in
            ubuntu) echo debian; return ;;
            rhel | centos) echo fedora; return ;;
            suse | opensuse-*) echo opensuse; return ;;
        esac
        case " ${distributions[*]} " in *" $id "*) echo "$id"; return ;; esac
    done
    command -v dpkg-query >/dev/null && echo debian
}

# The names of a set for a distribution, a line each; returns 1 where they are not known.
names() {
    local distribution=$2 one row column set known=
    for one in ${includes[$1]} $1; do
        while IFS='|' read -ra row; do
            set=${row[0]:-}
            [ "${set// /}" = "$one" ] || continue
            for column in "${!distributions[@]}"; do
                [ "${distributions[$column]}" = "$distribution" ] || continue
                [ $((column + 1)) -lt ${#row[@]} ] || return 1
                # shellcheck disable=SC2086 # a place may have several names
                printf '%s\n' ${row[$((column + 1))]}
                known=1
            done
        done <<<"$table"
    done
    [ -n "$known" ]
}

installed() {
    case $distribution in
        debian) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ] ;;
        fedora | opensuse) rpm -q --whatprovides "$1" >/dev/null 2>&1 ;;
        arch) pacman -T "$1" >/dev/null 2>&1 ;;
        alpine) apk info -e "$1" >/dev/null 2>&1 ;;
    esac
}

distribution=$(here || true)
[ "$how" != --for ] || distribution=${3:-}
[ -n "$distribution" ] && [ -n "${command_of[$distribution]+x}" ] || {
    [ "$how" != --for ] || usage
    # shellcheck disable=SC2046 # one line of them
    say "packages: this system is not one of ${distributions[*]}; on Debian it would be: $(echo $(names "$what" debian))"
    exit 1
}
wanted=$(names "$what" "$distribution") || { say "packages: those of \"$what\" are known for Debian only"; exit 1; }

missing=()
for p in $wanted; do
    found=
    for one in ${p//\// }; do [ "$how" != --for ] && installed "$one" && { found=1; break; }; done
    [ -n "$found" ] || missing+=("${p%%/*}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=
[ "$(id -u)" = 0 ] || sudo="sudo "
command="${sudo}${command_of[$distribution]} ${missing[*]}"
if [ "$how" = --for ]; then
    echo "$command"
    [ "$distribution" = debian ] || say "(not tried: sandpiper is tested on Debian only)"
    exit 0
fi
if [ "$how" = --plan ]; then
    # apt's own sum, which it gives to anybody; nothing where its lists are missing.
    size=
    [ "$distribution" != debian ] || size=$(LC_ALL=C apt-get -o Debug::NoLocking=1 --assume-no --no-install-recommends install "${missing[@]}" 2>/dev/null |
        sed -n 's/^Need to get \(\S* [a-zA-Z]*\)\/*.*/, \1 to download/p' || true)
    echo "${#missing[@]} package$([ ${#missing[@]} = 1 ] || echo s)$size (${sudo}${command_of[$distribution]%% *}): ${missing[*]}"
    exit 0
fi
if [ "$how" = --check ] || [ "$distribution" != debian ]; then
    say "missing packages: ${missing[*]}"
    say "install them:     $command"
    [ "$distribution" = debian ] || say "(not tried: sandpiper is tested on Debian only)"
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
