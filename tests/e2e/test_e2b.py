"""test_e2b.py - E2B's SDK, unchanged (tests/clients/shapes.txt), against `sandpiper serve`: sandboxes, files, commands, and what is refused.
tests/e2e/test_other_clients.py has the code that it runs."""
import base64
import json
import pathlib
import subprocess
import textwrap

import pytest

from clients import client
from raw_server import wait_for
from serving import Server

pytestmark = pytest.mark.slow(10)


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper, "--queue", "0s")      # no test waits for a place that it does not get
    yield s
    assert s.close() == 0


BEGIN = """
import json, sys, time
from e2b_code_interpreter import Sandbox
def tell(*x): print(json.dumps(x), flush=True)
def refused(f, *words, **named):
    try: return f(*words, **named) and "done"
    except Exception as e: return [type(e).__name__, str(e)]
"""


def told_by(server, *command, key=None, **more):
    env = dict(PATH="/usr/bin:/bin", HOME="/nonexistent", NO_PROXY="*", E2B_API_URL=server.url, E2B_SANDBOX_URL=server.url,
               E2B_API_KEY=key or server.token, **more)
    r = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert r.returncode == 0, r.stdout + r.stderr[-3000:]
    return [json.loads(line) for line in r.stdout.splitlines() if line.startswith("[")]


def e2b(server, program):
    """What a user's program tells: a list for each call of tell()."""
    return told_by(server, client("shapes"), "-I", "-c", BEGIN + textwrap.dedent(program))


@pytest.mark.client("shapes/e2b-code-interpreter", "timeout, metadata, `envs`, list, connect")
def test_sandboxes(server):
    """Made with all that a user sets, listed, found again by its id, given more time, and ended."""
    told = e2b(server, """
        from datetime import datetime, timezone
        def left(s): return (s.get_info().end_at - datetime.now(timezone.utc)).total_seconds()
        a = Sandbox.create(timeout=100, metadata={"user": "ann & bob", "app": "x"}, envs={"WHO": "wörld", "N": "1"})
        b = Sandbox.create(metadata={"app": "y"})
        tell(a.run_code("import os; os.environ['WHO'] + os.environ['N']").text, b.run_code("os.environ['WHO']").error.name)
        i = a.get_info()
        tell(i.sandbox_id == a.sandbox_id, i.metadata, i.state.value, i.cpu_count >= 1, i.memory_mb > 0, 60 < left(a) <= 101)
        def listed(**q): return [x.sandbox_id for x in Sandbox.list(**q).next_items()]
        from e2b import SandboxQuery, SandboxState
        tell(listed() == [a.sandbox_id, b.sandbox_id], listed(query=SandboxQuery(metadata={"user": "ann & bob"})) == [a.sandbox_id],
             listed(query=SandboxQuery(metadata={"app": "z"})), listed(query=SandboxQuery(state=[SandboxState.PAUSED])))
        pages = Sandbox.list(limit=1)
        first, more = pages.next_items(), pages.has_next
        tell(len(first), more, len(pages.next_items()), pages.has_next)
        a.set_timeout(1000)
        again = Sandbox.connect(a.sandbox_id, timeout=20)         # which does not end it earlier
        tell(900 < left(a) <= 1001, again.run_code("os.environ['N']").text, a.is_running())
        context = a.create_code_context()
        tell(a.run_code("import os; os.environ['WHO']", context=context).text)
        a.restart_code_context("default")
        tell(a.run_code("import os; os.environ['WHO']").text)
        tell(a.kill(), a.kill(), a.is_running(), refused(a.get_info)[0], refused(Sandbox.connect, a.sandbox_id)[0], refused(a.set_timeout, 5)[0])
        tell(listed() == [b.sandbox_id], b.get_metrics())
        b.set_timeout(0)
        while b.is_running(): time.sleep(0.05)
        tell(refused(b.run_code, "1")[0])
        """)
    assert told[0] == ["'wörld1'", "NameError"]
    assert told[1] == [True, {"user": "ann & bob", "app": "x"}, "running", True, True, True]
    assert told[2] == [True, True, [], []]
    assert told[3] == [1, True, 1, False]
    assert told[4] == [True, "'1'", True]
    assert told[5] == told[6] == ["'wörld'"]
    gone = "SandboxNotFoundException"
    assert told[7] == [True, False, False, gone, gone, gone]
    assert told[8] == [True, []]
    assert told[9][0] in ("TimeoutException", "SandboxNotRunningException", "NotFoundException")


