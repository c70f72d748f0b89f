"""test_pipe.py - scripts of questions, where the answer goes, and what a script that uses the program can rely on."""
import array
import fcntl
import os
import re
import select
import signal
import subprocess
import termios
import time

import pexpect
import pytest

from conftest import BIN, HANG, Result
from raw_server import wait_for

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
    assert p.wait(60) == 0


@pytest.mark.parametrize("script, asked, words", [
    (b'fine\n"""\nnever closed\n', 1, ["line 2", "not closed"]),
    (b"fine\nbad \xff\n", 1, ["line 2", "UTF-8"]),
    (b"fine\nbad \0\n", 1, ["line 2", "NUL"]),
    (b"\n# only\n", 0, ["no question"]),
    (b"", 0, ["no question"]),
    (b"x" * 2_000_000 + b"\n", 0, ["line 1", "2,000,000", "1,048,576"]),
    (b"\x7fELF\x02\x01\x01\0\0\0\0", 0, ["looks like a program"]),
], ids=["not closed", "not UTF-8", "NUL", "comments", "empty", "too long", "a program"])
def test_bad_scripts(bare, serve, script, asked, words):
    serve(bare, answers(*["A"] * asked))
    r = bare.run(stdin=script)
    assert r.code == 2 and r.out == "A\n" * asked, r
    assert all(w in r.err for w in words) and len(r.err.splitlines()) <= 2 + asked, r


SALES = "day,amount\n" + "".join("2024-01-%02d,%d\n" % (i % 28 + 1, i) for i in range(300))


