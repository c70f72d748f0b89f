"""raw_server.py - a model service that is no service: a listener on loopback whose answers are raw bytes, so that nothing stands between
a test and what goes over the wire. An answer is a function of the connection and the request; it may return, and the connection is closed.
"""
import json
import socket
import ssl
import threading
import time


class Request:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.head, self.raw = head, body
        self.method, self.path = (lines[0].split(" ") + ["", ""])[:2]
        self.headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}

    @property
    def body(self):
        return json.loads(self.raw)


class Raw:
    """One accepted connection, in words of tests."""

    def __init__(self, sock, closing):
        self.sock, self.closing, self.rest = sock, closing, b""

    def read_request(self):
        while b"\r\n\r\n" not in self.rest:
            piece = self.sock.recv(65536)
            if not piece:
                return None
            self.rest += piece
        head, _, body = self.rest.partition(b"\r\n\r\n")
        request = Request(head, b"")
        want, parts, have = int(request.headers.get("content-length", 0)), [body], len(body)
        while have < want:
            piece = self.sock.recv(1 << 20)
            if not piece:
                return None
            parts.append(piece)
            have += len(piece)
        body = b"".join(parts)
        request.raw, self.rest = body[:want], body[want:]
        return request

    def send(self, data):
        self.sock.sendall(data.encode() if isinstance(data, str) else data)

    def head(self, status=200, kind="text/event-stream", **headers):
        lines = "".join("%s: %s\r\n" % (k.replace("_", "-"), v) for k, v in headers.items())
        self.send("HTTP/1.1 %d X\r\nContent-Type: %s\r\n%s\r\n" % (status, kind, lines))

    def whole(self, body, status=200, kind="application/json", **headers):
        body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.head(status, kind, Content_Length=len(body), **headers)
        self.send(body)

    def event(self, delta=None, finish=None, **more):
        chunk = dict({"id": "c", "object": "chat.completion.chunk",
                      "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}]}, **more)
        self.send("data: %s\n\n" % json.dumps(chunk))

    def answer(self, text="an answer"):
        self.head(Connection="close")
        self.event({"role": "assistant", "content": text})
        self.event({}, "stop")
        self.send("data: [DONE]\n\n")

    def calls(self, codes, first=0):
        """Each code a call of its own, in one event."""
        for k, code in enumerate(codes):
            self.event({"tool_calls": [{"index": k, "id": "call_%d_%d" % (first, k), "type": "function",
                                        "function": {"name": "execute_python", "arguments": json.dumps({"code": code})}}]})

    def wait(self, seconds):
        self.closing.wait(seconds)

    def for_ever(self, data, pause=0.0):
        """Until the other side has had enough, or the test is over."""
        while not self.closing.is_set():
            self.send(data)
            if pause:
                self.closing.wait(pause)


class RawServer:
    """with RawServer(answer) as s: ... s.url ...; answer(raw, request) is called for each request, s.requests keeps them.
    tls: an ssl.SSLContext; accept: called with the bare socket instead, for what goes wrong before there is a request."""

    def __init__(self, answer=None, tls=None, accept=None, keep=True):
        self.reply, self.tls, self.accept, self.keep = answer, tls, accept, keep
        self.requests, self.closing, self.sockets, self.lock = [], threading.Event(), set(), threading.Lock()
        self.connections = 0

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.url = "%s://127.0.0.1:%d/v1" % ("https" if self.tls else "http", self.port)
        self.listening = threading.Thread(target=self.listen, daemon=True)
        self.listening.start()
        return self

    def __exit__(self, *unused):
        self.closing.set()
        self.listener.shutdown(socket.SHUT_RDWR)        # to close it alone leaves accept waiting, for the next listener of that number
        self.listening.join()
        self.listener.close()
        with self.lock:
            for s in self.sockets:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def listen(self):
        while not self.closing.is_set():
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.sockets.add(sock)
                self.connections += 1
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        sock.settimeout(60)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self.accept:
                self.accept(sock, self.closing)
                return
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
            raw = Raw(sock, self.closing)
            request = raw.read_request()
            if request:
                with self.lock:
                    if self.keep:
                        self.requests.append(request)
                self.reply(raw, request)
        except (OSError, ssl.SSLError, ValueError):
            pass                        # the program has had enough, which is for the test to judge
        finally:
            try:
                sock.close()
            except OSError:
                pass


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within %d s" % seconds
        time.sleep(0.02)
