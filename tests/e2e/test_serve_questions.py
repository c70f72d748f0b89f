"""test_serve_questions.py - questions over HTTP: POST /ask, and /v1 in OpenAI's shape as its own clients speak it, unchanged, from PyPI."""
import base64
import io
import json
import os
import urllib.request

import pytest

from PIL import Image

from openai_server import call, done, run_client, said, start, user         # noqa: F401 (start is a fixture)
from raw_server import wait_for
from serving import Server, sse


def complete(server, *messages, status=200, **more):
    return server.ask("/v1/chat/completions", {"model": "sandpiper", "messages": list(messages), **more}, status)


def text_of(answer):
    return answer["choices"][0]["message"]["content"]


# ------------------------------------------------------------------------------------------------------------------ POST /ask

def test_ask(start):
    server, _ = start(call("x = 41\nopen('a.csv', 'w').write('x,y')\nx + 1"), {"answer": {"text": "It is 42.", "usage": [30, 5]}},
                      done("Still 41.", roles="system user assistant tool assistant user"))
    got = server.ask("/ask", {"input": "go"})
    assert got["output"] == "It is 42." and got["usage"]["output_tokens"] == 15 and got["computed"]["runs"] == 1, got
    assert [(s["status"], s["output"][:2]) for s in got["steps"]] == [("ok", "42")] and "x = 41" in got["steps"][0]["code"], got
    (file,) = got["files"]
    assert file["name"] == "a.csv" and file["size"] == 3 and urllib.request.urlopen(file["url"]).read() == b"x,y"
    more = server.ask("/ask", {"input": "and now?", "session": got["session"]})
    assert more["output"] == "Still 41." and more["session"] == got["session"] and more["steps"] == [], more
    assert server.ask("/ask", {"input": "x", "session": "0" * 32}, 404)["code"] == "SANDBOX_UNKNOWN"
    assert "/home" not in json.dumps(got) and "/state" not in json.dumps(got)


def test_ask_with_a_file_as_events(start):
    server, model = start(call("print(open('n.txt').read())", text="Reading."), done("Seven."))
    r = server.open("/ask", {"input": "what?", "files": [{"name": "n.txt", "content": base64.b64encode(b"7").decode(), "encoding": "base64"}]},
                    Accept="text/event-stream")
    assert r.status == 200 and r.headers["Content-Type"] == "text/event-stream"
    events = list(sse(r))
    kinds = [name for name, _ in events]
    for kind in ("text", "tool_call", "tool_output", "tool_result", "done"):
        assert kind in kinds, kinds
    assert all(data["type"] == name for name, data in events[:-1]) and kinds[-1] == "answer"
    assert events[-1][1]["output"] == "Seven." and "/mnt/data/n.txt" in model.requests[0].messages[-1]["content"]


def test_two_files_of_one_name(start):
    """Neither takes the place of the other; one that is given again does not come twice."""
    show = "import os\n{f: open(f).read() for f in sorted(os.listdir())}"
    server, _ = start(call(show), done("Two."), call(show), done("Three."))
    files = [{"name": "jan/a.csv", "content": "x\n1"}, {"name": "feb/a.csv", "content": "x\n2"}]
    got = server.ask("/ask", {"input": "compare", "files": files})
    assert got["steps"][0]["output"] == repr({"a-2.csv": "x\n2", "a.csv": "x\n1"}), got
    more = server.ask("/ask", {"input": "more", "session": got["session"], "files": [*files, {"name": "a.csv", "content": "x\n3"}]})
    assert more["steps"][0]["output"] == repr({"a-2.csv": "x\n2", "a-3.csv": "x\n3", "a.csv": "x\n1"}), more


def test_files_of_a_refused_request(start):
    """They belong to no later question."""
    server, model = start(done("One."), done("Two."))
    session = server.ask("/ask", {"input": "a"})["session"]
    files = [{"name": "good.txt", "content": "words"}, {"name": "bad.txt", "content": "!", "encoding": "base64"}]
    refused = server.ask("/ask", {"input": "b", "session": session, "files": files}, 422)
    assert refused["detail"] == "bad.txt: its content is not base64", refused
    assert server.ask("/ask", {"input": "c", "session": session})["output"] == "Two."
    assert model.requests[-1].messages[-1] == user("c")


# -------------------------------------------------------------------------------------------------------------------- /v1 as it is

