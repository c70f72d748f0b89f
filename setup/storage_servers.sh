#!/bin/bash
# storage_servers.sh - the storage services that the upload is tested with: s3rver (S3) and azurite-blob (Azure Blob), from npm.
#
#   storage_servers.sh     install both below build/servers, if they are not there, and print that folder
#
# Half a minute and 200 MB, once. Several may call it at once: the first installs, the others wait. Exit code 1, with the reason: it cannot
# be done here.
set -euo pipefail
cd "$(dirname "$0")/.."
servers=(s3rver@3.7.1 azurite@3.35.0)

place=$PWD/build/servers
stamp=$place/.done-${servers[*]}
mkdir -p "$place"
exec 9>"$place/.lock"
flock 9
if [ ! -e "$stamp" ]; then
    command -v npm >/dev/null || { echo "npm is not installed (Debian: apt install npm)" >&2; exit 1; }
    rm -rf "$place/node_modules" "$place/package.json" "$place/package-lock.json"
    echo '{"private": true}' >"$place/package.json"
    # twice: a registry may be out of reach for a moment
    install() { npm install --prefix "$place" --omit=dev --no-audit --no-fund --ignore-scripts --loglevel=error "${servers[@]}" >&2; }
    install || install
    touch "$stamp"
fi
echo "$place/node_modules/.bin"
