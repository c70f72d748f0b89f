"""test_runner.py - the process that holds one sandbox of serve's or mcp's: what it answers, how it is cancelled, how it ends."""
import glob
import json
import os
import signal

import pytest

from conftest import HANG
from raw_server import wait_for
from runner_child import Runner


@pytest.fixture
def runner(sandpiper):
    r = Runner(sandpiper)
    yield r
    r.close()


def test_answers(sandpiper_on, engine):
    r = Runner(sandpiper_on)
    assert r.ask("info")["engine"] == engine
    assert r.heard()["ready"] is True and r.heard()["engine"] == engine
    one = r.code("print('a')\nx = 41\nx + 1")
    assert one == {"status": "ok", "output": "a\n42", "stdout": "a\n", "stderr": "", "value": "42", "error": None, "exit_code": 0, "files": [],
                   "data": {"text/plain": "42"}, "seconds": one["seconds"], "state_lost": False, "state_restored": False, "notices": []}
    info = r.ask("info")
    assert info["cells"] == 1 and info["variables"] == "x (int)" and info["memory"] == 1 << 30, info
    assert r.ask("reset") == {} and r.code("x")["error"]["name"] == "NameError"
    assert r.close() == 0 and sandpiper_on.leftovers() == []


def test_ends_of_code(runner):
    failed = runner.code("{}['k']")
    assert failed["status"] == "exception" and failed["exit_code"] == 1, failed
    assert failed["error"]["name"] == "KeyError" and failed["error"]["text"] == "'k'" and "line 1" in failed["error"]["traceback"], failed
    ended = runner.code("exit(3)")
    assert ended["status"] == "exit" and ended["exit_code"] == 3 and ended["error"]["name"] == "SystemExit", ended
    late = runner.code("x = 1\nwhile True: pass", timeout=0.2)
    assert late["status"] == "timeout" and late["exit_code"] == 124 and not late["state_lost"], late
    assert late["notices"] == ["variables are kept"] and "variables" not in late["error"]["text"], late
    dead = runner.code("import os\nos._exit(1)")
    assert dead["status"] == "died" and not dead["state_lost"] and any("variables are back to" in n for n in dead["notices"]), dead
    assert runner.code("x")["value"] == "1"


def test_output(runner):
    """stdout, stderr, and both in their order, also live; characters are whole, whatever pieces they come in; a flood is cut, and said so."""
    number = runner.send("run_code", {"code": "import sys, os\nprint('ü' * 3, flush=True)\nos.write(2, b'\\xff\\xfe')\nprint('end')"}, events=True)
    events, last = runner.answer(number)
    both = last["result"]
    assert both["stdout"] == "üüü\nend\n" and both["stderr"] == "\ufffd\ufffd" and len(both["output"]) == len(both["stdout"]) + 2, both
    assert "".join(e["text"] for e in events if e["stream"] == "stdout") == "üüü\nend\n", events
    events, last = runner.answer(runner.send("run_code", {"code": "import os\nfor b in 'aü€'.encode(): os.write(1, bytes([b]))"}, events=True))
    assert "".join(e["text"] for e in events) == "aü€", events
    flood = runner.code("print('x' * (3 << 20))")
    assert len(flood["stdout"]) == 1 << 20 and any("3145729 bytes" in n for n in flood["notices"]) and "3145729" in flood["output"][-100:], flood["notices"]


@pytest.mark.slow(3)
def test_files_and_forms(runner):
    made = runner.code("open('a.csv', 'w').write('x,y')\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")
    files = {f["name"]: f for f in made["files"]}
    assert files["a.csv"]["kind"] == "file" and files["a.csv"]["type"].startswith("text/csv") and files["a.csv"]["size"] == 3, made
    assert files["figure-1.png"]["kind"] == "figure" and open(files["figure-1.png"]["path"], "rb").read(4) == b"\x89PNG", made
    rich = runner.code("import pandas as pd\npd.DataFrame({'a': [1]})")["data"]
    assert "<table" in rich["text/html"] and rich["text/plain"], rich


@pytest.mark.slow(3)
def test_control_characters(runner):
    """In JSON such a character has six bytes: what has room as text has room as a message, in both directions."""
    full = runner.code("import sys\nx = 1\nclass Rich:\n    def _repr_html_(self): return chr(1) * 1000000\n"
                       "for out in sys.stdout, sys.stderr: out.write(chr(1) * (1 << 20))\nRich()")
    assert len(full["stdout"]) == len(full["stderr"]) == 1 << 20 and full["data"]["text/html"].count("\1") == 1000000
    assert runner.ask("put_file", name="a", content="\1" * (5 << 20))["size"] == 5 << 20 and runner.code("x")["value"] == "1"


