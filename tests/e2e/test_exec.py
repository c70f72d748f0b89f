"""test_exec.py - sandpiper exec: Python in the sandbox without a model, byte for byte, with the documented exit codes, on every engine."""
import os
import subprocess
import time

import pytest

from program import HANG

PROBE = """
import os, sys, socket
print("uid0", os.getuid() == 0)
print("stdin", sys.stdin.read() == "")
try:
    socket.create_connection(("192.0.2.1", 80), 1)
    print("network yes")
except OSError as e:
    print("network no")
print("home", os.path.isdir("/root/.ssh"), os.path.isdir("/home") and os.listdir("/home") not in ([], ["user"]), os.path.realpath("/home/user") in ("/mnt/data", "/home/user"))
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
    assert r.out == "uid0 False\nstdin True\nnetwork no\nhome False False True\nsecret False\nroot read-only\ncwd /mnt/data\n", r


@pytest.mark.parametrize("code, exit_code, said", [
    ("pass", 0, ""), ("raise SystemExit", 0, ""), ("import sys; sys.exit(0)", 0, ""), ("import sys; sys.exit(3)", 3, ""), ("raise SystemExit(-1)", 255, ""), ("raise SystemExit(1 << 40)", 255, ""),
    ("1/0", 1, "ZeroDivisionError"), ("def f(:", 1, "SyntaxError"), ("import os; os._exit(0)", 0, ""), ("import os; os._exit(7)", 7, "_exit"), ("import os; os.kill(os.getpid(), 11)", 139, "SIGSEGV"),
    ("import sys; sys.exit('words')", 1, "words")])
def test_exit_codes(sandpiper, code, exit_code, said):
    r = sandpiper.run("exec", "-", stdin=code)
    assert r.code == exit_code and said in r.err and r.out == "", r


def test_time_limit(sandpiper_on):
    r = sandpiper_on.run("exec", "--timeout", "1s", "-", stdin="print('begin', flush=True)\nwhile True: pass")
    assert r.code == 124 and r.out == "begin\n" and "1 s" in r.err and r.seconds < HANG, r


def test_memory_limit(sandpiper_on):
    r = sandpiper_on.run("exec", "--memory", "128m", "-", stdin="print('begin', flush=True)\nx = [bytes(1 << 20) + bytes([i % 256]) for i in range(2000)]")
    assert r.code == 137 and r.out == "begin\n" and "memory" in r.err.lower(), r


def test_a_memory_hog_leaves_the_working_directory_alone(sandpiper_on):
    """podman's conmon leaves a file "oom" in the directory that its client was started in, and may do so after the cell's end."""
    r = sandpiper_on.run("exec", "--memory", "128m", "-", stdin="x = [bytes(1 << 20) + bytes([i % 256]) for i in range(2000)]")
    assert r.code == 137, r
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


@pytest.mark.slow(5)
def test_a_figure_is_delivered(sandpiper_on):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()"
    r = sandpiper_on.run("exec", "--out", "results", "-", stdin=code)
    assert r.code == 0, r
    pngs = [f for f in os.listdir(os.path.join(sandpiper_on.work, "results")) if f.endswith(".png")]
    assert len(pngs) == 1, r
    with open(os.path.join(sandpiper_on.work, "results", pngs[0]), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow(10)
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
    assert r.code == 125 and "nothing.py" in r.err and r.out == "", r


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
    assert r.code == 124 and "it ran longer than 1 s, the time limit\n" in r.err and "variables" not in r.err, r
    with open("/dev/full", "w") as full:
        r = bare.run("exec", "--sandbox", "bwrap", "-", stdin=b"print(1)", stdout=full)
    assert r.code == 125 and r.err.count("\n") == 1 and "No space left on device" in r.err, r


def test_a_home_that_cannot_be_written(bare):
    r = bare.run("exec", "--sandbox", "bwrap", "-", stdin=b"print(1)", env={"XDG_STATE_HOME": "/proc/none"})
    assert r.code == 0 and r.out == "1\n" and "XDG_STATE_HOME" in r.err and r.err.count("\n") == 1, r


@pytest.mark.slow(3)
def test_big_files_come_out_whole(sandpiper_on):
    """As fast as the channel takes them: the supervisor must not sleep when the program has just taken everything."""
    r = sandpiper_on.run("exec", "--out", sandpiper_on.path("out"), "-",
                         stdin="for i in range(4): open('f%d.bin' % i, 'wb').write(bytes([i + 1]) * (15 << 20))")
    assert r.code == 0 and len(r.err.splitlines()) == 4 and r.seconds < HANG, r
    for i in range(4):
        with open(sandpiper_on.path("out/f%d.bin" % i), "rb") as f:
            assert f.read() == bytes([i + 1]) * (15 << 20)


SHOW = "import sys\nprint(sys.argv)\n"


@pytest.mark.slow(3)
def test_arguments_are_the_codes(sandpiper_on):
    """As python3 has it: the words behind the file, or behind -c CODE, also those that look like options of ours."""
    words = ["--memory", "-q", "", "two words", "--", "-", "it's \\ \"x\"\n", "\u00e4\u20ac", "--help"]
    path = sandpiper_on.write("sub.py", SHOW)
    for head in (["sub.py"], [path], ["-c", SHOW], ["-c" + SHOW], ["-"], ["--", "sub.py"], ["-qc", SHOW], ["--code=" + SHOW]):
        r = sandpiper_on.run("exec", *head, *words, stdin=SHOW if head == ["-"] else None)
        name = "-c" if "c" in head[0] and head[0][:1] == "-" else head[-1]
        assert r.code == 0 and eval(r.out) == [name, *words], (head, r)
    r = sandpiper_on.run("exec", "-c", "import sys, os; print([os.fsencode(a) for a in sys.argv])", b"\xff\xc3")
    assert r.out == "[b'-c', b'\\xff\\xc3']\n", r
    assert sandpiper_on.run("exec", stdin=SHOW).out == "['']\n"


def test_a_file_finds_what_lies_beside_it(sandpiper_on):
    """As with python3: by __file__; and a traceback names it. It is not copied."""
    code = """import os
