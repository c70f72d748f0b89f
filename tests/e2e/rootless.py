"""rootless.py - podman as an ordinary user, for tests that root runs: a user who exists only in a mount namespace of our own (copies of passwd and
subuid bound over the real ones, which stay as they are), with an image in a store of theirs: the host's Python and its library alone, because
ours has a gigabyte to copy. The store is filled once a session and removed at its end; each test has a fresh graph root beside it."""
import atexit
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache

USER, UID, SUB = "sandpiper-test", 54321, 2000000
PLACE = None


def place():
    """The folder with the user's files and the wrapper that becomes them."""
    global PLACE
    if PLACE:
        return PLACE
    PLACE = tempfile.mkdtemp(prefix="sp-rootless-", dir="/var/tmp")
    atexit.register(shutil.rmtree, PLACE, True)
    os.chmod(PLACE, 0o755)
    for name, line in (("passwd", "%s:x:%d:%d::/nonexistent:/bin/sh\n" % (USER, UID, UID)), ("group", "%s:x:%d:\n" % (USER, UID))):
        with open("/etc/" + name) as old, open(os.path.join(PLACE, name), "w") as new:
            new.write(old.read() + line)
    for name in ("subuid", "subgid"):
        with open(os.path.join(PLACE, name), "w") as f:
            f.write("%s:%d:65536\n" % (USER, SUB))
    with open(os.path.join(PLACE, "as-user"), "w") as f:
        f.write("#!/bin/sh\nexec unshare -m sh -c 'd=$0; for f in passwd group subuid subgid; do mount --bind \"$d/$f\" /etc/$f || exit 99; done; "
                "exec setpriv --reuid %d --regid %d --clear-groups -- \"$@\"' %s \"$@\"\n" % (UID, UID, PLACE))
    os.chmod(os.path.join(PLACE, "as-user"), 0o755)
    return PLACE


def wrapped(argv):
    return [os.path.join(place(), "as-user"), *argv]


def own(folder, uid=UID):
    """Everything below it becomes the user's. A program that runs there may take some of it away meanwhile."""
    for root, dirs, files in os.walk(folder):
        for name in dirs + files + ["."]:
            with suppress(FileNotFoundError):
                os.lchown(os.path.join(root, name), uid, uid)


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": folder + "/home", "XDG_CONFIG_HOME": folder + "/config", "XDG_DATA_HOME": folder + "/data",
            "XDG_CACHE_HOME": folder + "/cache", "XDG_RUNTIME_DIR": folder + "/run", "TMPDIR": folder + "/tmp"}


def configure(config, graph, store=None):
    os.makedirs(os.path.join(config, "containers"), exist_ok=True)
    with open(os.path.join(config, "containers", "storage.conf"), "w") as f:
        f.write('[storage]\ndriver = "overlay"\ngraphroot = "%s"\n' % graph)
        if store:
            f.write('[storage.options]\nadditionalimagestores = ["%s"]\n' % store)


def end_pause(run):
    """Rootless podman keeps a process and a few files of its own in the runtime folder: its business, not ours."""
    try:
        with open(os.path.join(run, "libpod/tmp/pause.pid")) as f:
            os.kill(int(f.read()), 9)
    except (OSError, ValueError):
        pass


@lru_cache(maxsize=None)
def store(image):
    """(folder, None) with an image of that name in it, or (None, why not)."""
    import pythons                  # which needs program, which needs this
    if os.geteuid() != 0:
        return None, "podman is rootless already"
    for program in ("podman", "newuidmap", "newgidmap", "setpriv", "unshare"):
        if not shutil.which(program):
            return None, "%s is not installed" % program
    base = os.path.join(place(), "filler")
    for name in ("home", "config", "data", "cache", "run", "tmp"):
        os.makedirs(os.path.join(base, name), mode=0o700)
    configure(os.path.join(base, "config"), os.path.join(place(), "store"))
    os.makedirs(os.path.join(place(), "store"))
    own(base)
    os.chown(os.path.join(place(), "store"), UID, UID)
    root = os.path.join(place(), "root")
    try:
        pythons.make_root("/usr", sys.version_info, root)
        pythons.import_image(wrapped(["podman"]), image, root, env=environment(base))
    except AssertionError as e:
        return None, "podman import as a user: " + str(e)[-500:]
    finally:
        shutil.rmtree(root, True)
        end_pause(os.path.join(base, "run"))
    return os.path.join(place(), "store"), None
