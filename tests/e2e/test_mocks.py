"""test_mocks.py - the mocks of services.py themselves: each takes what is good, and refuses or misses what the real service refuses or asks
for; otherwise the sessions of test_services.py would prove nothing.
"""
import copy
import json
from types import SimpleNamespace

import pytest

from model_shapes import Responses
from profiles import Refusal
from provider_rows import SERVICES, mock
from services import reasoning_details

pytestmark = pytest.mark.no_asan

THOUGHT = "I should run this."
TOOL = {"type": "function", "function": {"name": "execute_python", "description": "d", "parameters": {
    "type": "object", "properties": {"code": {"type": "string", "description": "c"}}, "required": ["code"]}}}
CHAT = sorted(n for n in SERVICES if n not in ("openai", "openai-responses", "azure", "workers-ai-native"))


def model_of(service):
    return service.models[0] if service.models else "command-a"


def step(service, number, n_calls):
    """A reply with calls as the service gave it, and as it goes back."""
    calls = [{"index": k, "id": service.call_id(number, k), "type": "function", "function": {"name": "execute_python", "arguments": "{\"code\": \"1\"}"}}
             for k in range(n_calls)]
    answer = {"number": number, "reasoning": THOUGHT}
    service.give(answer, {"model": model_of(service), "reasoning_split": True}, calls)
    message = {"role": "assistant", "content": "", "tool_calls": [{k: v for k, v in service.call(answer, c).items() if k != "index"} for c in calls]}
    for delta in service.thoughts(answer, [THOUGHT]):
        message.update(delta)
    if service.name == "openrouter":
        message["reasoning_details"] = reasoning_details(THOUGHT, "sig-%d" % number)
    if service.name == "minimax":
        del message["reasoning_content"]
    return [message] + [{"role": "tool", "tool_call_id": c["id"], "content": "1"} for c in calls]


def said(service, text):
    service.give({"number": 0, "reasoning": THOUGHT, "text": text}, {"model": model_of(service)}, [])
    message = {"role": "assistant", "content": text}
    if service.name in ("deepseek", "moonshot", "zai"):
        message["reasoning_content"] = THOUGHT
    return message


def good(service):
    """0 system, 1 user, 2 two calls, 3 4 results, 5 answer, 6 user, 7 call, 8 result, 9 call, 10 result."""
    body = {"model": model_of(service), "stream": True, "max_tokens": 100, "tools": [TOOL], "messages": [
        {"role": "system", "content": "s"}, {"role": "user", "content": "q"}, *step(service, 1, 2), said(service, "Done."),
        {"role": "user", "content": "r"}, *step(service, 2, 1), *step(service, 3, 1)]}
    if service.name == "together":
        body["reasoning"] = {"enabled": True}
    if service.name == "minimax":
        body["reasoning_split"] = True
    if service.name == "zai":
        body.update(tool_stream=True, thinking={"type": "enabled", "clear_thinking": False})
    return copy.deepcopy(body)


def receive(service, body, path=None, headers=None):
    """(status, what was said) of a refusal, or (200, what was missed)."""
    path = path or service.base + service.paths[0]
    sent = {service.key_header: ("Bearer " if service.key_header == "authorization" else "") + service.key}
    try:
        return 200, "\n".join(service.receive(SimpleNamespace(body=body, path=path, headers=sent if headers is None else headers)))
    except Refusal as e:
        return e.status, json.dumps(e.body)


@pytest.mark.parametrize("name", CHAT)
def test_what_is_good_is_taken(name):
    service = mock(name)
    assert receive(service, good(service)) == (200, "")


@pytest.mark.parametrize("name", CHAT)
def test_key_path_and_model(name):
    service = mock(name)
    if service.key_variable:
        assert receive(service, good(service), headers={})[0] in (400, 401, 403) or name == "minimax"
        assert "login fail" in receive(service, good(service), headers={})[1] or name != "minimax"
    assert receive(service, good(service), path="/nowhere/chat/completions")[0] == 404
    if name not in ("llama.cpp",):
        status, text = receive(service, dict(good(service), model="no-such-model"))
        assert status in (400, 404) or "unknown model" in text, text
    other = mock(name, retired=[good(service)["model"]])
    status, text = receive(other, good(service))
    assert status != 200 or "2013" in text


def top(**members):
    return lambda b: b.update(members)


def put(i, **members):
    return lambda b: b["messages"][i].update(members)


def drop(i, field):
    return lambda b: b["messages"][i].pop(field)


def unsign(i):
    return lambda b: b["messages"][i]["tool_calls"][0].pop("extra_content")


def strict(b):
    b["tools"][0]["function"]["strict"] = True


