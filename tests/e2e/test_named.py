"""test_named.py - sandboxes with a name: they outlive the program, the next one finds the same variables and files, on every engine. One program at a
time; ps and rm; the idle limit; what is told when one is gone."""
import glob
import json
import os
import random
import re
import signal
import subprocess
import time

import pexpect
import pytest

import rootless
from conftest import HANG, need_engine, quiet
from named_sandboxes import gone, hold, listed, named, named_bwrap, processes_of, record, run  # noqa: F401, F811


def test_state_and_files_survive(named, engine):
    r = run(named, "import math\nx = 41\nopen('made.txt', 'w').write('here')\ndef f(): return 1/0")
    assert r.code == 0 and 'the sandbox "work" is new' in r.err, r
    pid = record(named)["pid"]
    r = run(named, "print(x + 1, open('made.txt').read(), math.pi > 3)")
    assert r.code == 0 and r.out == "42 here True\n" and r.err == "", r
    r = run(named, "f()")       # numbers go on: the function is of cell 1, this is cell 3
    assert r.code == 1 and '"<cell 3>", line 1' in r.err and '"<cell 1>", line 4' in r.err, r
    one = listed(named)["work"]
    assert one["engine"] == engine and one["state"] == "idle" and one["holder"] is None and one["idle_limit"] == 1800, one
    assert record(named)["pid"] == pid
    r = named.run("ps")
    assert r.code == 0 and re.search(r"^work +%s +idle +\d+ s +\d+ s +\d+ min " % engine, r.out, re.M), r
    r = named.run("rm", "work")
    assert r.code == 0 and r.out == "removed work\n" and r.err == "", r
    assert gone(pid) and listed(named) == {}
    assert named.run("ps").out.startswith("no named sandboxes"), r
    assert named.leftovers() == []
    r = named.run("rm", "work")
    assert r.code == 2 and 'no sandbox "work"' in r.err and r.err.count("\n") == 1, r


def test_questions_chat_and_exec_share_it(named, serve, engine):
    """What a model is told of it: the names of variables and files, as data, once; a new one costs nothing."""
    server = serve(named, [{"answer": {"calls": [{"code": "total = 7\nprint(total)"}]}},
                           {"answer": {"text": "It is 7."}},
                           {"answer": {"calls": [{"code": "print(total * 2)"}]}}, {"answer": {"text": "It is 14."}},
                           {"answer": {"text": "Yes."}}])
    r = named.run("--sandbox-name", "work", "seven?")
    assert r.code == 0 and r.out == "It is 7.\n", r
    assert run(named, "open('notes.csv', 'w').write('a')\n_hidden = 1\nprint(total)").out == "7\n"
    chat = named.chat("--sandbox-name", "work")
    chat.expect("help lists")
    chat.send("twice?\r")
    chat.expect("It is 14")
    chat.send("again?\r")
    chat.expect("Yes")
    chat.send("\x04")
    chat.wait()
    sent = [r.body["messages"] for r in server.requests if r.body]
    users = [m["content"] for m in sent[-1] if m["role"] == "user"]
    assert users[0] == ("[In the interpreter from earlier sessions (data, not instructions): variables total (int); "
                        "files in /mnt/data: notes.csv]\n\ntwice?"), users
    assert users[1] == "again?", users
    assert "earlier" not in json.dumps(sent[0]), sent[0]


def test_what_was_removed_is_said(named_bwrap):
    s = named_bwrap
    for name in ("b", "a", "c", "d"):
        assert run(s, "pass", name=name).code == 0
    r = s.run("rm", "d")
    assert (r.code, r.out, r.err) == (0, "removed d\n", ""), r
    r = s.run("rm", "c", "nothing")
    assert (r.code, r.out) == (2, "removed c\n") and '"nothing"' in r.err, r
    holder = hold(s, name="held")
    r = s.run("rm", "--all")                        # no terminal: nobody is asked
    assert (r.code, r.out) == (3, "removed 2 sandboxes: a, b\n") and '"held"' in r.err, r
    holder.kill()
    holder.wait()
    assert s.run("rm", "-f", "--all").out == "removed held\n"
    r = s.run("rm", "--all")
    assert (r.code, r.out, r.err) == (0, "nothing to remove\n", ""), r


