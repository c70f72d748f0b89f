"""Sessions that are saved: what -c and -r continue, what `sandpiper sessions` shows, searches, exports and removes."""
import json
import os
import re
import sqlite3
import stat
import threading
import time

import nbformat
import pexpect
import pytest

from chat_keys import ask, leave, start

CELL = {"answer": {"text": "Let me compute.", "calls": [{"name": "execute_python", "arguments": {"code": "x = 41\nprint('out')\nx + 1"}}]}}


def text(answer):
    return {"answer": {"text": answer}}


def database(s):
    return s.path("state/sandpiper/store/sessions.db")


def rows(s, sql):
    with sqlite3.connect(database(s)) as db:
        return db.execute(sql).fetchall()


def listed(s):
    return [json.loads(line) for line in s.run("sessions", "--json").out.splitlines()]


def contents(request):
    return [m.get("content") for m in request.messages if m["role"] != "system"]


def test_a_session_goes_on(sandpiper, serve):
    server = serve(sandpiper, [CELL, text("It is 42."), text("Still 42."), text("Elsewhere.")])
    assert sandpiper.run("what is x + 1?").out == "It is 42.\n"
    r = sandpiper.run("-c", "and now?")
    assert r.out == "Still 42.\n" and 'Continuing "what is x + 1?"' in r.err and "variables are gone" in r.err, r
    before, after = server.requests[1].messages, server.requests[2].messages
    assert [m for m in after if m["role"] != "system"][:4] == [m for m in before if m["role"] != "system"] + [
        {"role": "assistant", "content": "It is 42."}]
    assert "and now?" in after[-1]["content"] and "gone" in after[-1]["content"]
    (one,) = listed(sandpiper)
    assert one["questions"] == 2 and one["cells"] == 1 and one["title"] == "what is x + 1?" and not one["in_use"]
    other = os.path.join(sandpiper.dir, "home")
    r = sandpiper.run("-c", "x", cwd=other)
    assert r.code == 2 and "no saved session in this folder" in r.err, r
    assert sandpiper.run("-r", one["id"][16:20], "there?", cwd=other).out == "Elsewhere.\n"
    assert listed(sandpiper)[0]["questions"] == 3


def test_the_place(sandpiper, serve):
    serve(sandpiper, [text("Yes.")])
    assert sandpiper.run("really?").code == 0
    folder = os.path.dirname(database(sandpiper))
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert {stat.S_IMODE(os.stat(os.path.join(folder, f)).st_mode) for f in os.listdir(folder)} == {0o600}
    for f in os.listdir(folder):
        with open(os.path.join(folder, f), "rb") as file:
            assert sandpiper.key.encode() not in file.read()


def test_what_is_not_saved(sandpiper, serve):
    serve(sandpiper, [text("One.")] * 2)
    sandpiper.run("--no-save", "a?")
    sandpiper.configure("save: off\n")
    sandpiper.run("b?")
    sandpiper.run("exec", "-c", "print(1)")
    assert not os.path.exists(os.path.dirname(database(sandpiper))) and sandpiper.run("sessions").out == "no saved sessions yet\n"


def test_files_of_a_question_that_is_not_saved(sandpiper, serve):
    """Without --out they go, which a line says; in its folder they stay."""
    made = {"answer": {"calls": [{"name": "execute_python", "arguments": {"code": "open('a.txt', 'w').write('x' * 9)\nprint('y' * 20000)"}}]}}
    serve(sandpiper, [made, text("Made.")] * 2)
    r = sandpiper.run("--no-save", "make it")
    assert r.out == "Made.\n" and "\nmade: " in r.err and r.err.count("This session is not saved: its files are removed when it ends. --out DIR keeps them.") == 1, r
    assert os.listdir(sandpiper.path("state/sandpiper/sessions")) == []
    r = sandpiper.run("--no-save", "--out", "here", "make it")
    assert "\nsaved: " in r.err and os.listdir(os.path.join(sandpiper.work, "here")) == ["a.txt"], r
    assert os.listdir(sandpiper.path("state/sandpiper/sessions")) == []


def test_one_goes_on_without_being_saved(sandpiper, serve):
    serve(sandpiper, [text("One."), text("Two.")])
    assert sandpiper.run("a?").code == 0
    r = sandpiper.run("--no-save", "-c", "b?")
    assert re.fullmatch(r'sandpiper: Continuing "a\?" \(1 question, \d+ [A-Z]\w+\)\. Last: "One\."\n', r.err) and r.out == "Two.\n", r


