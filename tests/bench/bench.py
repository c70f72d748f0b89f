#!/usr/bin/python3
"""make bench: the figures of docs/BENCH.md, medians, side by side in one run, against a scripted server on loopback.

Prints one line a figure: what, measured, beside what, the bar, and whether it holds. Exit code 1 when a bar is missed.
usage: bench.py PROGRAM BENCH_DIR [NAME...]       (NAMEs: see ROWS, at the end)
"""
import glob
import http.server
import json
import os
import pty
import re
import select
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import batches
import copies
import mcp
import peers
import questions
import runners
import serving_load
import uploads
from service import GIGABYTE, Model, environment

PROGRAM, TOOLS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WANTED = sys.argv[3:]
ENGINES = [e for e in ("docker", "podman", "bwrap") if shutil.which(e)]
failed = []


def report(what, got, beside, bar, ok):
    print(f"{what:<44} {got:<24} {beside:<40} bar: {bar:<18} {'holds' if ok else 'MISSED'}", flush=True)
    if not ok:
        failed.append(what)


def timed(argv, n, env=None):
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - begin) * 1000)
    return times


def side_by_side(commands, n, env=None, quickest=2):
    """Medians in ms, the commands taken in turn so that noise hits all of them. quickest: the slowest of the quickest half (the median), quarter..."""
    times = [[] for _ in commands]
    for _ in range(n):
        for t, argv in zip(times, commands):
            t.extend(timed(argv, 1, env))
    return [sorted(t)[len(t) // quickest] for t in times]


def start(env):
    hello, version, curl = side_by_side([[TOOLS + "/hello"], [PROGRAM, "--version"], [TOOLS + "/hello-curl"]], 100, env)
    report("sandpiper --version", f"{version:.2f} ms", f"hello, same libraries {hello:.2f} ms, + libcurl {curl:.2f} ms",
           "1.3x hello", version <= 1.3 * hello)


def until_shown(argv, env, what):
    """Milliseconds from exec until a program has shown what (a pattern) at its terminal; it is then told to end by Ctrl-D."""
    clock, tell = os.pipe()         # a fork of this process takes longer than some of what is measured
    pid, fd = pty.fork()
    if pid == 0:
        os.write(tell, b"%r" % time.monotonic())
        os.execve(argv[0], argv, env)
    seen = b""
    while not re.search(what, seen):
        seen += os.read(fd, 65536)
    took = (time.monotonic() - float(os.read(clock, 64))) * 1000
    os.close(clock)
    os.close(tell)
    os.write(fd, b"\x04")
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass        # it has ended, and its terminal with it
    os.close(fd)
    os.waitpid(pid, 0)
    return took


def prompt(env):
    """From exec to the chat's prompt, beside programs that do nothing at a terminal of their own, by turns."""
    chat, hello, curl = [], [], []
    for _ in range(21):
        chat.append(until_shown([PROGRAM, "--sandbox", "bwrap"], env, rb">(\x1b\[0m)? "))
        hello.append(until_shown([TOOLS + "/hello", "wait"], env, rb"\n"))
        curl.append(until_shown([TOOLS + "/hello-curl", "wait"], env, rb"\n"))
    got, floor, loaded = statistics.median(chat), statistics.median(hello), statistics.median(curl)
    report("exec to the chat's prompt", f"{got:.1f} ms, quickest {min(chat):.1f}",
           f"hello at a terminal {floor:.1f} ms: {got / floor:.1f}x; with libcurl {loaded:.1f} ms: {got / loaded:.2f}x", "1x libcurl's",
           got < loaded)


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def bare_memory():
    """kB of a program that does nothing, with the same libraries and libcurl."""
    with subprocess.Popen([TOOLS + "/hello-curl", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        return resident(p.pid)


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
    kb, floor = resident(pid), bare_memory()
    os.write(fd, b"\x04")
    time.sleep(0.3)
    os.close(fd)
    os.waitpid(pid, 0)
    if b"answer is" not in seen:
        sys.exit("bench: the chat gave no answer: " + repr(seen[-400:]))
    report("resident memory of the chat", f"{kb / 1024:.1f} MB", f"hello, same libraries + libcurl {floor / 1024:.1f} MB: {kb / floor:.2f}x",
           "2.2x", kb <= 2.2 * floor)


def cells(*args):
    out = subprocess.run([TOOLS + "/cells", *map(str, args)], capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"bench: cells {args}: {out.stderr.strip()}")
    words = out.stdout.split()
    return {k: float(v) for k, v in zip(words[::2], words[1::2])}


def cell(_env):
    """1,000 cells in a row, five times, by turns with the same without snapshots and over bare pipes. The row counts that was least disturbed."""
    for engine in ENGINES:
        got = cells(engine, "warm", 5000)
        bare, ratio = got["bare_row_p50_us"], got["on_row_p50_us"] / got["bare_row_p50_us"]
        report(f"warm cell, {engine}", f"p50 {got['on_row_p50_us']:.0f} us (of all {got['on_p50_us']:.0f}, p99 {got['on_p99_us']:.0f})",
               f"bare pipes p50 {bare:.0f} us: {ratio:.1f}x (of all {got['on_p50_us'] / got['bare_p50_us']:.1f}x); no snapshots "
               f"{got['off_row_p50_us'] / bare:.1f}x", "3x", ratio <= 3)
        more = got["on_row_mean_us"] / got["off_row_mean_us"] - 1
        report(f"snapshots in a burst, {engine}", f"mean {got['on_row_mean_us']:.0f} us", f"without {got['off_row_mean_us']:.0f} us: {more:+.0%}",
               "+10 %", more <= 0.1)
    folder = os.path.join(TOOLS, "peers")
    os.makedirs(folder, exist_ok=True)
    for name, measure in (("a Jupyter kernel, uncontained", lambda: peers.jupyter(folder, 1000)),
                          ("interpreter-tools, pool", lambda: peers.interpreter_tools(folder, 100, "sandpiper:latest"))):
        try:
            got = measure()
            print(f"{'    beside it: ' + name:<44} p50 {got['p50_us']:.0f} us, p99 {got['p99_us']:.0f} us, first {got['first_ms']:.0f} ms", flush=True)
        except peers.Unmeasured as e:
            print(f"{'    beside it: ' + name:<44} not measured ({e})", flush=True)


def languages(_env):
    """A warm cell in other languages beside Python's, by turns; SQL beside the cell of Python that gives the same frame. One that is not in the
    sandbox says so at once."""
    for engine in ENGINES:
        got = cells(engine, "languages", 300)
        for name, beside in (("shell", "python"), ("javascript", "python"), ("sql", "frame")):
            ours, python = got[name + "_p50_us"] / 1000, got[beside + "_p50_us"] / 1000
            if ours > 0:
                report(f"warm cell of {name}, {engine}", f"p50 {ours:.2f} ms, p99 {got[name + '_p99_us'] / 1000:.2f} ms", f"Python's p50 {python:.2f} ms: {ours - python:+.2f} ms",
                       "+1 ms", ours - python <= 1)


def snapshots(_env):
    """What a snapshot costs: a cell 20 ms after the last one, in processor time, the median of 200 pairs with and without; and one that a snapshot
    is made just before. Beside it a bare fork of code with the same state and all its page faults, by turns; the median of each."""
    for engine in ENGINES:
        for state, what in (("none", "no state"), ("numpy", "500 MB in arrays"), ("objects", "500 MB of objects")):
            got = {k[:-7]: v for k, v in cells(engine, "snapshots", state).items() if k.endswith("_p50_us")}
            apart, on_the_way, fork = got["more_apart"] / got["off_apart"], got["on_row"] - got["off_row"], got["fork"] - got["same"]
            report(f"a cell after 20 ms, {what}, {engine}", f"{got['on_apart']:.0f} us of CPU", f"without snapshots {got['off_apart']:.0f} us: {apart:+.0%}",
                   "+10 %", apart <= 0.1)
            report(f"a snapshot on the way, {what}, {engine}", f"{on_the_way:+.0f} us", f"a bare fork {fork:.0f} us: {on_the_way / fork:.1f}x", "2.0x", on_the_way <= 2 * fork)


def first_byte(argv, env):
    """From exec to the result's first byte, and to the end; ms."""
    begin = time.perf_counter()
    p = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = os.read(p.stdout.fileno(), 100)
    first = time.perf_counter() - begin
    said = p.communicate()[1]
    last = time.perf_counter() - begin
    if got[:1] != b"1" or p.returncode:
        sys.exit(f"bench: {argv[:4]}: {said.decode(errors='replace').strip()}")
    return first * 1000, last * 1000


BARE_BWRAP = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
              "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "/usr/bin/python3", "-c", "print(1)"]


def bare_container(engine, script, env):
    """Our own flags, attached, with a python3 -c in place of the supervisor."""
    place = os.path.join(env["HOME"], "bare-" + engine)
    os.makedirs(place + "/in", exist_ok=True)
    cells("-", "profile", place + "/seccomp")
    dry = subprocess.run([PROGRAM, "exec", "--dry-run", "--sandbox", engine, script], env=env, capture_output=True, text=True, check=True).stdout
    words, out = shlex.split(dry), []
    while words:
        word = words.pop(0)
        if word in ("--name", "--label"):
            words.pop(0)
        elif word == "-I":                      # python3's own options and the supervisor end the line
            break
        elif word != "-d":
            out.append(word.replace("RUNTIME/ID", place))
    return out + ["-c", "print(1)"]


def cold(env):
    """From the exec of "sandpiper exec" to its result: what a user waits for, with everything that a start does on the way."""
    script = os.path.join(env["HOME"], "one.py")
    with open(script, "w") as f:
        f.write("print(1)\n")
    for engine, ratio, n in (("docker", 1.15, 12), ("podman", 1.15, 12), ("bwrap", 1.5, 50)):
        if engine not in ENGINES:
            continue
        ours = [PROGRAM, "exec", "--sandbox", engine, script]
        first_byte(ours, env)                   # it learns the engine's runtime and caches, as any user's second start has
        bare = BARE_BWRAP if engine == "bwrap" else bare_container(engine, script, env)
        times = {"bare": [], "ours": []}
        for _ in range(n):
            times["bare"].append(first_byte(bare, env))
            times["ours"].append(first_byte(ours, env))
        first = {k: statistics.median(t[0] for t in v) for k, v in times.items()}
        last = {k: statistics.median(t[1] for t in v) for k, v in times.items()}
        report(f"first result from a cold start, {engine}", f"{first['ours']:.1f} ms (exit {last['ours']:.1f})",
               f"bare {engine} + python3 -c {first['bare']:.1f} ms (exit {last['bare']:.1f})",
               f"{ratio}x", first["ours"] <= ratio * first["bare"])


def oneshot(env):
    ask = [PROGRAM, "--sandbox", "bwrap", "--stdin", "ignore", "what is one?"]
    floor, got = side_by_side([BARE_BWRAP, ask], 30, env)
    report("one-shot with one tool call, bwrap", f"{got:.1f} ms", f"bare bwrap + python3 -c {floor:.1f} ms: {got / floor:.1f}x", "3x", got <= 3 * floor)


BARE_PYTHON = ["/usr/bin/python3", "-I", "-S", "-c", "print(1)"]


def named(env):
    """The second question to a sandbox with a name, exec to exit. The model answers at once, but its two replies over loopback are in it. The
    quickest quarter counts: beside the floor's one process it wakes this one's threads, the supervisor and the worker, and waits for each."""
    for engine in ENGINES:
        sandbox = ["--sandbox-name", "bench-" + engine]
        ask = [PROGRAM, "--sandbox", engine, "--stdin", "ignore", *sandbox, "what is one?"]
        script = os.path.join(env["HOME"], "one.py")
        with open(script, "w") as f:
            f.write("print(1)\n")
        try:
            timed(ask, 1, env)                  # starts it
            got, code, floor = side_by_side([ask, [PROGRAM, "exec", *sandbox, script], BARE_PYTHON], 40, env, 4)
        finally:
            subprocess.run([PROGRAM, "rm", "bench-" + engine], env=env, check=True)
        report(f"second question, warm by name, {engine}", f"{got:.1f} ms", f"python3 -c {floor:.1f} ms: {got / floor:.1f}x; exec, no model {code:.1f} ms",
               "3x", got <= 3 * floor)


# The floor of a flood: the same writes, in the same chunks, by a bare python3 into a pipe that somebody reads.
def piped(code):
    """Seconds that a bare python3 needs to write it into a pipe, and bytes."""
    begin, size = time.perf_counter(), 0
    with subprocess.Popen(["/usr/bin/python3", "-I", "-S", "-c", code], stdout=subprocess.PIPE) as p:
        while piece := os.read(p.stdout.fileno(), 1 << 20):
            size += len(piece)
    return time.perf_counter() - begin, size


def flood(_env):
    small = bare_memory()
    write = "import sys\nfor i in range(100): sys.stdout.write(('x' * 99 + '\\n') * 10486)"
    for engine in ENGINES:
        times, got = [], None
        for _ in range(5):
            got = cells(engine, "flood", 100)
            times.append((got["seconds"], piped(write)[0]))
        ours, floor = (statistics.median(t[k] for t in times) for k in (0, 1))
        report(f"100 MB of output in one cell, {engine}", f"{ours:.2f} s, {got['rss_kb'] / 1024:.1f} MB",
               f"bare pipe {floor:.2f} s: {ours / floor:.1f}x; hello {small / 1024:.1f} MB: {got['rss_kb'] / small:.1f}x; "
               f"grown by {got['grown_kb'] / 1024:.1f} MB", "10x, 4x", ours <= 10 * floor and got["rss_kb"] < 4 * small)


def peak(argv, env):
    """Run it, count what it prints and watch its memory: (bytes, seconds, VmHWM in kB). Not by wait4, which counts the engine's client too."""
    p = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    begin, size, high, looked = time.perf_counter(), 0, 0, 0.0
    said = []
    reader = threading.Thread(target=lambda: said.append(p.stderr.read(1 << 16)) or all(iter(lambda: p.stderr.read(1 << 16), b"")))
    reader.start()

    def look():
        with open(f"/proc/{p.pid}/status") as f:
            found = re.search(r"VmHWM:\s+(\d+)", f.read())
        return int(found.group(1)) if found else 0      # none: it has ended, and is not reaped

    while True:
        piece = os.read(p.stdout.fileno(), 1 << 20)
        size += len(piece)
        if not piece or time.perf_counter() - looked > 0.02:
            high, looked = max(high, look()), time.perf_counter()
        if not piece:
            break
    while p.poll() is None:
        high = max(high, look())
        time.sleep(0.002)
    reader.join()
    if p.returncode:
        sys.exit(f"bench: {argv[:4]}: {b''.join(said).decode(errors='replace').strip()[-300:]}")
    return size, time.perf_counter() - begin, high


def gigabyte(env):
    """1 GB into a pipe from exec, and as a tool call of a question, where the output is cut for the model, the screen and the disk."""
    script = os.path.join(env["HOME"], "gigabyte.py")
    with open(script, "w") as f:
        f.write(GIGABYTE)
    small = bare_memory()
    for engine in ENGINES:
        size, seconds, high = peak([PROGRAM, "exec", "--sandbox", engine, script], env)
        report(f"1 GB of output, exec, {engine}", f"{high / 1024:.1f} MB, {seconds:.1f} s", f"{size >> 20} MiB through the pipe; hello {small / 1024:.1f} MB: {high / small:.1f}x", "4x",
               high < 4 * small and size == 1 << 30)
        _, seconds, high = peak([PROGRAM, "--sandbox", engine, "--stdin", "ignore", "print a gigabyte"], env)
        report(f"1 GB of output, a question, {engine}", f"{high / 1024:.1f} MB, {seconds:.1f} s", f"hello {small / 1024:.1f} MB: {high / small:.1f}x", "4x",
               high < 4 * small)


def deltas(n, kind):
    """A stream of n small deltas of about 100 bytes each: text, or the arguments of one call."""
    def event(delta, pad=""):
        chunk = {"id": "chatcmpl-" + pad, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n"

    def call(arguments, **more):
        return {"tool_calls": [dict({"index": 0, "function": {"arguments": arguments}}, **more)]}
    if kind == "text":
        parts = [event({"content": f"w{i % 10000:04d}"}, "x" * 20) for i in range(n)]
    else:
        head = event({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "execute_python", "arguments": '{"code":"x = 1'}}]})
        parts = [head] + [event(call(f" + {i % 10000:04d}")) for i in range(n - 2)] + [event(call('"}'))]
    finish = event({}).replace("null", '"stop"')
    return ("".join(parts) + finish + "data: [DONE]\n\n").encode()


def read_time(path, want):
    """User CPU seconds in which a recorded answer is read, best of five; the program's start included."""
    times = []
    for _ in range(5):
        with open(path, "rb") as body, open(path + ".out", "wb") as out:
            p = subprocess.Popen([PROGRAM, "debug", "reply"], stdin=body, stdout=out)
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        times.append(usage.ru_utime)
    with open(path + ".out") as f:
        got = json.load(f)
    if got["action"] != want:
        sys.exit(f"bench: debug reply: {str(got)[:300]}")
    return min(times)


PYTHONS_JSON = "import json,sys\nfor line in open(sys.argv[1], 'rb'):\n    if line.startswith(b'data: {'): json.loads(line[6:])"


def parse_time(path):
    """User CPU seconds in which Python's json, which is C, parses the same events and does nothing with them; best of five."""
    times = []
    for _ in range(5):
        p = subprocess.Popen(["/usr/bin/python3", "-I", "-S", "-c", PYTHONS_JSON, path])
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        times.append(usage.ru_utime)
    return min(times)


def reader(env):
    """100,000 small deltas, beside a mere parser; and that a delta costs no more when the answer is long."""
    path = os.path.join(env["HOME"], "stream")
    for kind, want in (("text", "answer"), ("arguments", "run")):
        cost = {}
        for n in (20000, 100000):
            body = deltas(n, kind)
            with open(path, "wb") as f:
                f.write(body)
            cost[n] = read_time(path, want)
        speed, grown = len(body) / cost[100000] / 1e6, cost[100000] / 100000 / (cost[20000] / 20000)
        ratio = cost[100000] / parse_time(path)
        report(f"100,000 deltas read, {kind}, {len(body) / 1e6:.1f} MB", f"{speed:.0f} MB/s user CPU",
               f"Python's json alone: {ratio:.2f}x; {cost[100000] * 10:.2f} us a delta; of 20,000 {cost[20000] * 50:.2f} us", "1x, same cost",
               ratio <= 1 and grown <= 1.5)


def markdown(_env):
    """1 MB in 10,000 deltas, drawn for a terminal, beside md4c on the same text; and that a delta costs no more when the answer is long."""
    answers = sorted(glob.glob("tests/markdown/*.md"))
    runs = [[float(x) for x in subprocess.check_output([TOOLS + "/markdown"] + answers).split()] for _ in range(5)]
    whole, first, second, parsed = min(runs)
    report("1 MB of Markdown drawn, 10,000 deltas", f"{whole:.0f} ms CPU", f"md4c alone, not drawn: {whole / parsed:.1f}x; halves {first:.0f}, {second:.0f} ms",
           "25x, same cost", whole <= 25 * parsed and second <= 1.5 * first)


def first_figure(env):
    """A first figure from a cold start, beside the same code in a bare container of the same image, which has to list the fonts first."""
    script = os.path.join(env["HOME"], "plot.py")
    with open(script, "w") as f:
        f.write("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.savefig('/tmp/x.png')\n")
    code = "import os; os.environ['MPLCONFIGDIR'] = '/tmp'; exec(" + repr(open(script).read()) + ")"
    image = "sandpiper:latest"
    bare, ours = side_by_side([["docker", "run", "--rm", "--network", "none", image, "python3", "-c", code],
                               [PROGRAM, "exec", "--sandbox", "docker", "--out", env["HOME"] + "/plots", script]], 7, env)
    report("first figure from a cold start, docker", f"{ours:.0f} ms", f"docker run, same image {bare:.0f} ms: {ours / bare:.2f}x", "1x", ours < bare)


def docker_cp(path, back, env):
    """Seconds that docker itself takes for a file into a container and out of it."""
    name = subprocess.run(["docker", "create", "sandpiper:latest"], env=env, capture_output=True, text=True, check=True).stdout.strip()
    try:
        return [timed(["docker", "cp", *words], 1, env)[0] / 1000 for words in ((path, name + ":/tmp/big.bin"), (name + ":/tmp/big.bin", back))]
    finally:
        subprocess.run(["docker", "rm", "-f", name], env=env, stdout=subprocess.DEVNULL, check=True)


def big_file(env):
    """1 GB into the sandbox and out of it. In: what --add costs over the same run without; out: from the last word of the code to the end."""
    place = env["HOME"] + "/big"
    os.makedirs(place)
    with open(place + "/big.bin", "wb") as f:
        for _ in range(64):
            f.write(os.urandom(1 << 24))
    floor = statistics.median(timed(["sh", "-c", 'cat "$1" | cat >"$1.copy"', "sh", place + "/big.bin"], 3, env)) / 1000
    os.unlink(place + "/big.bin.copy")
    small = bare_memory()
    there, back = docker_cp(place + "/big.bin", place + "/back.bin", env) if "docker" in ENGINES else (None, None)
    limits = ["--memory", "6g", "--data-size", "3g", "--max-file", "2g", "--max-files-total", "4g"]
    for engine in ENGINES:
        run = [PROGRAM, "exec", "--sandbox", engine, *limits, "--out", f"{place}/{engine}"]
        nothing = statistics.median(timed([*run, "-c", "pass"], 3, env)) / 1000
        _, into, high = peak([*run, "--add", place + "/big.bin", "-c", "pass"], env)
        code = "import os, sys\np = os.urandom(1 << 24)\nf = open('out.bin', 'wb')\nfor i in range(64): f.write(p)\nf.close()\nos.write(1, b'x')"
        begin = time.perf_counter()
        p = subprocess.Popen([*run, "-c", code], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        os.read(p.stdout.fileno(), 1)
        begin = time.perf_counter()
        while p.poll() is None:
            with open(f"/proc/{p.pid}/status") as f:
                high = max([high] + [int(n) for n in re.findall(r"VmHWM:\s+(\d+)", f.read())])
            time.sleep(0.002)
        out = time.perf_counter() - begin
        if p.returncode or os.path.getsize(f"{place}/{engine}/out.bin") != 1 << 30:
            sys.exit(f"bench: the gigabyte did not come out of {engine}")
        os.unlink(f"{place}/{engine}/out.bin")
        for what, seconds, docker in (("in", into - nothing, there), ("out", out, back)):
            beside = f"docker cp {1024 / docker:.0f} MB/s; " if docker else ""
            report(f"1 GB {what}, {engine}", f"{1024 / seconds:.0f} MB/s, {high / 1024:.1f} MB",
                   f"cat | cat {1024 / floor:.0f} MB/s: {seconds / floor:.1f}x its time; {beside}hello {small / 1024:.1f} MB: {high / small:.1f}x",
                   "4x its time, 4x", seconds <= 4 * floor and high < 4 * small)


def upload(env):
    for kind, (ours, loop) in uploads.measure(PROGRAM, env).items():
        report(f"upload of 50 files of 1 MB, {kind}", f"{ours:.2f} s", f"a loop of curl {loop:.2f} s: {ours / loop:.2f}x", "1.5x", ours < 1.5 * loop)


def runner(env):
    small = bare_memory() / 1024
    for engine in ENGINES:
        ms, rss, pss = runners.measure(PROGRAM, env, engine)
        bare = cells(engine, "warm", 1000)["bare_p50_us"] / 1000
        report(f"a cell through a runner, {engine}", f"p50 {ms:.2f} ms", f"bare pipes {bare:.3f} ms: {ms / bare:.1f}x", "20x", ms <= 20 * bare)
        report(f"an idle runner, {engine}", f"{rss:.1f} MB, its share {pss:.1f} MB", f"hello {small:.1f} MB: {rss / small:.1f}x", "1.5x",
               rss <= 1.5 * small)


def http_question(env):
    """What the server adds to a question on a live session."""
    script, server = questions.overhead(PROGRAM, env)
    for what, a, b in zip(("quickest tenth", "median", "processor time"), script, server):
        report("a question at /v1, above one of a script, " + what, f"{b - a:.2f} ms", f"script {a:.2f} ms, /v1 {b:.2f} ms: {b / a:.2f}x",
               "2 ms", b - a < 2)


def mcp_server(env):
    for engine in ENGINES:
        lists, hellos = [], []
        for _ in range(11):
            lists.append(mcp.first_list(PROGRAM, env, engine))
            hellos += timed([TOOLS + "/hello"], 1, env)
        got, floor = statistics.median(lists), statistics.median(hellos)
        report(f"mcp: exec to the first list of tools, {engine}", f"{got:.1f} ms", f"hello, same libraries {floor:.1f} ms: {got / floor:.1f}x", "30 ms", got < 30)
        p50, p99, bare = mcp.cells(PROGRAM, env, engine, 500)
        report(f"mcp: execute_python print(1), {engine}", f"p50 {p50:.2f} ms, p99 {p99:.2f} ms",
               f"bare python3 over the same pipes p50 {bare:.2f} ms: {p50 / bare:.1f}x", "2 ms", p50 < 2)


def serve(env):
    for engine in ENGINES:
        m = serving_load.measure(PROGRAM, env, engine)
        report(f"a cell over HTTP, kept alive, {engine}", f"p50 {m['cell_ms']:.2f} ms", f"GET / {m['health_ms']:.2f} ms: {m['cell_ms'] / m['health_ms']:.1f}x",
               "1 ms", m["cell_ms"] < 1)
        report(f"200 connections, 10,000 cells, {engine}", f"{m['seconds']:.1f} s, {m['bad']} failed, {m['after']:.1f} MB",
               f"after the first 2,000 {m['before']:.1f} MB: {m['after'] / m['before']:.2f}x", "none failed, 1.1x", m["bad"] == 0 and m["after"] <= 1.1 * m["before"])


def pool(env):
    for engine in ENGINES:
        warm, cold = (sorted(times) for times in serving_load.from_pool(PROGRAM, env, engine))
        p50, without = statistics.median(warm), statistics.median(cold)
        report(f"create_sandbox from a pool of 4, {engine}", f"p50 {p50:.1f} ms, slowest {warm[-1]:.1f} ms", f"without a pool {without:.0f} ms: {p50 / without:.2f}x",
               "20 ms", p50 < 20)


def idle(env):
    """The interpreters in the sandboxes are not counted: a bare bwrap or docker has those too."""
    runners, server = serving_load.idle(PROGRAM, env, "bwrap" if "bwrap" in ENGINES else ENGINES[0])
    small = bare_memory() / 1024
    report(f"{len(runners)} idle sessions", f"{statistics.median(runners):.1f} MB each, most {max(runners):.1f}, server {server:.1f}",
           f"hello {small:.1f} MB: {statistics.median(runners) / small:.1f}x", "12 MB each", max(runners) < 12)


def batch(env):
    (rate, cpu), (bare, bare_cpu) = batches.measure(PROGRAM, env, 192, 32)
    report("batch -j 32, a model of 2 x 0.3 s", f"{rate:.1f} rows/s, {cpu:.0f} ms of CPU each",
           f"xargs -P32 sandpiper {bare:.1f} rows/s, {bare_cpu:.0f} ms: {rate / bare:.2f}x, {cpu / bare_cpu:.2f}x", "1.5x, 0.7x",
           rate >= 1.5 * bare and cpu <= 0.7 * bare_cpu)


def live_copy(env):
    """A live copy of an interpreter with 500 MB in arrays, gone on from by a sandbox that is up; then each page of them is written to. Beside it a bare
    fork that does the same. 200 at once; and rows of a batch, beside those that load a CSV of 100 MB themselves (fewer, for each takes that long)."""
    for engine in ENGINES:
        got = {k[:-7]: v / 1000 for k, v in cells(engine, "copies", "numpy").items() if k.endswith("_p50_us")}
        whole = got["in"] + got["first"] + got["touch"]
        report(f"a live copy gone on from, 500 MB, {engine}", f"{got['in']:.0f} ms, all pages {whole:.0f} ms",
               f"a bare fork, all pages {got['fork']:.0f} ms: {whole / got['fork']:.2f}x; written in {got['out']:.0f} ms", "2.0x", whole <= 2 * got["fork"])
    got = cells("bwrap", "forks", 200)
    report("200 at once from a copy of 500 MB, bwrap", f"{got['Pss_kb'] / 1024:.0f} MB together", f"by themselves {got['Rss_kb'] / 1024:.0f} MB; own pages "
           f"{got['Private_Dirty_kb'] / 1024 / 200:.1f} MB each; one takes all memory: {got['hurt']:.0f} others hurt", "3 GB, none", got["Pss_kb"] < 3 << 20 and not got["hurt"])
    copy, load = copies.measure(PROGRAM, env, 100 << 20, 200, 20, 2)
    report("200 rows of batch --prepare, CSV of 100 MB", f"{copy * 1000:.0f} ms a row", f"rows that load it {load * 1000:.0f} ms: {copy / load:.2f}x", "0.5x", copy <= 0.5 * load)


# Fast ones first; other parts of the house add theirs.
ROWS = {"start": start, "prompt": prompt, "memory": memory, "cell": cell, "languages": languages, "snapshots": snapshots, "cold": cold, "reader": reader,
        "markdown": markdown, "oneshot": oneshot, "named": named, "flood": flood, "gigabyte": gigabyte, "figure": first_figure, "files": big_file,
        "upload": upload, "runner": runner, "mcp": mcp_server, "serve": serve, "pool": pool,
        "idle": idle, "question": http_question, "batch": batch, "copies": live_copy}


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.handle_error = lambda request, client: None      # a chat that is left at once has not heard what it asked
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = tempfile.mkdtemp(prefix="sandpiper-bench-")
    env = environment(home, f"http://127.0.0.1:{server.server_port}/v1")
    try:
        for name in WANTED or ROWS:
            ROWS[name](env)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if failed:
        sys.exit("bench: missed: " + ", ".join(failed))


main()
