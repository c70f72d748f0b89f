"""test_engines.py - engines that are data: their form in config.yaml, what several sandboxes share (open, state, close), what one needs (before,
after), what their commands may say, and our own part that builds the walls on another machine ({inside}): here, and behind a real sshd."""
import json
import os
import signal
import subprocess
import time

import pytest

import ssh_server
from conftest import make_sandpiper, need_engine
from package_index import packages_are_sent, uv
from probes import session
from test_own_engine import ORDINARY, gone, marked

INSIDE = [*ORDINARY, "{inside}"] if not ORDINARY else ["sh", "-c", "exec %s {inside}" % " ".join(ORDINARY)]


@pytest.fixture
def box(request):
    """The program, for an engine of this form."""
    need_engine("bwrap")
    for s in make_sandpiper("bwrap"):
        s.use = lambda s=s, name="box", **members: (s.configure("engines: %s\n" % json.dumps({name: members})), setattr(s, "engine", name))
        s.log = s.path("work/log")
        yield s


def said(program):
    try:
        with open(program.log) as f:
            return f.read().splitlines()
    except OSError:
        return []


def until(what, seconds=20):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "not within %d s" % seconds
        time.sleep(0.05)


# ------------------------------------------------------------------------------------------------------------------- the form

BAD = [
    ("engines:\n  big: {like: slurn}\n", "2: like: expected one of ssh, slurm, apptainer, kubernetes"),
    ("engines:\n  slurm: {with: {partitoin: x}}\n", "2: with: slurm has no setting partitoin; there are: partition, account"),
    ("engines:\n  ssh: {with: {host: -oProxyCommand=x}}\n", '2: host: expected a word that does not begin with -, found "-oProxyCommand=x"'),
    ("engines:\n  ssh: {with: {host: \"a\\tb\"}}\n", "2: host: a control character"),
    ("engines:\n  ssh: {with: {host: [a, b]}}\n", "2: host: expected a word"),
    ("engines:\n  ssh: {with: x}\n", "2: with: expected a map"),
    ("engines:\n  a: {start: 'x {python}', settings: {name: x}}\n", "2: settings: {name} has a meaning of its own"),
    ("engines:\n  a: {start: 'x {python}', env: ['*']}\n", "2: env: expected the name of a variable"),
    ("engines:\n  a: {start: 'x {python}', env: [A-B]}\n", "2: env: expected the name of a variable"),
    ("engines:\n  a: {start: 'x {python}', queue: soon}\n", "2: queue: expected a time"),
    ("engines:\n  a: {start: 'x {python}', open: 'y {job}'}\n", "2: open: unknown placeholder {job}"),
    ("engines:\n  a: {start: 'x {python}', after: 'rm {memory}'}\n", "2: after: expected {name}"),
    ("engines:\n  a: {start: 'x {python}', before: ./y}\n", "2: before: expected a program"),
    ("engines:\n  a: {start: 'x {python}', failures: x}\n", "2: failures: expected a list"),
    ("engines:\n  a: {start: 'x {python}', failures: [{says: x}]}\n", "2: failures: each needs says and remedy"),
]


@pytest.mark.parametrize("text, words", BAD, ids=[w for _, w in BAD])
def test_bad_forms(box, text, words):
    box.configure(text)
    r = box.run("config", env={"SANDPIPER_SANDBOX": None})
    assert r.code == 2 and "config.yaml:" + words in r.err and len(r.err.splitlines()) == 1, r


def test_what_a_setting_puts_into_a_command(box):
    box.configure("engines:\n  slurm: {with: {partition: big, options: ['--gres=gpu:1', -v]}}\n  more: {like: slurm, with: {time: 2h, program: /opt/sandpiper}}\n")
    box.engine = "slurm"
    r = box.run("exec", "--dry-run", "--memory", "300m", "--cpus", "1.5")
    opens, _, start = r.out.partition("\n")
    assert r.code == 0 and opens.startswith("salloc ") and " '--partition=big' '--gres=gpu:1' -v sh -c " in opens, r
    assert "srun '--jobid={job}'" in start and "'--cpus-per-task=2' '--mem-per-cpu=182M' --exact" in start, r
    r = box.run("exec", "--dry-run", "--sandbox", "more")
    assert r.code == 0 and " /opt/sandpiper inside " in r.out, r
    r = box.run("config")
    assert r.code == 0 and '  slurm: {"with":{"partition":"big","options":["--gres=gpu:1","-v"]}}' in r.out and "  more: {" in r.out, r


