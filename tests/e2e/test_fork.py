"""/fork in a real pseudo-terminal: the chat goes on in a copy of its session with its variables, and the session before stays as it was, variables included."""
import os
import re
import signal

import pytest

from chat_keys import ask, leave, start
from test_chat_sessions import code
from test_sessions import contents, listed, text

# neither can be pickled: a generator that has begun, a function that is in no module, a file that is read half
HELD = """def count():
    n = 0
    while True:
        yield n
        n += 1
g = count()
next(g), next(g)
add = (lambda base: lambda x: x + base)(40)
open('begin.txt', 'w').write('0123456789')
half = open('begin.txt')
half.read(4)
"""


def fork(p, title=""):
    """Returns the short ID of the session before."""
    p.send("/fork %s\r" % title)
    p.expect(r'This chat goes on in a fork, "([^"]*)"\. The session before stays as it is: /resume (\w+)')
    name, before = p.match.groups()
    p.expect("> ")
    assert name == (title or name)
    return before


def resume(p, session, said="Its variables and files are as you left them"):
    p.send("/resume %s\r" % session)
    p.expect(said)
    p.expect("> ")


def test_two_analyses_from_one_state(sandpiper_on, serve):
    """Both have what cannot be pickled; what one does after the fork the other does not see; nothing is run again, there and back."""
    s = sandpiper_on
    look = "print('have', next(g), add(2), half.read(2), sorted(__import__('os').listdir('.')))"
    server = serve(s, [code(HELD), text("Set."), code(look + "\nnext(g)\nopen('fork.txt', 'w').write('y')"), text("One."), code(look), text("Two."), code(look), text("Three."),
                       code(look), text("Four.")])
    p = start(s, size=(30, 140))

    def answer():
        return server.requests[-1].messages[-1]["content"]
    ask(p, "set v", "Set")
    before = fork(p, "try one")
    ask(p, "and then", "One")
    assert "have 2 42 45 ['begin.txt']" in answer()
    assert contents(server.requests[2])[:3] == contents(server.requests[1])[:3]      # the conversation went along
    resume(p, before)
    ask(p, "what is there?", "Two")
    assert "have 2 42 45 ['begin.txt']" in answer()
    (other,) = [one["id"][16:] for one in listed(s) if one["title"] == "try one"]
    resume(p, other)
    ask(p, "and here?", "Three")
    assert "have 4 42 67 ['begin.txt', 'fork.txt']" in answer()
    resume(p, before)
    ask(p, "and there?", "Four")
    assert "have 3 42 67 ['begin.txt']" in answer()
    leave(p)
    sessions = {one["title"]: one for one in listed(s)}
    assert {title: one["questions"] for title, one in sessions.items()} == {"set v": 3, "try one": 3}, sessions
    assert sessions["try one"]["copy_of"] == sessions["set v"]["id"] and not any(one["in_use"] for one in sessions.values())


def test_its_code_runs_again_in_another_program(sandpiper, serve):
    """Once the chat has ended; and where another program went on with the session meanwhile, its variables count, not those that were kept."""
    server = serve(sandpiper, [code("v = 77"), text("Set."), code("v += 1\nprint('v is', v)"), text("It is 78."), code("v += 10\nprint('v is', v)"), text("It is 87."),
                               code("print('v is', v)"), text("Still 87."), code("v += 2\nprint('v is', v)"), text("80.")])
    p = start(sandpiper, size=(30, 140))
    ask(p, "set v", "Set")
    before = fork(p, "try one")
    ask(p, "one more", "It is 78")
    r = sandpiper.run("--rerun", "-r", before, "ten more")
    assert r.out == "It is 87.\n" and "v is 87" in server.requests[5].messages[-1]["content"], r
    p.send("/resume %s\r" % before)
    p.expect(re.escape("to restore the variables? [y/N]"))
    p.send("y\r")
    p.expect("Variables are back")
    p.expect("> ")
    ask(p, "what is v?", "Still 87")
    assert "v is 87" in server.requests[7].messages[-1]["content"]
    leave(p)
    r = sandpiper.run("--rerun", "-r", [one["id"] for one in listed(sandpiper) if one["title"] == "try one"][0], "two more")
    assert r.out == "80.\n" and "v is 80" in server.requests[9].messages[-1]["content"], r


@pytest.mark.parametrize("what, said", [("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\nv = 5", "threads are running")])
def test_what_cannot_be_copied(sandpiper, serve, what, said):
    """A line says so, the fork has the variables, and the session before gets its own by its code."""
    server = serve(sandpiper, [code(what), text("Set."), code("v += 1; print('v is', v)"), text("Six."), code("print('v is', v)"), text("Five.")])
    p = start(sandpiper, size=(30, 140))
    ask(p, "set v", "Set")
    p.send("/fork\r")
    p.expect(said)
    p.expect(r"So /resume (\w+) has to run its code again")
    before = p.match.group(1)
    p.expect("This chat goes on in a fork")
    p.expect("> ")
    ask(p, "add", "Six")
    assert "v is 6" in server.requests[3].messages[-1]["content"]
    p.send("/resume %s\r" % before)
    p.expect(re.escape("to restore the variables? [y/N]"))
    p.send("y\r")
    p.expect("Variables are back")
    p.expect("> ")
    ask(p, "what is v?", "Five")
    assert "v is 5" in server.requests[5].messages[-1]["content"]
    leave(p)


