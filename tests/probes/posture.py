"""posture.py - what one program in the sandbox saw (posture_inside.py tries, in a single run), row by row: what must have come of it. The limit
of processes is small, so that reaching it is quick."""
import json
import os
import secrets
import socket

from . import HERE
from .cell import MIB, NOT_RUN, WEAKER, Finding, judge

SMALL = {"SANDPIPER_PIDS": "40"}
DATA = 256 * MIB        # the defaults of what has no option; one file may be as large as the folder
TMP = 64 * MIB
REFUSED = {"EPERM", "ENOSYS", "EACCES", "EINVAL"}
CLOSED = {"EACCES", "ENOENT", "EPERM", "EIO"}
BWRAP = ("bwrap", "bwrap-user")
SOCKETS = {(1, 1), (1, 2), (1, 3), (1, 5), (2, 1), (2, 2), (10, 1), (10, 2)}
DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx", "shm", "mqueue", "fd", "stdin", "stdout", "stderr", "core"}


class Row:
    """One claim. holds(seen): of the probe's JSON object. places: where it is one; weaker: where docs/SECURITY.md says less."""
    def __init__(self, id_, title, holds, keys=None, places=None, weaker=()):
        self.id, self.title, self.holds, self.places, self.weaker = id_, title, holds, places, weaker
        self.keys = keys or (id_,)


def all_in(key, allowed):
    return lambda s: {v for v in (s[key].values() if isinstance(s[key], dict) else s[key])} <= set(allowed)


def is_(key, *values):
    return lambda s: s[key] in values


NETWORK = [
    Row("I01", "network: no service of the host can be reached", lambda s: all_in("I01", {"ECONNREFUSED"})(s) and not s["accepted"],
        ("I01", "accepted")),
    Row("I02", "network: no route out", all_in("I02", {"ENETUNREACH", "EADDRNOTAVAIL"})),
    Row("I03", "network: loopback is the only device", is_("I03", ["lo"])),
    Row("I04", "network: abstract unix sockets of the host cannot be reached", is_("I04", "ECONNREFUSED")),
    Row("I05", "network: no socket file that can be connected", lambda s: all(v in ("EACCES", "EPERM") for _, v in s["I05"])),
    Row("I05b", "network: our own socket is not the code's", is_("I05b", "EACCES", "ENOENT")),
    Row("I06", "network: only unix, TCP and UDP sockets", lambda s: {tuple(f) for f in s["I06"]} <= SOCKETS),
    Row("I06b", "network: no raw and no ping socket", all_in("I06b", REFUSED)),
    Row("I30", "network: SO_LINGER is refused", is_("I30", "EPERM", "ENOPROTOOPT", "EINVAL", "EACCES")),
]
RIGHTS = [
    Row("I07", "rights: all five capability sets are empty", is_("I07", ["0" * 16] * 5)),
    Row("I08", "rights: no_new_privs is set, the filter is on", is_("I08", ["1", "2"])),
    Row("I09", "rights: neither uid nor gid is root's", lambda s: 0 not in s["I09"]),
    Row("I27", "rights: no set-uid bit can be set", all_in("I27", {"EPERM"})),
    Row("F12", "rights: no extended attributes", is_("F12", "EOPNOTSUPP", "ENOTSUP")),        # one number, two names
]
HOST = [
    Row("I10", "host: none of its processes is visible", lambda s: len(s["I10"]) <= 4),
    Row("I11", "host: no secrets, no kernel memory, nothing of the supervisor can be read", all_in("I11", CLOSED)),
    Row("I11b", "host: homes and the engine's state are closed or empty", all_in("I11b", {"EACCES", "ENOENT", 0})),
    Row("I12", "host: nothing can be written but the sandbox's own folders",
        lambda s: set(s["I12"]) <= {"/tmp", "/tmp/.cache", "/mnt/data", "/dev/shm", "/dev/pts", "/dev/mqueue"}),
    Row("I21", "host: only harmless devices", lambda s: set(s["I21"]) <= DEVICES),
    Row("I21b", "host: no device can be made", is_("I21b", "EPERM")),
    Row("I22", "host: no kernel setting can be written", is_("I22", [])),
    Row("I22b", "host: no address of the kernel can be read", is_("I22b", "zeros", "EACCES", "ENOENT", "EPERM")),
    Row("I23", "host: no control group can be written", is_("I23", [])),
    Row("I25", "host: no shared memory, queue or semaphore of it is visible", is_("I25", [])),
    Row("I29", "host: the first process shows no root, folder or program", all_in("I29", CLOSED)),
    Row("I32", "host: nobody can watch which of its programs start (inotify)", is_("I32", *REFUSED), places=BWRAP),
    Row("I36", "host: the same by F_NOTIFY", is_("I36", *REFUSED), places=BWRAP),
    Row("I35", "host: no lease on its files", is_("I35", *REFUSED)),
    Row("I37", "host: no lock on its files", is_("I37", *REFUSED), places=BWRAP, weaker=BWRAP),
    Row("S01", "host: no secret in an environment or a command line", is_("S01", [])),
    Row("S02", "host: no key, token or proxy in the environment", is_("env", []), ("env",)),
]
CALLS = [
    Row("I13", "calls: no mount", all_in("I13", {"EPERM", "ENOSYS"})),
    Row("I14", "calls: no new namespace", lambda s: all(set(v) <= {"EPERM"} for v in s["I14"].values())),
    Row("I14b", "calls: no setns, no clone3", all_in("I14b", {"EPERM", "ENOSYS"})),
    Row("I15", "calls: no other process can be traced or read", all_in("I15", {"EPERM", "ENOSYS"})),
    Row("I16", "calls: no kernel keyring", all_in("I16", {"EPERM"})),
    Row("I17", "calls: no io_uring, bpf, userfaultfd, perf, file handles", all_in("I17", {"EPERM", "ENOSYS"})),
    Row("I18", "calls: no clock, host name, module, swap, reboot", all_in("I18", {"EPERM", "ENOSYS"})),
    Row("I19", "calls: 32-bit and x32 calls end the process", lambda s: all(v in ("SIGSYS", "SIGSEGV", 1) for v in s["I19"])),
    Row("I20", "calls: no terminal, and no input can be pushed into one",
        lambda s: s["I20"][:3] == ["EPERM"] * 3 and s["I20"][3] in ("ENXIO", "ENODEV", "EACCES", "ENOENT")),
    Row("I31", "calls: no sync and no syncfs", all_in("I31", REFUSED)),
    Row("I33", "calls: no fanotify", all_in("I33", REFUSED)),
    Row("I34", "calls: no other process can be bound to a processor", is_("I34", "EPERM", "EACCES")),
    Row("I34b", "calls: the caller itself can be", is_("I34b", "worked")),
]
LIMITS = [
    Row("L06", "limits: /tmp has its size", is_("L06", TMP)),
    Row("L07", "limits: /dev/shm has its size", is_("L07", TMP)),
    Row("L08", "limits: /mnt/data has its size", lambda s: DATA - 2 * MIB <= s["L08"] <= DATA),
    Row("L09", "limits: /, /dev, /run, /usr and /etc cannot be filled", all_in("L09", {"EROFS", "EACCES", "ENOENT"})),
    Row("L10", "limits: one file has its size, sparse or not", lambda s: s["L10"] is not None and DATA - 2 * MIB <= s["L10"] <= DATA and s["L10b"] == "EFBIG",
        ("L10", "L10b")),
    # docker's tmpfs has so many inodes; elsewhere the supervisor counts after the cell (limits.py, L11)
    Row("L11", "limits: /mnt/data has its number of files", lambda s: s["L11"] is not None and 9900 <= s["L11"] <= 10000,
        weaker=("podman", "podman-rootless", "bwrap", "bwrap-user")),
    Row("L12", "limits: open files", lambda s: 200 <= s["L12"] <= 256 or 900 <= s["L12"] <= 1024),
    Row("L01", "limits: processes", lambda s: 25 <= s["L01"] < 40),
    Row("L24", "limits: no core file", is_("L24", [0, 0])),
]
ROWS = NETWORK + RIGHTS + HOST + CALLS + LIMITS