@pytest.mark.parametrize("data, name", [
    (SALES, "CSV"), (SALES.replace(",", ";"), "CSV"), (SALES.replace(",", "\t"), "tab-separated data"), ('{"a": [1, 2]}', "JSON"),
    ('[{"day": 1},\n {"day": 2}]\n', "JSON"), ('{"a": 1}\n{"a": 2}\n', "JSON"), (b"\x89PNG\r\n\x1a\n" + bytes(200), "a PNG image"),
    (b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml", "an Excel file"), (b"\x01\x02\x03\0\x05" * 50, "binary data"),
    ("".join("%d\n" % i for i in range(1, 301)), "a column of numbers"),
], ids=range(10))
def test_data_is_no_script(bare, serve, data, name):
    """A CSV in a pipe without a question: refused before anything is asked; no model and no sandbox is so much as looked for."""
    server = serve(bare, [])
    expected = 'sandpiper: this looks like %s, not questions: sandpiper "..." < FILE\n  To ask each line anyway: ' % name
    for words in ([], ["--json"], ["-q"]):
        r = bare.run(*words, stdin=data, env={"PATH": bare.work})
        assert (r.code, r.out) == (2, "") and r.err == expected + "sandpiper --stdin script < FILE\n", r
    path = bare.write("data", data)
    with open(path) as f:
        assert bare.run(stdin=f).code == 2
    r = shell(bare, "cat data | $SP; echo $?")
    assert r.out == "2\n" and name in r.err and not server.connections, r
    bare.url = None
    r = bare.run(stdin=data)                # nothing configured: the same
    assert r.code == 2 and r.err == expected + "sandpiper --stdin script < FILE\n", r


def test_data_as_a_script_all_the_same(bare, serve):
    serve(bare, [{"expect": {"last": {"content": q}}, "answer": {"text": "A"}} for q in ("day,amount", "2024-01-01,5")])
    r = bare.run("--stdin", "script", stdin="day,amount\n2024-01-01,5\n")
    assert (r.code, r.out) == (0, "A\nA\n"), r
    for how in ("data", "ignore"):
        r = bare.run("--stdin", how, stdin="one\n")
        assert r.code == 2 and "no question" in r.err and "--stdin " + how in r.err and r.err.count("\n") == 2, r
    r = bare.run("--stdin", "script", "go", stdin="one\n")
    assert r.code == 2 and "--stdin script cannot be combined with a question" in r.err, r


@pytest.mark.parametrize("script", [
    "Hello, how are you\nPlease, tell me the time\nAdd 3, then 4\n", "Sort 3,1,2\nSort 9,8,7\n", "- Buy milk, eggs\n- Sell cars, boats\n",
    "How many primes are below 1,000?\n", "Was ist 3,5 mal 2\nWas ist 4,5 mal 2\n", "print(1,2)\nprint(3,4)\n", "1.\tprimes\n2.\tcubes\n",
    "Sum the second column, please\n\"\"\"\na,b\n1,2\n3,4\n\"\"\"\n",
])
def test_questions_with_commas_are_questions(bare, serve, script):
    n = script.count("\n") if '"""' not in script else 2
    serve(bare, answers(*["A"] * n))
    r = bare.run(stdin=script)
    assert (r.code, r.out) == (0, "A\n" * n), r


def test_data_that_comes_slowly(bare, serve):
    """What is there decides, and nothing waits for more: a line alone is asked, the table that it turns out to be is not."""
    serve(bare, answers("first"))
    p = bare.start(stdin=subprocess.PIPE)
    p.stdin.write(b"day,amount\n")
    p.stdin.flush()
    assert select.select([p.stdout], [], [], 10)[0] and os.read(p.stdout.fileno(), 100) == b"first\n"
    p.stdin.write(b"2024-01-01,5\n2024-01-02,6\n")
    p.stdin.flush()
    assert p.wait(60) == 2
    err = p.stderr.read().decode()
    assert err.startswith("[1/…] day,amount\nsandpiper: this looks like CSV, not questions: "), err


@pytest.mark.slow(50)
def test_each_answer_says_to_which_question(bare, serve):
    """On stderr, one line, cut at the width; how many there are once that is known."""
    asked = ["How many\tprimes?", "x" * 200, "\u4e2d" * 60, "a\nb", "\x1b[31mred\u202e"]
    lines = ["[1/5] How many primes?", "[2/5] " + "x" * 72 + "…", "[3/5] " + "\u4e2d" * 36 + "…", "[4/5] a…", "[5/5] red\u202e"]
    serve(bare, answers(*"ABCDE"))
    r = bare.run(stdin="# comment\n" + "\n".join('"""\n%s\n"""' % q if "\n" in q else q for q in asked) + "\n")
    assert (r.code, r.out, r.err.splitlines()) == (0, "A\nB\nC\nD\nE\n", lines), r
    serve(bare, answers("A", "B"))
    r = bare.run("-q", stdin="one\ntwo\n")
    assert (r.code, r.out, r.err) == (0, "A\nB\n", ""), r
    serve(bare, answers("A", "B"))
    assert bare.run("--json", stdin="one\ntwo\n").err == ""
    serve(bare, answers("A"))
    assert "one" not in bare.run("one").err         # a question alone needs no number
    serve(bare, answers("A"))
    p = bare.start(stdin=subprocess.PIPE)
    p.stdin.write(b"one\n")
    p.stdin.flush()
    assert p.stderr.readline().decode() == "[1/…] one\n"
    p.stdin.close()
    assert p.wait(60) == 0


@pytest.mark.slow(50)
def test_errors_of_a_script_say_which_question(bare, serve):
    for words in ([], ["-q"], ["--json"]):
        serve(bare, [GOOD, BROKEN, CUT, {"answer": {"text": ""}}, {"answer": {"text": ""}}, REFUSED])
        r = bare.run(*words, stdin="one\ntwo\nthree\nfour\nfive\nsix\n")
        errors = [line for line in r.err.splitlines() if line.startswith("sandpiper: ")]
        assert r.code == 77 and [e.split(":")[1] for e in errors] == [" question %d" % n for n in (2, 3, 4, 5)], r
    serve(bare, [GOOD])
    r = bare.run(stdin=b"one\nbad \xff\n")
    assert r.code == 2 and "sandpiper: line 2 of the questions" in r.err, r         # that is no error of a question
    serve(bare, [BROKEN])
    assert "question 1" not in bare.run("go").err


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


@pytest.mark.slow(5)
def test_the_time_of_a_question_is_a_limit(sandpiper, serve):
    """Neither the user nor the model is told that the user ended it."""
    stubborn = "import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass"
    why = "The time limit of the question interrupted the code"
    serve(sandpiper, [{"answer": {"calls": [{"code": "import time; time.sleep(9)"}]}},
                      {"answer": {"calls": [{"code": stubborn}]}},
                      {"expect": {"messages": {"contains": [why + ". Variables", why + " and it"], "not_contains": "the user interrupted"}}, "answer": {"text": "Done."}}])
    r = sandpiper.run("--max-time", "1.5s", stdin="a\nb\nc\n")
    assert r.code == 5 and r.out == "Done.\n", r
    assert r.err.count("! " + why) == 2 and "user" not in r.err and "no answer within 1.5 s" in r.err, r


def test_interrupt_ends_the_script(bare, serve):
    server = serve(bare, [GOOD, {"answer": {"text": "slow answer", "wait": 100}}], complete=False)
    p = bare.start(stdin=subprocess.PIPE)
    p.stdin.write(b"one\ntwo\nthree\n")
    p.stdin.flush()
    server.wait_request(2)
    p.send_signal(signal.SIGINT)
    assert p.wait(HANG) == 130
    assert p.stdout.read() == b"good\n"


def test_interrupt_while_waiting_for_a_question(bare, serve):
    serve(bare, [GOOD])
    p = bare.start(stdin=subprocess.PIPE)
    p.stdin.write(b"one\n")
    p.stdin.flush()
    assert p.stdout.readline() == b"good\n"
    p.send_signal(signal.SIGINT)
    assert p.wait(60) == 130


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
    assert p.wait(60) == 141
    assert p.stderr.read() == b""


def test_the_second_question_finds_nobody(bare, serve):
    server = serve(bare, answers("one", "two", "three"), complete=False)
    r = shell(bare, 'printf "a\\nb\\nc\\n" | "$SP" | head -n 1; echo "${PIPESTATUS[1]}"')
    assert r.out in ("one\n141\n", "one\n0\n"), r      # 0 only if all was written before head went
    assert r.err in ("[1/3] a\n", "[1/3] a\n[2/3] b\n", "[1/3] a\n[2/3] b\n[3/3] c\n"), r     # least of all an answer that nobody was left to read
    assert len(server.requests) <= 3


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_full_stdout(bare, serve, json):
    serve(bare, answers("answer"), complete=False)
    with open("/dev/full", "wb") as full:
        r = bare.run(*json, "go", stdout=full)
    assert r.code == 1 and "No space left on device" in r.err and len(r.err.splitlines()) == 1, r


def waiting_in(pipe):
    """Bytes that nobody has read yet."""
    have = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, have)
    return have[0]