def test_on_each_engine(sandpiper_on):
    """The main flow: code, commands, files, the folders by the names that E2B's sandboxes have for them, pause, a copy."""
    s = Server(sandpiper_on)
    told = e2b(s, r"""
        s = Sandbox.create(timeout=300, envs={"WHO": "box"})
        tell(s.run_code("import os; x = 6; os.environ['WHO'], os.environ['A']", envs={"A": "1"}).text)
        s.files.write("a.txt", "wörd"); s.files.write("/workspace/b.txt", "2")
        tell(s.commands.run("cat /home/user/a.txt /workspace/a.txt; pwd; echo $WHO", cwd="/workspace").stdout, s.run_code("sorted(os.listdir('/home/user'))").text)
        p = s.commands.run("cat; echo end", background=True, stdin=True)
        p.send_stdin("one\n"); p.close_stdin()
        tell(p.wait().stdout, s.commands.list())
        w = s.files.watch_dir("")
        s.files.rename("b.txt", "d/c.txt")
        while "d" not in [e.name for e in w.get_new_events()]: time.sleep(0.05)
        tell([[e.name, e.type.value] for e in s.files.list("", depth=2)])
        w.stop()
        q = s.commands.run("sleep 1000", background=True)
        tell(s.pause(), s.run_code("x").text, q.kill())
        while s.commands.list(): time.sleep(0.05)
        f = s.fork()[0]
        tell(f.run_code("x, open('/workspace/d/c.txt').read()").text if hasattr(f, "run_code") else str(f))
        tell(s.kill(), f.kill() if hasattr(f, "run_code") else True)
        """)
    assert s.close() == 0 and sandpiper_on.leftovers() == []
    assert told[0] == ["('box', '1')"]
    assert told[1] == ["wördwörd/mnt/data\nbox\n", "['a.txt', 'b.txt']"]
    assert told[2] == ["one\nend\n", []]
    assert told[3] == [[["a.txt", "file"], ["d", "dir"], ["c.txt", "file"]]]
    assert told[4:] == [[True, "6", True], ["(6, '2')"], [True, True]]


def test_what_there_is_not(server):
    """One sentence says so, which the SDK shows."""
    told = e2b(server, """
        tell(refused(Sandbox.create, "my-template"), refused(Sandbox.create, network={"allow_out": ["1.1.1.1"]}),
             refused(Sandbox.create, envs={"A": "x" * 20000}),
             refused(Sandbox.create, timeout=90000), refused(Sandbox.create, allow_internet_access=True),
             refused(Sandbox.create, lifecycle={"on_timeout": {"action": "pause", "mode": "filesystem"}}))
        s = Sandbox.create(allow_internet_access=False)
        tell(refused(s.create_snapshot), refused(s.run_code, "1", language="bash", envs={"A": "1"}), s.get_info().allow_internet_access, s.kill())
        tell(len(Sandbox.list().next_items()))
        from e2b import PtySize
        s = Sandbox.create()
        tell(refused(s.pty.create, PtySize(rows=24, cols=80)), refused(s.commands.run, "id", user="root"), refused(s.files.write, "a", "b", user="root"),
             refused(Sandbox.create, volume_mounts={"/mnt/v": "v"}))
        from e2b import Secret, Volume
        tell(*(refused(f, *words) for f, *words in ((Volume.create, "v"), (Volume.list,), (Volume.connect, "v"), (Volume.get_info, "v"), (Volume.destroy, "v"))))
        tell(*(refused(f, *words) for f, *words in ((Secret.create, "s", "x"), (lambda: Secret.list().next_items(),), (Secret.get_info, "s"))))
        """)
    template, network, much, long, internet, mode = told[0]
    assert "these sandboxes have no network" in internet[1] and "leave the mode out" in mode[1]
    snapshot, envs, *rest = told[1]
    assert "no snapshots are kept here" in snapshot[1] and "only Python has them" in envs[1] and rest == [False, True]
    assert template[0] == "SandboxException" or template[0].endswith("Exception") and "there are no templates here" in template[1]
    assert "no network" in network[1]
    assert "16384 bytes" in much[1] and "timeout: must be at most 86400" in long[1]
    assert told[2] == [0]
    pty, user, owner, volume = (words[1] for words in told[3])
    assert "no pseudo-terminals" in pty and 'no user "root"' in user and 'no user "root"' in owner and "no volumes" in volume
    assert ["there are no volumes here" in words[1] for words in told[4]] == [True] * 5, told[4]
    assert ["no secrets are kept here" in words[1] for words in told[5]] == [True] * 3, told[5]


@pytest.mark.client("shapes/e2b-code-interpreter", "`run_code` with `envs`")
def test_envs_of_a_run(server):
    """They are there for this code alone, however it ends."""
    told = e2b(server, """
        s = Sandbox.create(envs={"OF": "box"})
        look = "import os; [os.environ.get(k) for k in ('OF', 'A', 'B')]"
        tell(s.run_code(look, envs={"A": "1 ' \\" é", "OF": "run"}).text, s.run_code(look).text)
        tell(s.run_code("1/0", envs={"A": "1"}).error.name, s.run_code(look).text)
        tell(s.run_code("import os; os._exit(3)", envs={"A": "1"}).error is not None, s.run_code(look).text)
        c = s.create_code_context()
        tell(s.run_code(look, context=c, envs={"B": "2"}).text, s.run_code(look, context=c).text)
        """)
    assert told[0] == [repr(["run", "1 ' \" é", None]), "['box', None, None]"]
    assert told[1] == ["ZeroDivisionError", "['box', None, None]"]
    assert told[2] == [True, "['box', None, None]"]
    assert told[3] == ["['box', None, '2']", "['box', None, None]"]


