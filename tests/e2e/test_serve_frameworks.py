"""test_serve_frameworks.py - other people's clients of /v1, unchanged, with what they build on: answers in a form, and tools of their own. The programs are in
framework_clients; docs/CLIENTS.md has the table."""
import pathlib
import subprocess

import pytest

from clients import PLACE, client
from openai_server import call, done, start, surroundings         # noqa: F401 (start is a fixture)

PROGRAMS = pathlib.Path(__file__).resolve().parent / "framework_clients"
ULM = '{"city": "Ulm", "size": 126000}'


def weather(id):
    return {"answer": {"calls": [{"id": id, "name": "weather", "arguments": {"city": "Ulm"}}]}}


def run(server, tmp_path, environment, program, interpreter="python"):
    more = {"CLIENT_MODULES": str(PLACE / environment / "npm"), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}      # else it asks the internet for prices
    r = subprocess.run([client(environment, interpreter), str(PROGRAMS / program)], capture_output=True, text=True, timeout=240,
                       env={**surroundings(server, tmp_path), **more})
    assert r.returncode == 0, r.stderr[-3000:] + r.stdout
    return r.stdout.splitlines()


def results_of(model):
    return [m["content"] for r in model.requests for m in r.messages[-1:] if m["role"] == "tool"]


@pytest.mark.client("openai/openai", "create, stream, `parse` in both APIs, a tool and its result")
@pytest.mark.slow(20)
@pytest.mark.no_asan
def test_openai_python(start, tmp_path):
    server, model = start(call("120_000 + 6_000"), done(ULM), done("Ulm is big."), done(ULM), weather("c1"), done("It is 12."))
    assert run(server, tmp_path, "openai", "openai_sdk.py") == [
        "city='Ulm' size=126000", "city='Ulm' size=126000", "tool_calls weather {'city': 'Ulm'}", "It is 12."]
    assert results_of(model) == ["126000", "12"]


@pytest.mark.client("openai/openai-agents", "`function_tool` with `output_type`, whole and streamed, in both APIs")
@pytest.mark.slow(40)
@pytest.mark.no_asan
def test_openai_agents(start, tmp_path):
    """A tool of the client's, then code, then the answer in its form; whole and streamed, over both APIs."""
    talk = [[weather("w%d" % n), call("x = 12"), done('{"degrees": 12}')] for n in range(4)]
    server, model = start(*[e for one in talk for e in one])
    assert run(server, tmp_path, "openai", "agents_tool.py") == ["asked for Ulm", "degrees=12"] * 4
    assert results_of(model)[::2] == ["12 degrees"] * 4


@pytest.mark.client("frameworks/langchain-openai", "`with_structured_output` (json_schema, function_calling, json_mode), `bind_tools`, stream")
@pytest.mark.slow(40)
@pytest.mark.no_asan
def test_langchain(start, tmp_path):
    place = {"answer": {"calls": [{"id": "p1", "name": "Place", "arguments": {"city": "Ulm", "size": 126000}}]}}
    server, model = start(done(ULM), call("1"), done("126000."), place, done(ULM), weather("c1"), done("12 degrees."))
    assert run(server, tmp_path, "frameworks", "langchain_openai_client.py") == [
        "json_schema city='Ulm' size=126000", "function_calling city='Ulm' size=126000", "json_mode city='Ulm' size=126000", "12 degrees."]
    assert results_of(model) == ["1", "12 degrees in Ulm"]


@pytest.mark.client("frameworks/pydantic-ai-slim", "`output_type` as a tool and as `NativeOutput`, a tool of the agent's")
@pytest.mark.slow(40)
@pytest.mark.no_asan
def test_pydantic_ai(start, tmp_path):
    result = {"answer": {"calls": [{"id": "p1", "name": "final_result", "arguments": {"city": "Ulm", "size": 126000}}]}}
    server, model = start(call("1"), result, done(ULM), weather("c1"), done("12 degrees."))
    assert run(server, tmp_path, "frameworks", "pydantic_ai_client.py") == [
        "tool city='Ulm' size=126000", "native city='Ulm' size=126000", "12 degrees."]
    assert results_of(model)[-1] == "12 degrees in Ulm"


@pytest.mark.client("aisdk/openai", "create with `json_object`, from node")
@pytest.mark.client("aisdk/ai aisdk/@ai-sdk/openai aisdk/@ai-sdk/openai-compatible", "`generateObject`, `streamObject`, `generateText` with a tool; chat completions and Responses")
@pytest.mark.slow(40)
@pytest.mark.no_asan
def test_ai_sdk(start, tmp_path):
    talk = [[call("1"), done(ULM), done(ULM), weather("w%d" % n), done("12 degrees.")] for n in range(3)]
    server, model = start(*[e for one in talk for e in one], done('{"a": 1}'))
    small = ULM.replace(" ", "")
    assert run(server, tmp_path, "aisdk", "ai_sdk.mjs", "node") == [
        line for name in ("chat", "responses", "compatible") for line in (name + " " + small, name + " " + small, name + " 12 degrees.")] + ['openai {"a": 1}']
    assert results_of(model)[1::2] == ["12 degrees in Ulm"] * 3


@pytest.mark.client("litellm/litellm", "completion: whole, streamed, with `response_format`, with a tool and `reasoning_effort`; responses")
@pytest.mark.slow(40)
@pytest.mark.no_asan
def test_litellm(start, tmp_path):
    server, model = start(call("6 * 7"), done("It is 42."), done("It is 48."), done(ULM), weather("c1"), done("It is 12."), done("It is 54."))
    assert run(server, tmp_path, "litellm", "litellm_client.py") == [
        "It is 42.", "It is 48. [True]", "city='Ulm' size=126000", "weather It is 12.", "It is 54."]
    assert results_of(model) == ["42", "12 degrees"]
    assert [r.body.get("reasoning_effort") for r in model.requests] == [None] * 4 + ["low", None, None]
