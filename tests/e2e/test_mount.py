"""test_mount.py - --mount DIR[:rw]: folders of this machine in the sandbox, on every engine and as ordinary users: what code can do with them, which
folders are refused and why, and a folder that is replaced between the check and the start. What hostile code tries in one is tests/probes/mounts.py."""
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import rootless
from chat_keys import leave, start
from conftest import BWRAP_USER, PLACES, make_sandpiper, need_engine
from program import AS_USER
from named_sandboxes import end_all, run as run_named

ROOT = os.geteuid() == 0
SAME_USER = (BWRAP_USER,) if ROOT else ("bwrap",)       # where code has the uid of whoever started it

LOOK = """
import os
top = '/mnt/host/shared'
print(sorted(os.listdir('/mnt/host')), open(top + '/a.csv').read().strip(), sorted(os.listdir(top + '/sub')))
for name in ('out', 'abs', 'up'):
    print(name, os.path.exists(top + '/' + name))
def tried(what):
    try:
        what()
        return 'done'
    except OSError as e:
        return os.strerror(e.errno)
print(*{tried(what) for what in (lambda: open(top + '/new', 'w'), lambda: os.unlink(top + '/a.csv'), lambda: os.chmod(top + '/a.csv', 0o777),
      lambda: os.mkdir(top + '/d'), lambda: os.utime(top + '/a.csv'), lambda: open(top + '/a.csv', 'r+'))}, sep='; ')
"""


@pytest.fixture(params=PLACES)
def there(request):
    need_engine(request.param)
    yield from make_sandpiper(request.param)


def folder(s, name, mode=0o755, **files):
    """A folder in the working directory, open to all."""
    path = os.path.join(s.work, name)
    os.makedirs(path + "/sub", exist_ok=True)
    files.setdefault("a_csv", "x,y\n1,2\n")
    for file, text in files.items():
        with open(os.path.join(path, file.replace("_", ".")), "w") as f:
            f.write(text)
    os.chmod(path, mode)
    if s.uid != os.geteuid():
        rootless.own(s.work, s.uid)
    return path


def test_what_code_sees(there):
    """It reads, changes nothing, and every link that leads out of the folder leads into the sandbox."""
    path = folder(there, "shared")
    secret = there.write("secret.txt", "canary\n")
    for name, target in (("out", "../secret.txt"), ("abs", secret), ("up", "../../../../../../../.." + secret)):
        os.symlink(target, os.path.join(path, name))
    r = there.run("exec", "--mount", "shared", "-c", LOOK)
    *seen, how = r.out.splitlines()
    assert r.code == 0 and seen == ["['shared'] x,y", "1,2 []", "out False", "abs False", "up False"], r
    assert "Read-only file system" in how and "done" not in how and (there.place not in SAME_USER or how == "Read-only file system"), r
    assert "%s is /mnt/host/shared in the sandbox (read-only)\n" % path in r.err, r
    assert sorted(os.listdir(path)) == ["a.csv", "abs", "out", "sub", "up"]


def test_flags_of_the_mount(there):
    folder(there, "shared")
    folder(there, "made")
    code = "for l in open('/proc/self/mountinfo'):\n    if '/mnt/host/' in l: print(l.split()[4], l.split()[5])"
    r = there.run("exec", "--mount", "shared", "--mount", "made:rw", "-c", code)
    flags = {line.split()[0]: set(line.split()[1].split(",")) for line in r.out.splitlines()}
    assert "ro" in flags["/mnt/host/shared"] and "rw" in flags["/mnt/host/made"], r
    for one in flags.values():                  # docker has no option for these; there no-new-privileges and the device list do the same
        assert there.engine == "docker" or {"nosuid", "nodev"} <= one, r


def test_rw_makes_files_here(there):
    """And what the code, which has a uid of its own, cannot do is told beforehand."""
    path = folder(there, "made")
    write = "open('/mnt/host/made/new.txt', 'w').write('hello')"
    r = there.run("exec", "--mount", "made:rw", "-c", write)
    if there.place in SAME_USER:
        st = os.lstat(path + "/new.txt")
        assert r.code == 0 and st.st_uid == there.uid and open(path + "/new.txt").read() == "hello" and "code can change it" in r.err, r
        return
    assert r.code == 1 and "PermissionError" in r.err, r
    said = re.findall("made: code runs as another user here, and cannot make or change files in the folder; allow it [(](.*?)[)]", r.err)
    assert len(said) == 1, r
    subprocess.run([*said[0].split(), path], check=True)       # what is said is enough
    r = there.run("exec", "--mount", "made:rw", "-c", write + "\nopen('/mnt/host/made/a.csv', 'a').write('3,4')")
    assert r.code == 0 and open(path + "/a.csv").read() == "x,y\n1,2\n3,4", r
    assert r.code == 0 and "another user" not in r.err and open(path + "/new.txt").read() == "hello", r
    assert os.lstat(path + "/new.txt").st_uid not in (0, there.uid), r


