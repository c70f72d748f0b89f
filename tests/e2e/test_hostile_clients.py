"""test_hostile_clients.py - what a client of `sandpiper serve` that has a token may try: to choose what the user chooses, to get at the host by a command,
to fill a sandbox, to tear a file by writing it twice at once, to hold all connections."""
import http.client
import os
import random
import resource
import select
import signal
import socket
import threading
import time

import pytest

from conftest import HANG
from raw_server import wait_for
from serve_raw import Server

SECRET = "h057-53cr37"
CONNECTIONS_EVER = 864      # CONNECTIONS_MAX + NEWCOMERS_MAX of server/private.h


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper, env={"SECRET": SECRET, "PYTHONSTARTUP": "/tmp/evil.py"})
    yield s
    assert s.close() == 0
    assert sandpiper.leftovers() == []


def test_what_the_user_alone_chooses(server):
    box = server.good("/create_sandbox")["sandbox_id"]
    for field, value in (("image", "evil"), ("engine", "docker"), ("runtime", "runc"), ("network", True), ("mounts", ["/:/host"]), ("mount", "/:/host"), ("privileged", True),
                         ("memory", "1t"), ("user", "root"), ("args", ["--privileged"])):
        a = server.refused(422, "INVALID_ARGUMENT", "/create_sandbox", **{field: value})
        assert a.json["detail"] == field + ": there is no such field"
    for path, body in (("/run_code", {"code": "1"}), ("/execute_command", {"command": "id"}), ("/write_file", {"filename": "f", "content": "x"}),
                       ("/list_files", {}), ("/stop_sandbox", {}), ("/reset_sandbox", {})):
        for field, value in (("cwd", "/"), ("env", {"LD_PRELOAD": "/x.so"}), ("user", 0)):
            server.refused(422, "INVALID_ARGUMENT", path, sandbox_id=box, **body, **{field: value})
    server.refused(422, "INVALID_ARGUMENT", "/list_sandboxes", all=True)


def test_commands(server):
    """They run in the sandbox, whatever they hold, with none of the server's variables."""
    box = server.good("/create_sandbox")["sandbox_id"]
    outside = "/tmp/sp-hostile-%d" % os.getpid()
    for command in ("touch %s; echo $SECRET" % outside, "$(touch %s)`touch %s`" % (outside, outside), "'; touch %s; '" % outside, "env; cat /proc/1/environ", "-c id", "--help",
                    "\n\n#", "echo %s" % ("x" * 50000)):
        a = server.good("/execute_command", sandbox_id=box, command=command)
        assert SECRET not in a["output"] and "evil.py" not in a["output"], a
    assert not os.path.exists(outside)
    for command in ("a\0b", "x" * (1 << 20)):
        a = server.post("/execute_command", sandbox_id=box, command=command)
        assert a.status in (200, 422), (a.status, a.body)
        assert a.status == 422 or a.json["exit_code"] != 0, a.body
    assert server.good("/execute_command", sandbox_id=box, command="echo $0 $#; pwd")["stdout"].endswith("\n/mnt/data\n")


@pytest.mark.slow(3)
def test_a_file_written_twice_at_once(server):
    """Who reads it gets one of them, whole."""
    box, size, until = server.good("/create_sandbox")["sandbox_id"], 3_000_000, time.monotonic() + 3

    def write(letter):
        mine = server.another()
        while time.monotonic() < until:
            mine.good("/write_file", sandbox_id=box, filename="f", content=letter * size)
    threads = [threading.Thread(target=write, args=(letter,)) for letter in "ab"]
    for t in threads:
        t.start()
    seen = set()
    while time.monotonic() < until:
        a = server.ask("GET", "/files/%s/f" % box)
        assert a.status in (200, 404)
        if a.status == 200:
            assert a.body in (b"a" * size, b"b" * size), (len(a.body), set(a.body))
            seen.add(a.body[:1])
    for t in threads:
        t.join()
    assert seen
    assert server.good("/run_code", sandbox_id=box, code="import os\nos.listdir()")["value"] == "['f']"


