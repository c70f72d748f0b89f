"""test_prefix.py - each request of a session begins with the whole of the one before, with the same instructions and tools: services keep
what they have read of it, and drop the reasoning behind what was changed (OpenAI from gpt-6.2 on). Where it does not, the edit is one of those
that docs/ARCHITECTURE.md names ("When a conversation is edited"), and is seen here.
"""
import json
import glob
import os
import re
import time

import pytest

from chat_keys import ask, leave, start
from conftest import TREE

NATIVE = ["chat_completions", "responses", "workers_ai"]
DRAW = "from PIL import Image\nImage.new('RGB', (%d, 10), (250, 20, 20)).save('%s.png')"


# ------------------------------------------------------------------------------------------------------------------- what is compared

def head(body):
    return {key: body.get(key) for key in ("instructions", "tools")}


def items(body):
    return body["input"] if "input" in body else body["messages"]


def grown(old, new):
    """The last item alone got longer: nothing was replied to it, and it is asked again."""
    return len(old) == len(new) and old[:-1] == new[:-1] and any(
        isinstance(old[-1].get(k), str) and str(new[-1].get(k)).startswith(old[-1][k] + "\n\n") for k in ("content", "output"))


def edit(before, after):
    """Where the second request differs from the beginning that the first one is; None: nowhere."""
    if head(before) != head(after):
        return "instructions or tools: %s\n    %s" % (json.dumps(head(before))[:600], json.dumps(head(after))[:600])
    old, new = items(before), items(after)
    for i, item in enumerate([] if grown(old, new) else old):
        if i >= len(new) or item != new[i]:
            return "item %d of %d: %s\n    %s" % (i, len(old), json.dumps(item)[:600], json.dumps(new[i])[:600] if i < len(new) else "is gone")
    return None


def edits(server):
    """{number of a request, from 2: what it changed of the one before}"""
    bodies = [r.body for r in server.requests]
    found = {k + 2: edit(a, b) for k, (a, b) in enumerate(zip(bodies, bodies[1:]))}
    return {k: what for k, what in found.items() if what}


# ----------------------------------------------------------------------------------------------------------------------- what is said

class Model:
    """Answers in a dialect."""
    def __init__(self, api, dialect):
        self.api, self.dialect = api, dialect
        self.options = ("--api", api, "--dialect", dialect)

    def calls(self, *codes, text=""):
        if self.dialect == "native":
            return {"answer": {"reasoning": "I run it.", "text": text, "calls": [{"code": code} for code in codes]}}
        return {"answer": {"text": text + "\n\n" * bool(text) + "```python\n%s\n```" % codes[0]}}

    def says(self, text):
        return {"answer": {"reasoning": "I know.", "text": text} if self.dialect == "native" else {"text": text}}


@pytest.fixture(params=NATIVE)
def native(request):
    return Model(request.param, "native")


EMPTY = {"answer": {"text": ""}}


@pytest.mark.slow(3)
def test_a_long_session(sandpiper, serve, native):
    """Data, several calls at once, a failure and its repair, code that comes again, an empty reply, a call that cannot be read, more data."""
    m = native
    server = serve(sandpiper, [m.calls("import pandas as pd\ndf = pd.read_csv('sales.csv')\nprint(df.n.sum())", "print(1)", text="I look."), m.says("Six."),
                               m.calls("1/0"), m.calls("1/0"), m.calls("print(7)"), m.says("Seven."),
                               EMPTY, m.calls("print(8)"), m.says("Eight."),
                               {"answer": {"calls": [{"name": "no_such_tool", "arguments": {"x": 1}}]}}, m.calls("print(9)"), m.says("Nine."),
                               m.calls("raise ValueError(0)"), m.calls("raise ValueError(1)"), m.calls("raise ValueError(2)"),
                               m.calls("raise ValueError(3)"), m.says("I cannot."), m.says("Last.")])
    sandpiper.write("sales.csv", "n\n1\n2\n3\n")
    sandpiper.write("more.csv", "k,v\n" + "a,1\n" * 3000)
    p = start(sandpiper, *m.options, "--add", "sales.csv")
    ask(p, "how many?", "Six")
    ask(p, "and the quotient?", "Seven")
    p.send("/put more.csv\r")
    p.expect("> ")
    ask(p, "eight?", "Eight")
    ask(p, "nine?", "Nine")
    ask(p, "fail", "I cannot")
    ask(p, "last?", "Last")
    leave(p)
    assert edits(server) == {}


