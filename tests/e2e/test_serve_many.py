"""test_serve_many.py - for training and evaluation: many workers that run short programs, each in a sandbox of its own; none fails, and nothing is left, also
where the server is killed in the middle. SANDPIPER_MANY="512x50" is how many workers run how many programs each."""
import contextlib
import os
import threading

import pytest

from many_workers import Many
from raw_server import wait_for
from serving import Server

WORKERS, EACH = map(int, os.environ.get("SANDPIPER_MANY", "40x3").split("x"))


@contextlib.contextmanager
def the_dead_are_reaped(but):
    """Who loses their parent becomes ours (conftest.py): three dead processes for each program. With many thousands of them there would be no number left."""
    over = threading.Event()

    def reap():
        while not over.wait(0.2):
            while (dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and dead.si_pid != but:
                os.waitpid(dead.si_pid, 0)
    t = threading.Thread(target=reap)
    t.start()
    yield
    over.set()
    t.join()


@pytest.mark.slow(20)
@pytest.mark.no_asan
def test_none_fails(sandpiper):
    """Each waits for a place among eight, far longer than it runs."""
    server = Server(sandpiper, "--queue", "1h")
    with the_dead_are_reaped(server.process.pid):
        many = Many(WORKERS, EACH).run(server.host, server.token)
    assert not many.failed and len(many.times) == WORKERS * EACH, (many.failed[:5], len(many.failed), len(many.times))
    with open("/proc/%d/status" % server.process.pid) as f:
        memory = next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024
    print("%d workers x %d:" % (WORKERS, EACH), {name: round(value, 2) for name, value in many.figures().items()}, "serve had at most %.1f MB" % memory)
    assert memory < 100
    assert server.close() == 0
    assert sandpiper.leftovers() == []


@pytest.mark.slow(10)
def test_nothing_is_left_of_a_killed_one(sandpiper):
    """The clients are told by the end of their connections; the sandboxes, those that run and those that are being started, end by themselves."""
    server = Server(sandpiper, "--queue", "1h")
    many = Many(WORKERS, 1000)
    t = threading.Thread(target=many.run, args=(server.host, server.token))
    t.start()
    wait_for(lambda: len(many.times) > 10)
    server.process.kill()
    server.process.wait()
    t.join()
    assert len(many.failed) == WORKERS and all("IncompleteRead" in f or "Connection" in f for f in many.failed), many.failed[:5]
    server.process.stderr.close()
    assert sandpiper.leftovers() == []
