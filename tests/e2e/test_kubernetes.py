"""test_kubernetes.py - the engine kubernetes: the pod that is asked for, what is told of one that does not come to run, and its end; with a kubectl that
lies (fake_kubectl.py). With SANDPIPER_TEST_KUBERNETES=IMAGE the same on the cluster of KUBECONFIG (make test-kubernetes)."""
import glob
import json
import os
import shutil
import socket
import subprocess

import pytest
import yaml

from conftest import make_sandpiper, need_engine
from package_index import packages_are_sent, uv
from probes import session
from test_doctor import kill_in_a_cell
from test_engines import until

IMAGE = os.environ.get("SANDPIPER_TEST_KUBERNETES")


@pytest.fixture
def pods(request):
    """The program; lies(...) says what its kubectl says."""
    need_engine("bwrap")
    for s in make_sandpiper("bwrap"):
        os.mkdir(s.path("work/bin"))
        shutil.copy(os.path.join(os.path.dirname(__file__), "fake_kubectl.py"), s.path("work/bin/kubectl"))
        s.state = s.path("work/kube")
        plain = s.env
        s.env = lambda extra=None: plain(dict({"KUBECONFIG": s.state, "PATH": "%s:%s" % (s.path("work/bin"), os.environ["PATH"])}, **(extra or {})))
        s.lies = lambda **what: s.write("kube", json.dumps(what))
        s.use = lambda **more: s.configure("engines: %s\n" % json.dumps({"kubernetes": {"with": dict({"image": "python:3.13"}, **more)}}))
        s.engine = "kubernetes"
        s.lies()
        s.use()
        yield s


def asked(program):
    with open(program.state + ".log") as f:
        return [json.loads(line) for line in f]


def files_of_pods(program):
    return glob.glob(program.state + ".pod.*")


def the_pod(program):
    """As it was asked for; there is one."""
    file, = files_of_pods(program)
    with open(file) as f:
        return yaml.safe_load(f)


def gone(program):
    """Each pod that was asked for has been deleted; the program does not wait for the deletion."""
    until(lambda: not files_of_pods(program) and not os.listdir(program.path("run/sandpiper")))


