"""The chat's commands on saved sessions, in a real pseudo-terminal: /sessions, /resume, /rename, /export, /undo, and -c."""
import contextlib
import json
import os
import re

import pytest

from chat_keys import PLAIN, ask, leave, start
from test_sessions import contents, listed, text


def code(source):
    return {"answer": {"calls": [{"name": "execute_python", "arguments": {"code": source}}]}}


def test_the_commands(sandpiper, serve):
    server = serve(sandpiper, [text("Paris."), text("Rome."), text("Madrid."), text("Again.")])
    sandpiper.run("of France?")
    p = start(sandpiper, size=(30, 120))
    p.send("/rename x\r")
    p.expect("nothing is saved yet")
    p.expect("> ")
    p.send("/undo\r")
    p.expect("Nothing to undo\\.")
    p.expect("> ")
    ask(p, "of Italy?", "Rome")
    ask(p, "of Spain?", "Madrid")
    p.send("/undo\r")
    p.expect("Removed the last question")
    p.expect("> ")
    p.send("/rename capitals of the south\r")
    p.expect('is now "capitals of the south"')
    p.expect("> ")
    p.send("/sessions\r")
    p.expect("capitals of the south")
    p.expect("of France")
    p.expect("> ")
    p.send("/sessions Paris\r")
    p.expect("of France")
    p.expect("> ")
    for argument, name in (("", "md"), ("ipynb", "ipynb"), ("x.json", "json")):
        p.send("/export %s\r" % argument)
        p.expect(r"saved: (\S+)\.%s\r\n" % name)
        p.expect("> ")
    p.send("/export notes\r")
    p.expect(r"saved: \S*notes \(format: md\)")
    p.expect("> ")
    p.send("/export x.pdf\r")
    p.expect('unknown format "pdf"')
    p.expect("> ")
    p.send("/export x.json\r")
    p.expect("exists already")
    p.expect("> ")
    with open(os.path.join(sandpiper.work, "x.json")) as f:
        assert [q["text"] for q in json.load(f)["questions"]] == ["of Italy?"]
    france = [one for one in listed(sandpiper) if one["title"] == "of France?"][0]["id"]
    p.send("/resume \t")               # not this session itself
    p.expect("/resume %s " % france[16:])
    p.send("\x15/resume zzz\r")
    p.expect('no session "zzz"\r\n *\x1b?[^ ]*/sessions lists them')
    p.expect("> ")
    p.send("/resume %s\r" % france[16:])
    p.expect(re.escape('Continuing "of France?"'))
    p.expect("> ")
    ask(p, "and now?", "Again")
    leave(p)
    assert contents(server.requests[-1]) == ["of France?", "Paris.", "and now?"]
    assert {one["title"]: one["questions"] for one in listed(sandpiper)} == {"of France?": 2, "capitals of the south": 1}
    assert not [one for one in listed(sandpiper) if one["in_use"]]


TABLE = "| legs | animals |\n|---|---|\n| 4 | 2 |\n\nfour"
LONG = "## The **whole** story\n\nIt has `many` words. " + "And so it goes on, word for word, until nobody reads any more. " * 5


def test_a_session_that_goes_on_says_where_it_was_left(sandpiper, serve):
    """Its size, the last question and answer in short; /raw and /code have them whole."""
    serve(sandpiper, [text("One."), code("x = 4"), text(TABLE), text(LONG)])
    sandpiper.run("a first question?")
    sandpiper.run("-c", "and how many legs?")
    p = sandpiper.chat("-c", env=PLAIN, size=(30, 120))
    p.expect(r'Continuing "a first question\?" \(2 questions, \d+ [A-Z][a-z]+\)\. Last: "\[table\] four"\r\n *You asked: "and how many legs\?"')
    p.expect(r"\[y/N\]")
    p.send("n\r")
    p.expect("> ")
    ask(p, "/raw", re.escape(TABLE.replace("\n", "\r\n")))
    ask(p, "/code", "x = 4")
    ask(p, "a long one?", "nobody reads")
    ask(p, "/undo", "Removed")
    ask(p, "/raw", re.escape(TABLE.replace("\n", "\r\n")))
    ask(p, "/undo", "Removed")
    ask(p, "/raw", "No answer yet")
    leave(p)


def test_a_long_answer_is_shortened(sandpiper, serve):
    serve(sandpiper, [text(LONG), text("Two.")])
    sandpiper.run("a?")
    r = sandpiper.run("-c", "b?")
    assert 'Last: "The whole story It has many words. And so it goes on, word for word, until..."' in r.err, r


