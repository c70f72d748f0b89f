"""test_other_api.py - models that call tools by the Responses API alone: asked there at once when they say so, for the rest of the session and
for a day; without thinking where there is no such API. And thoughts that the service no longer knows.
"""
import json
import os
import re

import pytest

from provider_rows import mock, point

CHAT, RESPONSES = {"path": {"regex": "/chat/completions$"}}, {"path": {"regex": "/responses$"}}
NAMED = [(400, "Function tools with reasoning_effort are not supported for test-model in /v1/chat/completions. To use function tools, use /v1/responses or set "
               "reasoning_effort to 'none'."),
         (404, "This model is only supported in v1/responses and not in v1/chat/completions."),
         (404, "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/responses?")]


def refusal(status, text):
    return {"status": status, "json": {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}}


def notices(r):
    return [line for line in r.err.splitlines() if "Responses API" in line]


@pytest.mark.parametrize("status, text", NAMED)
def test_it_is_asked_there(sandpiper, serve, status, text):
    """Two questions, a call in the first: one refusal, one line, and nothing more by chat completions."""
    server = serve(sandpiper, [{"expect": CHAT, "answer": refusal(status, text)},
                               {"expect": RESPONSES, "answer": {"reasoning": "I run it.", "calls": [{"code": "print(6 * 7)"}]}},
                               {"expect": RESPONSES, "answer": {"reasoning": "I say it.", "text": "It is 42."}},
                               {"expect": RESPONSES, "answer": {"text": "Still 42."}}])
    r = sandpiper.run(stdin="how many?\nand now?\n")
    assert r.code == 0 and "It is 42." in r.out and "Still 42." in r.out, r
    assert len(notices(r)) == 1, r


def test_it_is_remembered_for_a_day(sandpiper, serve):
    """The second run of the program begins there; that of another model does not; after a day the first does not either."""
    fine = {"answer": {"text": "Fine."}}
    server = serve(sandpiper, [{"expect": CHAT, "answer": refusal(*NAMED[0])}, dict(fine, expect=RESPONSES), dict(fine, expect=RESPONSES),
                               dict(fine, expect=CHAT), dict(fine, expect=CHAT)])
    assert sandpiper.run("one?").code == 0
    again = sandpiper.run("two?")
    assert again.code == 0 and not notices(again), again
    assert sandpiper.run("-m", "test-other", "three?").code == 0
    kept = [os.path.join(place, f) for name in ("cache", "state") for place, _, files in os.walk(sandpiper.path(name)) for f in files]
    assert kept, "nothing was remembered"
    for path in kept:
        with open(path, errors="surrogateescape") as f:
            text = f.read()
        assert "test-key" not in text, path
        if '"tools"' in text:
            with open(path, "w") as f:
                f.write(re.sub(r'"time": ?(\d+)', lambda m: '"time":%d' % (int(m.group(1)) - 25 * 3600), text))
    assert sandpiper.run("four?").code == 0
    assert len(server.bodies()) == 5


@pytest.mark.slow(3)
@pytest.mark.parametrize("broken", [(403, {"error": "forbidden"}), (500, {"error": "boom"})], ids=["403", "500"])
def test_it_is_remembered_only_once_it_answered(sandpiper, serve, broken):
    """An endpoint that names it and does not serve it is asked by chat completions again by the next run, not refused for a day."""
    tries = 4 if broken[0] == 500 else 1
    serve(sandpiper, [{"expect": CHAT, "answer": refusal(*NAMED[0])}]
          + [{"expect": RESPONSES, "answer": {"status": broken[0], "json": broken[1]}}] * tries + [{"expect": CHAT, "answer": {"text": "Fine."}}])
    assert sandpiper.run("one?").code == (75 if tries > 1 else 77)
    r = sandpiper.run("two?")
    assert r.code == 0 and r.out == "Fine.\n", r


def test_an_effort_that_cannot_be_is_told_again(sandpiper, serve):
    """The next run knows that it can only be none, and says so to whoever asked for another."""
    none = dict(CHAT, reasoning_effort="none")
    serve(sandpiper, [{"expect": CHAT, "answer": refusal(*NAMED[0])}, {"expect": RESPONSES, "answer": {"status": 404, "json": {"detail": "Not Found"}}}]
          + [{"expect": none, "answer": {"text": "Fine."}}] * 3)
    assert sandpiper.run("one?").code == 0
    r = sandpiper.run("--reasoning-effort", "high", "two?")
    assert r.code == 0 and r.err.count("without reasoning") == 1 and "not high" in r.err, r
    assert "reasoning" not in sandpiper.run("three?").err