def scripts(model, n):
    """So many questions, each with a call."""
    return [answer for i in range(n) for answer in (model.calls("print(%d)" % i), model.says("Answer %d." % i))]


def lines(n):
    return "".join("question %d\n" % i for i in range(n))


def test_what_the_user_stops(sandpiper, serve, native):
    """A call in the middle of its run, one behind it, an answer that is not over; then more questions."""
    m = native
    slow = "print('begun', flush=True)\nimport time\ntime.sleep(60)"
    server = serve(sandpiper, [m.calls(slow, "print('never')"), m.calls("print(5)"), m.says("Five."),
                               {"answer": {"text": "The beginning of an answer without an end. " * 4, "stall_after": 16, "piece": 4}}, m.says("To the end."), m.says("Last.")])
    p = start(sandpiper, *m.options)
    p.send("sleep\r")
    p.expect("\\| begun")
    p.send("\x03")
    p.expect("> ")
    ask(p, "what now?", "Five")
    p.send("go on\r")
    p.expect("The beginning")
    p.send("\x03")
    p.expect("> ")
    ask(p, "and then?", "To the end")
    ask(p, "last?", "Last")
    leave(p)
    assert len(server.requests) == 6 and edits(server) == {}


def test_a_session_that_another_program_continues(sandpiper, serve, native):
    m = native
    server = serve(sandpiper, scripts(m, 3) + [m.says("Fourth."), m.calls("print(5)"), m.says("Fifth.")])
    assert sandpiper.run(*m.options, stdin=lines(3)).code == 0
    assert sandpiper.run(*m.options, "-c", stdin="four\nfive\n").code == 0
    assert edits(server) == {}


def test_what_changes_beside_the_conversation(sandpiper, serve, native):
    """What the user does in the sandbox, the time that code may take, and variables that are gone are told with the next question."""
    m = native
    server = serve(sandpiper, scripts(m, 4))
    p = start(sandpiper, *m.options)
    for i, command in enumerate(["/timeout 77", "/run x = 1", "/reset", "/vars"]):
        ask(p, "question %d" % i, "Answer %d" % i)
        p.send(command + "\r")
        p.expect("> ")
    leave(p)
    assert edits(server) == {}
    assert "77 s" in json.dumps(items(server.requests[2].body)[-1]) and "restarted the interpreter" in json.dumps(items(server.requests[6].body)[-1])


