"""surface_inside.py - run inside the sandbox: all that it shows of itself, as one JSON object on one line; surface.py compares. Then it waits to be
looked at from outside, under the name MARK."""
import json
import os
import re
import resource
import signal
import socket
import stat
import sys
import time

MARK, WAIT = "", 0              # surface.py puts them here


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError as e:
        return "?%s" % e.strerror


def status_of(pid):
    return {k: v.strip() for k, _, v in (line.partition(":") for line in read("/proc/%s/status" % pid).splitlines())}


def limits():
    names = [n for n in dir(resource) if n.startswith("RLIMIT_") and n != "RLIMIT_OFILE"]
    return {n[7:].lower(): list(resource.getrlimit(getattr(resource, n))) for n in names}


def mounts():
    found = []
    for line in read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        found.append([fields[4], kind[0], fields[5], kind[2], fields[3]])
    return sorted(found)


def descriptors():
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[fd] = re.sub(r"\[\d+\]|\d+", "N", os.readlink("/proc/self/fd/" + fd))
        except OSError:         # the one that lists
            pass
    return found


def devices():
    found = {}
    for name in os.listdir("/dev"):
        s = os.lstat("/dev/" + name)
        kind = {"d": "folder", "l": "link", "c": "character", "b": "block"}.get(stat.filemode(s.st_mode)[0], "?")
        found[name] = "%s %d:%d" % (kind, os.major(s.st_rdev), os.minor(s.st_rdev)) if kind in ("character", "block") else kind
    return found


def writable(base):
    found = []
    for root, _, files in os.walk(base):
        found += [os.path.join(root, f) for f in files if os.access(os.path.join(root, f), os.W_OK)]
    return found


own = status_of("self")
stat_fields = read("/proc/self/stat").rpartition(")")[2].split()
out = {
    "ids": {k: own.get(k) for k in ("Uid", "Gid", "Groups")},
    "capabilities": {k: own.get(k) for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
    "filter": {k: own.get(k) for k in ("NoNewPrivs", "Seccomp")},
    "uid map": [line.split() for line in read("/proc/self/uid_map").splitlines()],
    "gid map": [line.split() for line in read("/proc/self/gid_map").splitlines()],
    "mounts": mounts(),
    "limits": limits(),
    "environment": dict(os.environ),
    "descriptors": descriptors(),
    "devices": devices(),
    "network": sorted(line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:]),
    "routes": len(read("/proc/net/route").splitlines()[1:]) + sum(not line.endswith(" lo") for line in read("/proc/net/ipv6_route").splitlines()),
    "kernel settings": writable("/proc/sys") + writable("/sys"),
    "host name": socket.gethostname(),
    "folder": os.getcwd(),
    "umask": own.get("Umask"),
    "priority": [os.nice(0), os.sched_getscheduler(0)],
    "terminal": stat_fields[4],
    "oom": read("/proc/self/oom_score_adj").strip(),
    "keys": read("/proc/keys"),
    "root": sorted(os.listdir("/")),
    "home": sorted(os.listdir("/home")) if os.path.isdir("/home") else [],
    "etc": sorted(os.listdir("/etc")),
    "first process": [status_of(1).get("Name"), status_of(1).get("Uid")],
    "processes": len([p for p in os.listdir("/proc") if p.isdigit()]),
}
if MARK:
    with open("/proc/self/comm", "w") as f:
        f.write(MARK)
sys.stdout.write(json.dumps(out) + "\n")
sys.stdout.flush()
signal.signal(signal.SIGINT, signal.SIG_DFL)
time.sleep(WAIT)
