"""runners.py - what a runner costs (the process of serve and mcp that holds one sandbox): a cell from its front's message to the result, and its
memory while nobody asks anything."""
import json
import socket
import statistics
import subprocess
import time


def measure(program, env, engine, n=2000):
    """(p50 of a cell in ms, RSS and PSS of the idle process in MB)"""
    ours, theirs = socket.socketpair()
    child = subprocess.Popen([program, "runner", "--sandbox", engine], stdin=theirs, stdout=subprocess.DEVNULL, env=env)
    theirs.close()
    stream, times = ours.makefile("rb"), []
    try:
        for i in range(1, n + 1):
            began = time.perf_counter()
            ours.sendall(b'{"id":%d,"op":"run_code","arguments":{"code":"print(1)"}}\n' % i)
            while b'"result"' not in (line := stream.readline()):
                if not line or b'"error"' in line:
                    raise SystemExit("bench: runner: %r" % line)
            times.append(time.perf_counter() - began)
            assert json.loads(line)["result"]["stdout"] == "1\n", line
        time.sleep(0.2)             # what the last cell leaves to do
        with open("/proc/%d/smaps_rollup" % child.pid) as f:
            kb = dict(line.split()[:2] for line in f if line.startswith(("Rss:", "Pss:")))
        return statistics.median(times) * 1000, int(kb["Rss:"]) / 1024, int(kb["Pss:"]) / 1024
    finally:
        stream.close()
        ours.close()
        child.wait(30)
