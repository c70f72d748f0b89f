"""test_hostile_store.py - a database of sessions that somebody else has written: what its schema does, how long it takes to be read, and which files
it names. It may have come with a backup, a synchronised folder, or from whoever could write there once. What is in it is data: it runs nothing, ends in
time and at Ctrl-C, and opens no file but those of its sessions, and the user's own as they were when they were attached.
"""
import base64
import os
import re
import resource
import signal
import struct
import time

import pytest

from conftest import BIN

from chat_keys import ask, leave, start
from image_parts import images
from program import HANG
from test_add import end_sandbox
from probes.store import LIMIT, NAMES, SCHEMAS, SECRET, canary, code, database, endless_tree, sql
from test_sessions import listed, rows, text


# ------------------------------------------------------------------------------------------------- the schema

@pytest.mark.parametrize("what", SCHEMAS)
def test_a_schema_that_is_not_ours_is_not_read(sandpiper, serve, what):
    """One line says what, where and what to do; an answer is had all the same, and not a byte of the file changes."""
    serve(sandpiper, [text("First.")] + [text("Fine.")] * 2, complete=False)
    sandpiper.run("a?")
    if SCHEMAS[what] is None:
        sql(sandpiper)
        os.truncate(database(sandpiper), 0)
    else:
        sql(sandpiper, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 3000) INSERT INTO turn(session, serial, place, question, role, text) "
                       "SELECT 1, x+100, x, 1, 0, '' FROM c", *SCHEMAS[what])
    with open(database(sandpiper), "rb") as f:
        before = f.read()
    r = sandpiper.run("b?", timeout=HANG)
    assert r.code == 0 and r.out == "Fine.\n" and r.err.count("\n") == 1 and r.err.endswith(": from here on this session is not saved\n"), r
    assert database(sandpiper) in r.err
    for argv in (["sessions"], ["sessions", "search", "x"], ["sessions", "export", "1"], ["sessions", "rm", "1"], ["-c", "c?"], ["-r", "1", "c?"]):
        r = sandpiper.run(*argv, timeout=HANG)
        assert r.code == 1 and database(sandpiper) in r.err and "ove it away" in r.err and r.err.count("\n") == 2, r
    with open(database(sandpiper), "rb") as f:
        assert f.read() == before


def test_what_searches_and_removals_leave_is_ours(sandpiper, serve):
    """Whatever this program does to the file, it takes it for its own the next time."""
    serve(sandpiper, [text("Paris.")] * 3)
    for word in ("one", "two"):
        sandpiper.run(word + "?")
        assert "%s?" % word in sandpiper.run("sessions", "search", word).out
    assert sandpiper.run("sessions", "rm", listed(sandpiper)[0]["id"]).code == 0
    sql(sandpiper, "VACUUM")
    assert sandpiper.run("three?").err == "" and len(listed(sandpiper)) == 2
    assert "three?" in sandpiper.run("sessions", "search", "three").out


# ------------------------------------------------------------------------------------------------- time

ASAN = b"__asan_init" in open(BIN, "rb").read()


@pytest.mark.slow(10)
@pytest.mark.parametrize("argv", [["sessions"], ["-r", "zzz", "q?"], ["sessions", "rm", "zzz"]], ids=["list", "continue", "remove"])
def test_a_tree_without_an_end(sandpiper, serve, argv):
    """It is given up in time, and in little memory."""
    serve(sandpiper, [text("First.")])
    sandpiper.run("a?")
    endless_tree(sandpiper)
    limit = None if ASAN else lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 30,) * 2)     # ASan reserves more than that
    r = sandpiper.run(*argv, timeout=LIMIT + 20, preexec_fn=limit)
    assert r.code == 1 and re.search("takes too long to read|holds more than", r.err) and r.seconds < LIMIT + 2, r


