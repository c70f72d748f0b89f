"""test_mcp_clients.py - clients of other people with `sandpiper mcp`, unchanged: the Python SDK before and since 2026-07-28, openai-agents, the
Inspector. They come from tests/clients."""
import json
import os
import subprocess

import pytest

from clients import client
from conftest import HERE

pytestmark = pytest.mark.no_asan

SCRIPTS = os.path.join(HERE, "mcp_clients")
LONG = 240              # importing one of these takes a processor for five seconds, and there are other tests


def use(sandpiper, environment, script, *args):
    """Run a script of mcp_clients in that environment; our program is started by the client, in sandpiper's home."""
    done = subprocess.run([client(environment), os.path.join(SCRIPTS, script), *args], env=dict(sandpiper.env(), PYTHONDONTWRITEBYTECODE="1"), cwd=sandpiper.work,
                          capture_output=True, text=True, timeout=LONG, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.client("mcp1/mcp", "over stdio: tools, live output, figures, resources, files, JavaScript, shell, SQL")
@pytest.mark.slow(50)
def test_sdk_1(sandpiper):
    assert use(sandpiper, "mcp1", "sdk1.py", "stdio", *sandpiper.argv(["mcp"])) == "done\n"


@pytest.mark.client("mcp2/mcp", "over stdio, in the revision 2026-07-28 and those before it")
@pytest.mark.slow(50)
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_sdk_2(sandpiper, mode):
    assert use(sandpiper, "mcp2", "sdk2.py", mode, "stdio", *sandpiper.argv(["mcp"])) == "done\n"


@pytest.mark.client("mcp2/openai-agents", "an agent with the tools of `sandpiper mcp`")
@pytest.mark.slow(70)
def test_openai_agents(sandpiper):
    assert "42" in use(sandpiper, "mcp2", "agents_sdk.py", "stdio", *sandpiper.argv(["mcp"]))


def inspect(sandpiper, *args):
    node = client("mcpnode", "node")
    place = os.path.join(os.path.dirname(os.path.dirname(node)), "npm", "node_modules", ".bin", "mcp-inspector")
    env = dict(sandpiper.env(), PATH=os.path.dirname(node) + ":" + os.environ["PATH"])
    done = subprocess.run([place, "--cli", *sandpiper.argv(["mcp"]), *args], env=env, cwd=sandpiper.work, capture_output=True, text=True,
                          timeout=LONG, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.client("mcpnode/@modelcontextprotocol/inspector", "tools/list and tools/call over stdio")
@pytest.mark.slow(150)
def test_inspector(sandpiper):
    assert len(inspect(sandpiper, "--method", "tools/list")["tools"]) == 7
    called = inspect(sandpiper, "--method", "tools/call", "--tool-name", "execute_python", "--tool-arg", "code=print(6 * 7)")
    assert called["content"][0]["text"] == "42\n" and called["structuredContent"]["status"] == "ok", called


@pytest.mark.client("litellm/langchain-mcp-adapters", "its tools: one call for each session, and many in one, over stdio")
@pytest.mark.slow(50)
def test_langchain_tools(sandpiper):
    assert use(sandpiper, "litellm", "langchain_tools.py", "stdio", *sandpiper.argv(["mcp"])) == "['(no output)', '1', \"'gone'\"]\n['(no output)', '42']\n"