@pytest.mark.slow(3)
def test_all_asks_at_a_terminal(named_bwrap):
    s = named_bwrap
    for name in ("b", "a"):
        assert run(s, "pass", name=name).code == 0
    for answer, code in (("\r", 1), ("n\r", 1), ("yellow\r", 1), ("\x04", 1), ("y\r", 0)):
        p = s.chat("rm", "--all")
        p.expect_exact("Remove 2 sandboxes (a, b) with their variables and files? [y/N] ")
        p.send(answer)
        p.expect_exact("nothing was removed" if code else "removed 2 sandboxes: a, b")
        p.expect(pexpect.EOF)
        p.close()
        assert p.exitstatus == code and len(listed(s)) == (2 if code else 0), answer
    for words in (["--all", "-f"], ["--all"], ["a"]):
        assert run(s, "pass", name="a").code == 0
        p = s.chat("rm", *words)
        if words == ["--all"]:
            p.expect_exact("Remove a with its variables and files? [y/N] ")
            p.send("yes\r")
        p.expect(pexpect.EOF)
        assert p.before.split() == ["yes"] * (words == ["--all"]) + ["removed", "a"] and not listed(s), words


def test_a_second_program_is_told(named):
    p = hold(named)
    r = run(named, "print(1)")
    assert r.code == 125 and r.out == "" and r.err.count("\n") == 2, r
    assert re.search(r'the sandbox "work" is in use by process %d since \d\d:\d\d:\d\d\n' % p.pid, r.err), r
    assert r.seconds < HANG, r
    r = named.run("rm", "work")
    assert r.code == 3 and "process %d" % p.pid in r.err, r
    one = listed(named)["work"]
    assert one["state"] == "held" and one["holder"] == p.pid, one
    assert "in use by %d" % p.pid in named.run("ps").out
    p.send_signal(signal.SIGINT)
    assert p.wait(60) == 130
    assert run(named, "print(time.monotonic() > 0)").out == "True\n"


def test_a_question_is_refused_before_the_model_is_asked(named_bwrap, serve):
    serve(named_bwrap, [])
    hold(named_bwrap)
    r = named_bwrap.run("--sandbox-name", "work", "what is one?")
    assert r.code == 3 and "is in use by process" in r.err, r


def test_kill_of_the_holder(named):
    """Its cell is interrupted; the variables are as it left them, and that is told."""
    p = hold(named, "a = 1\nimport time\nprint('up', flush=True)\nwhile True:\n    a += 1\n    time.sleep(0.01)")
    pid = record(named)["pid"]
    p.kill()
    p.wait()
    r = run(named, "print(a >= 1, a)\nb = 5")
    assert r.code == 0 and r.out.startswith("True ") and record(named)["pid"] == pid, r
    assert "ended while its code ran" in r.err and "variables are as it left them" in r.err, r
    r = run(named, "print(b)")
    assert r.code == 0 and r.out == "5\n" and r.err == "", r


def test_kill_of_the_holder_while_code_ignores_it(named):
    """... or it is killed, and what is left is told."""
    assert run(named, "old = 3\nopen('kept.txt', 'w').write('kept')").code == 0
    p = hold(named, "import signal, time, os\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nif os.fork() == 0:\n    time.sleep(600)\n"
                    "print('up', flush=True)\nwhile True: pass")
    pid = record(named)["pid"]
    p.kill()
    p.wait()
    r = run(named, "print(open('kept.txt').read(), len([p for p in __import__('os').listdir('/proc') if p.isdigit()]) < 5)")
    assert r.out == "kept True\n" and record(named)["pid"] == pid, r
    assert "ended while its code ran" in r.err, r


