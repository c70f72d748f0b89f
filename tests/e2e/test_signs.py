"""test_signs.py - signs of life: what the status line says in each phase of a question, and that nothing of it is left behind."""
import contextlib
import os
import re
import shutil
import signal
import tempfile
import time

import pexpect
import pytest

PLAIN = {"NO_COLOR": "1"}
LONG = "\n".join("x%d = %d" % (i, i) for i in range(24)) + "\nprint('done')"


def shown(text):
    """What is left on a screen that is wide enough: \\r, newlines and the cursor's movements are obeyed, the rest must be text."""
    lines, row, column = [""], 0, 0
    for token in re.findall("\x1b\\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", text):
        if token == "\r":
            column = 0
        elif token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token == "\x1b[K":
            lines[row] = lines[row][:column]
        elif token == "\x1b[A":
            row -= 1
        elif re.fullmatch("\x1b\\[[0-9]+G", token):
            column = int(token[2:-1]) - 1
        elif token[0] != "\x1b":
            token = re.sub("([\u3000-\u9fff])", "\\1\0", token)      # two columns
            lines[row] = lines[row][:column].ljust(column) + token + lines[row][column + len(token):]
            column += len(token)
    return [line.replace("\0", "").rstrip() for line in lines]


def ask(program, *args, env=PLAIN, question="go"):
    return program.chat(*args, "-p", question, env=env, size=(30, 100))


def rest(p):
    p.expect(pexpect.EOF)
    p.close()
    return p.before


def nothing_left(text, *answer):
    lines = [line for line in shown(text) if line and not line.startswith(("    ", "|", "  1", "=", "sandpiper:")) and not re.match(" *[0-9]+  ", line)]
    assert [line for line in lines if not re.fullmatch(r"\[.* tokens\]", line)] == list(answer), lines


@pytest.mark.slow(3)
def test_waiting_within_half_a_second(bare, serve):
    server = serve(bare, [{"answer": {"text": "42.", "stall_after": 0}}] * 3, complete=False)
    for k in range(3):                          # three tries, for a machine that has other work
        server.going.clear()
        p = ask(bare)
        server.wait_request(k + 1)
        asked = time.monotonic()
        p.expect(r"Waiting for test-model\.\.\. ([0-9]+ s )?\(Ctrl-C stops\)")
        took = time.monotonic() - asked
        p.expect(r"Waiting for test-model\.\.\. [2-9] s \(Ctrl-C stops\)")
        server.going.set()
        nothing_left(rest(p), "42.")
        if took < 1.5:                          # 0.3 s
            break
    assert took < 1.5


@pytest.mark.slow(3)
def test_thinking(bare, serve):
    serve(bare, [{"answer": {"reasoning": "hm " * 8, "text": "42.", "delay": 0.3}}])
    p = ask(bare)
    p.expect(re.escape("test-model is thinking... 1 s (Ctrl-C stops)"))
    nothing_left(rest(p), "42.")


@pytest.mark.parametrize("args", [(), ("--plain",)])
def test_in_mid_sentence(bare, serve, args):
    """Below the unfinished line; the next word is then behind the last one."""
    text = "It is **forty** and two 日本 more. Then the rest of it."
    server = serve(bare, [{"answer": {"text": text, "piece": 4, "stall_after": 7}}])
    p = ask(bare, *args)
    p.expect(r"forty.*\n\r. test-model is writing\.\.\. ")
    so_far = p.before + p.after
    server.going.set()
    nothing_left(so_far + rest(p), text if args else text.replace("**", ""))


def test_in_mid_line_of_output(sandpiper, serve):
    code = "import sys, time\nprint('half a', end='', flush=True)\ntime.sleep(2)\nprint(' line')"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}])
    p = ask(sandpiper)
    p.expect(r"\| half a.*\n\r. Running\.\.\. ")
    so_far = p.after
    lines = shown(so_far + rest(p))
    assert lines[0] == "| half a line" and "Done." in lines and not any("Running" in line for line in lines), lines


RESIZE, STOP = (lambda p: p.setwinsize(30, 60)), (lambda p: (os.kill(p.pid, signal.SIGSTOP), os.kill(p.pid, signal.SIGCONT)))


@pytest.mark.parametrize("disturb", [RESIZE, STOP], ids=["resize", "stop"])
def test_what_disturbs_it_below_an_unfinished_line(bare, serve, disturb):
    """Nobody knows where that line ends then: the text goes on in a new one, and nothing above is written over."""
    server = serve(bare, [{"answer": {"text": "One two three four five six.", "piece": 4, "stall_after": 5}}])
    p = ask(bare)
    p.expect(r"One two.*test-model is writing\.\.\. ")
    disturb(p)
    server.going.set()
    after = rest(p)
    assert "\x1b[A" not in after and "six." in after, after