@pytest.mark.client("shapes/e2b-code-interpreter", "`fork`")
def test_fork(server):
    """Copies go on with variables, files and environment, apart from each other; what is not copied is not forgotten without a word."""
    told = e2b(server, """
        s = Sandbox.create(timeout=100, metadata={"a": "b"}, envs={"OF": "box"})
        s.run_code("import os; x = 6"); s.files.write("a.txt", "wörd")
        (f,) = s.fork(timeout=50)
        tell(f.sandbox_id != s.sandbox_id, f.run_code("x += 1; x, open('a.txt').read(), os.environ['OF']").text, s.run_code("x").text, f.get_info().metadata)
        many = s.fork(count=2)
        tell([m.run_code("x").text for m in many], len({m.sandbox_id for m in many} | {s.sandbox_id, f.sandbox_id}), [m.kill() for m in many])
        tell([m.run_code("x").text if hasattr(m, "run_code") else type(m).__name__ for m in s.fork(count=20)].count("6"))
        f.kill()
        p = s.commands.run("sleep 1000", background=True)
        tell(refused(s.fork), refused(Sandbox.fork, "0" * 32)[0])
        """)
    assert told[0] == [True, "(7, 'wörd', 'box')", "6", {"a": "b"}]
    assert told[1] == [["6", "6"], 4, [True, True]]
    assert 1 <= told[2][0] < 20
    assert "commands that run" in told[3][0][1] and told[3][1] == "SandboxNotFoundException"


@pytest.mark.client("shapes/e2b-code-interpreter", "commands")
def test_commands(server):
    """In the foreground and in the background, with what they are given, told as it comes, fed, found again, and ended."""
    told = e2b(server, """
        from e2b import CommandExitException
        s = Sandbox.create(envs={"OF": "box", "BOTH": "box"})
        seen = []
        r = s.commands.run("echo out; echo err >&2; echo $OF $BOTH $MINE; pwd", envs={"BOTH": "run", "MINE": "1"}, on_stdout=seen.append)
        tell(r.stdout, r.stderr, r.exit_code, "".join(seen))
        tell(s.commands.run("pwd", cwd="/tmp").stdout, s.commands.run("pwd", cwd="/home/user").stdout, s.commands.run("echo é | wc -c", user="user").stdout)
        try: s.commands.run("echo no >&2; exit 3")
        except CommandExitException as e: tell(e.exit_code, e.stderr)
        tell(refused(s.commands.run, "true", user="root"), refused(s.commands.run, "cd /nowhere", cwd="/nowhere")[0])
        # beside a cell, and beside each other
        p = s.commands.run("cat; echo end", background=True, stdin=True)
        q = s.commands.run("sleep 1000", background=True)
        tell([[x.pid == p.pid, x.args[-1]] for x in sorted(s.commands.list(), key=lambda x: x.pid)], s.run_code("6*7").text)
        p.send_stdin("one\\n"); p.send_stdin(b"two\\n")
        again = Sandbox.connect(s.sandbox_id).commands.connect(p.pid)
        s.commands.stream_input(p.pid, ["three\\n", b"four"])
        p.close_stdin()
        tell(p.wait().stdout, again.wait().stdout.endswith("end\\n"))
        tell(q.kill(), refused(q.wait)[0], q.kill(), [x.pid for x in s.commands.list()], refused(s.commands.connect, q.pid)[0], refused(s.commands.send_stdin, q.pid, "x")[0])
        t = time.monotonic()
        tell(refused(s.commands.run, "sleep 1000", timeout=1)[0], time.monotonic() - t < 60)
        while s.commands.list(): time.sleep(0.05)
        # one that is left to itself goes on; one that says too much, or that is the last thing, ends
        d = s.commands.run("sleep 1000; echo", background=True); d.disconnect()
        tell(len(s.commands.list()), s.commands.run("head -c 3000000 /dev/zero | tr '\\\\0' x").stdout == "x" * 3000000)
        w = s.commands.run("sleep 1000", background=True)
        s.kill()
        tell(refused(w.wait)[0], refused(s.commands.run, "true")[0], refused(s.commands.list))
        """)
    assert told[0] == ["out\nbox run 1\n/mnt/data\n", "err\n", 0, "out\nbox run 1\n/mnt/data\n"]
    assert told[1] == ["/tmp\n", "/mnt/data\n", "3\n"]
    assert told[2] == [3, "no\n"]
    assert told[3][0][0] == "InvalidArgumentException" and 'there is no user "root"' in told[3][0][1] and told[3][1] == "CommandExitException"
    assert told[4] == [[[True, "cat; echo end"], [False, "sleep 1000"]], "42"]
    assert told[5] == ["one\ntwo\nthree\nfourend\n", True]
    assert told[6] == [True, "CommandExitException", False, [], "NotFoundException", "NotFoundException"]
    assert told[7] == ["TimeoutException", True]
    assert told[8] == [1, True]
    assert told[9][:2] == ["SandboxNotRunningException"] * 2, told[9]