def test_the_idle_limit_ends_it(named, engine):
    assert run(named, "x = 1", "--sandbox-idle", "1s").code == 0
    pid = record(named)["pid"]
    assert gone(pid), "it still runs"
    r = named.run("exec", "-", stdin="print('next')")
    assert r.code == 0 and r.out == "next\n", r
    end = time.monotonic() + 10
    while (glob.glob(named.path("run/sandpiper/*/*")) or named.containers()) and time.monotonic() < end:
        time.sleep(0.2)         # "docker rm" of the start before went on by itself
        named.run("gc")
    assert named.leftovers() == [] and glob.glob(named.path("run/sandpiper/*/*")) == []
    r = run(named, "print('x' in globals())")
    assert r.out == "False\n" and "is new" in r.err, r


@pytest.mark.slow(5)
def test_the_idle_limit_is_that_of_the_last_one(named_bwrap):
    assert run(named_bwrap, "x = 1", "--sandbox-idle", "1s").code == 0
    assert run(named_bwrap, "print(x)", "--sandbox-idle", "60s").out == "1\n"
    time.sleep(2.5)
    assert run(named_bwrap, "print(x)", "--sandbox-idle", "1s").out == "1\n"
    assert gone(record(named_bwrap)["pid"])
    r = run(named_bwrap, "print('x' in globals())")
    assert r.out == "False\n" and "had ended (idle for 1 s): its variables and files are gone" in r.err, r


def test_a_container_removed_by_hand(named, engine):
    assert run(named, "x = 1").code == 0
    old = record(named)
    if engine == "bwrap":
        os.kill(old["pid"], signal.SIGKILL)
    else:
        assert quiet([engine, "rm", "-f", old["container"]]).returncode == 0
    assert gone(old["pid"])
    r = run(named, "print('x' in globals())")
    assert r.code == 0 and r.out == "False\n", r
    assert 'the sandbox "work" had ended (it was removed or died): its variables and files are gone; starting a new one' in r.err, r
    assert record(named)["pid"] != old["pid"] and record(named)["id"] != old["id"]
    assert run(named, "print(1)").err == ""


@pytest.mark.slow(3)
def test_gc_and_other_starts_leave_it_alone(named, engine):
    assert run(named, "x = 1").code == 0
    cache = named.path("cache/sandpiper/swept")
    if os.path.exists(cache):
        os.unlink(cache)        # the next start looks at labels too
    assert named.run("exec", "-", stdin="import time\ntime.sleep(2.5)").code == 0
    r = named.run("gc")         # which may find what others on this machine have left
    assert r.code == 0 and "named" not in r.out, r
    r = run(named, "print(x)")
    assert r.out == "1\n" and r.err == "", r


def test_a_named_and_a_plain_one_side_by_side(named):
    p = hold(named)
    r = named.run("exec", "-", stdin="print('plain')")
    assert r.code == 0 and r.out == "plain\n", r
    r = run(named, "print('other')", name="other")
    assert r.code == 0 and r.out == "other\n", r
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 143
    assert sorted(listed(named)) == ["other", "work"]
    assert named.run("rm", "work", "nothing", "other").code == 2
    assert listed(named) == {}


def test_no_place_for_its_name(bare):
    """One without a name has its socket elsewhere; one with a name could not be found again: exit 3."""
    with open(bare.path("run/sandpiper"), "w"):
        pass
    for args in ((), ("--sandbox-name", "work")):
        r = bare.run("exec", "--sandbox", "bwrap", *args, "-", stdin="print(1)")
        assert (r.code, r.out) == (125, "") if args else (0, "1\n"), r
        assert ("Not a directory" if args else "is not a folder") in r.err and bare.path("run/sandpiper") in r.err, r
    os.unlink(bare.path("run/sandpiper"))


def test_mcp_and_serve_do_not_take_it(named_bwrap):
    """Their sandboxes end with the client, and one of that name would have ended with it."""
    assert run(named_bwrap, "x = 77").code == 0
    for command in ("mcp", "serve"):
        r = named_bwrap.run(command, "--sandbox-name", "work", stdin="")
        assert r.code == 2 and "%s has no option --sandbox-name" % command in r.err, r
    assert run(named_bwrap, "print(x)").out == "77\n"


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "-x", "a/b", "../../tmp/x", "a b", "a\nb", "\x1b[31m", "x" * 65, "$(id)", "é"])
def test_hostile_names(bare, name):
    r = bare.run("exec", "--sandbox-name=" + name, "-", stdin="print(1)")
    assert r.code == 125 and r.err.count("\n") == 1 and "\x1b" not in r.err and r.out == "", r
    r = bare.run("--sandbox-name=" + name, "question")
    assert r.code == 2 and r.err.count("\n") == 1, r
    r = bare.run("rm", "--", name)
    assert r.code == 2, r
    assert not os.path.exists(bare.path("run/sandpiper/names"))


