"""test_chat_terminal.py - the terminal during a chat and as it was afterwards: modes, sizes, suspension, hostile text, memory."""
import os
import re
import signal
import subprocess
import time

import pexpect
import pytest

from chat_keys import PLAIN, ask, leave, leave_shell, modes, modes_before, said, shown, start, start_in_shell
from conftest import BIN


ENDS = {"ctrl-d": lambda p: p.send("\x04"), "exit": lambda p: p.send("/exit\r"), "term": lambda p: p.kill(signal.SIGTERM),
        "hup": lambda p: p.kill(signal.SIGHUP)}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("where", ["prompt", "answer"])
def test_modes_are_restored(bare, serve, end, where):
    if where == "answer" and end in ("ctrl-d", "exit"):
        pytest.skip("these end it only once the answer is there")
    server = serve(bare, [{"answer": {"text": "x", "wait": 20}}] if where == "answer" else [], complete=False)
    # a shell around it, so that the terminal outlives the program
    p = pexpect.spawn("/bin/sh", ["-c", 'stty -a; "$0"; echo "code $?"; stty -a', BIN], env=bare.env(dict(PLAIN, TERM="xterm-256color")),
                      cwd=bare.work, encoding="utf-8", timeout=60, dimensions=(30, 100))
    p.expect("> ")
    before = p.before.split("\n\x1b")[0]
    if where == "answer":
        p.send("go\r")
        server.wait_request(1)
        time.sleep(0.2)
    if end in ("term", "hup"):
        pid = int(subprocess.check_output(["pgrep", "-P", str(p.pid), "-x", "sandpiper"]).split()[0])
        os.kill(pid, signal.SIGTERM if end == "term" else signal.SIGHUP)
    else:
        ENDS[end](p)
    p.expect("code (\\d+)")
    assert p.match.group(1) == ("0" if end in ("ctrl-d", "exit") else "143")
    p.expect(pexpect.EOF)
    settings = [re.findall(r"-?\b(?:icanon|echo|isig|ixon|icrnl|opost|susp = \S+|eof = \S+)", t) for t in (before, p.before)]
    assert settings[0] == settings[1] and "icanon" in settings[1] and "echo" in settings[1], settings


def test_bracketed_paste_is_switched_off(bare, serve):
    serve(bare, [])
    p = bare.chat(env=PLAIN)
    p.expect(re.escape("\x1b[?2004h"))
    p.expect("> ")
    p.send("\x04")
    p.expect(re.escape("\x1b[?2004l"))
    p.expect(pexpect.EOF)
    assert "\x1b[?2004h" not in p.before


@pytest.mark.parametrize("columns", [40, 80])
def test_long_words_stay_whole(sandpiper, serve, columns):
    """Notices are broken between words; what is to be copied (a path, an address) is never broken by us."""
    address = "https://status.example.invalid/incidents/2026/11/22/a-very-long-name-of-something"
    serve(sandpiper, [{"answer": {"calls": [{"code": "open('result.txt', 'w').write('hi')"}]}},
                      {"answer": {"status": 400, "json": {"error": {"message": "the request was refused for a reason that is given at %s in full" % address}}}}])
    p = start(sandpiper, size=(24, columns))
    p.send("go\r")
    p.expect("in\\s+full")
    said = shown(p.before)
    path = [line.strip() for line in said if line.strip().endswith("/result.txt") or "/result.txt (" in line]
    assert path and os.path.exists(path[0].removeprefix("saved: ").split(" (")[0]), said
    assert any(address in line for line in said), said
    assert all(len(line) <= columns for line in said if "/" not in line), said
    p.expect("> ")
    leave(p)


