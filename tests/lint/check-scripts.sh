#!/bin/bash
# Shell scripts by shellcheck; Python parses; what runs in the sandbox starts with the standard library alone, whatever the image has.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
mapfile -t scripts < <(grep -lE '^#!.*[/ ](ba)?sh( |$)' .ci/* docker/* docker/*/* setup/* tests/*.sh tests/*/*.sh 2>/dev/null)
if command -v shellcheck >/dev/null; then
    shellcheck -S warning "${scripts[@]}" || bad=1
else
    for script in "${scripts[@]}"; do bash -n "$script" || bad=1; done
    echo "lint: shellcheck is not installed; scripts were only parsed" >&2
fi
/usr/bin/python3 - <<'PYTHON' || bad=1
import ast, glob, os, sys
bad = False
for path in glob.glob("src/**/*.py", recursive=True) + glob.glob("tests/**/*.py", recursive=True):
    try:
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read(), path)
    except SyntaxError as e:
        print(f"{path}:{e.lineno}: {e.msg}", file=sys.stderr)
        bad = True
        continue
    if not path.startswith(("src/sandbox/guest/", "src/data/file_profile/")):
        continue
    try:                        # the oldest Python an image may have
        ast.parse(open(path, encoding="utf-8").read(), path, feature_version=(3, 8))
    except SyntaxError as e:
        print(f"{path}:{e.lineno}: not Python 3.8: {e.msg}", file=sys.stderr)
        bad = True
    own = {os.path.splitext(n)[0] for n in os.listdir("src/sandbox/guest") + os.listdir("src/data/file_profile")}
    for node in tree.body:      # inside a function it may be missing: that function asks first, or expects the failure
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name.split(".")[0] not in sys.stdlib_module_names | own:
                print(f"{path}:{node.lineno}: imports {name}, which an image need not have", file=sys.stderr)
                bad = True
sys.exit(bad)
PYTHON
exit $bad
