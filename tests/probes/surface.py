"""surface.py - the posture diff: what a bare sandbox shows of itself, from inside (surface_inside.py) and from outside, compared with the posture
that docs/SECURITY.md describes. What is not described is a difference, and each difference is a line of its own.

A row is a function of what was seen and the place; it yields the differences as text."""
import json
import os
import re

from . import HERE
from .cell import BROKEN, HELD, MARK, MIB, NOT_RUN, WEAKER, Finding
from .running import Running, inside, namespace, status_of
from .session import gone, marked, new_mark

CONTAINERS = ("docker", "podman", "podman-rootless")
BWRAP = ("bwrap", "bwrap-user")
NO_GROUPS = ("bwrap-user", "podman-rootless")      # control groups, where v2 is not delegated
GIB = 1 << 30
WAIT = 60
ROOT = os.geteuid() == 0
FOR_ROOT = ("S33",)             # nobody else can see it: the supervisor is closed to its own user
ROWS = []


class Row:
    def __init__(self, id_, title, differences):
        self.id, self.title, self.differences = id_, title, differences


def row(id_, title):
    def declare(f):
        ROWS.append(Row(id_, "surface: " + title, f))
        return f
    return declare


def differ(name, found, expected):
    return [] if found == expected else ["%s is %s, not %s" % (name, found, expected)]


# ---------------------------------------------------------------------------------------------------------------- from inside

@row("S10", "user and group ids, and no others")
def ids(seen, place):
    uids, gids = seen["ids"]["Uid"].split(), seen["ids"]["Gid"].split()
    yield from differ("uids", len(set(uids + gids)), 1)
    if not 20000 <= int(uids[0]) <= 65533:      # a container's own, or the one that bwrap maps
        yield "uid %s" % uids[0]
    if set(seen["ids"]["Groups"].split()) - set(gids):
        yield "supplementary groups %s" % seen["ids"]["Groups"]


@row("S11", "capabilities: none in any set")
def capabilities(seen, place):
    for name, value in seen["capabilities"].items():
        if int(value, 16):
            yield "%s %s" % (name, value)


@row("S12", "no_new_privs and the filter")
def filtered(seen, place):
    yield from differ("NoNewPrivs", seen["filter"]["NoNewPrivs"], "1")
    yield from differ("Seccomp", seen["filter"]["Seccomp"], "2")


@row("S13", "maps of user and group ids")
def maps(seen, place):
    for name in ("uid map", "gid map"):
        if place in BWRAP:
            yield from differ("entries of the " + name, [m[::2] for m in seen[name]], [["65532", "1"]])
        elif place == "podman-rootless":
            yield from ("%s: the host's own root as %s" % (name, m[0]) for m in seen[name] if m[1] == "0" and m[0] != "0")


# point, types, flags and options that it must have, where; the first that fits counts. A mount that may be written needs "rw" here.
MOUNTS = [
    (r"/", r"overlay|fuse\S*|btrfs|zfs|vfs|xfs|ext4", "ro", CONTAINERS),
    (r"/dev", r"tmpfs", "rw nosuid", CONTAINERS),           # its root's, mode 0755
    (r"/dev/mqueue", r"mqueue", "rw nosuid nodev noexec", CONTAINERS),
    (r"/dev/pts", r"devpts", "rw nosuid noexec", None),
    (r"/dev/shm", r"tmpfs", "rw nosuid nodev size=65536k", None),
    (r"/tmp", r"tmpfs", "rw nosuid nodev size=65536k", None),
    (r"/mnt/data", r"tmpfs", "rw nosuid nodev size=262144k", None),
    (r"/dev/(null|zero|full|tty|random|urandom)", r"devtmpfs|tmpfs", "rw nosuid", BWRAP),
    (r"/dev/(null|zero|full|tty|random|urandom)", r"devtmpfs|tmpfs", "rw", ("podman-rootless",)),   # who may not make devices binds them
    (r"/etc/(hostname|hosts|resolv\.conf|passwd|group)", r"\S+", "ro", CONTAINERS),
    (r"/run/(\.containerenv|secrets)", r"\S+", "ro", ("podman", "podman-rootless")),
    (r"/run/sandpiper", r"\S+", "ro", CONTAINERS),
    (r"/proc", r"proc", "rw nosuid nodev noexec", None),
    (r"/proc/(bus|fs|irq|sys|sysrq-trigger|asound)", r"proc", "ro nosuid nodev", None),
    (r"/proc/\S+", r"tmpfs", "ro", CONTAINERS),                             # masked: empty
    (r"/proc/\S+", r"tmpfs|devtmpfs", "rw root=/null", CONTAINERS),  # masked: /dev/null
    (r"/sys", r"sysfs|tmpfs", "ro", CONTAINERS),
    (r"/sys/fs/cgroup", r"tmpfs", "rw nosuid nodev noexec mode=755", CONTAINERS),   # its root's; each below it is read-only
    (r"/sys/fs/cgroup(/\S+)?", r"cgroup2?|tmpfs", "ro nosuid nodev noexec", CONTAINERS),
    (r"/sys/\S+", r"tmpfs|sysfs|securityfs", "ro", CONTAINERS),
    (r"/", r"tmpfs", "ro nosuid nodev", BWRAP),
    (r"/dev", r"tmpfs", "ro nosuid nodev", BWRAP),
    (r"/usr", r"\S+", "ro nosuid nodev root=/usr", BWRAP),
    (r"/usr/\S+", r"\S+", "ro nosuid nodev", BWRAP),                        # what is mounted there on the host
    (r"/etc/(alternatives|matplotlibrc|fonts|localtime|ld\.so\.cache)", r"\S+", "ro nosuid nodev", BWRAP),
]
NEEDED = ("/tmp", "/mnt/data", "/dev/shm", "/proc")


