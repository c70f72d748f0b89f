"""test_debug_reply.py - "sandpiper debug": every wire case read as its meta.json expects, through the program; and the request that would be sent."""
import gzip
import json
import os

import pytest

from conftest import TREE

OWN = os.path.join(TREE, "tests", "wire")
MEMBERS = ["text", "reasoning", "refusal", "tool_calls", "finish_reason", "usage", "done", "truncated", "error", "action", "retry"]
RETRYABLE = {"rate_limit", "overloaded", "server"}

# The cases' words for a retry: after_ms, without, stream. A text that is not here fails, so that no case passes unread.
BACKOFF = (500, None, None)
RETRIES = {
    "backoff": BACKOFF,
    "backoff 0.5 s": BACKOFF,
    "backoff: date in the past": BACKOFF,
    "once": BACKOFF,
    "once, with the tools still declared": BACKOFF,
    "after 2 s": (2000, None, None),
    "after 1.5 s": (1500, None, None),
    "poll": (2000, None, None),
    "poll every 1-2 s, up to minutes": (2000, None, None),
    "nostream": (0, None, False),
    "with max_completion_tokens": (0, "max_tokens", None),
    "without max_tokens": (0, "max_tokens", None),
    "without max_completion_tokens": (0, "max_completion_tokens", None),
    "without stream_options": (0, "stream_options", None),
    "without reasoning_effort": (0, "reasoning_effort", None),
    "without temperature": (0, "temperature", None),
    "without tools": (0, "tools", None),
    "without include": (0, "include", None),
    "without reasoning.summary": (0, "reasoning.summary", None),
    "without reasoning items": (0, "reasoning items", None),
}
# Hugging Face says how long loading takes; its case asks for a wait, and polling is one.
POLLED = {"104-error-string"}


def read(folder, name, mode="r"):
    try:
        with open(os.path.join(folder, name), mode) as f:
            return f.read()
    except FileNotFoundError:
        return None


def understand(program, folder, *more):
    args = ["debug", "reply", "--status", (read(folder, "status") or "200").strip(), *more]
    for line in (read(folder, "response.headers") or "").splitlines():
        if ":" in line:
            args += ["--header", line.strip()]
    r = program.run(*args, stdin=read(folder, "response.body", "rb"))
    assert r.code == 0 and r.err == "" and r.out.count("\n") == 1, r
    got = json.loads(r.out)
    assert list(got) == MEMBERS, r
    for call in got["tool_calls"]:
        assert list(call) == ["id", "name", "arguments", "code", "runnable"] and call["id"], r
        assert call["runnable"] or call["code"] is None, r
    return got


def retry_of(name, text):
    assert text in RETRIES, "a retry that this test does not know: %r" % text
    after, without, stream = RETRIES[text]
    return {"after_ms": 2000 if name in POLLED else after, "without": without, "stream": stream}


def check_error(want, got):
    """error = fail, fatal = fail. That the loop asks again when nothing was shown (WIRE 6) stands in "retry"."""
    kind = want.get("class")
    assert got["error"], got
    if kind == "retryable":
        assert got["error"]["class"] in RETRYABLE, got
    elif kind in ("context", "auth", "truncated"):
        assert got["error"]["class"] == kind and got["truncated"] == (kind == "truncated"), got
    elif kind == "broken":
        assert got["error"]["class"] == "not_an_api" and got["retry"]["stream"] is False, got
    again = kind in ("retryable", "truncated", "broken") and not got["text"]
    assert got["action"] == "fail", got
    assert (got["retry"] is not None) == again, got
    if "partial_text" in want:
        assert got["text"] == want["partial_text"], got


def check_action(name, want, got):
    if "call" in want:
        assert got["action"] == "run", got
        assert [c["code"] for c in got["tool_calls"]] == [c["code"] for c in want["call"]], got
        assert all(c["runnable"] for c in got["tool_calls"]), got
    elif "text" in want:
        assert got["action"] == "answer" and got["text"] == want["text"] and not got["tool_calls"], got
    elif "tool_error" in want:
        assert got["action"] == "tool_error" and got["tool_calls"] and not got["tool_calls"][0]["runnable"], got
    elif "nudge" in want:
        assert got["action"] == "nudge" and not got["text"] and got["error"] is None, got
    elif "filter" in want:
        assert got["action"] == "fail" and got["error"]["class"] == "content_filter", got
    elif "retry" in want:
        assert got["action"] == "retry" and got["error"] and got["retry"] == retry_of(name, want["retry"]), got
    elif "error" in want:
        check_error(want, got)
    elif "usage" in want:
        assert got["usage"]["prompt_tokens"] == want["usage"]["input"] and got["usage"]["completion_tokens"] == want["usage"]["output"], got
    elif "reasoning" in want:
        assert got["reasoning"] == want["reasoning"], got
    else:           # what goes into the next request is the unit test's
        assert "history" in want, "an action that this test does not know: %r" % want


