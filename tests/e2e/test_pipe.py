"""test_pipe.py - scripts of questions, where the answer goes, and what a script that uses the program can rely on."""
import os
import re
import select
import signal
import subprocess
import time

import pexpect
import pytest

from conftest import BIN, Result

SAY = {"calls": [{"code": "print('from the code')"}], "text": "Let me compute."}


def answers(*texts):
    return [{"answer": {"text": t}} for t in texts]


def shell(program, script, timeout=60, **env):
    begin = time.monotonic()
    p = subprocess.run(["bash", "-c", script], env=program.env(dict(env, SP=BIN)), cwd=program.work, stdin=subprocess.DEVNULL, timeout=timeout,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return Result(p.returncode, p.stdout, p.stderr, time.monotonic() - begin, script)


# ------------------------------------------------------------------------------------------------------- scripts of questions

def test_one_session(sandpiper, serve):
    """Variables and history are kept from question to question."""
    serve(sandpiper, [{"expect": {"last": {"content": "set x to 21"}}, "answer": {"calls": [{"code": "x = 21"}]}},
                      {"answer": {"text": "Set."}},
                      {"expect": {"roles": "system user assistant tool assistant user", "last": {"content": "double x"}},
                       "answer": {"calls": [{"code": "x * 2"}]}},
                      {"expect": {"last": {"role": "tool", "content": {"contains": "42"}}}, "answer": {"text": "42"}}])
    r = sandpiper.run(stdin="set x to 21\ndouble x\n")
    assert (r.code, r.out) == (0, "Set.\n42\n"), r
    assert "= 42" in r.err, r


def test_what_is_a_question(bare, serve):
    asked = ["one", '/exit', "!ls", "a\n\n# b", "last"]
    serve(bare, [{"expect": {"last": {"content": q}}, "answer": {"text": "A"}} for q in asked])
    r = bare.run(stdin='# comment\n\none\r\n/exit\n!ls\n"""\na\n\n# b\n"""\n   \nlast')
    assert (r.code, r.out) == (0, "A\n" * 5), r


def test_read_as_it_arrives(bare, serve):
    """The second question depends on the first answer: nothing may wait for the end of stdin."""
    serve(bare, answers("first answer", "second answer"))
    p = bare.start(stdin=subprocess.PIPE)
    for question, answer in (b"one\n", b"first answer\n"), (b"two\n", b"second answer\n"):
        p.stdin.write(question)
        p.stdin.flush()
        assert select.select([p.stdout], [], [], 10)[0], "no answer while stdin is open"
        assert os.read(p.stdout.fileno(), 100) == answer
    p.stdin.close()
    assert p.wait(10) == 0


@pytest.mark.parametrize("script, asked, words", [
    (b'fine\n"""\nnever closed\n', 1, ["line 2", "not closed"]),
    (b"fine\nbad \xff\n", 1, ["line 2", "UTF-8"]),
    (b"fine\nbad \0\n", 1, ["line 2", "NUL"]),
    (b"\n# only\n", 0, ["no question"]),
    (b"", 0, ["no question"]),
    (b"x" * 2_000_000 + b"\n", 0, ["line 1", "2,000,000", "1,048,576"]),
    (b"\x7fELF\x02\x01\x01\0\0\0\0", 0, ["line 1", "NUL"]),
])
def test_bad_scripts(bare, serve, script, asked, words):
    serve(bare, answers(*["A"] * asked))
    r = bare.run(stdin=script)
    assert r.code == 2 and r.out == "A\n" * asked, r
    assert all(w in r.err for w in words) and len(r.err.splitlines()) <= 2, r


CUT = {"answer": {"text": "cut", "finish": "length"}}
BROKEN = {"answer": {"status": 400, "json": {"error": {"message": "no"}}}}
REFUSED = {"answer": {"status": 401, "json": {"error": {"message": "no such key"}}}}
GOOD = {"answer": {"text": "good"}}


@pytest.mark.parametrize("exchanges, code, out", [
    ([GOOD, GOOD], 0, "good\ngood\n"),
    ([CUT, GOOD], 5, "cut\ngood\n"),
    ([BROKEN, GOOD], 1, "good\n"),
    ([CUT, BROKEN, GOOD], 5, "cut\ngood\n"),
    ([REFUSED], 77, ""),                # ends the script at once
    ([BROKEN, REFUSED], 77, ""),
])
def test_worst_exit_code(bare, serve, exchanges, code, out):
    serve(bare, exchanges)
    r = bare.run(stdin="one\ntwo\nthree\n" if len(exchanges) == 3 else "one\ntwo\n")
    assert (r.code, r.out) == (code, out), r


def spend(sandpiper, serve, *args, usage=(600, 500)):
    call = {"text": "Let me see.", "calls": [{"code": "print(6 * 7)"}]}
    serve(sandpiper, [{"answer": dict(call, usage=list(usage))}, {"answer": {"text": "It is 42.", "usage": list(usage)}}], complete=False)
    return sandpiper.run(*args, "go")


def test_the_tokens_of_a_question_are_a_limit(sandpiper, serve):
    r = spend(sandpiper, serve, "--max-tokens-total", "1000")
    assert r.code == 5 and r.out == "", r                           # the code ran, and nobody was asked what to make of it
    assert "| 42" in r.err and "1000 tokens, 1100 were used (--max-tokens-total" in r.err, r
    r = spend(sandpiper, serve, "--max-tokens-total", "1101")
    assert (r.code, r.out) == (0, "It is 42.\n"), r                 # what reaches it is still taken
    r = spend(sandpiper, serve, "--max-tokens-total", "100", usage=())
    assert r.code == 5 and "--max-tokens-total" in r.err, r         # nothing was counted: estimated
    r = spend(sandpiper, serve)
    assert (r.code, r.out) == (0, "It is 42.\n"), r


def test_the_time_of_a_question_is_a_limit(sandpiper, serve):
    """Neither the user nor the model is told that the user ended it."""
    stubborn = "import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass"
    why = "the time limit of the question interrupted the code"
    serve(sandpiper, [{"answer": {"calls": [{"code": "import time; time.sleep(9)"}]}},
                      {"answer": {"calls": [{"code": stubborn}]}},
                      {"expect": {"messages": {"contains": [why + ";", why + " and it"], "not_contains": "the user interrupted"}}, "answer": {"text": "Done."}}])
    r = sandpiper.run("--max-time", "1.5s", stdin="a\nb\nc\n")
    assert r.code == 5 and r.out == "Done.\n", r
    assert r.err.count("! " + why) == 2 and "user" not in r.err and "no answer within 1.5 s" in r.err, r


def test_interrupt_ends_the_script(bare, serve):
    server = serve(bare, [GOOD, {"answer": {"text": "slow answer", "wait": 30}}], complete=False)
    p = bare.start(stdin=subprocess.PIPE)
    p.stdin.write(b"one\ntwo\nthree\n")
    p.stdin.flush()
    server.wait_request(2)
    p.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert p.wait(5) == 130 and time.monotonic() - begin < 2
    assert p.stdout.read() == b"good\n"


def test_interrupt_while_waiting_for_a_question(bare, serve):
    serve(bare, [GOOD])
    p = bare.start(stdin=subprocess.PIPE)
    p.stdin.write(b"one\n")
    p.stdin.flush()
    assert p.stdout.readline() == b"good\n"
    p.send_signal(signal.SIGINT)
    assert p.wait(5) == 130


# ---------------------------------------------------------------------------------------------------- where the answer goes

def test_only_the_answer_is_on_stdout(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": SAY}, {"answer": {"text": "\n\nThe answer.\n\n"}}])
    r = sandpiper_on.run("go")
    assert (r.code, r.out) == (0, "The answer.\n"), r
    for piece in ("Let me compute.", "print('from the code')", "| from the code\n"):
        assert piece in r.err, r
    assert "\033" not in r.err and "\r" not in r.err, r


def test_quiet(sandpiper, serve):
    serve(sandpiper, [{"answer": SAY}, {"answer": {"text": "The answer."}}, BROKEN])
    r = sandpiper.run("-q", stdin="one\ntwo\n")
    assert (r.code, r.out) == (1, "The answer.\n"), r
    assert len(r.err.splitlines()) == 2 and "400" in r.err, r


def test_hostile_text(sandpiper, serve):
    """Neither a model nor its code may speak to the terminal."""
    serve(sandpiper, [{"answer": {"text": "talk \x1b]0;t\x07", "calls": [{"code": "print('\\033[2J\\033[31mred\\x9b\\rover')\n'\\u202e'"}]}},
                      {"answer": {"text": "an\x1b[31mswer\x9b1m \u202ebidi\u200d"}}])
    r = sandpiper.run("go")
    assert r.out == "answer \u202ebidi\u200d\n", r
    assert "\x1b" not in r.err and "\x9b" not in r.err and "\r" not in r.err.replace("\r\n", ""), r


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_the_reader_of_stdout_is_gone(sandpiper, serve, json):
    serve(sandpiper, [{"answer": SAY}, {"answer": {"text": "answer"}}], complete=False)
    r = shell(sandpiper, '"$SP" %s go | head -c 0; echo "${PIPESTATUS[0]}"' % " ".join(json))
    assert r.out == "141\n", r
    assert "pipe" not in r.err.lower(), r


def test_a_reader_that_goes_ends_a_long_wait(bare, serve):
    server = serve(bare, [{"answer": {"text": "late", "wait": 30}}], complete=False)
    r, w = os.pipe()
    p = bare.start("go", stdout=w)
    os.close(w)
    server.wait_request(1)
    os.close(r)
    assert p.wait(5) == 141
    assert p.stderr.read() == b""


def test_the_second_question_finds_nobody(bare, serve):
    server = serve(bare, answers("one", "two", "three"), complete=False)
    r = shell(bare, 'printf "a\\nb\\nc\\n" | "$SP" | head -n 1; echo "${PIPESTATUS[1]}"')
    assert r.out in ("one\n141\n", "one\n0\n"), r      # 0 only if all was written before head went
    assert r.err == "", r                               # least of all an answer that nobody was left to read
    assert len(server.requests) <= 3


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_full_stdout(bare, serve, json):
    serve(bare, answers("answer"), complete=False)
    with open("/dev/full", "wb") as full:
        r = bare.run(*json, "go", stdout=full)
    assert r.code == 1 and "No space left on device" in r.err and len(r.err.splitlines()) == 1, r


def test_a_reader_that_stalls_and_ctrl_c(sandpiper, serve):
    """less does this: it reads one page. Ctrl-C must still end the program."""
    serve(sandpiper, [{"answer": {"text": "x" * 500_000, "piece": 50_000}}], complete=False)
    r, w = os.pipe()
    p = sandpiper.start("go", stdout=w)
    os.close(w)
    time.sleep(1.5)
    assert p.poll() is None
    p.send_signal(signal.SIGINT)
    code = p.wait(5)
    os.close(r)
    assert code in (0, 130), code


def test_a_flood_is_cut_on_the_screen(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "for i in range(300000): print('line', i)"}]}},
                         {"answer": {"text": "Done."}}])
    r = sandpiper_on.run("go")
    assert r.code == 0 and r.out == "Done.\n", r
    assert r.err.count("| line") == 200, r
    assert "[output cut at 200 of 300,000 lines, " in r.err and "all of it is in /" in r.err, r


