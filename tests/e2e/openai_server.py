"""openai_server.py - for tests that ask `sandpiper serve` questions: a server with a scripted model behind it, what that model says, and
OpenAI's own clients pointed at the server."""
import os
import subprocess

import pytest

from clients import client
from serving import servers


@pytest.fixture
def start(sandpiper, serve):
    """A server whose model answers so, and that model's."""
    for server in servers(sandpiper):
        def begin(*exchanges, args=(), sees=False, **more):
            model = serve(sandpiper, list(exchanges), sees=sees, **more)
            return server(*args), model
        yield begin


def call(*codes, text=None):
    return {"answer": dict({"calls": [{"code": code} for code in codes]}, **({"text": text} if text else {}))}


def done(text, **expect):
    return {"expect": expect, "answer": {"text": text}}


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def surroundings(server, tmp_path):
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENAI_BASE_URL": server.url + "/v1", "OPENAI_API_KEY": server.token,
            "LLM_USER_PATH": str(tmp_path), "OPENAI_AGENTS_DISABLE_TRACING": "1", "LANG": "C.UTF-8"}


def run_client(server, tmp_path, program, *args):
    r = subprocess.run([client("openai", program), *args], capture_output=True, text=True, timeout=240, env=surroundings(server, tmp_path))
    assert r.returncode == 0, r
    return r.stdout


def client_process(server, tmp_path, program, *args, **more):
    return subprocess.Popen([client("openai", program), *args], env=surroundings(server, tmp_path), **more)
