"""test_faults.py - the world around the program goes wrong: reader gone, disk full, no engine, no network, signals, kill -9. It ends with the
documented exit code, says why in a line or two, and leaves nothing (each fixture looks).
"""
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

import chat_keys
from conftest import HANG, quiet

LONG = "\n".join("line %d of a long answer" % i for i in range(20000))
SLOW = {"answer": {"calls": [{"code": "print('started', flush=True)\nimport time\ntime.sleep(100)"}]}}


def wait_for(condition, seconds=60, what="it"):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "%s did not happen within %d s" % (what, seconds)
        time.sleep(0.05)


def read_until(stream, text, seconds=30):
    """Read a pipe until text has come; returns all that was read."""
    data, fd = b"", stream.fileno()
    deadline = time.monotonic() + seconds
    os.set_blocking(fd, False)
    while text not in data:
        assert time.monotonic() < deadline, "%r did not come: %r" % (text, data)
        try:
            got = os.read(fd, 65536)
            assert got, "it ended: %r" % data
            data += got
        except BlockingIOError:
            time.sleep(0.02)
    os.set_blocking(fd, True)
    return data


# -- stdout

def test_the_reader_goes_away(sandpiper, serve):
    """sandpiper ... | head -1 ends quietly with 141."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "print(1)"}]}}, {"answer": {"text": LONG, "piece": 4000}}])
    p = sandpiper.start("go")
    assert p.stdout.readline() == b"line 0 of a long answer\n"
    p.stdout.close()
    assert p.wait(60) == 141
    assert b"roken pipe" not in p.stderr.read()
    p.stderr.close()


def test_stdout_is_full(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "an answer"}}])
    with open("/dev/full", "w") as full:
        r = sandpiper.run("go", stdout=full)
    assert r.code == 1 and "No space left" in r.err and "stdout" in r.err, r


@pytest.fixture
def small_disk(sandpiper):
    """A tmpfs of 64 KiB where the program keeps its sessions and temporary files."""
    if os.getuid() != 0:
        pytest.skip("mounting needs root")
    for name in ("state", "tmp"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "sandpiper-test", sandpiper.path(name)], check=True)
    yield sandpiper
    for name in ("state", "tmp"):
        subprocess.run(["umount", sandpiper.path(name)], check=True)


def test_a_full_disk_does_not_lose_the_answer(small_disk, serve):
    """Output beyond the disk is not kept, which is said; the model still gets its part and the answer comes."""
    sp = small_disk
    serve(sp, [{"answer": {"calls": [{"code": "for i in range(20000): print('row', i)"}]}},
               {"expect": {"last": {"content": {"contains": ["row 0", "row 19999"]}}}, "answer": {"text": "done"}}])
    r = sp.run("go")
    assert r.code == 0 and r.out == "done\n", r
    assert "No space left" in r.err, r


@pytest.mark.parametrize("args", [(), ("--quiet",), ("--json",)])
def test_a_file_that_cannot_be_delivered_is_no_success(small_disk, serve, args):
    """The answer is given, but a script that wants the file must see that it is not there."""
    sp = small_disk
    serve(sp, [{"answer": {"calls": [{"code": "open('big.bin', 'wb').write(b'x' * 200_000); open('small.txt', 'w').write('hi'); print('made')"}]}},
               {"expect": {"last": {"content": {"contains": ["big.bin", "No space left"]}}}, "answer": {"text": "done"}}])
    r = sp.run(*args, "go")
    assert r.code == 1 and "big.bin" in r.err and "No space left" in r.err and "--out" in r.err, r
    if args == ("--json",):
        done = [json.loads(line) for line in r.out.splitlines()][-2]
        assert (done["type"], done["status"], done["exit_code"], done["answer"]) == ("done", "undelivered", 1, "done"), done
    else:
        assert r.out == "done\n", r


@pytest.mark.parametrize("args", [(), ("--quiet",)])
def test_a_file_of_exec_that_cannot_be_delivered(small_disk, args):
    r = small_disk.run(*args, "exec", "-", stdin="open('big.bin', 'wb').write(b'x' * 200_000); print('made')")
    assert r.code == 125 and r.out == "made\n" and "big.bin" in r.err and "No space left" in r.err, r


def test_a_full_disk_from_the_start(small_disk):
    sp = small_disk
    with open(sp.path("state/filler"), "wb", buffering=0) as f:
        try:
            while True:
                f.write(b"x" * 1024)
        except OSError:
            pass
    for i in range(40):       # directories need room too
        try:
            os.mkdir(sp.path("state/d%d" % i))
        except OSError:
            break
    sp.url = "http://127.0.0.1:9/v1"
    r = sp.run("go")
    assert r.code in (1, 3) and len(r.err.strip().splitlines()) <= 3, r


def test_stdin_data_on_a_full_disk(small_disk, serve):
    sp = small_disk
    serve(sp, [{"answer": {"text": "not reached"}}], complete=False)
    r = sp.run("go", stdin=b"1,2,3\n" * 100000)
    assert r.code in (0, 1) and "Traceback" not in r.err, r
    if r.code == 1:
        assert "No space left" in r.err, r


def test_a_limit_of_file_size_is_like_a_full_disk(sandpiper, serve):
    """ulimit -f: the copy of the output is not kept, which is said; SIGXFSZ does not end the program."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "for i in range(20000): print('row', i)"}]}},
                      {"expect": {"last": {"content": {"contains": ["row 0", "row 19999"]}}}, "answer": {"text": "done"}}])
    r = sandpiper.run("go", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10,) * 2))
    assert r.code == 0 and r.out == "done\n" and "File too large" in r.err, r


