"""test_verify.py - --verify: a second, independent computation in a sandbox of its own; both agree, they do not, it fails, it is interrupted."""
import json
import re

import pexpect
import pytest

from test_signs import PLAIN

FIRST = {"expect": {"last": {"content": "six times seven?"}}, "answer": {"calls": [{"code": "secret = 42\nprint(6 * 7)"}]}}
SAID = {"answer": {"text": "It is 42."}}


def second(code, system=None):
    """The second one sees nothing of the first."""
    return {"expect": {"roles": "system user", "last": {"content": {"regex": "own words.*six times seven", "not_contains": ["42", "secret"]}}},
            "answer": {"calls": [{"code": code}]}}


def done(r):
    return [e for e in map(json.loads, r.out.splitlines()) if e["type"] == "done"][0]


def test_both_agree(sandpiper, serve):
    serve(sandpiper, [FIRST, SAID, second("print(sum([7] * 6), 'secret' in globals())"),
                      {"expect": {"last": {"content": "42 False"}}, "answer": {"text": "42.0"}}])
    r = sandpiper.run("--verify", "six times seven?")
    assert r.code == 0 and r.out == "It is 42.\n" and "disagree" not in r.err, r


def test_they_disagree(sandpiper, serve):
    serve(sandpiper, [FIRST, SAID, second("print(6 + 7)"), {"answer": {"text": "13"}}])
    r = sandpiper.run("--verify", "six times seven?")
    assert r.code == 6 and r.out == "It is 42.\n", r
    assert r.err.endswith("A second computation gives 13, the first gave 42: trust neither.\n"), r


def test_prose_is_not_verified(sandpiper, serve):
    """Words that differ are no disagreement."""
    serve(sandpiper, [FIRST, {"answer": {"text": "The file is sorted."}}, second("print(1)"), {"answer": {"text": "Done: it was sorted by name."}}])
    r = sandpiper.run("--verify", "six times seven?")
    assert r.code == 0 and r.out == "The file is sorted.\n" and "trust" not in r.err, r
    assert 'The answer is not verified: there is no number to compare. First: "The file is sorted." Second: "Done: it was sorted by name."' in r.err, r


def test_yes_and_no_disagree(sandpiper, serve):
    serve(sandpiper, [FIRST, {"answer": {"text": "Yes, it is."}}, second("print(1)"), {"answer": {"text": "No."}}])
    r = sandpiper.run("--verify", "six times seven?")
    assert r.code == 6 and 'A second computation gives "No.", the first gave "Yes, it is.": trust neither.' in r.err, r


@pytest.mark.parametrize("how", ["file", "variable"])
def test_always(sandpiper, serve, how):
    """As --verify: nobody waits for the answer, which is there while the second computation runs."""
    if how == "file":
        sandpiper.configure("check: always\n")
    serve(sandpiper, [FIRST, SAID, second("print(6 + 7)"), {"answer": {"text": "13", "wait": 1}}])
    with sandpiper.start("six times seven?", env={"SANDPIPER_CHECK": "always" if how == "variable" else None}) as p:
        assert p.stdout.readline() == b"It is 42.\n" and p.poll() is None
        assert p.wait() == 6 and p.stderr.read().endswith(b"A second computation gives 13, the first gave 42: trust neither.\n")


def test_unknown_choice(bare):
    bare.configure("check: sometimes\n")
    r = bare.run("hi")
    assert r.code == 2 and 'check: expected one of asked|always, found "sometimes"' in r.err, r


@pytest.mark.parametrize("text, code, verified", [("42", 0, "agrees"), ("41", 6, "disagrees"), ("", 6, "failed")])
def test_json(sandpiper, serve, text, code, verified):
    serve(sandpiper, [FIRST, SAID, second("print(1)"), {"answer": {"text": text}}, {"answer": {"text": text}}][:5 if not text else 4])
    r = sandpiper.run("--json", "--verify", "six times seven?")
    e = done(r)
    assert r.code == e["exit_code"] == code and e["answer"] == "It is 42.", r
    assert (e["computed"]["verified"], e["computed"]["second"]) == (verified, text or None) and e["computed"]["runs"] == 1
    assert e["usage"]["input_tokens"] >= 80 and e["status"] == ("answered" if code == 0 else "unverified")
    assert '"text":"41"' not in r.out


def test_the_result_of_a_task_says_it(sandpiper, serve):
    serve(sandpiper, [FIRST, SAID, second("print(1)"), {"answer": {"text": "41"}}])
    r = sandpiper.run("--json-result", "--verify", "six times seven?")
    result = json.loads(r.out)
    assert r.code == result["exit_code"] == 6 and result["answer"] == "It is 42." and result["status"] == "unverified", r
    assert (result["computed"]["verified"], result["computed"]["second"]) == ("disagrees", "41"), result


def test_the_second_one_fails(sandpiper, serve):
    serve(sandpiper, [FIRST, SAID, {"answer": {"status": 400, "json": {"error": {"message": "no more"}}}}])
    r = sandpiper.run("--verify", "six times seven?")
    assert r.code == 6 and r.out == "It is 42.\n" and "not verified" in r.err and "no more" in r.err, r


def test_attached_files_are_there(sandpiper, serve):
    read = {"answer": {"calls": [{"code": "print(sum(int(x) for x in open('/mnt/data/n.txt')))"}]}}
    serve(sandpiper, [read, {"answer": {"text": "6006"}}, read, {"expect": {"last": {"content": "6006"}}, "answer": {"text": "6,006"}}])
    r = sandpiper.run("--verify", "--add", sandpiper.write("n.txt", "1001\n2002\n3003\n"), "the sum?")
    assert r.code == 0 and r.out == "6006\n", r


def test_an_answer_without_numbers_or_code_is_not_computed_twice(bare, serve):
    serve(bare, [{"answer": {"text": "Hello."}}])
    assert bare.run("--verify", "hi").code == 0


def test_interrupted(sandpiper, serve):
    """The first answer is there already; the variables of the chat stay."""
    server = serve(sandpiper, [FIRST, SAID, {"answer": {"wait": 20}}], complete=False)
    p = sandpiper.chat("--verify", env=PLAIN)
    p.expect("> ")
    p.send("six times seven?\r")
    p.expect("It is 42.")
    server.wait_request(3)
    p.expect("Waiting for")
    p.send("\x03")
    p.expect("Stopped.")
    p.expect("> ")
    p.send("!secret\r")
    p.expect("= 42")
    p.expect("> ")
    p.send("\x04")
    p.expect(pexpect.EOF)


def test_at_a_terminal(sandpiper, serve):
    serve(sandpiper, [FIRST, SAID, second("print(42)"), {"answer": {"text": "forty-two: 42"}}])
    p = sandpiper.chat("--verify", "-p", "six times seven?", env=PLAIN)
    p.expect(r"\[1 run, .*120 tokens; a second computation agrees\]")
    p.expect(pexpect.EOF)


@pytest.mark.slow(3)
def test_limits_hold_for_both(sandpiper, serve):
    server = serve(sandpiper, [FIRST, SAID, {"answer": {"wait": 20}}], complete=False)
    r = sandpiper.run("--verify", "--max-time", "3", "six times seven?")
    assert r.code == 6 and r.out == "It is 42.\n" and "the time for the question was over" in r.err and len(server.bodies()) == 3, r