def test_a_reader_that_stalls_and_ctrl_c(sandpiper, serve):
    """less does this: it reads one page. Ctrl-C must still end the program."""
    serve(sandpiper, [{"answer": {"text": "x" * 500_000, "piece": 50_000}}], complete=False)
    r, w = os.pipe()
    p = sandpiper.start("go", stdout=w)
    os.close(w)
    wait_for(lambda: waiting_in(r) >= 61440)
    assert p.poll() is None
    p.send_signal(signal.SIGINT)
    code = p.wait(60)
    os.close(r)
    assert code in (0, 130), code


@pytest.mark.slow(50)
def test_a_flood_is_cut_on_the_screen(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "for i in range(300000): print('line', i)"}]}},
                         {"answer": {"text": "Done."}}])
    r = sandpiper_on.run("go")
    assert r.code == 0 and r.out == "Done.\n", r
    assert r.err.count("| line") == 200, r
    assert "[first 200 of 300,000 lines shown; full output (" in r.err, r


# --------------------------------------------------------------------------------------------------------------- a terminal

def clean(text):
    return text.replace("\r\n", "\n")


@pytest.mark.slow(3)
def test_at_a_terminal_text_streams(bare, serve):
    serve(bare, [{"answer": {"text": "early and late", "piece": 5, "delay": 0.4}}])
    p = bare.chat("-p", "go", env={"NO_COLOR": "1"})
    p.expect("early")
    p.expect("late\r\n")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 0


def test_status_line_comes_and_goes(bare, serve):
    serve(bare, [{"answer": {"text": "42", "wait": 1.5}}])
    p = bare.chat("-p", "go", env={"NO_COLOR": "1"})
    p.expect("Waiting for test-model")
    p.expect("\r\x1b\\[K42\r\n")
    p.expect(pexpect.EOF)


@pytest.mark.slow(3)
def test_a_resize_while_code_runs(sandpiper, serve):
    """The status line stays one line, and what a program prints stays behind its gutter."""
    code = "import time\nprint('a')\ntime.sleep(2)\nprint('x' * 60)"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done.", "wait": 1}}], model="a-model-with-a-name-of-some-length")
    p = sandpiper.chat("-p", "go", env={"NO_COLOR": "1"}, size=(24, 100))
    p.expect(re.escape("| a\r\n"))
    p.setwinsize(24, 28)
    p.expect(pexpect.EOF)
    assert "| " + "x" * 26 + "\r\n| " + "x" * 26 + "\r\n| xxxxxxxx\r\n" in p.before, p.before
    frames = re.findall("\r([^\r\n\x1b]+)\x1b", p.before)
    assert any("Waiting" in f for f in frames) and all(len(f) < 28 for f in frames), frames


def test_dumb_terminals_get_plain_text(sandpiper, serve):
    serve(sandpiper, [{"answer": SAY}, {"answer": {"text": "ok", "wait": 1}}])
    p = sandpiper.chat("-p", "go", env={"TERM": "dumb"})
    p.expect(pexpect.EOF)
    assert "\x1b" not in p.before, repr(p.before)
    assert "from the code" in p.before and "Waiting for" not in p.before


def test_no_question_at_a_terminal(bare, serve):
    serve(bare, [])
    for args in (["-q"], ["--json"]):
        p = pexpect.spawn("/bin/sh", ["-c", '"$0" "$@" | cat', BIN, *args], env=bare.env(), encoding="utf-8", timeout=60)
        p.expect(pexpect.EOF)
        assert "no question" in p.before, p.before
