"""test_terminal.py - the chat's terminal: of any width, resized at any moment, and as it was before whatever ends the program."""
import os
import random
import re
import signal
import subprocess
import time

import pexpect
import pytest

from conftest import BIN
from chat_keys import AT_PROMPT, PLAIN, leave, modes, modes_before, said, start
from test_figures import PLOT

WIDE = "\u4e2d\u6587\u5b57\u7b26 caf\u00e9 e\u0301 \U0001f426 "


def settle(p, seconds=0.05):
    """Read what comes, so that the program never waits for us."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            p.read_nonblocking(65536, timeout=0.01)
        except pexpect.TIMEOUT:
            pass


def alive(p):
    assert p.isalive(), "it died of signal %s, exit %s: %r" % (p.signalstatus, p.exitstatus, p.before)


@pytest.mark.slow(3)
@pytest.mark.parametrize("columns", [*range(0, 21), 22, 24])
def test_narrow_terminals(bare, serve, columns):
    """Typed, searched, completed, edited and sent in a terminal of so few columns."""
    line = WIDE * 6
    serve(bare, [said(line.strip() + "!"), said("short")])
    p = bare.chat(env=PLAIN, size=(24, columns))
    p.expect(">")
    p.send(line.strip())
    settle(p, 0.2)
    p.send("\x01\x1bf\x1bf\x05\x12caf\x07\x05\x1b[D\x1b[D\x1b[C\x1b[C!\t")
    settle(p, 0.2)
    alive(p)
    p.send("\r")
    p.expect("H\\s*e\\s*a\\s*r\\s*d")
    settle(p, 0.2)
    p.send("\x1b[A\x15/sys\t\x15short\r")
    p.expect("H\\s*e\\s*a\\s*r\\s*d")
    settle(p, 0.2)
    p.send("\x04")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 0, (p.exitstatus, p.signalstatus)


@pytest.mark.check
@pytest.mark.parametrize("seed", range(4))
def test_resized_at_random(bare, serve, seed):
    chance = random.Random(seed)
    serve(bare, [], complete=False)
    p = start(bare, size=(24, 80))
    keys = [WIDE, "x" * 50, "word " * 10, "\x01", "\x05", "\x1bb", "\x1bf", "\x7f", "\x17", "\x19", "\x12ca", "\x07", "\x0b", "\x15", "\x1b[A",
            "\x1b[B", "\x14", "\x1f", "/\t", "\x1b[200~" + WIDE * 3 + "\n" + WIDE + "\x1b[201~", "\x0c", "\x1b[D\x1b[D", "\x03"]
    for _ in range(150):
        p.setwinsize(chance.choice([1, 2, 3, 24, 50]), chance.choice([*range(0, 24), 40, 80, 133, 300]))
        p.send(chance.choice(keys))
        settle(p, chance.choice([0.0, 0.01, 0.03]))
        alive(p)
    p.setwinsize(24, 80)
    p.send("\x07\x15\x03")
    settle(p, 0.3)
    p.send("\x04")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 0, (p.exitstatus, p.signalstatus)


@pytest.mark.parametrize("columns", ["0", "1", "2", "3", "x", "99999999999"])
def test_columns_of_the_environment(bare, serve, columns):
    serve(bare, [said("hello there")])
    p = start(bare, env={"COLUMNS": columns, "LINES": columns}, size=(24, 80))
    p.send("hello there\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


# ------------------------------------------------------------------------------------------------------ crashes, stops, kills

CRASHES = [signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS, signal.SIGILL, signal.SIGQUIT, signal.SIGSYS, signal.SIGTRAP,
           signal.SIGXCPU, signal.SIGUSR1, signal.SIGALRM]


@pytest.mark.parametrize("where", ["prompt", "answer"])
@pytest.mark.parametrize("sent", CRASHES)
def test_a_crash_leaves_the_terminal_as_it_was(bare, serve, sent, where):
    server = serve(bare, [{"answer": {"wait": 20}}], complete=False)
    p = bare.chat(env=dict(PLAIN, ASAN_OPTIONS="handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"))
    before = modes_before()
    p.expect(AT_PROMPT)
    assert modes(p) != before
    if where == "answer":
        p.send("x\r")
        server.wait_request(1)
        time.sleep(0.1)
    else:
        p.send("half a line")
        p.expect("half a line")
    p.kill(sent)
    p.expect(pexpect.EOF)
    shown, after = p.before, modes(p)
    p.close()
    assert p.signalstatus == sent, (p.exitstatus, p.signalstatus)
    assert after == before
    assert where == "answer" or shown.endswith("\x1b[?2004l"), repr(shown)
    assert bare.run("gc").code == 0


def test_a_crash_has_the_core_that_is_due(bare, serve):
    """Keys are in our memory: none. What the handler must not do is change that, or the signal."""
    serve(bare, [])
    p = bare.chat(env=PLAIN)
    p.expect(AT_PROMPT)
    with open("/proc/%d/limits" % p.pid) as f:
        assert re.search(r"Max core file size\s+0\s+0", f.read())
    p.kill(signal.SIGABRT)
    p.expect(pexpect.EOF)
    p.close()
    assert p.signalstatus == signal.SIGABRT and not p.status & 0x80
    assert not [name for name in os.listdir(bare.work) if name.startswith("core")]
    assert bare.run("gc").code == 0


@pytest.mark.skipif("asan" not in BIN, reason="only a build with the sanitizers has handlers of its own")
def test_a_sanitizer_still_tells(bare, serve, tmp_path):
    serve(bare, [])
    log = tmp_path / "report"
    p = bare.chat(env=dict(PLAIN, ASAN_OPTIONS="exitcode=99:log_path=%s" % log))
    before = modes_before()
    p.expect(AT_PROMPT)
    p.kill(signal.SIGSEGV)
    p.expect(pexpect.EOF)
    after = modes(p)
    p.close()
    assert after == before and p.exitstatus == 99
    assert any("AddressSanitizer" in f.read_text() for f in tmp_path.iterdir())
    assert bare.run("gc").code == 0


def shell_of(program, shell="/bin/bash", **kw):
    argv = ["--norc", "-i"] if shell == "/bin/bash" else ["-i"]
    p = pexpect.spawn(shell, argv, env=program.env(dict(PLAIN, TERM="xterm-256color", PS1="shell# ", SP=BIN, ENV="")), cwd=program.work,
                      encoding="utf-8", codec_errors="replace", timeout=60, dimensions=(30, 100), echo=False, **kw)     # ^Z can cut a character
    p.expect("shell# ")
    return p


def in_a_shell(program, shell="/bin/bash", **kw):
    p = shell_of(program, shell, **kw)
    p.send('"$SP"\r')
    p.expect(AT_PROMPT)
    return p


def child_of(p):
    return int(subprocess.check_output(["pgrep", "-P", str(p.pid), "-x", "sandpiper"]).split()[0])


@pytest.mark.parametrize("sent", [signal.SIGTSTP, signal.SIGSTOP])
def test_stopped_from_outside_at_the_prompt(bare, serve, sent):
    """Not by a key: the line is there again when it goes on, and a SIGTSTP leaves the shell the terminal as it was."""
    serve(bare, [said("half a line")])
    p = in_a_shell(bare, "/bin/sh")
    p.send("half a ")
    p.expect("half a ")
    os.kill(child_of(p), sent)
    p.expect("Stopped")
    shown = p.before
    p.expect("shell# ")
    p.send("stty -a\n")                 # after a SIGSTOP the terminal is as editing wants it: no \r is a line's end
    raw = p.expect([" icanon", "-icanon"])
    if sent == signal.SIGTSTP:
        assert raw == 0 and "\x1b[?2004l" in shown
    p.expect("shell# ")
    p.send("stty sane\n")
    p.expect("shell# ")
    p.send("fg\n")
    p.expect(re.escape("\x1b[?2004h"))
    p.expect("half a ")
    p.send("line\r")
    p.expect("Heard")
    p.expect(AT_PROMPT)
    p.send("\x04")
    p.expect("shell# ")
    p.send("exit\r")
    p.expect(pexpect.EOF)


def kill_stopped(p):
    """By "kill %1": it ends in the background, where to set the terminal's modes would only stop it again."""
    p.send("\x1a")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("set -b; kill %1\r")
    p.expect("Exit 143")
    p.send("stty -a\r")
    p.expect(" icanon")
    p.expect("shell# ")
    p.send("exit\r")
    p.expect(pexpect.EOF)


