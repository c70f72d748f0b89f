"""test_add.py - what goes in: folders, files that a question names with @, and everything that is wrong with either."""
import contextlib
import glob
import gzip
import os
import re
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import time
import zipfile

import pytest

from chat_keys import ask, leave, said, start
from conftest import make_at
from program import HANG, children

USER = 56000 + os.getpid() % 1000       # an ordinary one
CSV = "day,amount\n2024-01-01,5\n2024-01-02,7\n"
TREE = "import os\nfor where, _, names in sorted(os.walk('/mnt/data')):\n    for n in sorted(names): print(repr(os.path.join(where, n)[10:]))"


def folder(program, name="data", **files):
    os.makedirs(program.path("work/" + name), exist_ok=True)
    for i, text in (files or {"a.csv": CSV, "b.csv": CSV}).items():
        os.makedirs(os.path.dirname(program.path("work/%s/%s" % (name, i))), exist_ok=True)
        program.write("%s/%s" % (name, i), text)
    return program.path("work/" + name)


def tree(r):
    assert r.code == 0, r
    return sorted(eval(line) for line in r.out.splitlines())


# ---------------------------------------------------------------------------------------------------------------- folders

def test_a_folder(sandpiper_on):
    folder(sandpiper_on, **{"a.csv": CSV, "sub/deep/b.csv": CSV})
    for name in ("data", "data/", "./data", sandpiper_on.path("work/data")):
        r = sandpiper_on.run("exec", "--add", name, "-c", TREE)
        assert tree(r) == ["data/a.csv", "data/sub/deep/b.csv"] and "data: 2 files, %d bytes" % (2 * len(CSV)) in r.err, r


@pytest.mark.slow(3)
def test_a_second_folder_that_cannot_be_kept_leaves_the_first(sandpiper, serve):
    """It has too many files by the time it is copied for the session; the first of that name stays, for --rerun."""
    serve(sandpiper, [{"answer": {"text": "Heard."}}] * 2)
    folder(sandpiper, "one/data")
    second = folder(sandpiper, "two/data")
    os.mkdir(sandpiper.path("work/many"))
    for i in range(10001):
        open(sandpiper.path("work/many/%d" % i), "w").close()
    with open(second + "/large", "wb") as f:
        f.truncate(200 << 20)
    assert sandpiper.run("--add", "one/data", "what is it?").code == 0
    p = sandpiper.start("-c", "--max-file", "220m", "--add", "two/data", "and this?")
    while not offset(p, second + "/large"):
        assert p.poll() is None
        time.sleep(0.002)
    os.rename(sandpiper.path("work/many"), second + "/many")
    out, err = p.communicate(timeout=90)
    assert p.returncode == 0, (out, err)
    (given,) = glob.glob(sandpiper.path("state/sandpiper/sessions/*/given"))
    assert os.listdir(given) == ["data"] and sorted(os.listdir(given + "/data")) == ["a.csv", "b.csv"]


def test_this_folder(sandpiper):
    folder(sandpiper)
    r = sandpiper.run("exec", "--add", ".", "-c", TREE, cwd=sandpiper.path("work/data"))
    assert tree(r) == ["data/a.csv", "data/b.csv"], r


def test_what_is_no_file_is_left_out(sandpiper):
    """Links out of the folder, sockets, pipes and devices: one line each. Hidden files are counted. The rest goes in."""
    path = folder(sandpiper, **{"a.csv": CSV, ".env": "KEY=secret", ".git/config": "x", "sub/b.csv": CSV})
    sandpiper.write("outside.txt", "secret")
    os.symlink("../outside.txt", path + "/out")
    os.symlink("/etc/passwd", path + "/passwd")
    os.symlink("a.csv", path + "/within")
    os.symlink("sub", path + "/again")
    os.symlink("nowhere", path + "/dangling")
    os.mkfifo(path + "/pipe")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path + "/sock")
        r = sandpiper.run("exec", "--add", "data", "-c", TREE)
    assert tree(r) == ["data/a.csv", "data/sub/b.csv", "data/within"], r
    for line in ("again: a link to a folder", "dangling: a link to nothing", "out: a link out of the folder", "passwd: a link out of the folder",
                 "pipe: a named pipe", "not copied from data: 1 more", "(without 2 hidden)"):
        assert line in r.err, (line, r)
    assert "secret" not in r.out


