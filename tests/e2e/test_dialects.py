"""test_dialects.py - a model whose dialect nobody knows: it is asked once whether code in its answer is to be run, what it said stays its
answer unless it is, and what was found out is kept for a day.
"""
import json
import os
import signal
import time

import pexpect
import pytest

LOOP = "Like this:\n```python\nfor i in range(3):\n    print(i)\n```"
BLOCK = "```python\nprint(6 * 7)\n```"
SHOWS, YES, OK = {"answer": {"text": LOOP}}, {"answer": {"text": BLOCK}}, {"answer": {"text": "OK."}}
CALLS = {"answer": {"calls": [{"code": "print(6 * 7)"}]}}
ANSWERS = {"expect": {"last": {"content": {"contains": "42"}}}, "answer": {"text": "It is 42."}}
NOTICE = "the answer contains code; asking test-model whether to run it"


def kept(program):
    return program.path("cache/sandpiper/endpoints")


def facts(program):
    with open(kept(program)) as f:
        return [(e["fact"], e["value"]) for e in json.load(f)]


# ------------------------------------------------------------------------------------------------------------ who hears what

def test_the_notice_is_one_line(sandpiper, serve):
    serve(sandpiper, [SHOWS, OK, SHOWS, OK])
    r = sandpiper.run("how do I write a loop?")
    assert (r.code, r.out, r.err) == (0, LOOP + "\n", "sandpiper: " + NOTICE + "\n"), r
    r = sandpiper.run("-q", "how do I write a loop?")
    assert (r.code, r.out, r.err) == (0, LOOP + "\n", ""), r


def test_as_events(sandpiper, serve):
    serve(sandpiper, [SHOWS, OK, SHOWS, CALLS, ANSWERS])
    for answer, status, replies in ((LOOP, 0, {1: LOOP}), ("It is 42.", 0, {1: LOOP, 3: "It is 42."})):
        r = sandpiper.run("--json", "how do I write a loop?")
        got = [json.loads(line) for line in r.out.splitlines()]
        texts = {}
        for e in got:
            if e["type"] == "text":
                texts[e["reply"]] = texts.get(e["reply"], "") + e["text"]
        assert r.code == status and texts == replies, r
        done = got[-2]
        assert done["type"] == "done" and done["answer"] == answer and done["status"] == "answered", done
        assert done["usage"]["requests"] == sum(e["type"] == "usage" for e in got) == (2 if answer == LOOP else 3), r
        assert [e["text"] for e in got if e["type"] == "notice"] == [NOTICE], r


def test_code_that_is_to_be_run_was_no_answer(sandpiper, serve):
    serve(sandpiper, [SHOWS, YES, ANSWERS])
    r = sandpiper.run("compute it")
    assert (r.code, r.out) == (0, "It is 42.\n") and "Like this:" in r.err and "python blocks are run from now on" in r.err, r


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_the_answer(sandpiper, serve, number, code):
    server = serve(sandpiper, [SHOWS, {"answer": {"text": "OK.", "wait": 20}}])
    p = sandpiper.start("how do I write a loop?")
    deadline = time.monotonic() + 20
    while len(server.requests) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    p.send_signal(number)
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out.decode()) == (code, LOOP + "\n"), (p.returncode, out, err)


def test_at_a_terminal_it_streams(sandpiper, serve):
    """One question at a terminal: the answer stands there before the model is asked about it."""
    serve(sandpiper, [SHOWS, {"answer": {"text": "OK.", "wait": 1}}])
    p = sandpiper.chat("how do I write a loop?", env={"NO_COLOR": "1"})
    p.expect("print\\(i\\)\r\nsandpiper: " + NOTICE + "\r\n")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 0 and "OK." not in p.before and "Like this" not in p.before, p.before


# ----------------------------------------------------------------------------------------------------------------- for a day

def test_blocks_are_remembered(sandpiper, serve):
    serve(sandpiper, [SHOWS, YES, ANSWERS, dict(YES, expect={"absent": "tools", "roles": "system user"}), ANSWERS])
    for _ in range(2):
        r = sandpiper.run("compute it")
        assert (r.code, r.out) == (0, "It is 42.\n"), r
    assert NOTICE not in r.err
    assert facts(sandpiper) == [("dialect", "blocks")]
    st = os.stat(kept(sandpiper))
    assert st.st_mode & 0o777 == 0o600 and os.listdir(os.path.dirname(kept(sandpiper))).count("endpoints") == 1, st