def test_wrong_words(sandpiper):
    for argv, says in ((["-c", "-r", "x", "q"], "cannot be combined"), (["--rerun", "q"], "-c or -r"), (["-r", "zz", "q"], 'no session "zz"'),
                       (["sessions", "shwo"], "there are list, show"), (["sessions", "show"], "usage: sandpiper sessions show ID"),
                       (["sessions", "rm"], "needs the IDs"), (["sessions", "show", "zz"], 'no session "zz"'), (["sessions", "search", " "], "nothing")):
        r = sandpiper.run(*argv)
        if argv[-1] != " ":
            assert r.code == 2 and says in r.err, r


def test_lists_and_removal(sandpiper, serve):
    serve(sandpiper, [text("Paris, the capital."), CELL, text("Forty-two."), text("Never mind.")])
    for question in ("capital of France?", "compute\nsomething", "\x1b[31mred?"):
        sandpiper.run("-p", question)
    table = sandpiper.run("sessions").out.splitlines()
    assert table[0].split() == ["ID", "LAST", "USED", "TURNS", "TITLE", "FOLDER"] and len(table) == 4
    assert "capital of France?" in table[3] and "compute" in table[2] and "something" not in table[2]
    for width in (80, 57, 56, 40):
        p = sandpiper.chat("sessions", size=(30, width))
        p.expect(pexpect.EOF)
        assert len(p.before.splitlines()) == 4 and max(map(len, p.before.splitlines())) <= width, p.before
    found = sandpiper.run("sessions", "search", "capit")
    assert found.code == 0 and "France" in found.out and len(found.out.splitlines()) == 3, found
    assert "compute" in sandpiper.run("sessions", "search", "out").out          # printed by code
    for nothing in ("nowhere", 'a" OR "b', "NOT", "*", '"'):
        r = sandpiper.run("sessions", "search", nothing)
        assert r.code in (1, 2) and "damaged" not in r.err, r
    ids = [one["id"] for one in listed(sandpiper)]
    r = sandpiper.run("sessions", "rm", ids[0])
    assert r.code == 0 and r.out == "removed 1 session\n" and len(listed(sandpiper)) == 2
    assert sandpiper.run("sessions", "rm", "--older", "1d").out == "nothing to remove\n"
    with sqlite3.connect(database(sandpiper)) as db:
        db.execute("UPDATE session SET used = used - 40 * 86400 WHERE id = ?", (ids[2],))
    assert sandpiper.run("sessions", "rm", "--older", "30d", "-f").out == "removed 1 session\n"
    assert [one["id"] for one in listed(sandpiper)] == [ids[1]]
    for name in os.listdir(os.path.dirname(database(sandpiper))):           # nothing of it is left on the disk
        with open(os.path.join(os.path.dirname(database(sandpiper)), name), "rb") as f:
            assert not re.search(rb"(?i)capital|never mind", f.read()), name
    assert rows(sandpiper, "SELECT count(*) FROM turn WHERE session NOT IN (SELECT n FROM session)") == [(0,)]


@pytest.mark.slow(3)
@pytest.mark.parametrize("form", ["md", "json", "py", "ipynb"])
def test_export(sandpiper, serve, form):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('a.txt', 'w').write('abc')"
    broken = {"answer": {"calls": [{"name": "execute_python", "arguments": {"code": "1/0"}}]}}
    serve(sandpiper, [{"answer": {"calls": [{"name": "execute_python", "arguments": {"code": code}}]}}, broken, text("```\nDone.\n```")])
    sandpiper.run("plot\nit")
    (one,) = listed(sandpiper)
    path = os.path.join(sandpiper.work, "x." + form)
    r = sandpiper.run("sessions", "export", one["id"][16:], "-o", path)
    assert r.code == 0 and r.out == "", r
    with open(path) as f:
        content = f.read()
    assert content == sandpiper.run("sessions", "export", one["id"][16:], "--format", form).out
    assert "plt.plot" in content and "Done." in content and "ZeroDivisionError" in content and "a.txt" in content
    if form == "ipynb":
        book = nbformat.reads(content, 4)
        nbformat.validate(book)
        kinds = [o["output_type"] for c in book.cells if c.cell_type == "code" for o in c.outputs]
        assert "display_data" in kinds and "error" in kinds and "execute_result" in kinds, kinds
    if form == "py":
        compile(content, path, "exec")
    if form == "json":
        assert json.loads(content)["questions"][0]["text"] == "plot\nit"
    folder = sandpiper.path("state/sandpiper/sessions/" + one["id"][16:])
    assert os.path.isdir(folder) and sandpiper.run("sessions", "rm", one["id"]).code == 0 and not os.path.exists(folder)


