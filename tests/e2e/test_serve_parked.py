"""test_serve_parked.py - the sandbox of an answered question gives way to whoever needs one. Its conversation goes on all the same: in another sandbox, in
which its code has run again; and the answer says what has become of its variables."""
import time
import urllib.request

import pytest

from openai_server import call, done, said, start, user         # noqa: F401 (start is a fixture)
from raw_server import wait_for
from test_serve_questions import complete

BACK = "The sandbox of this conversation had given way to another one: its code was run again (%s), so the variables are back."


def take_the_place(server):
    """Somebody else needs the only sandbox, and is done with it."""
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    assert server.ask("/run_code", {"sandbox_id": box, "code": "'x' in globals()"})["value"] == "False"
    server.ask("/stop_sandbox", {"sandbox_id": box})


def test_a_session_goes_on(start):
    server, model = start(call("x = open('n.txt').read()"), done("Read."), call("x += '!'"), call("x += '?'\n1/0"), done("Added."), call("x"), done("Seven."),
                          call("x"), done("Still."), args=("--max-sandboxes", "1"))
    first = server.ask("/ask", {"input": "one", "files": [{"name": "n.txt", "content": "7"}]})["session"]
    assert server.ask("/ask", {"input": "two", "session": first})["session"] == first
    figures = server.ask("/metrics").decode()
    assert "sandpiper_question_tokens_count 2\n" in figures and "sandpiper_question_seconds_count 2\n" in figures
    take_the_place(server)
    got = server.ask("/ask", {"input": "three", "session": first})
    assert got["steps"][0]["output"] == "'7!?'" and BACK % "3 runs" in got["notices"] and got["session"] != first, got
    asked = model.requests[5].messages
    assert [m["role"] for m in asked] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert asked[2]["content"] == "Read." and "in a new interpreter: its code was run again (3 runs)" in asked[-1]["content"]
    again = server.ask("/ask", {"input": "four", "session": first})         # by its old id, it is where it went
    assert again["session"] == got["session"] and again["steps"][0]["output"] == "'7!?'" and again["notices"] == [], again


def test_what_cannot_be_brought_back_is_said(start):
    until = time.time() + 5
    server, model = start(call("import time\nassert time.time() < %f" % until), done("In time."), done("Late."),
                          call("y = len(open('big.txt').read())"), done("Big."), done("Gone."), args=("--max-sandboxes", "1"))
    first = server.ask("/ask", {"input": "one"})["session"]
    take_the_place(server)
    wait_for(lambda: time.time() > until)
    got = server.ask("/ask", {"input": "two", "session": first})
    assert "1 of 1 runs failed this time, so variables may be missing" in got["notices"][0], got
    big = server.ask("/ask", {"input": "big", "files": [{"name": "big.txt", "content": "x" * 2_000_000}]})["session"]
    take_the_place(server)
    got = server.ask("/ask", {"input": "and?", "session": big})
    assert got["notices"] == ["The sandbox of this conversation had given way to another one: its variables and files are gone."], got
    assert "all variables, imports and files in /mnt/data from before are gone" in model.requests[-1].messages[-1]["content"]


def test_what_a_client_works_in_gives_way_to_nobody(start):
    """A sandbox that it asked for, or that of a session in which it runs code itself; but not for reading what an answer made."""
    server, _ = start(call("open('a.csv', 'w').write('x')"), done("One."), done("Two."), args=("--max-sandboxes", "1", "--queue", "0s"))
    got = server.ask("/ask", {"input": "one"})
    assert urllib.request.urlopen(got["files"][0]["url"]).read() == b"x"
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    server.ask("/ask", {"input": "two", "session": box})
    server.ask("/create_sandbox", {}, 429)
    server.ask("/run_code", {"sandbox_id": got["session"], "code": "1"}, 410)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_v1_goes_on(start, api):
    server, model = start(call("x = 5"), done("Five."), call("x + 1"), done("Six."), args=("--max-sandboxes", "1"))
    if api == "chat":
        complete(server, user("one"))
        take_the_place(server)
        note = complete(server, user("one"), said("Five."), user("two"))["sandpiper"]
    else:
        one = server.ask("/v1/responses", {"input": "one"})
        take_the_place(server)
        note = server.ask("/v1/responses", {"input": "two", "previous_response_id": one["id"]})["sandpiper"]
    assert note["new_interpreter"] is True and note["steps"][0]["output"] == "6" and BACK % "1 run" in note["notices"], note
    assert [m["role"] for m in model.requests[2].messages] == ["system", "user", "assistant", "user"]


def test_a_session_that_its_client_stopped_is_gone(start):
    server, _ = start(done("One."))
    first = server.ask("/ask", {"input": "one"})["session"]
    server.ask("/stop_sandbox", {"sandbox_id": first})
    assert "was stopped" in server.ask("/ask", {"input": "two", "session": first}, 410)["detail"]
