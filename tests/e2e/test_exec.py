"""test_exec.py - sandpiper exec: Python in the sandbox without a model, byte for byte, with the documented exit codes, on every engine."""
import os
import subprocess
import time

import pytest

PROBE = """
import os, sys, socket
print("uid0", os.getuid() == 0)
print("stdin", sys.stdin.read() == "")
try:
    socket.create_connection(("192.0.2.1", 80), 1)
    print("network yes")
except OSError as e:
    print("network no")
print("home", os.path.isdir("/root/.ssh") or os.path.exists("/home/user"))
print("secret", any("test-key" in v or "KEY" in k for k, v in os.environ.items()))
try:
    open("/usr/x", "w")
    print("root writable")
except OSError:
    print("root read-only")
open("/mnt/data/f", "w").write("x"); open("/tmp/f", "w").write("x")
print("cwd", os.getcwd())
"""


def test_streams_apart_and_exact(sandpiper_on):
    code = "import sys, os\nos.write(1, bytes(range(256)))\nos.write(2, b'err\\n')\nprint('end')"
    r = sandpiper_on.run("exec", "-", stdin=code)
    assert r.code == 0 and r.out_bytes == bytes(range(256)) + b"end\n" and r.err_bytes == b"err\n", r


def test_a_file_of_python(sandpiper_on):
    sandpiper_on.write("prog.py", "import math\nprint(math.comb(49, 6))\n")
    r = sandpiper_on.run("exec", "prog.py")
    assert r.code == 0 and r.out == "13983816\n", r


def test_what_it_can_reach(sandpiper_on):
    r = sandpiper_on.run("exec", "-", stdin=PROBE, env={"OPENAI_API_KEY": "test-key", "SECRET_KEY": "x"})
    assert r.code == 0, r
    assert r.out == "uid0 False\nstdin True\nnetwork no\nhome False\nsecret False\nroot read-only\ncwd /mnt/data\n", r


@pytest.mark.parametrize("code, exit_code, said", [
    ("pass", 0, ""), ("raise SystemExit", 0, ""), ("import sys; sys.exit(0)", 0, ""), ("import sys; sys.exit(3)", 1, ""),
    ("1/0", 1, "ZeroDivisionError"), ("def f(:", 1, "SyntaxError"), ("import os; os._exit(0)", 1, ""), ("import os; os.kill(os.getpid(), 11)", 1, ""),
    ("import sys; sys.exit('words')", 1, "words")])
def test_exit_codes(sandpiper, code, exit_code, said):
    r = sandpiper.run("exec", "-", stdin=code)
    assert r.code == exit_code and said in r.err and r.out == "", r


def test_time_limit(sandpiper_on):
    r = sandpiper_on.run("exec", "--timeout", "1s", "-", stdin="print('begin', flush=True)\nwhile True: pass")
    assert r.code == 5 and r.out == "begin\n" and "1 s" in r.err and r.seconds < 15, r


def test_memory_limit(sandpiper_on):
    r = sandpiper_on.run("exec", "--memory", "128m", "-", stdin="print('begin', flush=True)\nx = [bytes(1 << 20) + bytes([i % 256]) for i in range(2000)]")
    assert r.code == 5 and r.out == "begin\n" and "memory" in r.err.lower(), r


def test_a_memory_hog_leaves_the_working_directory_alone(sandpiper_on):
    """podman's conmon leaves a file "oom" in the directory that its client was started in, and may do so after the cell's end."""
    r = sandpiper_on.run("exec", "--memory", "128m", "-", stdin="x = [bytes(1 << 20) + bytes([i % 256]) for i in range(2000)]")
    assert r.code == 5, r
    time.sleep(0.5)
    assert os.listdir(sandpiper_on.work) == [] and not os.path.exists("/oom"), r


def test_back_pressure_instead_of_a_cut(sandpiper_on):
    """A slow reader gets every byte."""
    p = sandpiper_on.start("exec", "-", stdin=subprocess.PIPE)
    p.stdin.write(b"import sys\nfor i in range(400): sys.stdout.write('%06d' % i + 'x' * 9993 + '\\n')\n")
    p.stdin.close()
    p.stdin = None
    time.sleep(1)
    out = p.stdout.read()
    assert p.wait(30) == 0 and len(out) == 400 * 10000 and out.count(b"\n") == 400, len(out)


