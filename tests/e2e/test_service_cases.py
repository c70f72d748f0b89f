"""test_service_cases.py - services met in other ways than by their row: behind an address that nobody knows, two of their models in one
session, and the errors that they tell with HTTP 200.
"""
import json

import pytest

from provider_rows import ROWS, mock, models_of, point, words
from chat_keys import ask, leave, start
from test_services import SESSION

CALL = {"answer": {"calls": [{"code": "print(6 * 7)"}]}}
RESULT = {"last": {"content": {"contains": "42"}}}
UNKNOWN = ["openai", "azure", "deepseek", "moonshot", "gemini", "minimax", "zai", "openrouter", "groq", "cerebras", "mistral", "xai", "anthropic", "fireworks"]


@pytest.mark.slow(3)
@pytest.mark.parametrize("name", UNKNOWN)
def test_behind_an_unknown_address(sandpiper, serve, name):
    """A proxy, a gateway: what it wants is learnt from its first refusal, and kept to. The model's name tells nothing either."""
    service = mock(name)
    service.models, service.demands = (), False
    server = serve(sandpiper, SESSION[:6], profile=service)
    sandpiper.url = None
    env = {"SANDPIPER_API_KEY": service.key}
    if service.key_header == "api-key":
        service.key_header, service.key = "authorization", "Bearer " + service.key
        env, service.key = {"SANDPIPER_API_KEY": "k"}, "k"
    p = start(sandpiper, "--base-url", "http://127.0.0.1:%d%s" % (server.port, service.base), "-m", "some-model", env=env)
    ask(p, "look", "Repaired")
    p.send("interrupt me\r")
    p.expect("\\| started")
    p.send("\x03")
    p.expect("> ")
    ask(p, "what now", "After the interrupt")
    leave(p)
    # max_tokens is sent to a loopback address alone, and has another name at OpenAI: that is one more
    most = 2 if name in ("openai", "azure") else 1
    assert len(server.refusals) <= most, server.refusals


TWO = sorted(n for n in ROWS if len(models_of(ROWS[n])) > 1 and not any("*" in m for m in models_of(ROWS[n])))


@pytest.mark.slow(3)
@pytest.mark.parametrize("name", TWO)
def test_two_models_in_a_session(sandpiper, serve, name):
    """/model there and back: calls, ids and thoughts of the other model are put into a form that is taken."""
    first, second = models_of(ROWS[name])[:2]
    server = serve(sandpiper, [e for said in ("First.", "Second.", "Third.") for e in (CALL, {"expect": RESULT, "answer": {"text": said}})], profile=mock(name))
    p = start(sandpiper, *words(name), env=point(sandpiper, name, server))
    ask(p, "one", "First\\.")
    ask(p, "/model " + second, "Model set to ")
    ask(p, "two", "Second\\.")
    ask(p, "/model " + first, "Model set to ")
    ask(p, "three", "Third\\.")
    leave(p)
    assert len(server.refusals) <= (2 if name == "mistral" else 0), server.refusals     # stream_options, of each model once


def test_thoughts_in_the_text(sandpiper, serve):
    """MiniMax without reasoning_split: <think> stands in the content, is shown to nobody, and goes back until the question is answered."""
    seen = []

    def look(request):
        seen.append([m["content"] for m in request.messages if m["role"] == "assistant"])
        return SESSION[len(seen)]
    server = serve(sandpiper, [SESSION[0], look, look, {"answer": {"text": "Fine."}}], profile=mock("minimax"))
    env = point(sandpiper, "minimax", server)
    with open(sandpiper.path("config/sandpiper/config.yaml")) as f:
        sandpiper.configure(f.read().replace("}\n", ", reasoning_back: text, body: {}}\n"))
    r = sandpiper.run("--provider", "minimax", env=env, stdin="look\nwell?\n")
    assert r.code == 0 and "Repaired." in r.out and "Fine." in r.out and "should run" not in r.out + r.err, r
    thought = "<think>\nI should run this.\n</think>\n\n"
    assert seen == [[thought + "I look."], [thought + "I look.", thought]], seen
    assert "think" not in str(server.bodies()[3]["messages"][1:]), server.bodies()[3]["messages"]


