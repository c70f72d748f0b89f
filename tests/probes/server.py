"""server.py - hostile clients of `sandpiper serve`. ROWS is the table: a row's code is a function of the server (Target) that does what the client does
and returns what it saw; holds(seen) is what must come of it. The rows of a place are tried on one server, in this order, and after each of them
a client that does nothing wrong must still be answered.

The server has a token file with the tokens of two clients, and a model service that answers every question with "an answer". A row that needs other
options starts a server of its own (t.another(...))."""
import collections
import http.client
import json
import os
import re
import secrets
import selectors
import socket
import subprocess
import sys
import threading
import time

from .cell import BROKEN, HELD, MIB, NOT_RUN, Finding, Probe, judge

from raw_server import RawServer  # noqa: E402

BYSTANDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bystander.py")
WAIT = 30               # seconds for an answer


class Answer:
    """data: the parsed body, or its bytes."""
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.data = json.loads(body) if "json" in (headers.get("Content-Type") or "") else body

    def __repr__(self):
        return "%d %.200r" % (self.status, self.body)


class Target:
    """The server under attack, and what a client needs: t.a and t.b are the tokens of two clients."""
    def __init__(self, there, *options, argv=None):
        """argv: another server, for the self-test."""
        self.there, self.url = there, there.url
        self.a, self.b = secrets.token_hex(16), secrets.token_hex(16)
        tokens = there.write("tokens%s" % self.a[:8], "%s\n%s\n" % (self.a, self.b))
        os.chmod(tokens, 0o600)
        if argv:
            self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        else:
            self.process = there.start("serve", "--listen", "127.0.0.1:0", "--token-file", tokens, *options, stdout=subprocess.DEVNULL)
        said, found = [], None
        while not found:
            said.append(self.process.stderr.readline().decode("utf-8", "replace"))
            if not said[-1]:
                raise OSError("serve did not start: %s" % said)
            found = re.search(r"listening on http://(\S+)", said[-1])
        self.host = found.group(1)
        self.port = int(self.host.rpartition(":")[2])

    def another(self, *options):
        """with t.another("--max-sandboxes", "2") as t: a server of a row's own."""
        return Target(self.there, *options)

    def ask(self, path, body=None, token=None, method=None, **headers):
        """An Answer, on a connection of its own; as client A unless a token is given. body: bytes, or what becomes JSON."""
        c = http.client.HTTPConnection(self.host, timeout=WAIT)
        headers = dict({"Authorization": "Bearer " + (token or self.a)}, **{k.replace("_", "-"): v for k, v in headers.items()})
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            c.request(method or ("GET" if body is None else "POST"), path, body, headers)
            r = c.getresponse()
            return Answer(r.status, r.headers, r.read())
        finally:
            c.close()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.settimeout(WAIT)
        return s

    def head(self, path, length, token=None):
        """The bytes of a request up to its body."""
        return ("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (
            path, self.host, token or self.a, length)).encode()

    def memory(self):
        """MiB that are resident."""
        with open("/proc/%d/status" % self.process.pid) as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read()).group(1)) / 1024

    def bystander(self, token=None):
        return Bystander(self.host, token or self.b)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.terminate()
        try:
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()


class Bystander:
    """with t.bystander() as b: what is attacked meanwhile; then b.seen is what that client saw (bystander.py)."""
    def __init__(self, host, token):
        self.argv, self.seen = [sys.executable, BYSTANDER, host, token], None

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *exc):
        out, _ = self.process.communicate(timeout=2 * WAIT)
        self.seen = json.loads(out)


def served(seen):
    """Did a bystander get all its answers, and 99 of 100 within 100 ms of a machine without other work?"""
    return not seen["wrong"] and seen["p99"] < 100 * max(1, seen["slow"])


# ------------------------------------------------------------------------------------------------------------------ the attacks