def test_a_completion(start):
    server, _ = start(call("x = 6\nx * 7"), {"answer": {"text": "42.", "usage": [30, 5]}})
    got = complete(server, {"role": "system", "content": "Be brief."}, user("go"), temperature=0.5, seed=7, frobnicate=True)
    assert got["object"] == "chat.completion" and got["model"] == "test-model" and got["id"].startswith("chatcmpl-"), got
    assert got["choices"] == [{"index": 0, "message": {"role": "assistant", "content": "42.", "refusal": None}, "logprobs": None, "finish_reason": "stop"}]
    assert (got["usage"]["prompt_tokens"], got["usage"]["completion_tokens"], got["usage"]["total_tokens"]) == (50, 15, 65)
    note = got["sandpiper"]
    assert note["ignored"] == ["temperature", "seed", "frobnicate"], note
    assert note["new_interpreter"] is True and note["steps"][0]["output"] == "42" and note["computed"]["runs"] == 1, note
    assert [m["id"] for m in server.ask("/v1/models")["data"]][0] == "sandpiper"


def test_chunks(start):
    server, _ = start(call("print('on')", text="Let me see."), done("It is on."))
    r = server.open("/v1/chat/completions", {"messages": [user("go")], "stream": True, "stream_options": {"include_usage": True}})
    chunks = [data for _, data in sse(r)]
    assert chunks[-1] == "[DONE]" and chunks[-2]["choices"] == [] and chunks[-2]["usage"]["total_tokens"] == 60, chunks[-2]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks[:-2]) == "Let me see.\n\nIt is on."
    assert [c["choices"][0]["finish_reason"] for c in chunks[:-2]] == [None] * (len(chunks) - 3) + ["stop"]
    notes = [c["sandpiper"] for c in chunks[:-2] if "sandpiper" in c]
    kinds = [n.get("type") for n in notes]
    assert kinds.index("tool_call") < kinds.index("tool_output") < kinds.index("tool_result") and notes[-1]["steps"][0]["output"].strip() == "on", notes


def test_the_conversation_is_the_clients(start):
    """The same words find the same interpreter, whether they were streamed or not; who says something else gets a clean one and is told."""
    server, model = start(call("x = 5"), done("Five."), call("x + 1"), done("Six."), done("Other."), done("Clean."))
    one = complete(server, user("one"))
    two = complete(server, user("one"), said(" Five.\n"), {"role": "user", "content": [{"type": "text", "text": "two"}]})
    assert two["sandpiper"]["steps"][0]["output"] == "6" and two["sandpiper"]["new_interpreter"] is False, two
    assert two["sandpiper"]["session"] == one["sandpiper"]["session"]
    assert [m["role"] for m in model.requests[3].messages] == ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    for words in (said("Four."), said("Five.")):        # never said; and a place from which somebody has gone on already
        other = complete(server, user("one"), words, user("two"))
        assert other["sandpiper"]["new_interpreter"] is True and other["sandpiper"]["session"] != one["sandpiper"]["session"], other
        assert [m["role"] for m in model.requests[-1].messages] == ["system", "user", "assistant", "user"]
        assert "goes on in a new interpreter" in model.requests[-1].messages[-1]["content"]


def test_refusals_in_openais_form(start):
    server, _ = start({"answer": {"status": 400, "json": {"error": {"message": "the service says no"}}}})
    for status, path, body, headers, wanted in (
            (401, "/v1/models", None, {"Authorization": None}, ("authentication_error", None, "invalid_api_key")),
            (400, "/v1/chat/completions", {"messages": [user("x")], "n": 2}, {}, ("invalid_request_error", "n", "unsupported_parameter")),
            (400, "/v1/chat/completions", {"messages": [user("x")], "reasoning_effort": "hgih"}, {},
             ("invalid_request_error", "reasoning_effort", "unsupported_value")),
            (400, "/v1/chat/completions", {"messages": [user("x")], "stream_options": {"include_usage": True}}, {},
             ("invalid_request_error", "stream_options", None)),
            (400, "/v1/responses", {"input": "x", "stream": False, "stream_options": {}}, {}, ("invalid_request_error", "stream_options", None)),
            (400, "/v1/chat/completions", {"messages": [user("x")], "stream": True, "stream_options": 1}, {},
             ("invalid_request_error", "stream_options", "invalid_type")),
            (400, "/v1/chat/completions", {"messages": []}, {}, ("invalid_request_error", "messages", "missing_required_parameter")),
            (404, "/v1/models/nope", None, {}, ("not_found_error", None, "model_not_found")),
            (502, "/v1/chat/completions", {"messages": [user("x")]}, {}, ("server_error", None, "MODEL_FAILED"))):
        error = server.ask(path, body, status, **headers)["error"]
        assert (error["type"], error["param"], error["code"]) == wanted and error["message"], error
    assert "says no" in error["message"]
    assert server.ask("/ask", {"input": ""}, 422)["code"] == "INVALID_ARGUMENT"