def call(server, box, method, message, stream=False):
    """As the SDK sends it, but with any bytes: the status and the body."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    if stream and not isinstance(message, bytes):
        body = b"\0" + len(body).to_bytes(4, "big") + body
    r = server.open("/process.Process/" + method, body, Content_Type="application/connect+json" if stream else "application/json",
                    E2b_Sandbox_Id=box)
    return r.status, r.read()


def end_of(body):
    """The code in the last envelope of a stream."""
    while body:
        flags, size = body[0], int.from_bytes(body[1:5], "big")
        last, body = json.loads(body[5:5 + size]), body[5 + size:]
    assert flags == 2
    return last.get("error", {}).get("code")


def test_hostile_calls(server):
    box = server.ask("/v2/sandboxes", {}, 201)["sandboxID"]
    for bad in (b"", b"\0", b"\0\0\0\0\5{}", b"\0\xff\xff\xff\xff{}", b"\1\0\0\0\2{}", b"\0\0\0\0\2[]", b"\0\0\0\0\1{", b"x" * 1000):
        assert end_of(call(server, box, "Start", bad, stream=True)[1]) == "invalid_argument", bad
        if bad:
            assert end_of(call(server, box, "StreamInput", bad, stream=True)[1]) in ("invalid_argument", "not_found"), bad
    bash = {"cmd": "/bin/bash", "args": ["-c", "echo"]}
    for bad in ({}, {"process": []}, {"process": {"cmd": 1}}, {"process": {**bash, "args": [[]]}}, {"process": {**bash, "envs": {"a=b": "c"}}},
                {"process": {**bash, "envs": {"a": 1}}}, {"process": bash, "pty": {"size": {}}}):
        assert end_of(call(server, box, "Start", bad, stream=True)[1]) == "invalid_argument", bad
    for method in ("SendInput", "SendSignal", "CloseStdin"):
        for bad in ({}, {"process": {"pid": 1}}, {"process": {"pid": -1}}, {"process": {"tag": ""}}, {"process": 7}):
            status, body = call(server, box, method, bad)
            assert (status, json.loads(body)["code"]) == (404, "not_found"), bad
    assert call(server, box, "SendInput", b"[")[0] == 400
    assert call(server, "0" * 32, "SendInput", {})[0] == 502
    assert end_of(call(server, "", "Start", {"process": bash}, stream=True)[1]) == "unavailable"
    # more than is kept of a command; and more than the system takes
    assert end_of(call(server, box, "Start", {"process": {**bash, "args": ["x" * 300000]}}, stream=True)[1]) == "invalid_argument"
    assert b"exitCode\":126" in call(server, box, "Start", {"process": {**bash, "args": ["x" * 200000]}}, stream=True)[1]
    # text of another kind than the route takes
    assert server.open("/process.Process/Start", b"{}", E2b_Sandbox_Id=box).status == 415
    assert server.ask("/run_code", {"sandbox_id": box, "code": "1+1"})["value"] == "2"


def test_many_processes(server):
    """So many, and no more; what one does not read waits, and no more than that. All end with the interpreter."""
    told = e2b(server, """
        s = Sandbox.create()
        p = s.commands.run("sleep 1000", background=True, stdin=True)
        p.send_stdin("x" * 1000000)
        tell(refused(p.send_stdin, "x" * 400000))        # more than the pipe has taken of the first
        many = [s.commands.run("sleep 1000", background=True) for _ in range(3)]
        tell(len(s.commands.list()))
        s.restart_code_context("default")
        tell([refused(q.wait)[0] for q in [p] + many], s.commands.list(), s.commands.run("echo 1").stdout)
        """)
    assert told[0][0][0] == "RateLimitException" and "wait to be read" in told[0][0][1]
    assert told[1:] == [[4], [["CommandExitException"] * 4, [], "1\n"]]


def test_output_without_end(sandpiper):
    s = Server(sandpiper, "--max-output", "3m")
    told = e2b(s, """
        s = Sandbox.create()
        from e2b import CommandExitException
        try: s.commands.run("yes")
        except CommandExitException as e: tell(e.exit_code, e.error, 1000000 < len(e.stdout) <= 3 << 20)
        """)
    assert s.close() == 0
    assert told == [[-1, "it wrote more than 3 MiB (--max-output)", True]]


def test_a_slow_client(server):
    """What it does not take waits in the process, and neither is lost nor fills the server. Where it leaves, the process goes on."""
    box = server.ask("/v2/sandboxes", {}, 201)["sandboxID"]
    start = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "head -c 40000000 /dev/zero; touch done; exec sleep 1000"]}}).encode()
    head = dict(Content_Type="application/connect+json", E2b_Sandbox_Id=box)
    reads, leaves = (server.open("/process.Process/Start", b"\0" + len(start).to_bytes(4, "big") + start, **head) for _ in range(2))
    pids = [p["pid"] for p in json.loads(call(server, box, "List", {})[1])["processes"]]
    assert len(pids) == 2 and server.ask("/list_files", {"sandbox_id": box})["files"] == []
    got = 0
    while got < 40000000:
        flags, size = (lambda h: (h[0], int.from_bytes(h[1:], "big")))(reads.read(5))
        event = json.loads(reads.read(size))["event"]
        got += len(base64.b64decode(event.get("data", {}).get("stdout", "")))
    assert (flags, got) == (0, 40000000)
    wait_for(lambda: server.ask("/list_files", {"sandbox_id": box})["files"])
    server.ask("/run_code", {"sandbox_id": box, "code": "import os; os.remove('done')"})
    leaves.close(), leaves.connection.close()
    wait_for(lambda: server.ask("/list_files", {"sandbox_id": box})["files"])
    assert {p["pid"] for p in json.loads(call(server, box, "List", {})[1])["processes"]} == set(pids)
    reads.close(), reads.connection.close()
    server.ask("/stop_sandbox", {"sandbox_id": box})


@pytest.mark.client("shapes/e2b-code-interpreter", "files")
def test_files(server):
    """Read, written, several at once, listed, moved, removed: anywhere where code may do so, and while it runs."""
    told = e2b(server, r"""
        import io
        s = Sandbox.create()
        f = s.files
        i = f.write("a.txt", "wörd")
        tell(i.name, i.path, i.type.value, f.read("/mnt/data/a.txt"), f.read("/home/user/a.txt"), s.run_code("open('a.txt').read()").text)
        whole = bytes(range(256)) * 8000
        f.write("deep/er/b.bin", whole); f.write("/tmp/c.bin", io.BytesIO(whole[::-1])); f.write("z.txt", "z" * 100000, gzip=True)
        tell(f.read("deep/er/b.bin", format="bytes") == whole, b"".join(f.read("/tmp/c.bin", format="stream")) == whole[::-1], f.read("z.txt") == "z" * 100000)
        from e2b.sandbox.filesystem.filesystem import WriteEntry
        tell([x.path for x in f.write_files([WriteEntry(path='q "1".txt', data="1"), WriteEntry(path="d/2.txt", data=b"2")])], f.read('q "1".txt') + f.read("d/2.txt"))
        tell(f.exists("d"), f.exists("nowhere"), f.make_dir("d"), f.make_dir("new/er"))
        x = f.get_info("d/2.txt")
        tell(x.name, x.type.value, x.path, x.size, x.permissions, x.mode, str(x.modified_time)[:2])
        tell(sorted(e.path for e in f.list("/mnt/data/d")), sorted(e.name for e in f.list("", depth=2)))
        tell(f.rename("d/2.txt", "moved/3.txt").path, f.exists("d/2.txt"))
        f.remove("moved"); f.remove("a.txt")
        tell(f.exists("moved"), f.exists("a.txt"))
        tell(refused(f.read, "nowhere"), refused(f.read, "d"), refused(f.list, "nowhere")[0], refused(f.list, "z.txt")[1], refused(f.write, "/proc/x", "1")[0],
             refused(f.rename, "nowhere", "x")[0], refused(f.read, "x", user="root"), refused(f.write, "d", "1")[1], refused(f.write, "m", "1", metadata={"a": "b"})[1])
        p = s.commands.run("while :; do sleep 1; done", background=True)
        tell(len(s.commands.list()))
        s.kill()
        tell(refused(f.read, "z.txt")[0], refused(f.list, ""))
        """)
    assert told[0] == ["a.txt", "/mnt/data/a.txt", "file", "wörd", "wörd", "'wörd'"]
    assert told[1] == [True, True, True]
    assert told[2] == [['/mnt/data/q "1".txt', "/mnt/data/d/2.txt"], "12"]
    assert told[3] == [True, False, False, True]
    assert told[4] == ["2.txt", "file", "/mnt/data/d/2.txt", 1, "-rw-r--r--", 0o644, "20"]
    assert told[5][0] == ["/mnt/data/d/2.txt"] and told[5][1] == sorted(['2.txt', 'a.txt', 'd', 'deep', 'er', 'er', 'new', 'q "1".txt', 'z.txt'])
    assert told[6:8] == [["/mnt/data/moved/3.txt", False], [False, False]]
    none, folder, nolist, nofolder, denied, nomove, root, isdir, metadata = told[8]
    assert none == ["FileNotFoundException", "/mnt/data/nowhere: no such file or directory"] and folder[1] == "/mnt/data/d is not a file"
    assert nolist == nomove == "FileNotFoundException" and "/mnt/data/z.txt is not a folder" in nofolder and denied.endswith("Exception")
    assert 'there is no user "root"' in root[1] and "/mnt/data/d is a folder" in isdir and "metadata" in metadata
    assert told[9] == [1]
    assert told[10][0] == "SandboxNotRunningException" and told[10][1][0] == "SandboxNotRunningException"


def test_hostile_files(server):
    """Names that no program likes, content that cannot be read, paths that are none."""
    box = server.ask("/v2/sandboxes", {}, 201)["sandboxID"]

    def files(method, **message):
        r = server.open("/filesystem.Filesystem/" + method, message, E2b_Sandbox_Id=box)
        return r.status, json.loads(r.read())

    def write(query, body, **headers):
        r = server.open("/files?" + query, body, E2b_Sandbox_Id=box, Content_Type="application/octet-stream", **headers)
        return r.status, json.loads(r.read())
    made = server.ask("/run_code", {"sandbox_id": box, "code": textwrap.dedent(r"""
        import os
        os.makedirs('n/deep')
        for n in (b'a\nb', b'\xff\xfe', b'\x1b[2J', b'x' * 255): open(b'n/' + n, 'w').close()
        os.symlink('/nowhere', 'n/link')
        __import__('socket').socket(1).bind('socket')
        os.chdir('n/deep')
        for i in range(1500):
            os.mkdir('d')
            os.chdir('d')
        os.chdir('/mnt/data')
        """)})
    assert made["status"] == "ok", made
    status, body = files("ListDir", path="n")
    names = {e["name"] for e in body["entries"]}
    assert status == 200 and {"a\nb", "\x1b[2J", "x" * 255, "link", "deep"} < names and len(names) == 6, names
    status, body = files("ListDir", path="n", depth=100000)
    assert status == 400 and "nested too deep" in body["message"], body
    assert files("Stat", path="n/a\nb")[1]["entry"]["name"] == "a\nb"
    for path in ("", "/", "/mnt/data", "/workspace", "../data", "/home/user/"):
        status, body = files("Remove", path=path)
        assert status == 400 and "cannot be removed" in body["message"], (path, body)
    for path in ("x\0y", "\ud800", "y" * 300, "/" * 5000, "n/" * 3000):
        status, body = files("Stat", path=path)
        assert status in (200, 400, 404) and status != 503, (path[:10], body)
    # one that can be opened but not read; a pipe; what is no compressed file; a name as long as can be
    r = server.open("/files?path=/proc/self/mem", E2b_Sandbox_Id=box)
    assert r.status == 400 and "input/output error" in r.read().decode()
    assert "/mnt/data/socket" in server.open("/files?path=socket", E2b_Sandbox_Id=box).read().decode()
    status, body = write("path=z", b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\xff" * 100, Content_Encoding="gzip")
    assert status == 400 and "python3 did not answer" not in body["message"], body
    long = "%C3%A9" * 127
    assert write("path=" + long, b"1")[0] == 200 and files("Stat", path="é" * 127)[0] == 200
    assert write("path=../../etc/x", b"1")[0] in (403, 404)
    assert [f["name"] for f in server.ask("/list_files", {"sandbox_id": box})["files"] if ".part" in f["name"]] == []
    for bad in ("SIGNAL_UNSPECIFIED", "SIGNAL_SIGHUP", 1, None):
        server.ask("/run_code", {"sandbox_id": box, "code": "1"})
        start = server.open("/process.Process/Start", b"\0\0\0\0\x30" + b'{"process":{"cmd":"sleep","args":["1000"]}}'.ljust(0x30),
                            Content_Type="application/connect+json", E2b_Sandbox_Id=box)
        pid = json.loads(start.read(int.from_bytes(start.read(5)[1:], "big")))["event"]["start"]["pid"]
        status, body = call(server, box, "SendSignal", {"process": {"pid": pid}, "signal": bad})
        assert status == 400 and b"SIGKILL" in body, body
        status, body = call(server, box, "SendInput", {"process": {"pid": pid}, "input": {"stdin": "eA=="}})
        assert status == 400 and b"without one" in body, body
        assert call(server, box, "SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})[0] == 200
        assert end_of(start.read()) is None


@pytest.mark.client("shapes/e2b-code-interpreter", "`watch_dir`")
def test_watch(server):
    """What changes in a folder, and below it."""
    told = e2b(server, r"""
        s = Sandbox.create()
        s.files.make_dir("w/in")
        flat, deep = s.files.watch_dir("w"), s.files.watch_dir("w", recursive=True)
        s.files.write("w/in/a.txt", "1"); s.files.write("w/b.txt", "1")
        def seen(w, name):
            got = []
            while name not in [e[0] for e in got]: got += [[e.name, e.type.value] for e in w.get_new_events()]; time.sleep(0.02)
            return [e for e in got if ".part" not in e[0]]
        a, b = seen(flat, "b.txt"), seen(deep, "b.txt")
        tell(a, b)
        s.commands.run("mv w/b.txt w/c.txt"); x = seen(flat, "c.txt")
        s.commands.run("chmod 600 w/c.txt"); x += seen(flat, "c.txt")
        s.files.remove("w/c.txt"); x += seen(flat, "c.txt")
        tell(x)
        tell(len(s.commands.list()))
        flat.stop()
        tell(refused(flat.get_new_events)[0], refused(s.files.watch_dir, "nowhere")[0], isinstance(deep.get_new_events(), list))
        s.kill()
        """)
    assert ["b.txt", "create"] in told[0][0] and ["b.txt", "write"] in told[0][0] and not [e for e in told[0][0] if "a.txt" in e[0]]
    assert ["in/a.txt", "create"] in told[0][1] and ["b.txt", "write"] in told[0][1]
    assert told[1] == [[["b.txt", "rename"], ["c.txt", "create"], ["c.txt", "chmod"], ["c.txt", "remove"]]]
    assert told[2] == [0]
    assert told[3][:2] == ["SandboxException", "FileNotFoundException"]



@pytest.mark.client("shapes/e2b-code-interpreter", "pause and connect")
def test_pause(server):
    """All in it stands still, and goes on where it was, by connect() or by being used."""
    told = e2b(server, r"""
        from e2b import SandboxQuery, SandboxState
        s = Sandbox.create(timeout=100)
        s.run_code("import threading, time\nn = 0\ndef count():\n    global n\n    while True: n += 1; time.sleep(0.01)\nthreading.Thread(target=count, daemon=True).start()")
        p = s.commands.run("i=0; while read x; do i=$((i+1)); echo $i; done", background=True, stdin=True)
        p.send_stdin("x\n")
        tell(next(iter(p))[0], s.pause(), s.pause(), s.get_info().state.value, len(Sandbox.list(query=SandboxQuery(state=[SandboxState.PAUSED])).next_items()))
        again = Sandbox.connect(s.sandbox_id, timeout=50)
        tell(again.get_info().state.value, again.run_code("n > 0").text, [x.pid for x in again.commands.list()] == [p.pid])
        p.send_stdin("x\n"); p.close_stdin()
        tell(p.wait().stdout)
        s.pause()
        tell(s.run_code("n > 0").text, s.get_info().state.value)
        s.kill()
        s = Sandbox.create(timeout=100, lifecycle={"on_timeout": "pause"})
        s.run_code("n = 7")
        s.set_timeout(0)
        while s.get_info().state.value != "paused": time.sleep(0.05)
        s.connect()
        tell(s.run_code("n").text)
        """)
    assert told[0] == ["1\n", True, False, "paused", 1]
    assert told[1] == ["running", "True", True]
    assert told[2] == ["1\n2\n"]
    assert told[3] == ["True", "running"]
    assert told[4] == ["7"]



def test_a_server_that_is_killed(sandpiper, tmp_path):
    """The next one knows what a paused sandbox is, and lets it go on."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef" * 4)
    file.chmod(0o600)
    first = Server(sandpiper, "--token-file", str(file), token=file.read_text())
    (box,) = e2b(first, "s = Sandbox.create(timeout=500, metadata={'a': 'b'}); s.run_code('n = 7'); s.pause(); tell(s.sandbox_id)")[0]
    first.process.kill()
    first.process.wait()
    first.process.stderr.close()
    second = Server(sandpiper, "--token-file", str(file), token=file.read_text())
    told = e2b(second, """
        i = Sandbox.list().next_items()[0]
        s = Sandbox.connect(i.sandbox_id)
        tell(i.sandbox_id, i.metadata, i.state.value, s.run_code("n").text, s.commands.run("echo 1").stdout, s.kill())
        """)
    assert second.close() == 0
    assert told == [[box, {"a": "b"}, "paused", "7", "1\n", True]]


