"""test_trace.py - --trace: every request and reply, readable by the user alone, and the key nowhere in it."""
import json
import os
import resource
import signal
import stat
import subprocess

import pytest

from conftest import BIN

KEY = "sk-secret/0123456789abcdef"


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def test_requests_and_replies(sandpiper, serve):
    sandpiper.key = KEY
    quoted = json.dumps({"error": {"message": "slow down, bearer of %s" % KEY}}).replace("/", "\\/")
    serve(sandpiper, [{"answer": {"status": 429, "body": quoted, "type": "application/json",
                                  "headers": {"Retry-After-Ms": "10", "Set-Cookie": "session=abc", "X-Key": "is " + KEY}}},
                      {"answer": {"text": "It is 42."}}])
    path = sandpiper.write("trace", "")
    os.chmod(path, 0o644)
    r = sandpiper.run("--trace", path, "what is %s?" % KEY)
    assert r.code == 0 and r.out == "It is 42.\n", r
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path) as f:
        text = f.read()
    for secret in (KEY, KEY.replace("/", "\\/"), KEY.replace("/", "\\\\/"), "0123456789abcdef", "session=abc"):
        assert secret not in text, secret
    got = lines(path)
    assert [(g["type"], g["number"]) for g in got] == [("request", 1), ("reply", 1), ("request", 2), ("reply", 2)]
    assert "Authorization: [removed]" in got[0]["headers"] and got[0]["url"].endswith("/chat/completions")
    assert json.loads(got[0]["body"])["messages"][-1]["content"] == "what is [key]?"
    assert got[1]["status"] == 429 and "X-Key: is [key]" in got[1]["headers"] and "Set-Cookie: [removed]" in got[1]["headers"]
    assert got[3]["status"] == 200 and "[DONE]" in got[3]["body"] and got[3]["end"] in ("whole", "stopped") and not got[3]["cut"]

    # what was traced can be read again
    again = subprocess.run([BIN, "debug", "reply"], input=got[3]["body"].encode(), stdout=subprocess.PIPE, env=sandpiper.env(), check=True)
    assert json.loads(again.stdout)["text"] == "It is 42."


def test_it_is_appended_to(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "one"}}, {"answer": {"text": "two"}}])
    path = os.path.join(sandpiper.work, "new")
    for _ in range(2):
        assert sandpiper.run("--trace", path, "go").code == 0
    assert [g["type"] for g in lines(path)] == ["request", "reply"] * 2
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_server_that_is_not_there(sandpiper):
    sandpiper.url = "http://127.0.0.1:1/v1"
    path = os.path.join(sandpiper.work, "t")
    assert sandpiper.run("--trace", path, "go").code == 1
    assert lines(path)[1]["end"] == "lost" and lines(path)[1]["status"] == 0


def test_a_file_that_cannot_be(bare):
    for path in ("/no/such/folder/file", "/dev/null", bare.work):
        r = bare.run("--trace", path, "go", env={"OPENAI_API_KEY": "k", "SANDPIPER_MODEL": "m"})
        assert r.code == 2 and "--trace" in r.err and len(r.err.splitlines()) == 1, r


@pytest.mark.parametrize("option", ["--trace", "--record"])
def test_a_file_that_cannot_be_written_is_told_once(sandpiper, serve, option):
    serve(sandpiper, [{"answer": {"text": "one"}}, {"answer": {"text": "two"}}])

    def full():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    r = sandpiper.run(option, "t.json", stdin="q\nr\n", preexec_fn=full)
    assert r.code == 0 and r.out == "one\ntwo\n", r
    assert r.err.count("sandpiper: %s t.json: File too large; some requests or replies are missing\n" % option) == 1, r
