"""mcp.py - `sandpiper mcp` by its own client: from exec to the first list of tools, and print(1) on a live sandbox, beside an interpreter that is not
contained and answers the same lines over the same pipes."""
import json
import statistics
import subprocess
import sys
import time

# The floor: reads a line of JSON, runs its code, answers with what it printed.
BARE = """
import io, json, sys, contextlib
scope = {}
for line in sys.stdin:
    m = json.loads(line)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(m["params"]["arguments"]["code"], scope)
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"content": [{"type": "text", "text": out.getvalue()}]}}), flush=True)
"""


class Peer:
    def __init__(self, argv, env):
        self.began = time.perf_counter()
        self.p = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, method, **params):
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())

    def cell(self):
        begin = time.perf_counter()
        got = self.ask("tools/call", name="execute_python", arguments={"code": "print(1)"})
        took = (time.perf_counter() - begin) * 1000
        if got["result"]["content"][0]["text"] != "1\n":
            sys.exit("bench: mcp: %r" % got)
        return took

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def first_list(program, env, engine):
    """ms from exec to the list of tools; its client writes the request at once."""
    s = Peer([program, "mcp", "--sandbox", engine], env)
    tools = s.ask("tools/list")["result"]["tools"]
    took = (time.perf_counter() - s.began) * 1000
    s.end()
    return took if len(tools) == 6 else sys.exit("bench: mcp: no tools")


def cells(program, env, engine, n):
    """p50 and p99 of a cell, and p50 of the floor, by turns, in ms."""
    ours, bare = Peer([program, "mcp", "--sandbox", engine], env), Peer(["/usr/bin/python3", "-c", BARE], env)
    ours.cell(), bare.cell()
    times = [(ours.cell(), bare.cell()) for _ in range(n)]
    ours.end(), bare.end()
    mine = sorted(t[0] for t in times)
    return mine[n // 2], mine[n * 99 // 100], statistics.median(t[1] for t in times)