def test_an_export_is_what_its_name_says(sandpiper, serve):
    """Markdown in a file that is called .pdf would be opened by the wrong program; without an extension, or with --format, nothing is said wrongly."""
    serve(sandpiper, [text("Hello.")])
    assert sandpiper.run("hello").code == 0
    r = sandpiper.run("sessions", "export", listed(sandpiper)[0]["id"], "-o", "x.pdf")
    assert r.code == 2 and 'unknown format "pdf"; there are md, json, py and ipynb' in r.err, r
    assert not os.path.exists(sandpiper.path("work/x.pdf"))
    for name, *words in (("a.b/plain",), ("x.txt", "--format", "md")):
        os.makedirs(os.path.dirname(sandpiper.path("work/" + name)), exist_ok=True)
        r = sandpiper.run("sessions", "export", listed(sandpiper)[0]["id"], "-o", name, *words)
        assert r.code == 0 and open(sandpiper.path("work/" + name)).read().startswith("# hello"), r


@pytest.mark.parametrize("there", ["file", "link", "pipe"])
def test_an_export_replaces_nothing(sandpiper, serve, there):
    """Neither a file of the user's nor, for root, a device such as /dev/null."""
    serve(sandpiper, [text("Hello.")])
    assert sandpiper.run("hello").code == 0
    (one,) = listed(sandpiper)
    path = os.path.join(sandpiper.work, "there")
    if there == "file":
        sandpiper.write("there", "mine")
    elif there == "link":
        os.symlink("elsewhere", path)
    else:
        os.mkfifo(path)
    before = os.lstat(path)
    r = sandpiper.run("sessions", "export", one["id"], "-o", "there")
    assert r.code == 2 and "there exists already; name another file" in r.err, r
    assert os.lstat(path) == before and not os.path.exists(os.path.join(sandpiper.work, "elsewhere"))


def code(source):
    return {"answer": {"calls": [{"name": "execute_python", "arguments": {"code": source}}]}}


def test_rerun(sandpiper, serve):
    path = sandpiper.write("data.csv", "a\n1\n2\n")
    server = serve(sandpiper, [code("import csv\nrows = list(csv.reader(open('data.csv')))\nopen('out.txt', 'w').write('made')"), code("y = len(rows)"),
                               code("1/0"), text("Read."), code("print(y, open('out.txt').read())"), text("3"), code("print(y)"), text("Gone."),
                               code("print(y)"), text("Missing.")])
    sandpiper.run("--add", path, "read it")
    r = sandpiper.run("-c", "--rerun", "how many?")
    assert r.code == 0 and "Its code ran again: 2 runs, and 1 that fails as before. Variables are back." in r.err and "3 made" in server.requests[5].messages[-1]["content"], r
    assert "the variables are there" in server.requests[4].messages[-1]["content"]
    (one,) = listed(sandpiper)
    files = sandpiper.path("state/sandpiper/sessions/%s/files" % one["id"][16:])
    assert os.listdir(files) == ["out.txt"]
    r = sandpiper.run("-c", "still?")
    assert "--rerun" in r.err and "NameError" in server.requests[7].messages[-1]["content"], r
    kept = sandpiper.path("state/sandpiper/sessions/%s/given/data.csv" % one["id"][16:])
    assert open(kept).read() == open(path).read() and os.stat(kept).st_mode & 0o777 == 0o600
    os.unlink(path)
    os.unlink(kept)
    r = sandpiper.run("-c", "--no-save", "--rerun", "and now?")
    assert "runs failed this time (run 1: FileNotFoundError" in r.err and "Files: data.csv is missing." in r.err, r
    assert listed(sandpiper)[0]["questions"] == 3


@pytest.mark.slow(3)
@pytest.mark.parametrize("chat", [False, True], ids=["question", "chat"])
def test_a_rerun_is_interrupted(sandpiper, serve, chat):
    """A question ends with it; a chat goes on without the variables."""
    server = serve(sandpiper, [code("import time\ntime.sleep(2)"), text("Slept.")])
    assert sandpiper.run("sleep").code == 0
    p = sandpiper.chat("-c", "--rerun", *[] if chat else ["again"], env={"NO_COLOR": "1"})
    p.expect("Running its code again")
    time.sleep(0.5)
    p.send("\x03")
    if chat:
        p.expect("Stopped after 0 of 1 runs")
        p.expect("> ")
        leave(p)
    else:
        p.expect(pexpect.EOF)
        p.close()
        assert p.exitstatus == 130 and len(server.requests) == 2, (p.before, p.exitstatus)


