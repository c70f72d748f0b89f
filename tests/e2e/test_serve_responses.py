"""test_serve_responses.py - POST /v1/responses, OpenAI's newer shape: as it is, and as its own clients speak it, unchanged, from PyPI. What both
shapes share is in test_serve_questions.py."""
import base64
import io
import json
import re
import signal
import subprocess

import pytest

from PIL import Image

from conftest import HANG
from openai_server import call, client_process, done, run_client, said, start, user         # noqa: F401 (start is a fixture)
from raw_server import wait_for
from serving import sse

INTERPRETER = {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}], "include": ["code_interpreter_call.outputs"]}


def respond(server, input, status=200, **more):
    return server.ask("/v1/responses", {"model": "sandpiper", "input": input, **more}, status)


def stream(server, input, **more):
    return server.open("/v1/responses", {"input": input, "stream": True, **more})


def texts(response):
    return ["".join(part["text"] for part in item["content"]) for item in response["output"] if item["type"] == "message"]


# ------------------------------------------------------------------------------------------------------------------------ as it is

def test_a_response(start):
    server, model = start(call("x = 6\nx * 7"), {"answer": {"text": "42.", "usage": [30, 5]}})
    got = respond(server, "go", instructions="Be brief.", temperature=0.5, store=False, metadata={"a": "b"}, frobnicate=True)
    assert (got["object"], got["status"], got["model"], got["error"], got["metadata"]) == ("response", "completed", "test-model", None, {"a": "b"}), got
    (item,) = got["output"]
    assert (item["type"], item["role"], item["status"], item["phase"]) == ("message", "assistant", "completed", "final_answer"), item
    assert item["content"] == [{"type": "output_text", "text": "42.", "annotations": [], "logprobs": []}]
    assert (got["usage"]["input_tokens"], got["usage"]["output_tokens"], got["usage"]["total_tokens"]) == (50, 15, 65)
    note = got["sandpiper"]
    assert note["new_interpreter"] is True and note["steps"][0]["output"] == "42" and note["computed"]["runs"] == 1, note
    assert "Be brief." in model.requests[0].messages[0]["content"]


def test_events(start):
    server, _ = start(call("print('on')", text="Let me see."), done("It is on."))
    events = list(sse(stream(server, [user("go")])))
    assert all(name == event["type"] for name, event in events)
    assert [event["sequence_number"] for _, event in events] == list(range(len(events)))
    kinds = [name[9:] for name, _ in events]
    message = ["output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"]
    assert [k for i, k in enumerate(kinds) if k != kinds[i - 1]] == ["created", "in_progress", *message, *message, "completed"], kinds
    final = events[-1][1]["response"]
    assert "".join(event.get("delta", "") for _, event in events) == "".join(texts(final)) == "Let me see.\n\nIt is on."
    assert [item["phase"] for item in final["output"]] == ["commentary", "final_answer"]
    assert final["usage"]["total_tokens"] == 60 and final["sandpiper"]["steps"][0]["output"].strip() == "on"
    assert final["id"] == events[0][1]["response"]["id"]


def test_the_code_for_who_asks(start):
    """As the tool that it is there: code_interpreter."""
    server, _ = start(call("6 * 7"), done("42."), call("6 * 8"), done("48."))
    call_item, message = respond(server, "go", **INTERPRETER)["output"]
    assert (call_item["type"], call_item["code"], call_item["outputs"]) == ("code_interpreter_call", "6 * 7", [{"type": "logs", "logs": "42"}])
    events = [event for _, event in sse(stream(server, "go", **INTERPRETER))]
    final = events[-1]["response"]
    assert [e["code"] for e in events if e["type"] == "response.code_interpreter_call_code.done"] == ["6 * 8"]
    assert [item["type"] for item in final["output"]] == ["code_interpreter_call", "message"] and texts(final) == ["48."]
    assert [e["item"] for e in events if e["type"] == "response.output_item.done"] == final["output"]


