"""head.py - what a bug report must say of the machine: program, kernel, distribution, control groups, and each engine with its runtime."""
import glob
import os
import platform

from program import BIN, quiet


def first_line(argv):
    r = quiet(argv, timeout=20)
    return r.stdout.strip().splitlines()[0] if r.returncode == 0 and r.stdout.strip() else ""


def setting(path):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return ""


def distribution():
    for line in setting("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.platform()


def control_groups():
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "v2 (%s)" % setting("/sys/fs/cgroup/cgroup.controllers")
    v1 = [os.path.basename(p) for p in glob.glob("/sys/fs/cgroup/*") if os.path.exists(p + "/cgroup.procs")]
    unified = "hybrid, " if os.path.exists("/sys/fs/cgroup/unified/cgroup.controllers") else ""
    return "v1 (%s%s)" % (unified, " ".join(sorted(v1))) if v1 else "none that can be seen"


def docker():
    text = first_line(["docker", "info", "-f", "{{.ServerVersion}}, runtime {{.DefaultRuntime}}, {{.Driver}}, cgroup v{{.CgroupVersion}} "
                                               "{{.CgroupDriver}}, {{.SecurityOptions}}"])
    return text and "%s, %s" % (text, first_line(["runc", "--version"]))


def podman():
    return first_line(["podman", "info", "-f", "{{.Version.Version}}, runtime {{.Host.OCIRuntime.Name}} {{.Host.OCIRuntime.Version}}, "
                                               "{{.Store.GraphDriverName}}, cgroup {{.Host.CgroupsVersion}}, rootless {{.Host.Security.Rootless}}"])


def lines():
    who = "root" if os.geteuid() == 0 else "an ordinary user (uid %d)" % os.geteuid()
    namespaces = setting("/proc/sys/kernel/unprivileged_userns_clone") or "not limited by a setting"
    found = [
        ("program", "%s (%s), as %s" % (first_line([BIN, "--version"]) or "does not run", BIN, who)),
        ("system", "%s, Linux %s %s, Python %s" % (distribution(), platform.release(), platform.machine(), platform.python_version())),
        ("cgroups", control_groups()),
        ("security", "modules %s; user namespaces for users: %s" % (setting("/sys/kernel/security/lsm") or "not to be seen", namespaces)),
        ("docker", docker()), ("podman", podman()), ("bwrap", first_line(["bwrap", "--version"])),
    ]
    return ["%-9s %s" % (name, text or "-") for name, text in found]
