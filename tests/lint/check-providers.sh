#!/bin/bash
# The lists of providers in docs/SERVICES.md and sandpiper-config(5) are those of providers.yaml.
set -euo pipefail
cd "$(dirname "$0")/../.."
if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
    /usr/bin/python3 setup/providers_table.py --check
else
    echo "lint: python3-yaml is not installed; the lists of providers were not checked" >&2
fi
