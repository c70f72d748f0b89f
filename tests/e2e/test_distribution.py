"""test_distribution.py - what people install, from nothing: the wheel in a bare Debian without a network, and the same bytes whoever builds it. The
question that it answers there is the scripted model's; the sandbox is bubblewrap.
"""
import glob
import os
import re
import shutil
import subprocess
import zipfile

import pytest

from bare_machine import Machine
from conftest import TREE
from serving import Server
from test_network import TlsServer, certificates  # noqa: F401 (a fixture)

pytestmark = pytest.mark.no_asan

LONG = 900
ANSWER = [{"answer": {"calls": [{"code": "print(6 * 7)"}]}},
          {"expect": {"last": {"role": "tool", "content": {"contains": "42"}}}, "answer": {"text": "It is 42."}}]


def built(tree, pattern):
    """What "make wheel" makes of a tree, as a clean environment has it."""
    env = {k: os.environ[k] for k in ("PATH", "HOME") if k in os.environ}
    done = subprocess.run(["make", "-s", "-j%d" % os.cpu_count(), "wheel"], cwd=tree, env=env, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stdout + done.stderr
    return glob.glob(os.path.join(tree, "build", "dist", pattern))[0]


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A bare machine with the wheel, installed by pip that can reach no index."""
    if os.geteuid() != 0 or not shutil.which("debootstrap", path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.skip("a bare machine is made by root, with debootstrap")
    m = Machine(tmp_path_factory.mktemp("bare") / "root")
    wheel = m.take(built(TREE, "*.whl"))
    m.run("python3", "-m", "venv", "/opt/env")
    m.run("/opt/env/bin/pip", "install", "--no-index", wheel)
    yield m
    shutil.rmtree(m.root)


@pytest.fixture
def installed(machine, sandpiper):
    """The program that is installed there, driven as the built one is."""
    sandpiper.argv = lambda args: machine.words("/opt/env/bin/sandpiper", *args)
    return sandpiper


@pytest.mark.slow(120)
def test_a_wheel_answers_in_a_bare_machine(installed, serve):
    serve(installed, ANSWER)
    r = installed.run("what is six times seven?")
    assert (r.code, r.out) == (0, "It is 42.\n"), r
    listed = installed.run("sessions")                      # SQLite came along
    assert listed.code == 0 and "six times seven" in listed.out, listed


@pytest.mark.slow(10)
def test_a_wheel_serves(installed):
    server = Server(installed)
    id = server.ask("/create_sandbox", {}, status=200)["sandbox_id"]
    assert server.ask("/run_code", {"sandbox_id": id, "code": "print(6 * 7)"})["stdout"] == "42\n"
    assert server.close() == 0


@pytest.mark.slow(5)
def test_a_wheel_has_what_an_installation_has(machine):
    """Manual, completions, licences; and each library but the C library's comes from the wheel, none from the machine."""
    there = set(machine.run("sh", "-c", "cd /opt/env && find bin/sandpiper share lib/sandpiper -type f").split())
    assert {"bin/sandpiper", "share/man/man1/sandpiper.1", "share/man/man5/sandpiper-config.5", "share/bash-completion/completions/sandpiper",
            "share/zsh/site-functions/_sandpiper", "share/fish/vendor_completions.d/sandpiper.fish"} <= there
    about = machine.run("/opt/env/bin/python", "-c", "from importlib.metadata import metadata as m; [print(*row) for row in m('sandpiper-cli').items()]")
    assert "License-Expression GPL-3.0-or-later\n" in about and "License-File readline.txt\n" in about and "Requires-Dist" not in about
    loaded = machine.run("sh", "-c", "for l in /opt/env/lib/sandpiper/*; do LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$l /opt/env/bin/sandpiper; done")
    outside = {path for path in re.findall(r"=> (\S+)", loaded) if not path.startswith("/opt/env/")}
    assert {re.sub(r"\.so.*", "", os.path.basename(p)) for p in outside} <= {"libc", "libm", "libresolv"}, outside
    assert "not found" not in loaded


@pytest.mark.slow(5)
def test_certificates_where_another_distribution_keeps_them(machine, installed, certificates):  # noqa: F811
    """The libcurl that came along is Debian's, which knows Debian's file alone."""
    debian, fedora = (os.path.join(machine.root, p) for p in ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt"))
    if os.path.exists(debian):
        os.remove(debian)
    os.makedirs(os.path.dirname(fedora))
    shutil.copy(certificates / "ca.pem", fedora)
    with TlsServer([{"answer": {"text": "over TLS"}}], certificates, "good") as server:
        installed.url = server.url
        r = installed.run("go")
        assert (r.code, r.out) == (0, "over TLS\n"), r
        server.check()


@pytest.mark.check
@pytest.mark.slow(200)
def test_the_same_bytes_twice(tmp_path):
    """In another folder, from nothing; and the wheel's list of its files is right."""
    first, copy = built(TREE, "*.whl"), tmp_path / "elsewhere" / "tree"
    shutil.copytree(TREE, copy, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"), symlinks=True)
    second = built(copy, "*.whl")
    assert os.path.basename(first) == os.path.basename(second) and open(first, "rb").read() == open(second, "rb").read()
    packed = [glob.glob(os.path.join(os.path.dirname(p), "*.tgz"))[0] for p in (first, second)]
    assert open(packed[0], "rb").read() == open(packed[1], "rb").read()
    with zipfile.ZipFile(first) as z:
        assert z.testzip() is None and z.namelist() == sorted(z.namelist())


@pytest.mark.slow(10)
def test_the_npm_package(tmp_path):
    """Without a network: the command, and its manual where npm puts one."""
    package = built(TREE, "*.tgz")
    done = subprocess.run(["npm", "install", "--global", "--offline", "--prefix", tmp_path, package], capture_output=True, text=True, timeout=LONG,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([tmp_path / "bin" / "sandpiper", "--version"], capture_output=True, text=True, env={}).stdout.startswith("sandpiper ")
    assert (tmp_path / "share" / "man" / "man1" / "sandpiper.1").exists()
