"""test_big_files.py - files that the code made and that are too big, or too many, to be copied out: said as lost, never exit 0; copied with --max-file
while our memory stays as it was."""
import json
import os
import shutil
import subprocess

import pexpect
import pytest

from conftest import BIN, need_engine

MIB = 1 << 20
ASAN = b"__asan_init" in open(BIN, "rb").read()
BIG = "open('big.bin', 'wb').write(b'x' * 50_000_000)"
LOST = "big.bin (50 MB) was NOT saved: files over 16 MiB are not saved (--max-file). It is lost when sandpiper ends."
LESS = ("--max-file", "16m")
# A docker that cannot share a folder, as a remote one: attached pipes are used instead.
NO_SHARE = "#!/bin/sh\nfor word; do case $word in type=bind*) echo 'docker: Mounts denied: no' >&2; exit 125;; esac; done\nexec %s \"$@\"\n"


def test_what_the_disk_holds_is_saved_unasked(sandpiper_on):
    """24 MB of CSV are an ordinary result; so is what fills /mnt/data, whatever that holds."""
    r = sandpiper_on.run("exec", "--out", "out", "-", stdin="open('r.csv', 'w').write('1,2,3,4,5,6\\n' * 2_000_000)")
    assert r.code == 0 and os.path.getsize(os.path.join(sandpiper_on.work, "out", "r.csv")) == 24_000_000, r
    code = "import os\nst = os.statvfs('.')\nopen('f', 'wb').write(bytes(st.f_bavail * st.f_frsize))"
    r = sandpiper_on.run("exec", "--data-size", "40m", "--out", "out", "-", stdin=code)
    assert r.code == 0 and os.path.getsize(os.path.join(sandpiper_on.work, "out", "f")) > 39 << 20, r


@pytest.mark.parametrize("args", [(), ("--quiet",)])
def test_exec_says_what_is_lost(sandpiper_on, args):
    r = sandpiper_on.run(*args, *LESS, "exec", "--out", "out", "-", stdin=BIG + "; open('small', 'w').write('s'); print('made')")
    assert r.code == 125 and r.out == "made\n" and LOST in r.err, r
    assert os.listdir(os.path.join(sandpiper_on.work, "out")) == ["small"]


def test_exec_keeps_the_worse_code(sandpiper):
    r = sandpiper.run(*LESS, "exec", "--timeout", "1s", "-", stdin=BIG + "\nwhile True: pass")
    assert r.code == 124 and LOST in r.err, r


@pytest.mark.parametrize("args", [(), ("--quiet",), ("--json",)])
def test_a_question_says_what_is_lost(sandpiper, serve, args):
    serve(sandpiper, [{"answer": {"calls": [{"code": BIG}]}},
                      {"expect": {"last": {"content": {"contains": [LOST]}}}, "answer": {"text": "done"}}])
    r = sandpiper.run(*args, *LESS, "go")
    assert r.code == 1 and r.err.count("big.bin (50 MB) was NOT saved") == 1 and r.err.count("--max-file 48m would save it") == 1, r
    if args == ("--json",):
        done = [json.loads(line) for line in r.out.splitlines()][-2]
        assert (done["status"], done["exit_code"], done["answer"]) == ("undelivered", 1, "done"), done
    else:
        assert r.out == "done\n", r


def test_a_script_goes_on_and_ends_with_1(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": BIG}]}}, {"answer": {"text": "first"}}, {"answer": {"text": "second"}}])
    r = sandpiper.run(*LESS, stdin="one\ntwo\n")
    assert r.code == 1 and "first" in r.out and "second" in r.out and LOST in r.err, r


def test_made_anew_and_small_it_is_no_loss(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": BIG}]}}, {"answer": {"calls": [{"code": "open('big.bin', 'w').write('small')"}]}},
                      {"answer": {"text": "done"}}])
    r = sandpiper.run(*LESS, "go")
    assert r.code == 0 and LOST in r.err, r