@pytest.mark.slow(20)
def test_a_sandbox_that_is_full(server):
    """It says so, what there was stays as it was, and there is room again once something is removed."""
    box, size = server.good("/create_sandbox")["sandbox_id"], 14_000_000
    server.good("/write_file", sandbox_id=box, filename="kept", content="before")
    for i in range(200):
        a = server.post("/write_file", sandbox_id=box, filename="f%d" % i, content="x" * size)
        if a.status != 200:
            break
    assert a.status == 507 and a.json["code"] == "SANDBOX_FULL" and "No space left" in a.json["detail"], (i, a.status, a.body)
    server.refused(507, "SANDBOX_FULL", "/write_file", sandbox_id=box, filename="kept", content="y" * size)
    assert server.good("/run_code", sandbox_id=box, code="import os\nos.remove('f0')\nopen('kept').read()")["value"] == "'before'"
    server.good("/write_file", sandbox_id=box, filename="again", content="x")


def connections(server, n, sent=b""):
    made = [server.connect() for _ in range(n)]
    for c in made:
        c.sendall(sent)
    return made


def close(made):
    for c in made:
        c.close()


HEAD = "POST /%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def test_all_connections_closed_at_once(sandpiper):
    """The library stops listening at its limit; it must listen again after the one run in which it closes them all. Requests that wait for a sandbox
    keep their connections, however slow the server is."""
    server = two_tokens(sandpiper, "--max-sandboxes", "1", "--queue", "5m")
    assert server.good("/create_sandbox")["sandbox_id"]
    before = len(descriptors(server)) - 1
    server.client.close()                   # without a request it would give way
    server.client = None
    wait_for(lambda: len(descriptors(server)) == before)
    held = []
    for i in range(CONNECTIONS_EVER):       # each sends at once: one that is silent while there are many gives way
        held += connections(server, 1, (HEAD % ("create_sandbox", server.port, server.tokens[i % 2], 2) + "{}").encode())
    wait_for(lambda: len(descriptors(server)) >= before + CONNECTIONS_EVER)
    server.process.send_signal(signal.SIGSTOP)
    close(held)
    server.process.send_signal(signal.SIGCONT)
    assert server.another().ask("GET", "/", token=None).status == 200
    assert server.close() == 0


def two_tokens(sandpiper, *args):
    sandpiper.write("tokens", "a" * 32 + "\n" + "b" * 32)
    os.chmod(sandpiper.path("work/tokens"), 0o600)
    server = Server(sandpiper, "--token-file", sandpiper.path("work/tokens"), *args)
    server.tokens = "a" * 32, "b" * 32
    server.token = server.tokens[0]
    return server


def test_refusals_do_not_use_up_the_descriptors(sandpiper):
    """A connection that is refused is read for a while more, in case its client still sends: few of them at a time."""
    s = Server(sandpiper, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    held = connections(s, 1200, b"\1\r\n\r\n")
    assert s.good("/create_sandbox")["sandbox_id"]
    assert len(descriptors(s)) < 200
    close(held)
    assert s.good("/list_sandboxes")["sandboxes"]
    assert s.close() == 0


def test_a_body_that_nobody_reads_is_not_kept(server):
    """GET / needs no token and has no body."""
    held = connections(server, 10, b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n" % (server.port, 8 << 20) + bytes((8 << 20) - 1))
    assert server.another().ask("GET", "/", token=None).status == 200
    with open("/proc/%d/status" % server.process.pid) as f:
        assert next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) < 40000
    for c in held:
        c.sendall(b"x")
        assert c.recv(4096).startswith(b"HTTP/1.1 200 ")
    close(held)


def test_one_token_may_not_fill_the_memory(server):
    """Bodies of 16 MiB that never come to their end: those of one token may have 64 MiB together."""
    head = "POST /ask HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    made = [server.connect() for _ in range(6)]
    for s in made:
        s.sendall((head % (server.port, server.token, 16 << 20)).encode())
        try:
            s.sendall(b" " * (15 << 20))
        except ConnectionError:     # it was refused while we were sending
            pass
    refused = []
    while len(refused) < 2:         # of any of them, since they are read at the same time
        ready = select.select([s for s in made if s not in [r for r, _ in refused]], [], [], HANG)[0]
        assert ready
        refused += [(s, s.recv(4096)) for s in ready]
    assert all(b" 429 Too Many Requests" in r and b"too large together" in r for _, r in refused), refused
    assert server.ask("POST", "/list_sandboxes", {}).status == 200      # a small one is served meanwhile
    close(made)


def descriptors(s):
    return os.listdir("/proc/%d/fd" % s.process.pid)


@pytest.mark.parametrize("sent", ["GET / HT", "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 9\r\n\r\n"], ids=["headers", "body"])
def test_connections_of_one_address(server, sent):
    """Of those that send no whole request one address does not get the last quarter; the oldest goes first, and another address gets it."""
    sent = (sent % server.port if "%d" in sent else sent).encode()
    held = connections(server, 600, sent)
    more = give_way(server, held, sent)
    with socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0)) as other:
        other.sendall(sent)
        time.sleep(0.3)
        assert select.select([other], [], [], 0)[0] == []
    assert server.good("/list_sandboxes")["sandboxes"] == []
    close(held + more)