def test_odd_names(sandpiper):
    """Newlines, escapes and bytes that are no text: two files never become one, and no escape reaches the screen."""
    path = folder(sandpiper, **{"a\nb.txt": "1", "a_b.txt": "2", "\x1b[31mred.txt": "3"}).encode()
    with open(path + b"/\xff\xfe.bin", "wb") as f:
        f.write(b"4")
    r = sandpiper.run("exec", "--add", "data", "-c", TREE + "\nprint(repr(open('data/a_b.txt').read()))")
    assert tree(r) == ["2", "data/_[31mred.txt", "data/a_b-2.txt", "data/a_b.txt", "data/\ufffd\ufffd.bin"] and "\x1b" not in r.err, r


@pytest.mark.parametrize("how, said", [
    ("empty", "data has no files to add"), ("hidden", "only hidden ones"), ("large", "data is too large for the sandbox: 41943040 bytes; /mnt/data holds 32 MiB"),
    ("many", "data has more than 10000 files; add a folder in it, or single files"), ("deep", "folders nested more than 16 deep")])
def test_folders_that_cannot_go_in(sandpiper, how, said):
    path = folder(sandpiper, **({".a": "x"} if how == "hidden" else {"d/" * 18 + "x": "x"} if how == "deep" else {"a": "x"}))
    if how == "empty":
        os.unlink(path + "/a")
    elif how == "large":
        for name in "abcde":
            sandpiper.write("data/" + name, b"")
            os.truncate(path + "/" + name, 8 << 20)
    elif how == "many":
        for i in range(10001):
            os.mknod("%s/%d" % (path, i))
    r = sandpiper.run("exec", "--data-size", "32m", "--add", "data", "-c", "1")
    assert r.code == 125 and said in r.err and len(r.err.splitlines()) <= 2, r


def test_the_model_sees_what_is_in_a_folder(sandpiper, serve):
    """Files of one kind are described once, with the line that reads them all."""
    folder(sandpiper, **{"%s.csv" % m: "day;amount\n2024-01-01;%d,5\n" % i for i, m in enumerate(("jan", "feb", "mar"))})
    code = "import glob, pandas as pd; df = pd.concat"
    server = serve(sandpiper, [{"answer": {"text": "Heard."}}])
    r = sandpiper.run("--add", "data", "the sum?")
    told = server.bodies()[0]["messages"][-1]["content"]
    assert r.code == 0 and "Attached folder /mnt/data/data, " in told and "3 files: 3 .csv" in told and code in told, told
    assert told.count("'amount'") == 1 and "3 files with the same columns" in told and "3 rows, columns: " in told and len(told) < 2000, told
    line = next(line for line in told.splitlines() if line.startswith(code))
    r = sandpiper.run("exec", "--add", "data", "-c", line + "; print(df.amount.sum(), sorted(df.file)[0])")
    assert r.out == "4.5 feb.csv\n", r


@pytest.mark.slow(3)
def test_what_differs_in_a_folder(sandpiper, serve):
    folder(sandpiper, **{"a.csv": CSV, "b.csv": CSV, "c.csv": "day,price\n1,2\n"})
    server = serve(sandpiper, [{"answer": {"text": "Heard."}}])
    sandpiper.run("--add", "data", "go")
    told = server.bodies()[0]["messages"][-1]["content"]
    assert "2 files with the same columns" in told and "with other columns: c.csv: day,price" in told and "glob" not in told, told


