"""serving_load.py - what the server bears: 200 connections that are kept open, 10,000 requests, and its memory; one client's cell over HTTP; a sandbox
out of the pool; 200 sandboxes that nobody asks anything."""
import json
import re
import selectors
import socket
import statistics
import subprocess
import time


class Server:
    def __init__(self, program, env, engine, *args):
        self.process = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--sandbox", engine, *args], env=env, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        self.token = self.port = None
        while not self.port:
            line = self.process.stderr.readline()
            if not line:
                raise SystemExit("bench: serve did not start")
            token, port = re.search(r"token: (\S+)", line), re.search(r"listening on http://.*?:(\d+)", line)
            self.token, self.port = token.group(1) if token else self.token, int(port.group(1)) if port else None

    def request(self, method, path, body=None):
        text = b"" if body is None else json.dumps(body).encode()
        kind = "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(text) if body is not None else ""
        return ("%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n%s\r\n" % (method, path, self.port, self.token, kind)).encode() + text

    def rss(self, pid=None):
        with open("/proc/%d/status" % (pid or self.process.pid)) as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read()).group(1)) / 1024

    def runners(self):
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as f:
            return [int(pid) for pid in f.read().split()]

    def close(self):
        self.process.terminate()
        self.process.wait(60)


def whole(data):
    """The status of an answer that is all there, or None."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return int(head[9:12]) if end and length and len(body) == int(length.group(1)) else None


def ask(s, data):
    s.sendall(data)
    got = b""
    while whole(got) is None:
        got += s.recv(65536)
    return whole(got), got.partition(b"\r\n\r\n")[2]


def flood(server, connections, requests, data):
    """Every connection asks again as soon as it has its answer. Returns seconds and the answers that were not 200."""
    sel, sent, done, bad = selectors.DefaultSelector(), 0, 0, 0
    for i in range(connections):
        s = socket.create_connection(("127.0.0.1", server.port))
        sel.register(s, selectors.EVENT_READ, [i, b""])
    began = time.perf_counter()
    for key in list(sel.get_map().values()):
        key.fileobj.sendall(data(key.data[0]))
        sent += 1
    while done < requests:
        for key, _ in sel.select(60) or [(None, None)]:
            if key is None:
                raise SystemExit("bench: no answer for a minute")
            key.data[1] += key.fileobj.recv(65536)
            status = whole(key.data[1])
            if status is None:
                continue
            done, bad, key.data[1] = done + 1, bad + (status != 200), b""
            if sent < requests:
                key.fileobj.sendall(data(key.data[0]))
                sent += 1
    seconds = time.perf_counter() - began
    for key in list(sel.get_map().values()):
        key.fileobj.close()
    return seconds, bad


def measure(program, env, engine, connections=200, requests=10000):
    """A dict: cell_ms, health_ms (p50, one client), seconds, bad, before and after (RSS in MB)"""
    server = Server(program, env, engine)
    try:
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            boxes = [json.loads(ask(s, server.request("POST", "/create_sandbox", {}))[1])["sandbox_id"] for _ in range(8)]
            cells = [server.request("POST", "/run_code", {"sandbox_id": b, "code": "print(1)"}) for b in boxes]
            times = {}
            for name, data in (("health_ms", server.request("GET", "/")), ("cell_ms", cells[0])):
                one = []
                for _ in range(1000):
                    began = time.perf_counter()
                    assert ask(s, data)[0] == 200
                    one.append(time.perf_counter() - began)
                times[name] = statistics.median(one) * 1000
        flood(server, connections, requests // 5, lambda i: cells[i % 8])
        before = server.rss()
        seconds, bad = flood(server, connections, requests, lambda i: cells[i % 8])
        return dict(times, seconds=seconds, bad=bad, before=before, after=server.rss())
    finally:
        server.close()


def create(server, s):
    """Milliseconds until the sandbox is there and has answered, and its id."""
    began = time.perf_counter()
    status, body = ask(s, server.request("POST", "/create_sandbox", {}))
    took = (time.perf_counter() - began) * 1000
    assert status == 200, body
    return took, json.loads(body)["sandbox_id"]


def ready(server, s):
    """How many sandboxes wait in the pool."""
    return int(re.search(rb"^sandpiper_sandboxes_ready (\d+)", ask(s, server.request("GET", "/metrics"))[1], re.M).group(1))


def from_pool(program, env, engine, n=21):
    """create_sandbox with a pool of 4 that is full, and without one: a list of milliseconds each."""
    times = []
    for args, full in ((("--pool", "4"), 4), ((), 0)):
        server, one = Server(program, env, engine, *args), []
        try:
            with socket.create_connection(("127.0.0.1", server.port)) as s:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for _ in range(n):
                    until = time.monotonic() + 300
                    while ready(server, s) < full:
                        if time.monotonic() > until:
                            raise SystemExit("bench: the pool is not filled")
                        time.sleep(0.02)
                    took, box = create(server, s)
                    one.append(took)
                    assert ask(s, server.request("POST", "/stop_sandbox", {"sandbox_id": box}))[0] == 200
        finally:
            server.close()
        times.append(one)
    return times


def idle(program, env, engine, n=200):
    """Memory of the runners of n sandboxes, each of which has run a cell, in MB; and of the server."""
    server = Server(program, env, engine, "--max-sandboxes", str(n))
    try:
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            for _ in range(n):
                box = create(server, s)[1]
                assert ask(s, server.request("POST", "/run_code", {"sandbox_id": box, "code": "print(1)"}))[0] == 200
            runners = [server.rss(pid) for pid in server.runners()]
            assert len(runners) >= n, len(runners)
            return runners, server.rss()
    finally:
        server.close()
