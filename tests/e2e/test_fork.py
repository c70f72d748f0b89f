"""/fork in a real pseudo-terminal: the chat goes on in a copy of its session with its variables, and the session before stays as it was."""
import os
import re
import signal

from chat_keys import ask, leave, start
from test_chat_sessions import code
from test_sessions import contents, listed, text


def fork(p, title=""):
    """Returns the short ID of the session before."""
    p.send("/fork %s\r" % title)
    p.expect(r'This chat goes on in a fork, "([^"]*)"\. The session before stays as it is: /resume (\w+)')
    name, before = p.match.groups()
    p.expect("> ")
    assert name == (title or name)
    return before


def test_two_analyses_from_one_state(sandpiper_on, serve):
    """Variables are there at once, without running anything again; the session before has those of then, when its code runs again."""
    s = sandpiper_on
    server = serve(s, [code("v = 77\nopen('begin.txt', 'w').write('x')"), text("Set."), code("v += 1\nprint('v is', v)\nopen('fork.txt', 'w').write('y')"), text("It is 78."),
                       code("print('v is', v)"), text("It is 77."), code("v += 2\nprint('v is', v)"), text("80.")])
    p = start(s, size=(30, 140))
    ask(p, "set v", "Set")
    before = fork(p, "try one")
    ask(p, "one more", "It is 78")
    assert "v is 78" in server.requests[3].messages[-1]["content"]
    assert contents(server.requests[2])[:3] == contents(server.requests[1])[:3]      # the conversation went along
    p.send("/resume %s\r" % before)
    p.expect(re.escape("to restore the variables? [y/N]"))
    p.send("y\r")
    p.expect("Variables are back")
    p.expect("> ")
    ask(p, "what is v?", "It is 77")
    assert "v is 77" in server.requests[5].messages[-1]["content"]
    leave(p)
    sessions = {one["title"]: one for one in listed(s)}
    assert {title: one["questions"] for title, one in sessions.items()} == {"set v": 2, "try one": 2}, sessions
    assert sessions["try one"]["copy_of"] == sessions["set v"]["id"] and not any(one["in_use"] for one in sessions.values())
    r = s.run("--rerun", "-r", sessions["try one"]["id"], "two more")
    assert r.out == "80.\n" and "v is 80" in server.requests[7].messages[-1]["content"], r


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
