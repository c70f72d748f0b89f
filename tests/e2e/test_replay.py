"""test_replay.py - --record and --replay: the model's side of a session from a file, a real sandbox, no network; where it parts is said."""
import json
import os

CODE = "import os\nx = 6 * 7\nprint(x)"
SCRIPT = [{"answer": {"text": "Computing.", "calls": [{"id": "", "code": CODE}]}},
          {"answer": {"status": 429, "body": "{}", "type": "application/json", "headers": {"Retry-After-Ms": "50"}}},
          {"answer": {"reasoning": "hm", "text": "It is 42."}}]


def record(sandpiper, serve, *more, script=SCRIPT):
    serve(sandpiper, script)
    path = os.path.join(sandpiper.work, "session")
    r = sandpiper.run("--record", path, "how many?", *more)
    assert r.code == 0, r
    sandpiper.url = None                        # nothing is configured any more
    return path, r


def test_a_session_is_repeated_exactly(sandpiper, serve):
    path, first = record(sandpiper, serve)
    assert first.out == "It is 42.\n" and os.stat(path).st_mode & 0o777 == 0o600
    for _ in range(2):
        again = sandpiper.run("--replay", path, "how many?")
        assert again.code == 0 and again.out == first.out, again
        assert "print(x)" in again.err and "42" in again.err, again


def test_blocks(sandpiper, serve):
    path, first = record(sandpiper, serve, "--dialect", "blocks", script=[{"answer": {"text": "```python\nprint(6 * 7)\n```\n"}},
                                                                        {"answer": {"text": "It is 42."}}])
    again = sandpiper.run("--replay", path, "how many?")
    assert again.code == 0 and again.out == first.out == "It is 42.\n", again


def test_it_says_where_it_parts(sandpiper, serve):
    path, _ = record(sandpiper, serve)
    r = sandpiper.run("--replay", path, "how few?")
    assert r.code == 2 and "request 1" in r.err and "how few?" in r.err and "how many?" in r.err, r

    with open(path) as f:                       # other code gives another result
        text = f.read()
    lines = [json.loads(line) for line in text.splitlines()]
    body = json.loads(lines[2]["body"])
    body["messages"][-1]["content"] = "another result"
    lines[2]["body"] = json.dumps(body)
    changed = sandpiper.write("changed", "".join(json.dumps(line) + "\n" for line in lines))
    r = sandpiper.run("--replay", changed, "how many?")
    assert r.code == 2 and "request 2" in r.err and "another result" in r.err, r


def test_a_recording_that_is_over(sandpiper, serve):
    path, _ = record(sandpiper, serve)
    with open(path) as f:
        lines = f.read().splitlines(True)
    short = sandpiper.write("short", "".join(lines[:2]))
    r = sandpiper.run("--replay", short, "how many?")
    assert r.code == 2 and "request 2" in r.err and "no more requests" in r.err, r


def test_no_recording(bare):
    path = bare.write("empty", "")
    for name, piece in (("/no/such/file", "--replay"), (path, "no recorded requests")):
        r = bare.run("--replay", name, "q")
        assert r.code == 2 and piece in r.err, r
