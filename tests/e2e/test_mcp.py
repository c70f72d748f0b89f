"""test_mcp.py - `sandpiper mcp` with a plain client: tools, progress, cancelling, files, both families of revisions, hostile messages, ends."""
import base64
import json
import os
import re
import signal
import subprocess

import pytest

from conftest import BIN, HANG
from mcp_stdio import Mcp, text

TOOLS = ["execute_python", "execute_command", "put_file", "get_file", "list_files", "reset_sandbox", "fork_sandbox"]


@pytest.fixture(params=["modern", "handshake"])
def mcp(sandpiper, request):
    m = Mcp(sandpiper, modern=request.param == "modern")
    yield m
    code, err = m.close()
    assert (code, err) == (0, ""), (code, err)
    assert sandpiper.leftovers() == []


def test_on_each_engine(sandpiper_on):
    m = Mcp(sandpiper_on, modern=True)
    one = m.code("print('out')\nx = 41\nx + 1")
    assert text(one) == "out\n42" and not one["isError"], one
    assert one["structuredContent"]["value"] == "42" and one["resultType"] == "complete", one
    assert m.code("x")["structuredContent"]["value"] == "41"
    assert m.close() == (0, "")
    assert sandpiper_on.leftovers() == []


def test_a_long_list_of_files(mcp):
    """What is left out of it is said, as of any long output."""
    mcp.code("for i in range(1100): open('%04d' % i + 'n' * 100, 'w').close()")
    listed = mcp.call("list_files")
    assert len(listed["structuredContent"]["files"]) == 1000 and listed["structuredContent"]["more"] == 100
    told = text(listed)
    assert told.startswith("0000n") and told.endswith("... and 100 more\n") and " bytes are left out here]" in told, told[-300:]


def test_tools(mcp):
    listed = mcp.ask("tools/list")["result"]
    assert [t["name"] for t in listed["tools"]] == TOOLS
    for t in listed["tools"]:
        assert t["inputSchema"]["properties"]["sandbox"]["type"] == "string" and t["outputSchema"]["type"] == "object", t
        assert t["annotations"]["openWorldHint"] is False and t["title"] and t["description"], t
        assert '"type": [' not in json.dumps(t), t          # which some providers of models do not take
    assert ("ttlMs" in listed) == mcp.modern and ("_meta" in listed) == mcp.modern
    assert mcp.ask("prompts/list")["result"]["prompts"] == []
    assert mcp.ask("resources/list")["result"]["resources"] == []
    assert len(mcp.ask("resources/templates/list")["result"]["resourceTemplates"]) == 1
    if mcp.modern:
        found = mcp.ask("server/discover")["result"]
        assert "2026-07-28" in found["supportedVersions"] and set(found["capabilities"]) == {"tools", "resources", "prompts"}, found
        assert mcp.ask("ping")["error"]["code"] == -32601
    else:
        assert mcp.ask("ping")["result"] == {} and mcp.hello["protocolVersion"] == "2025-11-25", mcp.hello


def test_failing_code_is_for_the_model(mcp):
    failed = mcp.code("print('before')\n{}['k']")
    assert failed["isError"] and text(failed).startswith("before\nTraceback") and "KeyError: 'k'" in text(failed), failed
    assert failed["structuredContent"]["error"]["name"] == "KeyError"
    assert not mcp.code("exit(0)")["isError"] and mcp.code("exit(2)")["isError"]
    late = mcp.code("while True: pass", timeout=0.2)
    assert late["isError"] and late["structuredContent"]["status"] == "timeout" and "0.2 s" in text(late), late
    killed = mcp.code("import os\nos.kill(os.getpid(), 9)")
    assert killed["isError"] and text(killed).lower().count("variables are back to what they were before this code") == 1, killed
    wrong = mcp.call("execute_python", cod="1")
    assert wrong["isError"] and "code" in text(wrong), wrong


