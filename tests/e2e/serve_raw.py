"""serve_raw.py - `sandpiper serve` for tests: on a port of its own, with a client that keeps its connection, and raw sockets for what no client sends."""
import http.client
import json
import re
import socket

from conftest import HANG


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    def __init__(self, s, *args, listen="127.0.0.1:0", **popen):
        self.process = s.start("serve", "--listen", listen, *args, **popen)
        self.said, self.token, self.port, self.path = [], None, None, None
        while True:
            line = self.process.stderr.readline().decode()
            assert line, "it did not start: %s" % self.said
            self.said.append(line)
            token, at = re.search(r"token: (\S+)$", line), re.search(r"listening on (?:http://.*?:(\d+) |unix:(.*)$)", line)
            self.token = token.group(1) if token else self.token
            if at:
                self.port, self.path = int(at.group(1) or 0), at.group(2)
                break
        self.client = None

    def another(self):
        """The same server, by a connection of its own: for another thread."""
        other = Server.__new__(Server)
        other.__dict__.update(self.__dict__, client=None)
        return other

    def connect(self):
        if self.path:
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.path)
        else:
            s = socket.create_connection(("127.0.0.1", self.port))
        s.settimeout(HANG)
        return s

    def ask(self, method, path, body=None, headers=None, token=True, keep=True):
        """On the one connection that is kept."""
        h = {"Authorization": "Bearer %s" % (self.token if token is True else token)} if token else {}
        if body is not None:
            h["Content-Type"] = "application/json"
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        h.update(headers or {})
        if self.client is None or not keep:
            self.client = http.client.HTTPConnection("127.0.0.1", self.port or 1, timeout=HANG)
            self.client.sock = self.connect()
        self.client.request(method, path, body, h)
        r = self.client.getresponse()
        return Answer(r.status, r.headers, r.read())

    def post(self, path, /, **body):
        return self.ask("POST", path, body)

    def good(self, path, /, **body):
        a = self.post(path, **body)
        assert a.status == 200, (a.status, a.body)
        return a.json

    def refused(self, status, word, path, /, **body):
        a = self.post(path, **body)
        assert a.status == status and a.json["code"] == word and a.json["detail"], (a.status, a.body)
        return a

    def raw(self, data):
        """What comes back for these bytes, until the server closes or has answered all."""
        with self.connect() as s:
            try:
                s.sendall(data if isinstance(data, bytes) else data.encode())
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            out = b""
            try:
                while True:
                    piece = s.recv(65536)
                    if not piece:
                        return out
                    out += piece
            except ConnectionResetError:
                return out

    def close(self):
        self.process.terminate()
        return self.process.wait(HANG)
