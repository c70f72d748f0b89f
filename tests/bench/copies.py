"""copies.py - rows of a batch that go on from a live copy of an interpreter with a table in it, beside rows that load the table themselves."""
import json
import os
import subprocess
import tempfile
import time

LOAD = "import pandas\ntable = pandas.read_csv('/mnt/host/table/big.csv')"
USE = "\nprint(table['price'].sum())"
LINE = "%d,name of %d,%d.25,%d.5,2026-11-27,some words that fill the line\n"


def write_table(path, size):
    with open(path, "w") as f:
        f.write("number,name,price,weight,day,text\n")
        n = 0
        while f.tell() < size:
            f.writelines(LINE % (i, i, i % 977, i % 31) for i in range(n, n + 10000))
            n += 10000


def seconds_of(argv, env, folder, rows):
    began = time.monotonic()
    r = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    took = time.monotonic() - began
    with open(os.path.join(folder, argv[argv.index("-o") + 1])) as f:
        answers = [json.loads(line) for line in f]
    assert r.returncode == 0 and len(answers) == rows and all((a["computed"]["runs"], a["computed"]["failed"]) == (1, 0) for a in answers), (r.stderr, answers[:2])
    return took


def measure(program, env, size, prepared, loading, at_once):
    """Seconds a row: of those that go on from a copy, with what made it; and of those that load the table."""
    with tempfile.TemporaryDirectory(prefix="sandpiper-copies-") as folder:
        os.chmod(folder, 0o755)
        table = os.path.join(folder, "table")
        os.mkdir(table)
        write_table(os.path.join(table, "big.csv"), size)
        with open(os.path.join(folder, "load.py"), "w") as f:
            f.write(LOAD)
        env = dict(env, SANDPIPER_SANDBOX="bwrap")
        took = {}
        for name, rows, more, question in (("copy", prepared, ["--prepare", "load.py"], "what is the table worth? %d"), ("load", loading, [], "load the table; what is it worth? %d")):
            with open(os.path.join(folder, name), "w") as f:
                f.writelines(json.dumps({"question": question % i}) + "\n" for i in range(rows))
            took[name] = seconds_of([program, "batch", name, "-o", name + ".jsonl", "-j", str(at_once), "-q", "--mount", table, "--memory", "2g", *more], env, folder, rows) / rows
        return took["copy"], took["load"]