def test_one_that_is_not_complete(box):
    box.configure("")
    r = box.run("exec", "--sandbox", "ssh", "-c", "1")
    assert r.code == 125 and "ssh: host is not set\n" in r.err and "engines: {ssh: {with: {host: VALUE}}}" in r.err, r
    r = box.run("exec", "--sandbox", "apptainer", "-c", "1")
    assert r.code == 125 and "apptainer: image is not set\n" in r.err, r
    box.configure("engines: {ssh: {with: {host: h, walls: brick}}}\n")
    r = box.run("exec", "--sandbox", "ssh", "-c", "1")
    assert r.code == 125 and 'ssh: walls: expected one of auto|bwrap|apptainer, found "brick"' in r.err, r


def test_help_and_completion_have_them(box):
    r = box.run("help", "engines")
    assert r.code == 0 and all("\n  %s" % name in r.out for name in ("ssh", "slurm", "apptainer")), r
    assert max(map(len, r.out.splitlines())) < 80, r
    assert box.run("debug", "complete", "--sandbox", "sl").out == "slurm\n"


def test_variables_that_it_wants(box):
    box.use(start=["sh", "-c", "env > %s; exec {inside}" % box.log], env=["BOX_ONE", "BOX_MANY_*"])
    r = box.run("exec", "-c", "1", env={"BOX_ONE": "1", "BOX_ONES": "2", "BOX_MANY_A": "3", "OPENAI_API_KEY": "sk-secret"})
    assert r.code == 0, r
    assert {w for w in said(box) if w.startswith(("BOX", "OPENAI"))} == {"BOX_ONE=1", "BOX_MANY_A=3"}, said(box)


# -------------------------------------------------------------------------------------------------- what several sandboxes share

def share(box, opens="echo 'job=j1'; cat >/dev/null; echo shut >> {log}", start="echo start {job} >> {log}; exec {inside}", **more):
    log = lambda text: text.replace("{log}", box.log)
    box.use(**dict(dict(open=["sh", "-c", log("echo open >> {log}; " + opens)], start=["sh", "-c", log(start)], gives="job"), **more))


def test_it_is_opened_and_shut(box):
    share(box, close=["sh", "-c", "echo close {job} >> %s" % box.log])
    r = box.run("exec", "-c", "print(6 * 7)")
    assert r.code == 0 and r.out == "42\n", r
    until(lambda: "close j1" in said(box))
    assert said(box) == ["open", "start j1", "shut", "close j1"], said(box)
    until(lambda: not os.listdir(box.path("run/sandpiper")))


