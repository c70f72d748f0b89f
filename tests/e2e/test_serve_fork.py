"""test_serve_fork.py - "fork" among the operations of a sandbox, over HTTP and MCP: a new sandbox goes on from a live copy of another of the same client,
and neither sees what the other does; who is refused, who waits, and what is left when somebody goes."""
import os
import signal
import threading
import time

from conftest import HANG
from serve_raw import Server
from test_fork import HELD
from test_mcp import Mcp, text

LOOK = "print(next(g), add(2), half.read(2), sorted(__import__('os').listdir('.')))"


def busy(s, n, seconds=HANG):
    """Wait until so many of the sandboxes are at work."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if sum(b["busy"] for b in s.another().good("/list_sandboxes")["sandboxes"]) == n:
            return
        time.sleep(0.02)
    raise AssertionError("not %d are busy" % n)


def test_over_http(sandpiper_on):
    s = Server(sandpiper_on)
    one = s.good("/create_sandbox", conversation_id="one")["sandbox_id"]
    s.good("/run_code", sandbox_id=one, code=HELD)
    made = s.good("/fork_sandbox", sandbox_id=one)
    two = made["sandbox_id"]
    assert made == {"sandbox_id": two, "copy_of": one} and len(two) == 32 and two != one, made
    assert s.good("/run_code", sandbox_id=two, code=LOOK + "\nopen('new', 'w')")["stdout"] == "2 42 45 ['begin.txt']\n"
    assert s.good("/run_code", sandbox_id=one, code=LOOK)["stdout"] == "2 42 45 ['begin.txt']\n"
    three = s.good("/fork_sandbox", sandbox_id=two)["sandbox_id"]
    s.good("/stop_sandbox", sandbox_id=two)
    assert s.good("/run_code", sandbox_id=three, code=LOOK)["stdout"] == "3 42 67 ['begin.txt', 'new']\n"
    assert s.good("/create_sandbox", conversation_id="one")["sandbox_id"] == one
    assert {b["sandbox_id"] for b in s.good("/list_sandboxes")["sandboxes"]} == {one, three}
    assert s.close() == 0 and sandpiper_on.leftovers() == []


def test_who_is_refused(sandpiper):
    token = sandpiper.write("tokens", "a" * 32 + " 3\n" + "b" * 32 + "\n")
    os.chmod(token, 0o600)
    s = Server(sandpiper, "--token-file", token, "--max-sandboxes", "4", "--queue", "0s")
    s.token = "a" * 32
    box = s.good("/create_sandbox")["sandbox_id"]
    s.refused(404, "SANDBOX_UNKNOWN", "/fork_sandbox", sandbox_id="0" * 32)
    assert s.post("/fork_sandbox").status == 422 and s.post("/fork_sandbox", sandbox_id=box, copies=2).status == 422 and s.post("/fork_sandbox", sandbox_id=7).status == 422
    s.token = "b" * 32                                          # another client's
    s.refused(404, "SANDBOX_UNKNOWN", "/fork_sandbox", sandbox_id=box)
    s.token = "a" * 32
    s.good("/run_code", sandbox_id=box, code="import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\nx = 1")
    assert b"threads are running" in s.refused(409, "NO_COPY", "/fork_sandbox", sandbox_id=box).body
    assert s.good("/run_code", sandbox_id=box, code="x")["value"] == "1"
    assert len(s.good("/list_sandboxes")["sandboxes"]) == 1     # no half one stays
    calm = s.good("/create_sandbox")["sandbox_id"]
    last = s.good("/fork_sandbox", sandbox_id=calm)["sandbox_id"]
    assert s.post("/fork_sandbox", sandbox_id=calm).status == 429
    s.good("/stop_sandbox", sandbox_id=last)
    assert s.good("/fork_sandbox", sandbox_id=calm)["copy_of"] == calm
    s.close()


def test_it_waits_for_its_turn(sandpiper):
    """For a place among the sandboxes, while the one that is to be copied goes on; then behind the code that runs there."""
    s = Server(sandpiper, "--max-sandboxes", "2")
    box, other = [s.good("/create_sandbox")["sandbox_id"] for _ in range(2)]
    got = {}

    def ask(name, path, **body):
        got[name] = s.another().post(path, **body)
    fork = threading.Thread(target=ask, args=("fork", "/fork_sandbox"), kwargs={"sandbox_id": box})
    fork.start()
    end = time.monotonic() + HANG
    while "requests_waiting 1" not in (said := s.ask("GET", "/metrics").body.decode()):
        assert time.monotonic() < end, said
        time.sleep(0.02)
    assert s.good("/run_code", sandbox_id=box, code="x = 5")["status"] == "ok" and not got       # no copy has been written yet
    code = threading.Thread(target=ask, args=("code", "/run_code"), kwargs={"sandbox_id": box, "code": "import time\ntime.sleep(2)\nx += 1"})
    code.start()
    busy(s, 1)
    s.good("/stop_sandbox", sandbox_id=other)
    fork.join(HANG)
    assert s.good("/run_code", sandbox_id=got["fork"].json["sandbox_id"], code="x")["value"] == "6"
    code.join(HANG)
    s.close()


def test_the_client_leaves(sandpiper):
    """Nothing of a copy that nobody waits for stays; the sandbox goes on."""
    s = Server(sandpiper)
    box = s.good("/create_sandbox")["sandbox_id"]
    s.good("/run_code", sandbox_id=box, code="x = 3; big = bytearray(b'x' * (60 << 20))")
    for turn in range(6):
        c = s.another()
        c.client = None
        sock = c.connect()
        body = b'{"sandbox_id": "%s"}' % box.encode()
        sock.sendall(b"POST /fork_sandbox HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                     % (s.token.encode(), len(body), body))
        time.sleep(0.06 * turn)
        sock.close()
        assert s.good("/run_code", sandbox_id=box, code="x, len(big)")["value"] == "(3, 62914560)"
    end = time.monotonic() + HANG
    while len(s.good("/list_sandboxes")["sandboxes"]) > 1:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert s.close() == 0 and sandpiper.leftovers() == []


def test_the_server_is_killed(sandpiper):
    s = Server(sandpiper)
    box = s.good("/create_sandbox")["sandbox_id"]
    s.good("/run_code", sandbox_id=box, code="x = 3; big = bytearray(b'x' * (60 << 20))")
    threading.Thread(target=lambda: quiet_post(s.another(), box), daemon=True).start()
    busy(s, 1)
    s.process.send_signal(signal.SIGKILL)
    s.process.wait()
    end = time.monotonic() + HANG
    while sandpiper.run("rm", "-f", "--all").code == 3:         # its runners still hold them
        assert time.monotonic() < end
        time.sleep(0.1)
    assert sandpiper.leftovers() == []


def quiet_post(s, box):
    try:
        s.post("/fork_sandbox", sandbox_id=box)
    except (OSError, Exception):
        pass


def test_over_mcp(sandpiper_on):
    m = Mcp(sandpiper_on)
    usual = m.code(HELD)["structuredContent"]["sandbox"]
    made = m.call("fork_sandbox")
    copy = made["structuredContent"]["sandbox"]
    assert made["structuredContent"] == {"sandbox": copy, "copy_of": usual} and copy != usual and copy in text(made) and usual in text(made), made
    assert text(m.code(LOOK, sandbox=copy)) == text(m.code(LOOK)) == "2 42 45 ['begin.txt']\n"
    again = m.call("fork_sandbox", sandbox=copy)["structuredContent"]
    assert again["copy_of"] == copy and text(m.code(LOOK, sandbox=again["sandbox"])) == "3 42 67 ['begin.txt']\n"
    m.code("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()")
    refused = m.call("fork_sandbox")
    assert refused["isError"] and "threads are running" in text(refused), refused
    assert m.call("fork_sandbox", sandbox="0" * 32)["isError"]
    m.close()
    assert sandpiper_on.leftovers() == []