def test_native_calls_are_remembered(sandpiper, serve):
    serve(sandpiper, [CALLS, ANSWERS, SHOWS])
    assert sandpiper.run("compute it").out == "It is 42.\n"
    r = sandpiper.run("how do I write a loop?")
    assert (r.out, r.err) == (LOOP + "\n", ""), r
    assert facts(sandpiper) == [("dialect", "native")]


def test_a_service_without_tools_is_remembered(sandpiper, serve):
    refusal = {"expect": {"tools": ["execute_python"]}, "answer": {"status": 400, "json": {"error": {"message": "test-model does not support tools"}}}}
    blocks = dict(YES, expect={"absent": "tools"})
    serve(sandpiper, [refusal, blocks, ANSWERS, blocks, ANSWERS])
    for told in (True, False):
        r = sandpiper.run("compute it")
        assert r.out == "It is 42.\n" and ("does not support tools here" in r.err) == told, r


def test_what_says_nothing_is_not_remembered(sandpiper, serve):
    serve(sandpiper, [SHOWS, OK, {"answer": {"text": "Hello."}}])
    sandpiper.run("how do I write a loop?")
    sandpiper.run("hello")
    assert not os.path.exists(kept(sandpiper))


def test_the_user_knows_better(sandpiper, serve):
    native = {"expect": {"tools": ["execute_python"]}, "answer": {"text": LOOP}}
    serve(sandpiper, [SHOWS, YES, ANSWERS, native, dict(native, expect={"tools": ["execute_python"], "model": "another-model"}), OK])
    sandpiper.run("compute it")
    assert sandpiper.run("--dialect", "native", "how?").out == LOOP + "\n"
    assert sandpiper.run("-m", "another-model", "how?").out == LOOP + "\n"     # of this one nothing is known


def test_after_a_day_it_is_found_out_again(sandpiper, serve):
    serve(sandpiper, [SHOWS, YES, ANSWERS, dict(SHOWS, expect={"tools": ["execute_python"]}), OK])
    sandpiper.run("compute it")
    with open(kept(sandpiper)) as f:
        entries = json.load(f)
    entries[0]["time"] -= 24 * 3600 + 10
    with open(kept(sandpiper), "w") as f:
        json.dump(entries, f)
    r = sandpiper.run("how do I write a loop?")
    assert r.out == LOOP + "\n" and NOTICE in r.err, r


@pytest.mark.parametrize("content", [b"", b"[[[", b"\xff\xfe\0", b"[" + b" " * 400000 + b"]", b'[{"origin":[],"fact":1}]'],
                         ids=["empty", "cut", "bytes", "huge", "types"])
def test_a_broken_file_is_none(sandpiper, serve, content):
    os.makedirs(os.path.dirname(kept(sandpiper)), exist_ok=True)
    with open(kept(sandpiper), "wb") as f:
        f.write(content)
    serve(sandpiper, [CALLS, ANSWERS])
    r = sandpiper.run("compute it")
    assert (r.code, r.out) == (0, "It is 42.\n") and "endpoints" not in r.err, r
    assert facts(sandpiper) == [("dialect", "native")]


def test_a_disk_that_takes_nothing(sandpiper, serve):
    """A file where the folder should be: root too can write nothing below it."""
    os.rmdir(sandpiper.path("cache"))
    open(sandpiper.path("cache"), "w").close()
    serve(sandpiper, [CALLS, ANSWERS])
    r = sandpiper.run("compute it")
    assert (r.code, r.out) == (0, "It is 42.\n") and r.err.count("is not a folder") == 1, r
    os.unlink(sandpiper.path("cache"))


def test_a_replay_knows_what_it_was_recorded_with(sandpiper, serve):
    path = sandpiper.path("rec")
    serve(sandpiper, [SHOWS, YES, ANSWERS, YES, ANSWERS])
    first = sandpiper.run("--record", path, "compute it")
    second = sandpiper.run("--record", path + "2", "compute it")
    assert first.out == second.out == "It is 42.\n"
    for file, r in ((path, first), (path + "2", second)):
        again = sandpiper.run("--replay", file, "compute it")
        assert (again.code, again.out) == (0, r.out), again
