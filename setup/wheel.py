#!/usr/bin/python3
"""wheel.py - "make wheel": the installed program and the libraries that it needs, as a wheel for pip, pipx and uv and as a package for npm.

    wheel.py VERSION STAGE TRIPLET LIBRARY...       into build/dist; STAGE is what "make install" wrote, with an empty PREFIX

Debian's libraries that the program is linked with, and each LIBRARY that it opens later (-lcurl), are taken as they are from /usr/lib/TRIPLET with all
that they need, but for the C library. The program finds them beside itself (its RPATH). The oldest C library that will do is read from the versions of
the symbols, and is in the wheel's name. The licences of all of it are inside. Same input, same bytes: names are sorted, times are SOURCE_DATE_EPOCH or
1980. Nothing is fetched or run when the packages are installed. In both registries "sandpiper" is somebody else's; these packages are called NAME.
"""
import base64
import glob
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile

NAME, SUMMARY = "sandpiper-cli", "Ask questions; a model answers by running Python in a sandbox on your machine"
LICENSE = "GPL-3.0-or-later"        # through GNU readline; the source of sandpiper itself is MIT
OUT, BESIDE = "build/dist", "lib/sandpiper"
C_LIBRARY = re.compile(r"(ld-linux[\w-]*|lib(c|m|dl|rt|pthread|resolv|util|nsl))\.so\.\d+$")
MACHINES = {"Advanced Micro Devices X86-64": ("x86_64", "x64"), "AArch64": ("aarch64", "arm64")}    # ELF: the wheel's word, npm's


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", path))


def libraries(program, names, folder):
    """{soname: path} of all that the program needs at some time."""
    found, todo = {}, needed(program)
    todo += [re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-dW", "%s/lib%s.so" % (folder, n.removeprefix("-l"))))[1] for n in names]
    while todo:
        soname = todo.pop()
        if soname not in found and not C_LIBRARY.match(soname):
            found[soname] = os.path.realpath(os.path.join(folder, soname))
            todo += needed(found[soname])
    return found


def platform(paths):
    """The wheel's word for the oldest machine that will do, and npm's for its processor."""
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)\b", "".join(run("readelf", "-VW", p) for p in paths))
    arch, cpu = MACHINES[re.search(r"Machine: +(.*)", run("readelf", "-hW", paths[0]))[1]]
    return "manylinux_%d_%d_%s" % (*max((int(a), int(b)) for a, b in versions), arch), cpu


def licenses(paths):
    """{file: bytes}: what each of Debian's packages says, the long texts that it only names, and a list of the packages."""
    texts, named = {"LICENSE-sandpiper.txt": read("LICENSE")}, {"GPL-3"}
    said = [line.split(": ") for line in run("dpkg-query", "-S", *("*/" + os.path.basename(p) for p in paths)).splitlines()]
    owners = sorted({owner for owner, path in said if os.path.realpath(path) in paths})
    packages = [line.split() for line in run("dpkg-query", "-W", "-f", "${Package} ${source:Package} ${source:Version}\n", *owners).splitlines()]
    for package, source, _ in packages:
        texts[source + ".txt"] = read("/usr/share/doc/%s/copyright" % package)
        named.update(re.findall(r"/usr/share/common-licenses/([\w.-]*[\w])", texts[source + ".txt"].decode("utf-8", "replace")))
    rows = {"%-16s %s" % (source, version) for _, source, version in packages}
    texts.update((name + ".txt", read("/usr/share/common-licenses/" + name)) for name in named if os.path.exists("/usr/share/common-licenses/" + name))
    texts["PACKAGES.txt"] = ("The program is linked with GNU readline, so it is distributed under the GPL, version 3 or later (GPL-3.txt); its own source is\n"
                             "MIT (LICENSE-sandpiper.txt). The libraries are Debian's, unchanged. Their source packages (apt-get source NAME=VERSION), whose\n"
                             "licences are the files of their names:\n\n%s\n" % "\n".join(sorted(rows))).encode()
    return texts


