"""posture_probe.py - run inside the sandbox: tries what must not work and prints one JSON object, {probe: what came of it}. Ids are those of
docs/SECURITY.md. It tries; test_posture.py judges."""
import ctypes
import errno
import json
import os
import resource
import signal
import socket

out = {}
libc = ctypes.CDLL(None, use_errno=True)
NR = {"x86_64": dict(unshare=272, setns=308, mount=165, umount2=166, pivot_root=155, ptrace=101, bpf=321, io_uring_setup=425, userfaultfd=323,
                     keyctl=250, perf_event_open=298, clone3=435, openat2=437, open_tree=428, fsopen=430, clone=56, kcmp=312, pidfd_getfd=438,
                     name_to_handle_at=303, fanotify_init=300, add_key=248, settimeofday=164, sethostname=170, init_module=175, swapon=167,
                     syslog=103, reboot=169, kexec_load=246, quotactl=179, ioctl=16, process_vm_readv=310, chroot=161, fchmodat2=452)}


def name_of(e):
    return errno.errorcode.get(e, str(e))


def call(nr, *args):
    ctypes.set_errno(0)
    r = libc.syscall(nr, *[ctypes.c_long(a) for a in args])
    return name_of(ctypes.get_errno()) if r == -1 else "worked"


def attempt(f):
    try:
        r = f()
        return "worked" if r is None else r
    except OSError as e:
        return name_of(e.errno)


status = dict(line.rstrip("\n").split(":", 1) for line in open("/proc/self/status"))
out["I07"] = [status[c].strip() for c in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
out["I08"] = [status["NoNewPrivs"].strip(), status["Seccomp"].strip()]
out["I09"] = [os.getuid(), os.geteuid(), os.getgid()]
out["I03"] = sorted(line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:])


def connect(family, address, kind=socket.SOCK_STREAM):
    s = socket.socket(family, kind)
    s.settimeout(1)
    try:
        s.connect(address)
        s.send(b"x")
    finally:
        s.close()


out["I01"] = {str(p): attempt(lambda: connect(socket.AF_INET, ("127.0.0.1", p))) for p in json.loads(os.environ.get("PORTS", "[22, 2375]"))}
out["I02"] = [attempt(lambda: connect(socket.AF_INET, (a, 80), socket.SOCK_DGRAM)) for a in ("192.0.2.1", "169.254.169.254", "8.8.8.8")] + [
    attempt(lambda: connect(socket.AF_INET6, ("2001:db8::1", 80), socket.SOCK_DGRAM))]
families = set()
for family in range(48):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
            families.add((family, kind))
        except OSError:
            pass
out["I06"] = sorted(families)
out["I06b"] = [attempt(lambda: socket.socket(2, 3, 1).close()), attempt(lambda: socket.socket(2, 2, 1).close())]
sockets, writable = [], []
for root, dirs, files in os.walk("/"):
    if root == "/":
        dirs[:] = [d for d in dirs if d != "proc"]
    if os.access(root, os.W_OK):
        writable.append(root)
    for f in files:
        path = os.path.join(root, f)
        try:
            if os.lstat(path).st_mode & 0o170000 == 0o140000:
                sockets.append([path, attempt(lambda: connect(socket.AF_UNIX, path))])
        except OSError:
            pass