def give_way(server, held, sent):
    """More of them until the oldest gives way, and no other does before it. Returns these."""
    more, begin = [], time.monotonic()
    while not select.select(held[:1], [], [], 0.3)[0] and time.monotonic() - begin < 8:
        more += connections(server, 1, sent)
    assert time.monotonic() - begin < 8, "it was closed because it was late"
    assert b" 408 " in held[0].recv(4096)
    assert len(select.select(held[1:] + more, [], [], 0.3)[0]) <= len(more)
    return more


def test_connections_of_one_token(sandpiper):
    """The same for a token whose requests never give their bodies; those of another token stay."""
    server = two_tokens(sandpiper)
    mine, others = ((HEAD % ("list_sandboxes", server.port, t, 9)).encode() for t in server.tokens)
    first, held = connections(server, 4, others), connections(server, 600, mine)
    more = give_way(server, held, mine)
    assert select.select(first, [], [], 0)[0] == []
    assert server.good("/list_sandboxes")["sandboxes"] == []
    close(first + held + more)
    assert server.close() == 0


def test_hundreds_that_connect_before_they_send(server):
    """The workers of an evaluation on a busy machine: they are of one address, and nobody else needs their places."""
    held = connections(server, 512)
    time.sleep(0.5)
    more = connections(server, 8)
    for s in held + more:
        s.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port)
    assert {s.recv(4096)[:13] for s in held + more} == {b"HTTP/1.1 200 "}
    close(held + more)


@pytest.mark.parametrize("token", [False, True], ids=["", "token"])
def test_answers_that_nobody_takes(server, token):
    """Who does not read an answer does not get the last quarter of the connections either."""
    shown = b"Authorization: Bearer %s\r\n" % server.token.encode() if token else b""
    address = "127.%d.%d.%d" % tuple(random.choices(range(1, 255), k=3))    # a new one: the kernel remembers how much others took, and buffers it

    def one_more(path):
        s = socket.socket()
        s.settimeout(HANG)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)    # or all of the answer fits into the server's buffer
        s.bind((address, 0))
        s.connect(("127.0.0.1", server.port))
        s.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n" % (path, server.port, shown))
        return s
    before = len(descriptors(server))
    held = [one_more(b"/openapi.json") for _ in range(600)]
    wait_for(lambda: len(descriptors(server)) == before + 600)
    time.sleep(0.3)
    held.append(one_more(b"/"))
    assert len(read_answer(held[-1])) > 20
    with pytest.raises(http.client.IncompleteRead):
        read_answer(held[0])
    assert len(read_answer(held[-2])) > 50000
    close(held)


def read_answer(sock):
    answer = http.client.HTTPResponse(sock)
    answer.begin()
    return answer.read()


def test_the_server_is_slow_and_not_the_clients(server):
    """Requests have come while it had no time to read them: none of them gives way to another."""
    request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port
    held = connections(server, 200)
    time.sleep(0.3)
    server.process.send_signal(signal.SIGSTOP)
    try:
        held += connections(server, 20)
        for c in held:
            c.sendall(request)
        time.sleep(0.4)
    finally:
        server.process.send_signal(signal.SIGCONT)
    for c in held:
        c.settimeout(10)
    assert {c.recv(4096)[:12] for c in held} == {b"HTTP/1.1 200"}
    close(held)


