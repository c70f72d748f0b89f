"""test_with.py - packages that the user asks for (--with): from an index of this test's own, on every engine and as ordinary users; what is refused and
why; what a hostile wheel tries; what is kept, and shared by programs that start at once."""
import glob
import json
import os
import stat
import subprocess
import threading
import time

import pytest

from chat_keys import ask, leave, start
from conftest import PLACES, make_sandpiper, need_engine
from mcp_stdio import Mcp
from program import IMAGE
from package_index import Index, uv
from raw_server import wait_for
from serving import servers
from test_manual import listed

# uv comes from outside, unless this machine has one. Without it pip does the work, which the tests of speed, dates and messages are not about.
needs_uv = pytest.mark.skipif(not uv(), reason="there is no uv here, and none can be fetched")

PTH = "import os; os.environ['HOSTILE'] = 'pth'\n"
HOSTILE = {"evil/__init__.py": "__version__ = '1.0'\n", "evil.pth": PTH, "sitecustomize.py": "import os; os.environ['HOSTILE'] = 'site'\n",
           "usercustomize/__init__.py": "import os; os.environ['HOSTILE'] = 'user'\n", "json.py": "raise SystemExit('shadows json')\n",
           "supervisor.py": "raise SystemExit('shadows ours')\n"}


@pytest.fixture
def index():
    with Index() as one:
        one.add("sandpail", "1.0")
        one.add("sandpail", "1.1")
        one.add("bucket-list", "2.0", requires=["sandpail>=1"])
        yield one


@pytest.fixture(params=PLACES)
def there(request):
    need_engine(request.param)
    yield from make_sandpiper(request.param)


@pytest.fixture
def program():
    need_engine("bwrap")
    yield from make_sandpiper("bwrap")


def env(index, **more):
    return dict({"UV_DEFAULT_INDEX": index.url, "PIP_INDEX_URL": index.url,
                 "PATH": "%s:%s" % (uv(), os.environ["PATH"]) if uv() else os.environ["PATH"]}, **more)


def run(s, index, *args, extra=None, **how):
    return s.run("exec", *args, env=env(index, **(extra or {})), **how)


def kept(s):
    folder = s.path("cache/sandpiper/packages/sets")
    return sorted(name for name in os.listdir(folder) if not name.endswith(".json")) if os.path.isdir(folder) else []


@needs_uv
def test_a_package_is_imported_and_is_there_without_the_index(there, index):
    code = ("import bucket_list, sandpail, sys, os\nprint(bucket_list.__version__, sandpail.__version__, sandpail.__file__)\n"
            "try: open(os.path.dirname(sandpail.__file__) + '/new', 'w')\nexcept OSError as e: print(e.strerror)\n"
            "print('site' in sys.modules, sys.path.index('/mnt/host/.with-packages') > [p.endswith('lib-dynload') for p in sys.path].index(True))")
    r = run(there, index, "--with", "bucket-list", "-c", code)
    assert r.code == 0 and r.out == "2.0 1.1 /mnt/host/.with-packages/sandpail/__init__.py\nRead-only file system\nFalse True\n", r
    assert "Packages: fetching bucket-list 2.0 and 1 other" in r.err, r
    index.close()
    r = run(there, index, "--with", "bucket-list", "-c", "import sandpail; print(sandpail.__version__)")
    assert r.code == 0 and r.out == "1.1\n" and "Packages" not in r.err, r


@needs_uv
def test_versions_and_files_of_requirements(program, index):
    program.write("requirements.txt", "# what is needed\nsandpail<1.1  # old\nbucket-list \\\n  >=2 ; python_version >= '3.6'\n")
    show = "import sandpail, bucket_list; print(sandpail.__version__, bucket_list.__version__)"
    r = run(program, index, "--requirements", "requirements.txt", "-c", show)
    assert r.code == 0 and r.out == "1.0 2.0\n", r
    r = run(program, index, "--with", "sandpail>=1,<1.1,bucket_list", "-c", show)
    assert r.code == 0 and r.out == "1.0 2.0\n", r
    program.configure("with: [sandpail==1.0, bucket-list]\n")
    r = run(program, index, "-c", show)
    assert r.code == 0 and r.out == "1.0 2.0\n", r
    assert len(kept(program)) == 1, kept(program)          # three ways to the same lock


@needs_uv
def test_a_lock_of_uv_is_taken_as_it_is(program, index):
    program.write("in.txt", "sandpail<1.1\n")
    subprocess.run([uv() + "/uv", "pip", "compile", "-q", "--no-config", "--format", "pylock.toml", "-o", "pylock.toml", "in.txt"], cwd=program.work,
                   env=env(index, HOME=program.path("home"), UV_CACHE_DIR=os.path.join(program.work, "uv-cache")), check=True)
    r = run(program, index, "--requirements", "pylock.toml", "-c", "import sandpail; print(sandpail.__version__)")
    assert r.code == 0 and r.out == "1.0\n", r
    text = open(os.path.join(program.work, "pylock.toml")).read()
    digest = text.split('sha256 = "')[1][:64]
    program.write("pylock.toml", text.replace(digest, "0" * 64))
    r = run(program, index, "--requirements", "pylock.toml", "-c", "import sandpail")
    assert r.code == 125 and "could not be fetched" in r.err and "ash" in r.err, r


