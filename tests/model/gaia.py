#!/usr/bin/python3
"""gaia.py - ten tasks of GAIA's shape (a question and a file in, an answer out) asked of whatever model is configured, each through one run of
sandpiper --json-result. It needs a model, so CI does not run it; tests/e2e/test_gaia.py runs the same tasks with a scripted one.

  gaia.py [--only ID,ID] [--limit SECONDS] [-- OPTIONS OF SANDPIPER]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from run import PROGRAM, ends_right  # noqa: E402


def tasks():
    with open(os.path.join(HERE, "gaia.json"), encoding="utf-8") as f:
        return json.load(f)


def line_of(task):
    """What the program is given: nothing of the answer."""
    return json.dumps({k: task[k] for k in ("id", "question", "files")}) + "\n"


def main():
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    p = argparse.ArgumentParser(description="ask the model ten tasks with files")
    p.add_argument("--only", default="")
    p.add_argument("--limit", type=float, default=180)
    args = p.parse_args(own)
    asked = [t for t in tasks() if not args.only or t["id"] in args.only.split(",")]
    unknown = set(filter(None, args.only.split(","))) - {t["id"] for t in asked}
    if unknown or not asked:
        p.error("there is no task %s; there are %s" % (", ".join(sorted(unknown)) or "named", ", ".join(t["id"] for t in tasks())))
    right = 0
    with tempfile.TemporaryDirectory(prefix="sandpiper-gaia") as folder:
        subprocess.run([sys.executable, os.path.join(HERE, "gaia_data.py"), folder], check=True)
        for task in asked:
            begin = time.monotonic()
            r = subprocess.run(["timeout", "-k", "15", str(args.limit), PROGRAM, "--json-result", *options], input=line_of(task), capture_output=True,
                               text=True, cwd=folder)
            result = json.loads(r.stdout) if r.stdout else {}
            if r.returncode in (2, 77) or not result:
                sys.exit("the program could not ask (exit %s):\n%s" % (r.returncode, r.stderr.strip()))
            ok = ends_right(result["final_answer"] or "", task["answer"])
            right += ok
            print("%s %-11s %-5s %6.1f s  exit %-3s %s" % (task["id"], task["kind"], "right" if ok else "WRONG", time.monotonic() - begin, r.returncode,
                                                         " ".join((result["final_answer"] or "").split())[:100]), flush=True)
    print("%d of %d right" % (right, len(asked)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
