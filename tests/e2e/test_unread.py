"""test_unread.py - stdout and stderr that nobody reads. A write waits for its reader as long as it takes, but a signal ends the wait, the
program has its documented exit code, and the sandbox is gone (each fixture looks).
"""
import array
import fcntl
import os
import pty
import signal
import socket
import subprocess
import termios
import time

import pytest

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
FLOOD = "import sys, time\nfor i in range(100): sys.%s.write('x' * 99999 + '\\n')\ntime.sleep(60)"
SHORT = "import sys, time\nsys.stderr.write('x' * 300000)\nraise ValueError('behind it')"


class Unread:
    """A pipe, a pair of sockets or a terminal whose other end nobody reads. full: not a byte fits from the beginning."""

    def __init__(self, kind="pipe", full=False):
        if kind == "pipe":
            self.read, self.write = os.pipe()
        elif kind == "socket":
            self.pair = socket.socketpair()
            self.read, self.write = (s.detach() for s in self.pair)
        else:
            self.read, self.write = pty.openpty()
        if full:
            self.fill()

    def fill(self):
        flags = fcntl.fcntl(self.write, fcntl.F_GETFL)
        os.set_blocking(self.write, False)
        for size in (65536, 1, 1, 1):
            time.sleep(0.05)            # a terminal takes a little more once it has passed on what it has
            try:
                while True:
                    os.write(self.write, b"." * size)
            except BlockingIOError:
                pass
        fcntl.fcntl(self.write, fcntl.F_SETFL, flags)

    def wait_full(self, seconds=60):
        """Somebody has filled it: a pipe has 64 KiB, and whoever writes to it waits."""
        deadline, have = time.monotonic() + seconds, array.array("i", [0])
        while have[0] < 61440:
            assert time.monotonic() < deadline, "only %d bytes came" % have[0]
            time.sleep(0.05)
            fcntl.ioctl(self.read, termios.FIONREAD, have)

    def is_blocking(self):
        return os.get_blocking(self.write)

    def drain(self):
        os.set_blocking(self.read, False)
        out = b""
        try:
            while True:
                piece = os.read(self.read, 65536)
                if not piece:
                    return out
                out += piece
        except (BlockingIOError, OSError):
            return out

    def close(self):
        for fd in (self.read, self.write):
            os.close(fd)


@pytest.fixture
def unread():
    made = []

    def make(*args, **kw):
        made.append(Unread(*args, **kw))
        return made[-1]
    yield make
    for one in made:
        one.close()


def wait_stalled(p, seconds=60, deaf=False):
    """Until it takes signals (deaf: or not) and has done nothing for 0.4 s: it waits for its reader."""
    deadline, since, before = time.monotonic() + seconds, time.monotonic(), None
    while p.poll() is None and (time.monotonic() < since + 0.4 or not (deaf or catches(p, signal.SIGTERM))):
        assert time.monotonic() < deadline, "it never came to a halt"
        time.sleep(0.02)
        with open("/proc/%d/schedstat" % p.pid) as f:
            now = f.read().split()[0]
        if now != before:
            since, before = time.monotonic(), now


def catches(p, sig):
    with open("/proc/%d/status" % p.pid) as f:
        return bool(int(next(line for line in f if line.startswith("SigCgt:")).split()[1], 16) >> (sig - 1) & 1)


def ends(p, sig, code, within=6):
    """It waits for its reader; a signal ends it, with this exit code."""
    wait_stalled(p)
    assert p.poll() is None, "it ended by itself: %s" % p.returncode
    begin = time.monotonic()
    p.send_signal(sig)
    try:
        assert p.wait(within) == code
    except subprocess.TimeoutExpired:
        with open("/proc/%d/syscall" % p.pid) as f:
            raise AssertionError("it did not end within %d s of signal %d (in system call %s)" % (within, sig, f.read().split()[0]))
    return time.monotonic() - begin