@needs_uv
@pytest.mark.parametrize("wanted, said", [
    ("sandpile", "there is no package sandpile in the index"),
    ("sandpail==9", "there is no version of sandpail==9"),
    ("sourceonly", "sourceonly has no wheel for Python"),
    ("bucket-list,sandpail<1", "the packages cannot be had together"),
    ("sandpail @ https://example.com/x.whl", "packages have a name here"),
    ("git+https://example.com/x", "packages have a name here"),
    ("./sandpail", "that is no name of a package"),
    ("--index-url=http://example.com", "that is an option"),
    ("sandpail;import os", "a package's versions cannot be read"),
    ("sandpail >> 1", "versions cannot be read"),
    ("sandpail>=1 extra", "that cannot be understood"),
    ("sandpail,,x", "the name of a package is missing"),
    ("none,sandpail", "none stands alone"),
])
def test_what_cannot_be_had_is_said_in_plain_words(program, index, wanted, said):
    index.add("sourceonly", "1.0", sdist=True)
    r = run(program, index, "--with", wanted, "-c", "print(1)")
    assert r.code == 125 and said in r.err and not r.out, r
    assert "example.com" not in " ".join(index.asked), index.asked


@needs_uv
def test_what_is_young_is_refused_with_its_age(program, index):
    index.add("newname", "1.0", days=3)
    index.add("sandpail", "2.0", days=2)
    r = run(program, index, "--with", "newname", "-c", "print(1)")
    assert r.code == 125 and "newname 1.0 is 3 days old, and nothing younger than 7 days is taken" in r.err, r
    r = run(program, index, "--with", "sandpail", "-c", "import sandpail; print(sandpail.__version__)")
    assert r.code == 0 and r.out == "1.1\n", r             # the newest that is old enough
    r = run(program, index, "--cooldown", "1d", "--with", "newname", "-c", "import newname; print(newname.__version__)")
    assert r.code == 0 and r.out == "1.0\n", r
    index.add("undated", "1.0", dated=False)
    r = run(program, index, "--with", "undated", "-c", "print(1)")
    assert r.code == 125 and "does not tell how old" in r.err, r
    r = run(program, index, "--cooldown", "0", "--with", "undated", "-c", "import undated; print(undated.__version__)")
    assert r.code == 0 and r.out == "1.0\n", r


@needs_uv
def test_nothing_of_a_package_runs_by_itself(program, index):
    index.add("evil", files=HOSTILE)
    code = ("import evil, os, json, subprocess, sys\nprint(evil.__version__, os.environ.get('HOSTILE'), json.dumps(1))\n"
            "print(subprocess.run([sys.executable, '-c', 'import os; print(os.environ.get(\"HOSTILE\"))'], capture_output=True, text=True).stdout.strip())\n"
            "import site; site.addsitedir('/mnt/host/.with-packages'); print(os.environ.get('HOSTILE'))\n"
            "try: import sitecustomize\nexcept ImportError: print('none')\n")
    r = run(program, index, "--with", "evil", "-c", code)
    assert r.code == 0 and r.out == "1.0 None 1\nNone\nNone\nnone\n", r
    for name in ("evil.pth", "sitecustomize.py", "usercustomize"):
        assert "Packages: %s is left out: nothing of a package runs by itself" % name in r.err, r
    again = run(program, index, "--with", "evil", "-c", "import evil")
    assert "evil.pth is left out" in again.err, again      # whoever uses it later is told, too
    for folder, _, files in os.walk(program.path("cache/sandpiper/packages/sets")):
        assert not any(f.endswith(".pth") or f.startswith("sitecustomize") for f in files), (folder, files)


@needs_uv
def test_an_index_with_a_ca_of_its_own(program):
    with Index(ca=os.path.join(program.work, "ca")) as index:
        index.add("sandpail", "1.0")
        r = run(program, index, "--with", "sandpail", "-c", "print(1)", extra={"SSL_CERT_FILE": None})
        assert r.code == 125 and "the index of packages cannot be reached" in r.err, r
        r = run(program, index, "--with", "sandpail", "-c", "import sandpail; print(sandpail.__version__)", extra={"SSL_CERT_FILE": index.ca})
        assert r.code == 0 and r.out == "1.0\n", r


@needs_uv
@pytest.mark.parametrize("where", ["variables", "netrc", "nowhere"])
def test_an_index_with_a_password(program, where):
    """Whoever fetches has it, the sandbox has not."""
    with Index(password="hush-hush") as index:
        index.add("sandpail")
        extra = {"UV_DEFAULT_INDEX": "priv=" + index.url, "PIP_INDEX_URL": "", "HOME": program.dir}
        if where == "netrc":
            with open(os.path.join(program.dir, ".netrc"), "w") as f:
                f.write("machine 127.0.0.1 login analyst password hush-hush\n")
        elif where == "variables":
            extra.update(UV_INDEX_PRIV_USERNAME="analyst", UV_INDEX_PRIV_PASSWORD="hush-hush")
        code = "import os, sandpail\nprint(sandpail.__version__, [k for k, v in os.environ.items() if 'hush' in v or 'INDEX' in k or 'NETRC' in k])"
        r = run(program, index, "--with", "sandpail", "-c", code, extra=extra)
        assert (r.code, r.out) == ((125, "") if where == "nowhere" else (0, "1.0 []\n")) and "hush" not in r.err, r