def check_recorded(want, got):
    if want["error"]:
        assert got["error"] and got["error"]["message"][:60] == want["error"]["message"][:60], got
        return
    assert got["error"] is None, got
    calls = [(c["id"], c["name"], c["arguments"]) for c in got["tool_calls"]]
    ids = want.get("tool_call_ids") or [None] * len(calls)
    assert len(calls) == len(want["tool_calls"]), got
    for (own_id, name, arguments), call, call_id in zip(calls, want["tool_calls"], ids):
        assert name == call["name"] and (own_id == call_id or not call_id), got
        assert arguments == call["arguments"] or json.loads(arguments) == json.loads(call["arguments"]), got
    text = want["text"] or ""
    if text.startswith("<think>"):          # taken out of the text, and shown as what it is
        inner, _, text = text[len("<think>"):].partition("</think>")
        assert got["reasoning"] and inner.startswith(got["reasoning"][:200]), got
        text = text.lstrip()
    else:
        assert (got["reasoning"] or "") == (want["reasoning"] or ""), got
    refusal = want.get("refusal") or ""
    assert (got["refusal"] or "") == refusal, got
    assert (got["text"] or "") == text or got["text"] == refusal, got
    assert (got["finish_reason"] or "") == (want["finish_reason"] or ""), got
    if want["usage"]:
        assert got["usage"]["prompt_tokens"] == want["usage"]["prompt_tokens"], got
        assert got["usage"]["completion_tokens"] == want["usage"]["completion_tokens"], got
    assert got["action"] in ("answer", "tool_error", "nudge") or got["finish_reason"] == "length", got     # its tools are not ours: none may run


def check_folder(program, root, least):
    failed, names = [], sorted(os.listdir(root))
    for name in names:
        folder = os.path.join(root, name)
        meta = read(folder, "meta.json")
        if meta is None:
            continue
        meta = json.loads(meta)
        try:
            got = understand(program, folder, *(["--dialect", "blocks"] if meta.get("dialect") == "blocks" else []))
            if "actions" in meta["expected"]:
                for action in meta["expected"]["actions"]:
                    check_action(name, action, got)
            else:
                check_recorded(meta["expected"], got)
        except (AssertionError, KeyError, TypeError) as e:
            failed.append("%s: %s" % (name, str(e)[:600]))
    assert not failed, "%d of %d:\n%s" % (len(failed), len(names), "\n".join(failed))
    assert len(names) >= least


@pytest.mark.slow(5)
def test_own_cases(bare):
    check_folder(bare, OWN, 100)


@pytest.mark.parametrize("kind", ["synthetic", "recorded"])
def test_given_cases(bare, kind):
    root = os.path.join(os.environ.get("WIRE_CASES", ""), kind)
    if not os.environ.get("WIRE_CASES"):
        pytest.skip("WIRE_CASES is not set")
    check_folder(bare, root, 1)


def test_an_unknown_retry_fails():
    with pytest.raises(AssertionError, match="does not know"):
        retry_of("x", "whenever it likes")


BLOCK = json.dumps({"choices": [{"message": {"content": "See:\n```python\nprint(1)\n```\nGood.\n"}, "finish_reason": "stop"}]})


def test_the_dialect_decides_what_a_block_is(bare):
    native = json.loads(bare.run("debug", "reply", stdin=BLOCK).out)
    assert native["action"] == "answer" and native["tool_calls"] == []
    blocks = json.loads(bare.run("debug", "reply", "--dialect", "blocks", stdin=BLOCK).out)
    assert blocks["action"] == "run" and blocks["text"] == "See:"
    assert blocks["tool_calls"][0]["code"] == "print(1)\n" and blocks["tool_calls"][0]["name"] is None


def test_status_and_headers_count(bare):
    body = '{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}'
    got = json.loads(bare.run("debug", "reply", "--status", "429", "--header", "retry-AFTER:7", stdin=body).out)
    assert got["error"] == {"class": "rate_limit", "message": "slow down"} and got["retry"]["after_ms"] == 7000
    got = json.loads(bare.run("debug", "reply", "--status=429", "--header", "Retry-After: 3600", stdin=body).out)
    assert got["action"] == "fail" and got["retry"] is None and got["error"]["class"] == "rate_limit"
    got = json.loads(bare.run("debug", "reply", "--status", "401", stdin="").out)
    assert got["error"]["class"] == "auth" and got["action"] == "fail"


def test_a_packed_body_is_unpacked(bare):
    got = json.loads(bare.run("debug", "reply", stdin=gzip.compress(BLOCK.encode())).out)
    assert got["action"] == "answer" and got["text"].startswith("See:")
    got = json.loads(bare.run("debug", "reply", stdin=b"\x1f\x8b\x08garbage").out)
    assert got["error"]["class"] == "not_an_api"


def test_a_long_stream_is_read_whole(bare):
    event = "data: %s\n\n" % json.dumps({"id": "x" * 100, "choices": [{"index": 0, "delta": {"content": "word "}}]})
    r = bare.run("debug", "reply", stdin=event * 80000 + "data: [DONE]\n\n")
    got = json.loads(r.out)
    assert len(event) * 80000 > 12 << 20 and got["error"] is None and got["text"] == "word " * 80000 and got["done"] is True


