"""test_compact.py - old turns become a summary: at /compact, and by itself when the window is nearly full."""
import pexpect

LONG = "word " * 9300       # 46,500 bytes, 13,285 tokens as they are counted: over three quarters of 16,384


def says(text):
    return {"answer": {"text": text}}


def contents(request):
    return [m["content"] for m in request.messages if m["role"] != "system"]


def test_by_itself_once_and_told_once(sandpiper, serve):
    server = serve(sandpiper, [says(LONG), says("They like words."), says("Second."), says("Third."), says("Fourth.")])
    r = sandpiper.run("--context", "16384", stdin="one\ntwo\nthree\n")
    assert r.code == 0 and "Second." in r.out and "They like words." not in r.out, r
    assert r.err.count("replaced by a summary of test-model's") == 1, r
    asked = [contents(q) for q in server.requests]
    assert asked[1][0] == "one", asked[1][0]
    assert "Summarise this conversation" in asked[1][-1], asked[1][-1]
    assert len(asked[2]) == 3 and "They like words." in asked[2][0] and asked[2][1:] == ["Noted.", "two"], asked[2]
    assert asked[3][2:] == ["two", "Second.", "three"], asked[3]
    assert sandpiper.run("-c", "four").out == "Fourth.\n"       # what was saved is the summary, in its place
    assert contents(server.requests[4]) == asked[3] + ["Third.", "four"]


def test_a_summary_that_fails(sandpiper, serve):
    """What is done then is what was done before: nothing is lost by trying, and the question is asked."""
    server = serve(sandpiper, [says(LONG), {"answer": {"calls": [{"code": "1"}]}}, says("Second.")])
    r = sandpiper.run("--context", "16384", stdin="one\ntwo\n")
    assert r.code == 0 and "Second." in r.out and "summary" not in r.err, r
    assert contents(server.requests[2])[0] == "one" and contents(server.requests[2])[-1] == "two"


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