def test_refusals(runner):
    for arguments, said in (({}, "code: is missing"), ({"code": 1}, "code: must be a string"), ({"code": "1", "nope": 1}, "nope: there is no such field"),
                            ({"code": "1", "language": "ruby"}, 'language: must be one of "py", "python", "python3", "sh", "bash", "sql", "js", "javascript", "nodejs", "ts", "typescript"'),
                            ({"code": "1", "timeout": 0}, "timeout: must be more than 0"),
                            ({"code": "x" * ((1 << 20) + 1)}, "code: must have at most 1048576 characters")):
        e = runner.refused("run_code", **arguments)
        assert e["kind"] == "usage" and e["text"] == said, e
    assert "no such operation" in runner.refused("fly")["text"]
    assert runner.code("2")["value"] == "2"


def test_cancel(runner):
    """It interrupts the request that it names, and none after it."""
    runner.code("x = 5")
    number = runner.send("run_code", {"code": "print('up', flush=True)\nwhile True: pass"}, events=True)
    while runner.message().get("event") != "output":
        pass
    runner.cancel(number)
    events, last = runner.answer(number)
    assert last["result"]["status"] == "interrupted" and last["result"]["exit_code"] == 130, last
    runner.cancel(number)
    assert runner.code("x")["value"] == "5"


def test_cancel_before_it_begins(runner):
    """The request and its cancel come together, while nothing runs and while the sandbox still starts."""
    for _ in range(3):
        runner.number += 1
        line = json.dumps({"id": runner.number, "op": "run_code", "arguments": {"code": "while True: pass"}})
        runner.sock.sendall(b'%s\n{"cancel":%d}\n' % (line.encode(), runner.number))
        answer = runner.answer(runner.number)[1]
        assert answer.get("error", {}).get("kind") == "cancelled" or answer["result"]["status"] == "interrupted", answer
    assert runner.code("6 * 7")["value"] == "42"


def test_end_in_a_cell(sandpiper):
    """The front is killed while code runs: the runner ends, and its sandbox."""
    r = Runner(sandpiper)
    r.send("run_code", {"code": "print('up', flush=True)\nimport time\ntime.sleep(600)"}, events=True)
    while r.message().get("event") != "output":
        pass
    assert r.close() == 0 and sandpiper.leftovers() == []
    assert glob.glob(sandpiper.path("state/sandpiper/sessions/*")) == []


@pytest.mark.parametrize("line", [b"\n", b"[]\n", b"x\n", b'{"id":1}\n{"id":2}\n{"id":3}\n'])
def test_nonsense(sandpiper, line):
    r = Runner(sandpiper)
    r.sock.sendall(line)
    while r.message():
        pass
    assert r.process.wait(HANG) == 0
    r.close()


def test_named(sandpiper):
    """One that is killed is replaced by another at the same sandbox; one that nobody used leaves nothing."""
    args = ("--sandbox-name=srv-1", "--sandbox-idle=60s")
    first = Runner(sandpiper, *args)
    first.code("x = 7")
    os.kill(first.process.pid, signal.SIGKILL)
    first.close()
    second = Runner(sandpiper, *args)
    assert second.code("x")["value"] == "7"
    second.send("run_code", {"code": "import time\ntime.sleep(600)"})
    third = Runner(sandpiper, *args)               # waits until the second has let go
    second.close()
    assert third.code("x")["value"] == "7"
    third.sock.sendall(b'{"end":true}\n')
    assert third.process.wait(HANG) == 0
    third.close()
    unused = Runner(sandpiper, *args)
    assert unused.heard()["ready"]
    unused.close()
    assert sandpiper.run("ps", "--json").out == "" and sandpiper.leftovers() == []


def test_one_from_a_pool_is_held_for_longer(sandpiper):
    """What "hold" says counts even if the runner is killed at once. The other one, of which nobody has said it, is gone first."""
    for name, more in (("srv-1", [("hold", {"idle_ms": 600000})]), ("srv-2", [])):
        runner = Runner(sandpiper, "--sandbox-name=" + name, "--sandbox-idle=1s")
        runner.code("x = 6")
        for op, arguments in more:
            runner.ask(op, **arguments)
        runner.code("x += 1")
        os.kill(runner.process.pid, signal.SIGKILL)
        runner.close()
    wait_for(lambda: "srv-2" not in sandpiper.run("ps").out)
    runner = Runner(sandpiper, "--sandbox-name=srv-1", "--sandbox-idle=1s")
    assert runner.code("x")["value"] == "7"
    runner.close()
    assert sandpiper.run("rm", "srv-1").code == 0


def test_not_for_people(sandpiper):
    r = sandpiper.run("runner")
    assert r.code == 2 and "sandpiper -p runner" in r.err and r.err.count("\n") == 2, r


def test_start_fails(sandpiper):
    r = Runner(sandpiper, "--sandbox=docker", "--image=no/such:image")
    failed = r.heard()["failed"]
    assert failed["kind"] == "sandbox" and "no/such" in failed["text"], failed
    assert r.refused("run_code", code="1")["kind"] == "sandbox"
    assert r.close() == 0


