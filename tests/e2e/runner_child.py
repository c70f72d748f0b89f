"""runner_child.py - the front of one runner, for tests: `sandpiper runner` with our end of its socketpair."""
import array
import json
import socket
import subprocess

from conftest import HANG


class Runner:
    def __init__(self, s, *args, env=None):
        self.sock, theirs = socket.socketpair()
        self.sock.settimeout(HANG * 2)
        self.process = s.start("runner", *args, stdin=theirs, stdout=subprocess.DEVNULL, env=env)
        theirs.close()
        self.stream, self.number, self.unasked = self.sock.makefile("rb"), 0, []

    def send(self, op, arguments, fd=None, events=False):
        self.number += 1
        line = json.dumps({"id": self.number, "op": op, "arguments": arguments, **({"events": True} if events else {})}).encode() + b"\n"
        passed = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        sent = self.sock.sendmsg([line], passed)
        self.sock.sendall(line[sent:])
        return self.number

    def cancel(self, number):
        self.sock.sendall(b'{"cancel":%d}\n' % number)

    def message(self):
        line = self.stream.readline()
        return json.loads(line) if line else None

    def heard(self):
        """What it says of its start."""
        while not self.unasked:
            m = self.message()
            assert m is not None and "id" not in m, m
            self.unasked.append(m)
        return self.unasked[0]

    def answer(self, number):
        """The events on the way, and the last word."""
        events = []
        while True:
            m = self.message()
            assert m is not None, "it ended: %s" % self.process.stderr.read().decode("utf-8", "replace")
            if "id" not in m:
                self.unasked.append(m)
                continue
            assert m["id"] == number, m
            if "event" not in m:
                return events, m
            events.append(m)

    def ask(self, op, fd=None, **arguments):
        m = self.answer(self.send(op, arguments, fd))[1]
        assert "error" not in m, m
        return m["result"]

    def refused(self, op, **arguments):
        m = self.answer(self.send(op, arguments))[1]
        assert "result" not in m, m
        return m["error"]

    def code(self, code, **more):
        return self.ask("run_code", code=code, **more)

    def close(self):
        """As a front does that ends or is killed."""
        self.sock.close()
        self.stream.close()
        return self.process.wait(HANG)
