"""test_runners_killed.py - kill -9 of the server and of its runners at any moment: the ids of sandboxes that live stay good, with their variables;
none is left without an owner; none is ever handed out twice."""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import HANG
from program import children
from test_serve_keyless import is_runner

TOKEN = "0123456789abcdef" * 4


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=HANG * 3)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    def __init__(self, s, *args):
        self.place = s.path("run/s.sock")
        with open(os.open(s.path("token"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(TOKEN + "\n")
        self.process = s.start("serve", "--listen", "unix:" + self.place, "--token-file", s.path("token"), *args, stdout=subprocess.DEVNULL)
        said = b""
        while b"listening" not in said:
            line = self.process.stderr.readline()
            assert line, said
            said += line
        self.drain = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.drain.start()
        self.connection = Unix(self.place)

    def ask(self, operation, **body):
        """(status, answer), or None: the server is gone."""
        try:
            self.connection.request("POST", "/" + operation, json.dumps(body), {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"})
            r = self.connection.getresponse()
            return r.status, json.loads(r.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.connection.close()
            if self.process.poll() is None and not self.killed:
                raise
            return None

    killed = False

    def runners(self):
        return children(self.process.pid)

    def kill(self, share):
        """This server, and each of its runners with this chance."""
        self.killed = True
        try:
            for pid in self.runners():
                if random.random() < share:
                    os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
        os.kill(self.process.pid, signal.SIGKILL)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(HANG * 2)
        self.drain.join(HANG)
        assert not self.drain.is_alive()
        self.process.stderr.close()
        self.connection.close()


def first_cell(server, value):
    answer = server.ask("create_sandbox")
    if not answer or answer[0] != 200:
        return answer and answer[1], None
    id = answer[1]["sandbox_id"]
    answer = server.ask("run_code", sandbox_id=id, code="('x' in globals(), globals().update(x=%d))[0]" % value)
    assert not answer or answer[0] != 200 or answer[1]["value"] == "False", answer          # nobody has used it before
    return id, answer


def storm(s, moments, *args):
    known, random_ = {}, random.Random(moments)
    for moment in range(moments):
        server = Server(s, "--pool", "1", "--max-sandboxes", "100", *args)
        timer = threading.Timer(random_.random() * random_.choice((0.1, 0.4, 1.0)), server.kill, (random_.random(),))
        timer.start()
        while True:
            value = random_.randrange(1 << 20)
            if len(known) < 3:
                id, answer = first_cell(server, value)
                if not answer:
                    break
                if answer[0] == 200:
                    known[id] = {value}
            else:
                id = random_.choice(sorted(known))
                if random_.random() < 0.2:
                    known.pop(id)
                    if not server.ask("stop_sandbox", sandbox_id=id):
                        break
                    continue
                answer = server.ask("run_code", sandbox_id=id, code="(x, globals().update(x=%d))[0]" % value)
                if not answer:
                    known[id].add(value)           # it may have run
                    break
                if answer[0] == 200 and answer[1]["status"] == "ok":
                    assert int(answer[1]["value"]) in known[id] and not answer[1]["state_lost"], (moment, answer, known[id])
                    known[id] = {value}
                else:
                    known[id].add(value)           # its runner was killed first
                    assert answer[0] != 404 and answer[0] != 410, (moment, answer)
        timer.join()
        server.end()
    return known


def check_storm(s, moments, *args):
    known = storm(s, moments, *args)
    server = Server(s, *args)
    for id, values in known.items():
        status, answer = server.ask("run_code", sandbox_id=id, code="x")
        assert status == 200 and int(answer["value"]) in values and not answer["state_lost"], (answer, values)
    listed = {one["sandbox_id"] for one in server.ask("list_sandboxes")[1]["sandboxes"]}
    assert set(known) <= listed
    server.end()                                   # SIGTERM: an orderly end
    named = [json.loads(line)["name"] for line in s.run("ps", "--json").out.splitlines()]
    assert not [name for name in named if name[len("srv-"):] in listed], named
    for name in named:                             # one that waited in a pool has 10 seconds without its runner
        s.run("rm", name)
    for _ in range(3):                             # a busy engine may not end in time what a killed program was about to start
        s.run("gc")
        left = s.leftovers()
        if not left:
            break
    assert left == []


@pytest.mark.slow(5)
def test_killed(sandpiper):
    check_storm(sandpiper, 8)


@pytest.mark.slow(5)
@pytest.mark.parametrize("stopped", [False, True], ids=["dead", "stopped"])
def test_a_request_that_no_runner_has_read(sandpiper, stopped):
    """Its runner was killed before it came, or before it was read: the next runner carries it out, in the same sandbox. One that was being carried out fails, and
    is not done again; those that wait behind it are done."""
    server = Server(sandpiper)

    def runner():
        (pid,) = [p for p in server.runners() if is_runner(p)]
        return pid
    box = server.ask("create_sandbox")[1]["sandbox_id"]
    assert server.ask("run_code", sandbox_id=box, code="n = 0")[0] == 200
    for i in range(1, 6):
        pid = runner()
        os.kill(pid, signal.SIGSTOP if stopped else signal.SIGKILL)
        timer = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)) if stopped else None
        if timer:
            timer.start()
        status, answer = server.ask("run_code", sandbox_id=box, code="n += 1; n")
        assert (status, answer.get("value"), answer.get("state_lost")) == (200, str(i), False), answer
    others = [Server.__new__(Server) for _ in range(4)]
    answers = [None] * 4
    for i, other in enumerate(others):
        other.__dict__.update(server.__dict__, connection=Unix(server.place))
    code = ["n += 100; print(n, flush=True)\nwhile True: pass", "n += 1000", "n += 1000", "n += 1000"]
    asking = [threading.Thread(target=lambda i=i: answers.__setitem__(i, others[i].ask("run_code", sandbox_id=box, code=code[i]))) for i in range(4)]
    for thread in asking:
        thread.start()
        time.sleep(0.5)
    os.kill(runner(), signal.SIGKILL)
    for thread in asking:
        thread.join(HANG)
    assert [a[0] for a in answers] == [503, 200, 200, 200], answers
    assert server.ask("run_code", sandbox_id=box, code="n")[1]["value"] == "3105"
    for other in others:
        other.connection.close()
    server.end()
    assert sandpiper.leftovers() == []


@pytest.mark.slow(50)
@pytest.mark.check
def test_storm(sandpiper_on, engine):
    """Fewer with a daemon, whose start of a container takes a processor for half a second: what differs there is only how a sandbox ends.
    SANDPIPER_TEST_MOMENTS=50 makes it fifty on each."""
    check_storm(sandpiper_on, int(os.environ.get("SANDPIPER_TEST_MOMENTS", "50" if engine == "bwrap" else "15")))
