"""serving.py - `sandpiper serve` for tests: started on a free port, with what a client needs to reach it."""
import http.client
import json
import re
import signal
import subprocess
import threading
from urllib.parse import urlsplit

from conftest import HANG


class Server:
    def __init__(self, s, *args, env=None, listen=("--listen", "127.0.0.1:0"), token=None, **popen):
        """token: the one that its file has, if that is not named by the option."""
        self.process = s.start("serve", *listen, *args, stdout=subprocess.DEVNULL, env=env, **popen)
        self.seen = []              # lines of stderr so far
        self.token = token or (None if "--token-file" in args else self.line(r"token: (\S+)"))
        self.url = self.line(r"listening on (http://\S+)")
        self.host = urlsplit(self.url).netloc

    def line(self, pattern):
        late = threading.Timer(2 * HANG, self.process.kill)
        late.start()
        try:
            for raw in iter(self.process.stderr.readline, b""):
                self.seen.append(raw.decode("utf-8", "replace"))
                found = re.search(pattern, self.seen[-1])
                if found:
                    return found.group(1)
        finally:
            late.cancel()
        raise AssertionError("it ended, or was silent for too long: %s" % self.seen)

    def open(self, path, body=None, method=None, **headers):
        """The response, not yet read."""
        c = http.client.HTTPConnection(self.host, timeout=4 * HANG)      # code runs for it, and gigabytes may be read
        headers = {"Authorization": "Bearer %s" % self.token, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        c.request(method or ("GET" if body is None else "POST"), path, body, {k: v for k, v in headers.items() if v})
        response = c.getresponse()
        response.connection = c
        return response

    def ask(self, path, body=None, status=200, **headers):
        r = self.open(path, body, **headers)
        text = r.read()
        assert r.status == status, (r.status, text)
        return json.loads(text) if "json" in r.headers["Content-Type"] else text

    def close(self):
        """Its exit code. What a test that failed has left running is not waited for: the second signal ends it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(HANG)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(HANG)
            code = "it had to be told twice"
        self.process.stderr.close()
        return code


def servers(program, **settings):
    """For a fixture (yield from): a function that starts a server with these options, each of which ends well and leaves nothing."""
    made = []

    def begin(*args):
        made.append(Server(program, *args, **settings))
        return made[-1]
    yield begin
    for s in made:
        assert s.close() == 0
    assert program.leftovers() == []


def sse(response):
    """(event, data) of each; comments are passed over."""
    event = None
    for raw in response:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            event = line[7:]
        elif line.startswith("data: "):
            yield event, line[6:] if line == "data: [DONE]" else json.loads(line[6:])
            event = None
