"""test_readme.py - what README and docs/PROGRAMS.md give to paste does what they say of it, as it stands: only TOKEN, HOST and the port are filled in."""
import json
import os
import re
import shlex
import subprocess
import urllib.request

import pytest

from clients import client
from conftest import HANG, TREE
from serving import servers

pytestmark = pytest.mark.no_asan

LONG = 120


def read(name):
    with open(os.path.join(TREE, name), encoding="utf-8") as f:
        return f.read()


def block(name, title):
    """The first block of code below this title, or the paragraph that begins with it."""
    text = read(name).split(title, 1)[1]
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
    yield from servers(sandpiper)


def installed(sandpiper):
    """The folder of a command "sandpiper" that is this one."""
    program = sandpiper.write("sandpiper", '#!/bin/sh\nexec %s "$@"\n' % shlex.join(sandpiper.argv([])))
    os.chmod(program, 0o755)
    return os.path.dirname(program)


def test_it_is_as_large_as_it_says(bare, tmp_path):
    """Without what only a debugger reads, as it is installed."""
    subprocess.run(["strip", "-o", str(tmp_path / "program"), bare.argv([])[0]], check=True)
    said = int(re.search(r"one executable of (\d+) MB", read("README.md")).group(1))
    assert abs(os.path.getsize(tmp_path / "program") / 1e6 - said) < 0.6


def test_it_is_short_and_leads_on():
    text = read("README.md")
    assert len(text.split()) <= 900
    links = set(re.findall(r"\]\(([^)#]+)\)", text))
    assert len(links) > 8 and [link for link in links if not os.path.exists(os.path.join(TREE, link))] == []


def test_the_examples(sandpiper, serve):
    """Each line as it stands, but for the chat, which is the first."""
    lines = block("README.md", "## Six examples").splitlines()
    assert len(lines) == 6 and lines[0].split("#")[0].strip() == "sandpiper"
    answer = {"answer": {"text": "Done."}}
    model = serve(sandpiper, [answer, answer, {"answer": {"calls": [{"code": "import matplotlib.pyplot as plt\nplt.plot([1, 2])"}]}}, answer, answer, answer])
    for name, text in (("sales.csv", "month,revenue\n1,10\n2,30\n"), ("questions.txt", "set x to 21\ndouble x\n"),
                       ("script.py", "import sys\nprint(sys.argv[1], len(sys.stdin.readlines()))\n")):
        sandpiper.write(name, text)
    env = dict(sandpiper.env(), PATH="%s:/usr/bin:/bin" % installed(sandpiper))
    said = []
    for line in lines[1:]:
        done = subprocess.run(["bash", "-euc", line], env=env, cwd=sandpiper.work, capture_output=True, text=True, timeout=LONG, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (line, done.stdout + done.stderr)
        said.append(done.stdout)
    assert said == ["Done.\n", "Done.\n", "Done.\n", "Done.\nDone.\n", "2026 3\n"]
    assert [name for name in os.listdir(sandpiper.work) if name.endswith(".png")] and "sales.csv" in json.dumps(model.requests[2].body)
    assert "revenue" in json.dumps(model.requests[1].body)


@pytest.mark.client("mcpnode/@modelcontextprotocol/inspector", "the configuration of the README")
@pytest.mark.slow(10)
@pytest.mark.parametrize("name", ["README.md", "docs/PROGRAMS.md"])
def test_an_mcp_client(sandpiper, name):
    """The Inspector reads the same configuration as other clients, and starts what it says."""
    node = client("mcpnode", "node")
    programs = os.path.join(os.path.dirname(os.path.dirname(node)), "npm", "node_modules", ".bin")
    config = sandpiper.write("mcp.json", block(name, "**An MCP client**"))
    env = dict(sandpiper.env(), PATH=":".join([installed(sandpiper), os.path.dirname(node), os.environ["PATH"]]))
    done = subprocess.run([os.path.join(programs, "mcp-inspector"), "--cli", "--config", config, "--server", "python", "--method", "tools/call", "--tool-name",
                           "execute_python", "--tool-arg", "code=print(6 * 7)"], env=env, cwd=sandpiper.work, capture_output=True, text=True, timeout=LONG,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["content"][0]["text"] == "42\n"


@pytest.mark.client("mcpnode/@modelcontextprotocol/inspector", "the configuration for HTTP")
@pytest.mark.slow(10)
def test_an_mcp_client_over_http(sandpiper, start):
    """The other configuration of that page."""
    node, server = client("mcpnode", "node"), start()
    programs = os.path.join(os.path.dirname(os.path.dirname(node)), "npm", "node_modules", ".bin")
    text = block("docs/PROGRAMS.md", "Over HTTP, `sandpiper serve`")
    config = sandpiper.write("mcp.json", text.replace("TOKEN", server.token).replace("127.0.0.1:8000", server.host))
    env = dict(sandpiper.env(), PATH=":".join([os.path.dirname(node), os.environ["PATH"]]), NO_PROXY="*")
    done = subprocess.run([os.path.join(programs, "mcp-inspector"), "--cli", "--config", config, "--server", "python", "--method", "tools/call", "--tool-name",
                           "execute_python", "--tool-arg", "code=print(6 * 7)"], env=env, cwd=sandpiper.work, capture_output=True, text=True, timeout=LONG,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["content"][0]["text"].startswith("42\n")


@pytest.mark.client("openai/llm", "the lines of the README")
@pytest.mark.client("openai/openai", "the lines of the README")
@pytest.mark.slow(30)
@pytest.mark.parametrize("name, answers", [("README.md", 1), ("docs/PROGRAMS.md", 2)])
def test_an_openai_client(sandpiper, serve, start, name, answers):
    code = "[n for n in range(2, 8000) if all(n % d for d in range(2, int(n ** .5) + 1))][999]"
    model = serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "The 1000th prime is 7919."}},
                              {"answer": {"text": "The 1001st prime is 7927."}}][:1 + answers], model="the-model")
    server = start("-m", "the-model")
    said = shell(sandpiper, server, block(name, "**An OpenAI client**"), os.path.dirname(client("openai")))
    assert said.splitlines() == ["The 1000th prime is 7919.", "The 1001st prime is 7927."][:answers]
    assert "7919" in json.dumps(model.requests[1].body)        # the code ran, and the model was told


