"""mcp_stdio.py - a plain client of `sandpiper mcp`: JSON-RPC, a message a line, in the words of both families of revisions."""
import json
import os
import select
import subprocess
import time

from conftest import HANG

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Mcp:
    """modern: each request carries its revision; else it begins with initialize."""

    def __init__(self, program, *args, modern=False, env=None, hello=True):
        self.p = program.start("mcp", *args, stdin=subprocess.PIPE, env=env)
        self.modern, self.number, self.buffer = modern, 0, b""
        self.notified = []          # notifications that came while an answer was awaited
        if not modern and hello:
            self.hello = self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"})["result"]
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, data):
        while data:
            data = data[os.write(self.p.stdin.fileno(), data):]

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def line(self, timeout=HANG):
        """The next line of stdout; None at its end."""
        until = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = until - time.monotonic()
            assert left > 0 and select.select([self.p.stdout], [], [], left)[0], "no message within %d s; so far: %r" % (timeout, self.buffer[:500])
            piece = os.read(self.p.stdout.fileno(), 1 << 20)
            if not piece:
                assert not self.buffer, self.buffer
                return None
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def hear(self, timeout=HANG):
        line = self.line(timeout)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0", message
        return message

    def request(self, method, _meta=None, **params):
        """Send it; returns its id."""
        self.number += 1
        meta = dict(MODERN if self.modern else {}, **(_meta or {}))
        message = {"jsonrpc": "2.0", "id": self.number, "method": method}
        if params or meta:
            message["params"] = dict(params, _meta=meta) if meta else params
        self.send(message)
        return self.number

    def answer(self, number, timeout=HANG):
        while True:
            message = self.hear(timeout)
            if "id" in message and message["id"] == number:
                return message
            assert "method" in message and "id" not in message, message
            self.notified.append(message)

    def ask(self, method, _meta=None, **params):
        return self.answer(self.request(method, _meta, **params))

    def call(self, tool, _meta=None, **arguments):
        """The result of a tool."""
        answer = self.ask("tools/call", _meta, name=tool, arguments=arguments)
        assert "result" in answer, answer
        return answer["result"]

    def code(self, code, **more):
        return self.call("execute_python", code=code, **more)

    def until_progress(self, text):
        """Wait for live output."""
        heard = ""
        while text not in heard:
            message = self.hear()
            assert message["method"] == "notifications/progress", message
            heard += message["params"]["message"]

    def cancel(self, number):
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "test"}})

    def close(self):
        """Close stdin; nothing may come any more but progress that was under way. Returns the exit code and stderr."""
        self.p.stdin.close()
        while (line := self.line()) is not None:
            assert json.loads(line)["method"] == "notifications/progress", line
        return self.p.wait(HANG), self.p.stderr.read().decode()


def text(result):
    return "\n".join(c["text"] for c in result["content"] if c["type"] == "text")