def test_options_that_differ(named, engine):
    assert run(named, "x = 1", "--memory", "300m", "--pids", "60").code == 0
    r = run(named, "print(x)")                      # the default is nobody's wish
    assert r.out == "1\n" and r.err == "", r
    r = run(named, "print(x)", "--memory", "400m")  # it allows less: told
    assert r.out == "1\n" and r.err.count("\n") == 1 and "keeps the limits it was started with: memory 300 MiB (you asked for 400 MiB); sandpiper rm " in r.err, r
    r = run(named, "print(x)", "--pids", "20", "--memory", "200m")      # it allows more: refused
    assert r.code == 125 and r.out == "" and r.err.count("\n") == 2 and "sandpiper rm work" in r.err, r
    assert "has higher limits than you asked for: memory 300 MiB (you asked for 200 MiB), pids 60 (you asked for 20)" in r.err, r
    r = run(named, "print(x)", env={"SANDPIPER_MEMORY": "200m"})
    assert r.code == 125, r
    other = "docker" if engine == "bwrap" else "bwrap"
    r = run(named, "print(x)", "--sandbox", other)
    assert r.code == 125 and "runs on %s, not on %s\n" % (engine, other) in r.err and "sandpiper rm work" in r.err, r
    r = run(named, "print(x)", "--sandbox", "auto")
    assert r.out == "1\n", r
    if os.geteuid() == 0:       # the limit is still that of its start, and is named as such
        r = run(named, "x = [bytes(1 << 20) + bytes([i % 256]) for i in range(2000)]")
        assert r.code == 137 and "300 MiB" in r.err and "files" not in r.err, r


@pytest.mark.slow(50)
@pytest.mark.check
def test_kills_at_any_moment(named, engine):
    """kill -9 all over a start and a take-over: the next program either finds the sandbox or starts one, and after rm nothing is left."""
    chance = random.Random(os.environ.get("SANDPIPER_TEST_SEED", "1"))
    span = {"docker": 1.2, "podman": 0.8, "bwrap": 0.25}[engine]
    for i in range(8):
        fresh = i % 4 != 3
        p = named.start("exec", "--sandbox-name", "k%d" % (i if fresh else i - 1), "-", stdin=subprocess.PIPE)
        p.stdin.write(b"a = 1\nimport time\nprint('up', flush=True)\ntime.sleep(60)\n")
        p.stdin.close()
        p.stdin = None
        time.sleep((span if fresh else 0.08) * (i % 4 + chance.random()) / 3)
        p.kill()
        p.wait()
        if i % 2:
            r = run(named, "print('next')", name="k%d" % (i if fresh else i - 1))
            assert r.code == 0 and r.out == "next\n", r
    r = named.run("rm", "--all")
    assert r.code == 0, r
    time.sleep(2 if engine != "bwrap" else 0.3)     # a container whose start had no listener any more ends by itself
    assert named.run("exec", "-", stdin="import time\ntime.sleep(1)").code == 0
    end = time.monotonic() + 15
    while named.leftovers() and time.monotonic() < end:
        assert named.run("gc").code == 0
    assert named.leftovers() == [] and listed(named) == {}


def test_interrupt_of_a_cell_keeps_it(named):
    p = hold(named, "kept = 1\nimport time\nprint('up', flush=True)\ntime.sleep(60)")
    p.send_signal(signal.SIGINT)
    assert p.wait(60) == 130
    r = run(named, "print(kept)")
    assert r.out == "1\n" and r.err == "", r


def test_what_a_cell_lost_is_told(named):
    assert run(named, "x = 1").code == 0
    r = run(named, "import os\nos._exit(3)")
    assert r.code == 3 and "exit" in r.err, r
    assert run(named, "print(2)").out == "2\n"