def test_bad_words(bare):
    for args, piece in [(["--status", "99"], "--status"), (["--header", "nocolon"], "Retry-After"), (["x"], "stdin")]:
        r = bare.run("debug", "reply", *args, stdin="{}")
        assert r.code == 2 and piece in r.err and len(r.err.splitlines()) <= 2, r


def test_request_is_what_is_sent(sandpiper, serve):
    server = serve(sandpiper, [{"answer": {"text": "42"}}])
    shown = sandpiper.run("debug", "request", "--temperature", "0.5", "how many?")
    assert shown.code == 0 and shown.err == "" and not server.requests, shown
    assert sandpiper.run("--temperature", "0.5", "how many?").code == 0
    body = json.loads(shown.out)
    assert body == server.requests[0].body, shown
    assert body["messages"][-1]["content"] == "how many?" and "test-key" not in shown.out


# ---- calls written as text

CODES = ["print(6*7)", "x = 'a\\n' + \"<b>\"\nfor i in range(2):\n    print(i, x)"]


def filled(form, codes):
    for number, code in enumerate(codes, 1):
        as_json = json.dumps(code)
        for name, by in ("jsonjson", json.dumps(json.dumps({"code": code}))), ("json", as_json), ("python", as_json), ("code", code):
            form = form.replace("@%s%d@" % (name, number), by)
    return form


def forms():
    with open(os.path.join(TREE, "tests", "forms", "calls.json")) as f:
        return [pytest.param(form, id=form["name"]) for form in json.load(f)]


def read_text(program, text, piece=0):
    def choice(**members):
        return json.dumps({"choices": [dict(index=0, **members)]})
    if piece:
        events = [choice(delta={"content": text[i:i + piece]}) for i in range(0, len(text), piece)] + [choice(delta={}, finish_reason="stop"), "[DONE]"]
        body = "".join("data: %s\n\n" % event for event in events)
    else:
        body = choice(message={"role": "assistant", "content": text}, finish_reason="stop")
    got = json.loads(program.run("debug", "reply", stdin=body).out)
    return got["text"] or "", [c["code"] for c in got["tool_calls"] if c["runnable"]], got


@pytest.mark.parametrize("form", forms())
def test_calls_written_as_text(bare, form):
    one = filled(form["form"], CODES)
    two = filled(form["two"] if "two" in form else form["form"] + "\n" + form["form"].replace("1@", "2@"), CODES)
    for text, lead, codes in (one, "", CODES[:1]), ("I will compute it.\n\n" + one, "I will compute it.", CODES[:1]), (two, "", CODES):
        for piece in 0, 1, 7:
            said, ran, got = read_text(bare, text, piece)
            assert ran == codes and said.strip() == lead and got["action"] == "run" and len(got["tool_calls"]) == len(codes), got


BARE = ['{"name": "execute_python", "parameters": {"code": @json1@}}', '[{"name": "execute_python", "arguments": {"code": @json1@}}]',
        '[execute_python(code=@python1@)]', '{"tool_calls": [{"name": "execute_python", "arguments": {"code": @json1@}}]}']


@pytest.mark.parametrize("form", BARE)
def test_a_bare_call_ends_its_sentence(bare, form):
    """On the line of the text before it, when nothing follows it; what is quoted, or talked about, is text."""
    call = filled(form, CODES)
    for piece in 0, 1, 7:
        said, ran, got = read_text(bare, "I will compute it: " + call, piece)
        assert ran == CODES[:1] and said.strip() == "I will compute it:" and got["action"] == "run", got
        for text in "It is written `%s`.", "It is written \"%s\".", "It is written %s with any code.", "f(%s)":
            said, ran, got = read_text(bare, text % call, piece)
            assert ran == [] and said == text % call, got


@pytest.mark.no_asan
@pytest.mark.parametrize("form", forms())
def test_calls_broken_off_never_run_in_part(bare, form):
    """At some of its bytes, another few in each form; at every one in tests/unit/calls, without a start of the program for each."""
    lead = "Let me see."
    text = lead + "\n" + filled(form["form"], CODES)
    for n in {*range(len(lead) + len(text) % 6, len(text), 6), len(text) - 1}:
        said, ran, got = read_text(bare, text[:n])
        assert ran in ([], CODES[:1]) and said.startswith(lead), got
        assert got["tool_calls"] or said == text[:n], got


def test_a_call_as_the_api_has_it_counts_alone(bare):
    call = {"id": "a", "type": "function", "function": {"name": "execute_python", "arguments": json.dumps({"code": "print(1)"})}}
    text = "<tool_call>{\"name\": \"execute_python\", \"arguments\": {\"code\": \"print(2)\"}}</tool_call>"
    body = json.dumps({"choices": [{"message": {"content": text, "tool_calls": [call]}, "finish_reason": "stop"}]})
    got = json.loads(bare.run("debug", "reply", stdin=body).out)
    assert [c["code"] for c in got["tool_calls"]] == ["print(1)"] and got["text"] == text, got
