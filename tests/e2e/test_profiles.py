"""test_profiles.py - whole sessions of the real program against services that refuse what Mistral, Workers AI, DeepSeek and llama.cpp refuse
(profiles.py): several tool turns, parallel calls, an interrupted call, a failed question, an empty answer, arguments that are no JSON,
a reply that breaks off, a full window, another dialect and back. Not one refusal, but for a parameter that is refused once and remembered.
"""
import copy

import pytest

from profiles import PROFILES, Refusal
from chat_keys import ask, leave, start

# What each service may refuse once, and of which model. DeepSeek misses thoughts where there were none: of other models, of an interrupt.
ONCE = {"mistral": [("stream_options", "m-native")], "deepseek": [("reasoning_content", "m-native")]}
ONCE_WITH_OTHERS = {"mistral": [("stream_options", m) for m in ("m-blocks", "m-native", "m-other")],
                    "deepseek": [("reasoning_content", m) for m in ("m-native", "m-other")]}
MODELS = """
models:
  m-native: {dialect: native}
  m-other: {dialect: native}
  m-blocks: {dialect: blocks}
"""
CODE = {"calls": [{"code": "print('x' * 3000)"}]}


def block(code):
    return {"answer": {"text": "```python\n%s\n```\n" % code}}


def last(text):
    return {"last": {"content": {"contains": text}}}


@pytest.mark.parametrize("name", PROFILES)
def test_a_whole_session(sandpiper, serve, name):
    profile = PROFILES[name]
    sandpiper.configure(MODELS)
    server = serve(sandpiper, [
        # several tool turns; the first output is long, for later
        {"answer": dict(CODE, text="I look.")}, {"expect": last("xxx"), "answer": {"calls": [{"code": "print(2)"}]}}, {"expect": last("2"), "answer": {"text": "Several."}},
        # parallel calls, one of which fails
        {"answer": {"calls": [{"code": "print(3)"}, {"code": "1/0"}, {"code": "print(5)"}]}},
        {"expect": last("5"), "answer": {"text": "Parallel."}},
        # a call that the user interrupts, and another that never ran
        {"answer": {"calls": [{"code": "print('started', flush=True)\nimport time\ntime.sleep(60)"}, {"code": "print('never')"}]}},
        {"expect": last("what now"), "answer": {"text": "After the interrupt."}},
        # a question that fails with nothing shown leaves the history
        {"answer": {"status": 400, "json": {"error": {"message": "the model is on fire"}}}},
        {"expect": last("burn"), "answer": {"text": "Not burnt."}},
        # an empty answer, and the nudge behind a result
        {"answer": {"calls": [{"code": "print(7)"}]}}, {"answer": {"text": ""}}, {"expect": last("7"), "answer": {"text": "Nudged."}},
        # arguments that are no JSON, an unknown tool
        {"answer": {"calls": [{"arguments": "{\"code\": \"print(1"}]}}, {"answer": {"calls": [{"name": "browser.search", "arguments": {"q": "x"}}]}},
        {"answer": {"text": "Malformed."}},
        # a reply that breaks off after text
        {"answer": {"text": "The beginning of an answer that never ends", "cut_after": 4, "reasoning": None}},
        {"answer": {"text": "Resumed."}},
        # a reply that breaks off behind a result
        {"answer": {"calls": [{"code": "print(8)"}]}}, {"answer": {"text": "The beginning of another", "cut_after": 4, "reasoning": None}},
        {"answer": {"text": "Resumed again."}},
        # code that fails and is repaired
        {"answer": {"calls": [{"code": "1/0"}]}}, {"answer": {"calls": [{"code": "print(9)"}]}}, {"expect": last("9"), "answer": {"text": "Repaired."}},
        # a full window: old output is shortened
        {"answer": profile.too_long}, {"expect": last("full"), "answer": {"text": "Shortened."}},
    ], model="m-native", profile=profile)
    p = start(sandpiper)
    ask(p, "several", "Several")
    ask(p, "parallel", "Parallel")
    p.send("interrupt me\r")
    p.expect("\\| started")
    p.send("\x03")
    p.expect("> ")
    ask(p, "what now", "After the interrupt")
    ask(p, "burn", "on fire")
    ask(p, "/retry", "Not burnt")
    ask(p, "nudge", "Nudged")
    ask(p, "malformed", "Malformed")
    ask(p, "cut", "closed the connection early")
    ask(p, "go on", "Resumed")
    ask(p, "cut later", "closed the connection early")
    ask(p, "go on", "Resumed again")
    ask(p, "repair", "Repaired")
    ask(p, "full", "Shortened")
    leave(p)
    assert server.parameters == ONCE.get(name, []), server.parameters


BOTH = ["execute_python", "install_packages"]      # of the second a user at a terminal is asked


@pytest.mark.parametrize("name", PROFILES)
def test_other_models_and_dialects(sandpiper, serve, name):
    """native -> blocks -> another native model -> back: ids, thoughts and calls of the others are put into a form that is taken."""
    profile = PROFILES[name]
    sandpiper.configure(MODELS)
    server = serve(sandpiper, [
        {"answer": {"calls": [{"code": "a = 1\nprint(a)"}, {"code": "print(a + 1)"}]}}, {"answer": {"text": "Native."}},
        dict(block("print(a + 2)"), expect={"absent": "tools", "model": "m-blocks"}), {"expect": last("3"), "answer": {"text": "Blocks."}},
        dict(block("1/0"), expect={"absent": "tools"}), dict(block("print(a + 3)"), expect=last("ZeroDivisionError")),
        {"expect": last("4"), "answer": {"text": "Blocks again."}},
        {"expect": {"tools": BOTH, "model": "m-other"}, "answer": {"calls": [{"code": "print(a + 4)"}]}},
        {"expect": last("5"), "answer": {"text": "Other."}},
        {"expect": {"tools": BOTH, "model": "m-native"}, "answer": {"calls": [{"code": "print(a + 5)"}]}},
        {"expect": last("6"), "answer": {"text": "Back."}},
    ], model="m-native", profile=profile)
    p = start(sandpiper)
    ask(p, "native", "Native")
    ask(p, "/model m-blocks", "Model set to \"m-blocks\"")
    ask(p, "blocks", "Blocks\\.")
    ask(p, "again", "Blocks again")
    ask(p, "/model m-other", "Model set to \"m-other\"")
    ask(p, "other", "Other")
    ask(p, "/model m-native", "Model set to \"m-native\"")
    ask(p, "back", "Back")
    leave(p)
    # what was learnt of one model is known when the session comes back to it; another has to be asked once
    assert sorted(server.parameters) == ONCE_WITH_OTHERS.get(name, []), server.parameters


