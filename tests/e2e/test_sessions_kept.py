"""What a saved session survives: kill -9 at any moment, two programs at once, a database that is damaged, hostile, locked, or on a full disk."""
import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time

import pytest

from program import HANG
from test_sessions import CELL, contents, database, listed, rows, text


def scripted(request):
    """One cell for each question, then an answer that names the question."""
    last = request.messages[-1]
    if last["role"] == "user":
        return {"answer": {"text": "Let me see.", "piece": 3, "calls": CELL["answer"]["calls"]}}
    number = sum(m["role"] == "user" for m in request.messages)
    return text("Answer %d: %s" % (number, "word " * 60))


def events(data):
    """The lines that were written whole."""
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def one_life(s, delay):
    """Three questions as a script, killed after delay; what it had shown by then."""
    p = s.start("--json", stdin=subprocess.PIPE)
    p.stdin.write(b"one?\ntwo?\nthree?\n")
    p.stdin.close()
    p.stdin = None
    begun = time.monotonic()
    if delay is not None:
        try:
            p.wait(delay)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
    out = p.communicate()[0]
    return events(out), time.monotonic() - begun


def check_kept(s, shown, session):
    said = [t for (t,) in rows(s, "SELECT text FROM turn WHERE role=1 AND session=%d" % session)]
    for e in shown:
        if e["type"] == "done":
            assert e["answer"] in said, (e, said)
        if e["type"] == "tool_result":
            assert rows(s, "SELECT status FROM cell WHERE n=%d AND session=%d" % (e["cell"], session)) == [(0,)], e
    asked = rows(s, "SELECT count(*) FROM question WHERE session=%d" % session)[0][0]
    assert asked >= len({e["question"] for e in shown if e["type"] == "text"})


def kill_rounds(s, serve, rounds):
    serve(s, [scripted] * 2000, complete=False)
    pick = random.Random(4711)
    _, whole = one_life(s, None)
    for number in range(rounds):
        before = rows(s, "SELECT coalesce(max(n), 0) FROM session")[0][0]
        shown, _ = one_life(s, pick.uniform(0, whole * 1.1))
        sessions = [n for (n,) in rows(s, "SELECT n FROM session WHERE n > %d" % before)]
        assert len(sessions) <= 1 and (sessions or not any(e["type"] == "done" for e in shown))
        assert rows(s, "PRAGMA integrity_check") == [("ok",)]
        for session in sessions:
            check_kept(s, shown, session)
            r = s.run("-c", "and now?")            # a history that no service refuses: the server checks it
            assert r.code == 0 and "Answer" in r.out, r


@pytest.mark.slow(3)
def test_kill(sandpiper, serve):
    kill_rounds(sandpiper, serve, 8)


@pytest.mark.slow(50)
@pytest.mark.check
def test_kill_at_100_moments(sandpiper, serve):
    kill_rounds(sandpiper, serve, 100)


def test_a_reply_that_was_cut_off(sandpiper, serve):
    release = threading.Event()
    server = serve(sandpiper, [{"answer": {"text": "The beginning of a long answer", "stall_after": 4}}, text("Good.")], complete=False)
    p = sandpiper.start("--json", "tell me")
    server.wait_request(1)
    end = time.monotonic() + 20
    while time.monotonic() < end and not (os.path.exists(database(sandpiper)) and rows(sandpiper, "SELECT count(*) FROM piece") != [(0,)]):
        p.poll()
        release.wait(0.02)
    p.kill()
    p.communicate()
    shown = sandpiper.run("sessions", "show", listed(sandpiper)[0]["id"]).out
    assert "[interrupted]" in shown and "The beg" in shown
    assert sandpiper.run("-c", "go on").out == "Good.\n"
    said = contents(server.requests[-1])
    assert said[0] == "tell me" and said[1].startswith("The beg") and said[1].endswith("\n[interrupted]") and said[2] == "go on"


def test_two_at_once(sandpiper, serve):
    serve(sandpiper, [scripted] * 400, complete=False)
    lives = [sandpiper.start("--json", stdin=subprocess.PIPE) for _ in range(4)]
    for p in lives:
        p.stdin.write(b"one?\ntwo?\nthree?\n")
        p.stdin.close()
        p.stdin = None
    for p in lives:
        out = events(p.communicate(timeout=60)[0])
        assert p.returncode == 0 and not [e for e in out if e["type"] == "notice" and "saved" in e["text"]], out
    assert [one["questions"] for one in listed(sandpiper)] == [3] * 4
    assert rows(sandpiper, "SELECT count(*) FROM turn") == [(4 * 12,)]


def test_the_same_session_twice(sandpiper, serve):
    server = serve(sandpiper, [text("First."), {"answer": {"text": "Long", "stall_after": 4}}, text("Second.")], complete=False)
    sandpiper.run("one?")
    first = sandpiper.start("-c", "two?")
    server.wait_request(2)
    r = sandpiper.run("-c", "three?")
    assert r.code == 0 and r.out == "Second.\n" and "in a copy" in r.err, r
    (one,) = [one for one in listed(sandpiper) if one["in_use"]]
    assert sandpiper.run("sessions", "rm", one["id"]).code == 1
    first.terminate()
    first.communicate()
    both = {one["copy_of"]: one["questions"] for one in listed(sandpiper)}
    assert both == {None: 2, one["id"]: 2}
    assert contents(server.requests[-1]) == ["one?", "First.", "three?"]


