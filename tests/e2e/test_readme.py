"""test_readme.py - what README gives other programs to paste does what README says of it, as it stands: only TOKEN, HOST and the port are filled in."""
import json
import os
import re
import shlex
import subprocess
import urllib.request

import pytest

from clients import client
from conftest import HANG, HERE
from serving import Server

pytestmark = pytest.mark.no_asan

README = os.path.join(HERE, "..", "..", "README.md")
LONG = 120


def block(title):
    """The first block of code below the paragraph that begins with this title."""
    text = open(README, encoding="utf-8").read().split("**%s**" % title, 1)[1]
    return "\n".join(line[4:] for line in re.search(r"\n\n((?:    .*\n)+)", text).group(1).splitlines())


def shell(sandpiper, server, text, *path):
    """In a shell of a user's, who has put in what the server printed."""
    text = text.replace("TOKEN", server.token).replace("127.0.0.1:8000", server.host).replace("HOST:8000", server.host)
    env = dict(PATH=":".join([*path, "/usr/bin:/bin"]), HOME=sandpiper.path("home"), NO_PROXY="*")
    done = subprocess.run(["bash", "-euc", text], env=env, cwd=sandpiper.work, capture_output=True, text=True, timeout=LONG, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def start(sandpiper):
    made = []

    def begin(*args):
        made.append(Server(sandpiper, *args))
        return made[-1]
    yield begin
    for s in made:
        assert s.close() == 0


@pytest.mark.slow(10)
def test_an_mcp_client(sandpiper):
    """The Inspector reads the same configuration as other clients, and starts what it says."""
    node = client("mcpnode", "node")
    programs = os.path.join(os.path.dirname(os.path.dirname(node)), "npm", "node_modules", ".bin")
    place = os.path.dirname(sandpiper.write("sandpiper", '#!/bin/sh\nexec %s "$@"\n' % shlex.join(sandpiper.argv([]))))
    os.chmod(os.path.join(place, "sandpiper"), 0o755)
    config = sandpiper.write("mcp.json", block("An MCP client"))
    env = dict(sandpiper.env(), PATH=":".join([place, os.path.dirname(node), os.environ["PATH"]]))
    done = subprocess.run([os.path.join(programs, "mcp-inspector"), "--cli", "--config", config, "--server", "python", "--method", "tools/call", "--tool-name",
                           "execute_python", "--tool-arg", "code=print(6 * 7)"], env=env, cwd=sandpiper.work, capture_output=True, text=True, timeout=LONG,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["content"][0]["text"] == "42\n"


@pytest.mark.slow(30)
def test_an_openai_client(sandpiper, serve, start):
    code = "[n for n in range(2, 8000) if all(n % d for d in range(2, int(n ** .5) + 1))][999]"
    model = serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "The 1000th prime is 7919."}},
                              {"answer": {"text": "The 1001st prime is 7927."}}], model="the-model")
    server = start("-m", "the-model")
    said = shell(sandpiper, server, block("An OpenAI client"), os.path.dirname(client("openai")))
    assert said == "The 1000th prime is 7919.\nThe 1001st prime is 7927.\n"
    assert "7919" in json.dumps(model.requests[1].body)        # the code ran, and the model was told


def test_dify(sandpiper, start):
    """Its code node reads these two variables and sends this."""
    server = start()
    where, key = shell(sandpiper, server, block("Dify") + '\nprintf "%s\\n" "$CODE_EXECUTION_ENDPOINT" "$CODE_EXECUTION_API_KEY"').split()
    body = json.dumps({"language": "python3", "code": "print(6 * 7)", "preload": "", "enable_network": True}).encode()
    request = urllib.request.Request(where + "/v1/sandbox/run", body, {"X-Api-Key": key, "Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=HANG) as answer:
        assert json.load(answer) == {"code": 0, "message": "success", "data": {"stdout": "42\n", "error": ""}}