def test_what_is_closed_to_other_users_is_told(there):
    path = folder(there, "shared", mine_txt="x")
    os.chmod(path + "/mine.txt", 0o600)
    r = there.run("exec", "--mount", "shared", "-c", "print(open('/mnt/host/shared/mine.txt').read())")
    os.chmod(path, 0o700)
    closed = there.run("exec", "--mount", "shared", "-c", "import os; print(os.listdir('/mnt/host/shared'))")
    if there.place in SAME_USER:
        assert (r.code, r.out, closed.code) == (0, "x\n", 0) and "another user" not in r.err + closed.err, (r, closed)
    else:
        assert r.code == 1 and "cannot read mine.txt; allow it (chmod -R o+rX)" in r.err, r
        assert closed.code == 1 and "cannot read the folder; allow it (chmod o+rx)" in closed.err, closed


NAMES = ["a b", "c,d", 'e"f', "g:h", "g:rw", "-rf", "ä", "k=l", "m'n", "$(o)", ".p", "data", "host", "%s%n", "\u202eq"]


def test_names_of_folders(sandpiper_on):
    """None of them is another word of the engine's command line."""
    words = []
    for name in NAMES:
        os.makedirs(os.path.join(sandpiper_on.work, name))
        with open(os.path.join(sandpiper_on.work, name, "f"), "w") as f:
            f.write(name)
        words += ["--mount", "./" + name + ":ro"]
    code = "import os\nprint(sorted(ascii(open('/mnt/host/%s/f' % n).read()) for n in os.listdir('/mnt/host')))\nprint(sorted(os.listdir('/mnt/host')))"
    r = sandpiper_on.run("exec", *words, "-c", code)
    assert r.code == 0, r
    seen, names = [eval(line) for line in r.out.splitlines()]
    assert seen == sorted(ascii(n) for n in NAMES) and all(re.fullmatch(r"[-A-Za-z0-9._ä]+", n) for n in names), r
    assert "\u202e" not in "".join(names)


# ---------------------------------------------------------------------------------------------------------------- refused

def make_socket(path):
    s = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        s.bind(os.path.basename(path))
    finally:
        os.chdir(here)
        s.close()