def spoil(name):
    def change(path):
        with sqlite3.connect(path) as db:
            db.execute({"newer": "PRAGMA user_version=99", "other": "PRAGMA application_id=7", "columns": "ALTER TABLE turn RENAME COLUMN text TO txt",
                        "table": "DROP TABLE question", "roles": "UPDATE turn SET role=9", "calls": "UPDATE turn SET calls='{' WHERE calls IS NOT NULL",
                        "order": "UPDATE turn SET place=-place", "blob": "UPDATE turn SET text=x'ff00fe'", "huge": "UPDATE turn SET text=zeroblob(40000000)",
                        "view": "ALTER TABLE cell RENAME TO c2", "trigger": "CREATE TRIGGER t AFTER INSERT ON turn BEGIN SELECT RAISE(ABORT, 'no'); END",
                        "id": "UPDATE session SET id='../../../x-' || id"}[name])
    return change


def overwrite(data, at=0):
    def change(path):
        for more in ("-wal", "-shm"):
            if os.path.exists(path + more):
                os.unlink(path + more)
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(data)
    return change


HOSTILE = {name: spoil(name) for name in ("newer", "other", "columns", "table", "roles", "calls", "order", "blob", "huge", "view", "trigger", "id")}
HOSTILE.update(text=overwrite(b"hello " * 2000), header=overwrite(b"\xff" * 64, 24), pages=overwrite(os.urandom(20000), 4096),
               truncated=lambda path: os.truncate(path, 100))


@pytest.mark.parametrize("how", sorted(HOSTILE))
def test_a_bad_database(sandpiper, serve, how):
    serve(sandpiper, [CELL, text("It is 42.")] + [text("Fine.")] * 3, complete=False)
    sandpiper.run("what?")
    with sqlite3.connect(database(sandpiper)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    HOSTILE[how](database(sandpiper))
    r = sandpiper.run("well?")
    assert r.code == 0 and r.out == "Fine.\n" and len(r.err.splitlines()) <= 2, r
    for argv in (["sessions"], ["sessions", "show", "2"], ["sessions", "search", "what"], ["sessions", "rm", "x"], ["-c", "again?"], ["-r", "2", "q"]):
        r = sandpiper.run(*argv)
        assert r.code in (0, 1, 2) and len(r.err) < 600 and "Traceback" not in r.err, r


def test_locked(sandpiper, serve):
    serve(sandpiper, [text("One."), text("Two.")])
    sandpiper.run("a?")
    lock = sqlite3.connect(database(sandpiper), isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    r = sandpiper.run("b?")
    lock.execute("ROLLBACK")
    assert r.code == 0 and r.out == "Two.\n" and "locked by another program" in r.err and r.seconds < HANG and len(r.err.splitlines()) == 1, r
    assert len(listed(sandpiper)) == 1


@pytest.mark.parametrize("more", [b"", b"b?\n"])
def test_locked_for_a_moment(sandpiper, serve, more):
    """What could not be saved in time is saved with the next question, or at the end."""
    locks = []

    def answer(request):
        locks.append(sqlite3.connect(database(sandpiper), isolation_level=None, check_same_thread=False))
        locks[0].execute("BEGIN IMMEDIATE")
        return text("One.")
    serve(sandpiper, [CELL, answer, text("Two.")], complete=False)
    p = sandpiper.start(stdin=subprocess.PIPE)
    p.stdin.write(b"a?\n")
    p.stdin.flush()
    assert p.stdout.readline() == b"One.\n"
    while b"locked by another program: this session is not saved for the moment" not in p.stderr.readline():
        pass
    locks[0].execute("ROLLBACK")
    p.stdin.write(more)
    p.stdin.close()
    p.stdin = None
    p.communicate(timeout=HANG)
    saved = rows(sandpiper, "SELECT role, question, text FROM turn WHERE role<2 ORDER BY place")
    assert saved[0] == (0, 1, "a?") and saved[2] == (1, 1, "One."), saved
    assert saved[3:] == ([(0, 2, "b?"), (1, 2, "Two.")] if more else []), saved


@pytest.mark.parametrize("how", ["link", "folder", "open"])
def test_a_place_that_is_not_ours(sandpiper, serve, how):
    serve(sandpiper, [text("Yes.")])
    place = os.path.dirname(database(sandpiper))
    os.makedirs(os.path.dirname(place))
    if how == "link":
        os.makedirs(place, mode=0o700)
        os.symlink("/etc/passwd", database(sandpiper))
    elif how == "folder":
        os.makedirs(database(sandpiper), mode=0o700)
    else:
        os.makedirs(place)
        os.chmod(place, 0o777)
    r = sandpiper.run("a?")
    assert r.code == 0 and r.out == "Yes.\n" and "not saved" in r.err, r


@pytest.mark.parametrize("limit", [0, 40000, 120000])
def test_no_room(sandpiper, serve, limit):
    """The file may not grow, as on a full disk: one line, and the answer."""
    serve(sandpiper, [text("One."), CELL, text("It is 42."), text("Three.")])
    sandpiper.run("a?")
    with open(database(sandpiper) + "-wal", "rb") as f:
        size = len(f.read())
    p = sandpiper.start("-p", "b" * 30000, preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (size + limit,) * 2))
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0 and out == b"It is 42.\n", (out, err)
    if limit == 0:
        assert err.count(b"not saved") == 1, err
    assert rows(sandpiper, "PRAGMA integrity_check") == [("ok",)]
    assert sandpiper.run("c?").out == "Three.\n" and listed(sandpiper)[0]["title"] == "c?"
