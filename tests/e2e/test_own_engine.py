"""test_own_engine.py - engines that the user writes into config.yaml: bwrap behind a shell, bwrap on another machine (a real sshd on
loopback), a command that builds no walls, and commands that speak no protocol at all. What works anywhere works there; doctor says what it found."""
import json
import os
import time

import pytest

import ssh_server
from conftest import make_sandpiper, need_engine
from probes import session
from chat_keys import ask, leave, start
from mcp_stdio import Mcp, text
from serve_raw import Server
from test_interrupts import one_shot

BWRAP = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup", "--uid", "1000", "--gid", "1000",
         "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
         "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--size", "{tmp_size}", "--tmpfs", "/tmp", "--dir", "/mnt",
         "--size", "{data_size}", "--perms", "0700", "--tmpfs", "/mnt/data", "--remount-ro", "/", "--chdir", "/", "--hostname", "{name}", "--clearenv"]
# An ordinary user, as whoever has such an engine: bwrap of root would leave the code root outside.
ORDINARY = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"] if os.geteuid() == 0 else []
BOX = ["bwrap", *BWRAP, "/usr/bin/python3", "{python}"]
HERE = [*ORDINARY, *BOX]
SHELL = ["sh", "-c", "exec " + " ".join(HERE)]
BARE = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/mnt", "--dir", "/mnt/data", "/usr/bin/python3", "{python}"]


def use(program, start, name="gpubox", more=""):
    program.configure("engines:\n  %s:\n    start: %s\n%s" % (name, json.dumps(start), more))
    program.engine = name


@pytest.fixture
def own():
    """The program with an engine of the user's own: bwrap behind a shell."""
    need_engine("bwrap")
    for s in make_sandpiper("bwrap"):
        use(s, SHELL)
        yield s


@pytest.fixture(scope="module")
def sshd():
    with ssh_server.running() as config:
        yield ["ssh", "-F", config, "gpubox"]