@pytest.mark.parametrize("missing", [(404, {"error": {"message": "Invalid URL (POST /v1/responses)"}}), (404, {"detail": "Not Found"}),
                                     (405, {"detail": "Method Not Allowed"}), (501, {"error": "not implemented"})], ids=["url", "404", "405", "501"])
def test_without_thinking_where_there_is_none(sandpiper, serve, missing):
    none = dict(CHAT, reasoning_effort="none")
    server = serve(sandpiper, [{"expect": CHAT, "answer": refusal(*NAMED[0])}, {"expect": RESPONSES, "answer": {"status": missing[0], "json": missing[1]}},
                               {"expect": none, "answer": {"calls": [{"code": "print(6 * 7)"}]}}, {"expect": none, "answer": {"text": "It is 42."}},
                               {"expect": none, "answer": {"text": "Still 42."}}])
    r = sandpiper.run(stdin="how many?\nand now?\n")
    assert r.code == 0 and "It is 42." in r.out and "Still 42." in r.out, r
    assert len(server.bodies()) == 5


def test_in_blocks_where_it_cannot_be_told_not_to_think(sandpiper, serve):
    """Without the Responses API a model that always thinks calls no tools: none is never sent, in this run and in the next."""
    chat = dict(CHAT, absent=["tools", "reasoning_effort"])
    server = serve(sandpiper, [{"expect": CHAT, "answer": refusal(*NAMED[0])}, {"expect": RESPONSES, "answer": {"status": 404, "json": {"detail": "Not Found"}}},
                               {"expect": chat, "answer": {"text": "```python\nprint(6 * 7)\n```"}}, {"expect": chat, "answer": {"text": "It is 42."}},
                               {"expect": chat, "answer": {"text": "Still 42."}}], model="gpt-6.2-sol")
    r = sandpiper.run("how many?")
    assert r.code == 0 and r.out == "It is 42.\n" and "by which alone gpt-6.2-sol calls tools; asking it to write code in blocks" in r.err, r
    assert sandpiper.run("and now?").out == "Still 42.\n"
    assert len(server.bodies()) == 5


def test_openai_is_asked_there_at_once(sandpiper, serve):
    server = serve(sandpiper, [{"expect": RESPONSES, "answer": {"text": "Fine."}}], profile=mock("openai"))
    r = sandpiper.run("--provider", "openai", "well?", env=point(sandpiper, "openai", server))
    assert r.code == 0 and not server.refusals and not notices(r), (r, server.refusals)


def test_elsewhere_it_is_not(sandpiper, serve):
    """OPENAI_BASE_URL leads to something that only looks like OpenAI: chat completions, unless it says otherwise."""
    serve(sandpiper, [{"expect": CHAT, "answer": {"text": "Fine."}}])
    r = sandpiper.run("well?")
    assert r.code == 0 and r.out == "Fine.\n", r


STALE = [(400, "The encrypted content for item rs_2 could not be verified. Reason: Encrypted content could not be decrypted or parsed.", "invalid_encrypted_content"),
         (400, "This cannot be read any more.", "invalid_encrypted_content"),
         (404, "Item with id 'rs_2' not found. Items are not persisted when `store` is set to false.", None)]


@pytest.mark.parametrize("status, text, code", STALE)
def test_thoughts_that_are_stale_are_dropped(sandpiper, serve, status, text, code):
    """Asked once more without them; what is thought from then on goes back again."""
    def bare(request):
        assert not [i for i in request.body["input"] if i.get("type") == "reasoning" or "id" in i], request.body["input"]
        return {"answer": {"reasoning": "anew", "calls": [{"code": "print(2)"}]}}

    def thinks(request):
        text = json.dumps(request.body["input"])
        assert '"rs_4"' in text and '"rs_1"' not in text, text
        return {"answer": {"text": "Done."}}

    def stale(request):
        server.shapes.responses.forget()
        return {"answer": {"status": status, "json": {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": code}}}}

    server = serve(sandpiper, [{"answer": {"reasoning": "old", "calls": [{"code": "print(1)"}]}}, {"answer": {"reasoning": "old too", "text": "One."}},
                               stale, bare, thinks])
    r = sandpiper.run("--api", "responses", stdin="one?\ntwo?\n")
    assert r.code == 0 and "One." in r.out and "Done." in r.out, r
    assert len(server.bodies()) == 5 and "could not be verified" not in r.err, r