out["I05"] = sockets
out["I05b"] = attempt(lambda: connect(socket.AF_UNIX, "/run/sandpiper/s"))
out["I12"] = sorted(writable)
out["I10"] = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
out["I11"] = {p: attempt(lambda: open(p).read() and None) for p in ("/etc/shadow", "/proc/1/environ", "/proc/1/mem", "/proc/kcore")}
out["I11b"] = {p: attempt(lambda: len(os.listdir(p))) for p in ("/root", "/home", "/var/lib/docker", "/run/sandpiper", "/proc/1/fd", "/proc/1/root")}
nr = NR.get(os.uname().machine, {})
if nr:
    out["I13"] = {n: call(nr[n], 0, 0, 0, 0, 0) for n in ("mount", "umount2", "pivot_root", "open_tree", "fsopen", "chroot")}
    flags = {"user": 0x10000000, "mnt": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000, "cgroup": 0x2000000}
    out["I14"] = {n: [call(nr["unshare"], f), call(nr["clone"], f | 17, 0, 0, 0, 0)] for n, f in flags.items()}
    out["I14b"] = [call(nr["setns"], -1, 0), call(nr["clone3"], 0, 0)]
    out["I15"] = {n: call(nr[n], 16, 1, 0, 0, 0, 0) for n in ("ptrace", "process_vm_readv", "kcmp", "pidfd_getfd")}
    out["I16"] = [call(nr["keyctl"], 0, -3, 0), call(nr["add_key"], 0, 0, 0, 0, 0)]
    out["I17"] = {n: call(nr[n], 0, 0, 0, 0, 0) for n in ("io_uring_setup", "bpf", "userfaultfd", "perf_event_open", "name_to_handle_at", "fanotify_init")}
    out["I18"] = {n: call(nr[n], 0, 0, 0, 0) for n in ("settimeofday", "sethostname", "init_module", "swapon", "syslog", "reboot", "kexec_load", "quotactl")}
    out["I20"] = [call(nr["ioctl"], 0, 0x5412, 0), call(nr["ioctl"], 0, 0x100005412, 0), call(nr["ioctl"], 0, 0x541c, 0), attempt(lambda: os.close(os.open("/dev/tty", os.O_RDWR)))]
out["I21"] = sorted(os.listdir("/dev"))
out["I21b"] = attempt(lambda: os.mknod("/mnt/data/null", 0o20666, os.makedev(1, 3)))
knobs = []
for base in ("/proc/sys", "/sys"):
    for root, dirs, files in os.walk(base):
        for f in files:
            path = os.path.join(root, f)
            if os.access(path, os.W_OK) and attempt(lambda: os.close(os.open(path, os.O_WRONLY))) == "worked":
                knobs.append(path)
out["I22"] = knobs
out["I22b"] = attempt(lambda: set(line.split()[0].strip("0") for line in open("/proc/kallsyms")) == {""} and "zeros")
open("/mnt/data/f", "w").close()
out["I27"] = [attempt(lambda: os.chmod("/mnt/data/f", 0o4755)), attempt(lambda: os.close(os.open("/mnt/data/g", os.O_CREAT | os.O_WRONLY, 0o2755)))]
out["F12"] = attempt(lambda: os.setxattr("/mnt/data/f", "user.a", b"1"))
out["env"] = sorted(k for k in os.environ if "KEY" in k or "TOKEN" in k or (k.lower().endswith("_proxy") and os.environ[k]))


def fill(path, most):
    """Bytes that went in before the end, or None."""
    total = 0
    try:
        with open(path, "wb", buffering=0) as f:
            while total < most:
                total += f.write(b"x" * (1 << 20))
        return None
    except OSError:
        return total
    finally:
        try:
            os.unlink(path)
        except OSError:
            pass


out["L06"], out["L07"] = fill("/tmp/big", 1 << 28), fill("/dev/shm/big", 1 << 28)
out["L10"] = fill("/mnt/data/big", 1 << 29)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
out["L10b"] = attempt(lambda: os.truncate("/mnt/data/f", 1 << 40))
total = 0
for i in range(10):
    got = fill("/mnt/data/part%d" % i, 1 << 25)
    total += (1 << 25) if got is None else got
    if got is not None:
        break
    open("/mnt/data/part%d" % i, "wb").write(b"x" * (1 << 25))
out["L08"] = total
for i in range(10):
    try:
        os.unlink("/mnt/data/part%d" % i)
    except OSError:
        pass
out["L09"] = {p: attempt(lambda: open(p + "/x", "wb").close()) for p in ("/", "/dev", "/run", "/var/tmp", "/usr", "/etc", "/mnt")}
n = 0
try:
    os.mkdir("/mnt/data/many")
    for n in range(10100):
        open("/mnt/data/many/%d" % n, "w").close()
    n = None
except OSError:
    pass
out["L11"] = n
import shutil
shutil.rmtree("/mnt/data/many")
fds = []
try:
    while len(fds) < 5000:
        fds.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
out["L12"] = len(fds)
for fd in fds:
    os.close(fd)
kids = []
try:
    while len(kids) < 300:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        kids.append(pid)
except OSError:
    pass
out["L01"] = len(kids)
for pid in kids:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
out["L24"] = resource.getrlimit(resource.RLIMIT_CORE)
print(json.dumps(out))