class Sending:
    """Many requests at once, from this one process: their bytes go out as the server takes them, and what comes back is kept."""
    def __init__(self, t, requests):
        self.poll, self.answers = selectors.DefaultSelector(), []
        for data in requests:
            s = t.connect()
            s.setblocking(False)
            self.poll.register(s, selectors.EVENT_READ | selectors.EVENT_WRITE, [memoryview(data), b""])

    def run(self, seconds=WAIT, often=lambda: None):
        """Until all are answered. Returns the statuses, each with its number; a connection that ends without an answer counts as 0."""
        end = time.monotonic() + seconds
        while self.poll.get_map() and time.monotonic() < end:
            for key, events in self.poll.select(0.1):
                self.serve(key, events)
            often()
        self.close()
        return dict(collections.Counter(int(a[9:12]) if a.startswith(b"HTTP/1.1 ") else 0 for a in self.answers))

    def serve(self, key, events):
        s, state = key.fileobj, key.data
        try:
            if events & selectors.EVENT_READ:
                piece = s.recv(65536)
                state[1] += piece
                if not piece or answered(state[1]):
                    self.end(s, state)
                    return
            if events & selectors.EVENT_WRITE and state[0]:
                state[0] = state[0][s.send(state[0][:MIB]):]
                if not state[0]:
                    self.poll.modify(s, selectors.EVENT_READ, state)
        except BlockingIOError:
            pass
        except OSError:
            self.end(s, state)

    def end(self, s, state):
        self.poll.unregister(s)
        s.close()
        self.answers.append(state[1])

    def close(self):
        """Leaves, whatever is still to come."""
        for key in list(self.poll.get_map().values()):
            self.end(key.fileobj, key.data)


def answered(data):
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return end and length and len(body) >= int(length.group(1))