JAVASCRIPT = r"""
import { createRequire } from 'node:module'
const { Sandbox, CommandExitError } = createRequire(process.env.MODULES + '/')('@e2b/code-interpreter')
const tell = (...x) => console.log(JSON.stringify(x))
const refused = async (f) => { try { await f(); return 'done' } catch (e) { return [e.constructor.name, e.message] } }
const s = await Sandbox.create({ timeoutMs: 100_000, metadata: { app: 'js' }, envs: { WHO: 'box' } })
tell((await s.runCode('6*7')).text, await s.isRunning(), (await s.getInfo()).metadata)
const r = await s.commands.run('echo $WHO $MINE; echo err >&2', { envs: { MINE: '1' } })
tell(r.stdout, r.stderr, r.exitCode)
try { await s.commands.run('exit 3') } catch (e) { tell(e instanceof CommandExitError, e.exitCode) }
const p = await s.commands.run('cat; echo end', { background: true, stdin: true })
tell((await s.commands.list()).length)
await s.commands.sendStdin(p.pid, 'typed\n')
await s.commands.closeStdin(p.pid)
tell((await p.wait()).stdout)
const q = await s.commands.run('sleep 1000', { background: true })
tell(await q.kill(), (await refused(() => q.wait()))[0])
await s.files.write('a.txt', 'wörd')
const whole = new Uint8Array(300000).map((_, i) => i)
await s.files.write([{ path: 'd/1.txt', data: 'one' }, { path: 'd/2.bin', data: whole.buffer }])
tell(await s.files.read('a.txt'), (await s.files.read('d/2.bin', { format: 'bytes' })).length, (await s.files.list('d')).map((e) => [e.name, e.type, e.size]))
let changed
const change = new Promise((f) => { changed = f })
const w = await s.files.watchDir('d', (e) => { if (e.name == '3.txt' && e.type == 'write') changed(e.name) })
await s.files.write('d/3.txt', '3')
tell(await change)
await w.stop()
tell(await s.files.exists('d/1.txt'), await s.files.makeDir('d'), (await s.files.rename('d/1.txt', 'e/1.txt')).path, await s.files.remove('e'), await s.files.exists('e'))
tell(await refused(() => s.files.read('none')), await refused(() => s.pty.create({ cols: 80, rows: 24, onData: () => {} })), await refused(() => Sandbox.create('mine')))
const again = await Sandbox.connect(s.sandboxId)
tell(again.sandboxId == s.sandboxId, (await Sandbox.list({ query: { metadata: { app: 'js' } } }).nextItems()).length)
await again.setTimeout(500_000)
tell(await s.kill(), await s.isRunning())
"""


