"""weak.py - the self-test: a place that is weak on purpose (bubblewrap with the host's network, without the filter, without limits, started by the
argument vector here), where a probe must come out BROKEN. One that does not, cannot fail, and its HELD says nothing."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from . import languages, limits, mounts, network, pair, posture, protocol, server, store, surface, weak_proxy
from .cell import MARK, Cell, judge
from .session import new_mark

from program import AS_USER, Result, Sandpiper, quiet  # noqa: E402
import rootless  # noqa: E402

# Rows that this place must break, whatever machine it is.
POSTURE = ("I01", "I04", "I06", "I08", "I11", "I13", "I14", "I15", "I17", "I19", "I20", "I27", "I29", "I30", "I31", "I32", "I34", "I36", "S01",
           "S02", "L01", "L06", "L08", "L10")
SURFACE = ("S12", "S14", "S15", "S16", "S21", "S22", "S30", "S31", "S32", "S34", "S35")
CELLS = ("L02", "L03", "L04", "L05", "P16", "P17", "P18", "M01", "M02", "M03", "M04", "M05", "M07", "G05", "G31", "G35")

SERVER = ("SRV-UNENDED", "SRV-LINKS", "SRV-IDS")      # which a server that only answers must break
WEAK_STORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "weak_store.py")
WEAK_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "weak_server.py")


class Weak:
    """What program.Sandpiper is to a probe."""
    place, url = "weak", None

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="sp", dir="/tmp")
        self.work = self.dir
        root = os.geteuid() == 0
        self.as_user, self.uid = AS_USER if root else {}, rootless.UID if root else os.geteuid()
        self.started = []
        os.chmod(self.dir, 0o755)
        self.mounts = mounts.make(os.path.join(self.dir, "mounts"), self.uid)      # one mount, all of it writable

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        path = self.path(name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def argv(self, path):
        links = [w for name in ("bin", "lib", "lib64", "lib32", "sbin") if os.path.isdir("/usr/" + name)
                 for w in ("--symlink", "usr/" + name, "/" + name)]
        ports = os.path.join(self.dir, "ports.json")
        return ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/usr", "/usr", *links, "--ro-bind", "/etc", "/etc",
                "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/mnt/data", "--ro-bind-try", ports, "/mnt/data/ports.json", "--bind", self.mounts, "/mnt/host", "--ro-bind", self.dir, self.dir,
                "--chdir", "/mnt/data", "--", "/bin/bash" if path.endswith(".sh") else "/usr/bin/python3", path]

    def start(self, *args, env=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
        """As if the program had started it, but nothing ends it with the program."""
        self.started.append(subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", *self.argv(args[-1])], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                env=dict(os.environ, **(env or {})), cwd="/", start_new_session=True, **self.as_user))
        return self.started[-1]

    def finish(self):
        """What stayed is in the group of what was started; what left that is in a pid namespace whose first process did not."""
        for p in self.started:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except OSError:
                pass
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def run(self, *args, env=None, timeout=120):
        p = self.start(*args, env=env)
        try:
            out, err = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
        return Result(p.returncode, out, err, 0, args)


class WeakStore(Sandpiper):
    """With a program that believes its database."""
    def argv(self, args):
        return [sys.executable, WEAK_STORE, *args]


def store_rows():
    there = WeakStore()
    there.place = "weak"
    try:
        yield from store.run_group(there)
    finally:
        there.finish()
        shutil.rmtree(there.dir, ignore_errors=True)


def why_not():
    r = quiet(["bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"], cwd="/", **(AS_USER if os.geteuid() == 0 else {}))
    return None if r.returncode == 0 else "the self-test needs bwrap: " + r.stdout.strip()


def run_cell(weak, probe, env=None):
    """The code of a cell as a program of its own, told as the session would tell it."""
    mark = new_mark()
    name = "cell.sh" if probe.language == "sh" else "cell.py"
    r = weak.run(weak.write(name, probe.code.replace(MARK, mark)), env={"PROBE_SECONDS": "60", **(env or {})})
    cell = Cell({"code": probe.code})
    cell.finish(dict(status="ok" if r.code == 0 else "exception", value=None, error={"text": "", "traceback": r.err}, notices=[],
                     state_lost=False, state_restored=False, seconds=0.1,
                     output_bytes=len(r.out), model_text=r.out + r.err))
    cell.out = r.out
    return judge("weak", "cell", probe, lambda: probe.holds(cell), repr(cell))


def rows(weak):
    seen, r = posture.see(weak)
    if seen is None:
        sys.exit("self-test: the weak place does not start: %r" % r)
    yield from (f for f in posture.judge_rows("bwrap", seen) if f.id in POSTURE)
    seen, why = surface.see(weak)
    if seen is None:
        sys.exit("self-test: the weak place does not start: %s" % why)
    first = {f.id: f for f in reversed(surface.judge_rows("bwrap", seen, why))}
    yield from (first[r.id] for r in surface.ROWS if r.id in SURFACE)


def run_all():
    """Findings, each of which should be BROKEN."""
    weak = Weak()
    try:
        for f in rows(weak):
            f.place = weak.place
            yield f
        for p in [*limits.LIMIT_PROBES, *protocol.PROTOCOL_PROBES, *mounts.MOUNT_PROBES, *(p for group in languages.GROUPS.values() for p in group)]:
            if p.id in CELLS:
                yield run_cell(weak, p)
        env = weak_proxy.place(weak)
        for p in network.NETWORK_PROBES:
            yield run_cell(weak, p, env)
        yield network.judge_reached(weak)
        with server.Target(weak, argv=[sys.executable, WEAK_SERVER]) as target:
            for row in server.ROWS:
                if row.id in SERVER:
                    yield server.attempt(target, row)
        yield from store_rows()
        yield from pair.two_uids(weak)
        yield pair.killed(weak, pair.KILLED, pair.FORKED)
    finally:
        weak.finish()