def test_figures_and_files(mcp):
    made = mcp.code("open('/mnt/data/a b.csv', 'w').write('x,y\\n1,2\\n')\nopen('/mnt/data/b.bin', 'wb').write(bytes(range(256)))\n"
                    "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")
    images = [c for c in made["content"] if c["type"] == "image"]
    assert len(images) == 1 and base64.b64decode(images[0]["data"]).startswith(b"\x89PNG") and images[0]["mimeType"] == "image/png"
    links = {c["name"]: c for c in made["content"] if c["type"] == "resource_link"}
    handle = made["structuredContent"]["sandbox"]
    assert links["a b.csv"]["uri"] == "sandpiper://%s/a%%20b.csv" % handle and links["a b.csv"]["mimeType"] == "text/csv", links
    assert all("path" not in f for f in made["structuredContent"]["files"]), made["structuredContent"]
    read = mcp.ask("resources/read", uri=links["a b.csv"]["uri"])["result"]["contents"]
    assert read == [{"uri": links["a b.csv"]["uri"], "mimeType": "text/csv", "text": "x,y\n1,2\n"}]
    read = mcp.ask("resources/read", uri=links["b.bin"]["uri"])["result"]["contents"][0]
    assert base64.b64decode(read["blob"]) == bytes(range(256))
    assert {r["name"] for r in mcp.ask("resources/list")["result"]["resources"]} >= {"a b.csv", "b.bin"}
    for uri in ("sandpiper://%s/none" % handle, "sandpiper://%s/../../etc/passwd" % handle, "file:///etc/passwd", "sandpiper://%s/a" % ("0" * 32)):
        error = mcp.ask("resources/read", uri=uri)["error"]
        assert error["code"] == (-32602 if mcp.modern else -32002) and error["data"] == {"uri": uri}, error


def test_files_by_tools(mcp):
    put = mcp.call("put_file", name="data/é.txt", content="ä\n")
    assert not put["isError"] and put["structuredContent"]["size"] == 3, put
    assert mcp.call("put_file", name="b.bin", content=base64.b64encode(b"\0\xff").decode(), encoding="base64")["structuredContent"]["size"] == 2
    assert text(mcp.code("print(open('/mnt/data/data/é.txt').read(), open('/mnt/data/b.bin', 'rb').read())")) == "ä\n b'\\x00\\xff'\n"
    assert text(mcp.call("get_file", name="data/é.txt")) == "ä\n"
    blob = [c for c in mcp.call("get_file", name="b.bin")["content"] if c["type"] == "resource"][0]["resource"]
    assert base64.b64decode(blob["blob"]) == b"\0\xff" and blob["uri"].endswith("/b.bin"), blob
    files = {f["name"]: f["size"] for f in mcp.call("list_files")["structuredContent"]["files"]}
    assert files == {"data/é.txt": 3, "b.bin": 2}, files
    gone = mcp.call("get_file", name="none.txt")
    assert gone["isError"] and "none.txt" in text(gone), gone
    for name in ("../x", "/etc/passwd", "a/../../x"):
        assert mcp.call("put_file", name=name, content="x")["isError"], name
        assert mcp.call("get_file", name=name)["isError"], name


def test_a_file_larger_than_its_folder(sandpiper):
    """One with a hole in it: it is refused, and the sandbox lives on."""
    m = Mcp(sandpiper, "--data-size", "8m", modern=True)
    m.code("x = 41\nopen('hole', 'wb').truncate(200 << 20)")
    got = m.call("get_file", name="hole")
    assert got["isError"] and text(got) == "hole has 209715200 bytes, more than can be copied out of the sandbox; /mnt/data holds 8 MiB", got
    assert text(m.code("x + 1")) == "42"
    assert m.close() == (0, "")


def test_commands_and_reset(mcp):
    assert text(mcp.call("execute_command", command="echo out; echo err >&2")) == "out\nerr\n"
    failed = mcp.call("execute_command", command=["sh", "-c", "exit 3"])
    assert failed["isError"] and failed["structuredContent"]["exit_code"] == 3 and "exit code 3" in text(failed), failed
    mcp.code("x = 1\nopen('/mnt/data/kept', 'w').write('1')")
    assert not mcp.call("reset_sandbox")["isError"]
    assert mcp.code("x")["structuredContent"]["error"]["name"] == "NameError"
    assert [f["name"] for f in mcp.call("list_files")["structuredContent"]["files"]] == ["kept"]


def test_sandboxes_are_apart(mcp):
    usual = mcp.code("x = 'usual'")["structuredContent"]["sandbox"]
    other = mcp.code("x = 'other'", sandbox="new")["structuredContent"]["sandbox"]
    assert usual != other and len(other) == 32
    assert mcp.code("x")["structuredContent"]["value"] == "'usual'"
    assert mcp.code("x", sandbox=other)["structuredContent"]["value"] == "'other'"
    assert mcp.code("x", sandbox=usual)["structuredContent"]["value"] == "'usual'"
    for handle in ("0" * 32, "", "../x", usual.upper() + "0"):
        nobody = mcp.code("1", sandbox=handle)
        assert nobody["isError"] and "no sandbox" in text(nobody), nobody


