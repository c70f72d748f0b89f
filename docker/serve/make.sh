#!/bin/bash
# make.sh - "make image-serve": sandpiper-serve:latest in each engine that has sandpiper:latest (ENGINE="docker" for one), of the package in build/dist.
set -euo pipefail
cd "$(dirname "$0")/../.."
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
case $(uname -m) in x86_64) cpu=x64 ;; *) cpu=arm64 ;; esac
tar -xzf build/dist/sandpiper-cli-*-linux-$cpu.tgz -C "$context"
cp docker/serve/Dockerfile docker/serve/entry.sh "$context"
args=()
for v in http_proxy https_proxy no_proxy; do [ -z "${!v:-}" ] || args+=(--build-arg "$v=${!v}"); done
for engine in ${ENGINE:-docker podman}; do
    "$engine" image inspect sandpiper:latest >/dev/null 2>&1 || continue
    "$engine" build --network host -t sandpiper-serve:latest ${args[@]+"${args[@]}"} "$context" >&2
    echo "$engine: sandpiper-serve:latest, $("$engine" image inspect -f '{{.Size}}' sandpiper-serve:latest | awk '{ printf "%d MB", $1 / 1e6 }')"
done