def half(x): return x / 2
print(open(os.path.join(os.path.dirname(__file__), "beside.txt")).read(), sorted(os.listdir()))
half()
"""
    os.mkdir(sandpiper_on.path("work/sub"))
    r = sandpiper_on.run("exec", "--add", sandpiper_on.write("beside.txt", "here"), sandpiper_on.write("sub/script.py", code))
    assert r.code == 1 and r.out == "here ['beside.txt']\n", r
    assert r.err.startswith('Traceback (most recent call last):\n  File "/mnt/data/script.py", line 4\n    half()\n') and "saved" not in r.err, r


def test_arguments_are_of_one_run(sandpiper):
    """In a sandbox with a name they do not stay for the next, and no cell of ours is counted or seen."""
    try:
        name = "--sandbox-name", "work"
        assert sandpiper.run("exec", *name, sandpiper.write("old.py", "sys = list = print = 1; x = 5; __file__"), "old").code == 0
        r = sandpiper.run("exec", *name, "-", stdin="import builtins\nbuiltins.print(__import__('sys').argv, x, '__file__' in globals())\n1/0")
        assert r.code == 1 and r.out == "['-'] 5 False\n" and "<cell 2>" in r.err, r
    finally:
        sandpiper.run("rm", "--all")


def test_code_on_the_command_line(sandpiper):
    r = sandpiper.run("exec", "-c", "print(__name__)\n1/0")
    assert r.code == 1 and r.out == "__main__\n" and "ZeroDivisionError" in r.err and "line 2" in r.err, r
    assert sandpiper.run("exec", "-c", "").code == 0
    assert sandpiper.run("exec", "--sandbox", "bwrap", "-c", "print(6 * 7)").out == "42\n"


LOOK = "import os, sys\nprint(sorted(os.listdir()), repr(sys.stdin.read()))\nfor f in os.listdir(): print(open(f, 'rb').read())\n"
CSV = "a,b\n1,2\n3,4\n"


def test_piped_data_is_stdin_and_a_file(sandpiper_on):
    """By the same rules as for a question: what they let in is the code's stdin, and a file."""
    for words in (["-c", LOOK], [sandpiper_on.write("look.py", LOOK), "argument"]):
        r = sandpiper_on.run("exec", *words, stdin=CSV)
        assert (r.code, r.out, r.err) == (0, "['stdin.csv'] %r\n%r\n" % (CSV, CSV.encode()), ""), r
    for data, name in (('{"a": [1]}', "stdin.json"), (b"\x89PNG\r\n\x1a\n" + bytes(9), "stdin.png"), ("words\n", "stdin.txt"), (b"\0\1", "stdin")):
        r = sandpiper_on.run("exec", "-v", "-c", "import os, sys\nprint(os.listdir(), sys.stdin.buffer.read())", stdin=data)
        data = data.encode() if isinstance(data, str) else data
        assert r.code == 0 and r.out == "%r %r\n" % ([name], data) and "stdin: %d bytes, in the sandbox as /mnt/data/%s\n" % (len(data), name) in r.err, r