def test_none_leaves_out_what_the_configuration_has(program, index):
    program.configure("with: [sandpail]\n")
    r = run(program, index, "--with", "none", "-c", "print(1)")
    assert r.code == 0 and r.out == "1\n" and not index.asked and not kept(program), r
    r = run(program, index, "--with", "nosuch", "--with", "none", "--with", "bucket-list", "-c", "import bucket_list")
    assert "nosuch" not in r.err and "bucket" in r.err, r


def test_the_index_of_pip_is_found_in_its_file(program, index):
    os.makedirs(program.path("config/pip"))
    with open(program.path("config/pip/pip.conf"), "w") as f:
        f.write("[global]\nindex-url = %s\n[list]\nindex-url = http://127.0.0.1:9\n" % index.url)
    r = run(program, index, "--with", "sandpail", "-c", "import sandpail; print(sandpail.__version__)", extra={"UV_DEFAULT_INDEX": None, "PIP_INDEX_URL": None})
    assert r.code == 0 and r.out == "1.1\n", r


@needs_uv
def test_two_at_once_fetch_it_once(program, index):
    both = [program.start("exec", "--with", "bucket-list", "-c", "import bucket_list; print(bucket_list.__version__)", env=env(index)) for _ in range(2)]
    told = [p.communicate(timeout=60) for p in both]
    assert [p.returncode for p in both] == [0, 0] and [out for out, _ in told] == [b"2.0\n"] * 2, told
    assert sum(err.count(b"Packages: fetching bucket-list") for _, err in told) == 1, told
    assert index.fetched("bucket_list-2.0") == 1 and len(kept(program)) == 1, index.asked


@needs_uv
def test_a_folder_that_was_changed_is_fetched_again(program, index):
    show = ("--with", "sandpail", "-c", "import sandpail; print(sandpail.__version__)")
    assert run(program, index, *show).code == 0
    file = program.path("cache/sandpiper/packages/sets/%s/sandpail/__init__.py" % kept(program)[0])
    os.chmod(file, 0o644)
    text = open(file).read()
    os.unlink(file)
    with open(file, "w") as f:
        f.write(text + "import os\n")
    r = run(program, index, *show)
    assert r.code == 0 and r.out == "1.1\n" and "Packages: fetching" in r.err and "import os" not in open(file).read(), r


def test_the_program_that_fetches_gets_no_key_of_ours(program, index):
    """A uv that writes down what it was given; then it fails."""
    program.write("uv", "#!/bin/sh\nif [ \"$1\" = --version ]; then echo uv 0.13.9; exit; fi\nenv > %s/seen\necho \"$PWD\" >> %s/seen\nexit 1\n"
                  % (program.dir, program.dir))
    os.chmod(os.path.join(program.work, "uv"), 0o755)
    r = program.run("exec", "--with", "sandpail", "-c", "1", env=env(index, PATH="%s:/usr/bin:/bin" % program.work, OPENAI_API_KEY="sk-secret",
                                                                      ANTHROPIC_API_KEY="sk-other", AWS_SECRET_ACCESS_KEY="x", HTTPS_PROXY="http://127.0.0.1:9"))
    seen = open(program.path("seen")).read()
    assert r.code == 125 and "secret" not in seen.lower() and "sk-" not in seen, seen
    assert "UV_DEFAULT_INDEX=" + index.url in seen and "HTTPS_PROXY=http://127.0.0.1:9" in seen, seen
    assert "HOME=%s" % program.path("cache/sandpiper/packages/new") in seen and seen.rstrip().endswith("packages/new"), seen


def test_pip_does_it_where_there_is_no_uv(program, index):
    where = dict(PATH="/usr/bin:/bin")
    r = run(program, index, "--with", "bucket-list", "-c", "print(1)", extra=where)
    assert r.code == 125 and "pip here is too old to leave out young packages" in r.err, r
    r = run(program, index, "--cooldown", "0", "--with", "bucket-list", "-c", "import bucket_list, sandpail; print(bucket_list.__version__)", extra=where)
    assert r.code == 0 and r.out == "2.0\n" and "pip is used, which is slower" in r.err, r


@needs_uv
def test_what_cannot_be_mounted_is_sent(program, index):
    from test_own_engine import SHELL, use
    use(program, SHELL)
    index.add("big", files={"big/__init__.py": "from big.deep.er import v as __version__\n", "big/deep/er.py": "v = '3'\n", "big/data.bin": b"\0" * 3000000})
    r = run(program, index, "--with", "sandpail,big", "-c", "import big, sandpail, os; print(big.__version__, sandpail.__file__.split('/')[:3], os.listdir('.'))")
    assert r.code == 0 and r.out == "3 ['', 'tmp', '.with-packages'] []\n", r


@needs_uv
def test_a_question_is_told_what_it_can_import(program, index, serve):
    server = serve(program, [{"answer": {"calls": [{"code": "import sandpail; print(sandpail.__version__)"}]}}, {"answer": {"text": "It is 1.1."}}])
    r = program.run("--with", "sandpail", "Which version?", env=env(index))
    assert r.code == 0 and "1.1" in r.out, r
    assert "sandpail 1.1" in json.dumps(server.requests[0].body), server.requests[0].body
    assert server.requests[1].body["messages"][-1]["content"] == "1.1", server.requests[1].body


