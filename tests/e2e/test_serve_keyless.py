"""test_serve_keyless.py - the process that speaks with clients has no key of a model service: not in its environment, its words or its memory. The
search finds the same keys in the processes that need them."""
import os
import signal

import pytest

from conftest import HANG
from mcp_stdio import Mcp
from openai_server import call, done, user
from program import children
from raw_server import wait_for
from serving import Server

ENVIRONMENT, OTHER, FILE = (name + "-5up3r-53cr37-0f-7h15-7357" for name in ("env", "aws", "yaml"))
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the memory of a process of ours")


def memory_of(pid):
    """All that can be read of it, with its environment and its words as the kernel shows them."""
    for name in ("environ", "cmdline"):
        with open("/proc/%d/%s" % (pid, name), "rb") as f:
            yield f.read()
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as mem:
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(x, 16) for x in span.split("-"))
            # not vvar, vdso, vsyscall; nor the terabytes that a sanitizer reserves
            if rights[0] == "r" and "[v" not in line and end - begin < 1 << 30:
                try:
                    yield os.pread(mem.fileno(), end - begin, begin)
                except OSError:
                    pass


def secrets_in(pid):
    text = b"".join(memory_of(pid))
    assert b"sandpiper" in text
    return {s for s in (ENVIRONMENT, OTHER, FILE) if s.encode() in text}


def is_runner(pid):
    with open("/proc/%d/cmdline" % pid, "rb") as f:
        return f.read().split(b"\0")[1:2] == [b"runner"]


def runners(pid):
    return [p for p in children(pid) if is_runner(p)]


def exchanges(key):
    """Three questions of two requests each; the model service insists on the key."""
    headers = {"authorization": "Bearer " + key}
    return [turn for _ in range(3) for turn in (dict(call("6 * 7"), expect={"headers": headers}), done("It is 42.", headers=headers))]


def ask_everything(server):
    assert server.ask("/ask", {"input": "go"})["output"] == "It is 42."
    got = server.ask("/v1/chat/completions", {"model": "sandpiper", "messages": [user("go")]})
    assert got["choices"][0]["message"]["content"] == "It is 42."
    assert server.ask("/v1/responses", {"model": "sandpiper", "input": "go"})["output"][-1]["content"][0]["text"] == "It is 42."


@pytest.mark.slow(5)
@pytest.mark.no_asan
@ROOT
@pytest.mark.parametrize("source", ["environment", "file", "command"])
def test_no_key_in_the_server(sandpiper, serve, source):
    key = ENVIRONMENT if source == "environment" else FILE
    model = serve(sandpiper, exchanges(key))
    if source != "environment":
        how = "api_key: " + FILE if source == "file" else "api_key_command: [printf, %s]" % FILE
        sandpiper.configure("provider: mine\nmodel: test-model\nproviders:\n  mine:\n    base_url: %s\n    %s\n" % (model.url, how))
        sandpiper.url = None
    env = {"AWS_SECRET_ACCESS_KEY": OTHER, "OPENAI_API_KEY": ENVIRONMENT, "SANDPIPER_SANDBOX": "bwrap"}
    server = Server(sandpiper, "--pool", "1", "--max-sandboxes", "4", env=env)
    assert secrets_in(server.process.pid) == set()
    ask_everything(server)
    held = runners(server.process.pid)
    assert len(held) >= 3 and any(key in secrets_in(p) for p in held), held         # the search finds what is there
    assert secrets_in(server.process.pid) == set()
    assert server.close() == 0
    assert sandpiper.leftovers() == []


@pytest.mark.no_asan
@ROOT
def test_no_key_in_the_mcp_server(sandpiper):
    m = Mcp(sandpiper, env={"OPENAI_API_KEY": ENVIRONMENT, "AWS_SECRET_ACCESS_KEY": OTHER})
    m.ask("tools/call", name="execute_python", arguments={"code": "1"})
    (runner,) = runners(m.p.pid)
    assert secrets_in(m.p.pid) == set() and ENVIRONMENT in secrets_in(runner)
    m.p.stdin.close()
    assert m.p.wait(HANG) == 0


def test_the_starter_dies(sandpiper):
    """The server says so and ends, for nothing new can be started; the next one has the sandboxes, with their variables."""
    server = Server(sandpiper)
    made = server.ask("/create_sandbox", {})["sandbox_id"]
    server.ask("/run_code", {"sandbox_id": made, "code": "x = 41"})
    (starter,) = [p for p in children(server.process.pid) if not is_runner(p)]
    os.kill(starter, signal.SIGTERM)                            # as systemd may send to all: it ends with the server alone
    assert server.ask("/run_code", {"sandbox_id": made, "code": "x"})["value"] == "41"
    os.kill(starter, signal.SIGKILL)
    assert server.line("(the process that starts sandboxes has ended)")
    assert server.process.wait(HANG) == 1
    server.process.stderr.close()
    server = Server(sandpiper)
    again = server.ask("/run_code", {"sandbox_id": made, "code": "x + 1"})
    assert again["value"] == "42" and not again["state_lost"], again
    assert server.close() == 0
    assert sandpiper.leftovers() == []


def test_the_server_dies(sandpiper):
    """The starter ends with it, and passes on what is wrong with the configuration."""
    server = Server(sandpiper)
    (starter,) = children(server.process.pid)
    server.process.kill()
    server.process.wait(HANG)
    server.process.stderr.close()
    wait_for(lambda: not os.path.exists("/proc/%d" % starter) or open("/proc/%d/stat" % starter).read().rpartition(")")[2].split()[0] == "Z")
    r = sandpiper.run("serve", "--memory", "many")
    assert r.code == 2 and "--memory: expected a size" in r.err, r