# -- the profiles themselves: each refuses what it should, so that the sessions above prove something

GOOD = {"model": "m", "stream": True, "max_tokens": 10, "tools": [{"type": "function", "function": {"name": "execute_python", "description": "d", "parameters": {
    "type": "object", "properties": {"code": {"type": "string", "description": "c"}}}}}],
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"},
                     {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
                         {"id": "abcdefgh%d" % k, "type": "function", "function": {"name": "execute_python", "arguments": "{\"code\": \"1\"}"}} for k in (1, 2)]},
                     {"role": "tool", "tool_call_id": "abcdefgh1", "content": "1"}, {"role": "tool", "tool_call_id": "abcdefgh2", "content": "1"},
                     {"role": "assistant", "content": "a", "reasoning_content": "hm"}, {"role": "user", "content": "r"}]}


def good(name):
    body = copy.deepcopy(GOOD)
    if name != "deepseek":
        del body["messages"][2]["reasoning_content"], body["messages"][5]["reasoning_content"]
    return body


def drop(i):
    return lambda b: b["messages"].pop(i)


def put(i, **members):
    return lambda b: b["messages"][i].update(members)


def insert(i, **message):
    return lambda b: b["messages"].insert(i, message)


def call(**members):
    return lambda b: b["messages"][2]["tool_calls"][0].update(members)


REFUSED = [
    ("mistral", call(id="call_1_1"), "must be a-z, A-Z, 0-9, with a length of 9"),
    ("mistral", drop(4), "Not the same number of function calls and responses"),
    ("mistral", drop(5), "Unexpected role 'user' after role 'tool'"),
    ("mistral", drop(6), "Expected last role User or Tool"),
    ("mistral", put(5, content=""), "must have either content or tool_calls"),
    ("mistral", put(2, reasoning_content="hm"), "extra_forbidden"),
    ("mistral", lambda b: b.update(stream_options={}), "extra_forbidden"),
    ("mistral", lambda b: b.update(max_completion_tokens=1), "extra_forbidden"),
    ("mistral", insert(6, role="system", content="s"), "Unexpected role 'system' after role 'assistant'"),
    ("mistral", insert(1, role="user", content="q"), "Unexpected role 'user' after role 'user'"),
    ("mistral", put(3, tool_call_id="zzzzzzzz9"), "Unexpected tool call id"),
    ("workers-ai", put(2, content=None), "'null' not in 'string'"),
    ("workers-ai", put(1, content=[{"type": "text", "text": "q"}]), "'array' not in 'string'"),
    ("workers-ai", lambda b: b["messages"][2].pop("content"), "'role,content'"),
    ("workers-ai", lambda b: b.update(tool_choice="any"), "Invalid input"),
    ("workers-ai", lambda b: b["tools"][0]["function"].pop("description"), "name,description,parameters"),
    ("workers-ai", call(function={"name": "x", "arguments": {}}), "'object' not in 'string'"),
    ("deepseek", lambda b: b["messages"][2].pop("reasoning_content"), "must be passed back"),
    ("deepseek", put(2, reasoning_content=""), "must be passed back"),
    ("deepseek", lambda b: b["messages"][5].pop("reasoning_content"), "must be passed back"),
    ("deepseek", drop(4), "insufficient tool messages"),
    ("deepseek", insert(6, role="tool", tool_call_id="x", content="y"), "must be a response to a preceding message"),
    ("deepseek", put(0, role="developer"), "unknown variant `developer`"),
    ("deepseek", put(5, content=""), "content or tool_calls must be set"),
    ("deepseek", put(2, content=None), "did not match any variant"),
    ("deepseek", call(id="abcdefgh2"), "Duplicate value for 'tool_call_id'"),
    ("llama.cpp", call(function={"name": "x", "arguments": "{\"code\": \"print(1"}), "parse error"),
    ("llama.cpp", insert(6, role="system", content="s"), "System message must be at the beginning"),
    ("llama.cpp", insert(1, role="user", content="q"), "must alternate"),
    ("llama.cpp", drop(5), "must alternate"),
    ("llama.cpp", drop(6), "prefill is incompatible"),
    ("llama.cpp", put(5, content=""), "either 'content' or 'tool_calls'"),
    ("llama.cpp", put(1, content=None), "must contain 'content'"),
    ("llama.cpp", lambda b: b.update(tool_choice={"type": "function"}), "Invalid tool_choice"),
]


@pytest.mark.parametrize("name", PROFILES)
def test_a_good_history_is_taken(name):
    PROFILES[name].check(good(name))


@pytest.mark.parametrize("name, spoil, said", REFUSED)
def test_what_is_refused(name, spoil, said):
    body = good(name)
    spoil(body)
    with pytest.raises(Refusal) as e:
        PROFILES[name].check(body)
    assert said in str(e.value), e.value
