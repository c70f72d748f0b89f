"""test_serve_streams.py - run_code and execute_command with Accept: text/event-stream: output as it comes, the whole answer last; a client that
leaves interrupts the code."""
import json
import socket

import jsonschema
import pytest

import event_schema
from serving import Server, sse

EVENTS = "text/event-stream"


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper)
    yield s
    assert s.close() == 0
    assert sandpiper.leftovers() == []


def sandbox(server):
    return server.ask("/create_sandbox", {})["sandbox_id"]


def events(server, path, **body):
    r = server.open(path, body, Accept=EVENTS)
    assert (r.status, r.headers["Content-Type"]) == (200, EVENTS)
    told = list(sse(r))
    for name, data in told[:-1]:
        assert data["type"] == name
        event_schema.check(json.dumps(data))
    return told


def until_begun(told):
    """The code has printed its line, in one piece or in two."""
    text = ""
    while text != "begun\n":
        name, data = next(told)
        text += data["text"]
        assert name == "tool_output" and "begun\n".startswith(text), (name, data)


def test_output_comes_as_events_and_once_more_in_the_answer(server):
    box = sandbox(server)
    told = events(server, "/run_code", sandbox_id=box, code="import sys\nprint('out', flush=True)\nprint('err', file=sys.stderr, flush=True)\n"
                  "open('/mnt/data/a.txt', 'w').write('a')\nx = 41\nx + 1")
    printed = {s: "".join(d["text"] for n, d in told[:-1] if n == "tool_output" and d["stream"] == s) for s in ("stdout", "stderr")}
    assert printed == {"stdout": "out\n", "stderr": "err\n"}, told
    name, answer = told[-1]
    assert name == "answer" and answer["sandbox_id"] == box and answer["files"][0]["url"].startswith(server.url), told
    whole = server.ask("/run_code", {"sandbox_id": box, "code": "x + 1"})
    assert (answer["stdout"], answer["value"], whole["value"]) == ("out\n", "42", "42") and set(answer) == set(whole)
    # code that fails is an answer; so is a crash, with its notice before it
    assert events(server, "/run_code", sandbox_id=box, code="1/0")[-1][1]["error"]["name"] == "ZeroDivisionError"
    crash = events(server, "/run_code", sandbox_id=box, code="import os\nos._exit(1)")
    assert "notice" in [n for n, _ in crash] and crash[-1][0] == "answer" and crash[-1][1]["status"] == "died", crash
    told = events(server, "/execute_command", sandbox_id=box, command="echo one; exit 3")
    assert "".join(d["text"] for n, d in told[:-1]) == "one\n" and told[-1][1]["exit_code"] == 3, told


def test_a_client_that_leaves_interrupts_the_code(server):
    box = sandbox(server)
    r = server.open("/run_code", {"sandbox_id": box, "code": "x = 2\nprint('begun', flush=True)\nwhile True: pass"}, Accept=EVENTS)
    until_begun(sse(r))         # while it runs
    r.connection.sock.shutdown(socket.SHUT_RDWR)
    after = server.ask("/run_code", {"sandbox_id": box, "code": "x"})
    assert (after["value"], after["state_lost"]) == ("2", False)


def test_what_is_refused_is_no_stream(server):
    for body, status in (({"sandbox_id": "0" * 32, "code": "1"}, 404), ({"sandbox_id": sandbox(server)}, 422), ({"sandbox_id": sandbox(server), "code": 1}, 422)):
        assert set(server.ask("/run_code", body, status, Accept=EVENTS)) == {"code", "detail"}
    # and what has no stream answers as ever
    assert server.ask("/list_sandboxes", {}, Accept=EVENTS)["sandboxes"]
    told = {path: "text/event-stream" in row["post"]["responses"]["200"]["content"] for path, row in server.ask("/openapi.json")["paths"].items() if "post" in row}
    assert {path for path, streams in told.items() if streams} == {"/run_code", "/execute_command", "/ask"}, told


def test_an_error_on_the_way_is_the_last_event(server):
    box = sandbox(server)
    r = server.open("/run_code", {"sandbox_id": box, "code": "print('begun', flush=True)\nwhile True: pass"}, Accept=EVENTS)
    told = sse(r)
    until_begun(told)
    server.ask("/stop_sandbox", {"sandbox_id": box})
    name, error = list(told)[-1]
    assert name == "error" and error["status"] == 503 and set(error) == {"status", "code", "detail"}, error


def test_openapi_says_what_the_events_are(server):
    api, box = server.ask("/openapi.json"), sandbox(server)
    seen = set()
    for path, body in (("/run_code", {"code": "print(1)"}), ("/run_code", {"code": "import os\nos._exit(3)"}), ("/execute_command", {"command": "ls / >&2"})):
        types = api["paths"][path]["post"]["responses"]["200"]["content"][EVENTS]
        for name, data in events(server, path, sandbox_id=box, **body):
            jsonschema.validate(data, dict(types["x-events"][name], components=api["components"]))
            seen.add(name)
    assert seen == {"tool_output", "notice", "answer"} and "error" in types["x-events"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"type": "tool_output"}, dict(types["x-events"]["tool_output"], components=api["components"]))
