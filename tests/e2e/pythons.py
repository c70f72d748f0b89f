"""pythons.py - other Pythons than the host's own, for tests: found below ~/.pyenv/versions (or $SANDPIPER_TEST_PYENV), cut down to a root that
holds nothing else, and brought into an engine as an image. Nothing is fetched."""
import glob
import io
import os
import re
import shutil
import subprocess
import tarfile

from program import quiet

PYENV = os.environ.get("SANDPIPER_TEST_PYENV") or os.path.expanduser("~/.pyenv/versions")
LEFT_OUT = re.compile(r"(^|/)(test|tests|idlelib|lib2to3|site-packages|dist-packages|ensurepip|tkinter|turtledemo|__pycache__|config-[^/]*)(/|$)|\.a$")


def found():
    """{(3, 8, 18): prefix} of every CPython 3 there is, oldest first."""
    all_ = {}
    for prefix in glob.glob(os.path.join(PYENV, "*")):
        m = re.fullmatch(r"(3)\.(\d+)\.(\d+)", os.path.basename(prefix))
        if m and os.path.exists(os.path.join(prefix, "bin", "python3")):
            all_[tuple(map(int, m.groups()))] = prefix
    return dict(sorted(all_.items()))


FOUND = found()
GOOD = [v for v in FOUND if v >= (3, 8)]
TOO_OLD = [v for v in FOUND if v < (3, 8)]


def name_of(version):
    return ".".join(map(str, version))


def libraries(paths):
    """What the loader would take for them."""
    return set(re.findall(r"(?:=> |^\s)(/[^ ]+) \(0x", quiet(["ldd", *paths]).stdout, re.M))


def make_root(prefix, version, root):
    """The interpreter of that prefix below root/usr, as a distribution would have it, with every library it needs."""
    minor = "python%d.%d" % version[:2]
    lib = os.path.join(root, "usr/lib", minor)
    os.makedirs(os.path.join(root, "usr/bin"))
    os.makedirs(os.path.join(root, "usr/lib/x86_64-linux-gnu"), exist_ok=True)
    shutil.copy(os.path.join(prefix, "bin", minor), os.path.join(root, "usr/bin", minor))
    os.symlink(minor, os.path.join(root, "usr/bin/python3"))
    source = os.path.join(prefix, "lib", minor)
    shutil.copytree(source, lib, ignore=lambda at, names: [n for n in names if LEFT_OUT.search(n)])
    modules = glob.glob(os.path.join(lib, "lib-dynload/*.so"))
    # libgcc_s is loaded by name when a thread ends
    for path in libraries([os.path.join(prefix, "bin", minor), *modules]) | set(glob.glob("/lib/x86_64-linux-gnu/libgcc_s.so.1")):
        to = os.path.join(root, "usr/lib/x86_64-linux-gnu", os.path.basename(path))
        if os.path.basename(path).startswith("ld-linux"):
            to = os.path.join(root, "usr/lib64", os.path.basename(path))
            os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
    subprocess.run(["strip", "--strip-unneeded", *glob.glob(os.path.join(root, "usr/lib/x86_64-linux-gnu/libpython*")),
                    os.path.join(root, "usr/bin", minor), *modules], stderr=subprocess.DEVNULL, check=False)
    return root


def import_image(client, name, root=None, own_data=False, env=None):
    """An image of that root, or of empty folders; own_data: it has an /mnt/data that is root's."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder in ("etc", "tmp", "proc", "dev", "sys", "mnt", "run", *(["mnt/data"] if own_data else [])):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(info)
        if root:
            tar.add(os.path.join(root, "usr"), "usr")
            for link in ("bin", "lib", "lib64"):
                info = tarfile.TarInfo(link)
                info.type, info.linkname = tarfile.SYMTYPE, "usr/" + link
                tar.addfile(info)
    r = subprocess.run([*client, "import", "-", name], input=data.getvalue(), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert r.returncode == 0, r.stdout.decode()
    return name


def remove_image(engine, name):
    quiet([engine, "rmi", "-f", name])