@pytest.mark.client("e2bjs/@e2b/code-interpreter", "`runCode`, commands, files, `watchDir`, list, connect")
@pytest.mark.no_asan
def test_javascript(server, tmp_path):
    """The SDK for JavaScript, as its users have it."""
    program = tmp_path / "program.mjs"
    program.write_text(JAVASCRIPT)
    node = client("e2bjs", "node")
    told = told_by(server, node, str(program), MODULES=str(pathlib.Path(node).parent.parent / "npm" / "node_modules"))
    assert told[0] == ["42", True, {"app": "js"}]
    assert told[1:4] == [["box 1\n", "err\n", 0], [True, 3], [1]]
    assert told[4:6] == [["typed\nend\n"], [True, "CommandExitError"]]
    assert told[6] == ["wörd", 300000, [["1.txt", "file", 3], ["2.bin", "file", 300000]]]
    assert told[7:9] == [["3.txt"], [True, False, "/mnt/data/e/1.txt", None, False]]
    none, terminal, template = told[9]
    assert none[0] == "FileNotFoundError" and "no pseudo-terminals" in terminal[1] and "there are no templates here" in template[1]
    assert told[10:] == [[True, 1], [True, False]]


AGENTS = r"""
import asyncio, io, json
from pathlib import Path
from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions

async def main():
    client = E2BSandboxClient()
    session = await client.create(options=E2BSandboxClientOptions(sandbox_type="e2b_code_interpreter"))
    async with session:
        said = await session.exec("pwd; echo 6*7 | python3 -c 'print(eval(input()))'", shell=True)
        await session.write(Path("a.txt"), io.BytesIO(b"hello"))
        read = (await session.read(Path("a.txt"))).read()
        print(json.dumps([said.stdout.decode(), said.exit_code, read.decode(), (await session.exec("cat a.txt; exit 3", shell=True)).exit_code, await session.running()]))
    await client.delete(session)

asyncio.run(main())
"""


@pytest.mark.client("e2bagents/openai-agents", "its sandbox client for E2B, with its defaults")
@pytest.mark.no_asan
def test_openai_agents(sandpiper, tmp_path):
    """OpenAI's Agents SDK with E2B's sandboxes: an earlier release of E2B's SDK, which wants a key of e2b_ and hex digits. Its workspace is
    /workspace, and it asks for the internet unless it is told not to."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef" * 4)
    file.chmod(0o600)
    s = Server(sandpiper, "--token-file", str(file), token=file.read_text())
    told = told_by(s, client("e2bagents"), "-I", "-c", AGENTS, key="e2b_" + s.token)
    assert s.close() == 0
    assert told == [["/mnt/data\n42\n", 0, "hello", 3, True]]