WRONG = [
    ("anthropic", top(temperature=0), 400, "`temperature` is deprecated"),
    ("anthropic", top(tool_choice="required"), 400, "forcing the use of a tool"),
    ("anthropic", put(5, content=""), 400, "non-empty content"),
    ("anthropic", put(6, role="system"), 200, "a system message that is not the first"),
    ("bedrock", top(reasoning_effort="none"), 400, "does not support 'none'"),
    ("bedrock", top(enable_thinking=False), 400, "Extra inputs"),
    ("cerebras", top(enable_thinking=False), 400, "wrong_api_format"),
    ("cerebras", top(reasoning_effort="none"), 400, "reasoning_effort"),
    ("cerebras", put(2, reasoning_content="x"), 400, "messages.2.assistant.reasoning_content"),
    ("cohere", top(reasoning_effort="low"), 422, "one of none, high"),
    ("cohere", top(parallel_tool_calls=True), 422, "unsupported parameter"),
    ("dashscope", top(enable_thinking="no"), 400, "must be a boolean"),
    ("dashscope", top(tool_choice="required"), 400, "in thinking mode"),
    ("dashscope", top(reasoning_effort="none"), 400, "reasoning_effort"),
    ("deepseek", drop(2, "reasoning_content"), 400, "must be passed back"),
    ("deepseek", put(2, reasoning_content=""), 400, "must be passed back"),
    ("deepseek", drop(5, "reasoning_content"), 400, "must be passed back"),
    ("deepseek", put(5, reasoning_content=" "), 200, "given was"),
    ("deepseek", top(reasoning_effort="none"), 400, "unknown variant `none`"),
    ("deepseek", put(0, role="developer"), 400, "unknown variant `developer`"),
    ("fireworks", top(enable_thinking=False), 400, "Extra inputs are not permitted, field: 'enable_thinking'"),
    ("fireworks", top(reasoning_effort="minimal"), 400, "reasoning_effort"),
    ("gemini", unsign(7), 400, "missing a thought_signature"),
    ("gemini", unsign(9), 400, "missing a thought_signature"),
    ("gemini", unsign(2), 200, ""),
    ("gemini", lambda b: b["messages"][2]["tool_calls"][0]["extra_content"]["google"].update(thought_signature="x"), 400, "Corrupted"),
    ("gemini", lambda b: b["messages"][7]["tool_calls"][0]["extra_content"]["google"].update(thought_signature="skip_thought_signature_validator"), 200,
     "a stand-in for a signature"),
    ("gemini", put(2, content=None), 400, "not a string"),
    ("gemini", top(model="models/gemini-3.8-flash"), 400, "null"),
    ("gemini", top(model="gemini-3.8-flash", reasoning_effort="minimal"), 400, "MINIMAL is not supported"),
    ("gemini", top(reasoning_effort="none"), 400, "NONE is not supported"),
    ("gemini", top(temperature=0), 200, "deprecated"),
    ("gemini", top(store=False), 400, "Unknown name"),
    ("groq", top(reasoning_effort="none"), 400, "must be one of"),
    ("groq", top(model="qwen/qwen3.8-27b", reasoning_effort="low"), 400, "must be one of"),
    ("groq", top(reasoning_format="raw"), 400, "cannot be `raw`"),
    ("groq", put(2, reasoning_content="x"), 400, "property 'reasoning_content' is unsupported"),
    ("groq", top(store=False), 400, "property 'store' is unsupported"),
    ("huggingface", top(reasoning_effort="none"), 400, "does not support"),
    ("huggingface", top(model="openai/gpt-oss-120b:groq"), 200, ""),
    ("minimax", drop(2, "reasoning_details"), 200, "reasoning_details is None"),
    ("minimax", put(2, reasoning_details=[{"type": "reasoning.text", "text": "I should"}]), 200, "reasoning_details is"),
    ("minimax", lambda b: b.pop("reasoning_split"), 200, "without what was thought"),
    ("minimax", put(3, tool_call_id="x"), 200, "tool id(x) not found"),
    ("minimax", put(5, content=""), 200, "chat content is empty"),
    ("mistral", top(reasoning_effort="low"), 422, "'none' or 'high'"),
    ("mistral", top(stream_options={}), 422, "extra_forbidden"),
    ("mistral", put(2, reasoning_content="x"), 422, "extra_forbidden"),
    ("moonshot", top(temperature=0), 400, "invalid temperature: only 1 is allowed"),
    ("moonshot", top(thinking={"type": "disabled"}), 400, "cannot be used without"),
    ("moonshot", top(reasoning_effort="none"), 400, "none is not supported"),
    ("moonshot", drop(2, "reasoning_content"), 400, "reasoning_content is missing in assistant tool call message at index 2"),
    ("moonshot", drop(5, "reasoning_content"), 200, "given was"),
    ("moonshot", strict, 200, "strict"),
    ("nvidia", put(5, content=""), 400, "either content or tool_calls"),
    ("ollama", top(reasoning_effort="xhigh"), 400, "invalid reasoning value"),
    ("ollama", put(2, reasoning_content="x"), 200, "not read here"),
    ("openrouter", top(reasoning={"effort": "low"}, reasoning_effort="low"), 400, "Only one of"),
    ("openrouter", drop(2, "reasoning_details"), 200, "given was"),
    ("openrouter", lambda b: b["messages"][2]["reasoning_details"][0].pop("signature"), 200, "given was"),
    ("together", top(reasoning={"effort": "low"}), 400, "must be a boolean"),
    ("together", top(max_completion_tokens=1), 200, "not the name here"),
    ("together", strict, 200, "strict"),
    ("vllm", top(reasoning_effort="xhigh"), 400, "literal_error"),
    ("workers-ai", put(2, content=None), 400, "'null' not in 'string'"),
    ("workers-ai", lambda b: b.pop("max_tokens"), 200, "256 would be the default"),
    ("workers-ai", top(reasoning_effort="none"), 400, "low, medium, high"),
    ("xai", top(stop=["x"]), 400, "does not support parameter stop"),
    ("xai", top(reasoning_effort="none"), 400, "unknown variant `none`"),
    ("zai", lambda b: b.pop("tool_stream"), 200, "minutes of silence"),
    ("zai", lambda b: b.pop("thinking"), 200, "thrown away"),
    ("zai", top(tool_choice="required"), 400, "tool_choice"),
    ("zai", top(reasoning_effort="none"), 400, "reasoning_effort"),
    ("zai", put(2, reasoning_content="I should"), 200, "given was"),
    ("zai", drop(5, "reasoning_content"), 200, "given was"),
    ("zai", put(5, content=""), 400, "1214"),
]