def test_a_chat_says_it_once(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": BIG}]}}, {"answer": {"text": "finished now"}}])
    p = sandpiper.chat(*LESS, size=(30, 200), env={"NO_COLOR": "1"})
    p.expect("> ")
    p.send("go\r")
    p.expect("finished now")
    said = p.before
    p.expect("> ")
    said += p.before
    p.send("\x04")
    p.expect(pexpect.EOF)
    p.close()
    said += p.before
    assert p.exitstatus == 0
    assert said.count("NOT saved") == 1 and "--max-file 48m" not in said, said


@pytest.fixture(params=["docker", "podman", "bwrap", "attached pipes"])
def way(request):
    """Each engine, and the fallback where none can share a folder."""
    need_engine(request.param if request.param != "attached pipes" else "docker")
    return request.param


@pytest.fixture
def engine(way):
    return "docker" if way == "attached pipes" else way


def environment(sandpiper, way):
    if way != "attached pipes":
        return None
    path = sandpiper.write("docker", NO_SHARE % shutil.which("docker"))
    os.chmod(path, 0o755)
    return {"PATH": sandpiper.work + ":" + os.environ["PATH"]}


def peak_kib(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(next(line for line in f if line.startswith("VmHWM:")).split()[1])


@pytest.mark.slow(3)
def test_200_mib_come_out_while_memory_stays(sandpiper_on, way):
    """The peak of our resident memory, read by the kernel, before the file is sent and after it has come."""
    if os.geteuid() != 0:
        pytest.skip("the program's memory is not to be looked at by its user")
    env = environment(sandpiper_on, way)
    code = ("with open('big.bin', 'wb') as f:\n    for i in range(200): f.write(bytes([i]) * (1 << 20))\n"
            "print('made', flush=True)\nimport time\ntime.sleep(1)\n")
    p = sandpiper_on.start("exec", "--max-file", "200m", "--out", sandpiper_on.path("out"), "-", stdin=subprocess.PIPE, env=env)
    p.stdin.write(code.encode())
    p.stdin.close()
    assert p.stdout.readline() == b"made\n"
    before = peak_kib(p.pid)
    while True:
        try:
            after = peak_kib(p.pid)
        except (OSError, StopIteration):
            break
        if p.poll() is not None:
            break
    assert p.wait() == 0, p.stderr.read()
    said = p.stderr.read().decode()
    assert said == sandpiper_on.path("out/big.bin") + "\n" or "attached" in way and said.endswith("out/big.bin\n"), said
    with open(sandpiper_on.path("out/big.bin"), "rb") as f:
        for i in range(200):
            assert f.read(MIB) == bytes([i]) * MIB
        assert f.read() == b""
    assert after - before < (64 if ASAN else 3) * 1024, (before, after)


def test_the_other_caps_say_what_they_left_out(sandpiper_on):
    code = "for i in range(6): open('b%d' % i, 'wb').write(bytes(15_000_000))\nfor i in range(120): open('c%03d' % i, 'w').write('x')\n"
    r = sandpiper_on.run(*LESS, "exec", "--out", "out", "-", stdin=code)
    assert r.code == 125, r
    for name in ("b4", "b5"):
        assert "%s (15 MB) was NOT saved: at most 64 MiB are saved per run of code. It is lost when sandpiper ends." % name in r.err, r
    assert "24 files (c096 and others) were NOT saved: at most 100 files are saved per run of code." in r.err, r
    assert len(os.listdir(os.path.join(sandpiper_on.work, "out"))) == 100
    r = sandpiper_on.run("exec", "--max-file", "24m", "--out", "more", "-", stdin=code.splitlines()[0])
    assert r.code == 0 and len(os.listdir(os.path.join(sandpiper_on.work, "more"))) == 6, r


def test_what_data_holds_may_be_one_file(sandpiper_on):
    r = sandpiper_on.run("exec", "--data-size", "300m", "--max-file", "300m", "--out", "out", "-",
                         stdin="with open('big.bin', 'wb') as f:\n    f.seek(270 << 20)\n    f.write(b'end')")
    assert r.code == 0 and os.path.getsize(os.path.join(sandpiper_on.work, "out", "big.bin")) == (270 << 20) + 3, r


def test_a_sandbox_with_a_name_still_has_it(sandpiper_on):
    sandpiper_on.run("exec", "--sandbox-name", "keeper", "-", stdin="pass")
    r = sandpiper_on.run(*LESS, "exec", "--sandbox-name", "keeper", "--out", "out", "-", stdin=BIG)
    assert r.code == 125 and "NOT saved" not in r.err and "lost" not in r.err, r
    assert 'big.bin (50 MB) was not saved: files over 16 MiB are not saved (--max-file). It is still in the sandbox "keeper".' in r.err, r
    r = sandpiper_on.run("exec", "--sandbox-name", "keeper", "--max-file", "48m", "--out", "out", "-", stdin="open('big.bin', 'ab').write(b'y')")
    assert r.code == 0 and os.path.getsize(os.path.join(sandpiper_on.work, "out", "big.bin")) == 50_000_001, r
    assert sandpiper_on.run("rm", "keeper").code == 0


def test_the_setting_of_each_layer(sandpiper):
    code = "open('f', 'wb').write(bytes(3 << 20))"
    sandpiper.configure("max_file: 1m\n")
    r = sandpiper.run("exec", "-", stdin=code)
    assert r.code == 125 and "files over 1 MiB" in r.err, r
    assert sandpiper.run("exec", "-", stdin=code, env={"SANDPIPER_MAX_FILE": "4m"}).code == 0
    r = sandpiper.run("exec", "--max-file", "2m", "-", stdin=code, env={"SANDPIPER_MAX_FILE": "4m"})
    assert r.code == 125 and "files over 2 MiB" in r.err, r
    r = sandpiper.run("exec", "--max-file", "1", "-", stdin=code)
    assert r.code == 125 and "--max-file" in r.err, r