@row("S14", "mounts, each with its flags")
def mounts(seen, place):
    for point, kind, flags, options, root in seen["mounts"]:
        has = set(flags.split(",")) | set(options.split(",")) - {"rw", "ro"} | {"root=" + root}
        if not any(re.fullmatch(p, point) and re.fullmatch(k, kind) and set(need.split()) <= has and (not where or place in where)
                   for p, k, need, where in MOUNTS):
            yield "%s: %s %s (%s) of %s" % (point, kind, flags, options[:120], root)
    yield from ("%s is not mounted" % p for p in NEEDED if p not in [m[0] for m in seen["mounts"]])


# at most
RLIMITS = {"core": 0, "memlock": 0, "msgqueue": 0, "rtprio": 0, "nice": 0, "nofile": 256, "fsize": 256 * MIB, "stack": 8 * MIB}


@row("S15", "limits of each process")
def rlimits(seen, place):
    most = dict(RLIMITS)
    if place in CONTAINERS:
        most["nproc"] = 4096
    if place == "bwrap-user":
        most.update(sigpending=256, nproc=140)
    for name, value in most.items():
        for which, found in zip(("soft", "hard"), seen["limits"][name]):
            if found < 0 or found > value:
                yield "%s: %s limit %d, not %d" % (name, which, found, value)
    if place in NO_GROUPS and not any(0 < seen["limits"][name][1] <= 2 * GIB for name in ("as", "data")):
        yield "neither memory nor data is limited"


SET = {"HOME": "/mnt/data", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1",
       "USER": "sandpiper", "LOGNAME": "sandpiper", "MPLBACKEND": "Agg", "MPLCONFIGDIR": "/tmp/.cache", "XDG_CACHE_HOME": "/tmp/.cache",
       "JE_ARROW_MALLOC_CONF": "background_thread:false", "ARROW_DEFAULT_MEMORY_POOL": "system"}
FREE = r"(OPENBLAS|OMP|MKL|NUMEXPR)_NUM_THREADS|HOSTNAME|PWD|TERM|container|LC_CTYPE"


@row("S16", "environment: what we set, and nothing of the host")
def environment(seen, place):
    for name, value in seen["environment"].items():
        if name.lower().endswith("_proxy"):
            yield from differ(name, value, "")
        elif name in SET:
            yield from differ(name, value, SET[name])
        elif not re.fullmatch(FREE, name):
            yield "%s=%s" % (name, value[:60])


@row("S17", "descriptors: /dev/null, two pipes and the channel")
def descriptors(seen, place):
    found = seen["descriptors"]
    yield from differ("descriptor 0", found.get("0"), "/dev/null")
    for fd, what in found.items():
        if fd != "0" and not re.fullmatch(r"(pipe|socket):N|/mnt/data(/.*)?", what):
            yield "descriptor %s is %s" % (fd, what)
    if len(found) > 8:
        yield "%d descriptors" % len(found)


DEVICES = {"null": "1:3", "zero": "1:5", "full": "1:7", "random": "1:8", "urandom": "1:9", "tty": "5:0", "ptmx": "5:2"}


@row("S18", "devices")
def devices(seen, place):
    for name, what in seen["devices"].items():
        if what.startswith("character") and what != "character " + DEVICES.get(name, "none") or what.startswith(("block", "?")):
            yield "/dev/%s: %s" % (name, what)
        elif what in ("folder", "link") and name not in ("pts", "shm", "mqueue", "fd", "stdin", "stdout", "stderr", "core", "ptmx"):
            yield "/dev/%s: %s" % (name, what)