def midnight_in(seconds):
    """A time zone in which the day ends so soon."""
    now = time.time() % 86400
    behind = (now - (86400 - seconds)) % 86400        # how far that zone is west of Greenwich
    return "ZONE%d:%02d:%02d" % (behind // 3600, behind % 3600 // 60, behind % 60)


@pytest.mark.slow(10)
def test_a_new_day(sandpiper, serve, native):
    """The instructions keep the day on which the conversation began; the next question says that it is another."""
    m = native
    server = serve(sandpiper, scripts(m, 3))
    end = time.time() + 6
    p = start(sandpiper, *m.options, env={"TZ": midnight_in(6)})
    ask(p, "question 0", "Answer 0")
    assert time.time() < end, "the machine is too slow for this test"
    time.sleep(max(0, end - time.time()) + 1)
    ask(p, "question 1", "Answer 1")
    ask(p, "question 2", "Answer 2")
    leave(p)
    assert edits(server) == {}
    first, second, third = (json.dumps(server.requests[i].body) for i in (0, 2, 4))
    assert "It is a new day: " not in first and second.count("It is a new day: ") == 1 and third.count("It is a new day: ") == 1


def test_an_agent_that_looks_for_files_first(sandpiper, serve, native):
    """Each of two agents has a conversation of its own."""
    m = native
    serve_two = [m.says("Nothing there."), m.calls("print(1)"), m.says("One."), m.says("Nothing new."), m.says("Two.")]
    server = serve(sandpiper, serve_two)
    r = sandpiper.run(*m.options, "--agents", "files+code", "--allow-folder", sandpiper.work, stdin="one\ntwo\n")
    assert r.code == 0, r
    for agent in ([0, 3], [1, 2, 4]):
        bodies = [server.requests[i].body for i in agent]
        assert [edit(a, b) for a, b in zip(bodies, bodies[1:])] == [None] * (len(agent) - 1)


# -------------------------------------------------------------------------------------------------------------- the edits that there are

TABLE = {}


def names(edit_name):
    """The test of a row of the table."""
    def keep(test):
        TABLE.setdefault(edit_name, []).append(test.__name__)
        return test
    return keep


@pytest.mark.slow(3)
@names("too many images")
@pytest.mark.parametrize("api", ["chat_completions", "responses"])
def test_images_are_left_out_in_batches(sandpiper, serve, api):
    """Of fourteen figures in as many questions: edits when the ninth and the thirteenth come, and then none."""
    m = Model(api, "native")
    script = [answer for i in range(14) for answer in (m.calls(DRAW % (10 + i, "p%d" % i)), m.says("Drawn."))]
    server = serve(sandpiper, script, sees=True)
    assert sandpiper.run("--vision", "on", *m.options, stdin=lines(14)).code == 0
    assert sorted(edits(server)) == [18, 26], edits(server)
    shown = [sum(json.dumps(items(r.body)).count(kind) for kind in ('"input_image"', '"image_url": {')) for r in server.requests]
    assert shown[1::2] == [1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6], shown


@pytest.mark.slow(3)
@names("too many images")
def test_a_continued_session_sends_what_it_sent(sandpiper, serve):
    m = Model("responses", "native")
    script = [answer for i in range(10) for answer in (m.calls(DRAW % (10 + i, "p%d" % i)), m.says("Drawn."))]
    server = serve(sandpiper, script + [m.says("Ten.")], sees=True)
    assert sandpiper.run("--vision", "on", *m.options, stdin=lines(10)).code == 0
    assert sandpiper.run("--vision", "on", *m.options, "-c", "how many?").code == 0
    assert sorted(edits(server)) == [18], edits(server)


@names("refused")
def test_a_service_that_takes_fewer_images(sandpiper, serve):
    """Refused for their number: the newest four, and batches of two; it is not said that the model does not see."""
    m = Model("chat_completions", "native")
    script = [answer for i in range(7) for answer in (m.calls(DRAW % (10 + i, "p%d" % i)), m.says("Drawn."))]
    script.insert(11, {"answer": {"status": 400, "json": {"error": {"message": "Too many images provided. This model supports up to 5 images", "type": "x"}}}})
    server = serve(sandpiper, script, sees=True)
    r = sandpiper.run("--vision", "on", *m.options, stdin=lines(7))
    assert r.code == 0 and "does not accept images" not in r.err, r
    shown = [json.dumps(items(r.body)).count('"image_url": {') for r in server.requests]
    assert shown[9:] == [5, 5, 6, 4, 4, 3], shown
    assert sorted(edits(server)) == [13, 15], edits(server)


@names("refused")
def test_reasoning_that_the_service_refuses(sandpiper, serve):
    m = Model("responses", "native")
    refusal = {"answer": {"status": 400, "json": {"error": {"message": "This cannot be read any more.", "code": "invalid_encrypted_content", "type": "x", "param": None}}}}

    def refuse(request):
        server.shapes.responses.forget()
        return refusal
    server = serve(sandpiper, scripts(m, 2) + [refuse, m.calls("print(3)"), m.says("Third."), m.says("Fourth.")])
    assert sandpiper.run(*m.options, stdin=lines(4)).code == 0
    assert list(edits(server)) == [6], edits(server)


@names("full window")
def test_a_window_that_is_nearly_full(sandpiper, serve, native):
    """Outputs of 6,000 bytes: edits are rare, since each makes room for several questions; what is asked for the summary begins with what was
    sent, or is one of them."""
    m = native
    script = [answer for i in range(16) for answer in (m.calls("print('%02d ' * 2000)" % i), m.says("Answer %d." % i))]

    def next_one(request):
        if "Summarise this conversation" in json.dumps(items(request.body)[-1]):
            return {"answer": {"text": "A summary."}}
        return script.pop(0)
    server = serve(sandpiper, [next_one] * 40, complete=False)
    r = sandpiper.run(*m.options, "--context", "16384", stdin=lines(16))
    assert r.code == 0 and r.out.count("Answer") == 16, r
    found = sorted(edits(server))
    assert 1 <= len(found) <= 6 and all(b - a > 2 for a, b in zip(found, found[1:])), found


@names("full window")
def test_a_summary_at_the_users_word(sandpiper, serve, native):
    m = native
    server = serve(sandpiper, scripts(m, 2) + [m.says("Of two questions."), m.says("Third."), m.says("Fourth.")])
    p = start(sandpiper, *m.options)
    ask(p, "question 0", "Answer 0")
    ask(p, "question 1", "Answer 1")
    p.send("/compact\r")
    p.expect("Conversation summarised")
    p.expect("> ")
    ask(p, "three?", "Third")
    ask(p, "four?", "Fourth")
    leave(p)
    assert list(edits(server)) == [6], edits(server)


@names("taken back")
def test_what_was_not_answered_or_is_undone(sandpiper, serve, native):
    """Behind each is what there was before it."""
    m = native
    broken = {"answer": {"status": 400, "json": {"error": {"message": "not today"}}}}
    server = serve(sandpiper, scripts(m, 2) + [broken, m.says("Third."), m.says("Fourth."), m.says("Fifth.")])
    p = start(sandpiper, *m.options)
    ask(p, "question 0", "Answer 0")
    ask(p, "question 1", "Answer 1")
    ask(p, "refused?", "not today")
    ask(p, "three?", "Third")
    p.send("/undo\r")
    p.expect("> ")
    ask(p, "four?", "Fourth")
    p.send("/clear\r")
    p.expect("> ")
    ask(p, "five?", "Fifth")
    leave(p)
    bodies = [r.body for r in server.requests]
    assert list(edits(server)) == [6, 7, 8] and edit(bodies[3], bodies[5]) is None and edit(bodies[3], bodies[6]) is None
    assert len(items(bodies[7])) <= 2


@names("another model")
def test_another_model(sandpiper, serve):
    """Its reasoning and ids stay away from the next one, and are back when it is."""
    m = Model("responses", "native")
    server = serve(sandpiper, scripts(m, 2) + [m.says("Other."), m.says("Back.")])
    p = start(sandpiper, *m.options)
    ask(p, "question 0", "Answer 0")
    ask(p, "question 1", "Answer 1")
    p.send("/model other-model\r")
    p.expect("> ")
    ask(p, "who?", "Other")
    p.send("/model test-model\r")
    p.expect("> ")
    ask(p, "and you?", "Back")
    leave(p)
    assert list(edits(server)) == [5, 6] and edit(server.requests[3].body, server.requests[5].body) is None


@names("found out")
def test_code_in_an_answer(sandpiper, serve):
    """Of an unknown model: whether its code is to be run is asked behind the conversation, and not kept."""
    code = "```python\nprint(6 * 7)\n```"
    server = serve(sandpiper, [{"answer": {"text": code}}, {"answer": {"text": "OK"}}, {"answer": {"text": code}}, {"answer": {"calls": [{"code": "print(6 * 7)"}]}},
                               {"answer": {"text": "It is 42."}}, {"answer": {"text": "Third."}}])
    assert sandpiper.run("--api", "chat_completions", stdin=lines(3)).code == 0
    bodies = [r.body for r in server.requests]
    assert list(edits(server)) == [3, 5], edits(server)
    assert edit(bodies[0], bodies[1]) is None and edit(bodies[0], bodies[2]) is None and edit(bodies[2], bodies[4]) is None


@names("found out")
def test_an_api_that_calls_no_tools(sandpiper, serve):
    """The other one has it: once, and then no more."""
    m = Model("chat_completions", "native")
    refusal = {"answer": {"status": 400, "json": {"error": {"message": "Function tools with reasoning_effort are not supported for test-model in /v1/chat/completions. "
                                                                       "To use function tools, use /v1/responses or set reasoning_effort to 'none'."}}}}
    server = serve(sandpiper, [refusal] + scripts(m, 2))
    assert sandpiper.run("--dialect", "native", stdin=lines(2)).code == 0
    assert list(edits(server)) == [2], edits(server)


@names("instructions")
def test_instructions_that_the_user_changes(sandpiper, serve, native):
    m = native
    server = serve(sandpiper, scripts(m, 3))
    p = start(sandpiper, *m.options)
    ask(p, "question 0", "Answer 0")
    p.send("/system Be brief.\r")
    p.expect("> ")
    ask(p, "question 1", "Answer 1")
    ask(p, "question 2", "Answer 2")
    leave(p)
    assert list(edits(server)) == [3], edits(server)


@names("blocks")
@pytest.mark.parametrize("api", NATIVE)
def test_what_only_helps_now_in_blocks(sandpiper, serve, api):
    """A failed try gives way to the next; what a result asks for is sent while its question is open. What stood before the question before stays."""
    m = Model(api, "blocks")
    sandpiper.write("sales.csv", "n\n" + "1\n" * 5000)
    server = serve(sandpiper, [m.calls("1/0"), m.calls("1/0 + 1"), m.calls("print(3)"), m.says("Three."), m.calls("print(4)"), m.says("Four."), m.says("Five.")])
    assert sandpiper.run(*m.options, "--add", "sales.csv", stdin=lines(3)).code == 0
    bodies = [r.body for r in server.requests]
    assert sorted(edits(server)) == [3, 4, 5, 7], edits(server)
    for a, b in zip(bodies, bodies[1:]):
        old, new = items(a), items(b)
        users = [i for i, item in enumerate(new) if item["role"] == "user" and "question " in json.dumps(item)]
        since = users[-2] if len(users) > 1 else users[0]
        assert old[:since] == new[:since] and head(a) == head(b), (since, old, new)


@names("thoughts as text")
def test_thoughts_that_are_sent_as_text(sandpiper, serve):
    """Only where reasoning_back: text asks for it, and until the question is answered."""
    think = "<think>\nHm.\n</think>\n\n"
    server = serve(sandpiper, [{"answer": {"text": think, "calls": [{"code": "print(1)"}]}}, {"answer": {"text": think + "One."}}, {"answer": {"text": think + "Two."}}])
    sandpiper.configure("models: {test-model: {dialect: native, reasoning_back: text}}\n")
    assert sandpiper.run(stdin=lines(2)).code == 0
    assert list(edits(server)) == [3], edits(server)


def test_the_table_is_the_whole(sandpiper):
    """Each row of the table has a test, and no test has an edit that is not there."""
    with open(os.path.join(TREE, "docs", "ARCHITECTURE.md"), encoding="utf-8") as f:
        table = f.read().partition("## When a conversation is edited")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", table, re.M)
    assert sorted(rows) == sorted(TABLE) and len(rows) == len(set(rows)), (rows, TABLE)
    for path in re.findall(r"[a-z]+/\w+\.c", table):
        assert glob.glob(os.path.join(TREE, "src", "*", path)), path
