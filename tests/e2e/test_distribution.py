"""test_distribution.py - what people install, from nothing: the wheel in a bare Debian without a network, and the same bytes whoever builds it. The
question that it answers there is the scripted model's; the sandbox is bubblewrap.
"""
import os
import re
import shutil
import subprocess
import zipfile

import pytest

from bare_machine import BUILD, Machine, built, inside, need_root
from clients import client
from conftest import TREE
from serving import Server
from test_network import TlsServer, certificates  # noqa: F401 (a fixture)

pytestmark = pytest.mark.no_asan

WHEEL, NPM = "dist/*_x86_64.whl", "dist/*-linux-x64.tgz"
ANSWER = [{"answer": {"calls": [{"code": "print(6 * 7)"}]}},
          {"expect": {"last": {"role": "tool", "content": {"contains": "42"}}}, "answer": {"text": "It is 42."}}]


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A bare machine with the wheel, installed by pip that can reach no index."""
    m = Machine(tmp_path_factory.mktemp("bare") / "root")
    wheel = m.take(built("wheel", WHEEL))
    m.run("python3", "-m", "venv", "/opt/env")
    m.run("/opt/env/bin/pip", "install", "--no-index", wheel)
    yield m
    shutil.rmtree(m.root)


@pytest.fixture
def installed(machine, sandpiper):
    """The program that is installed there, driven as the built one is."""
    sandpiper.argv = lambda args: inside(machine.root, "/opt/env/bin/sandpiper", *args)
    return sandpiper


@pytest.mark.slow(120)
def test_a_wheel_answers_in_a_bare_machine(installed, serve):
    serve(installed, ANSWER)
    r = installed.run("what is six times seven?")
    assert (r.code, r.out) == (0, "It is 42.\n"), r
    listed = installed.run("sessions")                      # SQLite came along
    assert listed.code == 0 and "six times seven" in listed.out, listed


def test_the_line_of_the_readme(sandpiper, serve, tmp_path):
    """uvx with nothing but the wheel of this machine, beside one of another: no index, no cache."""
    with open(os.path.join(TREE, "README.md"), encoding="utf-8") as f:
        (line,) = re.findall(r"`(uvx [^`]*)`", f.read())
    client("openai")                                        # beside uv, which installs the clients
    os.makedirs(tmp_path / "build/dist")
    os.symlink(built("wheel", WHEEL), tmp_path / "build/dist" / os.path.basename(built("wheel", WHEEL)))
    other = "riscv64" if os.uname().machine == "x86_64" else "x86_64"
    (tmp_path / "build/dist" / os.path.basename(built("wheel", WHEEL)).replace(os.uname().machine, other)).touch()
    serve(sandpiper, ANSWER)
    env = dict(sandpiper.env(), PATH=os.path.join(BUILD, "clients/.uv/bin") + ":/usr/bin:/bin", UV_CACHE_DIR=str(tmp_path / "cache"), UV_OFFLINE="1")
    done = subprocess.run(["bash", "-euc", line + ' "what is six times seven?"'], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (0, "It is 42.\n"), done


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


@pytest.mark.slow(10)
def test_the_npm_package(tmp_path):
    """Without a network: the command, and its manual where npm puts one."""
    package = built("wheel", NPM)
    done = subprocess.run(["npm", "install", "--global", "--offline", "--prefix", tmp_path, package], capture_output=True, text=True, timeout=300,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([tmp_path / "bin" / "sandpiper", "--version"], capture_output=True, text=True, env={}).stdout.startswith("sandpiper ")
    assert (tmp_path / "share" / "man" / "man1" / "sandpiper.1").exists()


@pytest.mark.check
def test_the_same_bytes_twice():
    """Built in another folder; and the wheel's files are in the order of their names."""
    for pattern in WHEEL, NPM:
        first, second = built("wheel", pattern), built("again", "again/build/" + pattern)
        assert open(first, "rb").read() == open(second, "rb").read(), pattern
    with zipfile.ZipFile(built("wheel", WHEEL)) as z:
        assert z.testzip() is None and z.namelist() == sorted(z.namelist())


@pytest.mark.check
@pytest.mark.slow(60)
def test_a_debian_package_answers_in_a_bare_machine(tmp_path, sandpiper, serve):
    """With what apt says that it needs, and the engine."""
    m = Machine(tmp_path / "root")
    package = m.take(built("deb", "deb/sandpiper_*.deb"))
    m.run("apt-get", "update")
    m.run("apt-get", "install", "-y", "--no-install-recommends", package)
    sandpiper.argv = lambda args: inside(m.root, "/usr/bin/sandpiper", *args)
    serve(sandpiper, ANSWER)
    r = sandpiper.run("what is six times seven?")
    assert (r.code, r.out) == (0, "It is 42.\n"), r
    shutil.rmtree(m.root)


@pytest.mark.check
@pytest.mark.slow(10)
def test_arm64(sandpiper, serve):
    """Cross-built; under qemu, which knows no seccomp and so runs no sandbox, the program asks the model."""
    need_root()
    built("arm64", "dist/*_aarch64.whl")
    sandpiper.argv = lambda args: inside(os.path.join(BUILD, "arm64", "root"), "qemu-aarch64-static", "/opt/arm64/bin/sandpiper", *args)
    serve(sandpiper, [{"answer": {"text": "In words."}}])
    r = sandpiper.run("say something")
    assert (r.code, r.out) == (0, "In words.\n"), r