def test_without_a_model(bare):
    server = Server(bare)
    r = server.open("/v1/chat/completions", {"messages": [user("x")]})
    error = json.load(r)["error"]
    assert (r.status, error["code"], r.headers["x-should-retry"]) == (503, "NOT_CONFIGURED", "false") and "No model yet" in error["message"]
    assert server.ask("/ask", {"input": "x"}, 503)["code"] == "NOT_CONFIGURED"
    assert server.close() == 0


def test_a_client_that_goes_away(start):
    """Its question is interrupted; the conversation goes on from where it was."""
    server, model = start(call("x = 1"), done("One."), call("x = 2\nprint(x, flush=True)\nwhile True: pass"), call("x"), done("Two."))
    complete(server, user("one"))
    r = server.open("/v1/chat/completions", {"messages": [user("one"), said("One."), user("loop")], "stream": True})
    for _, chunk in sse(r):
        if chunk.get("sandpiper", {}).get("type") == "tool_output":
            break
    r.close()
    r.connection.close()
    wait_for(lambda: b"\nsandpiper_requests_abandoned_total 1\n" in server.ask("/metrics"))       # the server has seen it
    got = complete(server, user("one"), said("One."), user("again"))
    assert got["sandpiper"]["steps"][0]["output"] == "2" and got["sandpiper"]["new_interpreter"] is False, got
    assert [m["role"] for m in model.requests[3].messages] == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_room_is_made(start):
    """Questions without a conversation never fill the server: the conversation that is idle longest loses its sandbox."""
    server, _ = start(*[done("Answer %d." % n) for n in range(6)], args=("--max-sandboxes", "2"))
    first = server.ask("/ask", {"input": "q"})
    for n in (1, 2, 3):
        assert text_of(complete(server, user("q"))) == "Answer %d." % n
    again = server.ask("/ask", {"input": "q", "session": first["session"]})
    assert again["session"] != first["session"] and again["notices"] == [], again      # no code had run in it
    again = complete(server, user("q"), said("Answer 1."), user("more"))
    assert again["sandpiper"]["new_interpreter"] is True


def test_room_within_a_limit_of_ones_own(start, sandpiper):
    """A token that has all its sandboxes replaces its own conversations, never those of others."""
    mine, theirs, tokens = "m" * 32, "t" * 32, sandpiper.path("tokens")
    with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write("%s 2\n%s\n" % (mine, theirs))
    server, _ = start(*[done("Answer.") for _ in range(6)], args=("--queue", "0s", "--token-file", tokens))

    def ask(token, **more):
        return server.ask("/ask", {"input": "q", **more}, Authorization="Bearer " + token)["session"]
    other = ask(theirs)
    first, second = ask(mine), ask(mine)
    third = ask(mine)
    assert server.ask("/run_code", {"sandbox_id": first, "code": "1"}, 410, Authorization="Bearer " + mine)["code"] == "SANDBOX_EXPIRED"
    assert ask(theirs, session=other) == other and ask(mine, session=second) == second
    for box in (second, third):
        server.ask("/stop_sandbox", {"sandbox_id": box}, Authorization="Bearer " + mine)
        server.ask("/create_sandbox", {}, Authorization="Bearer " + mine)
    full = server.ask("/ask", {"input": "q"}, 429, Authorization="Bearer " + mine)
    assert full["detail"] == "all sandboxes of this token are in use (2)", full
    assert [b["sandbox_id"] for b in server.ask("/list_sandboxes", {}, Authorization="Bearer " + theirs)["sandboxes"]] == [other]


# ------------------------------------------------------------------------------------------------------------- clients, unchanged

