#!/usr/bin/python3
"""traffic.py - a table of 8,000 rows and two agents, asked of whatever model is configured: right if the answer names the rain and a figure was made.
It needs a model, so CI does not run it; tests/e2e/test_agents.py asks the same of a scripted one.

  traffic.py [--alone] [OPTIONS OF SANDPIPER]      such as -m NAME; --alone leaves out the agent that looks for files: the table is then added
"""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from run import PROGRAM  # noqa: E402
from traffic_data import QUESTION, traffic_data  # noqa: E402


def main():
    options = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="sandpiper-traffic") as folder:
        path = os.path.join(folder, "roads", "traffic.csv")
        os.mkdir(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as f:
            f.write(traffic_data())
        alone = options[:1] == ["--alone"]
        how = ["--add", path, *options[1:]] if alone else ["--agents", "files+code", "--allow-folder", os.path.dirname(path), *options]
        begin = time.monotonic()
        r = subprocess.run([os.path.abspath(PROGRAM), "--no-save", "--out", "out", *how, QUESTION], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder)
        if r.returncode in (2, 77):
            sys.exit("the program could not ask (exit %s):\n%s" % (r.returncode, r.stderr.strip()))
        figures = [n for n in os.listdir(os.path.join(folder, "out")) if n.endswith(".png")] if os.path.isdir(os.path.join(folder, "out")) else []
        right = "rain" in r.stdout.lower() and bool(figures)
        print("%s  %.1f s  exit %s  figures: %s\n%s" % ("right" if right else "WRONG", time.monotonic() - begin, r.returncode, ", ".join(figures) or "none",
                                                        r.stdout.strip()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