# -- network

def test_unknown_host(bare):
    bare.url = "https://no-such-host.invalid/v1"
    r = bare.run("go")
    assert r.code == 1 and r.out == "" and "no-such-host.invalid" in r.err, r


def test_refused_connection(bare):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    bare.url = "http://127.0.0.1:%d/v1" % port
    r = bare.run("go")
    assert r.code == 1 and r.out == "" and str(port) in r.err and "refused" in r.err.lower(), r


def test_https_where_http_is_spoken(bare):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def answer():
            c, _ = listener.accept()
            c.recv(1000)
            c.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            c.close()
        threading.Thread(target=answer, daemon=True).start()
        bare.url = "https://127.0.0.1:%d/v1" % listener.getsockname()[1]
        r = bare.run("hello")
    assert r.code == 1 and "does not speak TLS" in r.err and "Should the base URL start with http://" in r.err and r.seconds < HANG, r


def test_a_key_never_goes_over_plain_http_to_another_machine(bare):
    bare.url = "http://192.0.2.1/v1"
    r = bare.run("go", env={"SANDPIPER_CONNECT_TIMEOUT": "1s"})
    assert r.code == 2 and "test-key" not in r.err and "http" in r.err, r


# -- engines

# The cause depends on the machine that runs the test: with a docker daemon the image is missing, without one the daemon is.
NO_SANDBOX = re.compile(r"no-such-image|docker: the daemon is not running")


def test_no_code_needed_and_no_sandbox(sandpiper, serve):
    """A question that needs no code is answered, with one warning."""
    serve(sandpiper, [{"answer": {"text": "Bonjour!"}}])
    r = sandpiper.run("--sandbox", "docker", "--image", "no-such-image:latest", "say hello in French")
    assert r.code == 0 and r.out == "Bonjour!\n", r
    assert len(r.err.strip().splitlines()) <= 2 and NO_SANDBOX.search(r.err), r      # one warning, with its remedy


def test_code_needed_and_no_sandbox(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "print(1)"}]}}], complete=False)
    r = sandpiper.run("--sandbox", "docker", "--image", "no-such-image:latest", "go")
    assert r.code == 3 and r.out == "" and NO_SANDBOX.search(r.err), r


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_missing_image(bare, engine):
    from conftest import need_engine
    need_engine(engine)
    r = bare.run("exec", "--sandbox", engine, "--image", "no-such-image:latest", "-", stdin="print(1)")
    assert r.code == 125 and r.out == "", r
    lines = r.err.strip().splitlines()
    assert len(lines) == 2 and "no-such-image" in lines[0] and "pull it (%s pull no-such-image:latest)" % engine in lines[1], r


