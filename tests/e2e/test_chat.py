"""test_chat.py - the chat in a real pseudo-terminal: conversations, errors, files, the window, code in answers."""
import re
import time

import pytest

from chat_keys import AT_PROMPT, said, start, ask, leave


def test_a_conversation(sandpiper_on, serve):
    serve(sandpiper_on, [{"expect": {"last": {"content": "set x"}}, "answer": {"text": "I set it.", "calls": [{"code": "x = 21\nprint('set')"}]}},
                         {"answer": {"text": "It is set."}},
                         {"expect": {"last": {"content": "double it"}}, "answer": {"calls": [{"code": "x * 2"}]}},
                         {"expect": {"last": {"content": {"contains": "42"}}}, "answer": {"text": "It is 42."}}])
    p = start(sandpiper_on)
    p.send("set x\r")
    p.expect("I set it.\r\n")
    p.expect("1  x = 21\r\n  2  print")
    p.expect(re.escape("| set\r\n"))
    p.expect("It is set.\r\n")
    p.expect("> ")
    p.send("double it\r")
    p.expect("= 42\r\n")
    p.expect("It is 42.\r\n")
    p.expect("> ")
    leave(p)


def test_without_an_engine_the_effect_is_said_first(bare, serve):
    serve(bare, [{"answer": {"calls": [{"code": "1"}]}}] * 2)
    p = start(bare, env={"PATH": bare.work, "SANDPIPER_SANDBOX": "auto"}, size=(30, 200))
    p.send("go\r")
    p.expect("sandpiper: cannot run code: none of docker, podman and bubblewrap is installed\r\n  Quickest: sudo apt install bubblewrap ")
    assert p.before.rstrip().endswith("! not run") or "! not run\r\n" in p.before, p.before
    p.expect(AT_PROMPT)
    leave(p)
    r = bare.run("go", env={"PATH": bare.work, "SANDPIPER_SANDBOX": "auto"})
    assert r.code == 3 and "cannot run code: none of docker, podman and bubblewrap is installed" in r.err and "there is no sandbox" not in r.err, r


def test_files_go_with_the_first_question(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": {"contains": ["/mnt/data/notes.txt", "forty-two", "what?"]}}}, "answer": {"text": "Heard."}},
                      {"expect": {"last": {"content": "again"}}, "answer": {"text": "Heard."}}])
    sandpiper.write("notes.txt", "forty-two\n")
    p = start(sandpiper, "--add", "notes.txt")
    ask(p, "what?", "Heard")
    ask(p, "again", "Heard")
    leave(p)


@pytest.mark.parametrize("answer, said, not_said", [
    ({"status": 404, "json": {"error": {"message": "The model does not exist", "code": "model_not_found"}}}, "Choose another: /model NAME", "-m MODEL"),
    ({"status": 400, "json": {"error": {"message": "maximum context length is 10 tokens"}}}, "/clear, or choose a model with a larger context window: /model NAME", "session"),
    ({"status": 400, "json": {"error": {"message": "no such thing"}}}, "Start sandpiper again with --trace FILE", "xxx"),
    ({"status": 529, "headers": {"Retry-After": "600"}, "json": {"error": {"message": "full"}}}, "Try again in 10 min, or choose another model: /model NAME", "use another"),
    ({"text": "It is", "finish": "length"}, "start sandpiper again with more --max-tokens", "allows more"),
])
def test_errors_name_what_the_chat_has(bare, serve, answer, said, not_said):
    """Each in its words of the chat; the same error on the command line names a flag."""
    serve(bare, [{"answer": answer}, {"answer": answer}])
    p = start(bare, size=(30, 300))
    p.send("go\r")
    p.expect(re.escape(said))
    shown = p.before + p.after
    p.expect(AT_PROMPT)
    assert not_said not in shown + p.before, shown + p.before
    leave(p)
    r = bare.run("go")
    assert said not in r.err and "/model" not in r.err and "/clear" not in r.err, r


def test_no_key_in_the_chat(bare, serve):
    bare.key = None
    refusal = {"answer": {"status": 401, "json": {"error": {"message": "who are you?"}}}}
    serve(bare, [refusal, refusal])
    p = start(bare, size=(30, 200))
    ask(p, "go", "No API key was sent\\. Quit, export OPENAI_API_KEY=\\.\\.\\., start again")
    leave(p)
    assert "set OPENAI_API_KEY" in bare.run("go").err