def test_a_stopped_chat_can_be_ended(bare, serve):
    serve(bare, [])
    kill_stopped(in_a_shell(bare))


def test_a_stopped_yes_or_no_can_be_ended(bare, serve):
    server = serve(bare, [])
    os.chmod(bare.write(".env", "OPENAI_BASE_URL=%s\nSANDPIPER_MODEL=test-model\n" % server.url), 0o600)
    bare.url = None
    p = shell_of(bare)
    p.send('"$SP" hello\r')
    p.expect("allow\\? \\[y/N\\] ")
    kill_stopped(p)


def test_stopped_before_the_terminal_has_answered(bare, serve):
    """Where a figure was to be drawn the terminal was asked what it can draw, and has not replied."""
    server = serve(bare, [{"answer": {"calls": [{"code": PLOT}]}}, {"answer": {"text": "slow", "wait": 20}}], complete=False)
    p = shell_of(bare)
    p.send('"$SP" "plot it"\r')
    server.wait_request(2)
    kill_stopped(p)


def test_after_a_kill_the_next_chat_is_clean(bare, serve):
    """kill -9 leaves the terminal raw, and not every shell mends it. The next chat works, and leaves it whole."""
    serve(bare, [{"answer": {"text": "slow", "wait": 20}}], complete=False)
    p = pexpect.spawn("/bin/sh", ["-c", 'trap : INT; stty -a; "$0"; echo killed; "$0"; stty -a', BIN], env=bare.env(dict(PLAIN, TERM="xterm-256color")),
                      cwd=bare.work, encoding="utf-8", timeout=60, dimensions=(30, 100))
    p.expect(AT_PROMPT)
    before = p.before
    p.send("half")
    p.expect("half")
    os.kill(child_of(p), signal.SIGKILL)
    p.expect("killed")
    p.expect(AT_PROMPT)
    p.send("go\r")
    p.expect("[Ww]aiting")
    p.send("\x03")                              # a signal again
    p.expect(AT_PROMPT)
    p.send("\x04")
    p.expect(re.escape("\x1b[?2004l"))
    p.expect(pexpect.EOF)
    settings = [re.findall(r"-?\b(?:icanon|echo|isig|ixon|icrnl|opost|onlcr|iexten|(?:susp|intr|quit|eof) = \S+)", t) for t in (before, p.before)]
    assert settings[0] == settings[1] and "icanon" in settings[1], settings
    assert bare.run("gc").code == 0