def test_a_sandbox_whose_client_has_gone(server):
    """It belongs to the request until the answer is out. Twenty of these would fill the server for a quarter of an hour."""
    head = b"POST /create_sandbox HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    for _ in range(20):
        with server.connect() as c:
            c.sendall(head % (server.port, server.token.encode(), 2, b"{}"))
            time.sleep(0.02)
    wait_for(lambda: server.good("/list_sandboxes")["sandboxes"] == [])
    kept = server.good("/create_sandbox", conversation_id="mine")["sandbox_id"]
    with server.connect() as c:     # one that was there before stays
        body = b'{"conversation_id": "mine"}'
        c.sendall(head % (server.port, server.token.encode(), len(body), body))
    time.sleep(0.5)
    assert [b["sandbox_id"] for b in server.good("/list_sandboxes")["sandboxes"]] == [kept]


@pytest.mark.parametrize("path", ["/v2/sandboxes", "/v1/code-interpreter", "/create_sandbox"])
def test_a_sandbox_is_up_when_its_id_is_told(sandpiper, path):
    """So a start that fails is told, and a client that leaves while it takes its time is seen to have gone."""
    os.mkdir(sandpiper.path("bin"))
    with open(os.open(sandpiper.path("bin/bwrap"), os.O_CREAT | os.O_WRONLY, 0o755), "w") as f:
        f.write("#!/bin/sh\nexit 1\n")
    s = Server(sandpiper, env={"PATH": sandpiper.path("bin") + ":" + os.environ["PATH"]})
    made = s.post(path)
    assert made.status == 503 and b"bwrap" in made.body, made.body
    assert s.good("/list_sandboxes")["sandboxes"] == []
    assert s.close() == 0


def test_headers_that_are_too_long(server):
    """The client can read to the end of the answer why, however much more it sends."""
    for size in (40_000, 70_000, 300_000, 3_000_000):
        with server.connect() as c:
            c.sendall(b"POST /run_code HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: %s\r\n\r\n" % (server.port, b"a" * size))
            assert b"".join(iter(lambda: c.recv(4096), b"")).startswith(b"HTTP/1.1 431 "), size


@pytest.mark.slow(3)
def test_two_tokens_leave_room_for_others(sandpiper):
    """The first have 256 and 144 requests in progress, all that there may be; each of the others may have 8 all the same."""
    tokens = [c * 32 for c in "abcd"]
    sandpiper.write("tokens", "\n".join(tokens))
    os.chmod(sandpiper.path("work/tokens"), 0o600)
    s = Server(sandpiper, "--token-file", sandpiper.path("work/tokens"), "--max-sandboxes", "64")
    call = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_python","arguments":{"code":"import time\\ntime.sleep(99)"}}}'
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}}
    held = []
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    for token, n in ((tokens[0], 256), (tokens[1], 144), (tokens[2], 8)):
        for i in range(n):
            if i % 32 == 0:         # for one sandbox so many may wait
                session = s.ask("POST", "/mcp", hello, token=token, keep=False, headers={"Accept": "application/json, text/event-stream"}).headers["Mcp-Session-Id"]
            held.append(s.connect())
            held[-1].sendall((head % (s.port, token, session, len(call % (i + 1)), call % (i + 1))).encode())
        wait_for(lambda: s.ask("POST", "/get_sandbox_info", {"sandbox_id": "0" * 32}, token=token).status == 429)
    refused = s.ask("POST", "/create_sandbox", {}, token=tokens[2])
    assert refused.status == 429 and int(refused.headers["Retry-After"]) > 0
    assert s.ask("POST", "/create_sandbox", {}, token=tokens[3]).status == 200
    close(held)
    assert s.close() == 0


@pytest.mark.check
def test_all_connections_held(server):
    """Half a request on each: a client that is connected is served meanwhile, and one that comes later takes the place of the oldest."""
    box = server.good("/create_sandbox")["sandbox_id"]
    held, begin = [], time.monotonic()
    for _ in range(600):
        c = socket.create_connection(("127.0.0.1", server.port))
        c.sendall(b"POST /run_code HTTP/1.1\r\nHost: ")
        held.append(c)
    assert server.good("/run_code", sandbox_id=box, code="1")["value"] == "1"
    for _ in range(3):
        assert server.another().ask("GET", "/", token=None).status == 200
    assert time.monotonic() - begin < 9, "they were kept out until the headers were late"
    said = [c.recv(4096) for c in held[:100]]
    assert all(b" 408 " in one.split(b"\r\n")[0] + b" " for one in said), said[:3]
    for c in held:
        c.close()
