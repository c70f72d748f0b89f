"""store.py - a database of sessions that somebody else has written, opened by the commands that a user types: what its schema does, how long it takes to
be read, and which files it names. tests/e2e/test_hostile_store.py has each case apart. All of it in a state folder of the probe's own."""
import json
import os
import shutil
import sqlite3
import struct
import threading

from .cell import NOT_RUN, Finding, Probe, judge

from model_server import ModelServer  # noqa: E402

SECRET = "canary-5e3c2e7"
LIMIT = 10              # seconds that one query may take (store/db.h)
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT %s FROM c"


def database(s):
    return s.path("state/sandpiper/store/sessions.db")


def code(source):
    return {"answer": {"calls": [{"name": "execute_python", "arguments": {"code": source}}]}}


def sql(s, *statements):
    """Run in the database, all of which is in one file then. Returns its bytes."""
    db = sqlite3.connect(database(s), isolation_level=None)
    for one in statements:
        db.execute(one)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    for more in ("-wal", "-shm"):
        if os.path.exists(database(s) + more):
            os.unlink(database(s) + more)
    with open(database(s), "rb") as f:
        return f.read()


# ------------------------------------------------------------------------------------------------------------------ the cases

COLUMNS = "n, id, begun, used, folder, title, model, sandbox, parent, writer"
SCHEMAS = {
    "view": ["ALTER TABLE session RENAME TO s2", "CREATE VIEW session(%s) AS %s" % (COLUMNS, ENDLESS % "x,x,x,x,x,x,x,x,x,x")],
    "trigger": ["CREATE TRIGGER t BEFORE INSERT ON session BEGIN %s; END" % "SELECT count(*) FROM turn a, turn b, turn c, turn d, turn e, turn f, turn g, turn h"],
    "trigger that writes": ["CREATE TRIGGER t AFTER INSERT ON turn BEGIN DELETE FROM session; END"],
    "another table": ["CREATE TABLE mine(x)"],
    "another index": ["CREATE INDEX mine ON session(abs(n))"],
    "a condition": ["ALTER TABLE piece ADD COLUMN x CHECK(length(zeroblob(30000000)) > 0)"],
    "a computed column": ["ALTER TABLE session ADD COLUMN x AS (length(zeroblob(30000000)))"],
    "no index": ["DROP INDEX session_folder"],
    "no table": ["DROP TABLE question"],
    "an older layout": ["PRAGMA user_version=4"],
    "a newer layout": ["PRAGMA user_version=99"],
    "of another program": ["PRAGMA application_id=7"],
    "empty": None,
}


