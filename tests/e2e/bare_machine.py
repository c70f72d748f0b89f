"""bare_machine.py - a Debian 12 with Python, bubblewrap and nothing of ours: made once by debootstrap, in build/bare, and copied for each who installs
something. A command enters it by a mount namespace of its own, as the same process, with this machine's /tmp, /proc and network: what drives the
program here drives it there. Root alone can.
"""
import fcntl
import glob
import os
import shutil
import subprocess

from program import TREE

PLACE = os.path.join(TREE, "build", "bare")
PACKAGES = "python3,python3-venv,bubblewrap"
MOST = 900              # seconds: a mirror may be slow
ENTER = """set -eu
here=$PWD
mount --make-rprivate /
mount --rbind "$0" "$0"
cd "$0"
for d in proc dev sys tmp; do mount --rbind /$d $d; done
[ ! -e /etc/resolv.conf ] || { touch etc/resolv.conf; mount --bind "$(realpath /etc/resolv.conf)" etc/resolv.conf; }
pivot_root . mnt
umount -l /mnt
cd "$here" 2>/dev/null || cd /
exec "$@"
"""


def made(arch=None, suite="bookworm"):
    """The folder of the bare machine that the copies are made of."""
    root = os.path.join(PLACE, suite + ("-" + arch if arch else ""))
    os.makedirs(PLACE, exist_ok=True)
    with open(root + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(root):
            shutil.rmtree(root + ".new", ignore_errors=True)
            words = ["debootstrap", "--variant=minbase", "--include=" + PACKAGES, *(["--arch=" + arch] if arch else []), suite, root + ".new"]
            done = subprocess.run(words, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}, stdin=subprocess.DEVNULL, timeout=MOST,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            for package in glob.glob(root + ".new/var/cache/apt/archives/*.deb"):
                os.remove(package)
            os.rename(root + ".new", root)
    return root


class Machine:
    def __init__(self, root):
        """A copy of the bare machine, in a folder that does not exist yet."""
        self.root = str(root)
        subprocess.run(["cp", "-a", "--reflink=auto", made(), self.root], check=True)

    def words(self, *argv):
        """What enters it and runs that."""
        return ["unshare", "--mount", "sh", "-c", ENTER, self.root, *argv]

    def run(self, *argv, timeout=MOST, **env):
        done = subprocess.run(self.words(*argv), env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8", **env}, cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def take(self, path):
        """A file of this machine's into its /root; returns its path there."""
        return "/root/" + os.path.basename(shutil.copy(path, os.path.join(self.root, "root")))
