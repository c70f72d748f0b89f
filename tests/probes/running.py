"""running.py - a cell that stays while it is looked at from outside."""
import os
import select
import signal
import subprocess
import tempfile
import time

from .session import marked

CANARY = dict(SECRET_API_KEY="canary", HTTP_PROXY="http://u:canary@x")


class Running:
    """with Running(there, code) as cell: cell.line() is what it prints. At the end the program is asked to end, and waited for."""
    count = 0

    def __init__(self, there, code, *args):
        Running.count += 1
        self.path = there.write("cell%d.py" % Running.count, code)
        os.chmod(self.path, 0o644)
        self.errors, self.text = tempfile.TemporaryFile(), b""
        self.program = there.start("exec", *args, self.path, env=CANARY, stderr=self.errors)

    def line(self, seconds=20):
        """The first line, or what came instead of one."""
        end = time.monotonic() + seconds
        while b"\n" not in self.text and time.monotonic() < end:
            if select.select([self.program.stdout], [], [], max(0, end - time.monotonic()))[0]:
                piece = os.read(self.program.stdout.fileno(), 65536)
                if not piece:
                    break
                self.text += piece
        if self.text:
            return self.text.partition(b"\n")[0].decode("utf-8", "replace")
        self.errors.seek(0)
        return "nothing was printed within %d s; stderr: %s" % (seconds, self.errors.read().decode("utf-8", "replace"))

    def kill(self):
        self.program.kill()
        self.program.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.program.poll() is None:
            self.program.terminate()
            try:
                self.program.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.kill()
        self.program.stdout.close()
        self.errors.close()
        os.unlink(self.path)


def namespace(pid, name="pid"):
    """None: it may not be asked."""
    try:
        return os.stat("/proc/%s/ns/%s" % (pid, name)).st_ino
    except OSError:
        return None


def inside(pid):
    """Every process of that one's pid namespace, the first one first; seen from outside."""
    own = namespace(pid)
    found = [int(p) for p in os.listdir("/proc") if p.isdigit() and own and namespace(p) == own]
    return sorted(found, key=lambda p: status_of(p).get("NSpid", "").split()[-1:] != ["1"])


def status_of(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            return {k: v.strip() for k, _, v in (line.partition(":") for line in f)}
    except OSError:
        return {}


def end_all(mark):
    """What stayed in spite of everything: its namespace ends with its first process."""
    for pid in marked(mark):
        for one in inside(pid)[:1] + [pid]:
            try:
                os.kill(one, signal.SIGKILL)
            except OSError:
                pass
