"""test_cost.py - what a question costs: --usage, /tokens, --max-cost, and where a price comes from."""
import json
import re

import pexpect
import pytest

PRICED = "models:\n  test-model: {price: [10, 1, 100]}\n"
CALLS = {"answer": {"calls": [{"code": "print(6 * 7)"}], "usage": [1000, 50]}}
SAYS = {"answer": {"text": "It is 42.", "usage": [2000, 10]}}


def reply(usage, text="Four."):
    return {"answer": {"json": {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}], "usage": usage}}}


def events(r, kind):
    return [e for e in map(json.loads, r.out.splitlines()) if e["type"] == kind]


def test_usage_is_told_with_its_price(sandpiper, serve):
    serve(sandpiper, [CALLS, SAYS])
    sandpiper.configure(PRICED)
    r = sandpiper.run("--usage", "go")
    line = re.sub(r"\d+\.\d s", "T", r.err.splitlines()[-1])
    assert r.code == 0 and r.out == "It is 42.\n" and line == "sandpiper: 3,000 tokens in, 60 out, 2 requests, T, $0.036", r


def test_the_session_is_summed_up(sandpiper, serve):
    serve(sandpiper, [SAYS, SAYS])
    sandpiper.configure(PRICED + "usage: true\n")
    r = sandpiper.run(stdin="one\ntwo\n")
    lines = [line for line in r.err.splitlines() if " tokens in" in line]
    assert len(lines) == 3 and "session: 4,000 tokens in, 20 out, 2 requests" in lines[2] and lines[2].endswith("$0.042"), r
    r = sandpiper.run("-q", "--usage", "--max-rounds", "0")     # not reached: a usage error, and no line of it
    assert "tokens in" not in r.err, r


@pytest.mark.parametrize("usage, cached, reasoning, cost", [
    ({"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 900},
      "completion_tokens_details": {"reasoning_tokens": 15}}, 900, 15, 0.0039),
    ({"prompt_tokens": 1000, "completion_tokens": 20, "prompt_cache_hit_tokens": 100}, 100, None, 0.0111),
    ({"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": -5}}, None, None, 0.012),
    ({"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 5000}}, 5000, None, 0.003),
    ({"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": "many"}, None, None, 0.012),
])
def test_cached_tokens_cost_less(sandpiper, serve, usage, cached, reasoning, cost):
    serve(sandpiper, [reply(usage)])
    sandpiper.configure(PRICED)
    r = sandpiper.run("--json", "--no-stream", "go")
    one, done = events(r, "usage")[0], events(r, "done")[0]["usage"]
    assert (one["cached_tokens"], one["reasoning_tokens"], round(one["cost"], 9)) == (cached, reasoning, cost), r
    assert (done["cached_tokens"], done["reasoning_tokens"], round(done["cost"], 9)) == (cached, reasoning, cost), r


def test_no_price_is_known(sandpiper, serve):
    server = serve(sandpiper, [SAYS])
    r = sandpiper.run("--json", "go")
    assert events(r, "usage")[0]["cost"] is None and events(r, "done")[0]["usage"]["cost"] is None, r
    r = sandpiper.run("--max-cost", "1", "again")
    assert r.code == 2 and "no price is known for test-model" in r.err and 'models: {"test-model": {price: [in, out]}}' in r.err, r
    assert len(server.requests) == 1, server.requests


def test_the_services_list_has_a_price(sandpiper, serve):
    server = serve(sandpiper, [SAYS])
    server.others["/v1/models"] = {"data": [{"id": "test-model", "pricing": {"prompt": "0.00001", "completion": "0.0001"}}]}
    assert sandpiper.run("models").code == 0
    r = sandpiper.run("--json", "--max-cost", "1", "go")
    assert r.code == 0 and round(events(r, "usage")[0]["cost"], 9) == 0.021, r


def test_max_cost_stops_before_the_next_request(sandpiper, serve):
    server = serve(sandpiper, [CALLS])
    sandpiper.configure(PRICED)
    r = sandpiper.run("--max-cost", "0.015", "go")
    assert r.code == 5 and "this session has cost $0.015, its limit is $0.015 (--max-cost)" in r.err and len(server.requests) == 1, r


def test_max_cost_is_of_the_whole_script(sandpiper, serve):
    serve(sandpiper, [SAYS, SAYS])
    sandpiper.configure(PRICED + "max_cost: 0.03\n")
    r = sandpiper.run(stdin="one\ntwo\nthree\n")
    assert r.code == 5 and r.out.count("It is 42.") == 2 and "has cost $0.042, its limit is $0.03" in r.err, r


@pytest.mark.parametrize("price", ["5", "[1]", "[1, 2, 3, 4]", "[1, -2]", "[1, x]", "[1, [2]]"])
def test_bad_prices(bare, price):
    bare.configure("models:\n  m: {price: %s}\n" % price)
    r = bare.run("config")
    assert r.code == 2 and "config.yaml:2" in r.err and "dollars per million tokens" in r.err, r


def test_tokens_in_the_chat(sandpiper, serve):
    serve(sandpiper, [SAYS])
    sandpiper.configure(PRICED)
    p = sandpiper.chat("--context", "8192")
    p.expect("Ctrl-D ends")
    p.send("go\r")
    p.expect("It is 42.")
    p.send("/tokens\r")
    p.expect(r"2,000 tokens in, 10 out, 1 request, \d+\.\d s, \$0\.021")
    p.expect(r"The conversation has about \d+ tokens of the 8,192 that fit into the model's\s+window\.")        # no word is cut in two
    p.send("\x04")
    p.expect(pexpect.EOF)