@needs_uv
def test_packages_list_rm_and_gc(program, index):
    assert program.run("packages").out == "no packages are kept; --with NAME fetches some\n"
    run(program, index, "--with", "bucket-list", "-c", "1")
    run(program, index, "--with", "sandpail<1.1", "-c", "1")
    r = program.run("packages", "list")
    assert "bucket-list 2.0" in r.out and "sandpail 1.0" in r.out and "2 sets" in r.out and "today" in r.out, r
    rows = [json.loads(line) for line in program.run("packages", "--json").out.splitlines()]
    assert sorted(row["packages"] for row in rows) == [1, 2] and not any(row["in_use"] for row in rows), rows
    assert set(rows[0]) == listed("packages")
    p = program.start("exec", "--with", "sandpail<1.1", "-c", "import sandpail, time; print(sandpail.__version__, flush=True); time.sleep(60)", env=env(index))
    assert p.stdout.readline() == b"1.0\n"
    r = program.run("packages", "rm", "sandpail")
    assert r.code == 1 and r.out == "removed 1 set of packages\n" and "1 set is in use by a sandbox and stays" in r.err, r
    p.terminate()
    p.communicate(timeout=30)
    r = program.run("packages", "rm", "--all")
    assert r.code == 0 and kept(program) == [], r
    run(program, index, "--with", "sandpail", "-c", "1")
    note = program.path("cache/sandpiper/packages/sets/%s.json" % kept(program)[0])
    old = time.time() - 40 * 86400
    os.utime(note, (old, old))
    r = program.run("packages", "gc")
    assert r.code == 0 and "removed 1 set of packages not used for 30 days" in r.out and kept(program) == [], r
    assert program.run("packages", "rm").code == 2 and program.run("packages", "clean").code == 2
    r = program.run("packages", "rm", "sandpail")
    assert r.code == 2 and "no package sandpail is kept" in r.err and not r.out, r
    run(program, index, "--with", "sandpail", "-c", "1")
    r = program.run("packages", "rm", "sandpail", "other")
    assert r.code == 2 and "no package other is kept" in r.err and r.out == "removed 1 set of packages\n", r
    assert program.run("packages", "rm", "--all").out == "nothing to remove\n"
    index.add("numpy", "0.1")
    if run(program, index, "--with", "numpy", "-c", "import numpy; print(numpy.__version__)").out not in ("", "0.1\n"):
        assert program.run("packages", "rm", "numpy").out == "removed 1 set of packages\n"     # that of a package that the sandbox has itself
        assert program.run("packages").out.startswith("no packages are kept")


@needs_uv
def test_an_image_that_was_built_anew_is_looked_at_again(index):
    need_engine("docker")
    name = "sandpiper-with-test-%d" % os.getpid()
    build = lambda text: subprocess.run(["docker", "build", "-q", "-t", name, "-"], input=text.encode(), check=True, stdout=subprocess.DEVNULL, timeout=120)
    run_it = lambda: run(s, index, "--image", name, "--with", "sandpail", "-c", "import sandpail; print(sandpail.__version__)")
    known = lambda: len(os.listdir(s.path("cache/sandpiper/packages/pythons")))
    for s in make_sandpiper("docker"):
        try:
            build("FROM %s\n" % IMAGE)
            assert run_it().out == run_it().out == "1.1\n" and known() == 1
            build("FROM %s\nUSER 0\nRUN rm -r /usr/lib/python3/dist-packages/sympy*\n" % IMAGE)
            assert run_it().out == "1.1\n" and known() == 1                 # this start sees it
            assert run_it().out == run_it().out == "1.1\n" and known() == 2
        finally:
            subprocess.run(["docker", "rmi", "-f", name], stdout=subprocess.DEVNULL)


@needs_uv
def test_a_session_without_packages_does_nothing_for_them(program):
    assert program.run("exec", "-c", "print(1)").code == 0
    assert not os.path.exists(program.path("cache/sandpiper/packages"))


SCRIPT = """#!/usr/bin/env python3
# /// script
# requires-python = ">=3.8"
# dependencies = [
#     "sandpail<1.1",  # an old one
#     'bucket-list',
# ]
# ///
import sandpail, bucket_list
print(sandpail.__version__, bucket_list.__version__)
"""


@needs_uv
def test_a_script_says_what_it_needs(program, index):
    r = run(program, index, program.write("s.py", SCRIPT))
    assert r.code == 0 and r.out == "1.0 2.0\n", r
    assert run(program, index, "-", stdin=SCRIPT).out == "1.0 2.0\n"
    r = run(program, index, program.write("s.py", SCRIPT.replace('"sandpail<1.1"', '"sandpail @ http://127.0.0.1:9/x.whl"')))
    assert r.code == 125 and "packages have a name here" in r.err, r
    r = run(program, index, program.write("s.py", SCRIPT.replace("'bucket-list',", "bucket-list,")))
    assert r.code == 125 and "must be a list of strings" in r.err, r
    r = run(program, index, program.write("s.py", "# /// script\n# dependencies = ['x']\nprint('no end: no block')\n"))
    assert r.code == 0 and "no end" in r.out, r