def small_values(size, prefix=b'{"x":['):
    """A body of that size that is nothing but small values."""
    return prefix + b"1," * ((size - len(prefix) - 3) // 2) + b"1]}"


def bodies_of_small_values(t):
    """One body, and another one a hundred times at once, for routes that take anything and for one that does not."""
    body = small_values(16 * MIB)
    paths, peak = ("/v1/chat/completions", "/ask", "/write_file", "/mcp"), [t.memory()]
    with t.bystander() as b:
        sending = Sending(t, [t.head(paths[i % 4], len(body)) + body for i in range(100)])
        statuses = sending.run(60, lambda: peak.append(t.memory()))
    return {"statuses": statuses, "before": peak[0], "peak": max(peak), "after": t.memory(), "bystander": b.seen}


def bodies_at_the_limit(t):
    """As many values as a body may have, in every shape that a route could take long over."""
    n, bodies = 49_000, []
    member = b"{" + b",".join(b'"k%d":1' % i for i in range(n)) + b"}"
    part = b'{"type":"image_url","image_url":{"url":"data:image/png;base64,aGFsbG8="}}'
    for path, body in (("/ask", member), ("/create_sandbox", member), ("/execute", member), ("/mcp", member),
                       ("/v1/chat/completions", b'{"messages":[{"role":"user","content":[' + b",".join([part] * (n // 5)) + b"]}]}"),
                       ("/v1/chat/completions", b'{"messages":[' + b",".join([b'{"role":"user","content":"x"}'] * (n // 3)) + b"]}"),
                       ("/v1/responses", b'{"input":[' + b",".join([b'{"role":"user","content":"x"}'] * (n // 3)) + b"]}"),
                       ("/ask", b'{"input":"x","files":[' + b",".join([b'{"name":"a","content":""}'] * (n // 3)) + b"]}"),
                       ("/v2/sandboxes", b'{"metadata":' + member + b"}"), ("/run_code", b'{"files":' + member + b',"code":"1","language":"python"}')):
        bodies.append(t.head(path, len(body)) + body)
    with t.bystander() as b:
        statuses = Sending(t, bodies).run()
    return {"statuses": statuses, "bystander": b.seen}


def long_uploads(t):
    """Files as large as may be sent, of the characters that take longest to read and to write."""
    box, peak, results = t.ask("/create_sandbox", {}).data["sandbox_id"], [], []
    with t.bystander() as b:
        for character in ("A", "\n", "\x01", "a\n", "\u4f60"):
            text = json.dumps(character)[1:-1].encode()
            content = text * ((15 * MIB) // len(text))
            body = b'{"sandbox_id":"%s","filename":"f","content":"%s"}' % (box.encode(), content)
            results.append(Sending(t, [t.head("/write_file", len(body)) + body]).run(60, lambda: peak.append(t.memory())))
            size = t.ask("/list_files", {"sandbox_id": box}).data["files"][0]["size"]
            results.append(size == len(character.encode()) * (len(content) // len(text)))
    t.ask("/stop_sandbox", {"sandbox_id": box})
    return {"results": results, "peak": max(peak), "bystander": b.seen}


def unfinished_bodies(t):
    """Bodies that never end, on twenty connections."""
    held = [t.connect() for _ in range(20)]
    with t.bystander() as b:
        for s in held:
            try:
                s.sendall(t.head("/ask", 16 * MIB) + b" " * (4 * MIB))
            except OSError:     # refused while we were sending
                pass
        memory = t.memory()
    for s in held:
        s.close()
    return {"memory": memory, "bystander": b.seen}


INSIDE = ["https://127.0.0.1:%d/", "https://localhost:%d/", "https://[::ffff:127.0.0.1]:%d/", "https://2130706433:%d/", "https://0x7f.1:%d/", "https://0:%d/",
          "https://user@127.0.0.1:%d/", "https://example.com@127.0.0.1:%d/", "http://127.0.0.1:%d/", "file:///etc/passwd?%d", "https://169.254.169.254:%d/"]


def urls_of_this_machine(t):
    """upload_file, allowed to fetch, with URLs that lead to this machine or its network; a listener counts who comes."""
    with t.another("--fetch-urls") as server, RawServer() as listener:
        box = server.ask("/create_sandbox", {}).data["sandbox_id"]
        made = [server.ask("/upload_file", {"sandbox_id": box, "remote_filename": "f", "file_url": url % listener.port}) for url in INSIDE]
        fetching = "public internet" in made[0].data["detail"]      # else it does not even try
        return {"fetching": fetching, "came": listener.connections, "made": [a.status for a in made], "files": server.ask("/list_files", {"sandbox_id": box}).data["files"]}


STEERED = {"X_Forwarded_Host": "evil.example", "X_Forwarded_Proto": "gopher", "Forwarded": "host=evil.example", "X_Original_Host": "evil.example"}


def an_address_from_the_client(t):
    """Headers that name another address for the server, which links with a key in them must not begin with."""
    box = t.ask("/create_sandbox", {}).data["sandbox_id"]
    t.ask("/write_file", {"sandbox_id": box, "filename": "f", "content": "x"})
    made = [t.ask("/download_file", {"sandbox_id": box, "filename": "f"}, **headers) for headers in (
        STEERED, {"Host": "evil.example"}, {"Host": "evil.example:%d" % t.port}, {"Host": "127.0.0.1:%d@evil.example" % t.port})]
    servers = t.ask("/openapi.json", **STEERED).data["servers"]
    t.ask("/stop_sandbox", {"sandbox_id": box})
    return {"base": "http://" + t.host, "link": made[0].data["download_url"], "servers": servers, "refused": [a.status for a in made[1:]]}


def the_room_of_another(t):
    """B asks for far more questions and sandboxes than there is room for, while A has a conversation, and 300 sessions of MCP, while A has one."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}}
    with t.another("--max-sandboxes", "4") as server:
        talk = server.ask("/ask", {"input": "q"}).data["session"]
        mcp = server.ask("/mcp", hello).headers["Mcp-Session-Id"]
        asked = [server.ask("/ask", {"input": "q"}, server.b).status for _ in range(8)]
        made = [server.ask("/create_sandbox", {}, server.b).status for _ in range(8)]
        for _ in range(300):
            server.ask("/mcp", hello, server.b)
        return {"asked": asked, "made": made, "talk": server.ask("/ask", {"input": "q", "session": talk}).status,
                "room": server.ask("/create_sandbox", {}).status,
                "mcp": server.ask("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, Mcp_Session_Id=mcp).status}


def the_ids_of_another(t):
    """B uses each id of A's: of a sandbox that lives, of one that has ended, of a session of MCP, and of an answer."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_python", "arguments": {"code": "1"}}}
    lives, ended = (t.ask("/create_sandbox", {}).data["sandbox_id"] for _ in range(2))
    t.ask("/stop_sandbox", {"sandbox_id": ended})
    mcp = t.ask("/mcp", hello).headers["Mcp-Session-Id"]
    answer = t.ask("/v1/responses", {"input": "q"}).data["id"]
    seen = []
    for id in (lives, ended):
        seen += [t.ask(path, dict(more, sandbox_id=id), t.b).status for path, more in (
            ("/run_code", {"code": "1"}), ("/run_code", {"code": "1", "recreate": True}), ("/list_files", {}), ("/get_sandbox_info", {}), ("/stop_sandbox", {}))]
        seen += [t.ask("/ask", {"input": "q", "session": id}, t.b).status, t.ask("/files/%s/x" % id, token=t.b).status,
                 t.ask("/sandboxes/" + id, token=t.b, method="DELETE").status]
    seen += [t.ask("/mcp", call, t.b, Mcp_Session_Id=mcp).status, t.ask("/mcp", token=t.b, method="DELETE", Mcp_Session_Id=mcp).status]
    seen += [t.ask("/v1/responses", {"input": "q", "previous_response_id": answer}, t.b).status]
    mine = [t.ask("/run_code", {"sandbox_id": lives, "code": "1"}).status, t.ask("/run_code", {"sandbox_id": ended, "code": "1"}).status,
            t.ask("/mcp", dict(call, method="tools/list", params={}), Mcp_Session_Id=mcp).status]
    for box in t.ask("/list_sandboxes", {}).data["sandboxes"]:
        t.ask("/stop_sandbox", {"sandbox_id": box["sandbox_id"]})
    return {"seen": seen, "mine": mine}


def what_two_programs_read_otherwise(t):
    """A NUL byte and what follows it, in each part of a request; a folded line; a port that is one only in 32 bits; lengths that are no numbers."""
    def request(method=b"POST", target=b"/list_sandboxes", host=t.host.encode(), token=t.a.encode(), length=b"2"):
        return (b"%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %s\r\n\r\n{}"
                % (method, target, host, token, length))
    made = [request(**{part: value + hidden}) for part, value in (("method", b"POST"), ("target", b"/list_sandboxes"), ("host", t.host.encode()), (
        "token", t.a.encode()), ("length", b"2")) for hidden in (b"\0", b"\0x")]
    made += [request(token=t.a.encode() + b"\r\n x"), request(host=b"127.0.0.1:%d" % (t.port + 2 ** 32))]
    made += [request(length=length) for length in (b"2x", b"-2", b"+2", b"", b"9" * 30)]
    return {"plain": answer_to(t, request()), "made": [answer_to(t, r) for r in made]}


def answer_to(t, request):
    """Its status, or None if it is not one answer."""
    with t.connect() as s:
        s.sendall(request)
        answer = b"".join(iter(lambda: s.recv(65536), b""))
    return int(answer[9:12]) if answer.count(b"HTTP/1.1 ") == 1 else None


NEW = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_python", "arguments": {"code": "1", "sandbox": "new"}}}).encode()


def leave(t, path, body, after):
    """A client that asks, and does not wait for the answer."""
    with t.connect() as s:
        s.sendall(t.head(path, len(body)) + body)
        time.sleep(after)


def sandboxes_of_clients_that_left(t):
    """Each way of making a sandbox, by clients that leave at once or after a moment. Then there is room for one that stays."""
    seen = {}
    with t.another("--max-sandboxes", "4") as server:
        for path, body in (("/create_sandbox", b"{}"), ("/v2/sandboxes", b'{"templateID":"base"}'), ("/v1/code-interpreter", b'{"name":"a"}'), ("/mcp", NEW)):
            for i in range(12):
                leave(server, path, body, (0, 0.02, 0.2)[i % 3])        # the last when the answer is out, which it does not read
            end, answers = time.monotonic() + 10, []
            while time.monotonic() < end and (not answers or answers[-1].status == 429):
                answers.append(server.ask("/create_sandbox", {}))
                time.sleep(0.2)
            seen[path] = answers[-1].status
            for box in server.ask("/list_sandboxes", {}).data["sandboxes"]:
                server.ask("/stop_sandbox", {"sandbox_id": box["sandbox_id"]})
    return seen


def unfinished_headers(t):
    """Half a request on more connections than there are, from one address and from many; then only whole requests that need no token."""
    seen = {}
    mine_again = t.head("/list_sandboxes", 2) + b"{}"
    part, whole = b"POST /run_code HTTP/1.1\r\nHost: ", b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % t.host.encode()
    with t.connect() as mine:
        mine.sendall(mine_again)
        mine.recv(65536)
        for name, data, hosts in (("one", part, ["127.0.0.1"]), ("many", part, ["127.0.0.%d" % i for i in range(2, 12)]), ("public", whole, ["127.0.0.%d" % i for i in range(2, 12)])):
            held = []
            for i in range(1000):
                s = socket.socket()
                s.settimeout(2)
                held.append(s)
                try:
                    s.bind((hosts[i % len(hosts)], 0))
                    s.connect(("127.0.0.1", t.port))
                    s.sendall(data)
                except OSError:     # none is left, so they have to wait
                    break
            with t.bystander() as b:
                mine.sendall(mine_again)
                kept = mine.recv(65536)[:12]
            seen[name] = {"bystander": b.seen, "kept": kept}
            for s in held:
                s.close()
    return seen


ROWS = [
    Probe("SRV-UNENDED", "20 bodies of 16 MiB that never come to their end: the other client is served, from 64 MiB", unfinished_bodies,
          lambda seen: served(seen["bystander"]) and seen["memory"] < 64),
    Probe("SRV-VALUES", "100 bodies of 16 MiB of small values at once: each is refused, within 64 MiB, which are given back", bodies_of_small_values,
          lambda seen: served(seen["bystander"]) and seen["peak"] < 64 and seen["after"] < 24 and set(seen["statuses"]) <= {400, 413, 429}
          and sum(seen["statuses"].values()) == 100),
    Probe("SRV-LIMIT", "bodies of as many values as they may have: nobody waits for them", bodies_at_the_limit,
          lambda seen: served(seen["bystander"]) and 0 not in seen["statuses"]),
    Probe("SRV-FILES", "the longest files that may be sent, of the dearest characters: they arrive, and nobody waits for them", long_uploads,
          lambda seen: served(seen["bystander"]) and seen["peak"] < 64 and seen["results"] == [{200: 1}, True] * 5),
    Probe("SRV-FETCH", "with --fetch-urls, URLs of this machine in eleven spellings: nobody comes, nothing is fetched", urls_of_this_machine,
          lambda seen: seen["fetching"] and not seen["came"] and not seen["files"] and set(seen["made"]) <= {422, 502}),
    Probe("SRV-LINKS", "headers that name another address for the server: no link begins with it", an_address_from_the_client,
          lambda seen: seen["servers"] == [{"url": seen["base"]}] and seen["link"].startswith(seen["base"] + "/files/") and set(seen["refused"]) <= {400, 403}),
    Probe("SRV-ROOM", "8 questions, 8 sandboxes and 300 MCP sessions of B: A keeps its conversation, its session and its room", the_room_of_another,
          lambda seen: seen["asked"] == [200] * 8 and seen["made"] == [200] * 2 + [429] * 6 and (seen["talk"], seen["room"], seen["mcp"]) == (200, 200, 200)),
    Probe("SRV-IDS", "B uses the ids of A's sandboxes, ended ones too, MCP session and answer: they do not exist for it", the_ids_of_another,
          lambda seen: seen["seen"] == [404] * 18 + [400] and seen["mine"] == [200, 410, 200]),
    Probe("SRV-BYTES", "NUL bytes, a folded line, a port of 2^32+P, lengths that are no numbers: one refusal each", what_two_programs_read_otherwise,
          lambda seen: seen["plain"] == 200 and set(seen["made"]) <= {400, 403, 413}),
    Probe("SRV-LEFT", "clients that make sandboxes and leave, in four ways: there is room for one that stays", sandboxes_of_clients_that_left,
          lambda seen: set(seen.values()) == {200}),
    Probe("SRV-HEADERS", "1,000 connections without a whole request, or without a token: others are served, on new connections and on theirs", unfinished_headers,
          lambda seen: all(not one["bystander"]["wrong"] and one["bystander"]["worst"] < 5000 and one["kept"] == b"HTTP/1.1 200" for one in seen.values())),
]


# -------------------------------------------------------------------------------------------------------------------- the group

def late(seen):
    """A bystander that had all its answers, but not soon: another program may have been the reason."""
    return isinstance(seen, dict) and "bystander" in seen and not seen["bystander"]["wrong"] and not served(seen["bystander"])


def attempt(t, row):
    """A row that could not be tried has no verdict; one after which nobody is served is BROKEN, whatever it saw."""
    try:
        seen = row.code(t)
        for _ in range(3):
            if not late(seen):
                break
            seen = row.code(t)
    except Exception as e:
        seen, found = None, Finding(t.there.place, "server", row, NOT_RUN, "%s: %s" % (type(e).__name__, e))
    else:
        found = judge(t.there.place, "server", row, lambda: row.holds(seen), repr(seen))
    try:
        after = t.ask("/list_sandboxes", {}, t.b)
        fine = after.status == 200
    except (OSError, http.client.HTTPException) as e:
        after, fine = e, False
    if found.verdict in (HELD, NOT_RUN) and not fine:
        return Finding(t.there.place, "server", row, BROKEN, "the request after it: %r; before: %r" % (after, seen))
    return found


ALONE = threading.Lock()        # one server at a time: how soon it answers is what is measured
# No engine has a part in these: they are tried in the place that comes first, and not again.
FRONT = {"SRV-UNENDED", "SRV-VALUES", "SRV-LIMIT", "SRV-FETCH", "SRV-LINKS", "SRV-BYTES", "SRV-HEADERS"}
tried = set()


def run_group(there):
    with ALONE, RawServer(lambda raw, request: raw.answer(), keep=False) as model:
        there.url = model.url
        rows = [row for row in ROWS if row.id not in tried]
        with Target(there) as t:
            found = [attempt(t, row) for row in rows]
        tried.update(FRONT & {f.id for f in found if f.verdict != NOT_RUN})
        return found
