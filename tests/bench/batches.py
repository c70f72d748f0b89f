"""batches.py - many one-shot questions at once: sandpiper batch beside "xargs -P sandpiper", by turns, with a model that takes its time."""
import ctypes
import json
import os
import resource
import subprocess
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36


def spent(argv, env, folder, stdin):
    """Seconds until the command has ended, and processor seconds of all that it started, also of what outlives it: a process of ours gets those as
    its children."""
    read, write = os.pipe()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        began = time.monotonic()
        with open(stdin) as f:
            code = subprocess.run(argv, env=env, cwd=folder, stdin=f, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
        took = time.monotonic() - began
        try:
            while True:
                os.wait()
        except ChildProcessError:
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(write, json.dumps([code, took, used.ru_utime + used.ru_stime]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        code, took, used = json.load(f)
    os.wait()
    assert code == 0, (argv, code)
    return took, used


def measure(program, env, rows, at_once, rounds=2):
    """((rows a second, processor ms a row) of batch, the same of xargs)."""
    sums = [[0.0, 0.0], [0.0, 0.0]]
    with tempfile.TemporaryDirectory(prefix="sandpiper-batches-") as folder:
        table, words = os.path.join(folder, "q.jsonl"), os.path.join(folder, "words")
        with open(table, "w") as f, open(words, "w") as g:
            for i in range(rows):
                f.write(json.dumps({"question": "slowly, what is %d?" % i}) + "\n")
                g.write("slowly, what is %d?\n" % i)
        env = dict(env, SANDPIPER_SANDBOX="bwrap")
        for turn in range(rounds):
            for into, argv in zip(sums, ([program, "batch", table, "-o", "%d.jsonl" % turn, "-j", str(at_once), "-q"],
                                         ["xargs", "-P", str(at_once), "-d", "\n", "-n", "1", program, "-q", "--no-save"])):
                for i, value in enumerate(spent(argv, env, folder, words)):
                    into[i] += value
    n = rows * rounds
    return [(n / took, used * 1000 / n) for took, used in sums]