def test_put_of_a_folder(sandpiper, serve):
    folder(sandpiper)
    serve(sandpiper, [{"expect": {"last": {"content": {"contains": ["/mnt/data/data", "2 files", "how many?"]}}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper)
    ask(p, "/put data", "data: 2 files, %d bytes, in the sandbox as /mnt/data/data/" % (2 * len(CSV)))
    ask(p, "/add missing", "missing: No such file or directory")
    ask(p, "how many?", "Heard")
    leave(p)


DAYS = CSV + "2024-01-01,5\n" * 800
LOADED = "import sys; print('pandas' in sys.modules, [p for p in sys.path if not p])"


@pytest.mark.parametrize("name, loaded", [("a.csv", True), ("a.png", False)])
def test_the_first_cell_finds_pandas_imported(sandpiper_on, serve, name, loaded):
    """The process that looks at a file is a copy of the interpreter, which has imported pandas for both."""
    sandpiper_on.write(name, {"a.csv": DAYS, "a.png": b"\x89PNG\r\n\x1a\n" + bytes(6000)}[name], "w" if name == "a.csv" else "wb")
    server = serve(sandpiper_on, [{"answer": {"calls": [{"code": LOADED}]}}, {"answer": {"text": "done"}}])
    r = sandpiper_on.run("--add", name, "go")
    assert r.code == 0 and "%s ['']" % loaded in str(server.bodies()[1]["messages"][-1]), (r, server.bodies()[0])


def test_a_file_after_a_cell_and_after_a_restart(sandpiper, serve):
    """A cell can have changed anything, so a fork of the supervisor looks at what comes later; of a new interpreter, a copy does again."""
    spoilt = "import pandas, builtins; pandas.read_csv = 0; del builtins.len"
    for name in ("a.csv", "b.csv", "c.csv"):
        sandpiper.write(name, DAYS)
    told = {"content": {"contains": ["'day' (datetime, 2024-01-01 to 2024-01-02", "how many?"]}}
    serve(sandpiper, [{"expect": {"last": told}, "answer": {"calls": [{"code": spoilt}]}}, {"answer": {"text": "Heard."}},
                      {"expect": {"last": told}, "answer": {"text": "Heard."}}, {"expect": {"last": told}, "answer": {"calls": [{"code": LOADED}]}},
                      {"expect": {"last": {"content": {"contains": "True"}}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper)
    for name in ("a.csv", "b.csv", "c.csv"):
        ask(p, "/add " + name, "in the sandbox as")
        ask(p, "how many?", "Heard")
        if name == "b.csv":
            ask(p, "/reset", "Python restarted")
    leave(p)


def test_a_url_is_refused(bare):
    r = bare.run("--add", "https://example.com/a.csv", "q", env={"OPENAI_API_KEY": "k"})
    assert r.code == 2 and "sandpiper downloads nothing" in r.err and "curl -O 'https://example.com/a.csv'" in r.err, r


@pytest.mark.parametrize("name, said", [("sock", "--add sock: it is a socket, which holds no data"), ("", "--add expected a file, found an empty name"), ("no\nfile", "--add no file: No such file"),
                                        ("a.csv/x", "--add a.csv/x: Not a directory"), ("/dev/full", "/dev/full is too large for the sandbox: more than 1048576 bytes; /mnt/data holds 1 MiB\n  Start with --mount DIR to have it read where it is, or with a larger --data-size.")])
def test_what_is_no_file(sandpiper, serve, name, said):
    """Told before anything is asked."""
    sandpiper.write("a.csv", CSV)
    serve(sandpiper, [])
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(sandpiper.path("work/sock"))
        r = sandpiper.run("--data-size", "1m", "--add", name, "go")
    assert r.code == 2 and said in r.err and len(r.err.splitlines()) == len(said.splitlines()), r


def test_a_name_with_a_newline_is_one_line(sandpiper, serve):
    sandpiper.write("a\nb.csv", CSV)
    folder(sandpiper, **{"c\nd": "1"})
    os.mkfifo(sandpiper.path("work/data/e\nf"))
    told, r = asked(sandpiper, serve, "go", "--add", "a\nb.csv", "--add", "data")
    assert "a b.csv: %d bytes, in the sandbox as /mnt/data/a_b.csv\n" % len(CSV) in r.err and "not copied from data: e f: a named pipe\n" in r.err, r
    assert len(r.err.splitlines()) == 3 and "/mnt/data/a_b.csv" in told, r


def test_a_named_pipe(sandpiper, serve):
    """What comes out of it is data; where nobody writes Ctrl-C ends the waiting, and the chat goes on."""
    os.mkfifo(sandpiper.path("work/pipe"))
    writer = subprocess.Popen(["/bin/sh", "-c", "printf 'day,amount\\n1,2\\n' >pipe"], cwd=sandpiper.work)
    r = sandpiper.run("exec", "--add", "pipe", "-c", "print(open('pipe').read())")
    assert (r.code, r.out) == (0, "day,amount\n1,2\n\n") and writer.wait(60) == 0, r
    serve(sandpiper, [said("and?")])
    p = start(sandpiper)
    p.send("/put pipe\r")
    p.expect("Copying data into the sandbox")
    p.send("\x03")
    p.expect("pipe: interrupted")
    p.expect("> ")
    ask(p, "and?", "Heard")
    leave(p)


# --------------------------------------------------------------------------------------------------- files in a question

def asked(sandpiper, serve, question, *args):
    """What the model is told."""
    server = serve(sandpiper, [{"answer": {"text": "Heard."}}])
    r = sandpiper.run(*args, question)
    assert r.code == 0 and r.out == "Heard.\n", r
    return server.bodies()[0]["messages"][-1]["content"], r


@pytest.mark.parametrize("question, as_told", [
    ("mean of @sales.csv?", "mean of /mnt/data/sales.csv?"),
    ("@sales.csv", "/mnt/data/sales.csv"),
    ("(see) @./sales.csv, please", "(see) /mnt/data/sales.csv, please"),
    ("what is\n@sales.csv", "what is\n/mnt/data/sales.csv"),
    ('@"my file.csv" and @sales.csv', "/mnt/data/my file.csv and /mnt/data/sales.csv"),
    ("@my\\ file.csv?", "/mnt/data/my file.csv?"),
    ("@'my file.csv': sum?", "/mnt/data/my file.csv: sum?"),
    ("@sales.csv @sales.csv", "/mnt/data/sales.csv /mnt/data/sales.csv"),
    ("all of @data", "all of /mnt/data/data"),
])
def test_a_file_in_the_question(sandpiper, serve, question, as_told):
    for name in ("sales.csv", "my file.csv"):
        sandpiper.write(name, CSV)
    folder(sandpiper)
    told, _ = asked(sandpiper, serve, question)
    assert told.endswith(as_told) and told.count("Attached") == len(set(re.findall(r"/mnt/data/(?:my )?\w+", as_told))), told


@pytest.mark.parametrize("question", ["ask me@sales.csv", "@missing?", "@dataclass\nclass A: pass", "@", "a @ b", "@/dev/null", "@https://a/b",
                                      "@pipe"])
def test_a_word_that_names_no_file(sandpiper, serve, question):
    sandpiper.write("sales.csv", CSV)
    os.mkfifo(sandpiper.path("work/pipe"))
    told, r = asked(sandpiper, serve, question)
    assert told == question and not r.err.strip(), (told, r)


@pytest.mark.slow(3)
def test_a_database_in_use_comes_with_its_log(sandpiper, serve):
    """What another program has just written to a SQLite database is only in the -wal file beside it."""
    con = sqlite3.connect(sandpiper.path("work/used.db"))
    con.execute("pragma journal_mode = wal")
    con.execute("create table t (a)")
    con.execute("insert into t values (1)")
    con.commit()
    told, r = asked(sandpiper, serve, "rows of @used.db and @used.db?")
    assert ("t: 1 row," in told or "table 't' (1 row)" in told) and told.endswith("rows of /mnt/data/used.db and /mnt/data/used.db?"), told
    r = sandpiper.run("exec", "--add", "used.db", "-c", TREE)
    assert tree(r) == ["used.db", "used.db-wal"], r
    con.close()
    r = sandpiper.run("exec", "--add", "used.db", "-c", TREE)
    assert tree(r) == ["used.db"], r


def test_a_hidden_file_must_be_added_by_name(sandpiper, serve):
    """Text is pasted from everywhere; keys are in hidden files."""
    sandpiper.write(".secret", "KEY=x\n")
    told, r = asked(sandpiper, serve, "what is in @.secret")
    assert told == "what is in @.secret" and "@.secret was not added, since it is hidden; --add or /put adds it" in r.err, r


@pytest.mark.parametrize("question, missing", [
    ("the mean of @sale.csv?", ["sale.csv"]), ("@reports/may.xlsx and '@x'", ["reports/may.xlsx"]), ('is "@a.md" or @"my file.md" there', ['"my file.md"']),
    ('@"sales.csv', ['"sales.csv']), ("ask @ann, what does @cache cost? @2.50 or me@host.com", []), ("@a.b @b.b @c.b @d.b", ["a.b", "b.b", "c.b"]),
])
def test_a_file_that_is_not_there_is_told(sandpiper, serve, question, missing):
    """The model would guess what is in it. What does not look like a file needs no word."""
    told, r = asked(sandpiper, serve, question)
    assert told == question and re.findall("@(.*) was not added: there is no such file", r.err) == missing, r


def test_a_script_and_a_prompt_from_stdin_add_nothing(sandpiper, serve):
    sandpiper.write("sales.csv", CSV)
    server = serve(sandpiper, [{"answer": {"text": "Heard."}}] * 2)
    assert sandpiper.run(stdin="what is @sales.csv\n").code == 0 and sandpiper.run("-", stdin="what is @sales.csv").code == 0
    assert [b["messages"][-1]["content"].strip() for b in server.bodies()] == ["what is @sales.csv"] * 2


def test_a_named_file_that_cannot_be_read(bare):
    bare.write("large.bin", b"")
    os.truncate(bare.path("work/large.bin"), 300 << 20)
    r = bare.run("what is in @large.bin", env={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "SANDPIPER_SANDBOX": "bwrap", "SANDPIPER_MODEL": "m"})
    assert r.code == 2 and "is too large for the sandbox: 314572800 bytes; /mnt/data holds 256 MiB\n" in r.err and len(r.err.splitlines()) == 2, r
    assert r.err.endswith("  Start with --mount DIR to have it read where it is, or with a larger --data-size.\n"), r


def test_files_in_the_chat(sandpiper, serve):
    """One with each question; the same again keeps its name, another of that name gets its own."""
    for name in ("a", "b"):
        folder(sandpiper, name, **{"x.csv": CSV + name})
    serve(sandpiper, [{"expect": {"last": {"content": {"contains": text}}}, "answer": {"text": "Heard."}}
                      for text in ("one /mnt/data/x.csv", "two /mnt/data/x-2.csv", "three /mnt/data/x.csv")])
    p = start(sandpiper)
    ask(p, "one @a/x.csv", "Heard")
    ask(p, "two @b/x.csv", "Heard")
    ask(p, "three @a/x.csv", "Heard")
    ask(p, "!print(open('/mnt/data/x.csv').read()[-1] + open('/mnt/data/x-2.csv').read()[-1])", "ab\r\n")
    leave(p)


def test_a_named_file_that_is_too_large_in_the_chat(sandpiper, serve):
    """The question is not asked; the session goes on."""
    serve(sandpiper, [{"expect": {"last": {"content": "go on"}}, "answer": {"text": "Heard."}}])
    sandpiper.write("large.bin", b"")
    os.truncate(sandpiper.path("work/large.bin"), 300 << 20)
    p = start(sandpiper, size=(30, 200))
    ask(p, "what is @large.bin", "large.bin is too large for the sandbox: 314572800 bytes; /mnt/data holds 256 MiB")
    ask(p, "go on", "Heard")
    leave(p)


# ------------------------------------------------------------------------------------------------------------ large copies

def offset(p, path):
    """How far a process has read that file."""
    for fd in os.listdir("/proc/%d/fd" % p.pid):
        try:
            if os.readlink("/proc/%d/fd/%s" % (p.pid, fd)) == path:
                with open("/proc/%d/fdinfo/%s" % (p.pid, fd)) as f:
                    return int(re.search(r"pos:\s+(\d+)", f.read()).group(1))
        except OSError:
            pass
    return 0


def test_a_file_that_changes_while_it_is_copied(sandpiper):
    path = sandpiper.write("log.bin", b"")
    os.truncate(path, 64 << 20)
    p = sandpiper.start("exec", "--cpus", "0.05", "--add", "log.bin", "-c", "import os; print(os.path.getsize('log.bin') >= 64 << 20)")
    while not offset(p, path):
        assert p.poll() is None
        time.sleep(0.002)
    os.kill(p.pid, signal.SIGSTOP)              # so that it cannot end before the file changes
    with open(path, "ab") as f:
        f.write(b"more")
    os.kill(p.pid, signal.SIGCONT)
    out, err = p.communicate(timeout=90)
    assert (p.returncode, out) == (0, b"True\n") and b"log.bin changed while it was copied; add it again for a whole copy" in err, (out, err)


def test_a_file_of_a_folder_that_changes_while_it_is_copied(sandpiper):
    """It is told by its name, and the rest of the folder goes in."""
    os.mkdir(sandpiper.path("work/logs"))
    path = sandpiper.write("logs/a.bin", b"")
    sandpiper.write("logs/b.txt", b"whole")
    os.truncate(path, 64 << 20)
    p = sandpiper.start("exec", "--cpus", "0.05", "--add", "logs", "-c", "import os; print(os.path.getsize('logs/a.bin') >= 1, open('logs/b.txt').read())")
    while not offset(p, path):
        assert p.poll() is None
        time.sleep(0.002)
    os.kill(p.pid, signal.SIGSTOP)
    os.truncate(path, 10)
    os.kill(p.pid, signal.SIGCONT)
    out, err = p.communicate(timeout=90)
    assert (p.returncode, out) == (0, b"True whole\n") and err.count(b"changed while it was copied") == 1 and b"a.bin changed while" in err, (out, err)


@pytest.mark.slow(10)
def test_progress_of_a_large_copy(sandpiper, serve):
    """Bytes of bytes in the status line; nothing of it in a pipe, or for small copies."""
    serve(sandpiper, [{"answer": {"text": "Heard."}}] * 2)
    path = sandpiper.write("big.bin", b"")
    os.truncate(path, 100 << 20)
    p = start(sandpiper, "--cpus", "0.05", "--add", "big.bin")
    p.send("go\r")
    p.expect(r"Copying data into the sandbox\.\.\. [\d.]+ MB of 104\.9 MB")
    p.expect("Heard")
    leave(p)
    r = sandpiper.run("--add", "big.bin", "go")
    assert r.code == 0 and "Copying" not in r.err and " of 104" not in r.err, r


# ------------------------------------------------------------------------------------------------------------ bad data

@pytest.mark.slow(10)
def test_a_zip_bomb(sandpiper, serve):
    """Its members are told, and that they do not fit; nothing is unpacked but the beginning of one."""
    with zipfile.ZipFile(sandpiper.path("work/bomb.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        for i in range(3):
            z.writestr("%d.csv" % i, bytes(100 << 20))
    told, r = asked(sandpiper, serve, "what is in @bomb.zip", "--memory", "512m")
    assert "a ZIP archive of 3: 0.csv (104857600 bytes)" in told and "unpacked it has 314572800 bytes, and only " in told, told
    assert r.err.endswith("/mnt/data/bomb.zip; unpacked it has 314572800 bytes, more than the sandbox has room for\n") and len(r.err.splitlines()) == 1, r


@pytest.mark.slow(3)
def test_a_csv_that_is_none(sandpiper, serve):
    """The line of the copy says so; the model is told what it is; the session goes on."""
    for name, content in (("none.csv", bytes(range(256)) * 20), ("page.csv", "<html><body>no such page</body></html>\n"), ("good.csv", CSV)):
        sandpiper.write(name, content)
    serve(sandpiper, [{"expect": {"last": {"content": {"contains": ["unknown binary data", "no such page"], "not_contains": "\x1e"}}}, "answer": {"text": "Heard."}}, said("and?")])
    p = start(sandpiper, size=(30, 200))
    ask(p, "/put none.csv", "in the sandbox as /mnt/data/none.csv; no table was found in it")
    ask(p, "/put good.csv", "in the sandbox as /mnt/data/good.csv\r\n")
    ask(p, "what is in @page.csv", "in the sandbox as /mnt/data/page.csv; no table was found in it")
    ask(p, "and?", "Heard")
    leave(p)


@pytest.mark.slow(3)
def test_packed_data_is_described(sandpiper, serve):
    sandpiper.write("sales.csv.gz", gzip.compress(b"day;amount\n" + b"2024-01-01;1,5\n" * 500))
    told, _ = asked(sandpiper, serve, "the sum?", "--add", "sales.csv.gz")
    line = next(line for line in told.splitlines() if line.startswith("import"))
    r = sandpiper.run("exec", "--add", "sales.csv.gz", "-c", line + "; print(df.amount.sum())")
    assert r.out == "750.0\n", (told, r)


# ---------------------------------------------------------------------------------------------- what a new sandbox gets back

def end_sandbox(pid):
    """Kill everything below that process, as somebody would who cleans up, and see it end: one that is killed goes on until it has a processor."""
    todo, found = [pid], []
    while todo:
        entry = todo.pop()
        with contextlib.suppress(OSError):      # it has ended
            todo += children(entry)
            if entry != pid:
                found.append((os.pidfd_open(entry), entry))
    assert found
    for fd, entry in found:
        with contextlib.suppress(ProcessLookupError):       # it ended with the one before
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    for fd, entry in found:
        assert select.select([fd], [], [], HANG)[0], "%d was killed, and has not ended" % entry
        os.close(fd)


def test_a_new_sandbox_gets_the_files_back(sandpiper, serve):
    """The user's, and the code's as they are here; user and model are told which."""
    folder(sandpiper)
    sandpiper.write("in.csv", CSV)
    make = "open('made.txt', 'w').write('made')\nopen('changed.txt', 'w').write('x')\nopen('in.csv', 'a').write('more')\nsecret = 1"
    told = {"contains": ["copied in again: data, in.csv, made.txt\n", "that are not named here are lost"]}
    serve(sandpiper, [{"answer": {"calls": [{"code": make}]}}, {"answer": {"text": "Made."}},
                      {"answer": {"calls": [{"code": "import os; print(open('made.txt').read(), open('in.csv').read()[-4:], sorted(os.listdir('.')))"}]}},
                      {"expect": {"last": {"content": told}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, "--add", "data", "--add", "in.csv", "--out", "out", size=(40, 200))
    ask(p, "go", "Made\\.")
    with open(sandpiper.path("work/out/changed.txt"), "w") as f:
        f.write("the user's own")
    end_sandbox(p.pid)
    p.send("again\r")
    p.expect(re.escape("made more ['data', 'in.csv', 'made.txt']"))
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_what_may_not_be_read():
    """As an ordinary user: one line, and nothing runs; in a folder a line each, and the others go in."""
    for s in make_at("bwrap-user", USER):
        path = folder(s, **{"a.csv": CSV, "b.csv": CSV, "c.csv": CSV})
        for name in "ab":
            os.chmod("%s/%s.csv" % (path, name), 0)
        r = s.run("exec", "--add", "data/a.csv", "-c", "print(1)")
        assert r.code == 125 and r.out == "" and "Permission denied" in r.err and len(r.err.splitlines()) == 1, r
        r = s.run("exec", "--add", "data", "-c", TREE)
        assert tree(r) == ["data/c.csv"] and len([line for line in r.err.splitlines() if "not copied from data" in line and "denied" in line]) == 2, r


@pytest.mark.slow(20)
def test_a_folder_with_names_of_another_alphabet(sandpiper):
    """As archives of other systems leave them: no UTF-8, so all look the same, and each gets a number."""
    path = os.fsencode(sandpiper.path("work/photos"))
    os.mkdir(path)
    for i in range(4000):
        with open(path + b"/" + bytes(0xe0 + (i >> k & 7) for k in (9, 6, 3, 0)) + b".jpg", "wb"):
            pass
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    r = sandpiper.run("exec", "--add", "photos", "-c", "import os; names = os.listdir('photos'); print(len(names), '\ufffd' * 4 + '-4000.jpg' in names)")
    assert r.code == 0 and r.out == "4000 True\n" and resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - spent < 15, r