def text_file(text):
    def make(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
    return make


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n"
HOLDS = [("s", make_socket, "a socket"), ("deep/er/agent.1", lambda p: (os.makedirs(os.path.dirname(p)), make_socket(p)), "a socket"),
         ("pipe", os.mkfifo, "a pipe"), (".env", text_file(""), "may hold keys"), ("app/.env.production", text_file("A=1"), "may hold keys"),
         ("id_ed25519", text_file(KEY), "a private key"), ("server.pem", text_file("-----BEGIN CERTIFICATE-----\n" + KEY), "a private key"),
         ("Server.KEY", text_file(KEY), "a private key"), (".netrc", text_file(""), "passwords"), (".git-credentials", text_file(""), "passwords"),
         ("aws/credentials", text_file("[default]"), "keys"), ("kubeconfig", text_file(""), "keys"), ("gcp.json", text_file('{"private_key": "x"}'), "a private key"),
         ("x/.ssh", os.makedirs, "keys"), (".npmrc", text_file("//r/:_authToken=x"), "a token"), (".docker/config.json", text_file('{"auths": {}}'), "passwords")]
HARMLESS = [("id_ed25519.pub", "ssh-ed25519 A"), ("ca.pem", "-----BEGIN CERTIFICATE-----"), (".env.example", "A="), ("id_numbers.csv", "1,2"),
            ("piano.key", "A minor"), ("config.json", "{}"), ("x.json", "{}")]


def refused(s, *words):
    r = s.run("exec", *words, "-c", "print('ran')")
    assert r.code == 125 and r.out == "" and 1 <= len(r.err.splitlines()) <= 2, r
    return r.err


@pytest.mark.parametrize("name, make, what", HOLDS, ids=[h[0] for h in HOLDS])
def test_what_holds_a_key_or_a_socket_is_refused(sandpiper, name, make, what):
    path = folder(sandpiper, "shared")
    make(os.path.join(path, name))
    said = refused(sandpiper, "--mount", "shared")
    assert "--mount shared: it holds %s" % name.split("/.ssh")[0] in said and what in said and "--add" in said, said


def test_what_only_looks_like_one_is_not(sandpiper):
    path = folder(sandpiper, "shared")
    for name, text in HARMLESS:
        text_file(text)(os.path.join(path, name))
    os.symlink("/etc/shadow", path + "/id_rsa")         # leads nowhere inside
    r = sandpiper.run("exec", "--mount", "shared", "-c", "print('ran')")
    assert r.code == 0 and r.out == "ran\n", r


@pytest.mark.slow(10)
def test_what_is_not_searched_is_told(sandpiper):
    """Of so many files that may hold a key, not all are read; one that is found by its name alone is refused all the same."""
    path = folder(sandpiper, "shared")
    for i in range(5001):
        with open("%s/%d.json" % (path, i), "w"):
            pass
    r = sandpiper.run("exec", "--mount", "shared", "-c", "print('ran')")
    assert r.code == 0 and re.search(r"shared: only 5\d{3} of its entries were searched for keys and sockets", r.err), r
    text_file("")(path + "/sub/.env")
    assert "it holds sub/.env" in refused(sandpiper, "--mount", "shared")


@pytest.mark.skipif(not ROOT, reason="only root makes devices")
def test_a_device_is_refused(sandpiper):
    path = folder(sandpiper, "shared")
    os.mknod(path + "/disk", 0o600 | 0o020000, os.makedev(1, 3))
    assert "it holds disk, a device" in refused(sandpiper, "--mount", "shared")


@pytest.mark.parametrize("where, why", [
    ("/", "contains the home folder"), ("~", "the home folder"), ("~/..", "contains the home folder"), ("/tmp", "contains the home folder"), ("/etc", "/etc is a system folder"),
    ("/etc/ssl/certs", "/etc is a system folder"), ("/usr/share", "/usr is a system folder"), ("/proc/self", "/proc is a system folder"), ("/dev/shm", "/dev is a system folder"),
    ("/var/log", "/var/log is a system folder"), ("/run", "/run is a system folder"), ("~/.ssh", "keeps keys"), ("~/.ssh/sub", "keeps keys"),
    ("~/.config", "keeps keys"), ("gone", "No such file"), ("file", "Not a directory"), ("{config}/sandpiper", "sandpiper's own folder"),
    ("{run}", "sandpiper's own folder"), ("{state}", "sandpiper's own folder"), ("", "needs a value"), ("new\nline", "control characters")])
def test_where_it_lies(sandpiper, where, why):
    for name in ("home/.ssh/sub", "home/.config/gh", "state/sandpiper", "run/sandpiper", "work/new\nline"):
        os.makedirs(sandpiper.path(name), exist_ok=True)
    sandpiper.write("file", "x")
    where = where.replace("~", sandpiper.path("home")).format(config=sandpiper.path("config"), run=sandpiper.path("run"), state=sandpiper.path("state"))
    for path in {where, where + "/." if where.startswith("/") else where}:
        assert why in refused(sandpiper, "--mount", path), path


def test_links_on_the_way(sandpiper):
    """One's own are followed, to a folder that is checked as any other; another user's are not."""
    folder(sandpiper, "shared")
    os.symlink("shared", sandpiper.path("work/mine"))
    os.symlink("/etc", sandpiper.path("work/system"))
    r = sandpiper.run("exec", "--mount", "mine", "-c", "import os; print(os.listdir('/mnt/host'))")
    assert r.code == 0 and r.out == "['mine']\n" and sandpiper.path("work/shared") + " is /mnt/host/mine" in r.err, r
    assert "/etc is a system folder" in refused(sandpiper, "--mount", "system")
    if ROOT:
        os.symlink("shared", sandpiper.path("work/theirs"))
        os.lchown(sandpiper.path("work/theirs"), 54321, 54321)
        assert "a symbolic link of another user (uid 54321), which is not followed" in refused(sandpiper, "--mount", "theirs")
        os.chown(sandpiper.path("work/shared"), 54321, 54321)
        assert "belongs to another user (uid 54321)" in refused(sandpiper, "--mount", "shared")


@pytest.mark.skipif(not ROOT, reason="only root mounts")
def test_a_mount_in_it_is_refused(sandpiper):
    path = folder(sandpiper, "shared")
    mount = "mount -t tmpfs none %s/sub && touch %s/sub/inner && exec \"$@\"" % (path, path)
    whole = sandpiper.argv(["exec", "--mount", "shared", "-c", "print('ran')"])
    r = subprocess.run(["unshare", "-m", "sh", "-c", mount, "sh", *whole], cwd=sandpiper.work, env=sandpiper.env(), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert r.returncode == 125 and r.stdout == "" and "another file system is mounted in it" in r.stderr, r


@pytest.mark.skipif(not ROOT, reason="only root mounts")
def test_one_below_mnt(sandpiper):
    """Disks are mostly mounted there. The test has a /mnt of its own, in a mount namespace."""
    place = "mount -t tmpfs none /mnt && mkdir /mnt/disk && touch /mnt/disk/inner && exec \"$@\""
    whole = sandpiper.argv(["exec", "--mount", "/mnt/disk", "-c", "import os; print(os.listdir('/mnt/host/disk'))"])
    r = subprocess.run(["unshare", "-m", "sh", "-c", place, "sh", *whole], cwd=sandpiper.work, env=sandpiper.env(), stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=60)
    assert r.returncode == 0 and r.stdout == "['inner']\n", r


def test_unreadable(sandpiper):
    if ROOT:
        need_engine(BWRAP_USER)
    for s in make_sandpiper(BWRAP_USER if ROOT else "bwrap"):
        os.chmod(folder(s, "shared"), 0o300)
        assert "--mount shared: Permission denied" in refused(s, "--mount", "shared")
        os.chmod(s.path("work/shared"), 0o700)


def test_an_engine_of_the_users_own(sandpiper):
    folder(sandpiper, "shared")
    sandpiper.configure("engines:\n  box:\n    start: [python3, '{python}']\n")
    says = "sandpiper: box cannot mount folders: --mount needs docker, podman or bwrap\n"
    assert refused(sandpiper, "--sandbox", "box", "--mount", "shared") == says
    for command in (["mcp"], ["serve"], ["doctor", "--offline"], ["-p", "hi"]):
        r = sandpiper.run(*command, "--sandbox", "box", "--mount", "shared")
        assert r.code == 2 and r.err.endswith(says), r


# ------------------------------------------------------------------------------------------------- replaced behind the check

def swapper(s, how):
    """The engine's client behind a script that does this first, when the folder has been checked and nothing is bound yet."""
    real = shutil.which(s.engine)
    os.makedirs(s.path("bin"))
    verb = '"$*"' if s.engine == "bwrap" else '" $* "'
    with open(s.path("bin/" + s.engine), "w") as f:
        f.write("#!/bin/sh\ncase %s in *--network*|*--unshare-net*) cd %s && { %s; } >/dev/null 2>&1;; esac\nexec %s \"$@\"\n" % (verb, s.work, how, real))
    os.chmod(s.path("bin/" + s.engine), 0o755)
    for path in (s.dir, s.path("bin")):         # bwrap of root is run by a uid that nobody has
        os.chmod(path, 0o755)
    os.chmod(s.work, 0o777)
    return {"PATH": s.path("bin") + ":" + os.environ["PATH"]}


SWAPS = [("another folder", "mv shared kept && mv bad shared"), ("a link", "mv shared kept && ln -s bad shared"),
         ("a link far out", "mv shared kept && ln -s /etc shared"), ("nothing", "mv shared kept"), ("a parent", "mv in kept && mv out in")]


@pytest.mark.parametrize("what, how", SWAPS, ids=[s[0] for s in SWAPS])
def test_replaced_between_check_and_start(there, what, how):
    """No code runs with another folder than the one that was checked: nothing is bound, or the sandbox is ended first."""
    if what == "a parent":
        folder(there, "in/shared")
        folder(there, "out/shared", secret_txt="canary")
    else:
        folder(there, "shared")
        folder(there, "bad", secret_txt="canary")
    path = "in/shared" if what == "a parent" else "shared"
    r = there.run("exec", "--mount", path + ":rw", "-c", "import os; print(os.listdir('/mnt/host/shared'))", env=swapper(there, how))
    assert os.path.exists(there.path("work/kept")), r
    if there.place == "bwrap" and ROOT:             # bound before bwrap is asked for anything
        assert r.code == 0 and "secret" not in r.out and "a.csv" in r.out, r
    else:
        assert r.code == 125 and r.out == "" and re.search("not the one that|cannot mount|was checked|find source path|No such file", r.err), r


RENAME_EXCHANGE = 2


@pytest.mark.slow(3)
@pytest.mark.parametrize("place", ["bwrap", BWRAP_USER])
def test_exchanged_all_the_time(place):
    """Whatever comes of each start, no code sees the folder that is refused."""
    need_engine(place)
    libc = ctypes.CDLL(None, use_errno=True)
    for s in make_sandpiper(place):
        paths = [folder(s, "shared").encode(), folder(s, "bad", env="canary").encode()]
        os.rename(s.path("work/bad/env"), s.path("work/bad/.env"))
        rootless.own(s.dir, s.uid)
        words = s.argv(["exec", "--mount", "shared", "-c", "import os; print(sorted(os.listdir('/mnt/host/shared')))"])
        stop = threading.Event()

        def exchange():
            while not stop.is_set():
                libc.syscall(316, -100, paths[0], -100, paths[1], RENAME_EXCHANGE)
        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            results = [subprocess.run(words, env=s.env(), cwd=s.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      timeout=90, **(AS_USER if place == BWRAP_USER else {})) for _ in range(12)]
        finally:
            stop.set()
            thread.join()
        for r in results:
            assert r.stdout == ("['a.csv', 'sub']\n" if r.returncode == 0 else "") and r.returncode in (0, 125), r
            assert r.returncode == 0 or ".env" in r.stderr or "just now" in r.stderr, r


def test_replaced_while_it_runs(there):
    """Code goes on with the folder that it has; the next start is refused if another has its name."""
    folder(there, "shared")
    code = ("import os, time\nprint('up', flush=True)\nfor i in range(600):\n    if os.path.exists('/mnt/host/shared/go'): break\n    time.sleep(.1)\n"
            "print(sorted(os.listdir('/mnt/host/shared')))")
    p = there.start("exec", "--mount", "shared", "-c", code)
    assert p.stdout.readline() == b"up\n"
    os.rename(there.path("work/shared"), there.path("work/kept"))
    folder(there, "shared", secret_txt="canary")
    with open(there.path("work/kept/go"), "w"):
        pass
    out, _ = p.communicate(timeout=90)
    assert p.returncode == 0 and out == b"['a.csv', 'go', 'sub']\n", out


def box_of(s):
    """The first process of the sandbox that runs, by its record."""
    for name in os.listdir(s.path("run/sandpiper")):
        try:
            with open(s.path("run/sandpiper/%s/record" % name)) as f:
                return int(json.load(f)["inside"].split(":")[1])
        except (OSError, ValueError, KeyError, AttributeError):
            pass
    raise AssertionError("no record")


@pytest.mark.parametrize("replaced", [False, True])
def test_after_the_sandbox_died(sandpiper, serve, replaced):
    """The next one gets the same folder, or none starts."""
    path = folder(sandpiper, "shared")
    look = {"answer": {"calls": [{"code": "open('/mnt/host/shared/a.csv').read()"}]}}

    def kill(request):
        os.kill(box_of(sandpiper), signal.SIGKILL)
        if replaced:
            os.rename(path, path + ".kept")
            folder(sandpiper, "shared", a_csv="canary")
        return {"answer": {"calls": [{"code": "1"}]}}       # whose cell is lost, or the first in a new sandbox
    serve(sandpiper, [look, {"answer": {"text": "One."}}, kill, {"answer": {"text": "Two."}}, look, {"answer": {"text": "Three."}}], complete=not replaced)
    r = sandpiper.run("--json", "--mount", "shared", stdin="one?\ntwo?\nthree?\n")
    results = [e for e in map(json.loads, r.out.splitlines()) if e["type"] == "tool_result"]
    assert "canary" not in r.out and "x,y" in results[0]["value"], r
    if replaced:
        assert r.code == 3 and "was replaced after it was checked" in r.out and results[-1]["status"] == "not_run", (r, r.out)
    else:
        assert r.code == 0 and "x,y" in results[2]["value"] and len([e for e in r.out.splitlines() if '"type":"sandbox"' in e]) == 2, r


# ---------------------------------------------------------------------------------------------------------- who is told what

def test_model_and_user_are_told(sandpiper, serve):
    path = folder(sandpiper, "shared")
    folder(sandpiper, "made")

    def first(request):
        assert "/mnt/host/shared (read-only), /mnt/host/made (can be changed)" in request.messages[0]["content"], request.messages[0]
        assert path not in request.raw.decode()         # where it is here is nobody's business
        return {"answer": {"text": "Fine."}}
    serve(sandpiper, [first, {"answer": {"calls": [{"code": "1"}]}}, {"answer": {"text": "Fine."}}])
    r = sandpiper.run("--mount", "shared", "--mount", "made:rw", "what is there?")
    assert r.code == 0 and "%s is /mnt/host/shared in the sandbox (read-only)" % path in r.err, r
    r = sandpiper.run("--json", "--mount", "shared", "again?")
    box, = [e for e in map(json.loads, r.out.splitlines()) if e["type"] == "sandbox"]
    assert box["mounts"] == [{"path": path, "inside": "/mnt/host/shared", "writable": False}], r


def test_without_it_the_model_hears_nothing(sandpiper, serve):
    def first(request):
        assert "/mnt/host" not in request.raw.decode()
        return {"answer": {"text": "Fine."}}
    serve(sandpiper, [first])
    assert sandpiper.run("hello?").code == 0


def test_greeting_of_the_chat(sandpiper, serve):
    path = folder(sandpiper, "shared")
    serve(sandpiper)
    p = start(sandpiper, "--mount", "shared", size=(30, 200))
    assert "%s is /mnt/host/shared in the sandbox (read-only)." % path in p.before + str(p.after), p.before
    leave(p)


def test_config_dry_run_and_doctor(sandpiper):
    path = folder(sandpiper, "shared")
    os.makedirs(sandpiper.path("home/made"))
    sandpiper.configure("mount: [%s, '~/made:rw']\n" % path)
    r = sandpiper.run("exec", "--dry-run")
    assert r.code == 0 and "--ro-bind %s /mnt/host/shared" % path in r.out and "--bind %s /mnt/host/made" % sandpiper.path("home/made") in r.out, r
    r = sandpiper.run("doctor", "--offline")
    assert r.code == 0 and "mounted: %s is /mnt/host/shared in the sandbox (read-only)" % path in re.sub(r"\n +", " ", r.out), r
    sandpiper.configure("mount: %s\nsandbox: bwrap\n" % sandpiper.path("home"))
    r = sandpiper.run("exec", "-c", "1")
    assert r.code == 125 and "this is the home folder" in r.err, r


# ------------------------------------------------------------------------------------------------------------ named sandboxes

@pytest.fixture
def named(sandpiper_on):
    yield sandpiper_on
    end_all(sandpiper_on)


def test_a_named_sandbox_keeps_its_folders(named):
    path = folder(named, "shared")
    folder(named, "made")
    see = "import os; print(sorted(os.listdir('/mnt/host')))"
    r = run_named(named, see, "--mount", "shared")
    assert r.code == 0 and r.out == "['shared']\n", r
    r = run_named(named, see)                        # asks for none, and is told of those that are there
    assert r.code == 0 and r.out == "['shared']\n" and "%s is /mnt/host/shared in the sandbox (read-only)" % path in r.err, r
    assert run_named(named, see, "--mount", "shared").code == 0
    assert "  %s is /mnt/host/shared in the sandbox (read-only)\n" % path in named.run("ps").out
    (box,) = [json.loads(line) for line in named.run("ps", "--json").out.splitlines()]
    assert box["mounts"] == [{"path": path, "inside": "/mnt/host/shared", "writable": False}]
    for other in (["shared:rw"], ["made"], ["shared", "made"]):
        r = run_named(named, see, *[w for name in other for w in ("--mount", name)])
        assert r.code == 125 and r.out == "" and 'the sandbox "work" has other folders mounted than you asked for: ' + path in r.err, r
    assert named.run("rm", "work").code == 0
    r = run_named(named, "import os; print(os.path.exists('/mnt/host'))")
    assert r.code == 0 and r.out == "False\n", r
