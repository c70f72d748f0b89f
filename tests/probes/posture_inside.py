"""posture_inside.py - run inside the sandbox: tries what must not work and prints one JSON object, {probe: what came of it}. Ids are those of
docs/SECURITY.md. It tries; posture.py judges."""
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import shutil
import signal
import socket
import struct
import sys

out = {}
PORT, ABSTRACT = 0, ""          # services that listen on the host: posture.py puts them here
libc = ctypes.CDLL(None, use_errno=True)
NR = {"x86_64": dict(unshare=272, setns=308, mount=165, umount2=166, pivot_root=155, ptrace=101, bpf=321, io_uring_setup=425, userfaultfd=323,
                     keyctl=250, perf_event_open=298, clone3=435, openat2=437, open_tree=428, fsopen=430, clone=56, kcmp=312, pidfd_getfd=438,
                     name_to_handle_at=303, fanotify_init=300, add_key=248, settimeofday=164, sethostname=170, init_module=175, swapon=167,
                     syslog=103, reboot=169, kexec_load=246, quotactl=179, ioctl=16, process_vm_readv=310, chroot=161, fchmodat2=452,
                     sync=162, syncfs=306, fanotify_mark=301, inotify_init1=294, inotify_add_watch=254)}


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


def in_child(f, *args):
    """What came of it in a child: where it works it changes who does it, and of clone there are two."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(w, str(f(*args)).encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as result:
        text = result.readline().decode()
    os.waitpid(pid, 0)
    return text


def clone(flags):
    r = libc.syscall(nr["clone"], *[ctypes.c_long(a) for a in (flags | signal.SIGCHLD, 0, 0, 0, 0)])
    if r == 0:
        os._exit(0)
    return name_of(ctypes.get_errno()) if r == -1 else "worked"


status = dict(line.rstrip("\n").split(":", 1) for line in open("/proc/self/status"))
out["I07"] = [status.get(c, "0" * 16).strip() for c in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]     # gVisor has no ambient set
out["I08"] = [str(libc.prctl(39, 0, 0, 0, 0)), status["Seccomp"].strip()]
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


out["I01"] = {str(p): attempt(lambda: connect(socket.AF_INET, ("127.0.0.1", p))) for p in (22, 2375, PORT) if p}
out["I04"] = attempt(lambda: connect(socket.AF_UNIX, "\0" + ABSTRACT))
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
out["I11b"] = {p: attempt(lambda: len(set(os.listdir(p)) - {"user"} if p == "/home" else os.listdir(p)))      # user: a link to /mnt/data
               for p in ("/root", "/home", "/var/lib/docker", "/run/sandpiper", "/proc/1/fd", "/proc/1/root")}
nr = NR.get(os.uname().machine, {})
if nr:
    out["I13"] = {n: call(nr[n], 0, 0, 0, 0, 0) for n in ("mount", "umount2", "pivot_root", "open_tree", "fsopen", "chroot")}
    flags = {"user": 0x10000000, "mnt": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000, "cgroup": 0x2000000}
    out["I14"] = {n: [in_child(call, nr["unshare"], f), in_child(clone, f)] for n, f in flags.items()}
    out["I14b"] = [call(nr["setns"], -1, 0), call(nr["clone3"], 0, 0)]
    out["I15"] = {n: in_child(call, nr[n], 1, 1, 0, 0, 0, 0) for n in ("process_vm_readv", "kcmp", "pidfd_getfd")}
    out["I15"]["ptrace"] = in_child(call, nr["ptrace"], 0x4206, 1, 0, 0)        # PTRACE_SEIZE, which would not stop it
    out["I16"] = [call(nr["keyctl"], 0, -3, 0), call(nr["add_key"], 0, 0, 0, 0, 0)]
    out["I17"] = {n: call(nr[n], 0, 0, 0, 0, 0) for n in ("io_uring_setup", "bpf", "userfaultfd", "perf_event_open", "name_to_handle_at", "fanotify_init")}
    fd = os.open("/mnt/data", os.O_RDONLY)
    out["I31"] = [call(nr["sync"]), call(nr["syncfs"], fd)]
    os.close(fd)
    watcher = libc.syscall(nr["inotify_init1"], 0)
    path = ctypes.create_string_buffer(b"/usr/bin")
    out["I32"] = call(nr["inotify_add_watch"], watcher, ctypes.addressof(path), 1)
    out["I33"] = [call(nr["fanotify_init"], 0, 0), call(nr["fanotify_mark"], -1, 1, 1, -1, 0)]
    out["I18"] = {n: call(nr[n], 0, 0, 0, 0) for n in ("settimeofday", "sethostname", "init_module", "swapon", "syslog", "reboot", "kexec_load", "quotactl")}
    out["I20"] = [call(nr["ioctl"], 0, 0x5412, 0), call(nr["ioctl"], 0, 0x100005412, 0), call(nr["ioctl"], 0, 0x541c, 0), attempt(lambda: os.close(os.open("/dev/tty", os.O_RDWR)))]


def exit_of(f):
    """What came of it in a child: it may be killed for that."""
    pid = os.fork()
    if pid == 0:
        try:
            code = f()
        except BaseException:
            code = 255
        os._exit(code)
    status = os.waitpid(pid, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def machine_code(code):
    """mov eax, N; the system call; ret. 0 if the kernel took it for one."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return 0 if ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0 else 1


if os.uname().machine == "x86_64":      # getpid of the 32-bit and of the x32 table
    out["I19"] = [exit_of(lambda: machine_code(b"\xb8\x14\0\0\0\xcd\x80\xc3")),
                  exit_of(lambda: machine_code(b"\xb8\x27\0\0\x40\x0f\x05\xc3"))]


def linger():
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1))


def on_folder(path, what, *args):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(fd, what, *args)
    finally:
        os.close(fd)


def lock(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(fd)


PROGRAM = os.path.realpath("/usr/bin/python3")
out["I30"] = attempt(linger)
out["I34"] = attempt(lambda: os.sched_setaffinity(1, os.sched_getaffinity(1)))
out["I34b"] = attempt(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
out["I35"] = attempt(lambda: on_folder(PROGRAM, fcntl.F_SETLEASE, fcntl.F_RDLCK))
out["I36"] = attempt(lambda: on_folder("/usr/bin", fcntl.F_NOTIFY, 1))
out["I37"] = attempt(lambda: lock(PROGRAM))
out["I23"] = [os.path.join(r, f) for r, _, names in os.walk("/sys/fs/cgroup") for f in names if os.access(os.path.join(r, f), os.W_OK)]
out["I25"] = [line for name in ("shm", "msg", "sem") if os.path.exists("/proc/sysvipc") for line in open("/proc/sysvipc/" + name).read().splitlines()[1:]] + os.listdir("/dev/shm")
out["I29"] = [attempt(lambda: os.readlink("/proc/%d/%s" % (pid, what))) for pid in {1, os.getppid()} for what in ("root", "cwd", "exe")]
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
canary = []                     # a word of the host's that no process here may hold
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            with open("/proc/%s/%s" % (pid, name), "rb") as f:
                if b"can" b"ary" in f.read():
                    canary.append("%s of %s" % (name, pid))
        except OSError:
            pass
out["S01"] = canary
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
