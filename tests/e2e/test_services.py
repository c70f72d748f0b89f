"""test_services.py - every provider of providers.yaml against a mock that is as strict as the service (services.py): one question with a
call, how long it should think, and whole sessions with calls that fail, run in parallel and are interrupted. Nobody sees a refusal, and
at most one request of a session is wasted.
"""
import io
import json
import re

import pytest

from provider_rows import ROWS, SERVICES, filled, listed, mock, models_of, point, words
from chat_keys import ask, leave, start

CALL = {"answer": {"calls": [{"code": "print(6 * 7)"}]}}
ANSWER = {"expect": {"last": {"content": {"contains": "42"}}}, "answer": {"text": "It is 42."}}


def test_every_provider_has_its_mock():
    assert set(ROWS) == set(SERVICES)


@pytest.mark.parametrize("name", sorted(set(ROWS) & set(SERVICES)))
def test_the_row_is_right(name):
    """URL, key and models are the service's, as its mock knows them."""
    row, service = ROWS[name], SERVICES[name]
    assert (listed(row.get("key_variable")) or [None])[0] == service.key_variable or row.get("local")
    assert row.get("local") or filled(row["base_url"]) == service.home
    assert row.get("auth", "bearer") == ("bearer" if service.key_header == "authorization" else "api-key")
    if service.models and not row.get("local"):
        assert models_of(row) and all("*" in m or m in service.models for m in models_of(row)), models_of(row)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_one_question(sandpiper, serve, name):
    """A call and an answer: the key in its header, the path, the default model; the reply in two requests, or three."""
    service = mock(name)
    server = serve(sandpiper, [CALL, ANSWER], profile=service)
    env = point(sandpiper, name, server)
    r = sandpiper.run(*words(name), "how many?", env=env)
    assert r.code == 0 and r.out == "It is 42.\n", (r, server.refusals)
    assert len(server.refusals) <= 1, server.refusals
    first = models_of(ROWS[name])[:1]
    if first and "*" not in first[0] and "model" in server.bodies()[0]:
        assert server.bodies()[0]["model"] == first[0]


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_wrong_key_is_told(sandpiper, serve, name):
    service = mock(name)
    if not service.key_variable:
        pytest.skip("it needs no key")
    server = serve(sandpiper, [], profile=service)
    env = point(sandpiper, name, server)
    service.key = "another"
    r = sandpiper.run(*words(name), "how many?", env=env)
    assert r.code == 77, (r, server.refusals)
    assert service.key_variable in r.err and "key-of-" not in r.err, r


@pytest.mark.parametrize("effort", ["low", pytest.param("high", marks=pytest.mark.no_asan), "none"])     # to our memory high is as low
@pytest.mark.parametrize("name", sorted(ROWS))
def test_how_long_it_thinks(sandpiper, serve, name, effort):
    """What is asked for is in effect where the service has it, the nearest where it has not; never a refusal for the user."""
    service = mock(name)
    server = serve(sandpiper, [{"answer": {"text": "Fine."}}], profile=service)
    env = point(sandpiper, name, server)
    r = sandpiper.run(*words(name), "--reasoning-effort", effort, "well?", env=env)
    assert r.code == 0 and r.out == "Fine.\n", (r, server.refusals)
    assert len(server.refusals) <= 1, server.refusals
    if effort in service.in_effect:
        body = server.bodies()[-1]
        assert service.effort(body) == service.in_effect[effort], {k: v for k, v in body.items() if k not in ("messages", "input", "tools", "instructions")}


@pytest.mark.parametrize("effort, sent, told", [
    ("low", True, 'sandpiper: the reasoning effort low is sent as "on": qwen-plus has only on and off here'),
    ("none", False, "")])
def test_a_switch_has_no_levels(sandpiper, serve, effort, sent, told):
    server = serve(sandpiper, [{"answer": {"text": "Fine."}}] * 2, profile=mock("dashscope"))
    env = point(sandpiper, "dashscope", server)
    r = sandpiper.run("--provider", "dashscope", "-m", "qwen-plus", "--reasoning-effort", effort, stdin="q\n\nq\n", env=env)
    assert r.code == 0 and [line for line in r.err.splitlines() if "effort" in line] == [told] * bool(told), r
    assert [(b["enable_thinking"], "reasoning_effort" in b) for b in server.bodies()] == [(sent, False)] * 2


@pytest.mark.parametrize("model", ["gpt-6-astra", "gpt-6.1-sol", "gpt-6.2-sol", "gpt-6.2-astra"])
def test_models_that_always_think(sandpiper, serve, model):
    """They are told the least effort that they know instead of none, and no temperature, which the user hears; nothing is refused."""
    server = serve(sandpiper, [CALL, ANSWER], profile=mock("openai"))
    r = sandpiper.run("--provider", "openai", "-m", model, "--reasoning-effort", "none", "--temperature", "0.5", "how many?", env=point(sandpiper, "openai", server))
    assert r.code == 0 and r.out == "It is 42.\n" and not server.refusals, (r, server.refusals)
    assert r.err.count("the temperature 0.5 is not sent: %s takes none" % model) == 1, r
    assert [(b["reasoning"]["effort"], "temperature" in b) for b in server.bodies()] == [("low", False)] * 2


def test_none_is_not_sent_where_a_model_has_no_such_effort(bare):
    """As "debug request" shows it, without a service."""
    for model in ("gpt-6.1-sol", "gpt-6.2-sol", "gpt-6.2-astra-2026-11-17"):
        r = bare.run("--provider", "openai", "-m", model, "--reasoning-effort", "none", "debug", "request", "hello", env={"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": None})
        assert r.code == 0 and json.loads(r.out)["reasoning"] == {"effort": "low"}, r


