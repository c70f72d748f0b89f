"""test_provenance.py - after each answer at a terminal one line says where it comes from; a pipe only a warning, JSON all."""
import json
import re

import pexpect
import pytest

PLAIN = {"NO_COLOR": "1"}
RUN = {"answer": {"calls": [{"code": "print(41.97)"}]}}
FAILS = {"answer": {"calls": [{"code": "1/0"}]}}

CASES = [
    ([{"answer": {"text": "Paris, with 2,102,650 people."}}], r"\[no code ran: from the model's memory, 30 tokens\]",
     {"runs": 0, "failed": 0, "memory_only": True, "unsupported": ["2,102,650"]}),
    ([RUN, {"answer": {"text": "The mean is 42.0."}}], r"\[1 run, [0-9.]+ m?s, 60 tokens\]",
     {"runs": 1, "failed": 0, "memory_only": False, "unsupported": []}),
    ([FAILS, RUN, {"answer": {"text": "It is 42.1, of 350, and 77."}}],
     r"\[2 runs \(1 failed\), [0-9.]+ m?s, 90 tokens; 42\.1, 350 and 77 are not in any output\]",
     {"runs": 2, "failed": 1, "memory_only": False, "unsupported": ["42.1", "350", "77"]}),
    ([RUN, {"answer": {"text": "It is 42.1, as 57 asked."}}], r"\[1 run, [0-9.]+ m?s, 60 tokens; 42\.1 is not in any output\]",
     {"runs": 1, "failed": 0, "memory_only": False, "unsupported": ["42.1"]}),
]


@pytest.mark.parametrize("exchanges, line, computed", CASES)
def test_one_line_at_a_terminal(sandpiper, serve, exchanges, line, computed):
    serve(sandpiper, exchanges)
    p = sandpiper.chat("-p", "what is it? 57", env=PLAIN)
    p.expect(pexpect.EOF)
    assert re.search("\n" + line + "\r\n$", p.before), p.before


@pytest.mark.parametrize("exchanges, line, computed", CASES)
def test_json_has_it(sandpiper, serve, exchanges, line, computed):
    serve(sandpiper, exchanges)
    r = sandpiper.run("--json", "what is it? 57")
    done = [e for e in map(json.loads, r.out.splitlines()) if e["type"] == "done"][0]["computed"]
    assert (done.pop("verified"), done.pop("second")) == (None, None)
    assert (done.pop("seconds") > 0) == (computed["runs"] > 0) and done == computed and "output]" not in r.err, r


@pytest.mark.parametrize("answer, warning", [("It is 42.1, of 350, and 77.", "42.1, 350 and 77 in the answer are not in any output"),
                                             ("The mean is 42.0.", None), ("It is 41.97, as 57 asked.", None)])
def test_a_pipe_is_warned(sandpiper, serve, answer, warning):
    """Of a number that nothing accounts for: one line on stderr, but not with --quiet."""
    serve(sandpiper, 2 * [RUN, {"answer": {"text": answer}}])
    r = sandpiper.run("what is it? 57")
    assert r.code == 0 and [line for line in r.err.splitlines() if line.startswith("sandpiper:")] == ["sandpiper: %s" % warning] * bool(warning), r
    assert sandpiper.run("-q", "what is it? 57").err == ""


def test_a_pipe_is_not_warned_of_memory(bare, serve):
    """No code ran and there are no data: nobody takes it for a result."""
    serve(bare, [{"answer": {"text": "Paris, with 2,102,650 people."}}])
    assert bare.run("the capital?").err == ""


def test_a_pipe_has_nothing_unless_verbose(sandpiper, serve):
    serve(sandpiper, 2 * [RUN, {"answer": {"text": "42.1"}}])
    r = sandpiper.run("what is it?")
    assert r.out == "42.1\n" and "run," not in r.err, r
    assert r.err.endswith("\nsandpiper: 42.1 in the answer is not in any output\n"), r
    r = sandpiper.run("-v", "what is it?")
    assert r.out == "42.1\n" and re.search(r"\n\[1 run, .*; 42.1 is not in any output\]\n", r.err), r


def test_attached_data_and_earlier_runs_are_no_memory(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "The second is 4711."}}])
    r = sandpiper.run("--json", "which is the second?", stdin="a\n4711\n")
    assert '"memory_only":false,"unsupported":[],"verified":null' in r.out, r
    serve(sandpiper, [RUN, {"answer": {"text": "It is 41.97."}}, {"answer": {"text": "Yes, 41.97; not 43.5."}}])
    p = sandpiper.chat(env=PLAIN)
    p.expect("> ")
    p.send("go\r")
    p.expect(r"\[1 run, .*\]")
    p.expect("> ")
    p.send("sure?\r")
    p.expect(re.escape("[no code ran, 30 tokens; 43.5 is not in any output]"))
    p.expect("> ")
    p.send("\x04")
    p.expect(pexpect.EOF)
