"""test_hostile_wheels.py - what wheels and an index try against --with: names that lead elsewhere, links, programs of their own, records that lie, hashes that
do not fit, answers without end. Nothing of it leaves the folder, runs here, or is taken for Python's own."""
import io
import json
import os
import stat
import subprocess
import threading
import time
import zipfile

import pytest

from conftest import make_sandpiper, need_engine
from package_index import Index, uv
from test_with import env, kept, run

pytestmark = pytest.mark.skipif(not uv(), reason="there is no uv here, and none can be fetched")


@pytest.fixture
def program():
    need_engine("bwrap")
    yield from make_sandpiper("bwrap")


@pytest.fixture
def index():
    with Index() as one:
        yield one


def repacked(index, name, change):
    """The wheel of that name, with its archive changed by change(archive)."""
    (file, (data, when)), = index.files[name].items()
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as z:
        change(z)
    index.files[name][file] = (out.getvalue(), when)


def all_below(folder):
    return sorted(os.path.join(at, one) for at, folders, files in os.walk(folder) for one in folders + files)


@pytest.mark.parametrize("path", ["../escaped.py", "evil/../../escaped.py", "../../../../../../../../tmp/sp-escaped.py"])
def test_names_that_lead_elsewhere(program, index, path):
    index.add("evil", files={"evil/__init__.py": "x = 1\n", path: "escaped = 1\n"})
    run(program, index, "--with", "evil", "-c", "import evil")
    assert not os.path.exists("/tmp/sp-escaped.py")
    assert not [one for one in all_below(program.dir) if one.endswith("escaped.py") and "/sets/" not in one and "/uv-cache/" not in one]
    assert sorted(os.listdir(program.path("cache/sandpiper/packages/sets"))) == sorted(n for one in kept(program) for n in (one, one + ".json"))


def test_an_absolute_name(program, index):
    path = os.path.join(program.dir, "absolute.py")
    index.add("evil", files={"evil/__init__.py": "x = 1\n", path: "escaped = 1\n"})
    run(program, index, "--with", "evil", "-c", "import evil")
    assert not os.path.exists(path)


def test_a_link_in_a_wheel_leads_nowhere(program, index):
    program.write("secret.txt", "the user's own")
    index.add("evil", files={"evil/__init__.py": "x = 1\n"})

    def link(z):
        one = zipfile.ZipInfo("evil/data.txt")
        one.create_system, one.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        z.writestr(one, os.path.join(program.work, "secret.txt"))

    repacked(index, "evil", link)
    r = run(program, index, "--with", "evil", "-c", "import evil, os\np = os.path.dirname(evil.__file__) + '/data.txt'\nprint(os.path.islink(p), 'own' in open(p).read())")
    assert r.code != 0 or r.out == "False False\n", r
    assert not [one for one in all_below(program.path("cache/sandpiper/packages/sets")) if os.path.islink(one)]


def test_what_goes_beside_the_modules(program, index):
    """Scripts, entry points and data of a wheel: programs, a sitecustomize and a .pth by each of these ways."""
    hook = "import os; os.environ['HOSTILE'] = '1'\n"
    data = "evil-1.0.data/"
    index.add("evil", files={"evil/__init__.py": "x = 1\n", "evil-1.0.dist-info/entry_points.txt": "[console_scripts]\nbash = evil:x\nuv = evil:x\n",
                             data + "scripts/sh": "#!python\nraise SystemExit('hostile')\n", data + "data/sitecustomize.py": hook, data + "data/a.pth": hook,
                             data + "data/bin/bash": "#!/bin/sh\nexit 9\n", data + "purelib/b.pth": hook, data + "platlib/usercustomize.py": hook,
                             data + "headers/evil.h": "int x;\n"})
    code = ("import evil, os, subprocess, sys, shutil\nprint(evil.x, os.environ.get('HOSTILE'), sys.executable, shutil.which('python3'), shutil.which('bash'), shutil.which('uv'))\n"
            "print(subprocess.run(['python3', '-c', 'import os; print(os.environ.get(\"HOSTILE\"))'], capture_output=True, text=True).stdout)")
    plain = program.run("exec", "-c", code.replace("evil.x", "1").replace("import evil, ", "import "))
    r = run(program, index, "--with", "evil", "-c", code)
    assert r.code == 0 and r.out == plain.out and "1 None " in r.out, (r, plain)
    assert not [one for one in all_below(program.path("cache/sandpiper/packages/sets")) if one.endswith(".pth") or "customize" in os.path.basename(one)]
    assert not os.path.exists(program.path("cache/sandpiper/packages/uv"))          # a package called uv would not be the one that runs