def test_only_reasoning_in_the_chat(bare, serve):
    serve(bare, [{"answer": {"reasoning": "Hm."}}, {"answer": {"reasoning": "Six times seven, so 42."}}])
    p = start(bare, size=(30, 200))
    p.send("how many?\r")
    p.expect(re.escape('test-model returned no text (tried twice), only reasoning: "Six times seven, so 42."'))
    p.expect(re.escape("Rephrase, or choose another model: /model NAME"))
    p.expect("/retry asks again")
    p.expect("> ")
    leave(p)


def test_a_full_window_is_told_once(bare, serve):
    """It fills again and again: every few of these questions the oldest ones must go."""
    server = serve(bare, [{"answer": {"text": "Heard %d." % i}} for i in range(12)])
    p = start(bare, "--context", "1200", "--max-tokens", "100", size=(30, 200))
    told = ""
    for i in range(12):
        p.send("%s?\r" % ("word%d " % i * 130))
        p.expect("Heard %d\\." % i)
        told += p.before
        p.expect(AT_PROMPT)
        told += p.before
    assert told.count("context full: the oldest turns are no longer sent to the model") == 1, told
    turns = [len(r.messages) for r in server.requests]
    assert sum(b < a for a, b in zip(turns, turns[1:])) >= 3, turns
    leave(p)


LOOP = {"answer": {"text": "Like this:\n```python\nfor i in range(3): pass\n```"}}


def test_code_to_be_read_stays_the_answer(sandpiper, serve):
    """It streams at once; what the model says to the question about it is neither shown nor kept."""
    serve(sandpiper, [LOOP, {"answer": {"text": "OK, never mind."}},
                      {"expect": {"roles": "system user assistant user", "last": {"content": "thanks"}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("how do I write a loop?\r")
    p.expect(r"Like this:\r\n\r\n(\x1b\[[0-9;]*m|  )*for(\x1b\[[0-9;]*m| )*i")
    p.expect("the answer contains code; asking test-model whether to run it\r\n")
    p.expect(AT_PROMPT)
    assert "never mind" not in p.before, p.before
    ask(p, "thanks", "Heard")
    leave(p)


def test_ctrl_c_at_that_question_leaves_the_answer(sandpiper, serve):
    server = serve(sandpiper, [LOOP, {"answer": {"text": "OK.", "wait": 20}},
                               {"expect": {"roles": "system user assistant user", "last": {"content": "thanks"}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("how do I write a loop?\r")
    p.expect("whether to run it\r\n")
    until = time.monotonic() + 10
    while len(server.requests) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect(AT_PROMPT)
    assert "/retry" not in p.before, p.before           # there is an answer
    ask(p, "/retry", "Nothing to retry")
    ask(p, "thanks", "Heard")
    leave(p)


def test_code_that_is_to_be_run_runs(sandpiper, serve):
    serve(sandpiper, [LOOP, {"answer": {"text": "Yes.", "calls": [{"code": "print(6 * 7)"}]}}, {"answer": {"text": "It is 42."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("compute it\r")
    p.expect("Like this:")
    p.expect("whether to run it\r\n")
    p.expect("Yes\\.\r\n")
    p.expect(re.escape("| 42\r\n"))
    p.expect("It is 42\\.\r\n")
    p.expect("> ")
    leave(p)


def test_the_same_code_again_and_again(sandpiper, serve):
    call = {"answer": {"calls": [{"code": "print(6 * 7)"}]}}
    serve(sandpiper, [call, call, call, call, {"expect": {"tail": [{"role": "assistant", "content": "42"}, {"content": "thanks"}]}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("go\r")
    p.expect("already run twice with the same result")
    p.expect("\n42\r\n")
    p.expect("the same code again and again instead of an answer; the output of the code is shown instead")
    p.expect(AT_PROMPT)
    assert "/retry" not in p.before, p.before
    ask(p, "thanks", "Heard")
    leave(p)


def test_errors_go_on(bare, serve):
    serve(bare, [{"answer": {"status": 401, "json": {"error": {"message": "bad key"}}}}, said("again")])
    p = start(bare)
    ask(p, "go", "401")
    ask(p, "again", "Heard")
    leave(p)