@pytest.mark.parametrize("engine", ["docker", "podman", "bwrap"])
def test_missing_engine(bare, engine, tmp_path):
    """An engine asked for by name is never replaced: one line of cause, one of remedy."""
    r = bare.run("exec", "--sandbox", engine, "-", stdin="print(1)", env={"PATH": str(tmp_path)})
    assert r.code == 125 and r.out == "", r
    assert len(r.err.strip().splitlines()) == 2 and engine in r.err and "apt" in r.err, r


def test_no_engine_at_all(bare, tmp_path):
    r = bare.run("exec", "-", stdin="print(1)", env={"PATH": str(tmp_path)})
    assert r.code == 125 and r.out == "" and "bwrap" in r.err or "bubblewrap" in r.err, r


@pytest.mark.slow(20)
def test_a_bwrap_that_hangs(bare):
    """It waits for a mount of the host, say: given up after 20 s. With a name it is waited for whoever runs it, not only root."""
    for path in (bare.dir, bare.work, bare.write("bwrap", "#!/bin/sh\nexec sleep 60\n")):
        os.chmod(path, 0o755)           # root runs it as another user
    r = bare.run("exec", "--sandbox", "bwrap", "--sandbox-name", "work", "-", stdin="print(1)", timeout=40,
                 env={"PATH": "%s:%s" % (bare.work, os.environ["PATH"])})
    assert r.code == 125 and r.err.count("did not start the sandbox within 20 s") == 1, r


def test_an_engine_without_permission(bare):
    """The daemon's socket is not there or not ours: the cause and the remedy, not a wait."""
    from conftest import need_engine
    need_engine("docker")
    r = bare.run("exec", "--sandbox", "docker", "-", stdin="print(1)", env={"DOCKER_HOST": "unix:///nonexistent/docker.sock"})
    assert r.code == 125 and "docker" in r.err and r.seconds < 15, r


# The client of a daemon that is not there, which says so when the program that asked for it has gone.
LATE = """#!/bin/sh
echo "$1" >>%s
[ "$1" != run ] || while [ -e /proc/$PPID/cmdline ] && [ -n "$(tr -d '\\0' </proc/$PPID/cmdline)" ]; do sleep 0.02; done
echo 'docker: Cannot connect to the Docker daemon at unix:///nonexistent. Is the docker daemon running?' >&2
exit 125
"""


def test_a_chat_left_before_the_daemon_was_missed(bare):
    """Nobody has been told then that there is no daemon, and still no folder is left."""
    asked = bare.path("work/asked")
    os.chmod(bare.write("docker", LATE % asked), 0o755)
    bare.url = "http://127.0.0.1:9/v1"
    p = chat_keys.start(bare, env={"SANDPIPER_SANDBOX": "docker", "PATH": "%s:%s" % (bare.work, os.environ["PATH"])})
    wait_for(lambda: os.path.exists(asked) and "run" in open(asked).read().split(), what="the start of a sandbox")
    chat_keys.leave(p)
    wait_for(lambda: not os.listdir(bare.path("run/sandpiper")), what="the end of what was started")


# -- signals

@pytest.mark.parametrize("sig, code, word", [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated"),
                                             (signal.SIGHUP, 143, b"hung up")])
def test_interrupted_while_the_model_is_silent(sandpiper, serve, sig, code, word):
    server = serve(sandpiper, [{"answer": {"text": "never", "wait": 100}}])
    p = sandpiper.start("go")
    server.wait_request(1)
    p.send_signal(sig)
    assert p.wait(HANG) == code
    assert p.stdout.read() == b""
    assert p.stderr.read() == b"sandpiper: %s\n" % word


def test_signals_that_the_parent_ignores_or_blocks(sandpiper):
    """Both are inherited: exit codes of children are known all the same, and it can be interrupted."""
    def inherit():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 32)))
    assert sandpiper.run("exec", "-", stdin="print(1)", preexec_fn=inherit).out == "1\n"
    p = sandpiper.start("exec", sandpiper.write("slow.py", "print('up', flush=True)\nimport time\ntime.sleep(100)"), preexec_fn=inherit)
    assert p.stdout.readline() == b"up\n"
    p.send_signal(signal.SIGINT)
    assert p.wait(HANG) == 130


