"""test_compact.py - old turns become a summary: at /compact, and by itself when the window is nearly full."""
import pexpect

import pytest

LONG = "word " * 9300       # 46,500 bytes, 13,285 tokens as they are counted: over three quarters of 16,384


def says(text):
    return {"answer": {"text": text}}


def contents(request):
    return [m["content"] for m in request.messages if m["role"] != "system"]


@pytest.mark.slow(10)
def test_by_itself_once_and_told_once(sandpiper, serve):
    server = serve(sandpiper, [says(LONG), says("They like words."), says("Second."), says("Third."), says("Fourth.")])
    r = sandpiper.run("--context", "16384", stdin="one\ntwo\nthree\n")
    assert r.code == 0 and "Second." in r.out and "They like words." not in r.out, r
    assert r.err.count("replaced by a summary that test-model wrote") == 1, r
    asked = [contents(q) for q in server.requests]
    assert asked[1][0] == "one", asked[1][0]
    assert "Summarise this conversation" in asked[1][-1], asked[1][-1]
    assert len(asked[2]) == 3 and "They like words." in asked[2][0] and asked[2][1:] == ["Noted.", "two"], asked[2]
    assert asked[3][2:] == ["two", "Second.", "three"], asked[3]
    assert sandpiper.run("-c", "four").out == "Fourth.\n"       # what was saved is the summary, in its place
    assert contents(server.requests[4]) == asked[3] + ["Third.", "four"]


@pytest.mark.slow(3)
def test_a_summary_that_fails(sandpiper, serve):
    """What is done then is what was done before: nothing is lost by trying, and the question is asked."""
    server = serve(sandpiper, [says(LONG), {"answer": {"calls": [{"code": "1"}]}}, says("Second.")])
    r = sandpiper.run("--context", "16384", stdin="one\ntwo\n")
    assert r.code == 0 and "Second." in r.out and "summary" not in r.err, r
    assert contents(server.requests[2])[0] == "one" and contents(server.requests[2])[-1] == "two"


def too_long(words):
    return {"answer": {"status": 400, "json": {"error": {"message": words, "code": "context_length_exceeded"}}}}


@pytest.mark.slow(10)
def test_a_conversation_that_the_service_refuses(sandpiper, serve):
    """Of a window that nobody knew the older half becomes a summary; where its size was told, what fits into it. Told once."""
    server = serve(sandpiper, [says(LONG), says(LONG), says(LONG), too_long("Your input is too long."), says("Of words."), says("Fourth."),
                               too_long("This model's maximum context length is 40000 tokens."), says("Of more words."), says("Fifth.")])
    r = sandpiper.run(stdin="one\ntwo\nthree\nfour\nfive\n")
    assert r.code == 0 and r.err.count("context full: the older turns were replaced by a summary that test-model wrote") == 1, r
    assert "no longer sent" not in r.err and r.out.split()[-2:] == ["Fourth.", "Fifth."], r
    asked = [contents(q) for q in server.requests]
    assert [text[:8] for text in asked[4][:2]] == ["one", "word wor"] and asked[4][2].startswith("Summarise") and len(asked[4]) == 3, asked[4]
    assert "Of words." in asked[5][0] and [text[:5] for text in asked[5][1:]] == ["Noted", "two", "word ", "three", "word ", "four"], asked[5]
    assert "Of words." in asked[7][0] and asked[7][-1].startswith("Summarise") and len(asked[7]) == 9, asked[7]
    assert "Of more words." in asked[8][0] and [text[:6] for text in asked[8][1:]] == ["Noted.", "five"], asked[8]


@pytest.mark.slow(5)
def test_a_summary_that_the_service_refuses_too(sandpiper, serve):
    server = serve(sandpiper, [says(LONG), says(LONG), too_long("Too long."), too_long("Too long."), says("Third.")])
    r = sandpiper.run(stdin="one\ntwo\nthree\n")
    assert r.code == 0 and r.err.count("context full: the oldest turns are no longer sent to the model") == 1, r
    assert [text[:5] for text in contents(server.requests[-1])] == ["two", "word ", "three"]


def test_at_the_users_word(sandpiper, serve):
    server = serve(sandpiper, [{"answer": {"calls": [{"code": "x = 21"}]}}, says("Set."), says("x is 21."), says("Yes.")])
    p = sandpiper.chat()
    p.expect("Ctrl-D ends")
    p.send("/compact\r")
    p.expect("nothing to summarise yet")
    p.send("set x\r")
    p.expect("Set.")
    p.send("/compact\r")
    p.expect(r"Conversation summarised: about \d+ tokens instead of \d+. Variables are kept.")
    p.send("still there?\r")
    p.expect("Yes.")
    p.send("\x04")
    p.expect(pexpect.EOF)
    last = contents(server.requests[3])
    assert len(last) == 3 and last[0].endswith("x is 21.") and last[1:] == ["Noted.", "still there?"], last
