"""test_hostile_names.py - two hundred names and archives that would like to be written elsewhere: nothing outside --out, nothing overwritten."""
import io
import os
import stat
import tarfile
import zipfile

HOSTILE = ["..", "...", "..\\..\\x", "../x", "../../x", "../../../../../../tmp/x", "/etc/passwd", "/tmp/x", "//x", "./x", "a/../../x", "a/./b", "~", "~/x",
           "-rf", "--help", "$(id)", "`id`", ";id", "|id", "&", "*", "?", "'", '"', "\\", "a b", " x", "x ", "\t", "a\nb", "a\rb", "a\x1b[31mb", "a\x07b",
           "\x7f", "\u202etxt.exe", "\u200b", "\u2028", "CON", "con.txt", "a:b", "x.", "%2e%2e%2fx", "%s%n", "é", "e\u0301", "日本", "\U0001f600",
           "out", "report.csv", "keep.txt", "sub", "sub/x", "link", "link/x", "a" * 255, "é" * 127, ("b" * 60 + "/") * 4 + "x", "\udcff\udcfe", "x\udcff/y"]
CODE = """
import os
names = %r
made = 0
for name in names:
    try:
        if '/' in name:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, 'w') as f:
            f.write('HOSTILE')
        made += 1
    except (OSError, ValueError):
        pass
for name in ('away', 'away.csv'):
    os.path.lexists(name) or os.symlink('/etc/passwd', name)
os.path.lexists('folder') or os.symlink('..', 'folder')
print(made)
"""


def tree(top, but):
    """Everything below top with its content, links not followed; not what lies in the folder but."""
    found = {}
    for folder, names, files in os.walk(top):
        names[:] = [n for n in names if os.path.join(folder, n) != but]
        for name in names + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            found[path] = (os.readlink(path) if stat.S_ISLNK(st.st_mode) else None if stat.S_ISDIR(st.st_mode)
                           else open(path, "rb").read() if stat.S_ISREG(st.st_mode) else "special")
    return found


def test_names_of_files_that_the_code_makes(sandpiper_on):
    """In --out lie files of the user, a folder, and a link to elsewhere, which is the user's own and no way out for the code."""
    program = sandpiper_on
    for folder in ("out/sub", "elsewhere"):
        os.makedirs(program.path("work/" + folder))
    for name in ("out/keep.txt", "out/report.csv", "out/sub/x", "elsewhere/x", "x"):
        program.write(name, "MINE")
    out = program.path("work/out")
    os.symlink("../elsewhere", out + "/link")
    os.symlink("../elsewhere/x", out + "/y.csv")
    outside, mine = tree(program.path("work"), out), tree(out, None)
    made, tried = 0, 0
    for names in (HOSTILE + ["y.csv"], ["%s.csv" % n for n in HOSTILE], ["%s%d" % (n, i) for i, n in enumerate(HOSTILE)], ["in/" + n.lstrip("/") for n in HOSTILE]):
        r = program.run("exec", "--out", "out", "-c", CODE % names)
        assert r.code == 0, r
        assert "\x1b" not in r.err and "\x07" not in r.err and "\u202e" not in r.err, r
        made, tried = made + int(r.out), tried + len(names)
    assert made > 100 and tried >= 200, (made, tried)
    assert tree(program.path("work"), out) == outside
    now = tree(out, None)
    assert {path: now.get(path) for path in mine} == mine
    new = {path: content for path, content in now.items() if path not in mine}
    assert sum(content == b"HOSTILE" for content in new.values()) > 100
    assert all(content is None or content == b"HOSTILE" for content in new.values()), new       # no link among them


def archive(kind, name):
    data = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(data, "w") as z:
            z.writestr(name, "HOSTILE,1\n")
            link = zipfile.ZipInfo("a link")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            z.writestr(link, "/etc/passwd")
    else:
        with tarfile.open(fileobj=data, mode="w:gz") as t:
            member = tarfile.TarInfo(name)
            member.size = 9
            t.addfile(member, io.BytesIO(b"HOSTILE,1"))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            t.addfile(link)
    return data.getvalue()