def test_interrupted_while_a_cell_runs(sandpiper_on, serve):
    serve(sandpiper_on, [SLOW])
    p = sandpiper_on.start("go")
    read_until(p.stderr, b"started\n")
    p.send_signal(signal.SIGINT)
    assert p.wait(HANG) == 130
    assert p.stdout.read() == b""


def test_terminated_while_a_cell_runs(sandpiper_on, serve):
    serve(sandpiper_on, [SLOW])
    p = sandpiper_on.start("go")
    read_until(p.stderr, b"started\n")
    p.send_signal(signal.SIGTERM)
    assert p.wait(HANG) == 143
    said = p.stderr.read()
    assert b"variables" not in said, said           # nothing follows that could miss them
    assert b"the user" not in said and b"terminated" in said, said          # it was no Ctrl-C


def test_interrupted_while_code_ignores_it(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                                                         "print('started', flush=True)\nwhile True: time.sleep(1)"}]}}])
    p = sandpiper_on.start("go")
    read_until(p.stderr, b"started\n")
    p.send_signal(signal.SIGINT)
    assert p.wait(HANG) == 130


@pytest.mark.slow(3)
def test_a_supervisor_that_hangs_goes_too(sandpiper):
    """Of an ordinary user, who has no control group to end: it does not obey, nor see the end of its channel."""
    user = dict(user=54323, group=54323, extra_groups=[]) if os.geteuid() == 0 else {}
    for root, dirs, files in os.walk(sandpiper.dir if user else ""):
        for name in dirs + files + ["."]:
            os.chown(os.path.join(root, name), 54323, 54323)
    p = sandpiper.start("exec", "--sandbox", "bwrap", "-", stdin=subprocess.PIPE, **user)
    p.stdin.write(b"print('up', flush=True)\nimport time\ntime.sleep(60)")
    p.stdin.close()
    read_until(p.stdout, b"up\n")
    pid = p.pid
    for name in ("bwrap", "python3"):   # bwrap (not the keeper beside it), and its child
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            pid = next(int(c) for c in f.read().split() if open("/proc/%s/comm" % c).read().strip().startswith(name))
    os.kill(pid, signal.SIGSTOP)
    try:
        p.send_signal(signal.SIGINT)
        assert p.wait(60) == 130
        wait_for(lambda: not os.path.exists("/proc/%d" % pid) or open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0] == "Z")
    finally:
        if os.path.exists("/proc/%d" % pid):
            os.kill(pid, signal.SIGCONT)


def test_killed_leaves_nothing(sandpiper_on, serve):
    """kill -9 in the middle of a cell: at the latest the next start removes what is left."""
    serve(sandpiper_on, [SLOW])
    p = sandpiper_on.start("go")
    read_until(p.stderr, b"started\n")
    p.kill()
    p.wait()
    r = sandpiper_on.run("exec", "-", stdin="print('next')")
    assert r.code == 0 and r.out == "next\n", r
    wait_for(lambda: not (sandpiper_on.processes() + sandpiper_on.containers() + sandpiper_on.cgroups()), 20, "the end of the orphans")
    # what the killed one could not remove itself is gone too; its session folder may stay
    assert not sandpiper_on.files(), sandpiper_on.files()


@pytest.mark.parametrize("engine", ["docker", "podman"], indirect=True)
def test_a_container_removed_by_hand(sandpiper_on, serve):
    """Both sides are told; the next cell runs in a fresh one. (bwrap has none that a hand could remove.)"""
    removed = []

    def remove():
        removed.extend(c.split()[-1] for c in sandpiper_on.containers())
        removed.append(quiet([sandpiper_on.engine, "rm", "-f", *removed]).returncode)
    server = serve(sandpiper_on, [{"answer": {"calls": [{"code": "x = 1\nprint('set')"}]}},
                                  {"answer": {"calls": [{"code": "print('x' in globals())"}], "before": {0: remove}}},
                                  {"answer": {"text": "ok"}}])
    p = sandpiper_on.start("go")
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (0, b"ok\n"), err
    assert len(removed) == 2 and removed[1] == 0, removed
    told = server.bodies()[2]["messages"][-1]["content"]
    assert "False" in told and "lost" in told, told
    assert b"lost" in err or b"gone" in err, err