def test_a_chat_goes_on_without_files_that_did_not_come_back(sandpiper, serve):
    serve(sandpiper, [text("Large.")])
    path = sandpiper.write("large.bin", b"")
    os.truncate(path, 100 << 20)
    assert sandpiper.run("--add", "large.bin", "what is it?").code == 0
    p = sandpiper.chat("-c", "--cpus", "0.05", env={"NO_COLOR": "1"})
    p.expect("Copying data into the sandbox")
    p.send("\x03")
    p.expect("Stopped: not all of its files are in the new sandbox")
    p.expect("> ")
    leave(p)


def test_added_files_come_back_as_they_were(sandpiper, serve):
    """A file, one that changed, a folder and an @name, from copies; of what is too large only what has not changed since."""
    for name, content in (("a.txt", "1\n"), ("b.txt", "2\n"), ("d/x/y.txt", "3\n"), ("large.bin", "4" * 20000)):
        os.makedirs(os.path.dirname(sandpiper.path("work/" + name)), exist_ok=True)
        with open(os.path.join(sandpiper.work, name), "w") as f:
            f.write(content)
    look = "v = [open(n).read()[:1] for n in ('a.txt', 'b.txt', 'd/x/y.txt', 'large.bin')]\nprint('seen', v)"
    seen = {"expect": {"last": {"content": {"contains": "seen ['1', '2', '3', '4']"}}}}
    serve(sandpiper, [code(look), dict(seen, **text("Read.")), code("print('seen', v)"), dict(seen, **text("Again.")), text("Changed."), text("Gone.")])
    assert sandpiper.run("--max-file", "10k", "--add", "a.txt", "--add", "d", "--add", "large.bin", "read them and @b.txt").code == 0
    (one,) = listed(sandpiper)
    given = sandpiper.path("state/sandpiper/sessions/%s/given" % one["id"][16:])
    assert sorted(os.listdir(given)) == ["a.txt", "b.txt", "d"]
    with open(os.path.join(sandpiper.work, "b.txt"), "w") as f:
        f.write("changed")
    os.unlink(os.path.join(sandpiper.work, "a.txt"))
    os.unlink(os.path.join(sandpiper.work, "d/x/y.txt"))
    r = sandpiper.run("-c", "--rerun", "again")
    assert r.code == 0 and "Variables are back." in r.err, r
    with open(os.path.join(sandpiper.work, "large.bin"), "w") as f:         # of the same size
        f.write("4" * 19999 + "5")
    r = sandpiper.run("-c", "--rerun", "again")
    assert r.code == 0 and "(run 1: FileNotFoundError" in r.err and "Files: large.bin has changed since and was left out." in r.err, r
    os.unlink(os.path.join(sandpiper.work, "large.bin"))
    r = sandpiper.run("-c", "--rerun", "again")
    assert "large.bin is missing (too large to be kept: --max-file)" in r.err, r
    assert sandpiper.run("sessions", "rm", one["id"]).code == 0 and not os.path.exists(given)


def test_a_file_that_grows_is_kept_as_the_sandbox_got_it(sandpiper, serve):
    """A log, which never comes to an end."""
    path, over = sandpiper.write("app.log", "1\n" * 1000), threading.Event()

    def write():
        with open(path, "a") as f:
            while not over.wait(0.001):
                f.write("2\n")
                f.flush()
    writer = threading.Thread(target=write)
    serve(sandpiper, [code("n = len(open('app.log').read())"), text("Read."), text("Again.")])
    writer.start()
    try:
        assert sandpiper.run("--add", path, "read it").code == 0
    finally:
        over.set()
        writer.join()
    r = sandpiper.run("-c", "--rerun", "again")
    assert r.code == 0 and "Variables are back." in r.err, r


def test_files_of_a_session_without_code_come_back(sandpiper, serve):
    """Nothing has to run again for them, so nobody is asked."""
    path = sandpiper.write("data.csv", "a\n1\n")
    server = serve(sandpiper, [text("A small table."), code("print('seen', open('data.csv').read())"), text("One."), text("Hello."), text("Again.")])
    sandpiper.run("--add", path, "what is it?")
    os.unlink(path)
    r = sandpiper.run("-c", "how many rows?")
    assert r.code == 0 and "Its files are in a new sandbox." in r.err and "seen a\n1" in server.requests[2].messages[-1]["content"], r
    assert "The files in /mnt/data are there" in server.requests[1].messages[-1]["content"]
    sandpiper.run("hello")                          # a session without files hears nothing of them
    r = sandpiper.run("-c", "and again")
    assert r.code == 0 and "sandbox" not in r.err, r