@pytest.mark.parametrize("columns", [40, 80])
def test_narrow_and_wide(sandpiper, serve, columns):
    """No line of ours is wider than the terminal, but for the answer's, which it wraps itself."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "print('word ' * 40)\nlonger_name = 'and a rather long line of code ' * 2 # with a comment"}]}},
                      {"answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(24, columns))
    p.send("go\r")
    p.expect("Heard")
    for line in p.before.split("\r\n")[1:-1]:
        assert len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", line)) <= columns, line
    p.expect("> ")
    leave(p)


def test_a_resize(bare, serve):
    serve(bare, [said("x" * 60)])
    p = start(bare, size=(24, 80))
    p.send("x" * 30)
    p.expect("x{30}")
    p.setwinsize(24, 40)
    time.sleep(0.3)
    ask(p, "x" * 30, "Heard")
    leave(p)


def test_ctrl_backslash_leaves_the_terminal_as_it_was(bare, serve):
    serve(bare, [{"answer": {"wait": 20}}], complete=False)
    p = bare.chat(env=PLAIN)
    before = modes_before()
    p.expect("> ")
    p.send("x\r")
    p.expect("Waiting for")
    p.send("\x1c")
    p.expect(pexpect.EOF)
    after = modes(p)
    p.close()
    assert p.signalstatus == signal.SIGQUIT and after == before
    assert bare.run("gc").code == 0


def test_words_after_a_resize(bare, serve):
    """Words of ours stay whole in a terminal that has become narrow; the status line stays one line."""
    serve(bare, [{"answer": {"text": "Heard.", "wait": 1.2}}], model="a-model-with-a-name-of-some-length")
    p = start(bare, size=(24, 100))
    p.setwinsize(24, 28)
    p.send("x\r")
    p.expect("Heard")
    frames = re.findall("\r([^\r\n\x1b]+)\x1b", p.before)
    assert frames and all(len(f) < 28 for f in frames), frames
    p.expect("> ")
    p.send("/nosuch\r")
    p.expect("lists\\s+all\\.\\)\r\n")
    p.send("/help\r")
    p.expect("searches\\s+the\\s+history\r\n")
    lines = re.sub("\x1b\\[[?0-9]*[a-zA-Z]", "", p.before).split("\r\n")
    assert len(lines) > 15 and all(len(line) <= 28 for line in lines), lines
    leave(p)


def test_suspend_and_go_on(bare, serve):
    serve(bare, [said("half a line")])
    p = start_in_shell(bare)
    p.send("half a ")
    p.expect("half a")
    p.send("\x1a")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("stty -a\r")
    p.expect(" icanon")
    p.expect("shell# ")
    p.send("fg\r")
    p.expect("half a")
    p.send("line\r")
    p.expect("Heard")
    p.expect("> ")
    leave_shell(p)


@pytest.mark.slow(5)
def test_suspend_while_the_model_speaks(bare, serve):
    serve(bare, [{"answer": {"text": "one two three four five six", "piece": 4, "delay": 0.3}}, said("next")])
    p = start_in_shell(bare)
    p.send("go\r")
    p.expect("one two")
    p.send("\x1a")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("stty -a\r")
    p.expect(" icanon")
    p.expect("shell# ")
    p.send("fg\r")
    p.expect("five six")
    p.expect("> ")
    p.send("ne")
    p.expect("ne")
    p.send("xt\r")
    p.expect("Heard")
    assert "> " not in p.before, p.before           # the new prompt is not drawn again for a stop that was before it
    p.expect("> ")
    leave_shell(p)


PHASES = {"waiting": ({"text": "At last.", "stall_after": 0}, "Waiting for"), "in mid-sentence": ({"text": "One two three four. At last.", "piece": 4, "stall_after": 5}, "is writing"),
          "writing code": ({"calls": [{"code": "\n".join("x = %d" % i for i in range(40))}], "piece": 6, "stall_after": 20}, "is writing code"),
          "running": ({"calls": [{"code": "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.1)"}]}, "\\| 3")}


@pytest.mark.slow(5)
@pytest.mark.parametrize("phase", PHASES)
def test_suspend_in_each_phase(sandpiper, serve, phase):
    """The shell gets a terminal in order, and after fg all goes on; nothing above is written over."""
    answer, seen = PHASES[phase]
    server = serve(sandpiper, [{"answer": answer}] + [{"answer": {"text": "At last."}}] * ("calls" in answer))
    p = start_in_shell(sandpiper)
    p.send("go\r")
    p.expect(seen)
    p.send("\x1a")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("stty -a\r")
    p.expect(" icanon")
    p.expect("shell# ")
    p.send("fg\r")
    p.expect(r"\$SP")
    server.going.set()
    p.expect("At last\\.")
    assert "\x1b[A" not in p.before, p.before
    p.expect("> ")
    leave_shell(p)


def test_the_end_leaves_a_line_of_its_own(bare, serve):
    serve(bare, [])
    p = start(bare)
    p.send("\x04")
    p.expect(pexpect.EOF)
    assert p.before.replace("\x1b[?2004l", "").endswith("\r\n"), p.before


def test_hostile_model_text(bare, serve):
    serve(bare, [{"answer": {"text": "a\x1b[2J\x1b]52;c;QUJD\x07b\x9b31mc\u202ed\r\noops"}}])
    p = start(bare)
    p.send("go\r")
    p.expect("oops")
    shown = p.before
    p.expect("> ")
    assert "abcd" in shown, repr(shown)
    for bad in ("\x1b[2J", "\x1b]52", "\x9b", "\u202e"):
        assert bad not in shown, repr(shown)
    leave(p)


def test_memory(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "1"}]}}, {"answer": {"text": "Heard."}}])
    p = start(sandpiper)
    with open("/proc/%d/status" % p.pid) as f:
        idle = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    ask(p, "go", "Heard")
    with open("/proc/%d/status" % p.pid) as f:
        status = f.read()
    if "asan" not in BIN:
        assert idle < 16 * 1024, idle
        assert int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) < 24 * 1024, status
    leave(p)


def test_the_greeting_is_not_cut_in_words(bare, serve):
    serve(bare, [], model="a-model-with-a-name")
    p = start(bare, size=(24, 32))
    lines = p.before.split("\r\n")
    assert any("a-model-with-a-name" in line for line in lines) and all(len(line) <= 32 for line in lines if "http" not in line), lines
    leave(p)
