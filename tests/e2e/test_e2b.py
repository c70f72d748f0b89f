"""test_e2b.py - E2B's SDK, unchanged (tests/clients/shapes.txt), against `sandpiper serve`: sandboxes, files, commands, and what is refused.
tests/e2e/test_other_clients.py has the code that it runs."""
import base64
import json
import subprocess
import textwrap

import pytest

from clients import client
from raw_server import wait_for
from serving import Server

pytestmark = pytest.mark.slow(10)


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper)
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


def e2b(server, program):
    """What a user's program tells: a list for each call of tell()."""
    env = dict(PATH="/usr/bin:/bin", HOME="/nonexistent", NO_PROXY="*", E2B_API_URL=server.url, E2B_SANDBOX_URL=server.url,
               E2B_API_KEY=server.token)
    r = subprocess.run([client("shapes"), "-I", "-c", BEGIN + textwrap.dedent(program)], env=env, capture_output=True, text=True, timeout=240)
    assert r.returncode == 0, r.stderr[-3000:]
    return [json.loads(line) for line in r.stdout.splitlines() if line.startswith("[")]


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


def test_what_there_is_not(server):
    """One sentence says so, which the SDK shows."""
    told = e2b(server, """
        tell(refused(Sandbox.create, "my-template"), refused(Sandbox.create, network={"allow_out": ["1.1.1.1"]}),
             refused(Sandbox.create, lifecycle={"on_timeout": "pause"}), refused(Sandbox.create, envs={"A": "x" * 20000}),
             refused(Sandbox.create, timeout=90000))
        tell(len(Sandbox.list().next_items()))
        """)
    template, network, pause, much, long = told[0]
    assert template[0] == "SandboxException" or template[0].endswith("Exception") and "there are no templates here" in template[1]
    assert "no network" in network[1] and "does not pause by itself" in pause[1]
    assert "16384 bytes" in much[1] and "timeout: must be at most 86400" in long[1]
    assert told[1] == [0]


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
    # a message that does not fit into a command
    assert end_of(call(server, box, "Start", {"process": {**bash, "args": ["x" * 2000000]}}, stream=True)[1]) == "unavailable"
    # text of another kind than the route takes
    assert server.open("/process.Process/Start", b"{}", E2b_Sandbox_Id=box).status == 415
    assert server.ask("/run_code", {"sandbox_id": box, "code": "1+1"})["value"] == "2"


def test_many_processes(server):
    """So many, and no more; what one does not read waits, and no more than that. All end with the interpreter."""
    told = e2b(server, """
        s = Sandbox.create()
        p = s.commands.run("sleep 1000", background=True, stdin=True)
        p.send_stdin("x" * 1000000)
        tell(refused(p.send_stdin, "x" * 100000))
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
