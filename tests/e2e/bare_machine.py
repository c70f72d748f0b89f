"""bare_machine.py - a Debian 12 with Python, bubblewrap and nothing of ours (setup/machine.sh), copied for each who installs something. What drives the
program here drives it there: it is entered as the same process, with this machine's /tmp, /proc and network. Root alone can.
"""
import glob
import os
import shutil
import subprocess

import pytest

from program import TREE

BUILD = os.path.join(TREE, "build")
SCRIPT = os.path.join(TREE, "setup", "machine.sh")
MOST = 300
ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def checked(*argv, env=None):
    done = subprocess.run(argv, env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def built(part, pattern):
    """The file in build that this part of tests/distribution.sh makes: as tests/run.sh has made it of this program, else now."""
    found = glob.glob(os.path.join(BUILD, pattern))
    if not found or part == "wheel" and os.path.getmtime(found[0]) < os.path.getmtime(os.path.join(BUILD, "release", "sandpiper")):
        checked(os.path.join(TREE, "tests", "distribution.sh"), part)
    return glob.glob(os.path.join(BUILD, pattern))[0]


def need_root():
    if os.geteuid() != 0 or not shutil.which("debootstrap", path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.skip("a bare machine is made by root, with debootstrap")


def inside(root, *argv):
    """The words that run this in that folder."""
    return [SCRIPT, "enter", str(root), *argv]


class Machine:
    def __init__(self, root):
        """A copy of the bare machine, in a folder that does not exist yet."""
        need_root()
        self.root = str(root)
        checked("cp", "-a", "--reflink=auto", built("machine", "bare/root"), self.root)

    def run(self, *argv):
        return checked(*inside(self.root, *argv), env=ENV)

    def take(self, path):
        """A file of this machine's is put into its /root; returns its path there."""
        checked("cp", path, os.path.join(self.root, "root"))
        return "/root/" + os.path.basename(path)