@pytest.mark.parametrize("sig, code", SIGNALS)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_exec(sandpiper_on, unread, stream, sig, code):
    """The code is held up in the middle of its output. What Python would say of the interrupt has no reader either."""
    out = unread()
    p = sandpiper_on.start("exec", "-c", FLOOD % stream, **{stream: out.write})
    out.wait_full()
    ends(p, sig, code)
    assert out.is_blocking()            # whoever shares the descriptor finds it as it was


@pytest.mark.parametrize("kind", ["pipe", "socket", "terminal"])
@pytest.mark.parametrize("code", [SHORT, "1/0", "print(1)"])
def test_exec_with_nowhere_to_say_it(sandpiper, unread, kind, code):
    """stderr is full from the beginning: notices (-v), a traceback, or the rest of the output."""
    out = unread(kind, full=True)
    p = sandpiper.start("-v", "exec", "-c", code, stderr=out.write)
    ends(p, signal.SIGTERM, 143)


def test_two_programs_fill_one_pipe(sandpiper, unread):
    """What was free when it was looked at is taken by another program a moment later."""
    out = unread()
    first, second = [sandpiper.start("exec", "-c", FLOOD % "stderr", stdout=out.write, stderr=out.write) for _ in range(2)]
    for _ in range(300):                # a reader that takes a page now and then
        os.read(out.read, 4096)
    ends(first, signal.SIGTERM, 143)
    ends(second, signal.SIGINT, 130)


def test_a_reader_that_comes_late_gets_everything(sandpiper, unread):
    """Nothing is cut by waiting: neither output nor what is said at the end."""
    out = unread()
    p = sandpiper.start("exec", "-c", "import sys\nsys.stderr.write('y' * 500000 + '\\n')\n1/0", stderr=out.write)
    out.wait_full()
    text, deadline = b"", time.monotonic() + 20
    while p.poll() is None and time.monotonic() < deadline:
        text += out.drain()
        time.sleep(0.01)
    text += out.drain()
    assert p.returncode == 1 and text.count(b"y") >= 500000 and text.rstrip().endswith(b"ZeroDivisionError: division by zero"), text[-500:]


@pytest.mark.slow(3)
@pytest.mark.parametrize("sig, code", SIGNALS)
@pytest.mark.parametrize("args, stream", [((), "stderr"), (("-v",), "stderr"), (("--json",), "stdout"), ((), "stdout")])
def test_a_question(sandpiper, serve, unread, args, stream, sig, code):
    answer = "a long answer\n" * 20000
    serve(sandpiper, [{"answer": {"calls": [{"code": "print('x' * 30000)\nprint('z' * 80, file=__import__('sys').stderr)"}]}},
                      {"answer": {"text": answer, "piece": 20000}}], complete=False)
    p = sandpiper.start(*args, "go", **{stream: unread(full=True).write})
    ends(p, sig, code)


@pytest.mark.parametrize("sig, code", SIGNALS)
def test_a_script(sandpiper, serve, unread, sig, code):
    serve(sandpiper, [{"answer": {"text": "one"}}, {"answer": {"text": "two"}}], complete=False)
    p = sandpiper.start(stdin=subprocess.PIPE, stderr=unread(full=True).write)
    p.stdin.write(b"first\nsecond\n")
    p.stdin.flush()                     # and stays open
    ends(p, sig, code)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
def test_the_chat(sandpiper, serve, unread, sig):
    """A terminal that takes no more: a window that hangs, or Ctrl-S."""
    serve(sandpiper, [{"answer": {"text": "a long answer\n" * 20000, "piece": 20000}}], complete=False)
    t = unread("terminal")
    p = sandpiper.start(stdin=t.write, stdout=t.write, stderr=t.write, env={"TERM": "xterm"})
    seen = b""
    while b"?2004h" not in seen:        # a line is read
        seen += os.read(t.read, 4096)
    wait_stalled(p)
    t.drain()
    os.write(t.read, b"go\r")
    ends(p, sig, 143)


@pytest.mark.parametrize("args", [("help", "all"), ("config",), ("--version",)])
def test_what_only_prints(bare, unread, args):
    p = bare.start(*args, stdout=unread(full=True).write)
    wait_stalled(p, deaf=True)
    assert p.poll() is None
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) in (143, -signal.SIGTERM)