def test_stdin_is_read_as_by_python3(sandpiper):
    """Line by line, by input(), by what the code starts; at the end there is nothing more; the next run in the same sandbox has its own."""
    lines = "one\ntwo\nthree\n"
    r = sandpiper.run("exec", "-c", "import sys\nprint(input())\nfor line in sys.stdin: print(line, end='')\nprint(repr(sys.stdin.read()))\ninput()", stdin=lines)
    assert r.code == 1 and r.out == lines + "''\n" and "EOFError" in r.err, r
    assert sandpiper.run("exec", "-c", "import subprocess; subprocess.run(['sort', '-r'])", stdin=lines).out == "two\nthree\none\n"
    assert sandpiper.run("exec", "-c", "import fileinput\nfor line in fileinput.input(): print(line, end='')", stdin=lines).out == lines
    try:
        read = "exec", "--sandbox-name", "in", "-c", "import sys; print(repr(sys.stdin.read()))"
        assert [sandpiper.run(*read, stdin=data).out for data in ("a", "b", None)] == ["'a'\n", "'b'\n", "''\n"]
    finally:
        sandpiper.run("rm", "--all")


def test_stdin_that_is_no_data_for_the_code(sandpiper):
    look = "import os\nprint(os.listdir())"
    path = sandpiper.write("in.csv", CSV)
    assert sandpiper.run("exec", "-c", look, stdin=b"").out == "[]\n"
    assert sandpiper.run("exec", "--stdin", "ignore", "-c", look, stdin=CSV).out == "[]\n"
    with open(path) as f:
        assert sandpiper.run("exec", "-c", look, stdin=f).out == "['stdin.csv']\n"
        f.seek(4)
        r = sandpiper.run("exec", "-c", look, stdin=f)
        assert r.out == "[]\n" and "--stdin data" in r.err, r
        f.seek(4)
        os.lseek(f.fileno(), 4, os.SEEK_SET)
        assert sandpiper.run("exec", "-q", "--stdin", "data", "-c", "print(open('stdin.csv').read(), end='')", stdin=f).out == CSV[4:]
    r, w = os.pipe()                    # nobody is going to write to it
    try:
        result = sandpiper.run("exec", "-c", look, stdin=r)
    finally:
        os.close(r)
        os.close(w)
    assert result.out == "[]\n" and "--stdin data" in result.err and result.seconds < HANG, result
    r = sandpiper.run("exec", "--data-size", "1m", "-c", look, stdin=b"x" * 3_000_000)
    assert r.code == 125 and "3,000,000" in r.err and r.out == "", r