def test_as_many_as_there_may_be(mcp):
    """The model cannot stop one, but go on in one that it has."""
    handles = [mcp.code("x = %d" % i, sandbox="new")["structuredContent"]["sandbox"] for i in range(7)]
    mcp.code("x = 'usual'")
    one_more = mcp.code("1", sandbox="new")
    assert one_more["isError"] and "in use (8)" in text(one_more) and "go on in one of them" in text(one_more), one_more
    assert mcp.code("x", sandbox=handles[3])["structuredContent"]["value"] == "3"


def test_progress(mcp):
    number = mcp.request("tools/call", {"progressToken": "p"}, name="execute_python",
                         arguments={"code": "for i in range(3):\n    print('tick', i, flush=True)"})
    result = mcp.answer(number)["result"]
    told = [m["params"] for m in mcp.notified if m["method"] == "notifications/progress"]
    assert "".join(p["message"] for p in told) == text(result) == "tick 0\ntick 1\ntick 2\n"
    counts = [p["progress"] for p in told]
    assert counts == sorted(set(counts)) and all(p["progressToken"] == "p" for p in told), told
    mcp.notified.clear()
    mcp.code("print(1)")
    assert mcp.notified == []


def test_cancel_interrupts(mcp):
    mcp.code("x = 1")
    number = mcp.request("tools/call", {"progressToken": 7}, name="execute_python",
                         arguments={"code": "x = 2\nprint('begun', flush=True)\nwhile True: pass"})
    mcp.until_progress("begun")
    mcp.cancel(number)
    after = mcp.code("x")           # no answer comes to the cancelled one, and the variables are there
    assert after["structuredContent"]["value"] == "2" and not after["isError"], after
    mcp.cancel(number)
    mcp.cancel("nobody's")
    assert mcp.code("1")["structuredContent"]["value"] == "1"


def test_waiting_calls_are_answered_in_order(mcp):
    numbers = [mcp.request("tools/call", name="execute_python", arguments={"code": "print(%d)" % i}) for i in range(20)]
    mcp.cancel(numbers[11])
    heard = [mcp.hear() for _ in range(19)]
    assert [m["id"] for m in heard] == [n for n in numbers if n != numbers[11]]


def test_few_calls_wait_for_one_sandbox(mcp):
    """One that runs and 32 that wait; the next is told to come again, at once, and a cancelled one makes room."""
    runs = mcp.request("tools/call", {"progressToken": 1}, name="execute_python", arguments={"code": "print('begun', flush=True)\nwhile True: pass"})
    mcp.until_progress("begun")
    waiting = [mcp.request("tools/call", name="execute_python", arguments={"code": "1"}) for _ in range(32)]
    refused = mcp.code("1")
    assert refused["isError"] and "too many requests are waiting for this sandbox" in text(refused), refused
    mcp.cancel(waiting[5])
    more = mcp.request("tools/call", name="execute_python", arguments={"code": "2"})
    mcp.cancel(runs)
    assert [mcp.hear()["id"] for _ in range(32)] == [n for n in waiting if n != waiting[5]] + [more]


def test_notices_only_where_asked(sandpiper):
    m = Mcp(sandpiper)
    crash = "import os\nos._exit(1)"
    m.code(crash)
    assert m.notified == []
    assert m.ask("logging/setLevel", level="error")["result"] == {}
    m.code(crash)
    assert m.notified == []
    assert m.ask("logging/setLevel", level="info")["result"] == {}
    m.code(crash)
    assert [n["method"] for n in m.notified] == ["notifications/message"], m.notified
    assert m.close()[0] == 0


HOSTILE = [
    b"", b"{", b"[]", b"[1,2]", b"null", b"true", b"\"x\"", b"\xff\xfe", b"\0\0\0", b"{\"jsonrpc\":\"2.0\"}", b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"ping\"}", b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
    b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_python\",\"arguments\":7}}",
    b"[" * 100000, b"{\"a\":" * 100000, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" + b"x" * 100000 + b"\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":" + b"[" * 1000 + b"]" * 1000 + b"}",
    b"\x1b[2J{\"jsonrpc\":\"2.0\"}", b"GET / HTTP/1.1", b"Content-Length: 10\r",
]