def marked(text):
    """Processes with that in their words, of any user."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                found += [int(pid)] if text.encode() in f.read() else []
        except OSError:
            pass
    return found


def gone(text, seconds=60):
    deadline = time.monotonic() + seconds
    while marked(text):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture(params=["shell", "sshd"])
def place(request, own):
    """The same walls behind a shell here, and behind ssh."""
    if request.param == "sshd":
        use(own, request.getfixturevalue("sshd") + BOX)
    return own


# ------------------------------------------------------------------------------------------------------- what works anywhere

def test_files_and_streams(place):
    data = place.write("in.csv", "a,b\n1,2\n")
    code = "import sys, os\nt = open('in.csv').read()\nopen('out.txt', 'w').write(t * 2)\nprint(len(t))\nprint('err', file=sys.stderr)\nos.getcwd()"
    r = place.run("exec", "--add", data, "--out", place.path("work/out"), "-c", code)
    assert r.code == 0 and r.out.startswith("8\n") and "err" in r.err, r
    with open(place.path("work/out/out.txt")) as f:
        assert f.read() == "a,b\n1,2\n" * 2
    r = place.run("exec", "-c", "import os, sys\nprint(os.environ['MPLBACKEND'], os.environ['HOME'], hasattr(sys, 'ps1'), sys.argv)", "a b")
    assert r.code == 0 and r.out == "Agg /mnt/data False ['-c', 'a b']\n", r


@pytest.mark.slow(5)
def test_cells_snapshots_and_deaths(place):
    codes = ["import os, signal\nx = [0]", "x.append(1)\nos.kill(os.getpid(), signal.SIGKILL)", "x", "while True: pass", "x", "1 / 0",
             "y = bytearray(200 << 20)\nlen(y)", "z = bytearray(200 << 20)", "x"]
    cells, r, refused = session.play(place, codes)
    assert len(cells) == len(codes) and not refused, (r, refused)
    assert [c.status for c in cells] == ["ok", "died", "ok", "timeout", "ok", "exception", "ok", "exception", "ok"], cells
    assert cells[1].state_restored and cells[2].value == "[0]", cells
    assert "MemoryError" in cells[7].error and cells[8].value == "[0]", cells


def test_limits_from_inside(place):
    code = ("import os, resource\nprint([resource.getrlimit(w)[0] for w in (resource.RLIMIT_NOFILE, resource.RLIMIT_DATA)])\nn = 0\n"
            "try:\n    while n < 500:\n        if os.fork() == 0:\n            import time; time.sleep(20); os._exit(0)\n        n += 1\nexcept OSError as e: print(type(e).__name__, 20 < n < 60)")
    r = place.run("exec", "--pids", "40", "--memory", "256m", "-c", code)
    assert r.code == 0 and r.out == "[256, %d]\nBlockingIOError True\n" % (256 << 20), r
    r = place.run("exec", "--cpus", "0.5", "-c", "1")
    assert r.code == 125 and "gpubox: cannot enforce --cpus here (its start has no {memory} and no {cpus}" in r.err, r


def test_interrupts(place, serve):
    serve(place, [{"answer": {"calls": [{"code": "x = 5\nprint('on' + 'ward', flush=True)\nwhile True: pass"}]}},
                  {"answer": {"calls": [{"code": "x * 2"}]}}, {"answer": {"text": "It is ten."}}])
    p = start(place)
    p.send("loop\r")
    p.expect("onward")
    p.sendintr()
    p.expect("> ")
    ask(p, "and now?", "It is ten.")
    leave(p)
    p = one_shot(place, "exec", "-c", "print('on' + 'ward', flush=True)\nwhile True: pass")
    p.expect("onward")
    p.sendintr()
    p.wait()
    assert p.exitstatus == 130


def test_nothing_outlives_the_program(place):
    """Killed, with its keeper at its side: the far end sees the end of its stdin."""
    mark = "told_memory=%d" % (333 << 20)
    p = place.start("exec", "--memory", "333m", "-c", "import subprocess\nprint('up', flush=True)\nsubprocess.run(['sleep', '300'])")
    assert p.stdout.readline() == b"up\n"
    assert marked(mark)
    p.kill()
    p.wait()
    assert gone(mark), marked(mark)
    r = place.run("exec", "--memory", "333m", "-c", "print(1)")
    assert r.code == 0 and gone(mark, 2), r


def test_serve(place):
    """Many sandboxes of such an engine: state, files, an end by the client, by time, and by the death of the server."""
    mark = "told_memory=%d" % (334 << 20)
    s = Server(place, "--memory", "334m", "--pool", "2", "--ttl", "2s")
    boxes = [s.good("/create_sandbox")["sandbox_id"] for _ in range(3)]
    for i, box in enumerate(boxes):
        made = s.good("/run_code", sandbox_id=box, code="x = %d\nopen('made.txt', 'w').write('of %d')" % (i, i))
        assert [f["name"] for f in made["files"]] == ["made.txt"], made
    assert [s.good("/run_code", sandbox_id=box, code="x")["value"] for box in boxes] == ["0", "1", "2"]
    assert s.good("/get_sandbox_info", sandbox_id=boxes[0])["info"]["engine"] == "gpubox"
    s.good("/stop_sandbox", sandbox_id=boxes[0])
    s.refused(410, "SANDBOX_EXPIRED", "/run_code", sandbox_id=boxes[0], code="1")
    time.sleep(3)
    s.refused(410, "SANDBOX_EXPIRED", "/run_code", sandbox_id=boxes[1], code="1")
    s.good("/create_sandbox")
    assert marked(mark)
    s.process.kill()
    s.process.wait()
    assert gone(mark), marked(mark)


def test_mcp(place):
    mark = "told_memory=%d" % (335 << 20)
    m = Mcp(place, "--memory", "335m", modern=True)
    assert text(m.code("print('out')\nx = 41\nx + 1")).startswith("out\n42")
    assert text(m.code("x")) == "41"
    assert "other" not in text(m.code("'x' in dir()", sandbox="other"))
    assert m.close()[0] == 0 and gone(mark), marked(mark)


def test_who_is_told_of_limits_that_it_does_not_hold(own):
    """Whoever runs the server, once; neither the model nor the program that asks."""
    words = "its start has no {memory} and no {cpus}"
    m = Mcp(own)
    first = m.code("6 * 7")
    assert text(first) == "42" and words not in json.dumps(first), first
    code, said = m.close()
    assert code == 0 and said.count("sandpiper: gpubox: " + words) == 1, said
    s = Server(own)
    for _ in range(2):
        made = s.good("/create_sandbox")
        ran = s.good("/run_code", sandbox_id=made["sandbox_id"], code="1")
        assert made["notices"] == ran["notices"] == [], (made, ran)
    s.process.terminate()
    assert s.process.stderr.read().decode().count(words) == 1 and s.process.wait() == 0



def test_what_was_learnt_is_kept_for_these_words_alone(own, serve):
    assert own.run("exec", "-c", "pass").code == 0
    with open(own.path("cache/sandpiper/engine")) as f:
        kept = json.load(f)
    assert [e["engine"] for e in kept] == ["gpubox"], kept
    use(own, ["env", "A=b", *HERE])
    assert own.run("exec", "-c", "pass").code == 0
    with open(own.path("cache/sandpiper/engine")) as f:
        again = json.load(f)
    assert [e["engine"] for e in again] == ["gpubox"] and again[0]["client"] != kept[0]["client"], (kept, again)


def test_a_missing_client(own):
    use(own, ["no-such-client", "{python}"])
    r = own.run("exec", "-c", "1")
    assert r.code == 125 and "gpubox: program not found: no-such-client" in r.err, r


# --------------------------------------------------------------------------------------------------------------- what doctor says

def doctor(program, name="gpubox", **kw):
    return program.run("doctor", "--offline", "-v", "--sandbox", name, **kw)


def test_doctor_sees_walls(place):
    r = doctor(place)
    assert r.code == 0 and "gpubox      ok    Python 3." in r.out and "open: " not in r.out, r
    for words in ("no network", "not root", "no folder on a disk can be written to", "its own processes", "memory 1 GiB per process",
                  "256 MiB in /mnt/data"):
        assert words in r.out, (words, r)
    for words in ("weaker: no filter of system calls", "weaker: CPU time: no limit was seen from inside"):
        assert words in r.out, (words, r)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give it away")
def test_doctor_sees_root_outside(own):
    """Not root inside, and uid 0 outside all the same: no limit of processes holds."""
    use(own, BOX)
    r = doctor(own)
    assert r.code == 3 and "open: it runs as root of the machine" in r.out, r


@pytest.mark.slow(3)
def test_doctor_sees_what_is_open(own):
    """It is called a sandbox and is none."""
    use(own, BARE, "fortress")
    r = doctor(own, "fortress")
    assert r.code == 3 and "fortress    no    runs code, but its isolation could not be confirmed: Python 3." in r.out, r
    for words in ("network", "can write to the disk: /", "shares the processes of the machine"):
        assert any("open: " in line and words in line for line in r.out.splitlines()), (words, r)
    assert ("it runs as root" in r.out) == (os.geteuid() == 0), r
    r = own.run("doctor", "--offline", "--sandbox", "auto")
    assert "\nfortress    no    runs code" in r.out, r
    assert own.run("exec", "-c", "print(6 * 7)").out == "42\n"       # who names it gets it


HOLES = [
    ([], "--unshare-net", "network"),
    (["--bind", "/var/tmp", "/opt"], None, "can write to the disk: /opt"),
    (["--bind", "/var/tmp", "/f\u00fcr alle"], None, "can write to the disk: /f\u00fcr alle"),
    (["--ro-bind", "/etc", "/root"], None, "can read home folders: /root"),
    (["--uid", "0"], None, "it runs as root"),
    ([], "--unshare-pid", "shares the processes of the machine"),
]


@pytest.mark.parametrize("more, less, words", HOLES, ids=[w for _, _, w in HOLES])
def test_one_hole(own, more, less, words):
    at = HERE.index("--proc")
    use(own, [w for w in HERE[:at] + more + HERE[at:] if w != less])
    r = doctor(own)
    holes = [line for line in r.out.splitlines() if line.startswith("                  open: ")]
    assert r.code == 3 and len(holes) == 1 and words in holes[0], r


def test_auto_never_takes_it(own):
    own.engine = "auto"
    r = own.run("exec", "-c", "1", env={"PATH": own.work}, timeout=60)
    assert r.code == 125 and "gpubox" not in r.err, r


SAYS = [
    ("nothing, and ends", "exit 3", "gpubox: "),
    ("why it failed", "echo 'no such host: gpubox' >&2; exit 255", "gpubox: no such host: gpubox"),
    ("garbage", "while :; do echo 'Welcome to gpubox! You have new mail. '; done 2>/dev/null", "gpubox: the supervisor did not start"),
    ("a greeting before", "echo Welcome; exec " + " ".join(HERE), "gpubox: the supervisor did not start"),
    ("a line with a carriage return, as ssh does", "printf '\\r\\nssh: connection refused\\r\\n' >&2; exit 255", "gpubox: ssh: connection refused\n"),
    ("control characters", "printf '\\033[31mred\\033[0m\\n' >&2; exit 1", "gpubox: red"),
    ("that there is no Python", "exec no-such-python {python}", "no-such-python"),
    ("that there is no data folder", "exec " + " ".join(HERE).replace("/mnt/data", "/mnt/other"), "there is no /mnt/data inside"),
]


@pytest.mark.parametrize("what, script, words", SAYS, ids=[s[0] for s in SAYS])
def test_one_that_says(own, what, script, words):
    use(own, ["sh", "-c", script, "{python}"])
    r = own.run("exec", "-c", "1")
    assert r.code == 125 and words in r.err and "\033" not in r.err and r.seconds < 15, r
    assert len(r.err.splitlines()) == 2, r
    r = doctor(own)
    assert r.code == 3 and "gpubox      no    " in r.out and "; " in r.out, r


@pytest.mark.slow(20)
@pytest.mark.parametrize("script, why", [("trap '' TERM HUP; cat >/dev/null; while :; do sleep 1; done", "no greeting within 20 s"),
                                         ("trap '' TERM HUP; exec 0<&-; while :; do sleep 1; done", "the channel to the sandbox was closed)")], ids=["reads and is silent", "hangs up and stays"])
def test_one_that_hangs(own, script, why):
    use(own, ["sh", "-c", script, "{python}", own.dir])
    r = own.run("exec", "-c", "1", timeout=40)
    assert r.code == 125 and "gpubox: the supervisor did not start (%s" % why in r.err, r
    assert gone(own.dir, 10), marked(own.dir)


# -------------------------------------------------------------------------------------------------------------- what is refused

def test_a_name_cannot_be_kept(own):
    for args in (("exec", "--sandbox-name", "mine", "-c", "1"), ("exec", "--dry-run", "--sandbox-name", "mine"), ("q", "--sandbox-name", "mine")):
        r = own.run(*args, env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "SANDPIPER_MODEL": "m"})
        assert r.code == (125 if args[0] == "exec" else 2) and r.err == "sandpiper: gpubox cannot keep a sandbox: --sandbox-name needs docker, podman or bwrap\n", r


def test_an_unknown_engine_names_those_that_exist(own):
    r = own.run("exec", "--sandbox", "gpubux", "-c", "1")
    assert r.code == 125 and r.err == 'sandpiper: --sandbox: expected one of auto|docker|podman|bwrap|ssh|slurm|apptainer|kubernetes|gpubox, found "gpubux"\n', r
    own.write(".env", "SANDPIPER_SANDBOX=other\n")
    r = own.run("exec", "-c", "print(1)")
    assert r.code == 0 and r.out == "1\n" and "SANDPIPER_SANDBOX" in r.err, r


def test_no_image_and_no_runtime(own):
    for option in ("image", "runtime"):
        r = own.run("exec", "--" + option, "x", "-c", "1")
        assert r.code == 125 and "gpubox has no %ss" % option in r.err, r


BAD = [
    ("engines: [a]\n", "1: engines: expected a map"),
    ("engines:\n  a: x\n", "2: "),
    ("engines:\n  a:\n    stop: x\n", "3: unknown key stop"),
    ("engines:\n  a: {}\n", "2: engines: a: start is missing"),
    ("engines:\n  Big:\n    start: x {python}\n", "2: engines: expected a name"),
    ("engines:\n  docker:\n    start: x {python}\n", "2: engines: docker is built in"),
    ("engines:\n  a:\n    start: [x, y]\n", '3: start: expected "{python}"'),
    ("engines:\n  a:\n    start: x {python} {memry}\n", "3: start: unknown placeholder {memry}; expected one of python|inside|name|memory"),
    ("engines:\n  a:\n    start: ['{python}']\n", "3: start: expected a program"),
    ("engines:\n  a:\n    start: ./x {python}\n", "3: start: expected a program"),        # the client runs in /
    ("engines:\n  a:\n    start: ~/x {python}\n", "3: start: expected a program"),
    ("engines:\n  a:\n    start: [x, [y]]\n", "3: start: expected a command"),
    ("engines:\n  a:\n    start: [%s]\n" % ", ".join(["x"] * 300), "3: start: at most 256 words, found 300"),
    ("engines:\n" + "".join("  e%d:\n    start: x {python}\n" % i for i in range(17)), "34: engines: at most 16"),
]


@pytest.mark.parametrize("text, words", BAD, ids=[w for _, w in BAD])
def test_bad_definitions(own, text, words):
    own.configure(text)
    r = own.run("config", env={"SANDPIPER_SANDBOX": None})
    assert r.code == 2 and "config.yaml:" + words in r.err and len(r.err.splitlines()) == 1, r


def test_what_is_shown(own):
    r = own.run("exec", "--dry-run", "--memory", "300m")
    words = r.out.split()
    assert r.code == 0 and words[1] == "-c" and "-I -S -u -i -q - stdio" in r.out and "told_memory=%d" % (300 << 20) in r.out, r
    assert "{" not in r.out and "--size %d" % (150 << 20) in r.out, r
    use(own, ["gpu", "a b", "{name}", "{memory}/{cpus}/{pids}", "{data_size}", "{tmp_size}", "python3", "{python}", "{other"])
    r = own.run("exec", "--dry-run", "--memory", "300m", "--cpus", "1.5", "--pids", "50")
    assert r.code == 0 and r.out.startswith("gpu 'a b' sandpiper-ID 314572800/1.5/50 157286400 39321600 python3 -I -S"), r
    assert " 'nproc=0' " in r.out and " 'heap=0' " in r.out, r          # the engine was told to hold them
    r = own.run("config")
    assert r.code == 0 and '  gpubox: {"start":["gpu","a b","{name}"' in r.out and "config.yaml:2" in r.out, r


def test_the_example_of_the_manual(own):
    """As it stands there, but for the machine."""
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "sandpiper-config.5")) as f:
        text = f.read()
    begin = text.index("\nengines:\n", text.index(".Sh ENGINES OF YOUR OWN"))
    text = text[begin:text.index("]\n", begin) + 2]
    assert "    start: [ssh, gpubox, bwrap, " in text
    own.configure(text.replace("[ssh, gpubox, ", "[" + "".join(json.dumps(w) + ", " for w in ORDINARY)))
    r = doctor(own)
    assert r.code == 0 and "gpubox      ok" in r.out, (text, r)


def test_completion(own):
    r = own.run("debug", "complete", "--sandbox", "g")
    assert r.out == "gpubox\n", r
