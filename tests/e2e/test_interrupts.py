"""test_interrupts.py - Ctrl-C in a real pseudo-terminal in every phase of a sandbox, on each engine: while it starts, while files move in and out,
and while a cell runs (twice within a second: test_chat_interrupts.py). The step is cancelled, the chat goes on, what the model is sent next is valid
(the model service checks that), and nothing is left behind (the fixture checks that)."""
import os
import pathlib
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pexpect
import pytest

from conftest import BIN, make_sandpiper
from raw_server import RawServer, wait_for
from chat_keys import PLAIN, leave, start
from thread_chat import Chat

MIB = 1 << 20
CELL = {"answer": {"calls": [{"code": "print(6 * 7)"}]}}


@pytest.fixture
def slow(engine):
    """A PATH on which the engine's client waits before it starts anything, for as long as the file "held" is there (`hold`). "called" is made when it
    has been called."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sp-slow-", dir="/tmp"))
    script = folder / engine
    script.write_text("#!/bin/sh\ncd %s\ncase \"$*\" in *--unshare-user*|*' run '*|'run '*) touch called 2>/dev/null; while [ -e held ]; do sleep 0.1; done;; "
                      "esac\ncd \"$OLDPWD\"\nexec %s \"$@\"\n" % (folder, shutil.which(engine)))
    script.chmod(0o755)
    folder.chmod(0o777)                 # bwrap runs it as another uid
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def sandpiper_on(slow, engine):
    """The program on each engine in turn. The slow client is there for longer than the keeper that still needs it."""
    yield from make_sandpiper(engine)


def path_of(slow):
    return {"PATH": "%s:%s" % (slow, os.environ["PATH"])}


def known(program, slow):
    """What is inside is remembered, as it is from the second session on; else the model is asked only when the sandbox is up. The client waits then."""
    assert program.run("exec", "-", stdin="pass", env=path_of(slow)).code == 0
    (slow / "called").unlink()
    hold(slow)


def hold(slow):
    (slow / "held").touch()


def let_go(slow):
    (slow / "held").unlink()


def called(slow):
    wait_for((slow / "called").exists, 60)


def one_shot(program, *args, env=None, shell=None):
    """The program with nothing to type at, in a terminal of its own all the same. shell: a pipeline, $0 is the program."""
    p = program.chat(*args, env=dict(PLAIN, **(env or {}))) if not shell else None
    if p:
        return p
    p = pexpect.spawn("/bin/bash", ["-c", shell, BIN], env=program.env(dict({"TERM": "xterm-256color"}, **PLAIN)), cwd=program.work,
                      dimensions=(30, 100), timeout=30, encoding="utf-8", codec_errors="replace", echo=False)
    program.pids.append(p.pid)
    program.children.append(p)
    return p


def ended(p, code):
    p.expect(pexpect.EOF, timeout=60)
    p.close()
    assert p.exitstatus == code, (p.exitstatus, p.signalstatus, p.before)
    return p.before


# ---------------------------------------------------------------------------------------------------- while the sandbox starts

def test_chat_while_the_sandbox_starts(sandpiper_on, serve, slow):
    serve(sandpiper_on, [CELL, {"expect": {"roles": "system user"}, "answer": {"calls": [{"code": "print(7 * 8)"}]}},
                         {"answer": {"text": "It is 56."}}])
    known(sandpiper_on, slow)
    p = start(sandpiper_on, env=path_of(slow))
    p.send("go\r")
    p.expect("print\\(6 \\* 7\\)")
    called(slow)
    p.send("\x03")
    p.expect("Stopped\\.")             # while the client still waits
    p.expect("> ")
    let_go(slow)
    p.send("again\r")
    p.expect("56")
    p.expect("It is 56")
    p.expect("> ")
    leave(p)


def typed_after(k):
    """A line that is typed so soon after the prompt; what the terminal showed between it and its answer."""
    for program in make_sandpiper("bwrap"):
        with RawServer(lambda c, request: c.answer("all is well")) as server:
            program.url = server.url
            chat = Chat(program, PLAIN)
            chat.prompt()
            time.sleep(0.0005 * k)
            chat.send("go\r")
            chat.prompt()
            chat.close()
    return chat.seen.partition("go\r\n")[2].partition("all is well")[0]


@pytest.mark.slow(50)
@pytest.mark.check
def test_news_of_the_sandbox_beside_a_line(one_engine):
    """That the sandbox is up may be told in the moment a line is done: the prompt does not come back in front of the answer."""
    with ThreadPoolExecutor(6) as pool:
        assert [k for k, shown in enumerate(pool.map(typed_after, range(100))) if "> " in shown] == []


def test_own_code_while_the_sandbox_starts(sandpiper_on, serve, slow):
    serve(sandpiper_on, [])
    hold(slow)
    p = start(sandpiper_on, env=path_of(slow))
    p.send("!6 * 7\r")
    p.expect("Starting the sandbox")
    called(slow)
    p.send("\x03")
    p.expect("Stopped before the code ran\\.")
    p.expect("> ")
    let_go(slow)
    p.send("!6 * 7\r")
    p.expect("42")
    p.expect("> ")
    leave(p)


def test_question_while_the_sandbox_starts(sandpiper_on, serve, slow):
    serve(sandpiper_on, [CELL])
    known(sandpiper_on, slow)
    p = one_shot(sandpiper_on, "go", env=path_of(slow))
    called(slow)
    p.expect("6 \\* 7")
    p.send("\x03")
    assert "interrupted" in ended(p, 130)
    let_go(slow)


def test_exec_while_the_sandbox_starts(sandpiper_on, slow):
    hold(slow)
    p = one_shot(sandpiper_on, "exec", sandpiper_on.write("prog.py", "print(6 * 7)"), env=path_of(slow))
    called(slow)
    p.send("\x03")
    assert "42" not in ended(p, 130)
    let_go(slow)


# ---------------------------------------------------------------------------------------------------- while files move

def test_question_while_stdin_is_read(sandpiper_on, serve):
    """A pipe whose writer pauses after 30 MB: the rest is waited for until somebody presses Ctrl-C."""
    serve(sandpiper_on, [], complete=False)
    p = one_shot(sandpiper_on, shell="trap : INT; { head -c 30000000 /dev/zero; echo moved >&2; sleep 100; } | \"$0\" --stdin data "
                                      "'how long is it?'; exit ${PIPESTATUS[1]}")
    p.expect("moved")
    p.expect("waiting for the end of stdin")
    p.send("\x03")
    ended(p, 130)


def moving(p, path):
    """Wait until the program has begun to read that file."""
    wait_for(lambda: offset_of(p.pid, path) >= MIB, 60)


def test_question_while_a_file_moves_in(sandpiper_on, serve):
    serve(sandpiper_on, [], complete=False)
    path = sandpiper_on.write("big.bin", b"")
    os.truncate(path, 250 * MIB)
    p = one_shot(sandpiper_on, "--cpus", "0.05", "--add", path, "how long is it?")
    moving(p, path)
    p.send("\x03")
    assert "interrupted" in ended(p, 130)


def test_chat_while_a_file_moves_in(sandpiper_on, serve):
    serve(sandpiper_on, [{"expect": {"last": {"content": {"regex": "still there"}}}, "answer": {"text": "Heard."}}])
    path = sandpiper_on.write("big.bin", b"")
    os.truncate(path, 250 * MIB)
    p = start(sandpiper_on, "--cpus", "0.05", "--add", path)
    p.send("go\r")
    p.expect("Copying data into the sandbox")
    moving(p, path)
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect("> ")
    p.send("still there?\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def offset_of(pid, path):
    """How far the program has read that file."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            if os.readlink("/proc/%d/fd/%s" % (pid, fd)) == os.path.realpath(path):
                with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                    return int(f.readline().split()[1])
        except OSError:
            pass
    return 0