def test_the_chat_asks_for_the_variables(sandpiper, serve):
    serve(sandpiper, [code("v = 77"), text("Set."), code("print(v)"), text("77")])
    sandpiper.run("set v")
    p = sandpiper.chat("-c", env=PLAIN, size=(30, 120))
    p.expect(re.escape("to restore the variables? [y/N]"))
    p.send("y\r")
    p.expect(" y\r\n")                  # what was answered is seen
    p.expect("Variables are back")
    p.expect("> ")
    p.send("print it\r")
    p.expect(re.escape("| 77\r\n"))
    p.expect("> ")
    leave(p)


def test_without_saving(sandpiper, serve):
    server = serve(sandpiper, [text("One."), text("Two.")])
    p = start(sandpiper, "--no-save", size=(30, 120))
    ask(p, "a?", "One")
    p.send("/export\r")
    p.expect("not saved")
    p.expect("> ")
    p.send("/undo\r")
    p.expect("Removed the last question")
    p.expect("> ")
    ask(p, "b?", "Two")
    leave(p)
    assert contents(server.requests[-1]) == ["b?"] and listed(sandpiper) == []


SECRET = "c0ffee-secret"
# a figure, a file, an output too long to be shown
LEAVES = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nopen('secret.txt', 'w').write('%s')\nprint('%s ' * 3000)" % (SECRET, SECRET)


def kept_of_it(sandpiper):
    """What is on disk of a session, but for what the user wrote in the working directory."""
    found = []
    for top in ("state", "cache", "config", "data", "home", "run", "tmp"):
        for folder, _, names in os.walk(sandpiper.path(top)):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(FileNotFoundError), open(path, "rb") as f:     # the keeper takes a sandbox's folder away later
                    if SECRET.encode() in f.read() or "/sessions/" in path or "/store/" in path:
                        found.append(path)
    return found


@pytest.mark.slow(3)
def test_nothing_is_kept_of_a_chat_that_is_not_saved(sandpiper, serve):
    """Not what was typed, nor long outputs, figures and files: they go with the chat, which says so. What was typed before is still found."""
    os.makedirs(sandpiper.path("state/sandpiper"), mode=0o700)
    with open(sandpiper.path("state/sandpiper/history"), "w") as f:
        f.write("typed before\n")
    os.chmod(sandpiper.path("state/sandpiper/history"), 0o600)
    server = serve(sandpiper, [code(LEAVES), text("It is %s." % SECRET), text("Before.")])
    p = start(sandpiper, "--no-save", size=(40, 120))
    p.send("what is %s?\r" % SECRET)
    p.expect("This session is not saved: its files are removed when it ends")
    p.expect("made: ")
    p.expect("It is " + SECRET)
    p.expect("> ")
    p.send("/get secret.txt\r")
    p.expect("Copied to secret.txt")
    p.expect("> ")
    p.send("\x1b[A\x1b[A\x1b[A\r")
    p.expect("Before")
    p.expect("> ")
    leave(p)
    assert contents(server.requests[-1])[-1] == "typed before"
    assert kept_of_it(sandpiper) == []
    with open(sandpiper.path("state/sandpiper/history")) as f:
        assert f.read() == "typed before\n"


@pytest.mark.slow(3)
def test_a_killed_chat_that_is_not_saved_leaves_nothing_to_the_next(sandpiper, serve):
    serve(sandpiper, [code(LEAVES), text("It is %s." % SECRET), text("Later.")])
    sandpiper.configure("save: off\n")
    p = start(sandpiper, size=(40, 120))
    ask(p, "what?", "It is " + SECRET)
    p.kill(9)
    p.wait()
    assert sandpiper.run("and now?").out == "Later.\n"
    assert kept_of_it(sandpiper) == []


def test_a_damaged_database(sandpiper, serve):
    """One line, and the chat goes on unsaved."""
    serve(sandpiper, [text("One."), text("Two."), text("Three.")])
    sandpiper.run("a?")
    path = sandpiper.path("state/sandpiper/store/sessions.db")
    for name in (path, path + "-wal", path + "-shm"):
        if os.path.exists(name):
            os.unlink(name)
    with open(path, "w") as f:
        f.write("hello " * 2000)
    os.chmod(path, 0o600)
    p = start(sandpiper, size=(30, 200))
    p.send("b?\r")
    p.expect(r"sessions\.db is damaged \([^)]*\): from here on this session is not saved")
    p.expect("Two")
    p.expect("> ")
    ask(p, "c?", "Three")
    p.send("/rename x\r")
    p.expect("this session is not saved")
    p.expect("> ")
    leave(p)