def test_commands(sandpiper_on):
    """Beside the interpreter: what the code did to its modules, or is in the middle of, changes nothing."""
    r = Runner(sandpiper_on)
    r.code("import os, subprocess\nsubprocess.__dict__.clear()\nos.fork = os.execve = os.pipe = os.posix_spawn = None\nos.chdir('/')\nx = 6")
    done = r.ask("execute_command", command="echo out; echo err >&2; echo made > m.txt; exit 3")
    assert (done["stdout"], done["stderr"], done["exit_code"]) == ("out\n", "err\n", 3), done
    assert sorted(done["output"].split()) == ["err", "out"] and [f["name"] for f in done["files"]] == ["m.txt"], done
    words = r.ask("execute_command", command=["printf", "%s|", "a b", "$HOME", "*", ";id"])
    assert words["stdout"] == "a b|$HOME|*|;id|" and words["exit_code"] == 0, words
    assert r.ask("execute_command", command="kill -9 $$")["exit_code"] == 137
    missing = r.ask("execute_command", command=["nope"])
    assert missing["exit_code"] == 127 and missing["stderr"] == "nope: not found\n", missing
    behind = r.ask("execute_command", command="sleep 600 & echo gone")      # what is left running holds its stdout
    assert behind["stdout"] == "gone\n" and behind["seconds"] < 60, behind
    late = r.ask("execute_command", command="echo first; sleep 600", timeout=0.3)
    assert late["exit_code"] == 124 and late["stdout"] == "first\n" and "time limit" in late["stderr"], late
    assert r.code("x")["value"] == "6"
    r.close()


def test_command_cancelled(runner):
    number = runner.send("execute_command", {"command": "trap '' INT; echo up; while :; do sleep 1; done"}, events=True)
    while runner.message().get("event") != "output":
        pass
    runner.cancel(number)
    last = runner.answer(number)[1]["result"]
    assert last["exit_code"] == 130 and "interrupted the command" in last["stderr"], last
    flood = runner.ask("execute_command", command="yes | head -c 3000000")
    assert len(flood["stdout"]) == 1 << 20 and "3000000 bytes" in flood["output"][-100:], flood["output"][-100:]


def test_command_in_little_memory(sandpiper_on):
    """The command dies, or all that runs in the sandbox does, but never the sandbox, and the files are there."""
    r = Runner(sandpiper_on, "--memory=128m")
    r.code("open('here', 'w').write('1')")
    big = r.ask("execute_command", command=["python3", "-c", "x = bytearray(1 << 30)"])
    assert big["exit_code"] != 0, big
    assert r.code("open('here').read()")["value"] == "'1'"
    r.close()


def test_files_in_and_out(runner, tmp_path):
    assert runner.ask("put_file", name="a/b.txt", content="hellö") == {"name": "a/b.txt", "size": 6}
    assert runner.ask("put_file", name="c.bin", content="AAEC/w==", encoding="base64")["size"] == 4
    passed = tmp_path / "big"
    passed.write_bytes(os.urandom(3 << 20))
    with open(passed, "rb") as f:
        assert runner.ask("put_file", fd=f.fileno(), name="big.bin")["size"] == 3 << 20
    assert runner.code("open('a/b.txt', encoding='utf-8').read(), open('c.bin', 'rb').read()")["value"] == repr(("hellö", b"\0\1\2\xff"))
    assert runner.ask("list_files") == {"files": [{"name": "a/b.txt", "size": 6}, {"name": "big.bin", "size": 3 << 20}, {"name": "c.bin", "size": 4}], "more": 0}
    got = runner.ask("get_file", name="big.bin")
    assert got["size"] == 3 << 20 and open(got["path"], "rb").read() == passed.read_bytes(), got
    got = runner.ask("get_file", name="a/b.txt")
    assert got["type"].startswith("text/plain") and open(got["path"]).read() == "hellö", got
    runner.ask("info")
    assert not os.path.exists(got["path"])
    runner.code("import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")       # a figure has no file inside
    got = runner.ask("get_file", name="figure-1.png")
    assert got["type"] == "image/png" and open(got["path"], "rb").read(4) == b"\x89PNG", got
    runner.code("import os\nos.symlink('/etc/passwd', 'link')")
    for name, code, said in (("nope", 2, "No such file"), ("a", 22, "not a regular file"), ("link", 22, "symbolic links"),
                             ("../etc/passwd", 0, "cannot be a file name"), ("/etc/passwd", 0, "cannot be a file name"), ("a//b.txt", 0, "cannot be")):
        e = runner.refused("get_file", name=name)
        assert e["kind"] == "usage" and e["code"] == code and said in e["text"], e
    for more in ({"name": "x"}, {"name": "x", "content": "!", "encoding": "base64"}, {"name": "../x", "content": ""}, {"name": "x/../y", "content": ""}):
        assert runner.refused("put_file", **more)["kind"] == "usage", more
    assert [f["name"] for f in runner.ask("list_files")["files"]] == ["a/b.txt", "big.bin", "c.bin"]


def test_many_files(runner):
    runner.code("for i in range(1100): open('f%04d' % i, 'w').write('x')")
    listed = runner.ask("list_files")
    assert len(listed["files"]) == 1000 and listed["more"] == 100 and listed["files"][0] == {"name": "f0000", "size": 1}, listed["more"]