def endless_tree(s):
    """The table of sessions becomes a tree in which each page has the one below it four hundred times: eight levels, 10^20 rows."""
    data = bytearray(sql(s))
    page = struct.unpack(">H", data[16:18])[0]
    with sqlite3.connect(database(s)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name='session'").fetchone()
    at = (root - 1) * page
    leaf, pages = bytes(data[at:at + page]), [bytes(data[at:at + page])]
    first = len(data) // page + 1
    assert leaf[0] == 13

    def inner(child):
        out, cells = bytearray(page), b"".join(struct.pack(">I", child) + b"\x01" for _ in range(400))
        out[0:12] = struct.pack(">BHHHBI", 5, 0, 400, page - len(cells), 0, child)
        out[12:812] = b"".join(struct.pack(">H", page - len(cells) + 5 * i) for i in range(400))
        out[page - len(cells):] = cells
        return bytes(out)
    for depth in range(7):
        pages.append(inner(first + depth))
    data[at:at + page] = inner(first + 7)
    data += b"".join(pages)
    data[28:32] = struct.pack(">I", len(data) // page)
    with open(database(s), "wb") as f:
        f.write(data)


def canary(s, name="canary.txt", content=SECRET):
    path = s.path("home/" + name)
    with open(path, "wb" if isinstance(content, bytes) else "w") as f:
        f.write(content)
    os.chmod(path, 0o600)
    if os.geteuid() == 0:
        os.chown(path, s.uid, s.uid)
    return path


def as_kept(path):
    return "kept='%s', path=''" % path


# What a row of a file says, by what it leads to: the canary by its path, or a name in the folder of the session.
NAMES = {
    "path": lambda s, own: "kept=NULL, path='%s'" % canary(s),
    "copy": lambda s, own: as_kept(canary(s)),
    "up": lambda s, own: as_kept("%s/given/../../../../../%s" % (own, os.path.relpath(canary(s), s.dir))),
    "link": lambda s, own: os.symlink(canary(s), own + "/given/link") or as_kept(own + "/given/link"),
    "linked folder": lambda s, own: os.symlink(s.path("home"), own + "/d") or canary(s) and as_kept(own + "/d/canary.txt"),
    "fifo": lambda s, own: os.mkfifo(own + "/given/fifo") or as_kept(own + "/given/fifo"),
    "another session": lambda s, own: os.makedirs(own + "0/given") or shutil.move(canary(s), own + "0/given/x") and as_kept(own + "0/given/x"),
    "its time is not noted": lambda s, own: "kept=NULL, path='%s', modified=NULL, size=%d" % (canary(s), len(SECRET)),
    "another size": lambda s, own: "kept=NULL, path='%s', modified=%d, size=%d" % (canary(s), os.stat(canary(s)).st_mtime_ns // 1000, len(SECRET) - 1),
    "another time": lambda s, own: "kept=NULL, path='%s', modified=%d, size=%d" % (canary(s), os.stat(canary(s)).st_mtime_ns // 1000 - 1, len(SECRET)),
    "a folder": lambda s, own: canary(s) and "kept=NULL, path='%s'" % s.path("home"),
}


# -------------------------------------------------------------------------------------------------------------------- the rows

TEXT = {"answer": {"text": "Fine."}}
LOOK = code("import os\nfor top, _, names in os.walk('.'):\n    print(top, names, [open(top + '/' + n).read() for n in names])")


class Fresh:
    """with Fresh(there, exchanges) as requests: no session is saved yet, and a model service that answers so."""
    def __init__(self, there, exchanges):
        self.there, self.model = there, ModelServer(exchanges)

    def __enter__(self):
        shutil.rmtree(self.there.path("state/sandpiper"), ignore_errors=True)
        server = self.model.__enter__()
        self.there.url = server.url
        return server.requests

    def __exit__(self, *exc):
        self.model.__exit__(*exc)
        shutil.rmtree(self.there.path("state/sandpiper"), ignore_errors=True)


def content(path):
    with open(path, "rb") as f:
        return f.read()


def in_time(there, *args):
    """None: it did not end."""
    try:
        return there.run(*args, timeout=LIMIT + 5)
    except AssertionError:
        return None


def schemas_of_others(there):
    """{case: is the question answered in time, and the file as it was?}"""
    seen = {}
    for what in ("view", "trigger", "trigger that writes", "a computed column"):
        with Fresh(there, [TEXT] * 2):
            there.run("a?")
            sql(there, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 3000) INSERT INTO turn(session, serial, place, question, role, text) "
                       "SELECT 1, x+100, x, 1, 0, '' FROM c", *SCHEMAS[what])
            before = content(database(there))
            r = in_time(there, "b?")
            seen[what] = bool(r) and r.code == 0 and r.out == "Fine.\n" and content(database(there)) == before
    return seen


def a_tree_without_an_end(there):
    with Fresh(there, [TEXT]):
        there.run("a?")
        endless_tree(there)
        r = in_time(there, "sessions")
        return {"ended": bool(r), "code": r and r.code, "said": r and r.err}


def files_of_others(there):
    """What the database calls the file that was attached, when the session's code runs again: {case: did the model get to see it?}"""
    seen = {}
    for how in NAMES:
        with Fresh(there, [code("pass"), TEXT, LOOK, TEXT]) as requests:
            there.run("--add", there.write("data.csv", "a,b\n1,2\n"), "read it")
            own = there.path("state/sandpiper/sessions/" + json.loads(there.run("sessions", "--json").out)["id"][16:])
            sql(there, "UPDATE file SET " + NAMES[how](there, own))
            r = there.run("-c", "--rerun", "look")
            if len(requests) != 4:
                raise OSError("%s: %d requests came: %r" % (how, len(requests), r))
            seen[how] = any(SECRET in str(one.body) for one in requests)
            os.unlink(there.path("work/data.csv"))
    return seen


ROWS = [
    Probe("STORE-SCHEMA", "store: views, triggers and computed columns of a database: nothing of it is run, and it is left as it is", schemas_of_others,
          lambda seen: all(seen.values())),
    Probe("STORE-TIME", "store: a table that is a tree without an end: the reading ends in time", a_tree_without_an_end,
          lambda seen: seen["code"] == 1),
    Probe("STORE-FILES", "store: --rerun of a session that names other files than its own: the model sees none of them", files_of_others,
          lambda seen: len(seen) == len(NAMES) and not any(seen.values())),
]


def attempt(there, row):
    try:
        seen = row.code(there)
    except Exception as e:
        return Finding(there.place, "store", row, NOT_RUN, "%s: %s" % (type(e).__name__, e))
    return judge(there.place, "store", row, lambda: row.holds(seen), repr(seen))


ALONE = threading.Lock()
tried = set()


def run_group(there):
    """No engine has a part in these, and one reads for ten seconds: they are tried in the place that comes first, and not again."""
    with ALONE:
        found = [attempt(there, row) for row in ROWS if row.id not in tried]
        tried.update(f.id for f in found if f.verdict != NOT_RUN)
    return found
