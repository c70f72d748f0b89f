"""test_deadlines.py - every time limit against what does all it can to delay it: the code, the model's service, a client or a reader that stalls.
It ends within the limit and 2 s, and meanwhile the program takes at most one processor and little memory.
"""
import json
import os
import pty
import subprocess
import threading
import time

import pytest

from conftest import BIN, ENGINES, HANG
from mcp_stdio import Mcp, text
from raw_server import RawServer
from serve_raw import Server

LIMIT = 3               # seconds
TIMED = ("--timeout", "%ds" % LIMIT, "--max-output", "1000g")      # so that time is what ends it
MEMORY = 64 << 10       # KiB, of the program
ASAN = b"__asan_init" in open(BIN, "rb").read()

IGNORE = "import os, signal, subprocess, sys, threading, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
FLOODS = {
    "a process": "import subprocess\nsubprocess.run(['yes'])",
    "print": "table = 'x' * 200\nwhile True: print(table)",
    "both streams": IGNORE + "while True:\n    os.write(1, b'o' * 65536)\n    os.write(2, b'e' * 65536)",
    "many writers": IGNORE + "for i in range(20):\n    if os.fork() == 0:\n        os.setsid()\n        while True: os.write(1 + i % 2, b'y\\n' * 2000)\nwhile True: os.write(1, b'x')",
    "threads": IGNORE + "def flood():\n    while True: sys.stdout.write('t')\nfor _ in range(8): threading.Thread(target=flood).start()\nwhile True: pass",
    "one byte at a time": IGNORE + "while True: os.write(1, b'x')",
    "overwritten lines": IGNORE + "while True: os.write(1, b'\\r\\x1b[A a bar \\x1b[31m')",
    "a stopped process": IGNORE + "print('x', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)",
}


def each(floods):
    """Each on bwrap, and two on the other engines and with sanitizers: what reads them is the same, and each takes both processors for the whole limit."""
    two = ("print", "many writers")
    return pytest.mark.parametrize("engine, flood", [pytest.param(engine, flood, marks=[] if flood in two else [pytest.mark.no_asan]) for engine in ENGINES
                                                     for flood in floods if engine == "bwrap" or flood in two], indirect=["engine"])


@pytest.fixture
def start(sandpiper):
    """Seconds that a start and a cell may take beside the limit: what they take just now, with all that runs beside this test."""
    return max(5, 4 * sandpiper.run("exec", "-q", "-c", "1").seconds)