def read(path):
    with open(path, "rb") as f:
        return f.read()


def files_below(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(at, name), folder)


def mode(name):
    return 0o755 if "/bin/" in name or "/scripts/" in name else 0o644


def wheel(version, tag, files, texts):
    """The wheel's own rules: what goes beneath the environment's prefix is in data, programs in scripts."""
    tag, stem = "py3-none-" + tag, "%s-%s" % (NAME.replace("-", "_"), version)
    info, data = stem + ".dist-info/", stem + ".data/"
    inside = {data + ("scripts/" + n.removeprefix("bin/") if n.startswith("bin/") else "data/" + n): b for n, b in files.items()}
    inside.update((info + "licenses/" + n, b) for n, b in texts.items())
    inside[info + "METADATA"] = ("Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: %s\n%sRequires-Python: >=3.8\n"
                                 "Classifier: Environment :: Console\nClassifier: Operating System :: POSIX :: Linux\nDescription-Content-Type: text/markdown\n\n"
                                 % (NAME, version, SUMMARY, LICENSE, "".join("License-File: %s\n" % n for n in sorted(texts)))).encode() + read("README.md")
    inside[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: sandpiper\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode()
    record = "".join("%s,sha256=%s,%d\n" % (n, base64.urlsafe_b64encode(hashlib.sha256(b).digest()).decode().rstrip("="), len(b))
                     for n, b in sorted(inside.items()))
    inside[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    when = time.gmtime(max(315532800, int(os.environ.get("SOURCE_DATE_EPOCH", 0))))[:6]
    path = "%s/%s-%s.whl" % (OUT, stem, tag)
    for older in glob.glob("%s/%s-*-%s.whl" % (OUT, NAME.replace("-", "_"), tag)):      # README's command names the one that there is
        os.remove(older)
    with zipfile.ZipFile(path, "w") as z:
        for name, content in sorted(inside.items()):
            one = zipfile.ZipInfo(name, when)
            one.external_attr, one.compress_type, one.create_system = (0o100000 | mode(name)) << 16, zipfile.ZIP_DEFLATED, 3
            z.writestr(one, content, compresslevel=9)
    return path


def npm(version, cpu, files, texts):
    """npm links what "bin" names into its folder of commands, and man pages where a package is installed for all."""
    inside = {**files, **{"licenses/" + n: b for n, b in texts.items()}, "README.md": read("README.md")}
    about = {"name": NAME, "version": version, "description": SUMMARY, "license": LICENSE, "os": ["linux"], "cpu": [cpu], "libc": ["glibc"],
             "bin": {"sandpiper": "bin/sandpiper"}, "man": sorted(n for n in files if "/man/" in n)}
    inside["package.json"] = json.dumps(about, indent=2).encode() + b"\n"
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(inside.items()):
            one = tarfile.TarInfo("package/" + name)
            one.size, one.mode, one.mtime = len(content), mode("/" + name), int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))
            tar.addfile(one, io.BytesIO(content))
    path = "%s/%s-%s-linux-%s.tgz" % (OUT, NAME, version, cpu)
    with open(path, "wb") as f:
        f.write(gzip.compress(plain.getvalue(), 9, mtime=0))
    return path


def main(version, stage, triplet, *names):
    program = os.path.join(stage, "bin/sandpiper")
    beside = libraries(program, names, "/usr/lib/" + triplet)
    files = {n: read(os.path.join(stage, n)) for n in files_below(stage)}
    files.update(("%s/%s" % (BESIDE, soname), read(path)) for soname, path in beside.items())
    tag, cpu = platform([program, *beside.values()])
    texts = licenses([*beside.values(), "/usr/lib/%s/libc.a" % triplet])         # of which is the part that goes to other machines (src/sandbox/engine)
    os.makedirs(OUT, exist_ok=True)
    for path in wheel(version, tag, files, texts), npm(version, cpu, files, texts):
        print("%s: %.1f MB" % (path, os.path.getsize(path) / 1e6))


if __name__ == "__main__":
    main(*sys.argv[1:])