@pytest.mark.parametrize("model, asked, sent, told", [
    ("claude-haiku-5-5", "none", {"type": "disabled"}, ""), ("claude-sonnet-5-5", "none", {"type": "between_tools"}, ""),
    ("claude-sonnet-5-5", "high", {"type": "adaptive"}, 'high is sent as "on"'), ("claude-opus-5-5", "none", None, "none is not sent"),
    ("claude-opus-5", "none", {"type": "disabled"}, "")])
def test_how_claude_is_told_not_to_think(sandpiper, serve, model, asked, sent, told):
    server = serve(sandpiper, [{"answer": {"text": "Fine."}}], profile=mock("anthropic"))
    r = sandpiper.run("--provider", "anthropic", "-m", model, "--reasoning-effort", asked, "well?", env=point(sandpiper, "anthropic", server))
    assert r.code == 0 and not server.refusals and server.bodies()[0].get("thinking") == sent, (r, server.refusals, server.bodies())
    assert [told in line for line in r.err.splitlines() if "effort" in line] == [True] * bool(told), r


def test_a_switch_of_config_yaml(sandpiper, serve):
    """What means off there is the user's to say."""
    server = serve(sandpiper, [{"answer": {"text": "Fine."}}], profile=mock("deepseek"))
    server.profile.demands = False
    env = point(sandpiper, "deepseek", server, "models: {'deepseek-flash*': {thinking_off: resting}}\n")
    server.lenient = True
    sandpiper.run("--provider", "deepseek", "--reasoning-effort", "none", "well?", env=env)
    assert server.requests[0].body["thinking"] == {"type": "resting"}


def test_no_effort_for_a_model_that_does_not_reason(sandpiper, serve):
    server = serve(sandpiper, [{"answer": {"text": "Fine."}}] * 3, profile=mock("workers-ai-native"))
    env = point(sandpiper, "workers-ai-native", server)
    r = sandpiper.run(*words("workers-ai-native"), "--reasoning-effort", "high", "q", env=env)
    assert "reasoning effort high is not sent: @cf/meta/llama-3.3-70b-instruct-fp8-fast" in r.err, r
    assert "effort" not in sandpiper.run(*words("workers-ai-native"), "--reasoning-effort", "none", "q", env=env).err
    sandpiper.run(*words("workers-ai-native"), "-m", "@cf/openai/gpt-oss-20b", "--reasoning-effort", "max", "q", env=env)
    assert [b.get("reasoning_effort") for b in server.bodies()] == [None, None, "high"]


def test_workers_ai_takes_an_effort_for_few_models(sandpiper, serve):
    """By its own API each model has parameters of its own. One of which nothing is known is sent none, which is told once."""
    model = "@cf/maker/unheard-of-8b"
    service = mock("workers-ai-native")
    service.models = [model]
    server = serve(sandpiper, [{"answer": {"text": "Fine."}}] * 3, profile=service)
    asked = ["--provider", "workers-ai-native", "-m", model, "--reasoning-effort", "high"]
    r = sandpiper.run(*asked, stdin="q\n\nq\n", env=point(sandpiper, "workers-ai-native", server))
    assert r.code == 0 and r.err.count("the reasoning effort high is not sent: %s has no such setting here" % model) == 1, r
    r = sandpiper.run(*asked, "q", env=point(sandpiper, "workers-ai-native", server, "models: {'unheard-of*': {efforts: [low, high]}}\n"))
    assert r.code == 0 and "effort" not in r.err, r
    assert [b.get("reasoning_effort") for b in server.bodies()] == [None, None, "high"]


SESSION = [
    # three calls at once, one of which fails; the repair
    {"answer": {"text": "I look.", "calls": [{"code": "print(1)"}, {"code": "1/0"}, {"code": "print(3)"}]}},
    {"expect": {"tail": [{"role": "tool"}, {"role": "tool"}, {"role": "tool"}]}, "answer": {"calls": [{"code": "print('mended')"}]}},
    {"expect": {"last": {"content": {"contains": "mended"}}}, "answer": {"text": "Repaired."}},
    # a call that is interrupted, and one behind it that never ran
    {"answer": {"calls": [{"code": "print('started', flush=True)\nimport time\ntime.sleep(60)"}, {"code": "print('never')"}]}},
    {"expect": {"last": {"content": {"contains": "what now"}}}, "answer": {"calls": [{"code": "print(5)"}]}},
    {"answer": {"text": "After the interrupt."}},
    # an answer that is interrupted
    {"answer": {"text": "The beginning of an answer without an end. " * 4, "stall_after": 16, "piece": 4}},
    {"expect": {"last": {"content": {"contains": "and then"}}}, "answer": {"text": "To the end."}},
]


@pytest.mark.slow(50)
@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_session(sandpiper, serve, name):
    service = mock(name)
    server = serve(sandpiper, SESSION, profile=service)
    p = start(sandpiper, *words(name), env=point(sandpiper, name, server))
    p.logfile_read = io.StringIO()
    ask(p, "look", "Repaired")
    p.send("interrupt me\r")
    p.expect("\\| started")
    p.send("\x03")
    p.expect("> ")
    ask(p, "what now", "After the interrupt")
    p.send("go on\r")
    p.expect("The beginning")
    p.send("\x03")
    p.expect("> ")
    ask(p, "and then", "To the end")
    leave(p)
    screen = p.logfile_read.getvalue()
    assert not re.search(r"\(4\d\d\)|refused", screen), screen
    assert len(server.refusals) <= 1, server.refusals
    assert len(server.bodies()) <= len(SESSION) + 1
