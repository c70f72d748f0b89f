"""test_named_fork.py - "sandpiper fork NAME NEW": a second named sandbox goes on from a live copy of the first, on every engine, and neither sees what the
other does; where that cannot be, nothing is made and the first is as it was."""
import os
import signal
import time

import pytest

from named_sandboxes import gone, hold, listed, named, named_bwrap, record, run  # noqa: F401, F811
from test_fork import HELD

FULL = "big = [bytearray(b'x' * (20 << 20)) for _ in range(8)]\nfor i in range(4):\n    open('f%d' % i, 'wb').write(big[0])"     # of 300 MB
LOOK = "print(next(g), add(2), half.read(2), sorted(os.listdir('.')), sorted(n for n in dir() if n in ('mine', 'v')))"


def test_both_go_on(named, engine):                             # noqa: F811
    """What cannot be pickled, modules, files and places in them; limits, the count of cells and the idle time too."""
    assert run(named, HELD + "import os", "--memory", "300m", "--sandbox-idle", "1h").code == 0
    r = named.run("fork", "work", "other")
    assert (r.code, r.out, r.err) == (0, "other goes on from a copy of work\n", ""), r
    assert run(named, "mine = 1; open('new.txt', 'w')\n" + LOOK, name="other").out == "2 42 45 ['begin.txt', 'new.txt'] ['mine']\n"
    assert run(named, "v = 2\n" + LOOK).out == "2 42 45 ['begin.txt'] ['v']\n"
    assert run(named, LOOK, name="other").out == "3 42 67 ['begin.txt', 'new.txt'] ['mine']\n"
    r = run(named, "next(g) + None", name="other")
    assert '"<cell 4>", line 1' in r.err and '"<cell 1>", line 4' not in r.err, r
    both = listed(named)
    assert sorted(both) == ["other", "work"] and both["other"]["engine"] == engine, both
    assert both["other"]["memory_limit"] == both["work"]["memory_limit"] == 300 << 20, both
    pids = [record(named, name)["pid"] for name in both]
    assert named.run("rm", "work").code == 0 and gone(record(named, "other")["pid"], 0) is False
    assert run(named, LOOK, name="other").code == 0              # the one that was copied is gone
    assert named.run("fork", "other", "third").code == 0         # a copy of a copy
    assert run(named, LOOK, name="third").out == "6 42  ['begin.txt', 'new.txt'] ['mine']\n"
    assert named.run("rm", "other", "third").code == 0 and all(map(gone, pids)) and named.leftovers() == []


def test_the_idle_time_is_that_of_the_first(named_bwrap):       # noqa: F811
    s = named_bwrap
    assert run(s, "x = 1", "--sandbox-idle", "1h").code == 0
    assert s.run("fork", "work", "other").code == 0
    assert {one["idle_limit"] for one in listed(s).values()} == {3600}


def test_folders_go_along(named, tmp_path):                     # noqa: F811
    s = named
    folder = os.path.join(s.work, "shared")
    os.mkdir(folder, 0o755)
    with open(folder + "/a.txt", "w") as f:
        f.write("seen")
    os.chmod(folder + "/a.txt", 0o644)
    assert run(s, "x = open('/mnt/host/shared/a.txt').read()", "--mount", folder).code == 0
    assert s.run("fork", "work", "other").code == 0
    assert run(s, "print(x, open('/mnt/host/shared/a.txt').read())", name="other").out == "seen seen\n"
    os.rename(folder, folder + ".old")
    os.mkdir(folder)
    r = s.run("fork", "work", "third")
    assert r.code == 3 and "a folder that has been replaced" in r.err and sorted(listed(s)) == ["other", "work"], r


@pytest.mark.parametrize("args, code, said", [
    ((), 2, "sandpiper fork NAME NEW"), (("work",), 2, "sandpiper fork NAME NEW"), (("work", "a", "b"), 2, "sandpiper fork NAME NEW"),
    (("nothing", "new"), 2, 'no sandbox "nothing"'), (("work", "work"), 2, "another name"), (("work", "taken"), 2, "already"),
    (("work", "../x"), 2, "bad sandbox name"), (("held", "new"), 3, '"held" is in use'), (("work", "held"), 3, '"held" is in use')])
def test_wrong_words(named_bwrap, args, code, said):            # noqa: F811
    s = named_bwrap
    for name in ("work", "taken"):
        assert run(s, "x = 1", name=name).code == 0
    hold(s, name="held")
    r = s.run("fork", *args)
    assert r.code == code and r.out == "" and said in r.err and r.err.count("\n") <= 2, r
    assert sorted(listed(s)) == ["held", "taken", "work"]
    assert run(s, "print(x)").out == "1\n"


def test_one_that_has_ended(named):                             # noqa: F811
    assert run(named, "x = 1").code == 0
    pid = record(named)["pid"]
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    r = named.run("fork", "work", "other")
    assert r.code == 2 and '"work" has ended' in r.err and r.out == "", r
    assert listed(named) == {} and named.run("rm", "work").code == 0 and named.leftovers() == []


@pytest.mark.parametrize("code, said", [("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()", "threads are running"),
                                        (FULL, "more memory than")])
def test_where_there_can_be_no_copy(named, code, said):         # noqa: F811
    assert run(named, "x = 1\n" + code, "--memory", "300m").code == 0
    r = named.run("fork", "work", "other")
    assert r.code == 3 and said in r.err and r.out == "", r
    assert run(named, "print(x)").out == "1\n" and sorted(listed(named)) == ["work"]


def test_nothing_stays_open(named):                             # noqa: F811
    """Of copies that are made, and of those that are refused: the same descriptors and, but for what Python itself learns, the same pieces of memory."""
    look = "print(sorted(os.listdir('/proc/self/fd')), len(open('/proc/self/maps').readlines()))"
    assert run(named, "import os\n" + look, "--memory", "300m").code == 0
    names = ["c%d" % i for i in range(6)]
    assert named.run("fork", "work", names[0]).code == 0
    first = run(named, look).out
    for name in names[1:]:
        assert named.run("fork", "work", name).code == 0
    assert run(named, look).out.split("]")[0] == first.split("]")[0]
    assert int(run(named, look).out.split()[-1]) <= int(first.split()[-1]) + 8
    assert named.run("rm", *names).code == 0
    assert run(named, FULL + "\n" + look).code == 0
    before = run(named, look).out
    for _ in range(5):
        assert named.run("fork", "work", "other").code == 3
    after = run(named, look).out
    assert after.split("]")[0] == before.split("]")[0] and int(after.split()[-1]) <= int(before.split()[-1]) + 8, (before, after)


def test_killed_meanwhile(named):                               # noqa: F811
    """The first is as it was, the second is not there, or whole."""
    assert run(named, "x = 1; big = bytearray(b'x' * (50 << 20))").code == 0
    for turn in range(6):
        p = named.start("fork", "work", "other")
        time.sleep(0.04 * turn)
        p.kill()
        p.wait()
        if listed(named).get("other", {}).get("engine"):         # else it was just being made
            r = run(named, "print(x, big.count(b'x'))", name="other")
            assert r.out == "1 52428800\n", (turn, r)
            assert named.run("rm", "other").code == 0
        r = run(named, "print(x, big.count(b'x'))")
        assert r.out == "1 52428800\n", (turn, r)
    assert sorted(listed(named)) == ["work"]