@pytest.mark.parametrize("name, spoil, status, text", WRONG)
def test_what_is_wrong_is_told(name, spoil, status, text):
    service = mock(name)
    body = good(service)
    spoil(body)
    got = receive(service, body)
    assert got[0] == status and text in got[1] and (text or not got[1]), got


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_the_services_that_shall_be_strict_are(name):
    """No mock without a rule of its own, but those that really take everything."""
    assert name in {w[0] for w in WRONG} | {"openai", "openai-responses", "azure", "workers-ai-native", "llama.cpp", "lm-studio"}


# ---- gpt-6: by chat completions and by Responses

def by_chat(**more):
    return dict({"model": "gpt-6-luna", "stream": True, "max_completion_tokens": 100, "tools": [TOOL], "reasoning_effort": "none",
                 "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]}, **more)


def by_responses(**more):
    return dict({"model": "gpt-6-luna", "stream": True, "max_output_tokens": 100, "store": False, "include": ["reasoning.encrypted_content"],
                 "input": [{"role": "user", "content": "q"}]}, **more)


@pytest.mark.parametrize("name", ["openai", "openai-responses", "azure"])
@pytest.mark.parametrize("body, status, text", [
    (by_chat(), 200, ""),
    (by_chat(reasoning_effort="low"), 400, "use /v1/responses or set reasoning_effort to 'none'"),
    ({k: v for k, v in by_chat().items() if k != "reasoning_effort"}, 400, "use /v1/responses"),
    ({k: v for k, v in by_chat().items() if k not in ("reasoning_effort", "tools")}, 200, ""),
    (by_chat(model="gpt-6-astra"), 400, "'none' is not supported"),
    (by_chat(max_tokens=100), 400, "Use 'max_completion_tokens' instead"),
    (by_chat(stop=["x"]), 400, "Unsupported parameter: 'stop'"),
    (by_chat(temperature=0), 200, ""),
    (by_chat(reasoning_effort="minimal"), 400, "does not support 'minimal'"),
    (by_responses(), 200, ""),
    (by_responses(temperature=0), 400, "Unsupported parameter: 'temperature'"),
    (by_responses(temperature=0, reasoning={"effort": "none"}), 200, ""),
    (by_responses(reasoning={"effort": "minimal"}), 400, "does not support 'minimal'"),
    (by_responses(reasoning={"effort": "xhigh"}), 200, ""),
    (by_responses(include=[]), 200, "thoughts are lost"),
])
def test_gpt_6(name, body, status, text):
    service = mock(name)
    got = receive(service, body, service.base + ("/responses" if "input" in body else "/chat/completions"))
    assert got[0] == status and text in got[1] and (text or not got[1]), got


@pytest.mark.parametrize("field", ["max_tokens", "stop", "reasoning_effort", "messages"])
def test_responses_know_no_other_field(field):
    problems = []
    Responses().check(by_responses(**{field: 1}), problems)
    assert any("unknown fields" in p for p in problems), problems


def test_a_deployment_may_have_any_name():
    service = mock("azure")
    assert receive(service, by_responses(model="mine"), service.base + "/responses") == (200, "")
    assert receive(service, by_responses(model="mine"), service.base + "/responses", headers={"authorization": "Bearer " + service.key})[0] == 401