def test_a_file_of_questions(sandpiper, serve):
    """Both blocks as they stand, with files of two rows."""
    text = read("docs/PROGRAMS.md").split("**A file of questions**")[1]
    lines = [line.strip() for line in re.findall(r"^    (.*)$", text, re.M)[:3]]
    model = serve(sandpiper, [{"answer": {"text": "Done."}}] * 4, model="m")
    for name, content in (("firms.csv", "company,date\nAcme,2020\nInitech,2021\n"), ("sales.csv", "month,revenue\n1,10\n"), ("load.py", "total = 10\n"),
                          ("tasks.jsonl", '{"id": "a", "question": "one?"}\n{"id": "b", "question": "two?"}\n')):
        sandpiper.write(name, content)
    env = dict(sandpiper.env(), PATH="%s:/usr/bin:/bin" % installed(sandpiper))
    done = [subprocess.run(["bash", "-euc", line], env=env, cwd=sandpiper.work, capture_output=True, text=True, timeout=LONG, stdin=subprocess.DEVNULL)
            for line in lines]
    assert [d.returncode for d in done] == [0, 0, 0], done
    asked = json.dumps([q.body for q in model.requests])
    assert all(words in asked for words in ("How old is Acme at 2020?", "How old is Initech at 2021?", "one?", "two?")), asked
    for name in "ages.jsonl", "out.jsonl":
        with open(os.path.join(sandpiper.work, name), encoding="utf-8") as f:
            assert [json.loads(row)["answer"] for row in f] == ["Done.", "Done."]


def test_dify(sandpiper, start):
    """Its code node reads these two variables and sends this."""
    server = start()
    where, key = shell(sandpiper, server, block("docs/PROGRAMS.md", "**Dify**") + '\nprintf "%s\\n" "$CODE_EXECUTION_ENDPOINT" "$CODE_EXECUTION_API_KEY"').split()
    body = json.dumps({"language": "python3", "code": "print(6 * 7)", "preload": "", "enable_network": True}).encode()
    request = urllib.request.Request(where + "/v1/sandbox/run", body, {"X-Api-Key": key, "Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=HANG) as answer:
        assert json.load(answer) == {"code": 0, "message": "success", "data": {"stdout": "42\n", "error": ""}}