# --------------------------------------------------------------------------------------------------------------- a terminal

def clean(text):
    return text.replace("\r\n", "\n")


def test_at_a_terminal_text_streams(bare, serve):
    serve(bare, [{"answer": {"text": "early and late", "piece": 5, "delay": 0.4}}])
    p = bare.chat("-p", "go", env={"NO_COLOR": "1"})
    p.expect("early", timeout=10)
    p.expect("late\r\n", timeout=10)
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 0


def test_status_line_comes_and_goes(bare, serve):
    serve(bare, [{"answer": {"text": "42", "wait": 1.5}}])
    p = bare.chat("-p", "go", env={"NO_COLOR": "1"})
    p.expect("asking test-model", timeout=10)
    p.expect("\r\x1b\\[K42\r\n", timeout=10)
    p.expect(pexpect.EOF)


def test_a_resize_while_code_runs(sandpiper, serve):
    """The status line stays one line, and what a program prints stays behind its gutter."""
    code = "import time\nprint('a')\ntime.sleep(2)\nprint('x' * 60)"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done.", "wait": 1}}], model="a-model-with-a-name-of-some-length")
    p = sandpiper.chat("-p", "go", env={"NO_COLOR": "1"}, size=(24, 100))
    p.expect(re.escape("| a\r\n"), timeout=10)
    p.setwinsize(24, 28)
    p.expect(pexpect.EOF)
    assert "| " + "x" * 26 + "\r\n| " + "x" * 26 + "\r\n| xxxxxxxx\r\n" in p.before, p.before
    frames = re.findall("\r([^\r\n\x1b]+)\x1b", p.before)
    assert any("asking" in f for f in frames) and all(len(f) < 28 for f in frames), frames


def test_dumb_terminals_get_plain_text(sandpiper, serve):
    serve(sandpiper, [{"answer": SAY}, {"answer": {"text": "ok", "wait": 1}}])
    p = sandpiper.chat("-p", "go", env={"TERM": "dumb"})
    p.expect(pexpect.EOF)
    assert "\x1b" not in p.before, repr(p.before)
    assert "from the code" in p.before and "asking" not in p.before


def test_no_question_at_a_terminal(bare, serve):
    serve(bare, [])
    for args in (["-q"], ["--json"]):
        p = pexpect.spawn("/bin/sh", ["-c", '"$0" "$@" | cat', BIN, *args], env=bare.env(), encoding="utf-8", timeout=10)
        p.expect(pexpect.EOF)
        assert "no question" in p.before, p.before