@row("S19", "network: loopback alone, no routes")
def network(seen, place):
    yield from differ("devices", seen["network"], ["lo"])
    yield from differ("routes", seen["routes"], 0)


@row("S20", "kernel settings that can be written: none")
def settings(seen, place):
    yield from seen["kernel settings"]


@row("S21", "host name, folder, terminal, priority, keys")
def rest(seen, place):
    yield from differ("host name", seen["host name"], "sandpiper")
    yield from differ("folder", seen["folder"], "/mnt/data")
    yield from differ("terminal", seen["terminal"], "0")
    yield from differ("nice value and scheduler", seen["priority"], [os.nice(0), 0])
    # An ordinary user's bwrap shows the names of that user's own keyrings; their content is behind keyctl, which is refused.
    keys = [] if seen["keys"].startswith("?") else [k for k in seen["keys"].splitlines() if place in ("docker", "podman", "bwrap") or " keyring " not in k]
    yield from differ("/proc/keys", "\n".join(keys), "")


@row("S22", "nothing of the host's folders but what is bound")
def folders(seen, place):
    if place in BWRAP:
        yield from ("/" + name for name in seen["root"]
                    if name not in ("bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "mnt", "proc", "sbin", "tmp", "usr", "workspace"))
        yield from ("/home/" + name for name in seen["home"] if name != "user")      # user: a link to /mnt/data
        yield from ("/etc/" + name for name in seen["etc"] if name not in ("alternatives", "fonts", "ld.so.cache", "localtime", "matplotlibrc"))


# --------------------------------------------------------------------------------------------------------------- from outside

@row("S30", "namespaces: none is the host's")
def namespaces(seen, place):
    names = ["mnt", "pid", "net", "ipc", "uts", "cgroup"] + (["user"] if place not in ("docker", "podman") else [])
    for name in names:
        if seen["outside"]["namespaces"][name] is not False:
            yield "%s is the host's" % name


@row("S31", "uid on the host: neither root's nor, but for a user's own bwrap, the caller's")
def host_uid(seen, place):
    for who in seen["outside"]["processes"]:
        uid = int(who["Uid"].split()[0])
        if uid == 0 or place != "bwrap-user" and uid == seen["outside"]["caller"]:
            yield "%s runs as uid %d" % (who["Name"], uid)


@row("S32", "the supervisor: no capability, under the filter")
def supervisor(seen, place):
    for who in seen["outside"]["processes"]:
        for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
            if int(who[name], 16):
                yield "%s has %s %s" % (who["Name"], name, who[name])
        yield from differ("Seccomp of " + who["Name"], who["Seccomp"], "2")
        yield from differ("NoNewPrivs of " + who["Name"], who["NoNewPrivs"], "1")


@row("S33", "the supervisor's descriptors: no file or folder of the host")
def host_descriptors(seen, place):
    for target in seen["outside"]["descriptors"]:
        if not re.fullmatch(r"(pipe|socket):\[\d+\]|anon_inode:\S+|/dev/null|/memfd:.*|/mnt/data(/.*)?", target):
            yield target


@row("S34", "no secret of the caller in any environment inside")
def secrets_outside(seen, place):
    yield from seen["outside"]["secrets"]


# (v1 controller, file, v2 file), least and most. A supervisor and a copy of the state are granted beside what was asked for.
GROUP_LIMITS = {
    "memory": (("memory", "memory.limit_in_bytes"), "memory.max", GIB, GIB + 128 * MIB),
    "processes": (("pids", "pids.max"), "pids.max", 64, 140),
}


@row("S35", "control group: memory, processes, CPU")
def group_limits(seen, place):
    found = seen["outside"]["limits"]
    if place in NO_GROUPS and not found.get("delegated"):
        yield WEAKER
        return
    for name, (_, _, least, most) in GROUP_LIMITS.items():
        value = found[name]
        if value is None or not value.isdigit() or not least <= int(value) <= most:
            yield "%s: %s, not %d to %d" % (name, value, least, most)
    if found["cpu"] is None or not 0 < found["cpu"] <= 1.01:
        yield "CPU: %s, not 1" % found["cpu"]
    if found["swap"] not in (None, "0", found["memory"]):
        yield "swap: %s" % found["swap"]


@row("S36", "out of memory, the code is ended before the supervisor, a container's before the host's programs")
def order(seen, place):
    scores = {who["first"]: int(who["oom"]) for who in seen["outside"]["processes"]}
    if not (100 if place in CONTAINERS else 0) <= scores.get(True, 0) < scores.get(False, 0):
        yield "oom_score_adj of the supervisor %s, of the code %s" % (scores.get(True), scores.get(False))


@row("S37", "it is gone when the program has ended")
def ended(seen, place):
    if not seen["outside"]["gone"]:
        yield "still there 2 s later"


def text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read().strip()
    except OSError:
        return None


def groups_of(pid):
    """{controller: folder}; "": v2."""
    found = {}
    for line in (text("/proc/%d/cgroup" % pid) or "").splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            found[name] = path
    return found


def group_file(groups, controller, v1, v2):
    if controller in groups and groups[controller]:
        base = next((b for b in ("/sys/fs/cgroup/" + controller, "/sys/fs/cgroup/cpu,cpuacct") if os.path.isdir(b + groups[controller])), "")
        return text(base + groups[controller] + "/" + v1)
    return text("/sys/fs/cgroup" + groups.get("", "/") + "/" + v2)


def limits_of(pid):
    groups = groups_of(pid)
    found = {name: group_file(groups, controller, v1, v2) for name, ((controller, v1), v2, _, _) in GROUP_LIMITS.items()}
    found["swap"] = group_file(groups, "memory", "memory.memsw.limit_in_bytes", "memory.swap.max")
    quota, period = group_file(groups, "cpu", "cpu.cfs_quota_us", "none"), group_file(groups, "cpu", "cpu.cfs_period_us", "none")
    if quota is None:
        quota, _, period = (group_file(groups, "", "none", "cpu.max") or "").partition(" ")
    found["cpu"] = int(quota) / int(period) if quota and period and quota.lstrip("-").isdigit() else None
    found["delegated"] = "memory" not in groups and (found["memory"] or "max") != "max"
    return found


def outside(pid, caller):
    """What a look from the host shows of the sandbox that this process is in. Raises OSError where that is not allowed."""
    everyone = inside(pid)
    if not everyone:
        raise OSError("its namespaces may not be looked at")
    first = everyone[0]
    processes = [dict(status_of(p), first=p == first, oom=text("/proc/%d/oom_score_adj" % p)) for p in (first, pid)]
    environments = {p: text("/proc/%d/environ" % p) for p in everyone}      # root reads all, others the code's own at least
    if not any(environments.values()):
        raise OSError("no environment may be read")
    return {
        "caller": caller, "processes": processes, "limits": limits_of(pid),
        "secrets": ["process %s" % status_of(p).get("Name") for p, e in environments.items() if e and "canary" in e],
        "namespaces": {n: namespace(pid, n) in (None, namespace("self", n)) for n in ("mnt", "pid", "net", "ipc", "uts", "cgroup", "user")},
        "descriptors": [os.readlink("/proc/%d/fd/%s" % (first, fd)) for fd in os.listdir("/proc/%d/fd" % first)] if ROOT else None,
    }


def see(there):
    """(all that was seen, or None; what went wrong)."""
    mark = new_mark()
    with open(os.path.join(HERE, "surface_inside.py")) as f:
        code = f.read().replace('MARK, WAIT = "", 0', "MARK, WAIT = %r, %d" % (mark, WAIT)).replace(MARK, mark)
    with Running(there, code) as cell:
        line = cell.line()
        try:
            seen = json.loads(line)
        except ValueError:
            return None, line
        try:
            seen["outside"] = outside(marked(mark)[0], there.uid)
        except (OSError, IndexError) as e:
            seen["why"] = "cannot be seen from outside: %s" % e
    if "outside" in seen:
        seen["outside"]["gone"] = gone(mark, 2)
    return seen, seen.get("why", "")


def judge_row(place, r, seen, why):
    try:
        found = list(r.differences(seen, place))
    except Exception as e:      # whatever it is, it is no verdict
        return [Finding(place, "surface", r, NOT_RUN, why or "%s: %s" % (type(e).__name__, e))]
    if found == [WEAKER]:
        return [Finding(place, "surface", r, WEAKER, "no control group")]
    return [Finding(place, "surface", r, BROKEN, d) for d in found] or [Finding(place, "surface", r, HELD)]


def judge_rows(place, seen, why=""):
    return [f for r in ROWS if ROOT or r.id not in FOR_ROOT for f in judge_row(place, r, seen, why)]


def run_group(there):
    seen, why = see(there)
    if seen is None:
        return [Finding(there.place, "surface", r, NOT_RUN, why) for r in ROWS]
    return judge_rows(there.place, seen, why)
