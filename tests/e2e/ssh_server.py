"""ssh_server.py - a real sshd on loopback, run by an ordinary user with a key of its own; where root runs the tests, by one who exists only in a mount
namespace of ours. The standard library and pytest alone."""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

import rootless


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def listening(port, server):
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline and server.poll() is None, "sshd does not listen"
            time.sleep(0.05)


@contextlib.contextmanager
def running(more=""):
    """The path of an ssh_config with the host gpubox. more: lines for sshd_config."""
    program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
    if not program or not shutil.which("ssh"):
        (pytest.fail if os.environ.get("SANDPIPER_TEST_ENGINES") == "required" else pytest.skip)("there is no sshd: openssh-server")
    root = os.geteuid() == 0
    folder = tempfile.mkdtemp(prefix="sp-sshd-", dir="/tmp")
    path = lambda name: os.path.join(folder, name)
    try:
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(key)], check=True, stdin=subprocess.DEVNULL)
        shutil.copy(path("user.pub"), path("authorized"))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        write(path("sshd_config"), "ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPermitUserRC no\n"
              "PasswordAuthentication no\nKbdInteractiveAuthentication no\nLogLevel VERBOSE\n%s" % (port, path("host"), path("authorized"), more))
        with open(path("host.pub")) as public:
            write(path("known"), "[127.0.0.1]:%d %s" % (port, public.read()))
        write(path("ssh_config"), "Host gpubox\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n"
              "  BatchMode yes\n" % (port, rootless.USER if root else os.environ.get("USER") or os.getlogin(), path("user.own"), path("known")))
        shutil.copy(path("user"), path("user.own"))
        os.chmod(path("user.own"), 0o600)               # the client is another user than the server
        write(path("log"), "")
        if root:
            rootless.own(folder)
            os.chown(path("user.own"), 0, 0)
        argv = [program, "-D", "-E", path("log"), "-f", path("sshd_config")]
        server = subprocess.Popen(rootless.wrapped(argv) if root else argv, stdin=subprocess.DEVNULL, cwd="/")
        try:
            listening(port, server)
            yield path("ssh_config")
        finally:
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def connections(config):
    """How often somebody has logged in so far."""
    with open(os.path.join(os.path.dirname(config), "log")) as f:
        return f.read().count("Accepted publickey")
