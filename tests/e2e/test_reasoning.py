"""test_reasoning.py - the model's thoughts: on stderr when asked for, never on stdout; how long it should think goes into the request."""
import json
import subprocess

import pytest

THOUGHT = "Let me see\033[31m: six times seven."
ANSWER = {"answer": {"reasoning": THOUGHT, "text": "It is 42."}}


def test_thoughts_are_hidden_unless_asked_for(sandpiper, serve):
    serve(sandpiper, [ANSWER])
    r = sandpiper.run("how many?")
    assert r.code == 0 and r.out == "It is 42.\n" and "six times" not in r.err, r


@pytest.mark.parametrize("more, env, yaml", [(["--show-reasoning"], {}, ""), ([], {"SANDPIPER_SHOW_REASONING": "1"}, ""),
                                             ([], {}, "show_reasoning: true\n")])
def test_thoughts_are_shown_on_stderr(sandpiper, serve, more, env, yaml):
    serve(sandpiper, [ANSWER])
    if yaml:
        sandpiper.configure(yaml)
    r = sandpiper.run("how many?", *more, env=env)
    assert r.code == 0 and r.out == "It is 42.\n", r
    assert "six times seven." in r.err and "\033" not in r.err, r


def test_colour_dims_them_and_quiet_drops_them(sandpiper, serve):
    serve(sandpiper, [ANSWER, ANSWER])
    r = sandpiper.run("--show-reasoning", "--color", "always", "how many?")
    assert "\033[2m" in r.err and "\033[31m" not in r.err and r.out == "It is 42.\n", r
    r = sandpiper.run("--show-reasoning", "-q", "how many?")
    assert r.err == "" and r.out == "It is 42.\n", r


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_answer_begins_its_own_line(sandpiper, serve, more):
    serve(sandpiper, [{"answer": {"reasoning": "I think", "text": "It is so."}}])
    r = sandpiper.run("--show-reasoning", *more, "q", stderr=subprocess.STDOUT)
    lines = r.out.splitlines()
    assert "  I think" in lines and "" not in lines, r
    assert all(line.startswith("{") for line in lines if line != "  I think") if more else lines[-1] == "It is so.", r


def test_beside_json(sandpiper, serve):
    serve(sandpiper, [ANSWER])
    r = sandpiper.run("--json", "--show-reasoning", "how many?")
    assert r.code == 0 and "six times seven." in r.err and "six times" not in r.out, r
    assert all(json.loads(line) for line in r.out.splitlines())


@pytest.mark.parametrize("more, env, yaml, wanted", [
    (["--reasoning-effort", "low"], {"SANDPIPER_REASONING_EFFORT": "high"}, "", "low"),
    ([], {"SANDPIPER_REASONING_EFFORT": "high"}, "reasoning_effort: max\n", "high"),
    ([], {}, "reasoning_effort: minimal\n", "minimal"),
    ([], {}, "", None),
])
def test_effort(sandpiper, serve, more, env, yaml, wanted):
    server = serve(sandpiper, [ANSWER])
    if yaml:
        sandpiper.configure(yaml)
    r = sandpiper.run("how many?", *more, env=env)
    assert r.code == 0 and server.requests[0].body.get("reasoning_effort") == wanted, r


def test_effort_that_is_refused_is_left_out(sandpiper, serve):
    body = {"error": {"message": "Unknown parameter: 'reasoning_effort'", "param": "reasoning_effort"}}
    refusal = {"answer": {"status": 400, "body": json.dumps(body), "type": "application/json"}}
    server = serve(sandpiper, [refusal, ANSWER])
    r = sandpiper.run("--reasoning-effort", "low", "how many?")
    assert r.code == 0 and r.out == "It is 42.\n", r
    assert server.requests[0].body["reasoning_effort"] == "low" and "reasoning_effort" not in server.requests[1].body


def test_an_unknown_effort_is_refused(bare):
    r = bare.run("--reasoning-effort", "lots", "q", env={"OPENAI_API_KEY": "k"})
    assert r.code == 2 and "minimal" in r.err, r


@pytest.mark.parametrize("more, shown", [([], 1), (["-v"], 2), (["--show-reasoning"], 2), (["-q"], 1)])
def test_all_that_came_was_thought(sandpiper, serve, more, shown):
    """The error has the end of it; all of it is shown once to whoever wants it."""
    thought = "At first a long way round. " * 40 + "Six times seven\033[31m is 42."
    serve(sandpiper, [{"answer": {"reasoning": "Hm."}}, {"answer": {"reasoning": thought}}])
    r = sandpiper.run(*more, "how many?")
    assert r.code == 1 and r.out == "" and "\033" not in r.err, r
    assert 'test-model returned no text (tried twice), only reasoning: "... ' in r.err and 'is 42."\n' in r.err, r
    assert r.err.count("Six times seven") == shown, r
    assert len(r.err) < 1000 or shown == 2, r


# ---- thoughts in the text itself

UNOPENED = {"answer": {"text": "Six times seven, I see.\n</think>\n\nIt is 42."}}


@pytest.mark.parametrize("text", ["[THINK]Six times seven, I see.[/THINK]It is 42.", "<thinking>\nSix times seven, I see.\n</thinking>\n\nIt is 42.",
                                  "<reasoning>Six times seven, I see.</reasoning>It is 42.", "<thought>Six times seven, I see.</thought>It is 42.",
                                  UNOPENED["answer"]["text"]])
def test_thoughts_in_the_text_are_no_answer(sandpiper, serve, text):
    server = serve(sandpiper, [{"answer": {"text": text}}, {"answer": {"text": text}}, {"answer": {"text": "Yes."}}])
    r = sandpiper.run("how many?")
    assert r.code == 0 and r.out == "It is 42.\n" and "I see" not in r.err, r
    r = sandpiper.run("--show-reasoning", stdin="how many?\nsure?\n")
    assert r.code == 0 and r.out == "It is 42.\nYes.\n" and "Six times seven, I see." in r.err, r
    said = [m["content"] for m in server.requests[2].body["messages"] if m["role"] == "assistant"]
    assert said == ["It is 42."], said


def test_a_model_that_leaves_the_tag_out_is_known_from_then_on(sandpiper, serve):
    """What streamed is unsaid once; from then on text waits for the end of the thought, and is text where none comes."""
    serve(sandpiper, [UNOPENED, UNOPENED, {"answer": {"text": "No thought, no tag."}}])
    r = sandpiper.run("--json", stdin="a\nb\nc\n")
    texts = {}
    for line in map(json.loads, r.out.splitlines()):
        if line["type"] == "text":
            key = line["question"], line["reply"]
            texts[key] = texts.get(key, "") + line["text"]
    assert texts[1, 2] == texts[2, 1] == "It is 42." and texts[3, 1] == "No thought, no tag.", r
    assert texts[1, 1].startswith("Six times seven") and (2, 2) not in texts, r