def test_files_go_to_out(sandpiper_on):
    r = sandpiper_on.run("exec", "--out", "results", "-", stdin="open('/mnt/data/a b.txt', 'w').write('made')\nopen('n.bin', 'wb').write(bytes(1000))")
    assert r.code == 0, r
    with open(os.path.join(sandpiper_on.work, "results", "a b.txt")) as f:
        assert f.read() == "made"
    assert os.path.getsize(os.path.join(sandpiper_on.work, "results", "n.bin")) == 1000
    assert "a b.txt" in r.err, r


def test_a_figure_is_delivered(sandpiper_on):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()"
    r = sandpiper_on.run("exec", "--out", "results", "-", stdin=code)
    assert r.code == 0, r
    pngs = [f for f in os.listdir(os.path.join(sandpiper_on.work, "results")) if f.endswith(".png")]
    assert len(pngs) == 1, r
    with open(os.path.join(sandpiper_on.work, "results", pngs[0]), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"


def test_figures_have_a_limit(sandpiper_on):
    """Twenty a cell; who made more is told how many there were."""
    code = "import matplotlib.pyplot as plt\nfor i in range(23):\n    plt.figure(figsize=(1, 1))\n    plt.text(0, 0, i)"
    r = sandpiper_on.run("exec", "--out", "results", "-", stdin=code)
    assert r.code == 0 and "only the first 20 of 23 open figures" in r.err, r
    assert len([f for f in os.listdir(os.path.join(sandpiper_on.work, "results")) if f.endswith(".png")]) == 20, r


def test_data_for_exec(sandpiper_on):
    sandpiper_on.write("data.csv", "a,b\n1,2\n")
    r = sandpiper_on.run("exec", "--add", "data.csv", "-", stdin="print(open('/mnt/data/data.csv').read(), end='')")
    assert r.code == 0 and r.out == "a,b\n1,2\n", r


def test_missing_file(bare):
    r = bare.run("exec", "nothing.py")
    assert r.code == 2 and "nothing.py" in r.err and r.out == "", r


def test_dry_run_shows_the_command(bare):
    for engine in ("docker", "podman", "bwrap"):
        r = bare.run("exec", "--dry-run", "--sandbox", engine, "-", stdin="")
        assert r.code == 0 and engine in r.out.split()[0] or engine in r.out, r
        if engine != "bwrap":
            for flag in ("--network", "--cap-drop", "--read-only", "no-new-privileges"):
                assert flag in r.out, r


def test_what_is_told_is_for_one_run(bare):
    """Nothing runs after it, so whether variables are left is no news; a full stdout is one line, without the interrupt that it caused."""
    r = bare.run("exec", "--sandbox", "bwrap", "--timeout", "1s", "-", stdin=b"while True: pass")
    assert r.code == 5 and "it ran longer than 1 s, the limit of a cell\n" in r.err and "variables" not in r.err, r
    with open("/dev/full", "w") as full:
        r = bare.run("exec", "--sandbox", "bwrap", "-", stdin=b"print(1)", stdout=full)
    assert r.code == 1 and r.err.count("\n") == 1 and "No space left on device" in r.err, r


def test_a_home_that_cannot_be_written(bare):
    r = bare.run("exec", "--sandbox", "bwrap", "-", stdin=b"print(1)", env={"XDG_STATE_HOME": "/proc/none"})
    assert r.code == 1 and "XDG_STATE_HOME" in r.err and r.err.count("\n") == 2, r


def test_big_files_come_out_whole(sandpiper_on):
    """As fast as the channel takes them: the supervisor must not sleep when the program has just taken everything."""
    r = sandpiper_on.run("exec", "--out", sandpiper_on.path("out"), "-",
                         stdin="for i in range(4): open('f%d.bin' % i, 'wb').write(bytes([i + 1]) * (15 << 20))")
    assert r.code == 0 and len(r.err.splitlines()) == 4 and r.seconds < 8, r
    for i in range(4):
        with open(sandpiper_on.path("out/f%d.bin" % i), "rb") as f:
            assert f.read() == bytes([i + 1]) * (15 << 20)
