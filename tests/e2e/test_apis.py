"""test_apis.py - Responses and Workers AI as whole sessions: interrupts, a model change, traces, recordings; and that the scripted service is
as strict as it says.
"""
import json
import os
import signal
import time

import pytest

from model_server import check_request
from model_shapes import Responses

CALL = {"reasoning": "think", "calls": [{"id": "call_a", "code": "print(6 * 7)"}]}


# ---- the service's own strictness: each of these has been refused by the real one

def given(model="m"):
    service = Responses()
    body = {"model": model, "include": ["reasoning.encrypted_content"]}
    output = service.items({"number": 1, "reasoning": "think", "text": "Let me."}, body,
                           [{"id": "call_a", "function": {"name": "execute_python", "arguments": "{}"}}])
    reasoning, message, call = output
    back = {k: v for k, v in call.items() if k != "status"}
    return service, [{"role": "user", "content": "q"}, reasoning, message, back, {"type": "function_call_output", "call_id": "call_a", "output": "1"}]


def refusals(service, items, **more):
    body = dict({"model": "m", "instructions": "S", "input": items, "store": False, "max_output_tokens": 100, "stream": True,
                 "tools": [{"type": "function", "name": "execute_python", "parameters": {}}]}, **more)
    return check_request(json.dumps(body).encode(), service)[1]


def test_the_service_takes_what_it_gave():
    service, items = given()
    assert refusals(service, items) == []


@pytest.mark.parametrize("change, says", [
    (lambda i: i.pop(1), "without its required 'reasoning' item"),
    (lambda i: i.insert(4, i.pop(1)), "without its required"),
    (lambda i: i[1].pop("encrypted_content"), "could not be verified"),
    (lambda i: i[1].update(encrypted_content="other"), "could not be verified"),
    (lambda i: i[1].update(status=None), "is null"),
    (lambda i: i[1].update(id="rs_9"), "Items are not persisted"),
    (lambda i: i[3].update(id="fc_9"), "Items are not persisted"),
    (lambda i: i.pop(4), "No tool output found"),
    (lambda i: i.pop(3), "No tool call found"),
    (lambda i: (i.pop(1), i[2].pop("id")), "without its required 'reasoning' item"),
    (lambda i: i.insert(4, {"role": "user", "content": "x"}), "No tool output found"),
])
def test_the_service_refuses(change, says):
    service, items = given()
    items = json.loads(json.dumps(items))
    change(items)
    assert says in "\n".join(refusals(service, items)), refusals(service, items)


def test_the_service_refuses_another_models_reasoning():
    service, items = given("other")
    assert "could not be verified" in "\n".join(refusals(service, items))


# ---- sessions

@pytest.mark.parametrize("api", ["responses", "workers_ai"])
def test_an_interrupted_cell_leaves_a_history_that_is_taken(sandpiper, serve, api):
    """In the chat: Ctrl-C in a cell, then another question; the service refuses what OpenAI refuses."""
    server = serve(sandpiper, [{"answer": {"reasoning": "think", "calls": [{"id": "call_a", "code": "import time\nprint('begun', flush=True)\ntime.sleep(60)"},
                                                                           {"id": "call_b", "code": "print('never')"}]}},
                               {"expect": {"roles": "system user assistant tool tool assistant user"}, "answer": {"text": "Fine again."}}])
    chat = sandpiper.chat("--api", api, env={"NO_COLOR": "1"})
    chat.expect("> ")
    chat.send("sleep\r")
    chat.expect(r"\| begun\r\n")          # its output, not its text
    chat.send("\x03")
    chat.expect("> ")
    chat.send("go on\r")
    chat.expect("Fine again.")
    chat.send("\x04")
    chat.wait()
    server.check()


@pytest.mark.parametrize("api", ["responses", "workers_ai"])
def test_ctrl_c_while_it_streams(sandpiper, serve, api):
    server = serve(sandpiper, [{"answer": {"text": "A long answer that never ends", "stall_after": 6}}])
    p = sandpiper.start("--api", api, "go")
    server.wait_request(1)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 130, (out, err)