def test_memory_is_not_exceeded(sandpiper_on, serve):
    """The copies count as memory of the sandbox. One that has no room any more is refused; the interpreter goes on."""
    s = sandpiper_on
    server = serve(s, [code("v = bytearray(b'x' * (90 << 20))"), text("Set."), code("print('v has', v.count(b'x'))"), text("All.")])
    p = start(s, "--memory", "300m", size=(30, 140))
    ask(p, "set v", "Set")
    for title in ("one", "two"):
        fork(p, title)
    p.send("/fork three\r")
    assert p.expect(["This chat goes on", "it takes more memory than its sandbox may have"]) == 1
    p.expect("This chat goes on in a fork")
    p.expect("> ")
    ask(p, "is it there?", "All")
    assert "v has 94371840" in server.requests[-1].messages[-1]["content"]
    leave(p)


def test_files_are_not_delivered_twice(sandpiper, serve):
    """What the session had made before the fork, and makes again unchanged, is not written again."""
    serve(sandpiper, [code("open('a.txt', 'w').write('x')"), text("Made."), code("open('a.txt', 'w').write('x')\nopen('b.txt', 'w').write('y')"), text("Again.")])
    p = start(sandpiper, size=(30, 140))
    ask(p, "make one", "Made")
    before = fork(p)
    resume(p, before)
    ask(p, "make it again", "Again")
    leave(p)
    assert sorted(os.listdir(sandpiper.path("state/sandpiper/sessions/%s/files" % before))) == ["a.txt", "b.txt"]


def test_each_has_its_own_files(sandpiper, serve):
    """What the fork makes lies in its own folder, and stays there when the other one is removed; and the other way round."""
    serve(sandpiper, [code("open('begin.txt', 'w').write('x')"), text("Made."), code("open('fork.txt', 'w').write('y')"), text("Made too.")])
    p = start(sandpiper, size=(30, 140))
    ask(p, "make one", "Made")
    before = fork(p)
    ask(p, "make another", "Made too")
    leave(p)
    (other,) = [one["id"][16:] for one in listed(sandpiper) if one["title"] == "make one (fork)"]

    def files(short):
        return sorted(os.listdir(sandpiper.path("state/sandpiper/sessions/%s/files" % short)))
    assert files(before) == ["begin.txt"] and files(other) == ["fork.txt"]
    assert sandpiper.run("sessions", "rm", other).code == 0
    assert files(before) == ["begin.txt"] and [one["title"] for one in listed(sandpiper)] == ["make one"]


def test_killed_after_a_fork(sandpiper, serve):
    """Both are whole, and nobody's."""
    serve(sandpiper, [code("v = 1"), text("Set."), text("Seven."), text("Both there."), text("Both there.")])
    p = start(sandpiper, size=(30, 140))
    ask(p, "set v", "Set")
    before = fork(p)
    ask(p, "seven?", "Seven")
    p.kill(signal.SIGKILL)
    p.wait()
    assert {one["title"]: one["questions"] for one in listed(sandpiper)} == {"set v": 1, "set v (fork)": 2}
    assert sandpiper.run("-c", "there?").out == "Both there.\n"
    assert sandpiper.run("-r", before, "there?").out == "Both there.\n"
    assert {one["title"]: one["questions"] for one in listed(sandpiper)} == {"set v": 2, "set v (fork)": 3}


def test_where_no_fork_can_be(sandpiper, serve):
    serve(sandpiper, [text("One."), text("Two.")])
    p = start(sandpiper)
    p.send("/fork x\r")
    p.expect("nothing is saved yet")
    leave(p)
    p = start(sandpiper, "--no-save")
    ask(p, "a?", "One")
    p.send("/fork x\r")
    p.expect("this session is not saved")
    leave(p)
    p = start(sandpiper, "--sandbox-name", "kept")
    ask(p, "b?", "Two")
    p.send("/fork x\r")
    p.expect('sandbox "kept" has a name')
    leave(p)
    assert len(listed(sandpiper)) == 1
    assert sandpiper.run("rm", "kept").code in (0, 2)        # 2: the chat ended before it had started


def test_a_session_without_a_title(sandpiper, serve):
    """One in which only the user ran code: there is no title to be told."""
    serve(sandpiper, [])
    p = start(sandpiper, size=(30, 140))
    p.send("/run v = 1\r")
    p.expect("> ")
    p.send("/fork\r")
    p.expect(r"This chat goes on in a fork\. The session before stays as it is: /resume \w+")
    p.expect("> ")
    leave(p)