def test_a_program_called_python(program, index):
    index.add("evil", files={"evil/__init__.py": "x = 1\n", "evil-1.0.dist-info/entry_points.txt": "[console_scripts]\npython3 = evil:x\n"})
    r = run(program, index, "--with", "evil", "-c", "import evil, sys; print(sys.executable)")
    assert r.code == 125 and "reserved name" in r.err and not kept(program), r


def test_modules_of_python_and_of_ours_are_not_taken(program, index):
    names = ["worker", "supervisor", "hints", "collections", "os", "io", "protocol", "encodings"]
    index.add("evil", files=dict({name + "/__init__.py": "raise SystemExit('shadows')\n" for name in names}, **{"evil.py": "x = 1\n"}))
    code = "import evil, collections, os, io, encodings.utf_8, subprocess, sys\nprint(evil.x, subprocess.run([sys.executable, '-c', 'import json; print(2)']).returncode)\n1 / 0"
    r = run(program, index, "--with", "evil", "-c", code)
    assert r.code == 1 and r.out == "2\n1 0\n" and "ZeroDivisionError" in r.err and "shadows" not in r.err, r


@pytest.mark.parametrize("record", ["", "evil/__init__.py,sha256=AAAA,1\n", "../../../../../../../etc/passwd,,\nevil/__init__.py,,\n", "\0\xff,,,,,\n" * 50])
def test_a_record_that_lies(program, index, record):
    """It says what a wheel holds, and is asked of nothing: the archive's hash counts. Removing the set touches nothing else."""
    index.add("evil", files={"evil/__init__.py": "x = 1\n"})

    def lie(z):
        z.writestr("evil-1.0.dist-info/RECORD", record)

    repacked(index, "evil", lie)
    r = run(program, index, "--with", "evil", "-c", "import evil; print(evil.x)")
    assert (r.code == 0 and r.out == "1\n") or (r.code == 125 and "could not be fetched" in r.err and not kept(program)), r
    assert program.run("packages", "rm", "--all").code == 0 and kept(program) == [] and os.path.exists("/etc/passwd")


def test_an_archive_that_is_not_what_the_index_said(program, index):
    index.add("evil", files={"evil/__init__.py": "x = 1\n"})
    plain, sent = index.send, []

    def other(request, body, kind):
        if request.path.endswith(".whl"):
            sent.append(request.path)
            body = body + b"\0" * 10
        plain(request, body, kind)

    index.send = other
    r = run(program, index, "--with", "evil", "-c", "import evil")
    assert r.code == 125 and "could not be fetched" in r.err and "ash mismatch" in r.err and sent and not kept(program), r
    index.send = plain
    assert run(program, index, "--with", "evil", "-c", "import evil; print(evil.x)").out == "1\n"       # nothing of it was kept


@pytest.mark.check
@pytest.mark.no_asan
def test_a_small_wheel_with_more_files_than_a_disk_has_room_for(program, index):
    files = {"evil/d%d/f%d" % (i % 400, i): "" for i in range(330000)}
    index.add("evil", files=dict(files, **{"evil/__init__.py": ""}))
    r = run(program, index, "--with", "evil", "-c", "import evil", timeout=300)
    assert r.code == 125 and "unpack to more than 300,000 files" in r.err and not kept(program), r
    left = sum(len(names) for _, _, names in os.walk(program.path("cache/sandpiper/packages")))
    assert left < 330000, left