@pytest.mark.slow(3)
@pytest.mark.parametrize("number,code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_reading(sandpiper, serve, number, code):
    serve(sandpiper, [text("First.")])
    sandpiper.run("a?")
    endless_tree(sandpiper)
    p = sandpiper.start("-r", "zzz", "q?")
    with pytest.raises(Exception):
        p.communicate(timeout=1.5)
    p.send_signal(number)
    began = time.monotonic()
    p.communicate(timeout=HANG)
    assert p.returncode == code and time.monotonic() - began < LIMIT - 2


@pytest.mark.slow(3)
def test_ctrl_c_in_a_chat_ends_the_reading(sandpiper, serve):
    """The chat goes on."""
    serve(sandpiper, [text("First."), text("Second.")])
    sandpiper.run("a?")
    endless_tree(sandpiper)
    p = start(sandpiper, "--no-save")
    p.send("/resume zzz\r")
    time.sleep(1.5)
    p.send("\x03")
    began = time.monotonic()
    p.expect("> ")
    assert time.monotonic() - began < LIMIT - 2
    ask(p, "b?", "Second")
    leave(p)


# ------------------------------------------------------------------------------------------------- files

@pytest.mark.parametrize("how", NAMES)
@pytest.mark.parametrize("ran", [True, False], ids=["rerun", "files"])
def test_no_file_but_its_own_comes_back(sandpiper, serve, how, ran):
    """--rerun, and a session without code, whose files come back at once."""
    look = code("import os\nfor top, _, names in os.walk('.'):\n    print(top, names, [open(top + '/' + n).read() for n in names])")
    server = serve(sandpiper, ([code("pass")] if ran else []) + [text("Read."), look, text("Seen.")])
    sandpiper.write("data.csv", "a,b\n1,2\n")
    assert sandpiper.run("--add", "data.csv", "read it").code == 0
    own = sandpiper.path("state/sandpiper/sessions/" + listed(sandpiper)[0]["id"][16:])
    sql(sandpiper, "UPDATE file SET " + NAMES[how](sandpiper, own))
    r = sandpiper.run("-c", *(["--rerun"] if ran else []), "look", timeout=HANG)
    assert r.code == 0 and r.out == "Seen.\n" and re.search(r"data\.csv (has changed|is missing|was not kept)", r.err), r
    assert all(SECRET not in str(request.body) for request in server.requests)


def test_the_users_own_file_comes_back_as_it_was_noted(sandpiper, serve):
    """A large one that was not copied, from where it lies, until it changes."""
    sandpiper.write("large.csv", "a,b\n" + "1,2\n" * 5000)
    show = code("print(len(open('large.csv').read()))")
    server = serve(sandpiper, [show, text("Read.")] + [show, text("Again.")] * 2)
    assert sandpiper.run("--max-file", "10k", "--add", "large.csv", "read it").code == 0
    r = sandpiper.run("-c", "--rerun", "again")
    assert "Variables are back" in r.err and "20004" in str(server.requests[3].messages[-1]), r
    os.utime(os.path.join(sandpiper.work, "large.csv"))
    r = sandpiper.run("-c", "--rerun", "again")
    assert "large.csv has changed since" in r.err and "20004" not in str(server.requests[5].messages[-1]), r


def test_a_new_sandbox_gets_no_other_file(sandpiper, serve):
    """What code made is put back into a sandbox that replaces a dead one, as it is on this machine: not what the database says it is."""
    serve(sandpiper, [code("open('made.txt', 'w').write('made')"), text("Made."), code("import os\nprint('seen', [open(n).read() for n in os.listdir('.')])"), text("Seen.")])
    assert sandpiper.run("make it").code == 0
    sql(sandpiper, "UPDATE file SET path='%s'" % canary(sandpiper))
    p = start(sandpiper, "-c", "--rerun", size=(40, 200))
    end_sandbox(p.pid)
    p.send("look\r")
    p.expect("seen [^\r]*")
    assert SECRET not in p.after
    p.expect("Seen")
    p.expect("> ")
    leave(p)


@pytest.mark.parametrize("kind", [1, 3, 4])
def test_an_export_has_no_other_file(sandpiper, serve, kind):
    """A notebook has its figures inside."""
    serve(sandpiper, [code("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n42"), text("Drawn.")])
    assert sandpiper.run("plot").code == 0
    assert "image/png" in sandpiper.run("sessions", "export", "2", "--format", "ipynb").out
    sql(sandpiper, "UPDATE file SET figure=%d, path='%s'" % (kind, canary(sandpiper, content="<p>%s</p>" % SECRET)))
    r = sandpiper.run("sessions", "export", "2", "--format", "ipynb")
    assert r.code == 0 and SECRET not in r.out and "PHA+" not in r.out, r


SWAP = """
import os
if os.fork() == 0:
    os.chdir('/mnt/host/out')
    while not os.path.exists('figure-1.png'): pass
    os.rename('figure-1.png', 'was')
    os.symlink(%r, 'figure-1.png')
    os._exit(0)
for i in range(3): open('large%%d.txt' %% i, 'w').write('x' * 2000000)
class Value:
    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * %d
Value()"""


def test_a_link_that_code_puts_in_place_of_its_file_is_not_followed(sandpiper, serve):
    """It may write in the folder where its files are saved, and replaces one before the session notes how it is."""
    content = b"\x89PNG\r\n\x1a\n" + SECRET.encode()
    secret = canary(sandpiper, content=content)
    serve(sandpiper, [code(SWAP % (secret, len(SECRET))), code("while not os.path.islink('/mnt/host/out/figure-1.png'): pass"), text("Shown.")])
    os.mkdir(sandpiper.path("work/out"))
    os.chmod(sandpiper.path("work/out"), 0o777)
    assert sandpiper.run("--mount", "out:rw", "--out", "out", "show").code == 0
    r = sandpiper.run("sessions", "export", "2", "--format", "ipynb")
    assert r.code == 0 and base64.b64encode(content).decode() not in r.out, r


def test_figures_in_a_folder_of_the_users_are_exported_as_they_were(sandpiper, serve):
    serve(sandpiper, [code("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"), text("Drawn.")])
    assert sandpiper.run("--out", "out", "plot").code == 0
    assert "image/png" in sandpiper.run("sessions", "export", "2", "--format", "ipynb").out
    os.utime(os.path.join(sandpiper.work, "out", "figure-1.png"), (1, 1))
    assert "image/png" not in sandpiper.run("sessions", "export", "2", "--format", "ipynb").out


@pytest.mark.slow(3)
@pytest.mark.parametrize("where", ["the user's", "the code's"])
def test_no_other_image_goes_to_the_model(sandpiper, serve, where):
    from PIL import Image
    draw = "from PIL import Image\nImage.new('RGB', (40, 30)).save('a.png')"
    Image.new("RGB", (40, 30)).save(os.path.join(sandpiper.work, "mine.png"))
    Image.new("RGB", (77, 55)).save(sandpiper.path("home/other.png"))
    server = serve(sandpiper, [code(draw), text("Drawn."), text("Seen."), text("Seen.")], sees=True)
    assert sandpiper.run("--vision", "on", "--add", "mine.png", "draw").code == 0
    assert sandpiper.run("--vision", "on", "-c", "what is it?").code == 0
    assert sum(len(images(m["content"])) for m in server.requests[-1].messages) == 2
    saved = "%a.png%" if where == "the code's" else "%mine.png%"
    for (n, refers) in rows(sandpiper, "SELECT n, images FROM turn WHERE images LIKE '%s'" % saved):
        sql(sandpiper, "UPDATE turn SET images='%s' WHERE n=%d" % (re.sub(r'"path": ?"[^"]*"', '"path":"%s"' % sandpiper.path("home/other.png"), refers), n))
    r = sandpiper.run("--vision", "on", "-c", "and now?")
    assert r.code == 0 and sum(len(images(m["content"])) for m in server.requests[-1].messages) == 1, r


def hot_journal(path, names):
    """A journal of a transaction that another program is said to have begun, together with the one that it names."""
    name = names.encode()
    magic = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    head = magic + struct.pack(">IIIII", 0, 1, 1, 512, 4096)
    tail = struct.pack(">I", 4096 // 4096 + (1 << 30) // 4096) + name + struct.pack(">II", len(name), sum(struct.unpack("%db" % len(name), name)) & 0xffffffff) + magic
    with open(path + "-journal", "wb") as f:
        f.write(head.ljust(512, b"\0") + tail)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_what_lies_beside_it_leads_nowhere(sandpiper, serve, suffix):
    """SQLite would write through a link, and remove the file that a journal names."""
    serve(sandpiper, [text("First."), text("Fine.")])
    sandpiper.run("a?")
    sql(sandpiper, "PRAGMA journal_mode=DELETE")
    target = canary(sandpiper)
    if suffix == "-journal":
        hot_journal(database(sandpiper), target)
    else:
        sql(sandpiper, "PRAGMA journal_mode=WAL")
        os.symlink(target, database(sandpiper) + suffix)
    r = sandpiper.run("b?")
    with open(target) as f:
        assert f.read() == SECRET
    assert r.code == 0 and r.out == "Fine.\n" and database(sandpiper) + suffix in r.err and r.err.count("\n") == 1, r
