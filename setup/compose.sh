#!/bin/bash
# compose.sh - Docker Compose 2, which Debian 12 does not have.
#
#   compose.sh     print the program: docker's plugin, else docker-compose where that is one, else Debian 13's, in build/compose
#
# Debian 13's is fetched once, from where this machine gets its packages (13 MB), held to its checksum, and unpacked; no package is installed.
# Exit code 1, with the reason: there is none here.
set -euo pipefail
cd "$(dirname "$0")/.."
package=docker-compose_2.26.1-4_amd64.deb
sum=47681197cb2b1ab88206b42a1a92fc75f50d9530a6322d03494a473eed0408ea

for folder in "$HOME"/.docker/cli-plugins /usr/{local/,}{lib,libexec}/docker/cli-plugins ${PATH//:/ }; do
    ! [[ $("$folder/docker-compose" version --short 2>/dev/null) =~ ^v?2\. ]] || { echo "$folder/docker-compose"; exit 0; }
done

place=$PWD/build/compose
mkdir -p "$place"
exec 9>"$place/.lock"
flock 9
if [ ! -x "$place/docker-compose" ]; then
    [ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || { echo "there is no Docker Compose 2 here; that of Debian is fetched on amd64 only" >&2; exit 1; }
    # shellcheck disable=SC2016 # what apt-get puts in
    pool=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' | awk '$2 !~ /security/ { print $1; exit }')
    new=$(mktemp -d "$place/new-XXXXXX")
    trap 'rm -rf "$new"' EXIT
    /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "${pool}pool/main/d/docker-compose/$package" "$new/deb" "SHA256:$sum" >&2
    dpkg-deb --fsys-tarfile "$new/deb" | tar -x -C "$new" ./usr/libexec/docker/cli-plugins/docker-compose
    mv "$new/usr/libexec/docker/cli-plugins/docker-compose" "$place"
fi
echo "$place/docker-compose"