SDK = """
import openai
c = openai.OpenAI(max_retries=0)
one = c.chat.completions.create(model="sandpiper", messages=[{"role": "user", "content": "one"}])
print(one.choices[0].message.content, one.usage.total_tokens, one.sandpiper["new_interpreter"], one.choices[0].message.annotations)
talk = [{"role": "user", "content": "one"}, one.choices[0].message, {"role": "user", "content": "two"}]
text, usage, kinds = "", None, []
for chunk in c.chat.completions.create(model="gpt-4o", messages=talk, stream=True, stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    kinds += [chunk.sandpiper.get("type")] if getattr(chunk, "sandpiper", None) else []
    if chunk.choices and chunk.choices[0].delta.content:
        text += chunk.choices[0].delta.content
print(text, usage.total_tokens, "tool_result" in kinds)
talk += [{"role": "assistant", "content": text}, {"role": "user", "content": "three"}]
with c.chat.completions.stream(model="sandpiper", messages=talk) as stream:
    final = stream.get_final_completion()
print(final.choices[0].message.content, final.choices[0].finish_reason)
print([m.id for m in c.models.list()][0], c.models.retrieve("sandpiper").id)
for error, call in ((openai.BadRequestError, lambda: c.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], n=2)),
                    (openai.AuthenticationError, lambda: openai.OpenAI(api_key="wrong").models.list()),
                    (openai.NotFoundError, lambda: c.models.retrieve("nope"))):
    try:
        call()
    except error as e:
        print(type(e).__name__, e.status_code, e.param, e.code)
"""


@pytest.mark.client("openai/openai", "chat completions: create, stream, models, errors")
@pytest.mark.slow(20)
@pytest.mark.no_asan
def test_openai_python(start, tmp_path):
    server, _ = start(call("x = 5"), done("Five."), call("x + 1"), done("Six."), call("x + 2"), done("Seven."))
    assert run_client(server, tmp_path, "python", "-c", SDK).splitlines() == [
        "Five. 60 True None", "Six. 60 True", "Seven. stop", "sandpiper sandpiper",
        "BadRequestError 400 n unsupported_parameter", "AuthenticationError 401 None invalid_api_key", "NotFoundError 404 None model_not_found"]


LOOK = """
import openai, sys
c = openai.OpenAI(max_retries=0)
print(c.chat.completions.create(model="sandpiper", messages=[{"role": "developer", "content": "Look."}, {"role": "user", "content": [
    {"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + sys.argv[1]}}]}]).choices[0].message.content)
"""


@pytest.mark.slow(20)
def test_an_image_in_parts(start, tmp_path):
    """Into the sandbox, and to a model that sees."""
    png = io.BytesIO()
    Image.new("RGB", (8, 6), (200, 10, 10)).save(png, "PNG")
    server, model = start(call("from PIL import Image\nImage.open('image-1.png').size"), done("Red."), args=("--vision", "on"), sees=True)
    assert run_client(server, tmp_path, "python", "-c", LOOK, base64.b64encode(png.getvalue()).decode()) == "Red.\n"
    parts = model.requests[0].messages[-1]["content"]
    assert [p["type"] for p in parts][-1] == "image_url" and "Look." in model.requests[0].messages[0]["content"]
    assert model.requests[1].messages[-1]["content"] == "(8, 6)"


@pytest.mark.slow(70)
@pytest.mark.no_asan
def test_llm(start, tmp_path):
    """As in docs/PROGRAMS.md: nothing but the address is set. -c goes on with what the code has left."""
    server, model = start(call("x = 7919"), done("The 1000th prime is 7919."), call("x + 1"), done("7920."))
    assert run_client(server, tmp_path, "llm", "-m", "gpt-4o", "What is the 1000th prime?") == "The 1000th prime is 7919.\n"
    assert run_client(server, tmp_path, "llm", "-c", "-m", "gpt-4o", "And one more?") == "7920.\n"
    assert model.requests[3].messages[-1]["content"] == "7920"


AGENTS = """
import asyncio
from agents import Agent, Runner, SQLiteSession, set_default_openai_api
set_default_openai_api("chat_completions")
agent, session = Agent(name="a", instructions="Compute.", model="sandpiper"), SQLiteSession("s")
async def main():
    print((await Runner.run(agent, "one", session=session)).final_output)
    run = Runner.run_streamed(agent, "two", session=session)
    print("".join([e.data.delta async for e in run.stream_events() if e.type == "raw_response_event" and e.data.type == "response.output_text.delta"]), run.final_output)
asyncio.run(main())
"""


@pytest.mark.slow(50)
@pytest.mark.no_asan
def test_openai_agents(start, tmp_path):
    server, model = start(call("x = 5"), done("Five."), call("x + 1"), done("Six."))
    assert run_client(server, tmp_path, "python", "-c", AGENTS) == "Five.\nSix. Six.\n"
    assert model.requests[3].messages[-1]["content"] == "6" and "Compute." in model.requests[0].messages[0]["content"]