def restricted(pod):
    """What the policy "restricted" of PodSecurity wants (Kubernetes 1.34)."""
    spec = pod["spec"]
    assert not any(spec.get(k) for k in ("hostNetwork", "hostPID", "hostIPC"))
    assert all(set(v) <= {"name", "emptyDir"} for v in spec["volumes"])
    assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    for c in spec["containers"] + spec.get("initContainers", []):
        assert c["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}, c
        assert c["resources"]["limits"].keys() == {"cpu", "memory"} and "ports" not in c, c


def test_the_pod(pods):
    pods.use(namespace="sandboxes", context="lab", pull="Always", deadline="600")
    p = pods.start("exec", "--memory", "300m", "--cpus", "1.5", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    assert p.stdout.readline() == b"up\n", p.stderr.read()
    pod = the_pod(pods)
    restricted(pod)
    spec, (c,) = pod["spec"], pod["spec"]["containers"]
    assert pod["metadata"]["labels"] == {"app.kubernetes.io/name": "sandpiper", "app.kubernetes.io/managed-by": "sandpiper"}
    assert spec["automountServiceAccountToken"] is False and spec["activeDeadlineSeconds"] == 600 and spec["restartPolicy"] == "Never"
    assert c["stdin"] and c["stdinOnce"] and c["image"] == "python:3.13" and c["imagePullPolicy"] == "Always"
    assert c["resources"]["limits"] == {"cpu": "1.5", "memory": str(300 << 20)} and c["command"][2].startswith("exec python3 -I -S -u -i -q - stdio ")
    assert spec["initContainers"][0]["name"] == "network" and "KUBERNETES_SERVICE_HOST" in spec["initContainers"][0]["command"][2]
    name = pod["metadata"]["name"]
    assert [a for a in asked(pods) if "attach" in a] == [["--namespace=sandboxes", "--context=lab", "attach", "--quiet", "--stdin", "--container=python", name]]
    assert all({"--namespace=sandboxes", "--context=lab"} <= set(a) for a in asked(pods)), asked(pods)
    p.kill()
    p.wait()
    gone(pods)
    assert [a for a in asked(pods) if "delete" in a][0][2:5] == ["delete", "pod", name], asked(pods)


def test_without_the_look_at_its_network(pods):
    pods.use(network="yes")
    r = pods.run("exec", "--dry-run")
    assert r.code == 0 and "test \"$network\" = yes || first" in r.out and " IfNotPresent yes no 86400\n" in r.out, r


def test_the_look_at_its_network(pods):
    """What the first container runs, here: it ends well only where nothing answers."""
    r = pods.run("exec", "-c", "1")
    assert r.code == 0, r
    with open(pods.state + ".log") as f:
        assert "attach" in f.read()
    gone(pods)
    before = pods.run("exec", "--dry-run").out
    assert "this pod has a network" in before
    p = pods.start("exec", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    said = p.stdout.readline()
    assert said == b"up\n", p.communicate()
    words = the_pod(pods)["spec"]["initContainers"][0]["command"]
    p.kill()
    p.wait()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        shut = str(s.getsockname()[1])
        look = lambda **env: subprocess.run(words, env=dict(PATH=os.environ["PATH"], **env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, check=False)
        assert look(KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=shut).returncode == 0
        s.listen()
        open_ = look(KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=shut)
        assert open_.returncode == 1 and open_.stdout == "this pod has a network\n", open_
    assert look().returncode == 1                       # where it cannot tell
    gone(pods)


def test_files_cells_and_deaths(pods):
    data = pods.write("in.csv", "a,b\n1,2\n")
    r = pods.run("exec", "--add", data, "--out", pods.path("work/out"), "-c", "open('out.bin', 'wb').write(bytes(range(256)) * 9999 + open('in.csv', 'rb').read())")
    assert r.code == 0, r
    with open(pods.path("work/out/out.bin"), "rb") as f:
        assert f.read() == bytes(range(256)) * 9999 + b"a,b\n1,2\n"
    cells, r, refused = session.play(pods, ["import os, signal\nx = [0]", "x.append(1)\nos.kill(os.getpid(), signal.SIGKILL)", "x", "while True: pass", "x"])
    assert [c.status for c in cells] == ["ok", "died", "ok", "timeout", "ok"] and cells[4].value == "[0]" and not refused, (cells, r)
    gone(pods)


FAILS = [
    ("quota", dict(refuses_create='Error from server (Forbidden): error when creating "STDIN": pods "sandpiper-1" is forbidden: exceeded quota: q, requested: '
                   'limits.memory=1Gi'), "the namespace's quota is used up"),
    ("policy", dict(refuses_create='Error from server (Forbidden): pods "sandpiper-1" is forbidden: violates PodSecurity "restricted:latest": x'),
     "the namespace's policy does not allow the pod"),
    ("role", dict(refuses_create='Error from server (Forbidden): pods is forbidden: User "eve" cannot create resource "pods"'),
     "your account may not do that on the cluster"),
    ("image", dict(phase="Pending", events='Failed   Failed to pull image "python:3.13": not found\nFailed   Error: ErrImagePull\n'), "the pod's image cannot be had"),
    ("name of the image", dict(phase="Pending", events='InspectFailed   Failed to apply default image tag "a b": couldn\'t parse image name\n'),
     "the pod's image cannot be had"),
    ("no room", dict(phase="Pending", events="FailedScheduling   0/3 nodes are available: 3 Insufficient memory.\n"), "no node of the cluster has room for the pod"),
    ("network", dict(phase=["Pending", "Failed"], logs="this pod has a network"), "this pod has a network"),
    ("account of the pod", dict(refuses_create='Error from server (Forbidden): pods "sandpiper-1" is forbidden: error looking up service account a/default: '
                                        'serviceaccount "default" not found'), "the cluster does not allow the pod"),
    ("namespace", dict(refuses_create='Error from server (NotFound): error when creating "STDIN": namespaces "nope" not found'), "the cluster has no such namespace"),
    ("context", dict(refuses_create='error: context "nope" does not exist'), "your kubeconfig has no such context"),
    ("context, of another library", dict(refuses_create="Error in configuration: context was not found for specified context: nope"), "your kubeconfig has no such context"),
    ("token", dict(refuses_create='error: You must be logged in to the server (error when creating "STDIN": Unauthorized)'), "the cluster does not know you"),
    ("no token", dict(refuses_create="error: You must be logged in to the server (the server has asked for the client to provide credentials)"),
     "the cluster does not know you"),
    ("certificate", dict(refuses_create='error: error when creating "STDIN": Post "https://127.0.0.1:6443/api/v1/namespaces/a/pods": tls: failed to verify certificate: '
                                        'x509: certificate signed by unknown authority'), "the certificate of the cluster is not trusted"),
    ("image behind a token", dict(phase="Pending", events='Failed   Failed to pull image "a/b": unexpected status: 401 Unauthorized\n'), "the pod's image cannot be had"),
    ("image behind a certificate", dict(phase="Pending", events='Failed   Failed to pull image "a/b": tls: x509: certificate signed by unknown authority\n'),
     "the pod's image cannot be had"),
    ("image that was not pulled", dict(phase="Pending", events="Failed   Error: ErrImagePull\n"), "the pod's image cannot be had"),
    ("image that is waited for", dict(phase="Pending", events="Failed   Error: ImagePullBackOff\n"), "the pod's image cannot be had"),
    ("user of the image", dict(phase="Pending", events="Failed   Error: container has runAsNonRoot and image will run as root\n"), "Failed   Error: container has runAsNonRoot"),
    ("no cluster", dict(refuses_create='couldn\'t get current server API group list: Get "http://localhost:8080/api?timeout=32s": dial tcp 127.0.0.1:8080: connect: '
                                       'connection refused'), "no cluster is configured on this machine"),
    ("cluster that is off", dict(refuses_create="The connection to the server 10.1.2.3:6443 was refused - did you specify the right host or port?"),
     "the cluster does not answer"),
    ("cluster that is off, in the library's words", dict(refuses_create='couldn\'t get current server API group list: Get "https://10.1.2.3:6443/api?timeout=32s": '
                                                         'dial tcp 10.1.2.3:6443: connect: connection refused'), "the cluster does not answer"),
    ("evicted", dict(refuses_get='Error from server (NotFound): pods "sandpiper-1" not found'), "the pod was removed"),
    ("noise", dict(phase="\033]0;x\007Pending", events="Failed   Failed to pull image \033[31mred\n"), "the pod's image cannot be had"),
]


@pytest.mark.parametrize("what, lies, words", FAILS, ids=[w for w, _, _ in FAILS])
def test_what_goes_wrong(pods, what, lies, words):
    pods.lies(**lies)
    r = pods.run("exec", "-c", "1")
    assert r.code == 125 and "kubernetes: " + words in r.err and len(r.err.splitlines()) == 2 and "\033" not in r.err and r.seconds < 20, r
    until(lambda: not os.listdir(pods.path("run/sandpiper")))
    assert [a for a in asked(pods) if "delete" in a], asked(pods)


def test_one_that_waits_for_room(pods):
    full = "FailedScheduling   0/3 nodes are available: 3 Insufficient memory.\n"
    pods.use(wait="yes")
    pods.lies(phase=["Pending"] * 3 + ["Running"], events=full)
    r = pods.run("exec", "-c", "print(6 * 7)")
    assert r.code == 0 and r.out == "42\n", r
    gone(pods)
    pods.lies(phase="Pending", events=full)
    r = pods.run("exec", "--queue-timeout", "3s", "-c", "1")
    assert r.code == 125 and "no node of the cluster has room for the pod" in r.err, r
    gone(pods)


@pytest.mark.skipif(not uv(), reason="there is no uv here, and none can be fetched")
def test_packages_are_sent_there(pods):
    packages_are_sent(pods)


def test_gc(pods):
    """It, and what would have seen to the pod, were killed."""
    kill_in_a_cell(pods)
    assert the_pod(pods)
    r = pods.run("gc")
    assert r.code == 0 and r.out.startswith("removed 1 sandbox"), r
    gone(pods)


def test_it_needs_an_image(pods):
    pods.configure("")
    r = pods.run("exec", "-c", "1")
    assert r.code == 125 and "kubernetes: image is not set\n" in r.err, r
    assert "set it with --image, or in config.yaml: engines: {kubernetes: {with: {image: VALUE}}}" in r.err, r


def test_the_image_of_the_command_line(pods):
    """It is for an engine that is chosen there too, and nearer than config.yaml; an image in config.yaml is docker's."""
    r = pods.run("exec", "--image", "registry/own:2", "-c", "print(6 * 7)")
    assert (r.code, r.out) == (0, "42\n"), r
    r = pods.run("exec", "--image", "registry/own:2", "--dry-run", "-c", "1")
    assert "registry/own:2" in r.out and "python:3.13" not in r.out, r
    pods.configure("image: for-docker\n")
    r = pods.run("exec", "-c", "1")
    assert r.code == 125 and "kubernetes: image is not set\n" in r.err, r


@pytest.mark.skipif(not IMAGE, reason="SANDPIPER_TEST_KUBERNETES is not set: make test-kubernetes")
def test_on_a_cluster():
    for s in make_sandpiper("bwrap"):
        s.configure("engines: %s\n" % json.dumps({"kubernetes": {"with": {"image": IMAGE, "network": os.environ.get("SANDPIPER_TEST_NETWORK", "no")}}}))
        s.engine = "kubernetes"
        plain = s.env
        s.env = lambda extra=None: plain(dict({"KUBECONFIG": os.environ["KUBECONFIG"]}, **(extra or {})))
        r = s.run("exec", "-c", "import os; print(6 * 7, os.getuid())", timeout=180)
        assert r.code == 0 and r.out == "42 65532\n", r
        cells, r, refused = session.play(s, ["import os, signal\nx = [0]", "x.append(1)\nos.kill(os.getpid(), signal.SIGKILL)", "x", "while True: pass", "x"], timeout=180)
        assert [c.status for c in cells] == ["ok", "died", "ok", "timeout", "ok"] and cells[4].value == "[0]" and not refused, (cells, r)
        p = s.start("exec", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
        said = p.stdout.readline()
        assert said == b"up\n", p.communicate()
        p.kill()
        p.wait()
        pods = ["kubectl", "get", "pods", "-l", "app.kubernetes.io/name=sandpiper", "--no-headers"]
        until(lambda: not subprocess.run(pods, stdout=subprocess.PIPE, check=True).stdout, 60)
