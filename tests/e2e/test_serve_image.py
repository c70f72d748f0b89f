"""test_serve_image.py - the image sandpiper-serve as docker/serve/compose.yaml starts it (Docker Compose 2), with a model that is scripted: bubblewrap inside
the container, of an ordinary user without capabilities; else the host's docker; else a sentence. Each says which it is.
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


def serve(container, *args):
    server = Server(container, *args, token="unknown")
    server.token = container.exec("cat", "/var/lib/sandpiper/token")
    return server


class Compose:
    """docker/serve/compose.yaml under Docker Compose 2, as a project of this test's: the model is a script, and which port it is docker chooses."""

    def __init__(self, program, scratch):
        self.name = "sandpiper-test-" + uuid.uuid4().hex[:8]
        (scratch / "model.yaml").write_text(yaml.safe_dump({"services": {"model": SCRIPTED}}))
        files = [os.path.join(TREE, "docker", "serve", "compose.yaml"), str(scratch / "model.yaml")]
        self.words = [program, "--project-name", self.name, *(w for f in files for w in ("--file", f))]

    def run(self, *argv):
        done = subprocess.run([*self.words, *argv], env={**os.environ, "PORT": "0"}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def left(self):
        """What docker has of this project."""
        of = ["--quiet", "--filter", "label=com.docker.compose.project=" + self.name]
        return [line for kind in (["ps", "--all"], ["volume", "ls"], ["network", "ls"])
                for line in subprocess.run(["docker", *kind, *of], check=True, capture_output=True, text=True, timeout=HANG).stdout.split()]


class Composed(Server):
    def __init__(self, compose):
        self.token, self.host = compose.run("exec", "-T", "sandpiper", "cat", "/var/lib/sandpiper/token"), compose.run("port", "sandpiper", "8000").strip()


SCRIPTED = {"image": "sandpiper:latest", "init": True, "working_dir": "/e2e", "volumes": [os.path.join(TREE, "tests", "e2e") + ":/e2e:ro"],
            "environment": {"PYTHONPATH": "/e2e", "PYTHONDONTWRITEBYTECODE": "1"},
            "entrypoint": ["python3", "-c", "import signal\nfrom model_server import ModelServer\nwith ModelServer(%r, model='qwen3.5:4b', at=('0.0.0.0', 11434)):\n"
                           "    signal.pause()" % ANSWER]}


@pytest.mark.slow(90)
@pytest.mark.usefixtures("image")
def test_as_compose_starts_it(tmp_path):
    """A question is answered by code that ran in bubblewrap, in a container that docker gave no right to."""
    found = subprocess.run([os.path.join(TREE, "setup", "compose.sh")], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG)
    if found.returncode:
        pytest.skip("no Docker Compose 2: " + found.stderr[-300:])
    compose = Compose(found.stdout.strip(), tmp_path)
    try:
        compose.run("up", "--detach", "--wait")
        assert "bubblewrap, inside this container" in compose.run("logs", "sandpiper")
        server = Composed(compose)
        answer = server.ask("/ask", {"input": "what is six times seven?"})
        assert (answer["output"], answer["steps"][0]["output"], answer["model"]) == ("It is 42.", "42", "qwen3.5:4b"), answer
    finally:
        compose.run("down", "--volumes")
    assert not compose.left()


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