def source(port, abstract):
    with open(os.path.join(HERE, "posture_inside.py")) as f:
        return f.read().replace('PORT, ABSTRACT = 0, ""', "PORT, ABSTRACT = %d, %r" % (port, abstract))


def listening(run):
    """run(source) while a listener of ours stands for services of the host (I01, I04); what it returns, and whether somebody came."""
    abstract = "sandpiper-probe-" + secrets.token_hex(6)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0" + abstract)
        unix.listen()
        result = run(source(tcp.getsockname()[1], abstract))
        tcp.setblocking(False)
        unix.setblocking(False)
        came = []
        for name, server in (("TCP", tcp), ("abstract", unix)):
            try:
                server.accept()[0].close()
                came.append(name)
            except BlockingIOError:
                pass
        return result, came


def see(there):
    """Run it in that place: (the JSON object or None, how exec ended)."""
    def run(text):
        path = there.write("probe.py", text)
        os.chmod(path, 0o644)
        return there.run("exec", path, env=dict(SMALL, SECRET_API_KEY="canary", HTTP_PROXY="http://u:canary@x"), timeout=240)
    r, came = listening(run)
    os.unlink(os.path.join(there.work, "probe.py"))
    try:
        return dict(json.loads(r.out.strip().splitlines()[-1]), accepted=came), r
    except (ValueError, IndexError, TypeError):
        return None, r


def judge_rows(place, seen):
    """seen: of posture_inside.py, wherever it ran."""
    found = []
    for row in ROWS:
        if row.places and place not in row.places:
            continue
        missing = [k for k in row.keys if k not in seen]
        shown = ", ".join("%s %s" % (k, json.dumps(seen[k])) for k in row.keys if k in seen)
        if missing:
            found.append(Finding(place, "posture", row, NOT_RUN, "not tried on this processor (%s)" % os.uname().machine))
        elif place in row.weaker:
            found.append(Finding(place, "posture", row, WEAKER, shown))
        else:
            found.append(judge(place, "posture", row, lambda row=row: row.holds(seen), shown))
    return found


def run_group(there):
    seen, r = see(there)
    if seen is None:
        return [Finding(there.place, "posture", row, NOT_RUN, repr(r)) for row in ROWS]
    return judge_rows(there.place, seen)