@pytest.mark.slow(3)
@pytest.mark.parametrize("answer", [{"calls": [{"code": LONG}]}, {"text": "```python\n%s\n```\n" % LONG}])
@pytest.mark.parametrize("before", ["", "Let me see: "])
def test_writing_code(sandpiper, serve, answer, before):
    answer = dict(answer, stall_after=30 + len(before) // 6, stall=2, piece=6)
    if before:
        answer["text"] = before + ("\n" + answer["text"] if "text" in answer else "")
    serve(sandpiper, [{"answer": answer}, {"answer": {"text": "Written."}}])
    p = ask(sandpiper, "--dialect", "native" if "calls" in answer else "blocks")
    p.expect(r"test-model is writing code\.\.\. ([0-9]+) lines \(Ctrl-C stops\)")
    assert 10 < int(p.match[1]) < 26
    so_far = p.before + p.after
    nothing_left(so_far + rest(p), *[before.strip()] * bool(before), "Written.")


def test_running_and_starting(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "import time; time.sleep(1.7)"}]}}, {"answer": {"text": "Slept."}}])
    p = ask(sandpiper)
    p.expect(re.escape("Running... (Ctrl-C stops)"))
    p.expect(re.escape("Running... 1 s (Ctrl-C stops)"))
    nothing_left(rest(p), "Slept.")


def test_stopping(sandpiper, serve):
    """Code that ignores Ctrl-C: what happens, and what one more does."""
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\ntime.sleep(60)"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}], complete=False)
    p = ask(sandpiper)
    p.expect("deaf")
    p.expect(re.escape("Running..."))
    p.send("\x03")
    p.expect(re.escape("Stopping the code... (Ctrl-C again kills it)"))
    p.send("\x03")
    rest(p)
    assert p.exitstatus == 130


@pytest.mark.slow(3)
def test_retrying_counts_down(bare, serve):
    serve(bare, [{"answer": {"status": 429, "headers": {"Retry-After": "3"}, "json": {"error": {"message": "slow down"}}}}, {"answer": {"text": "42."}}])
    p = ask(bare)
    for left in (3, 2, 1):
        p.expect(re.escape("Retrying in %d s (Ctrl-C stops)" % left))
    nothing_left(rest(p), "42.")


def test_loading(bare, serve):
    serve(bare, [{"answer": {"status": 503, "json": {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}}},
                 {"answer": {"text": "42."}}])
    p = ask(bare)
    p.expect(re.escape("The server is loading test-model..."))
    nothing_left(rest(p), "42.")


@contextlib.contextmanager
def slow_bwrap():
    """An environment with a wrapper of bwrap that waits."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        wrapper = os.path.join(folder, "bwrap")
        with open(wrapper, "w") as f:
            f.write("#!/bin/sh\nsleep 1\nexec %s \"$@\"\n" % shutil.which("bwrap"))
        os.chmod(folder, 0o755)         # bwrap does not run as root
        os.chmod(wrapper, 0o755)
        yield dict(PLAIN, PATH="%s:%s" % (folder, os.environ["PATH"]))


def test_the_starting_sandbox(sandpiper, serve):
    """The model is quicker than the engine: what is waited for is shown."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "print('up')"}]}}, {"answer": {"text": "Up."}}])
    with slow_bwrap() as env:
        p = ask(sandpiper, env=env)
        p.expect(re.escape("Starting the sandbox..."))
        nothing_left(rest(p), "Up.")


def test_nothing_is_waited_for_when_the_user_is_asked(sandpiper, serve):
    """A named sandbox that has ended is started anew, to see whether the variables live; the question stands on a line of its own."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "v = 77"}]}}, {"answer": {"text": "Set."}}])
    sandpiper.run("--sandbox-name", "kept", "set v")
    assert sandpiper.run("rm", "kept").code == 0
    with slow_bwrap() as env:
        p = sandpiper.chat("-c", "--sandbox-name", "kept", env=env)
        p.expect(re.escape("Starting the sandbox..."))
        p.expect(re.escape("Run its code again (1 run) to restore the variables? [y/N] "))
        assert re.search(r"(\r\x1b\[K|\n)$", p.before), p.before
        p.send("n\r")
        p.expect("Its variables are gone")
        p.expect("> ")
        p.send("\x04")
        p.expect(pexpect.EOF)
    assert sandpiper.run("rm", "kept").code == 0


@pytest.mark.slow(3)
def test_json_on_a_terminal(bare, serve):
    serve(bare, [{"answer": {"reasoning": "hm", "text": "42.", "delay": 0.5}}])
    p = ask(bare, "--json")
    p.expect(re.escape("test-model is thinking..."))
    assert all(line.startswith("{") for line in shown(rest(p)) if line)


@pytest.mark.slow(5)
def test_a_dumb_terminal_gets_a_dot_a_second(bare, serve):
    serve(bare, [{"answer": {"text": "42.", "wait": 3.6}}])
    text = rest(ask(bare, env={"TERM": "dumb"}))
    assert re.fullmatch(r"\.{2,}\r\n42\.\r\n\[no code ran.*\]\r\n", text), repr(text)


def test_no_dots_in_a_pipe(bare, serve):
    serve(bare, [{"answer": {"text": "42.", "wait": 1.5}}])
    r = bare.run("-p", "go")
    assert r.out == "42.\n" and r.err == "", r


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_quiet_shows_nothing(bare, serve, term):
    serve(bare, [{"answer": {"text": "42.", "wait": 1.5}}])
    assert rest(ask(bare, "-q", env={"TERM": term})).split() == ["42."]


def test_nothing_moves_at_the_prompt(sandpiper, serve):
    """A command of the user's own ends like a question does."""
    serve(sandpiper, [], complete=False)
    p = sandpiper.chat(env=PLAIN)
    p.expect("> ")
    p.send("!import time; time.sleep(0.6)\r")
    p.expect("Running")
    p.expect("> ")
    with pytest.raises(pexpect.TIMEOUT):
        p.expect("Running|Saving|Waiting", timeout=1)
    p.send("\x04")
    p.expect(pexpect.EOF)