def test_chat_while_files_move_out(sandpiper_on, serve):
    """The cell is done; what had not come out yet is left, both are told, and the variables are there."""
    code = "x = 42\nfor i in range(8): open('f%d.bin' % i, 'wb').truncate(15 << 20)\nprint('made', flush=True)"
    server = serve(sandpiper_on, [{"answer": {"calls": [{"code": "y = 1"}]}}, {"answer": {"text": "ready"}}, {"answer": {"calls": [{"code": code}]}},
                                  {"expect": {"roles": "system user assistant tool assistant user assistant tool assistant user"},
                                   "answer": {"calls": [{"code": "print(x, y)"}]}}, {"answer": {"text": "Done."}}])
    p = start(sandpiper_on, "--cpus", "0.03")
    p.send("go\r")
    p.expect("ready", timeout=60)
    p.expect("> ")
    p.send("make them\r")
    p.expect("made\r\n", timeout=60)
    p.expect("Saving files", timeout=60)          # before that a Ctrl-C interrupts the cell
    p.send("\x03")
    p.expect("interrupted: the other files were not saved")
    p.expect("> ")
    p.send("and now?\r")
    p.expect("42 1")
    p.expect("Done")
    p.expect("> ")
    leave(p)
    told = [m for m in server.bodies()[3]["messages"] if m["role"] == "tool"][-1]["content"]
    assert "made" in told and "not saved" in told, told


# ---------------------------------------------------------------------------------------------------- while a cell runs

def test_chat_while_a_cell_runs(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "x = 41\nprint('started', flush=True)\nwhile True: pass"}]}},
                         {"expect": {"roles": "system user assistant tool assistant user"}, "answer": {"calls": [{"code": "print(x + 1)"}]}},
                         {"answer": {"text": "Kept."}}])
    p = start(sandpiper_on)
    p.send("go\r")
    p.expect("started\r\n")
    p.send("\x03")
    p.expect("Stopped\\. Variables are kept\\.")
    p.expect("> ")
    p.send("and now?\r")
    p.expect("42")
    p.expect("Kept")
    p.expect("> ")
    leave(p)
