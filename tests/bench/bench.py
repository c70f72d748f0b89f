#!/usr/bin/python3
"""make bench: the figures of docs/BENCH.md, medians, side by side in one run, against a scripted server on loopback.

Prints one line a figure: what, measured, beside what, the bar, and whether it holds. Exit code 1 when a bar is missed.
usage: bench.py PROGRAM BENCH_DIR [NAME...]       (NAMEs: start memory cell oneshot flood)
"""
import http.server
import json
import os
import pty
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, TOOLS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WANTED = sys.argv[3:]
ENGINES = [e for e in ("docker", "podman", "bwrap") if shutil.which(e)]
failed = []


def report(what, got, beside, bar, ok):
    print(f"{what:<44} {got:<24} {beside:<40} bar: {bar:<18} {'holds' if ok else 'MISSED'}", flush=True)
    if not ok:
        failed.append(what)


class Model(http.server.BaseHTTPRequestHandler):
    """One tool call, then an answer; streamed as the services do it."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["messages"][-1]["role"] == "tool":
            deltas, finish = [{"content": "The answer is "}, {"content": "1."}], "stop"
        else:
            call = {"index": 0, "id": "call_1", "type": "function",
                    "function": {"name": "execute_python", "arguments": json.dumps({"code": "print(1)"})}}
            deltas, finish = [{"tool_calls": [call]}], "tool_calls"
        events = [{"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
                       "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
        data = "".join(f"data: {json.dumps(e)}\n\n" for e in events).encode() + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def environment(home, url):
    return {"PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": home,
            "SANDPIPER_DISCOVER": "0", "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "bench", "SANDPIPER_MODEL": "scripted",
            "SANDPIPER_DIALECT": "native"}


def timed(argv, n, env=None):
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - begin) * 1000)
    return times


def side_by_side(commands, n, env=None):
    """Medians in ms, the commands taken in turn so that noise hits all of them."""
    times = [[] for _ in commands]
    for _ in range(n):
        for t, argv in zip(times, commands):
            t.extend(timed(argv, 1, env))
    return [statistics.median(t) for t in times]


def start(env):
    hello, version, curl = side_by_side([[TOOLS + "/hello"], [PROGRAM, "--version"], [TOOLS + "/hello-curl"]], 100, env)
    report("sandpiper --version", f"{version:.2f} ms", f"hello, same libraries {hello:.2f} ms, + libcurl {curl:.2f} ms",
           "1.3x hello", version <= 1.3 * hello)


def memory(env):
    """The chat's resident memory at the prompt after a question with a cell."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, "--sandbox", "bwrap"], env)
    seen, deadline, asked = b"", time.time() + 30, False
    while time.time() < deadline and b"answer is" not in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", seen):
        if select.select([fd], [], [], 0.3)[0]:
            seen += os.read(fd, 65536)
        elif not asked and seen:
            os.write(fd, b"what is one?\r")
            asked = True
    time.sleep(0.5)
    with open(f"/proc/{pid}/status") as f:
        kb = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    os.write(fd, b"\x04")
    time.sleep(0.3)
    os.close(fd)
    os.waitpid(pid, 0)
    if b"answer is" not in seen:
        sys.exit("bench: the chat gave no answer: " + repr(seen[-400:]))
    report("resident memory of the chat", f"{kb / 1024:.1f} MB", "after a question with one cell", "16 MB", kb < 16 * 1024)


def cells(*args):
    out = subprocess.run([TOOLS + "/cells", *map(str, args)], capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"bench: cells {args}: {out.stderr.strip()}")
    words = out.stdout.split()
    return {k: float(v) for k, v in zip(words[::2], words[1::2])}


def cell(_env):
    floor = cells("-", "floor", 1000)
    for engine in ENGINES:
        got = cells(engine, "warm", 1000)
        report(f"warm cell, {engine}", f"p50 {got['p50_us']:.0f} us, p99 {got['p99_us']:.0f} us",
               f"bare pipes p50 {floor['p50_us']:.0f} us", "p50 1000 us", got["p50_us"] < 1000)


def oneshot(env):
    bare = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
            "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "/usr/bin/python3", "-c", "print(1)"]
    ask = [PROGRAM, "--sandbox", "bwrap", "--stdin", "ignore", "what is one?"]
    floor, got = side_by_side([bare, ask], 30, env)
    report("one-shot with one tool call, bwrap", f"{got:.1f} ms", f"bare bwrap + python3 -c {floor:.1f} ms", "+100 ms",
           got <= floor + 100)


def flood(_env):
    for engine in ENGINES:
        got = cells(engine, "flood", 100)
        report(f"100 MB of output in one cell, {engine}", f"{got['seconds']:.2f} s, {got['rss_kb'] / 1024:.1f} MB",
               f"grown by {got['grown_kb'] / 1024:.1f} MB", "2 s, 32 MB", got["seconds"] < 2 and got["rss_kb"] < 32 * 1024)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = tempfile.mkdtemp(prefix="sandpiper-bench-")
    env = environment(home, f"http://127.0.0.1:{server.server_port}/v1")
    try:
        for name in WANTED or ["start", "memory", "cell", "oneshot", "flood"]:
            globals()[name](env)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if failed:
        sys.exit("bench: missed: " + ", ".join(failed))


main()