def test_it_is_shut_when_the_program_is_killed(box):
    share(box)
    p = box.start("exec", "--memory", "334m", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    assert p.stdout.readline() == b"up\n"
    p.kill()
    p.wait()
    until(lambda: "shut" in said(box), 5)
    assert gone("told_memory=%d" % (334 << 20), 5)
    until(lambda: not os.listdir(box.path("run/sandpiper")))


def test_it_is_shut_when_its_own_process_is_killed_too(box):
    """What holds it has its stdin closed in any case."""
    share(box)
    p = box.start("exec", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    assert p.stdout.readline() == b"up\n"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f, open("/proc/%s/environ" % pid) as e:
                if f.read() == "sp-site\n" and box.dir in e.read():
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    p.kill()
    p.wait()
    until(lambda: "shut" in said(box), 10)
    box.run("gc")
    until(lambda: not os.listdir(box.path("run/sandpiper")))


def test_what_it_waits_for_is_shown(box):
    share(box, opens="sleep 4; echo job=j2; cat >/dev/null", state=["echo", "PENDING (Resources) \033[31m"])
    r = box.run("exec", "-c", "print(1)")
    assert r.code == 0 and r.err == "sandpiper: box: waiting: PENDING (Resources)\n", r


def test_it_does_not_wait_for_ever(box):
    share(box, opens="exec sleep 300", state=["echo", "PENDING (Priority)"])
    r = box.run("exec", "--queue-timeout", "2500ms", "-c", "1")
    assert r.code == 125 and "it waited 2 s in the queue (PENDING (Priority))" in r.err and "--queue-timeout" in r.err and r.seconds < 10, r
    share(box, start="sleep 300; : {inside}")
    r = box.run("exec", "--queue-timeout", "1s", "-c", "1")
    assert r.code == 125 and "box: nothing ran there within 1 s" in r.err and r.seconds < 15, r


def test_an_interrupt_ends_the_wait(box):
    share(box, opens="exec sleep 300")
    p = box.start("exec", "-c", "1")
    until(lambda: "open" in said(box))
    p.send_signal(signal.SIGINT)
    assert p.wait(10) == 130
    until(lambda: not [pid for pid in marked("sleep\0300") if box.dir in open("/proc/%d/environ" % pid).read()], 10)


LIES = [
    ("nothing, and ends well", "exit 0", "box: "),
    ("why it failed", "echo 'no such place' >&2; exit 3", "box: no such place"),
    ("an option as a fact", "echo job=-rf; exit 1", "box: "),
    ("words as a fact", "echo 'job=a b;c'; exit 1", "box: "),
    ("too much", "while :; do echo x; done 2>/dev/null", "box: it waited 5 s"),
    ("control characters", "printf '\\033]0;hi\\007bad\\n' >&2; exit 1", "box: bad"),
    ("what is known", "echo 'err: Out of Quota now' >&2; exit 1", "box: no quota is left (err: Out of Quota now)"),
]


@pytest.mark.parametrize("what, script, words", LIES, ids=[w for w, _, _ in LIES])
def test_one_that_lies(box, what, script, words):
    share(box, opens=script, failures=[{"says": "out of quota", "means": "no quota is left", "remedy": "wait"}])
    r = box.run("exec", "--queue-timeout", "5s", "-c", "1")
    assert r.code == 125 and words in r.err and "\033" not in r.err and len(r.err.splitlines()) == 2, r


# ---------------------------------------------------------------------------------------------------------- what one sandbox needs

def test_before_and_after(box):
    box.use(before=["sh", "-c", "echo before {name} >> %s; echo pod=p-{pids}" % box.log], gives=["pod"],
            start=["sh", "-c", "echo start {pod} >> %s; exec {inside}" % box.log], after=["sh", "-c", "echo after {name} >> %s" % box.log])
    r = box.run("exec", "--no-snapshots", "--pids", "40", "-c", "print(1)")
    assert r.code == 0, r
    until(lambda: len(said(box)) == 3)
    before, start, after = said(box)
    assert before.split()[1].startswith("sandpiper-") and start == "start p-40" and after.split() == ["after", before.split()[1]], said(box)
    p = box.start("exec", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    assert p.stdout.readline() == b"up\n"
    p.kill()
    p.wait()
    until(lambda: len(said(box)) == 6, 10)
    assert said(box)[5].split() == ["after", said(box)[3].split()[1]], said(box)


def test_before_that_fails(box):
    box.use(before=["sh", "-c", "echo 'no place left' >&2; exit 1"], start=["{inside}"], after=["sh", "-c", "echo after {name} >> %s" % box.log])
    r = box.run("exec", "-c", "1")
    assert r.code == 125 and "box: no place left" in r.err, r
    until(lambda: len(said(box)) == 1)


# ----------------------------------------------------------------------------------------------------------------- our own part

@pytest.fixture(scope="module")
def sshd():
    with ssh_server.running() as config:
        yield config


@pytest.fixture(params=["here", "ssh"])
def far(request, box):
    """Our part as an ordinary user, here and behind ssh."""
    if request.param == "here":
        box.use(start=INSIDE)
    else:
        config = request.getfixturevalue("sshd")
        box.use(like="ssh", **{"with": {"host": "gpubox", "options": ["-F", config]}})
    return box


def test_the_same_walls_hold(far):
    r = far.run("doctor", "--offline", "-v", "--sandbox", "box")
    assert r.code == 0 and "box         ok    Python 3." in r.out and "open: " not in r.out, r
    for words in ("no network", "not root", "no folder on a disk can be written to", "its own processes", "256 MiB in /mnt/data"):
        assert words in r.out, (words, r)
    assert "no filter of system calls" not in r.out and "no_new_privs" not in r.out, r
    code = "import resource, os\nprint([resource.getrlimit(w)[0] for w in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK)])"
    assert far.run("exec", "-c", code).out == "[256, 0, 0]\n"


def test_files_cells_and_deaths(far):
    data = far.write("in.csv", "a,b\n1,2\n")
    r = far.run("exec", "--add", data, "--out", far.path("work/out"), "-c", "open('out.bin', 'wb').write(bytes(range(256)) * 9999 + open('in.csv', 'rb').read())")
    assert r.code == 0, r
    with open(far.path("work/out/out.bin"), "rb") as f:
        assert f.read() == bytes(range(256)) * 9999 + b"a,b\n1,2\n"
    cells, r, refused = session.play(far, ["import os, signal\nx = [0]", "x.append(1)\nos.kill(os.getpid(), signal.SIGKILL)", "x", "while True: pass", "x"])
    assert [c.status for c in cells] == ["ok", "died", "ok", "timeout", "ok"] and cells[4].value == "[0]" and not refused, (cells, r)


def test_nothing_is_left_there(far):
    mark = "told_memory=%d" % (335 << 20)
    p = far.start("exec", "--memory", "335m", "-c", "import subprocess\nprint('up', flush=True)\nsubprocess.run(['sleep', '300'])")
    assert p.stdout.readline() == b"up\n"
    assert marked(mark)
    p.kill()
    p.wait()
    assert gone(mark, 15), marked(mark)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups here")
def test_limits_that_root_has_there(box):
    """A uid of its own, and control groups where the machine has them; all of it seen from inside."""
    box.use(start=["{inside}"])
    r = box.run("doctor", "--offline", "-v", "--sandbox", "box")
    assert r.code == 0 and "open: " not in r.out and "memory 1 GiB" in r.out, r
    r = box.run("exec", "--memory", "128m", "-c", "x = bytearray(300 << 20)")
    assert r.code in (1, 137), r


def test_a_limit_that_cannot_be_held_there(box):
    box.use(start=INSIDE)
    r = box.run("exec", "--cpus", "0.5", "-c", "print(1)")
    held = r.code == 0 and r.out == "1\n"
    assert held or (r.code == 125 and "cannot enforce --cpus there" in r.err), r
    assert not ORDINARY or not held, r


FAR = [
    ("noise of a login shell", "echo Welcome; echo; exec {inside}", None),
    ("too much noise", "yes; : {inside}", "box: "),
    ("another greeting", "echo 'sandpiper-inside 0000000000000000 bwrap memory,pids,cpus,-'; exec cat >/dev/null; : {inside}", "box: our part on the other machine did not start"),
    ("a greeting, and nothing else", "n=$(echo '{inside}' | sed 's/.*nonce=//; s/[^0-9a-f].*//'); echo \"sandpiper-inside $n bwrap -\"; exit 1", "box: "),
    ("that there is no bwrap", "PATH=/nonexistent exec {inside}", "box: on the other machine: neither bwrap nor apptainer is installed there"),
    ("another version", "exec /usr/bin/env sh -c 'head -c 1 >/dev/null; echo \"sandpiper inside: this is version 0.0.9, and the other side is 0.1.0 -- install the same\" >&2; exit 2'; : {inside}",
     "box: on the other machine: this is version 0.0.9"),
]


@pytest.mark.parametrize("what, script, words", FAR, ids=[w for w, _, _ in FAR])
def test_what_the_other_machine_says(box, what, script, words):
    box.use(start=["sh", "-c", script.replace("'{inside}'", "{inside}")])
    r = box.run("exec", "--queue-timeout", "3s", "-c", "print(6 * 7)")
    assert (r.code == 0 and r.out == "42\n") if not words else (r.code == 125 and words in r.err and len(r.err.splitlines()) == 2), r


def test_its_words_are_checked():
    program = os.environ.get("SANDPIPER_BIN") or os.path.join(os.path.dirname(__file__), "../../build/release/sandpiper")
    inside = lambda *words: subprocess.run([program, "inside", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True).stdout.split()[1]
    for words, says in (([], "the other side is unknown"), (["9.9"], "the other side is 9.9 -- install the same version"), ([version], "words are missing"),
                        ([version, "nonce=xy", "--", "x"], "words are missing"), ([version, "nonce=ab", "memory=1e3x", "--", "x"], "not understood: memory=1e3x"),
                        ([version, "nonce=ab", "pids=-1", "--", "x"], "not understood: pids=-1"), ([version, "nonce=ab", "gpu=1", "--", "x"], "not understood: gpu=1"),
                        ([version, "nonce=ab", "memory=nan", "--", "x"], "not understood: memory=nan")):
        r = inside(*words)
        assert r.returncode == 2 and r.stdout == "" and says in r.stderr and r.stderr.startswith("sandpiper inside: "), (words, r)


def test_apptainers_words(box):
    """What Apptainer is asked to do, and that its end is ours; it itself: test_apptainer.py."""
    os.mkdir(box.path("work/bin"))
    fake = box.write("bin/apptainer", "#!/bin/sh\nfor w; do echo \"$w\"; done > %s\nfor w; do case $w in seccomp:*) cp ${w#seccomp:} %s;; esac; done\n"
                     "echo no image >&2; exit 255\n" % (box.log, box.path("work/profile")))
    os.chmod(fake, 0o755)
    box.configure("engines: {apptainer: {with: {image: /data/py.sif}}}\n")
    box.engine = "apptainer"
    r = box.run("exec", "-c", "1", env={"PATH": "%s:%s" % (os.path.dirname(fake), os.environ["PATH"])})
    assert r.code == 125 and "apptainer: no image" in r.err, r
    words = said(box)
    assert words[0] == "exec" and "--containall" in words and words[words.index("--network") + 1] == "none" and {"--no-privs", "--no-init"} <= set(words), words
    assert words[words.index("/data/py.sif") + 1:][:11] == ["env", "-u", "HOME", "-u", "LANG", "python3", "-I", "-S", "-u", "-i", "-q"], words
    assert words[words.index("--no-mount") + 1] == "bind-paths,sys,hostfs" and ("--userns" in words) == (os.geteuid() != 0), words
    assert os.geteuid() != 0 or [w.partition(":")[0] for w in words if w[:4] in ("uid:", "gid:")] == ["uid", "gid"] and "uid:0" not in words, words
    with open(box.path("work/profile")) as f:
        profile = json.load(f)
    assert profile["defaultAction"] == "SCMP_ACT_TRACE" and len(profile["syscalls"]) > 200


# -------------------------------------------------------------------------------------------------------------------------- ssh

def test_one_connection_for_many(box, sshd):
    """Five sandboxes one after the other in one program, and a connection of their own each for none of them."""
    box.use(name="ssh", **{"with": {"host": "gpubox", "options": ["-F", sshd]}})
    before = ssh_server.connections(sshd)
    cells, r, refused = session.play(box, ["x = 1", "import os\nos.kill(os.getppid(), 9)", "2", "print(6 * 7)"])
    assert cells[-1].out == "42\n" and not refused, (cells, r)
    assert ssh_server.connections(sshd) == before + 1


SSH = [
    ({"host": "gpubox", "options": ["-F", "CONFIG", "-o", "IdentityFile=none", "-o", "PubkeyAuthentication=no"]}, "ssh: that machine refuses the login ("),
    ({"host": "gpubox", "options": ["-F", "CONFIG", "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=yes"]}, "ssh: the key of that machine is not known"),
    ({"host": "gpubox", "options": ["-F", "CONFIG", "-p", "1"]}, "is its ssh server up?"),
    ({"host": "no-such-host.invalid", "options": []}, "is host in config.yaml right"),
    ({"host": "gpubox; touch pwned", "options": ["-F", "CONFIG"]}, "ssh: "),
]


@pytest.mark.parametrize("settings, words", SSH, ids=[w for _, w in SSH])
def test_ssh_that_fails(box, sshd, settings, words):
    settings = {k: [sshd if w == "CONFIG" else w for w in v] if isinstance(v, list) else v for k, v in settings.items()}
    box.use(name="ssh", **{"with": settings})
    r = box.run("exec", "-c", "1", env={"SSH_AUTH_SOCK": None})
    assert r.code == 125 and words in r.err and len(r.err.splitlines()) == 2, r
    assert not os.path.exists(box.path("work/pwned"))


@pytest.mark.skipif(not uv(), reason="there is no uv here, and none can be fetched")
def test_packages_are_sent_there(far):
    packages_are_sent(far)
