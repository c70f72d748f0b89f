"""test_runner_ask.py - questions in a runner: what it answers, whose the conversation is, what is left when a question ends early."""
import base64

import pytest

from runner_child import Runner


@pytest.fixture
def start(sandpiper, serve):
    """A runner whose model answers so, and that model's server."""
    made = []

    def begin(*exchanges):
        server = serve(sandpiper, list(exchanges))
        made.append(Runner(sandpiper))
        return made[-1], server
    yield begin
    for r in made:
        r.close()


def call(*codes):
    return {"answer": {"calls": [{"code": code} for code in codes]}}


def done(text, **expect):
    return {"expect": expect, "answer": {"text": text}}


def agent_events(events):
    return [e["agent"] for e in events if e["event"] == "agent"]


def test_a_question(sandpiper_on, serve):
    serve(sandpiper_on, [call("open('a.csv', 'w').write('x')\nx = 41\nprint(x)\nx + 1"), {"answer": {"text": "It is 42.", "usage": [30, 5]}}])
    r = Runner(sandpiper_on)
    events, last = r.answer(r.send("ask", {"input": "go", "stream": True}, events=True))
    got, kinds = last["result"], [e["type"] for e in agent_events(events)]
    assert (got["answer"], got["status"], got["error"], got["model"]) == ("It is 42.", "answered", None, "test-model"), got
    assert got["usage"]["input_tokens"] == 50 and got["usage"]["requests"] == 2 and got["usage"]["cells"] == 1, got
    assert got["computed"]["runs"] == 1 and not got["computed"]["memory_only"] and not got["fresh"] and got["turn"], got
    assert [f["name"] for f in got["files"]] == ["a.csv"] and open(got["files"][0]["path"]).read() == "x"
    for kind in ("sandbox", "text", "tool_call", "tool_output", "tool_result", "file", "usage", "done"):
        assert (kind in kinds) == (kind != "sandbox"), kinds
    assert "".join(e["text"] for e in agent_events(events) if e["type"] == "text") == "It is 42."
    assert r.code("x")["value"] == "41"
    assert r.close() == 0 and sandpiper_on.leftovers() == []


def test_the_conversation_goes_on(start):
    runner, server = start(call("x = 5"), done("Five."), done("Still.", roles="system user assistant tool assistant user", system={"contains": "Rhyme."}), done("New.", roles="system user"))
    one = runner.ask("ask", input="one")
    events, two = runner.answer(runner.send("ask", {"input": "two", "system": "Rhyme.", "history": [{"role": "user", "text": "other"}], "turn": one["turn"]}, events=True))
    assert [e["type"] for e in agent_events(events) if e["type"] in ("text", "tool_output")] == []      # it did not ask for the pieces
    assert not two["result"]["fresh"] and two["result"]["turn"] != one["turn"]
    assert runner.ask("ask", input="three", history=[])["fresh"] is False                            # a conversation that begins
    assert "Rhyme." not in server.requests[-1].messages[0]["content"]


def test_the_clients_account(start):
    """What the client says was said counts where the runner stands elsewhere; the model is told that the variables are not there."""
    runner, server = start(done("Seven."))
    said = [{"role": "assistant", "text": "Hello."}, {"role": "user", "text": "a"}, {"role": "user", "text": "b"}, {"role": "assistant", "text": "c"}, {"role": "assistant", "text": "d"}]
    got = runner.ask("ask", input="seven?", history=said, turn="elsewhere",
                     earlier_files=[{"name": "old.txt", "content": "old"}], files=[{"name": "../x/new.txt", "content": base64.b64encode(b"new").decode(), "encoding": "base64"}])
    assert got["fresh"] and got["answer"] == "Seven.", got
    messages = server.requests[0].messages[1:]
    assert [(m["role"], m["content"]) for m in messages[:-1]] == [("user", "(no words)"), ("assistant", "Hello."), ("user", "a\n\nb"), ("assistant", "c"),
                                                                   ("user", "(no words)"), ("assistant", "d")]
    assert "goes on in a new interpreter" in messages[-1]["content"] and messages[-1]["content"].endswith("seven?")
    assert "/mnt/data/old.txt" in messages[-1]["content"] and runner.code("open('new.txt').read()")["value"] == "'new'"


def test_what_was_not_answered_is_taken_back(start):
    """The client does not know of it, and asks again from the same place: with its variables, without a word of the first try."""
    runner, server = start(call("x = 1"), done("One."), call("y = 2"), {"answer": {"status": 400, "json": {"error": {"message": "no"}}}}, call("x + y"), done("Three."))
    one = runner.ask("ask", input="one", history=[])
    history = [{"role": "user", "text": "one"}, {"role": "assistant", "text": "One."}]
    failed = runner.ask("ask", input="two", history=history, turn=one["turn"])
    assert failed["status"] == "no_answer" and failed["answer"] is None and "no" in failed["error"] and failed["turn"] == one["turn"], failed
    again = runner.ask("ask", input="two", history=history, turn=one["turn"])
    assert again["answer"] == "Three." and not again["fresh"], again
    assert [m["role"] for m in server.requests[4].messages] == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_cancel(start):
    """As by Ctrl-C: the cell ends, the conversation can go on, and the next request is not touched."""
    runner, _ = start(call("z = 3\nprint(z, flush=True)\nwhile True: pass"), done("Three.", last={"contains": "still?"}))
    number = runner.send("ask", {"input": "go", "stream": True}, events=True)
    while runner.message().get("agent", {}).get("type") != "tool_output":
        pass
    runner.cancel(number)
    _, last = runner.answer(number)
    assert last["result"]["status"] == "interrupted", last
    assert runner.code("z")["value"] == "3"
    assert runner.ask("ask", input="still?")["answer"] == "Three."


def test_another_model(start):
    runner, server = start(done("A."), done("B."), done("C."))
    assert [runner.ask("ask", input="q", **more)["model"] for more in ({}, {"model": "other", "effort": "low"}, {})] == ["test-model", "other", "test-model"]
    assert [r.body["model"] for r in server.requests] == ["test-model", "other", "test-model"]


def test_a_model_that_cannot_be_asked(sandpiper, serve):
    """It is refused each time, and not answered by the model before it; that one is there as it was."""
    serve(sandpiper, [done("Here.")])
    runner = Runner(sandpiper, env={"SANDPIPER_API": "workers_ai"})
    for _ in range(2):
        assert "the name is a part of the URL" in runner.refused("ask", input="q", model="../x")["text"]
    assert runner.ask("ask", input="q")["answer"] == "Here."
    runner.close()


def test_what_cannot_be_asked(sandpiper, bare, serve):
    """Without a model: an error, since nothing in the question is the reason. The runner stays of use."""
    r = Runner(bare)
    got = r.refused("ask", input="go")
    assert got["kind"] == "usage" and "No model yet" in got["text"], got
    assert r.code("1 + 1")["value"] == "2"
    r.close()
    serve(sandpiper, [done("Fine.")])
    r = Runner(sandpiper)
    for arguments, said in (({}, "the question is empty"), ({"input": " "}, "the question is empty"), ({"input": "x" * ((1 << 20) + 1)}, "too long"),
                            ({"input": "x", "files": [{"name": "a", "content": "?", "encoding": "base64"}]}, "not base64"), ({"input": "x", "files": [{}]}, "no name")):
        got = r.ask("ask", **arguments)
        assert got["status"] == "usage" and said in got["error"], got
    assert r.ask("ask", input="x")["answer"] == "Fine."
    r.close()