def test_hostile_messages(sandpiper):
    """An error for each, none more, and the next request is answered as ever."""
    m = Mcp(sandpiper, hello=False)
    for bad in HOSTILE:
        m.write(bad + b"\n")
        if bad.strip():
            error = m.hear()["error"]
            assert error["code"] in (-32700, -32600, -32601, -32602) and len(error["message"]) < 400, (bad[:80], error)
        assert m.ask("ping")["result"] == {}, bad[:80]
    assert m.close() == (0, "")


def peak(m):
    """kB of memory at most so far; with ASan, which keeps what was freed, nothing can be said."""
    with open("/proc/%d/status" % m.p.pid) as f:
        return 0 if "asan" in BIN else int(re.search(r"VmHWM:\s*(\d+)", f.read())[1])


def test_a_line_of_100_mb(sandpiper):
    m = Mcp(sandpiper, modern=True)
    for _ in range(100):
        m.write(b"x" * 1_000_000)
    m.write(b"\n")
    assert "16 MiB" in m.hear()["error"]["message"]
    assert peak(m) < 80_000
    assert m.code("1")["structuredContent"]["value"] == "1"
    assert m.close() == (0, "")


@pytest.mark.slow(10)
def test_a_client_that_does_not_read(sandpiper):
    """Its messages wait in its own pipe; memory stays where it was, and nothing is lost."""
    m = Mcp(sandpiper, modern=True)
    n = 2000
    pid = os.fork()
    if pid == 0:
        try:
            for _ in range(n):
                m.request("tools/list")
        finally:
            os._exit(0)
    heard = [m.hear() for _ in range(n)]
    os.waitpid(pid, 0)
    assert [h["id"] for h in heard] == list(range(1, n + 1))
    assert peak(m) < 60_000
    assert m.close() == (0, "")


def test_stdout_has_nothing_but_messages(sandpiper):
    """Notices and what fails go to stderr or into answers; so does a sandbox that cannot be started."""
    m = Mcp(sandpiper, "--sandbox", "docker", "--image", "there-is-none:x", modern=True, env={"PATH": "/usr/bin:/bin"})
    assert m.ask("tools/list")["result"]["tools"]
    failed = m.code("1")
    assert failed["isError"] and ("there-is-none" in text(failed) or "docker" in text(failed)), failed
    assert m.close()[0] == 0


def test_eof_interrupts(sandpiper):
    m = Mcp(sandpiper, modern=True)
    m.request("tools/call", {"progressToken": 1}, name="execute_python", arguments={"code": "print('begun', flush=True)\nwhile True: pass"})
    m.until_progress("begun")
    assert m.close() == (0, "")
    assert sandpiper.leftovers() == []


@pytest.mark.parametrize("sig,code", [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 143), (signal.SIGKILL, -9)])
def test_signals(sandpiper, sig, code):
    m = Mcp(sandpiper, modern=True)
    m.request("tools/call", {"progressToken": 1}, name="execute_python", arguments={"code": "print('begun', flush=True)\nwhile True: pass"})
    m.until_progress("begun")
    m.p.send_signal(sig)
    assert m.p.wait(HANG) == code
    assert sandpiper.leftovers() == []


def test_the_client_is_gone(sandpiper):
    m = Mcp(sandpiper, modern=True)
    m.code("1")
    m.p.stdout.close()
    m.request("tools/list")
    assert m.p.wait(HANG) == 141
    assert sandpiper.leftovers() == []


def test_usage(bare):
    for args, part in ((["mcp", "x"], "mcp takes no arguments"), (["mcp", "--json"], "mcp has no option --json"), (["mcp", "--nope"], "unknown option")):
        r = bare.run(*args)
        assert r.code == 2 and part in r.err and r.out == "", r
    r = bare.run("mcp", "--help")
    assert r.code == 0 and '"mcpServers"' in r.out, r
    config = json.loads(r.out[r.out.index("{"):r.out.rindex("}") + 1])
    assert config == {"mcpServers": {"python": {"command": "sandpiper", "args": ["mcp"]}}}
    closed = subprocess.run(["sh", "-c", 'exec "$0" mcp <&-', bare.argv([])[0]], env=bare.env(), capture_output=True, text=True, timeout=HANG)
    assert closed.returncode == 2 and "stdin is closed" in closed.stderr and closed.stdout == "", closed
    assert bare.run("mcp", stdin="").code == 0