# ---- errors that come with HTTP 200, or inside a stream

def chunk(delta, finish=None, **more):
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [dict({"index": 0, "delta": delta, "finish_reason": finish}, **more)]}


def sse(*events):
    return {"sse": ["data: %s\n\n" % json.dumps(e) for e in events] + ["data: [DONE]\n\n"]}


def minimax(code, text):
    return {"id": "x", "choices": None, "created": 1, "model": "MiniMax-M3", "object": "chat.completion", "base_resp": {"status_code": code, "status_msg": text}}


@pytest.mark.parametrize("name, answer, said, code", [
    ("minimax", {"json": minimax(1008, "insufficient balance")}, "insufficient balance", {75, 1}),
    ("minimax", {"json": minimax(1004, "login fail: Please carry the API secret key in the 'Authorization' field")}, "login fail", {77}),
    ("minimax", {"json": minimax(2013, "invalid params, chat content is empty (2013)")}, "chat content is empty", {1}),
    ("minimax", sse(minimax(1026, "input new_sensitive")), "new_sensitive", {1}),
    ("openrouter", sse(chunk({}, "error", error={"code": 402, "message": "Insufficient credits", "metadata": {}})), "Insufficient credits", {75, 1}),
    ("openrouter", sse(chunk({}, "error", error={"code": 400, "message": "Provider returned error", "metadata": {"raw": "the prompt is malformed"}})),
     "the prompt is malformed", {1}),
    ("zai", {"status": 400, "json": {"code": 1214, "msg": "The messages parameter is illegal.", "success": False}}, "messages parameter is illegal", {1}),
])
def test_an_error_is_told(sandpiper, serve, name, answer, said, code):
    server = serve(sandpiper, [{"answer": answer}] * 4, profile=mock(name), complete=False)
    r = sandpiper.run(*words(name), "well?", env=point(sandpiper, name, server))
    assert r.code in code and said in r.err, r


def test_a_busy_minimax_is_asked_again(sandpiper, serve):
    """1002 is its 429."""
    server = serve(sandpiper, [{"answer": {"json": minimax(1002, "rate limit exceeded(RPM)")}}, {"answer": {"text": "Fine."}}], profile=mock("minimax"))
    r = sandpiper.run(*words("minimax"), "well?", env=point(sandpiper, "minimax", server))
    assert r.code == 0 and r.out == "Fine.\n", r


@pytest.mark.slow(3)
@pytest.mark.parametrize("name", ["openai", "deepseek", "gemini", "moonshot", "zai", "minimax"])
def test_a_session_that_is_continued_by_other_runs(sandpiper, serve, name):
    """Thoughts and signatures come back from the store as they were, with a call that failed, three at once and one that took too long. The runs
    have the same options: others would be other instructions, behind which OpenAI drops thoughts."""
    server = serve(sandpiper, [
        {"answer": {"text": "I look.", "calls": [{"code": "print(1)"}, {"code": "1/0"}, {"code": "print(3)"}]}},
        {"answer": {"calls": [{"code": "print('mended')"}]}},
        {"answer": {"text": "One."}},
        {"answer": {"calls": [{"code": "import time; time.sleep(60)"}, {"code": "print(2)"}]}},
        {"answer": {"text": "Two."}},
        {"answer": {"calls": [{"code": "print(5)"}]}},
        {"answer": {"text": "Three."}},
        {"answer": {"text": "Four."}},
    ], profile=mock(name))
    env = point(sandpiper, name, server)
    a = sandpiper.run(*words(name), "--timeout", "3", "one?", env=env)
    b = sandpiper.run(*words(name), "--timeout", "3", "-c", "two?", env=env)
    c = sandpiper.run(*words(name), "--timeout", "3", "-c", "three?", env=env)
    d = sandpiper.run(*words(name), "--timeout", "3", "-c", "four?", env=env)
    assert [x.out for x in (a, b, c, d)] == ["One.\n", "Two.\n", "Three.\n", "Four.\n"], (a, b, c, d)
    assert not server.refusals, server.refusals