def test_the_conversation_is_the_clients(start):
    """What came is sent back, items that are no messages and all: the same interpreter. Chat completions have the same names for it."""
    server, model = start(call("x = 5", text="I look."), done("Five."), call("x + 1"), done("Six."), call("x + 2"), done("Seven."), done("Clean."))
    one = [event for _, event in sse(stream(server, "one", **INTERPRETER))][-1]["response"]
    assert [item["type"] for item in one["output"]] == ["message", "code_interpreter_call", "message"]
    talk = [user("one"), *one["output"], user("two")]
    two = respond(server, talk)
    assert two["sandpiper"]["steps"][0]["output"] == "6" and two["sandpiper"]["new_interpreter"] is False, two
    talk = [user("one"), said("I look.\n\nFive."), user("two"), said("Six."), user("three")]
    three = server.ask("/v1/chat/completions", {"messages": talk})
    assert three["sandpiper"]["steps"][0]["output"] == "7" and three["sandpiper"]["session"] == one["sandpiper"]["session"], three
    other = respond(server, [user("one"), said("Four."), user("two")])
    assert other["sandpiper"]["new_interpreter"] is True
    assert [m["role"] for m in model.requests[-1].messages] == ["system", "user", "assistant", "user"]


def test_going_on_from_an_answer(start):
    """previous_response_id: the conversation is where that answer is, once; nobody is answered without what was said before."""
    server, model = start(call("x = 5"), done("Five."), call("x + 1"), done("Six."), done("Seven."))
    one = respond(server, "one")
    two = respond(server, "two", previous_response_id=one["id"])
    assert two["sandpiper"]["steps"][0]["output"] == "6" and two["previous_response_id"] == one["id"], two
    assert [m["role"] for m in model.requests[2].messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    for wrong in (one["id"], "resp_0123456789abcdef01234567"):
        error = respond(server, "three", 400, previous_response_id=wrong)["error"]
        assert (error["param"], error["code"]) == ("previous_response_id", "previous_response_not_found"), error
    three = respond(server, [user("one"), said("Five."), user("two"), said("Six."), user("three")])
    assert three["sandpiper"]["new_interpreter"] is False and texts(three) == ["Seven."]


def test_refusals_in_openais_form(start):
    server, _ = start({"answer": {"status": 400, "json": {"error": {"message": "the service says no"}}}})
    for status, body, wanted in (
            (400, {}, ("invalid_request_error", "input", "missing_required_parameter")),
            (400, {"input": "x", "tools": [{"type": "web_search"}]}, ("invalid_request_error", "tools[0]", "invalid_value")),
            (400, {"input": "x", "text": {"format": {"type": "xml"}}}, ("invalid_request_error", "text.format", "invalid_value")),
            (400, {"input": "x", "reasoning": {"effort": "hgih"}}, ("invalid_request_error", "reasoning.effort", "unsupported_value")),
            (400, {"input": [{"type": "function_call_output"}]}, ("invalid_request_error", "input[0]", "invalid_value")),
            (502, {"input": "x", "stream": True}, ("server_error", None, "MODEL_FAILED"))):
        error = server.ask("/v1/responses", body, status)["error"]
        assert (error["type"], error["param"], error["code"]) == wanted and error["message"], error
    assert "says no" in error["message"]
    assert server.ask("/v1/responses", {"input": "x"}, 401, Authorization=None)["error"]["code"] == "invalid_api_key"


def test_a_failure_in_the_stream(start):
    server, _ = start(call("1", text="Let me see."), {"answer": {"status": 400, "json": {"error": {"message": "the service says no"}}}})
    events = [event for _, event in sse(stream(server, "go"))]
    assert [e["type"] for e in events[-2:]] == ["response.failed", "error"]
    failed = events[-2]["response"]
    assert failed["status"] == "failed" and failed["error"]["code"] == "server_error" and "says no" in failed["error"]["message"], failed
    assert events[-1]["code"] == "MODEL_FAILED" and "says no" in events[-1]["message"]


# ------------------------------------------------------------------------------------------------------------- clients, unchanged

SDK = """
import openai, pydantic
from openai.types.responses import Response, ResponseStreamEvent
whole, event = pydantic.TypeAdapter(Response), pydantic.TypeAdapter(ResponseStreamEvent)
c = openai.OpenAI(max_retries=0)
one = c.responses.create(model="sandpiper", input="one")
whole.validate_python(one.to_dict(mode="json"))
print(one.output_text, one.usage.total_tokens, one.status, one.sandpiper["new_interpreter"])
talk = [{"role": "user", "content": "one"}, *one.output, {"role": "user", "content": "two"}]
text, last = "", None
for e in c.responses.create(model="gpt-6", input=talk, stream=True):
    event.validate_python(e.to_dict(mode="json"))
    text += e.delta if e.type == "response.output_text.delta" else ""
    last = e
print(repr(text), last.type, last.response.usage.total_tokens, last.response.sandpiper["new_interpreter"])
tools = [{"type": "code_interpreter", "container": {"type": "auto"}}]
made = c.responses.create(model="sandpiper", input="make", tools=tools)
(cited,) = made.output[-1].content[0].annotations
whole.validate_python(made.to_dict(mode="json"))
print(cited.filename, cited.start_index, c.containers.files.content.retrieve(cited.file_id, container_id=cited.container_id).text)
with c.responses.stream(model="sandpiper", input="three", previous_response_id=last.response.id, tools=tools, include=["code_interpreter_call.outputs"]) as s:
    for e in s:
        kinds = {type(e).__name__, *(kinds if "kinds" in globals() else ())}
        if hasattr(e, "to_dict") and not hasattr(e, "snapshot"):
            event.validate_python(e.to_dict(mode="json"))
    final = s.get_final_response()
print(final.output_text, final.output[0].code, final.output[0].outputs[0].logs.split()[0], final.output[-1].content[0].annotations[0].filename, "ResponseCodeInterpreterCallInProgressEvent" in kinds)
for error, wrong in ((openai.BadRequestError, {"tools": [{"type": "web_search"}]}), (openai.BadRequestError, {"previous_response_id": one.id})):
    try:
        c.responses.create(model="m", input="x", **wrong)
    except error as e:
        print(type(e).__name__, e.status_code, e.param, e.code)
try:
    for e in c.responses.create(model="m", input="fail", stream=True):
        kind = e.type
except openai.APIError as e:
    print(kind, e.message.splitlines()[0])
"""


@pytest.mark.client("openai/openai", "Responses: create, stream, `previous_response_id`")
@pytest.mark.slow(30)
@pytest.mark.no_asan
def test_openai_python(start, tmp_path):
    """Each event and answer held to the SDK's own types, strictly; and its accumulated final response."""
    server, _ = start(call("x = 5"), done("Five."), call("x + 1", text="I add."), done("Six."), call("open('ä.csv', 'w').write('x,y')"), done("Gemacht: Ä."),
                      call("len(open('b.csv', 'w').name) and x + 2"), done("Seven."), call("1", text="Hm."), {"answer": {"status": 400, "json": {"error": {"message": "no"}}}})
    lines = run_client(server, tmp_path, "python", "-c", SDK).splitlines()
    assert lines[:6] == ["Five. 60 completed True", "'I add.\\n\\nSix.' response.completed 60 False", "ä.csv 11 x,y",
                         "Seven. len(open('b.csv', 'w').name) and x + 2 7 b.csv True",
                         "BadRequestError 400 tools[0] invalid_value",
                         "BadRequestError 400 previous_response_id previous_response_not_found"]
    assert lines[6].startswith("response.failed ") and len(lines) == 7, lines


@pytest.mark.client("openai/llm", "a question, `-s`, `-c`, `--no-stream`")
@pytest.mark.slow(30)
@pytest.mark.no_asan
def test_llm_with_its_default_model(start, tmp_path):
    """As in docs/PROGRAMS.md: nothing but the address is set. -c goes on with what the code has left; a failure is told."""
    server, model = start(call("x = 7919", text="Computing."), done("The 1000th prime is 7919."), call("x + 1"), done("7920."), call("x + 2"), done("7921."))
    assert run_client(server, tmp_path, "llm", "-s", "Be brief.", "What is the 1000th prime?") == "Computing.\n\nThe 1000th prime is 7919.\n"
    assert run_client(server, tmp_path, "llm", "-c", "And one more?") == "7920.\n"
    assert run_client(server, tmp_path, "llm", "-c", "--no-stream", "And one more?") == "7921.\n"
    assert [r.messages[-1]["content"] for r in model.requests[3::2]] == ["7920", "7921"]
    assert "Be brief." in model.requests[0].messages[0]["content"]


@pytest.mark.client("openai/llm", "an image (`-a`)")
@pytest.mark.slow(30)
@pytest.mark.no_asan
def test_llm_with_an_image(start, tmp_path):
    png = io.BytesIO()
    Image.new("RGB", (8, 6), (200, 10, 10)).save(png, "PNG")
    (tmp_path / "a.png").write_bytes(png.getvalue())
    server, model = start(call("from PIL import Image\nImage.open('image-1.png').size"), done("Red."), args=("--vision", "on"), sees=True)
    assert run_client(server, tmp_path, "llm", "what is it?", "-a", str(tmp_path / "a.png")) == "Red.\n"
    parts = model.requests[0].messages[-1]["content"]
    assert [p["type"] for p in parts][-1] == "image_url" and model.requests[1].messages[-1]["content"] == "(8, 6)"
    assert base64.b64encode(png.getvalue())[:40].decode() in json.dumps(parts)


AGENTS = """
import asyncio
from agents import Agent, CodeInterpreterTool, Runner, SQLiteSession
agent, session = Agent(name="a", instructions="Compute.", model="gpt-6"), SQLiteSession("s")
async def main():
    print((await Runner.run(agent, "one", session=session)).final_output)
    run = Runner.run_streamed(agent, "two", session=session)
    print("".join([e.data.delta async for e in run.stream_events() if e.type == "raw_response_event" and e.data.type == "response.output_text.delta"]), run.final_output)
    agent.tools = [CodeInterpreterTool(tool_config={"type": "code_interpreter", "container": {"type": "auto"}})]
    run = await Runner.run(agent, "three", session=session)
    print(run.final_output, [i.raw_item.code for i in run.new_items if i.type == "tool_call_item"])
    run = await Runner.run(agent, "four", session=session)
    run = await Runner.run(agent, "five", previous_response_id=run.last_response_id)
    print(run.final_output)
asyncio.run(main())
"""


@pytest.mark.client("openai/openai-agents", "sessions, CodeInterpreterTool, streamed, by Responses")
@pytest.mark.slow(30)
@pytest.mark.no_asan
def test_openai_agents_with_its_default_models(start, tmp_path):
    server, model = start(call("x = 5"), done("Five."), call("x + 1", text="I add."), done("Six."), call("x + 2"), done("Seven."),
                          call("x + 3"), done("Eight."), call("x + 4"), done("Nine."))
    assert run_client(server, tmp_path, "python", "-c", AGENTS) == "Five.\nI add.\n\nSix. Six.\nSeven. ['x + 2']\nNine.\n"
    assert [r.messages[-1]["content"] for r in model.requests[3::2]] == ["6", "7", "8", "9"]
    assert "Compute." in model.requests[0].messages[0]["content"]


@pytest.mark.client("openai/llm", "Ctrl-C, then `-c`")
@pytest.mark.slow(50)
def test_ctrl_c_in_a_client(start, tmp_path):
    """llm is interrupted when it has said something: so is its question, and the conversation goes on from where it was."""
    server, model = start(call("x = 1"), done("One."), call("while True: pass", text="Looping."), call("x"), done("Two."))
    assert run_client(server, tmp_path, "llm", "one") == "One.\n"
    p = client_process(server, tmp_path, "llm", "-c", "loop", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert p.stdout.read(8) == b"Looping."
        for _ in range(10):             # Python can lose one, if it comes while an object is being destroyed
            p.send_signal(signal.SIGINT)
            try:
                p.wait(HANG / 5)
                break
            except subprocess.TimeoutExpired:
                pass
        assert p.poll() is not None
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
    wait_for(lambda: b"\nsandpiper_requests_abandoned_total 1\n" in server.ask("/metrics"))
    assert run_client(server, tmp_path, "llm", "-c", "again") == "Two.\n"
    assert model.requests[-1].messages[-1]["content"] == "1"


def test_two_streams_at_once(start):
    """From one conversation: the second begins with a clean interpreter, neither waits for the other."""
    server, _ = start(call("x = 1"), done("One."), call("x"), done("Two."), call("'x' in globals()"), done("Clean."))
    respond(server, "one")
    talk = [user("one"), said("One."), user("two")]
    first = sse(stream(server, talk))
    assert next(first)[0] == "response.created"
    second = [event for _, event in sse(stream(server, talk))][-1]["response"]
    final = [event for _, event in first][-1]["response"]
    assert (final["sandpiper"]["new_interpreter"], second["sandpiper"]["new_interpreter"]) == (False, True)


@pytest.mark.client("openai/llm", "a tool of its own (`-T`)")
@pytest.mark.slow(30)
@pytest.mark.no_asan
def test_llm_with_a_tool_of_its_own(start, tmp_path):
    """The call is handed to llm, which carries it out and brings the result."""
    server, model = start({"answer": {"calls": [{"id": "call_v", "name": "llm_version", "arguments": {}}]}}, done("I know it."))
    assert run_client(server, tmp_path, "llm", "-T", "llm_version", "x") == "I know it.\n"
    assert model.requests[1].messages[-1]["role"] == "tool" and re.match(r"\d+\.\d+", model.requests[1].messages[-1]["content"]), model.requests[1].messages