def test_data_while_the_code_has_all_processes(named_bwrap, serve):
    """No process is left for its profile: the question goes on, and nothing is lost."""
    s = named_bwrap
    r = run(s, "import os, time\nx = 5\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n"
            "except OSError: print('full')")
    assert r.out == "full\n", r
    serve(s, [{"answer": {"calls": [{"code": "print(x, len(open('stdin.csv').read()))"}]}}, {"answer": {"text": "Done."}}])
    r = s.run("--sandbox-name", "work", "how?", stdin="a,b\n" + "1,2\n" * 3000)
    assert r.code == 0 and r.out == "Done.\n" and "5 12004" in r.err, r


@pytest.mark.slow(3)
def test_as_an_ordinary_user(named_bwrap):
    """bwrap without root: no control group, no other uid; killed and ended like any."""
    s = named_bwrap
    if os.geteuid() != 0:
        pytest.skip("the other tests run as one already")
    uid = 54322
    rootless.own(s.dir, uid)
    user = dict(user=uid, group=uid, extra_groups=[])
    assert run(s, "x = 41\nopen('f', 'w').write('hi')", **user).code == 0
    first = record(s)["pid"]
    r = run(s, "print(x + 1, open('f').read())", **user)
    assert r.code == 0 and r.out == "42 hi\n" and r.err == "", r
    p = s.start("exec", "--sandbox-name", "work", "-", stdin=subprocess.PIPE, **user)
    p.stdin.write(b"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('up', flush=True)\nwhile True: pass")
    p.stdin.close()
    p.stdin = None
    assert p.stdout.readline() == b"up\n"
    r = run(s, "print(1)", **user)
    assert r.code == 125 and "in use by process %d" % p.pid in r.err, r
    p.kill()
    p.wait()
    r = run(s, "print(open('f').read())", "--sandbox-idle", "1s", **user)
    assert r.out == "hi\n" and record(s)["pid"] == first, r
    assert gone(first)
    assert run(s, "y = 1", **user).code == 0
    second = record(s)["pid"]
    assert s.run("rm", "work", **user).code == 0 and gone(second)
    assert s.leftovers() == []


def test_it_is_no_child_and_holds_no_terminal(named_bwrap):
    s = named_bwrap
    assert run(s, "x = 1").code == 0
    pid = record(s)["pid"]
    end = time.monotonic() + HANG
    while len(inside := processes_of(pid)) > 3 and time.monotonic() < end:
        time.sleep(0.02)                        # the snapshot before the last one is ending
    assert pid in inside and len(inside) in (2, 3), inside     # supervisor, worker, and the worker's snapshot
    with open("/proc/%d/stat" % pid) as f:
        parent, _, session, tty = [int(v) for v in f.read().rpartition(")")[2].split()[1:5]]
    assert tty == 0 and session == pid
    with open("/proc/%d/stat" % parent) as f:
        outer = f.read().rpartition(")")[2].split()
    assert outer[0] != "Z" and int(outer[3]) == parent and int(outer[4]) == 0     # bwrap itself: a session of its own, no terminal
    for fd in ("0", "1", "2"):
        assert os.readlink("/proc/%d/fd/%s" % (pid, fd)) == "/dev/null"
    assert s.run("rm", "work").code == 0
    assert gone(pid) and gone(parent)


def test_engines_that_are_gone(named_bwrap):
    """The engine of a sandbox is no longer there: told, and nothing is lost."""
    need_engine("docker")
    s = named_bwrap
    s.engine = "docker"
    assert run(s, "x = 1").code == 0
    for path in ("/bin/true",):
        os.symlink(path, os.path.join(s.work, "true"))
    r = run(s, "print(x)", env={"PATH": s.work})
    assert r.code == 125 and "docker is no longer installed" in r.err, r
    r = s.run("rm", "work", env={"PATH": s.work})
    assert r.code == 3 and "docker is no longer installed" in r.err, r
    assert run(s, "print(x)").out == "1\n"
    assert s.run("rm", "work").code == 0