def test_a_script_says_which_python_it_is_for(program):
    have = program.run("exec", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").out.strip()
    major, minor = map(int, have.split("."))
    for wants, fits in ((">=3.8", True), (">=%d.%d" % (major, minor + 1), False), ("<%s" % have, False), ("<%s.99" % have, True), ("<=%s,>3.0" % have, True),
                        ("==%s.*" % have, True), ("==%d.*" % major, True), ("==3.1.*", False), ("~=3.1", True), ("~=3.1.1", False), ("!=%s.*" % have, False), ("!=%s.77" % have, True),
                        (">%d" % (major + 1), False), ("three", True)):
        r = program.run("exec", "-", stdin='# /// script\n# requires-python = "%s"\n# ///\nprint("ran")\n' % wants)
        assert (r.code, r.out) == ((0, "ran\n") if fits else (125, "")), (wants, r)
        assert fits or "requires Python %s, and the sandbox has %s" % (wants, have) in r.err and "--image" in r.err, r


CALL = {"answer": {"calls": [{"code": "import sandpail; print(sandpail.__version__)"}]}}
DONE = {"answer": {"text": "It is 1.1."}}


@needs_uv
def test_a_session_goes_on_with_its_packages_and_a_receipt_has_them(program, index, serve):
    server = serve(program, [CALL, DONE, CALL, DONE])
    r = program.run("--with", "sandpail", "Which version?", env=env(index))
    assert r.code == 0, r
    index.add("sandpail", "1.2")
    index.close()                                           # what is kept is enough
    r = program.run("-c", "And now?", env=env(index))
    assert r.code == 0 and server.requests[3].body["messages"][-1]["content"] == "1.1", server.requests[3].body
    path = os.path.join(program.work, "r.json")
    assert program.run("receipt", "-o", path).code == 0
    receipt = json.load(open(path))
    assert receipt["places"][0]["lock"].startswith("sandpail==1.1 --hash=sha256:"), receipt["places"]
    assert "sandpail" in receipt["places"][0]["packages"], receipt["places"]
    r = program.run("rerun", path, env=env(index))
    assert r.code == 0 and "same result" in r.out, r
    receipt["places"][0]["lock"] = "--index-url=http://127.0.0.1:9\n"
    with open(path, "w") as f:
        json.dump(receipt, f)
    r = program.run("rerun", path, env=env(index))
    assert r.code == 2 and "options" in r.err, r


@needs_uv
def test_a_named_sandbox_keeps_them(program, index):
    show = ("-c", "import sandpail; print(sandpail.__version__)")
    try:
        assert run(program, index, "--sandbox-name", "kept", "--with", "sandpail<1.1", *show).out == "1.0\n"
        assert run(program, index, "--sandbox-name", "kept", *show).out == "1.0\n"
        r = run(program, index, "--sandbox-name", "kept", "--with", "sandpail<1.1,bucket-list", "-c", "import bucket_list; print(bucket_list.__file__)")
        assert r.code == 0 and r.out.startswith("/tmp/.with-packages/"), r     # it runs already, so they are sent
    finally:
        program.run("rm", "kept")


@needs_uv
def test_with_in_a_chat_keeps_the_variables(program, index, serve):
    server = serve(program, [CALL, DONE])
    p = start(program, env=env(index))
    ask(p, "/run x = 42; x", "42")
    ask(p, "/with", "You asked for no packages")
    ask(p, "/with sandpile", "there is no package sandpile in the index")
    ask(p, "/with sandpail<1.1", "Code can import sandpail 1\\.0")
    ask(p, "/with bucket-list", "Code can import bucket-list 2\\.0")
    ask(p, "/run import bucket_list; print(x, bucket_list.sandpail_is() if hasattr(bucket_list, 'sandpail_is') else bucket_list.__version__)", "42 2\\.0")
    ask(p, "/run import sandpail; print('v', sandpail.__version__)", "v 1\\.0")     # what was there stays as it is
    ask(p, "/with", "sandpail 1\\.0, bucket-list 2\\.0")
    ask(p, "which?", "It is 1")
    leave(p)
    assert "code can import sandpail 1.0 now" in json.dumps(server.requests[0].body), server.requests[0].body


SIZES = """/run import huge, vast, os, sandpail
print('seen', x, sandpail.__version__, [os.path.getsize(m.__file__.replace('__init__.py', 'data.bin')) for m in (huge, vast)], open('kept.txt').read())"""


@needs_uv
@pytest.mark.slow(20)
def test_with_in_a_chat_adds_what_has_no_room_in_a_sandbox_that_runs(there, index, serve):
    """It starts again with a folder of all of them, and goes on from a live copy."""
    for name in "huge", "vast":
        index.add(name, files={name + "/__init__.py": "", name + "/data.bin": bytes(90 << 20)})
    server = serve(there, [{"answer": {"calls": [{"code": "x += 1; import huge; huge"}]}}, DONE])
    p = start(there, env=env(index))
    ask(p, "/with sandpail<1.1", "Code can import sandpail 1\\.0")
    ask(p, "/run x = 40; import sandpail; open('kept.txt', 'w').write('here')", "4")
    ask(p, "/with huge", "(?s)starting the sandbox again.*Code can import huge 1\\.0\\.")
    ask(p, "which?", "It is 1")
    assert "/mnt/host/.with-packages/huge" in result_of(server, 1), server.requests[1].body
    ask(p, "/with vast", "(?s)starting the sandbox again.*Code can import vast 1\\.0\\.")
    ask(p, SIZES.replace("\n", "; "), "seen 41 1\\.0 \\[94371840, 94371840\\] here")
    ask(p, "/reset", "restarted")
    ask(p, SIZES.replace("x, ", "", 1).replace("\n", "; "), "seen 1\\.0 \\[94371840, 94371840\\] here")
    ask(p, "/with", "sandpail 1\\.0, huge 1\\.0, vast 1\\.0")
    ask(p, "/run import os, signal, time; x = 9; print('set', x)", "set 9")
    ask(p, "/run os.kill(os.getpid(), signal.SIGKILL)", "[Kk]illed|died")
    ask(p, "/run import vast; print('still', x)", "still 9")
    leave(p)


@needs_uv
def test_where_it_cannot_start_again_it_says_what_to_do(program, index, serve):
    index.add("huge", files={"huge/__init__.py": "", "huge/data.bin": bytes(90 << 20)})
    serve(program, [])
    p = start(program, env=env(index))
    ask(p, "/run import threading, time; t = threading.Thread(target=time.sleep, args=(600,), daemon=True); t.start(); x = 42; x", "42")
    ask(p, "/with huge", "(?s)cannot be started again.*thread.*start with them: --with NAMES")
    ask(p, "/run print('still', x, t.is_alive())", "still 42 True")
    leave(p)
    try:
        p = start(program, "--sandbox-name", "kept", env=env(index))
        ask(p, "/run x = 42; x", "42")
        ask(p, "/with huge", "(?s)it has a name.*sandpiper rm")
        ask(p, "/run print('still', x)", "still 42")
        leave(p)
    finally:
        program.run("rm", "kept")


VERSIONS = {"answer": {"calls": [{"code": "import sandpail, bucket_list; print(sandpail.__version__, bucket_list.__version__)"}]}}


@needs_uv
def test_what_was_added_outlives_a_restart_and_is_there_when_the_session_goes_on(program, index, serve):
    server = serve(program, [CALL, DONE, VERSIONS, DONE, VERSIONS, DONE])
    program.configure("with: [sandpail]\n")
    p = start(program, env=env(index))
    ask(p, "which?", "It is 1")
    ask(p, "/with sandpail<1.1", "Code can import sandpail 1\\.0")         # another version takes its place
    ask(p, "/with sandpail==1.0", "Code can import sandpail 1\\.0")        # it is there already
    ask(p, "/with bucket-list", "Code can import bucket-list 2\\.0")
    ask(p, "/with", "asked for: sandpail 1\\.0, bucket-list 2\\.0\\.")
    show = "/run import sandpail, bucket_list; print('now', sandpail.__version__, bucket_list.__version__)"
    ask(p, "/reset", "restarted")
    ask(p, show, "now 1\\.0 2\\.0")
    ask(p, "/run import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "[Kk]illed|died")
    ask(p, show, "now 1\\.0 2\\.0")
    ask(p, "and both?", "It is 1")
    leave(p)
    index.add("sandpail", "1.2")
    index.close()                                           # what is kept is enough, and config.yaml asks for no other
    r = program.run("-c", "And now?", env=env(index))
    assert r.code == 0 and server.requests[5].body["messages"][-1]["content"] == "1.0 2.0", r
    path = os.path.join(program.work, "r.json")
    assert program.run("receipt", "-o", path).code == 0
    locks = [place.get("lock", "").count("--hash") for place in json.load(open(path))["places"]]
    assert locks == [1, 2], locks                           # one is run with the newest of both
    r = program.run("rerun", path, env=env(index))
    assert r.code == 1 and "1.0" in r.out and "1.1" in r.out, r     # the first piece had another version, which is seen



@needs_uv
def test_a_second_computation_has_what_was_added(program, index, serve):
    answer = {"answer": {"text": "The version is 2.0."}}
    both = {"answer": {"calls": [{"code": "import bucket_list; print(bucket_list.__version__)"}]}}
    server = serve(program, [both, answer, both, answer])
    p = start(program, "--verify", env=env(index))
    ask(p, "/with bucket-list", "Code can import bucket-list 2\\.0")
    ask(p, "which?", "(?s)version is 2.*second computation")
    leave(p)
    assert server.requests[3].body["messages"][-1]["content"] == "2.0", server.requests[3].body


@needs_uv
def test_it_can_be_interrupted_and_the_chat_goes_on(program, index, serve):
    """In the middle of a wheel, of which nothing stays."""
    serve(program, [])
    plain, gone = index.send, threading.Event()

    def half(request, body, kind):
        if not request.path.endswith(".whl"):
            return plain(request, body, kind)
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[:len(body) // 2])
        request.wfile.flush()
        gone.wait(60)

    def begun():
        return glob.glob(program.path("cache/sandpiper/packages/uv-cache/.tmp*"))

    p = start(program, env=env(index))
    ask(p, "/run x = 42; x", "42")
    index.send = half
    p.send("/with sandpail\r")
    wait_for(begun)
    p.send("\x03")
    p.expect("interrupted")
    p.expect("> ")
    assert not begun()
    gone.set()
    index.send = plain
    ask(p, "/run x + 1", "43")
    ask(p, "/with sandpail", "Code can import sandpail 1\\.1")
    leave(p)


def test_ways_to_install_lead_there(program):
    for code in ["!pip install -q sandpail", "%pip install sandpail"]:
        r = program.run("exec", "-c", code)
        assert "--with sandpail" in r.err, (code, r)
    r = program.run("exec", "-c", "import sandpail")
    assert r.err.endswith("No module named 'sandpail'\nsandpiper: a package that the sandbox lacks is added by its name: --with NAME\n"), r
    assert "--with" not in program.run("exec", "-q", "-c", "import sandpail").err
    assert "/with NAME" in json.loads(program.run("exec", "--json-result", "-c", "import sandpail").out)["error"]["hint"]


@needs_uv
def test_what_does_not_fit_the_sandboxs_own_is_told(program, index):
    """A package wants another numpy without declaring it, or one of the sandbox's own was built for another: the line says what to ask for, too."""
    index.add("picky", files={"picky/__init__.py": "raise ImportError('picky requires NumPy 99.0 or newer')\n"})
    has = program.run("exec", "-c", "import numpy; print(numpy.__version__)")
    if has.code != 0:
        pytest.skip("this machine has no numpy")
    told = "numpy %s is the sandbox's own, and does not fit: add a newer one with --with 'numpy>%s', in a chat with /with\n" % ((has.out.strip(),) * 2)
    r = run(program, index, "--with", "picky", "-c", "import picky")
    assert r.code == 1 and r.err.endswith("NumPy 99.0 or newer\nsandpiper: " + told), r
    assert told.strip() in json.loads(run(program, index, "--with", "picky", "--json-result", "-c", "import picky").out)["error"]["hint"]
    assert "own" not in program.run("exec", "-c", "raise ImportError('numpy')").err         # nothing was added
    index.add("numpy", "99.0", files={"numpy/__init__.py": "raise ValueError('numpy.dtype size changed, may indicate binary incompatibility')\n"})
    r = run(program, index, "--with", "numpy>%s" % has.out.strip(), "-c", "import pandas")
    assert r.code == 1 and "pandas " in r.err and "--with 'pandas>" in r.err, r


def agents_file(program, name, text):
    os.makedirs(program.path("config/sandpiper/prompts"), exist_ok=True)
    return program.write(program.path("config/sandpiper/prompts/%s.yaml" % name), text)


@needs_uv
def test_an_agent_says_what_it_wants(program, index, serve):
    server = serve(program, [VERSIONS, DONE, VERSIONS, DONE])
    agents_file(program, "python", "with: [sandpail<1.1, bucket-list]\n")
    r = program.run("which?", env=env(index))
    assert r.code == 0 and server.requests[1].body["messages"][-1]["content"] == "1.0 2.0", r
    assert "sandpail 1.0" in json.dumps(server.requests[0].body["messages"][0]), server.requests[0].body      # the model knows
    agents_file(program, "python", "with: bucket-list\n")
    agents_file(program, "odd", "role: odd\nwith: sandpail<1.1\n")
    agents_file(program, "pipelines", "pair: [odd]\n")
    r = program.run("--agents", "pair", "which?", env=env(index))        # what python.yaml says is replaced, as every key
    assert r.code == 0 and "bucket_list" in server.requests[3].body["messages"][-1]["content"], r
    assert run(program, index, "-c", "import bucket_list").code == 1     # no agent: nothing is asked


@needs_uv
@pytest.mark.parametrize("text, said", [
    ("with: --index-url=x\n", "with: of the agent python: --index-url=x: that is an option"),
    ("with: {a: b}\n", "python.yaml:1: with: expected a text, found a map"),
    ("with: [[a]]\n", "python.yaml:1: with: expected the name of a package, found a list"),
])
def test_an_agent_that_wants_nonsense(program, index, serve, text, said):
    serve(program, [])
    agents_file(program, "python", text)
    r = program.run("which?", env=env(index))
    assert r.code == 2 and said in r.err and not index.asked, r


def wants(names):
    return {"answer": {"calls": [{"name": "install_packages", "arguments": json.dumps({"packages": names})}]}}


def offers(request):
    return [t["function"]["name"] for t in request.body.get("tools") or []]


def result_of(server, n):
    return server.requests[n].body["messages"][-1]["content"]


@needs_uv
def test_the_model_asks_for_packages_and_the_user_for_them(program, index, serve):
    index.add("young", "1.0", days=1)
    server = serve(program, [wants("sandpail bucket_list"), VERSIONS, DONE, wants("young"), wants("bucket-list"), DONE,
                             wants("other"), wants("third"), DONE, wants("third"), DONE])
    index.add("other", "1.0")
    index.add("third", "1.0")
    p = start(program, env=env(index))
    p.send("which?\r")
    p.expect(r"sandpail 1\.1, bucket-list 2\.0, [0-9.]+ KiB, from the index: allow\? \[y/N/always\] ")
    p.send("y\r")
    p.expect("It is 1")
    assert result_of(server, 1) == "Code can import sandpail 1.1, bucket-list 2.0 now." and result_of(server, 2) == "1.1 2.0"
    ask(p, "and these?", "It is 1")                         # a refusal is no question to the user, and neither is what is there
    assert "1 day old" in result_of(server, 4) and "can import bucket-list 2.0" in result_of(server, 5), server.requests[5].body
    p.send("others?\r")
    p.expect(r"other 1\.0, .*allow\? \[y/N/always\] ")
    p.send("\r")
    p.expect("It is 1")
    assert "allow?" not in p.before, p.before               # once a question
    assert [result_of(server, n) for n in (7, 8)] == ["the user did not allow it"] * 2
    p.expect("> ")
    p.send("again?\r")
    p.expect("allow")
    p.send("always\r")
    p.expect("It is 1")
    assert "can import third 1.0" in result_of(server, 10)
    leave(p)
    assert all(offers(r) == ["execute_python", "install_packages"] for r in server.requests)
    assert "Others can be had with install_packages." in server.requests[0].body["messages"][0]["content"]


@needs_uv
def test_the_model_gets_none_in_a_script_unless_that_is_allowed(program, index, serve):
    missing = {"answer": {"calls": [{"code": "import sandpail"}]}}
    server = serve(program, [wants("sandpail"), DONE, missing, wants("sandpail"), CALL, DONE])
    r = program.run("which?", env=env(index))
    assert r.code == 0 and not index.asked and offers(server.requests[0]) == ["execute_python"], r
    assert result_of(server, 1) == "unknown tool install_packages; the only tool is execute_python"
    assert "Nothing else can be installed." in server.requests[0].body["messages"][0]["content"]
    r = program.run("--json", "--allow-install", "which?", env=env(index))
    assert r.code == 0 and "install_packages can add the package" in result_of(server, 3) and result_of(server, 5) == "1.1", r
    assert [e["code"] for e in map(json.loads, r.out.splitlines()) if e["type"] == "tool_call"][1] == "sandpail", r


@needs_uv
def test_never_means_never_and_an_interrupt_ends_the_question(program, index, serve):
    server = serve(program, [DONE, wants("sandpail"), DONE], complete=False)
    program.configure("allow_install: false\n")
    p = start(program, env=env(index))
    ask(p, "which?", "It is 1")
    leave(p)
    assert offers(server.requests[0]) == ["execute_python"]
    program.configure("")
    p = start(program, env=env(index))
    p.send("which?\r")
    p.expect("allow")
    p.send("\x03")
    p.expect("Stopped")
    ask(p, "/run 1 + 1", "2")
    leave(p)
    assert len(server.requests) == 2


@pytest.fixture
def server_of(program, index):
    """server_of(option...): a server whose sandboxes get packages from the index."""
    yield from servers(program, env=env(index))


@needs_uv
def test_a_client_of_a_server_adds_what_is_allowed(server_of, index):
    index.add("large", files={"large/__init__.py": "x = 1\n", "large/data.bin": bytes(90 << 20)})
    server = server_of("--allow-packages", "Bucket_List,large", "--allow-packages", "sandpail", "--pool", "1")
    made = server.ask("/create_sandbox", {"with": ["bucket-list>=2"]})
    assert made["info"]["packages"].startswith("bucket-list 2.0, "), made
    box = {"sandbox_id": made["sandbox_id"]}
    assert server.ask("/run_code", dict(box, code="x = 42; import bucket_list, sandpail; sandpail.__version__"))["value"] == "'1.1'"
    added = server.ask("/add_packages", dict(box, **{"with": ["large"]}))
    assert added["info"]["packages"].startswith("bucket-list 2.0, large 1.0, "), added
    assert server.ask("/run_code", dict(box, code="import large; large.x + x"))["value"] == "43"       # into the sandbox that runs
    again = server.ask("/create_sandbox", {"conversation_id": "c", "with": ["sandpail<1.1"]})["sandbox_id"]
    assert server.ask("/create_sandbox", {"conversation_id": "c", "with": ["sandpail<1.1"]})["sandbox_id"] == again
    n = len(server.ask("/list_sandboxes", {})["sandboxes"])
    for names, status, said in [(["other"], 403, "other is not among the packages that this server allows"), (["sandpail==9"], 422, "no version of sandpail==9"),
                                (["sandpail @ http://127.0.0.1:9/x.whl"], 422, "packages have a name here"), ([], 422, "with"), (["--index-url=x"], 422, "an option"),
                                ("sandpail", 422, "with"), (["sandpail,other"], 403, "other is not among")]:
        r = server.open("/create_sandbox", {"with": names})
        text = r.read().decode()
        assert r.status == status and said in text, (names, r.status, text)
    assert len(server.ask("/list_sandboxes", {})["sandboxes"]) == n      # who was refused has left none behind
    assert "other" not in "".join(index.asked), index.asked


@needs_uv
def test_a_server_adds_none_by_itself(server_of, index, program):
    r = server_of().open("/create_sandbox", {"with": ["sandpail"]})
    assert r.status == 403 and b"this server adds no packages" in r.read() and not index.asked
    mcp = Mcp(program, env=env(index))
    assert "add_packages" not in [t["name"] for t in mcp.ask("tools/list")["result"]["tools"]]
    mcp.close()
    mcp = Mcp(program, "--allow-packages", "sandpail,bucket-list", env=env(index))
    tool = [t for t in mcp.ask("tools/list")["result"]["tools"] if t["name"] == "add_packages"]
    assert "They are: sandpail,bucket-list" in tool[0]["description"], tool
    assert mcp.call("add_packages", **{"with": ["bucket-list"]})["structuredContent"]["packages"].startswith("bucket-list 2.0")
    assert mcp.code("__import__('sandpail').__version__")["structuredContent"]["value"] == "'1.1'"
    mcp.close()
    for front in "serve", "mcp":
        r = program.run(front, "--allow-packages", "sandpail>=1", stdin="")
        assert r.code == 2 and "expected a name alone" in r.err, r
