"""test_serve_image.py - the image sandpiper-serve as docker/serve/compose.yaml starts it, with a model that is scripted: bubblewrap inside the container,
of an ordinary user without capabilities; else the host's docker; else a sentence. Each says which it is.
"""
import os
import re
import subprocess
import uuid

import pytest
import yaml

from bare_machine import built
from conftest import HANG, TREE, need_engine
from model_server import ModelServer
from serving import Server
from test_distribution import ANSWER

LONG = 300
pytestmark = [pytest.mark.no_asan, pytest.mark.xdist_group("serve image")]
SOCKET = "/var/run/docker.sock"


@pytest.fixture(scope="module")
def image():
    need_engine("docker")
    built("wheel", "dist/*-linux-x64.tgz")
    done = subprocess.run([os.path.join(TREE, "docker", "serve", "make.sh")], env={**os.environ, "ENGINE": "docker"}, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return "sandpiper-serve:latest"


class Container:
    """As serving.Server starts a program: on the network of this machine, where the model is."""

    def __init__(self, image, *options):
        self.name, self.image, self.options = "sandpiper-test-" + uuid.uuid4().hex[:8], image, options

    def start(self, serve, *args, env=None, **popen):
        assert serve == "serve"
        words = ["docker", "run", "--rm", "--name", self.name, "--network", "host", *self.options, self.image, *args]
        return subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **popen)

    def exec(self, *argv):
        return subprocess.run(["docker", "exec", self.name, *argv], check=True, capture_output=True, text=True, timeout=HANG).stdout

    def remove(self):
        subprocess.run(["docker", "rm", "-f", "-v", self.name], capture_output=True, timeout=LONG)


@pytest.fixture
def container(image):
    made = []

    def begin(*options):
        made.append(Container(image, *options))
        return made[-1]
    yield begin
    for c in made:
        c.remove()


def of_compose():
    """What docker's own client calls what the file says of the server's container, but for its network."""
    with open(os.path.join(TREE, "docker", "serve", "compose.yaml")) as f:
        service = yaml.safe_load(f)["services"]["sandpiper"]
    assert service["image"] == "sandpiper-serve:latest" and service["volumes"] == ["state:/var/lib/sandpiper"]
    words = [w for o in service["security_opt"] for w in ("--security-opt", o)] + [w for c in service["cap_drop"] for w in ("--cap-drop", c)]
    return words + ["--memory", service["mem_limit"], "--pids-limit", str(service["pids_limit"])], service["command"]


def serve(container, *args):
    server = Server(container, *args, token="unknown")
    server.token = container.exec("cat", "/var/lib/sandpiper/token")
    return server


@pytest.mark.slow(90)
def test_as_compose_starts_it(container):
    """A question is answered by code that ran in bubblewrap, in a container that docker gave no right to."""
    words, args = of_compose()
    with ModelServer(ANSWER) as model:
        server = serve(container("-e", "SANDPIPER_BASE_URL=" + model.url, "-e", "SANDPIPER_MODEL=test-model", *words), *args)
        assert "bubblewrap, inside this container" in "".join(server.seen)
        assert server.ask("/ask", {"input": "what is six times seven?"})["output"] == "It is 42."
        assert server.close() == 0
        model.check()


@pytest.mark.slow(30)
def test_the_docker_of_the_host(container, tmp_path):
    """Where bubblewrap may not; a sandbox with a name needs a folder that both have."""
    if not os.path.exists(SOCKET):
        pytest.skip("docker's socket is elsewhere")
    os.chmod(tmp_path, 0o700)
    os.chown(tmp_path, 1000, 1000)
    folder = str(tmp_path)
    server = serve(container("-v", SOCKET + ":" + SOCKET, "--group-add", str(os.stat(SOCKET).st_gid), "-v", folder + ":" + folder, "-e", "XDG_RUNTIME_DIR=" + folder))
    assert "made by docker: the host's docker" in "".join(server.seen)
    made = server.ask("/create_sandbox", {})
    assert made["info"]["engine"] == "docker"
    assert server.ask("/run_code", {"sandbox_id": made["sandbox_id"], "code": "print(6 * 7)"})["stdout"] == "42\n"
    assert server.close() == 0
    assert not [f for _, _, files in os.walk(folder) for f in files]


@pytest.mark.slow(5)
def test_neither(container):
    p = container().start("serve")
    _, err = p.communicate(timeout=HANG)
    assert p.returncode == 1 and re.search(rb"no sandbox can be made here: bwrap: ", err) and b"seccomp=unconfined" in err and b"docker.sock" in err, err