def test_a_copy_of_the_session_has_the_added_files_too(sandpiper, serve):
    """Another program uses the session: what goes on is a copy of it."""
    path = sandpiper.write("data.csv", "a\n1\n")
    serve(sandpiper, [code("n = len(open('data.csv').read())"), text("Read."), text("Copied.")])
    p = start(sandpiper)
    ask(p, "/put data.csv", "data.csv")
    ask(p, "read it", "Read")
    os.unlink(path)
    r = sandpiper.run("-c", "--rerun", "again")
    assert r.code == 0 and "in a copy" in r.err and "Variables are back." in r.err, r
    leave(p)


@pytest.mark.slow(3)
def test_data_of_a_pipe_is_kept_for_the_rerun(sandpiper, serve):
    """Also that of a file on stdin, whose name nobody knows; not what is too large; and a file of the user's that has changed is told."""
    read = code("rows = open('stdin.csv').read().split()")
    server = serve(sandpiper, [read, text("Read."), code("print(rows)"), text("Two.")] * 3 + [code("n = 1"), text("Read."), text("Gone."), text("Changed.")])
    data = "a,b\n1,2\n"
    sandpiper.write("stdin", "not this one")
    path = sandpiper.write("data.csv", data)
    for how in (dict(stdin=data), dict(stdin=open(path)), dict(stdin=data)):
        r = sandpiper.run("read it", **how)
        assert r.code == 0, r
        (one, *_) = listed(sandpiper)
        kept = sandpiper.path("state/sandpiper/sessions/%s/given/stdin.csv" % one["id"][16:])
        assert open(kept).read() == data and os.stat(kept).st_mode & 0o777 == 0o600
        r = sandpiper.run("-c", "--rerun", "how many?")
        assert "Variables are back." in r.err and "['a,b', '1,2']" in server.requests[-1].messages[-1]["content"], r
        assert sandpiper.run("sessions", "rm", one["id"]).code == 0 and not os.path.exists(kept)
    assert sandpiper.run("--max-file", "10k", "--add", path, "read it", stdin="a,b\n" + "1,2\n" * 3000).code == 0
    assert os.listdir(sandpiper.path("state/sandpiper/sessions/%s/given" % listed(sandpiper)[0]["id"][16:])) == ["data.csv"]
    r = sandpiper.run("-c", "--rerun", "again")
    assert "Its code ran again. Files: stdin.csv was not kept (too large: --max-file)." in r.err, r
    sandpiper.write("data.csv", data + "3,4\n")        # there is a copy
    r = sandpiper.run("-c", "--rerun", "again")
    assert "Files: stdin.csv was not kept (too large: --max-file)." in r.err, r


def test_a_session_that_cannot_go_on_ends_all_the_same(sandpiper, serve):
    """Without an engine its code does not run again: an error, and the end of the events, which others wait for."""
    serve(sandpiper, [code("x = 1"), text("One.")])
    assert sandpiper.run("go").code == 0
    r = sandpiper.run("-c", "--json", "--rerun", "again", env={"PATH": sandpiper.work, "SANDPIPER_SANDBOX": "podman"})
    events = [json.loads(line) for line in r.out.splitlines()]
    assert r.code == 3 and events[-1]["type"] == "session_end" and events[-1]["exit_code"] == 3, r
    assert events[-2]["type"] == "notice" and events[-2]["level"] == "error" and "podman" in events[-2]["text"], r
    assert r.err.count("podman: not installed") == 1, r


def test_a_crash_bounds_the_rerun(sandpiper, serve):
    serve(sandpiper, [code("a = 1"), code("import os\nos.kill(os.getpid(), 9)"), code("b = 2"), text("Done."), code("print(a, b)"), text("12")])
    sandpiper.run("--no-snapshots", "go")
    r = sandpiper.run("-c", "--rerun", "what is left?")
    assert r.code == 0 and "Its code ran again: 1 run. Variables are back." in r.err and "NameError: name 'a'" in r.err, r


def test_a_named_sandbox_still_has_its_variables(sandpiper, serve):
    server = serve(sandpiper, [code("z = 5"), text("Set."), code("print(z)"), text("5")])
    sandpiper.run("--sandbox-name", "kept", "set it")
    r = sandpiper.run("-c", "what is z?")
    assert r.code == 0 and "gone" not in r.err and "ran again" not in r.err and server.requests[3].messages[-1]["content"].startswith("5"), r
    assert sandpiper.run("rm", "kept").code == 0