def test_reasoning_stays_with_the_model_that_gave_it(sandpiper, serve):
    """/model and back: the other model gets calls and texts alone, the first one its reasoning again."""
    def without(request):
        text = json.dumps(request.body["input"])
        assert "rs_" not in text and "gAAAA" not in text and "msg_" not in text, text
        return {"expect": {"model": "other", "roles": "system user assistant tool assistant user"}, "answer": {"reasoning": "b", "text": "Second."}}

    def again(request):
        kinds = [i.get("type", i.get("role")) for i in request.body["input"]]
        assert kinds == ["user", "reasoning", "function_call", "function_call_output", "reasoning", "message", "user", "message", "user"], kinds
        assert "id" in request.body["input"][5] and "id" not in request.body["input"][7]
        return {"expect": {"model": "test-model"}, "answer": {"text": "Third."}}

    server = serve(sandpiper, [{"answer": CALL}, {"answer": {"reasoning": "a", "text": "First."}}, without, again])
    chat = sandpiper.chat("--api", "responses", env={"NO_COLOR": "1"})
    for line, said in (("one", "First."), ("/model other", "other"), ("two", "Second."), ("/model test-model", "test-model"), ("three", "Third.")):
        chat.expect("> ")
        chat.send(line + "\r")
        chat.expect_exact(said)
    chat.expect("> ")
    chat.send("\x04")
    chat.wait()
    server.check()


def test_reasoning_that_is_refused_is_left_out(sandpiper, serve):
    """Another key, a moved alias: the session goes on without it, and stays so."""
    refused = {"status": 400, "json": {"error": {"message": "The encrypted content gAAA...DQ== could not be verified.", "type": "invalid_request_error",
                                                 "param": None, "code": "invalid_encrypted_content"}}}

    def bare(request):
        kinds = [i.get("type", i.get("role")) for i in request.body["input"]]
        assert kinds == ["user", "function_call", "function_call_output"] and not any("id" in i for i in request.body["input"]), request.body
        return {"answer": {"text": "It is 42."}}

    server = serve(sandpiper, [{"answer": CALL}, {"answer": refused}, bare], lenient=True)
    r = sandpiper.run("--api", "responses", "-v", "go")
    assert r.code == 0 and r.out == "It is 42.\n" and "without it" in r.err, r
    assert len(server.bodies()) == 3


@pytest.mark.parametrize("api", ["responses", "workers_ai"])
def test_trace_record_replay(sandpiper, serve, api):
    serve(sandpiper, [{"answer": dict(CALL, text="Computing.")}, {"answer": {"text": "It is 42."}}])
    path, trace = os.path.join(sandpiper.work, "session"), os.path.join(sandpiper.work, "trace")
    first = sandpiper.run("--api", api, "--record", path, "--trace", trace, "how many?")
    assert first.code == 0 and first.out == "It is 42.\n", first
    with open(trace) as f:
        text = f.read()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["type"] for line in lines] == ["request", "reply"] * 2 and "test-key" not in text
    assert ("/responses" if api == "responses" else "/ai/run/test-model") in lines[0]["url"]
    sandpiper.url = None
    again = sandpiper.run("--replay", path, "how many?")
    assert again.code == 0 and again.out == first.out and "42" in again.err, again
    parts = sandpiper.run("--replay", path, "how few?")
    assert parts.code == 2 and "how few?" in parts.err and "how many?" in parts.err, parts


def test_what_would_be_sent(bare):
    bodies = {}
    for api in ("chat_completions", "responses", "workers_ai"):
        r = bare.run("debug", "request", "--api", api, "--base-url", "http://127.0.0.1:9/v1", "-m", "m", "hello")
        assert r.code == 0 and r.err == "", r
        bodies[api] = json.loads(r.out)
    assert bodies["chat_completions"]["messages"][-1] == bodies["workers_ai"]["messages"][-1] == bodies["responses"]["input"][-1] \
        == {"role": "user", "content": "hello"}
    assert bodies["responses"]["instructions"] == bodies["chat_completions"]["messages"][0]["content"]
    assert bodies["responses"]["store"] is False and "model" not in bodies["workers_ai"]


def test_bad_words(bare):
    r = bare.run("--api", "soap", "hello")
    assert r.code == 2 and "--api" in r.err and "workers_ai" in r.err and len(r.err.splitlines()) <= 2, r
    bare.configure("providers:\n  mine:\n    base_url: https://x.example/v1\n    api: response\n")
    r = bare.run("config")
    assert r.code == 2 and "config.yaml:4" in r.err and "api" in r.err and "chat_completions|responses|workers_ai" in r.err, r
    bare.configure("providers:\n  mine:\n    base_url: https://x.example/v1\n    api: responses\n    model: m\nprovider: mine\n")
    r = bare.run("config")
    assert r.code == 0 and "# api: responses" in r.out and "config.yaml:4" in r.out, r