UNPACK = """
import os, tarfile, zipfile
os.chdir('/mnt/data')
n = 0
for i, name in enumerate(sorted(os.listdir('in'))):
    for into in ('.', 'u%d' % i):
        try:
            with (zipfile.ZipFile if name.endswith('.zip') else tarfile.open)('in/' + name) as a:
                a.extractall(into)
            n += 1
        except Exception:
            pass
print(n)
"""


def evil_tar(steps):
    """(name, kind, link, content)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as t:
        for name, kind, link in steps:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode = kind, link, 0o6777
            content = b"HOSTILE" if kind == tarfile.REGTYPE else b""
            member.size = len(content)
            t.addfile(member, io.BytesIO(content))
    return data.getvalue()


EVIL = [[("l", tarfile.SYMTYPE, ".."), ("l/keep.txt", tarfile.REGTYPE, "")], [("l", tarfile.SYMTYPE, "/"), ("l/etc/passwd", tarfile.REGTYPE, "")],
        [("h", tarfile.LNKTYPE, "/etc/passwd")], [("h", tarfile.LNKTYPE, "../../keep.txt"), ("h", tarfile.REGTYPE, "")], [("d", tarfile.CHRTYPE, ""), ("f", tarfile.FIFOTYPE, "")],
        [("keep.txt", tarfile.SYMTYPE, "../keep.txt")], [("report.csv", tarfile.SYMTYPE, "in/report.csv"), ("report.csv", tarfile.REGTYPE, "")], [("sub", tarfile.SYMTYPE, "."), ("sub/sub/x", tarfile.REGTYPE, "")]]


def test_archives_that_the_code_unpacks(sandpiper):
    """With their absolute names, dots, links, devices: what comes of it is in --out, without a link, and nothing of the user's is another."""
    for folder in ("in", "out"):
        os.makedirs(sandpiper.path("work/" + folder))
    names = [n.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for n in HOSTILE]
    made = [("%d.%s" % (i, kind), archive(kind, name)) for i, name in enumerate(names) for kind in ("zip", "tar.gz")]
    made += [("e%d.tar" % i, evil_tar(steps)) for i, steps in enumerate(EVIL)]
    for name, content in made:
        sandpiper.write("in/" + name, content)
    for name in ("out/keep.txt", "out/report.csv", "keep.txt", "x"):
        sandpiper.write(name, "MINE")
    out = sandpiper.path("work/out")
    outside, mine = tree(sandpiper.path("work"), out), tree(out, None)
    r = sandpiper.run("exec", "--add", "in", "--out", "out", "-c", UNPACK)
    assert "\x1b" not in r.err and "\u202e" not in r.err and int(r.out) > 100, r
    assert tree(sandpiper.path("work"), out) == outside and not os.path.exists("/tmp/x")
    now = tree(out, None)
    assert {path: now.get(path) for path in mine} == mine
    new = [content for path, content in now.items() if path not in mine]
    assert len(new) > 50 and all(content is None or content.startswith(b"HOSTILE") or content == b"/etc/passwd" for content in new), set(new)


def test_archives(sandpiper, serve):
    """What is in them is told to the model; nothing of it is written anywhere, and their own names are made harmless."""
    names = [n.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for n in HOSTILE]
    for folder in ("in", "out"):
        os.makedirs(sandpiper.path("work/" + folder))
    for i, name in enumerate(names):
        for kind in ("zip", "tar.gz"):
            with open(os.path.join(sandpiper.path("work/in"), "%d %s.%s" % (i, name.replace("/", "_").replace("\n", "_")[:60], kind)), "wb") as f:
                f.write(archive(kind, name))
    sandpiper.write("out/keep.txt", "MINE")
    before = tree(sandpiper.path("work"), None)
    server = serve(sandpiper, [{"answer": {"calls": [{"code": "import os; print(len(os.listdir('in')), os.path.exists('/tmp/x'))"}]}}, {"answer": {"text": "Done."}}])
    r = sandpiper.run("--add", "in", "--out", "out", "what is in them?")
    assert r.code == 0 and r.out == "Done.\n", r
    assert "\x1b" not in r.err and "\u202e" not in r.err, r
    assert "%d False" % (2 * len(names)) in server.bodies()[1]["messages"][-1]["content"]
    assert tree(sandpiper.path("work"), None) == before