@pytest.mark.check
@pytest.mark.no_asan
def test_a_page_without_end(program, index):
    """Memory has an end for who reads it."""
    index.add("evil", files={"evil/__init__.py": "x = 1\n"})
    sent = [0]

    def endless(request):
        request.send_response(200)
        request.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        request.end_headers()
        piece = b" " * (1 << 20)
        try:
            request.wfile.write(b'{"meta": {"api-version": "1.1"}, "name": "evil", "files": [')
            while sent[0] < 12 << 10:
                request.wfile.write(piece)
                sent[0] += 1
        except OSError:
            pass

    index.answer = endless
    r = run(program, index, "--with", "evil", "-c", "import evil", timeout=300)
    assert r.code == 125 and "the index sends an answer that is too large" in r.err and sent[0] < 12 << 10 and not kept(program), (r, sent)


def test_one_that_is_killed_leaves_nothing_half(program, index):
    """SIGKILL while it fetches, while it compiles and when it is nearly done: the next one has the whole."""
    files = {"large/__init__.py": "x = 1\n", **{"large/m%d.py" % i: "def f():\n    return 1\n" * 2000 for i in range(60)}}
    index.add("large", files=files)
    show = ("--with", "large", "-c", "import large.m59, os; print(large.m59.f(), len(os.listdir(os.path.dirname(large.__file__))))")
    for words in (b"looking for versions", b"fetching large", b"compiling them"):
        p = program.start("exec", *show, env=env(index), stderr=subprocess.PIPE)
        for line in p.stderr:
            if words in line:
                break
        p.kill()
        p.wait()
        p.stderr.close()
    r = run(program, index, *show)
    assert r.code == 0 and r.out == "1 62\n", r
    r = program.run("packages", "gc")
    assert r.code == 0 and sorted(os.listdir(program.path("cache/sandpiper/packages"))) == ["lists", "sets", "writer"], r
    assert run(program, index, *show).out == "1 62\n" and len(kept(program)) == 1


def test_many_at_once_of_several_lists(program, index):
    """Each of eight waits for its turn, and nobody's work is taken away by another that ends."""
    for i in range(4):
        index.add("one%d" % i, files={"one%d/__init__.py" % i: "x = %d\n" % i, **{"one%d/f%d.txt" % (i, k): "x" * 99 for k in range(200)}})
    all_of = [program.start("exec", "--with", "one%d" % (i % 4), "-c", "import one%d; print(one%d.x)" % (i % 4, i % 4), env=env(index)) for i in range(8)]
    told = [p.communicate(timeout=120) for p in all_of]
    assert [out for out, _ in told] == [b"%d\n" % (i % 4) for i in range(8)], told
    assert [index.fetched("one%d-1.0" % i) for i in range(4)] == [1] * 4 and len(kept(program)) == 4, index.asked


def test_what_is_listed_and_removed_meanwhile(program, index):
    """Lists and removals beside starts: no start fails, and no set is taken from under one."""
    index.add("sandpail", "1.0")
    run(program, index, "--with", "sandpail", "-c", "1")
    stop = threading.Event()

    def disturb(*words):
        while not stop.is_set():
            program.run("packages", *words)

    both = [threading.Thread(target=disturb, args=words) for words in (("list",), ("rm", "sandpail"))]
    for one in both:
        one.start()
    try:
        for _ in range(6):
            r = run(program, index, "--with", "sandpail", "-c", "import time; time.sleep(0.3); import sandpail; print(sandpail.__version__)")
            assert r.code == 0 and r.out == "1.0\n", r
    finally:
        stop.set()
        for one in both:
            one.join()