@pytest.mark.parametrize("words, said", [
    (["exec", "-c"], "-c CODE"),
    (["exec", "--stdin", "script", "-"], "exec -"), (["exec", "--stdin", "data", "-"], "already the code"), (["exec", "--stdin", "data"], "already"),
    (["-c", "print(1)"], "no saved session"), (["--code", "print(1)", "q"], "exec"), (["exec", "-c", b"'\xff'"], "UTF-8"),
])
def test_wrong_words_for_exec(bare, words, said):
    """125 is exec's own failure, as of docker run; python3's code could have ended with 2 itself."""
    r = bare.run(*words, stdin="print(1)")
    assert r.code == (125 if words[0] == "exec" else 2) and r.out == "" and said in r.err and r.err.count("\n") <= 2, r


def test_two_files_of_one_name_both_arrive(bare):
    for folder in ("a", "b"):
        os.makedirs(os.path.join(bare.work, folder))
        bare.write(folder + "/x.csv", folder)
    r = bare.run("exec", "--sandbox", "bwrap", "--add", "a/x.csv", "--add", "b/x.csv", "-c", "print(open('x.csv').read() + open('x-2.csv').read())")
    assert r.code == 0 and r.out == "ab\n", r
    assert "b/x.csv: 1 bytes, in the sandbox as /mnt/data/x-2.csv" in r.err, r


def test_code_in_another_encoding_is_refused_with_the_way_out(bare):
    path = bare.write("latin.py", b'# -*- coding: latin-1 -*-\nprint("gr\xfc\xdfe")\n')
    r = bare.run("exec", path)
    assert r.code == 125 and r.err.endswith("latin.py is not valid UTF-8\n  Convert it: iconv -f LATIN1 -t UTF-8\n"), r


def test_code_of_one_mebibyte_runs_and_no_more(bare):
    """One limit, for whatever way the code comes; the longest that is taken is run."""
    code = "print('ran')\n#"
    longest = code + "#" * ((1 << 20) - len(code))
    r = bare.run("exec", "--sandbox", "bwrap", "-", stdin=longest)
    assert r.code == 0 and r.out == "ran\n", r
    bare.write("long.py", longest + "#")
    for args, stdin in (("-", longest + "#"), ("long.py", "")):
        r = bare.run("exec", "--sandbox", "bwrap", args, stdin=stdin)
        assert r.code == 125 and "1 MiB" in r.err and r.out == "", r


END = """
import atexit, concurrent.futures, threading, time
atexit.register(print, 'bye')
class Last:
    def __del__(self): print('last')
last = Last()
def late(word):
    time.sleep(0.3)
    print(word)
    open(word, 'w').close()
threading.Thread(target=late, args=('thread',)).start()
pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(late, 'pool')
print('end')
"""


@pytest.mark.parametrize("how, code", [("", 0), ("1/0", 1), ("raise SystemExit(3)", 3)])
def test_it_ends_as_python3_does(sandpiper, how, code):
    """Threads are waited for, atexit's functions called, objects let go, also of code that fails."""
    r = sandpiper.run("exec", "-", stdin=END + how)
    lines = r.out.split()
    assert r.code == code and (lines[0], sorted(lines[1:3]), lines[3:]) == ("end", ["pool", "thread"], ["bye", "last"]), r
    assert "files/pool\n" in r.err and "files/thread\n" in r.err and r.err.count("Traceback") == (how == "1/0"), r


def test_a_thread_is_not_waited_for_longer_than_it_may(sandpiper):
    r = sandpiper.run("exec", "--timeout", "1", "-c", "import threading\nthreading.Thread(target=threading.Event().wait).start()")
    assert r.code == 124 and "it ran longer than 1 s" in r.err and r.seconds < HANG, r


@pytest.mark.no_asan
@pytest.mark.skipif(os.geteuid() != 0, reason="hides /proc, which only root can")
def test_without_proc(sandpiper):
    """As in a chroot to which it was not given."""
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"', *sandpiper.argv(["exec", "-c", "1"])]
    r = subprocess.run(hidden, env=sandpiper.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG)
    assert r.returncode == 125 and "/proc is not mounted" in r.stderr and r.stdout == "", r