def used(p):
    """(exit code, processor seconds, KiB) of a program that ends, without those that it waited for."""
    killer = threading.Timer(3 * HANG, p.kill)
    killer.start()
    processor = memory = 0
    while os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        try:        # what getrusage() tells includes this process, whose copy the program was before it began
            with open("/proc/%d/status" % p.pid) as f:
                memory = max([memory] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
        except OSError:
            pass
        time.sleep(0.05)
    with open("/proc/%d/stat" % p.pid) as f:
        processor = sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    killer.cancel()
    return p.wait(), processor, memory


def check(program, began, limit, start, code=124):
    got, processor, memory = used(program)
    seconds = time.monotonic() - began
    assert got == code and seconds < start + limit + 2, (got, seconds, start)
    assert processor < seconds and (ASAN or memory < MEMORY), (processor, memory)


@pytest.mark.slow(5)
@each(FLOODS)
def test_of_a_cell(sandpiper_on, start, flood):
    began = time.monotonic()
    p = sandpiper_on.start("exec", "-q", "--timeout", "%ds" % LIMIT, "-c", FLOODS[flood], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check(p, began, LIMIT, start)


@pytest.mark.slow(10)
def test_of_a_cell_whose_output_nobody_reads(sandpiper, start):
    """Neither does the program wait for a reader that is no person."""
    began = time.monotonic()
    p = sandpiper.start("exec", "--timeout", "%ds" % LIMIT, "-c", FLOODS["print"])
    try:
        while sandpiper.processes() == [] and time.monotonic() - began < HANG:
            time.sleep(0.05)
        got, _, _ = used(p)
        # SIGINT and SIGKILL went unheard, since nobody read what was before the answer; then the reader has 2 s.
        assert got == 124 and time.monotonic() - began < start + LIMIT + 6, time.monotonic() - began
        err = p.stderr.read().decode()
        assert "ran longer than 3 s, the time limit" in err and "nobody read the rest of the output, so it is lost" in err, err
    finally:
        p.stdout.close()


def cpu_seconds(pid):
    """That pid and all processes below it have used, but for those that have ended."""
    todo, ticks = [pid], 0
    while todo:
        one = todo.pop()
        try:
            with open("/proc/%d/task/%d/children" % (one, one)) as f:
                todo += map(int, f.read().split())
            with open("/proc/%d/stat" % one) as f:
                ticks += sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow(20)
def test_of_a_cell_whose_terminal_is_stopped(sandpiper, start):
    """Ctrl-S: a person reads, and for that the code has up to 10 s more; then it dies although nothing is written."""
    ours, theirs = pty.openpty()
    began = time.monotonic()
    code = IGNORE + "if os.fork() == 0:\n    while True: pass\nwhile True: os.write(1, b'x' * 4000)"
    p = sandpiper.start("exec", "--timeout", "2s", "-c", code, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    try:
        last, lived = -1, 0         # the code's own process is at work as long as it lives
        while lived < 25:
            time.sleep(0.5)
            used = cpu_seconds(p.pid)
            if lived > 3 and used <= last:
                break
            last, lived = used, time.monotonic() - began
        assert 11 < lived < start + 2 + 10 + 2, lived
        drain = threading.Thread(target=read_all, args=(ours,))
        drain.start()
        assert p.wait(HANG) == 124
        assert b"ran longer than 2 s, the time limit" in p.stderr.read()
        drain.join(HANG)
    finally:
        p.stderr.close()
        os.close(ours)


def read_all(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass


@pytest.mark.slow(5)
@pytest.mark.parametrize("flood", ["print", "many writers"])
def test_of_a_cell_of_a_question(sandpiper, serve, flood, start):
    for args in (["-q"], ["--json"]):
        serve(sandpiper, [{"answer": {"calls": [{"code": FLOODS[flood]}]}}, {"answer": {"text": "It floods."}}])
        began = time.monotonic()
        p = sandpiper.start(*TIMED, *args, "go", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        check(p, began, LIMIT, start, 0)


@pytest.mark.slow(5)
@pytest.mark.parametrize("stalled", [False, True])
def test_of_a_question(sandpiper, serve, stalled, start):
    """--max-time, with code that floods; and the same when nobody reads what it prints."""
    serve(sandpiper, [{"answer": {"calls": [{"code": FLOODS["both streams"]}]}}], complete=False)
    began = time.monotonic()
    p = sandpiper.start("--max-time", "%ds" % LIMIT, "--max-output", "1000g", "--json", "go", stdout=subprocess.PIPE if stalled else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        got, processor, memory = used(p)
        seconds = time.monotonic() - began
        assert got == 5 or stalled and got in (1, 130), got
        assert seconds < start + LIMIT + 2 and processor < seconds, (seconds, processor)
    finally:
        if p.stdout:
            p.stdout.close()


def drip(event):
    """A service that never comes to an end."""
    def answer(raw, request):
        raw.head()
        while not raw.closing.is_set():
            try:
                raw.send(event)
            except OSError:
                return
            time.sleep(0.01)
    return answer


@pytest.mark.slow(3)
@pytest.mark.parametrize("event", ['data: {"choices":[{"delta":{"content":"x"}}]}\n\n', ": alive\n\n", "d", 'data: {"choices":[{"delta":{"reasoning_content":"x"}}]}\n\n'],
                         ids=["words", "comments", "bytes", "thoughts"])
@pytest.mark.parametrize("stalled", [False, True], ids=["read", "unread"])
def test_of_a_question_whose_service_drips(bare, event, stalled, start):
    with RawServer(drip(event)) as service:
        bare.url, bare.model = service.url, "test-model"
        began = time.monotonic()
        p = bare.start("--json", "--max-time", "%ds" % LIMIT, "go", stdout=subprocess.PIPE if stalled else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            got, _, _ = used(p)
            assert got == 5 and time.monotonic() - began < start + LIMIT + 2, (got, time.monotonic() - began)
        finally:
            if p.stdout:
                p.stdout.close()


@pytest.fixture
def server():
    """Ended whatever becomes of the test."""
    servers = []

    def start(*args):
        servers.append(Server(*args))
        return servers[-1]
    yield start
    for s in servers:
        assert s.close() == 0


@pytest.mark.slow(10)
@each(["a process", "print", "many writers", "a stopped process"])
def test_of_a_cell_of_the_server(sandpiper_on, server, start, flood):
    s = server(sandpiper_on, *TIMED)
    box = s.good("/create_sandbox")["sandbox_id"]
    for path, what in (("/run_code", {"code": FLOODS[flood]}), ("/execute_command", {"command": "yes"})):
        began = time.monotonic()
        ran = s.good(path, sandbox_id=box, **what)
        assert time.monotonic() - began < start + LIMIT + 2, (path, time.monotonic() - began)
        assert ran["exit_code"] == 124, ran
        assert len(ran["output"]) < 3 << 20
    assert s.good("/run_code", sandbox_id=box, code="6 * 7")["value"] == "42"


@pytest.mark.slow(5)
def test_of_a_cell_whose_client_does_not_read(sandpiper, server, start):
    """A stream of events that stays in the client's socket."""
    s = server(sandpiper, *TIMED)
    box = s.good("/create_sandbox")["sandbox_id"]
    body = b'{"sandbox_id": "%s", "code": "while True: print(\'x\' * 1000)", "stream": true}' % box.encode()
    with s.connect() as client:
        client.sendall(b"POST /run_code HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (s.token.encode(), len(body), body))
        time.sleep(LIMIT + 2)
        began = time.monotonic()
        ran = s.another().good("/run_code", sandbox_id=box, code="6 * 7")
        assert ran["value"] == "42" and time.monotonic() - began < start, (ran, time.monotonic() - began)


@pytest.mark.slow(30)
def test_of_a_cell_of_mcp(sandpiper, start):
    m = Mcp(sandpiper, *TIMED, modern=True)
    for code in FLOODS.values():
        began = time.monotonic()
        assert "time limit" in text(m.code(code)) and time.monotonic() - began < start + LIMIT + 2, code
    assert m.close()[0] == 0


@pytest.mark.check
@pytest.mark.parametrize("command", ["while printf x; do sleep 0.1; done", "yes >&2", "trap '' TERM; while :; do printf '\\0\\0\\0'; sleep 0.5; done"])
def test_of_a_start(bare, command, start):
    """An engine of the user's own that says something all the time, but never what it should."""
    bare.configure("engines:\n  slow:\n    start: %s\n" % json.dumps(["sh", "-c", command, "{python}"]))
    r = bare.run("exec", "--sandbox", "slow", "-c", "1")
    assert r.code == 125 and r.seconds < 20 + 2 + start, r


# ---------------------------------------------------------------------------------------------------------------- --max-output

LONG = "for i in range(300): print('x' * 9999)\nkept = 1"        # 3,000,000 bytes
SAID = "the code was stopped: it wrote more than 1 MiB of output, the limit (--max-output)"


def test_output_of_exec(sandpiper_on):
    code = "import time\n" + LONG + "\ntime.sleep(60)"
    r = sandpiper_on.run("exec", "--max-output", "1m", "-c", code)
    assert r.code == 137 and SAID in r.err and len(r.out_bytes) == 1 << 20 and r.seconds < HANG, r
    assert sandpiper_on.run("exec", "-c", LONG).out_bytes == (b"x" * 9999 + b"\n") * 300


@pytest.mark.check
def test_output_of_exec_is_what_python3_would_write(sandpiper):
    p = sandpiper.start("exec", "-c", "import os\nfor i in range(1200): os.write(1, b'x' * (1 << 20))", stderr=subprocess.DEVNULL)
    n = 0
    for piece in iter(lambda: p.stdout.read(1 << 20), b""):
        n += len(piece)
    p.stdout.close()
    assert n == 1200 << 20 and p.wait(HANG) == 0


def test_output_of_a_question(sandpiper, serve):
    """Variables are kept, and the model is told."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "kept = 2\n" + LONG + "\nimport time\ntime.sleep(60)"}]}},
                      {"answer": {"calls": [{"code": "print(kept)"}]}}, {"expect": {"last": {"content": "2"}}, "answer": {"text": "Done."}}])
    r = sandpiper.run("--json", "go", env={"SANDPIPER_MAX_OUTPUT": "1m"})
    assert r.code == 0 and '"status":"output"' in r.out and SAID in r.out, r.out[-3000:]


def test_output_of_the_server_and_mcp(sandpiper, server):
    sandpiper.configure("max_output: 1m\n")
    s = server(sandpiper)
    box = s.good("/create_sandbox")["sandbox_id"]
    ran = s.good("/run_code", sandbox_id=box, code="kept = 3\n" + LONG)
    assert ran["status"] == "output" and ran["error"]["text"] == SAID, ran
    assert s.good("/run_code", sandbox_id=box, code="kept")["value"] == "3"
    ran = s.good("/execute_command", sandbox_id=box, command="yes")
    assert ran["exit_code"] == 137 and SAID.replace("code", "command") in ran["stderr"], ran["stderr"][-300:]
    m = Mcp(sandpiper, modern=True)
    assert SAID in text(m.code(LONG))
    assert m.close()[0] == 0


def test_output_on_disk_counts(sandpiper, serve):
    """What is kept of long output takes room of --max-files-total, and is called what it is."""
    code = "print(('x' * 99 + '\\n') * 6000)"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"calls": [{"code": code + "\nopen('f', 'w').write('y' * 500000)"}]}}, {"answer": {"text": "Done."}}])
    r = sandpiper.run("--max-files-total", "1m", "go")
    assert "; first 440.6 KiB of the full output (600 kB): " in r.err or "of the full output (600" in r.err, r
    assert "f (500 kB) was NOT saved: one session saves at most 1 MiB of files (--max-files-total)" in r.err, r
    kept = sum(os.path.getsize(f) for f in sandpiper.files())
    assert kept < 1.1 * (1 << 20), kept