def test_a_lock_for_all_machines(program, index):
    """A universal pylock.toml: what is for other systems is not fetched, and a package has more wheels than anybody needs."""
    index.add("sandpail", "1.0")
    index.add("winonly", "1.0", tag="cp311-cp311-win_amd64")
    for i in range(150):
        index.add("sandpail", "1.0", tag="cp312-cp312-macosx_%d_0_arm64" % (i + 11))
    program.write("in.txt", "sandpail\nwinonly ; sys_platform == 'win32'\n")
    subprocess.run([uv() + "/uv", "pip", "compile", "-q", "--no-config", "--universal", "--format", "pylock.toml", "-o", "pylock.toml", "in.txt"], cwd=program.work,
                   env=env(index, HOME=program.path("home"), UV_CACHE_DIR=os.path.join(program.work, "uv-cache")), check=True)
    text = open(os.path.join(program.work, "pylock.toml")).read()
    assert "marker" in text and text.count("sha256") > 100
    r = run(program, index, "--requirements", "pylock.toml", "-c", "import sandpail; print(sandpail.__version__)")
    assert r.code == 0 and r.out == "1.0\n", r
    program.write("pylock.toml", text.replace("sys_platform == 'win32'", "`touch x`"))
    r = run(program, index, "--requirements", "pylock.toml", "-c", "1")
    assert r.code == 125 and "marker that cannot be understood" in r.err, r


def test_a_name_with_a_word_of_the_network(program, index):
    """No package of that version: that is what is said, not that the index cannot be reached."""
    for name in ("sshtunnel", "certificate"):
        index.add(name, "1.0")
        r = run(program, index, "--with", name + "==99", "-c", "1")
        assert r.code == 125 and "there is no version of %s==99" % name in r.err and "cannot be reached" not in r.err, r


def test_what_is_fetched_is_no_link_into_what_uv_keeps(program, index):
    """A folder is mounted so that it can be written to, to be compiled: nothing of another set is in reach there."""
    index.add("sandpail", "1.0")
    assert run(program, index, "--with", "sandpail", "-c", "import sandpail").code == 0
    files = [one for one in all_below(program.path("cache/sandpiper/packages/sets")) if os.path.isfile(one)]
    assert len(files) > 3 and {os.stat(one).st_nlink for one in files} == {1}


def test_nobody_waits_while_a_person_thinks(program, index, serve):
    """The question whether the model may install something stands open; another program fetches meanwhile."""
    from chat_keys import leave, start
    from test_with import DONE, wants
    for name in ("sandpail", "other"):
        index.add(name, "1.0")
    serve(program, [wants("sandpail"), DONE])
    p = start(program, env=env(index))
    p.send("which?\r")
    p.expect("allow")
    began = time.time()
    r = run(program, index, "--with", "other", "-c", "import other; print(other.__version__)", timeout=60)
    assert r.code == 0 and r.out == "1.0\n" and time.time() - began < 50, r
    p.send("y\r")
    p.expect("It is 1")
    leave(p)
    assert len(kept(program)) == 2


def test_uv_that_is_fetched_is_the_one_that_is_known(program, index):
    """An index that has another program under that name and version gets none of it run."""
    mark = program.path("ran")
    script = "#!/bin/sh\ntouch %s\necho uv 0.13.9\n" % mark
    index.add("uv", "0.13.9", files={"uv/__init__.py": ""})

    def program_of_its_own(z):
        one = zipfile.ZipInfo("uv-0.13.9.data/scripts/uv")
        one.create_system, one.external_attr = 3, (stat.S_IFREG | 0o755) << 16
        z.writestr(one, script)

    repacked(index, "uv", program_of_its_own)
    index.add("sandpail", "1.0")
    r = run(program, index, "--cooldown", "0", "--with", "sandpail", "-c", "import sandpail; print(sandpail.__version__)", extra={"PATH": "/usr/bin:/bin"})
    assert r.code == 0 and r.out == "1.0\n" and "pip could not fetch it" in r.err and not os.path.exists(mark), r
    assert any("uv-0.13.9" in path for path in index.asked), index.asked
    assert json.loads(program.run("packages", "--json").out)["names"] == "sandpail 1.0"
