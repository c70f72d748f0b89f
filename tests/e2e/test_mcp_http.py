"""test_mcp_http.py - POST /mcp of `sandpiper serve`: sessions, streams, headers, clients that leave; the Python SDKs; the suite of conformance
tests, for every revision."""
import glob
import http.client
import json
import os
import re
import secrets
import socket
import subprocess

import pytest

from clients import client
from conftest import HANG, HERE
from mcp_stdio import MODERN, text
from test_mcp_clients import LONG, use

BOTH = "application/json, text/event-stream"


class Served:
    """`sandpiper serve` on a free port."""

    def __init__(self, program, *args, tokens=1):
        self.program, self.args, self.tokens = program, args, [secrets.token_hex(32) for _ in range(tokens)]
        self.token, self.path = self.tokens[0], program.write("token", "".join(t + "\n" for t in self.tokens))
        os.chmod(self.path, 0o600)
        self.start()

    def start(self):
        self.p = self.program.start("serve", "--listen", "127.0.0.1:0", "--token-file", self.path, *self.args)
        line = self.p.stderr.readline().decode()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line)[1])
        self.url = "http://127.0.0.1:%d/mcp" % self.port

    def send(self, message, method="POST", **headers):
        """A connection on which the request was sent."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
        told = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json", "Accept": BOTH}
        told.update({name.replace("_", "-"): value for name, value in headers.items()})
        c.request(method, "/mcp", None if message is None else json.dumps(message), {k: v for k, v in told.items() if v is not None})
        return c

    def post(self, message, **more):
        """Status, headers and the message that came back, or the list of those of a stream."""
        c = self.send(message, **more)
        r = c.getresponse()
        body = r.read()
        c.close()
        if r.headers["Content-Type"] == "text/event-stream":
            return r.status, r.headers, [json.loads(e.removeprefix("data: ")) for e in body.decode().split("\n\n") if e]
        return r.status, r.headers, json.loads(body) if body else None

    def begin(self):
        status, headers, hello = self.post(request(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={}))
        assert status == 200 and hello["result"]["protocolVersion"] == "2025-11-25", hello
        session = {"Mcp_Session_Id": headers["Mcp-Session-Id"], "MCP_Protocol_Version": "2025-11-25"}
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)[0] == 202
        return session

    def end(self):
        self.p.terminate()
        assert self.p.wait(HANG) in (0, 143)


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number, tool, _meta=None, **arguments):
    return request(number, "tools/call", name=tool, arguments=arguments, **({"_meta": _meta} if _meta else {}))


@pytest.fixture
def served(sandpiper):
    s = Served(sandpiper)
    yield s
    s.end()
    assert sandpiper.leftovers() == []


def test_a_session_has_a_sandbox(served):
    session, other = served.begin(), served.begin()
    assert session["Mcp_Session_Id"] != other["Mcp_Session_Id"]
    first = served.post(call(1, "execute_python", code="x = 1"), **session)[2]["result"]
    assert served.post(call(2, "execute_python", code="x"), **session)[2]["result"]["structuredContent"]["value"] == "1"
    apart = served.post(call(2, "execute_python", code="x"), **other)[2]["result"]
    assert apart["structuredContent"]["error"]["name"] == "NameError" and apart["structuredContent"]["sandbox"] != first["structuredContent"]["sandbox"]
    assert served.post(None, method="DELETE", **session)[0] == 204
    assert served.post(None, method="DELETE", **session)[0] == 404
    assert served.post(request(3, "tools/list"), **session)[0] == 404
    gone = served.post(call(4, "execute_python", code="1", sandbox=first["structuredContent"]["sandbox"]), **other)[2]["result"]
    assert gone["isError"] and "has ended" in gone["content"][0]["text"], gone
    assert served.post(None, method="GET", **other)[0] == 405


def test_sessions_of_another_token(sandpiper):
    """A client has 256 sessions; one that begins more ends the oldest of its own."""
    served = Served(sandpiper, tokens=2)
    session = served.begin()
    served.post(call(1, "execute_python", code="x = 1"), **session)
    served.token = served.tokens[1]
    many = [served.begin() for _ in range(257)]
    assert [served.post(request(1, "tools/list"), **one)[0] for one in (many[0], many[1], many[2], many[-1])] == [404, 200, 200, 200]
    served.token = served.tokens[0]
    status, _, answer = served.post(call(2, "execute_python", code="x"), **session)
    assert status == 200 and answer["result"]["structuredContent"]["value"] == "1", answer
    served.end()
    assert sandpiper.leftovers() == []


def modern(number, tool, _meta=None, **arguments):
    message = call(number, tool, dict(MODERN, **(_meta or {})), **arguments)
    headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": tool}
    if "sandbox" in arguments:
        headers["Mcp_Param_Sandbox"] = arguments["sandbox"]
    return message, headers


def test_a_handle_finds_its_sandbox(served):
    message, headers = modern(1, "execute_python", code="x = 1")
    first = served.post(message, **headers)[2]["result"]
    handle = first["structuredContent"]["sandbox"]
    assert any(handle in c["text"] for c in first["content"]), first["content"]         # the model is told
    message, headers = modern(2, "execute_python", code="x", sandbox=handle)
    assert served.post(message, **headers)[2]["result"]["structuredContent"]["value"] == "1"
    message, headers = modern(3, "execute_python", code="x")
    assert served.post(message, **headers)[2]["result"]["structuredContent"]["sandbox"] != handle
    message, headers = modern(4, "execute_python", code="x", sandbox="f" * 32)
    assert served.post(message, **headers)[2]["result"]["isError"]
    message, headers = modern(5, "list_files")
    assert served.post(message, **dict(headers, Mcp_Name="get_file"))[0::2][0] == 400


def python(served, code, _meta=None, **headers):
    """The result of a call without a handle, and the cookie that came with it."""
    message, told = modern(1, "execute_python", _meta, code=code)
    status, answered, body = served.post(message, **dict(told, **headers))
    assert status == 200, body
    cookie = answered["Set-Cookie"]
    return (body[-1] if isinstance(body, list) else body)["result"], cookie and cookie.partition(";")[0]


def test_a_cookie_finds_its_sandbox(sandpiper):
    served = Served(sandpiper, tokens=2)
    first, cookie = python(served, "x = 1")
    assert "pass \"sandbox\": \"%s\"" % first["structuredContent"]["sandbox"] in text(first), first
    again, none = python(served, "x", Cookie="a=b; %s; c=d" % cookie)
    assert (text(again), none) == ("1", None)
    live, none = python(served, "print(x)", {"progressToken": 1}, Cookie=cookie)
    assert (text(live), none) == ("1\n", None)
    # it opens nothing by itself: neither to another token nor without one, and no client chooses its name
    apart, none = python(served, "x", Cookie=cookie, Authorization="Bearer " + served.tokens[1])
    assert apart["structuredContent"]["error"]["name"] == "NameError" and none is None
    message, told = modern(1, "execute_python", code="x")
    assert served.post(message, **dict(told, Cookie=cookie, Authorization=None))[0] == 401
    _, other = python(served, "1", Cookie=cookie + "0")
    assert other and other != cookie
    # it outlives the server, as its sandbox does
    served.p.kill()
    served.p.wait(HANG)
    served.start()
    again, _ = python(served, "x", Cookie=cookie)
    assert text(again) == "1", again
    served.end()
    assert sandpiper.leftovers() == []


def test_a_chat_that_the_client_names(served):
    """As ChatGPT does, which keeps neither a session nor a cookie."""
    assert "sandbox" not in text(python(served, "x = 1", {"openai/session": "v1/one"})[0])
    assert text(python(served, "x", {"openai/session": "v1/one"})[0]) == "1"
    assert "NameError" in text(python(served, "x", {"openai/session": "v1/two"})[0])


def test_sandboxes_that_nobody_comes_back_to_make_room(sandpiper):
    served = Served(sandpiper, "--max-sandboxes", "2")
    kept = python(served, "x = 1")[0]["structuredContent"]["sandbox"]
    message, told = modern(2, "execute_python", code="x", sandbox=kept)
    assert text(served.post(message, **told)[2]["result"]) == "1"
    for i in range(4):
        assert text(python(served, "%d" % i)[0]).startswith("%d\n" % i)
    assert text(served.post(message, **told)[2]["result"]) == "1"
    served.end()
    assert sandpiper.leftovers() == []


def test_progress_is_a_stream(served):
    code = "for i in range(3): print('tick', i, flush=True)"
    message, headers = modern(1, "execute_python", {"progressToken": 9}, code=code)
    status, told, events = served.post(message, **headers)
    assert status == 200 and told["Content-Type"] == "text/event-stream", told
    assert "".join(e["params"]["message"] for e in events[:-1]) == "tick 0\ntick 1\ntick 2\n" and events[-1]["id"] == 1, events
    # a client that takes no stream gets the answer alone
    status, told, answer = served.post(message, **dict(headers, Accept="application/json"))
    assert told["Content-Type"] == "application/json" and answer["id"] == 1, answer


def test_cancel_and_leave(served):
    session = served.begin()
    busy = {"code": "x = 2\nprint('begun', flush=True)\nwhile True: pass"}
    for leave in (False, True):
        c = served.send(call(7, "execute_python", {"progressToken": 1}, **busy), **session)
        r = c.getresponse()
        assert b"begun" in r.readline()
        if leave:
            c.sock.shutdown(socket.SHUT_RDWR)
        else:
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            assert served.post(cancel, **session)[0] == 202
            assert b'"id":7' not in r.read()
        c.close()
        after = served.post(call(8, "execute_python", code="x"), **session)[2]["result"]
        assert after["structuredContent"]["value"] == "2", after


def test_refusals(served):
    for message, headers, status in (
            (request(1, "ping"), {"Authorization": None}, 401),
            (request(1, "ping"), {"Origin": "http://evil.example"}, 403),
            (request(1, "ping"), {"Host": "evil.example"}, 403),
            (request(1, "ping"), {"Content_Type": "text/plain"}, 415),
            (request(1, "ping"), {"Mcp_Session_Id": "gone"}, 404),
            (request(1, "ping"), {"MCP_Protocol_Version": "v999"}, 400),
            ([], {}, 400), (7, {}, 400), ({"jsonrpc": "2.0", "id": None, "method": "ping"}, {}, 400)):
        assert served.post(message, **headers)[0] == status, (message, headers)
    assert served.post(request(1, "ping"))[2] == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.client("mcp1/mcp", "the same at /mcp")
@pytest.mark.slow(100)
@pytest.mark.no_asan
def test_sdk_1(served):
    assert use(served.program, "mcp1", "sdk1.py", "http", served.url, served.token) == "done\n"


@pytest.mark.client("mcp2/mcp", "the same at /mcp")
@pytest.mark.slow(30)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.no_asan
def test_sdk_2(served, mode):
    assert use(served.program, "mcp2", "sdk2.py", mode, "http", served.url, served.token) == "done\n"


@pytest.mark.slow(5)
@pytest.mark.no_asan
def test_a_program_that_passes_no_handle(served):
    assert use(served.program, "mcp2", "no_handle.py", served.url, served.token) == "done\n"


@pytest.mark.client("mcp2/openai-agents", "an agent with the tools of /mcp")
@pytest.mark.slow(100)
@pytest.mark.no_asan
def test_openai_agents(served):
    assert "42" in use(served.program, "mcp2", "agents_sdk.py", "http", served.url, served.token)


@pytest.mark.client("litellm/langchain-mcp-adapters", "the same at /mcp, with variables and files that stay by `Sandpiper-Conversation`")
@pytest.mark.slow(50)
@pytest.mark.no_asan
def test_langchain_tools(served):
    """Each call has a session of its own, with a sandbox that ends with it, unless the user's settings name the conversation."""
    assert use(served.program, "litellm", "langchain_tools.py", "http", served.url, served.token) == "['(no output)', '1', \"'gone'\"]\n['(no output)', '42']\n"
    for again in ("2", "2"):
        told = use(served.program, "litellm", "langchain_tools.py", "named", served.url, served.token)
        assert told == "['(no output)', '%s', '2']\n['kept']\n['(no output)', '42']\n" % again


# The scenarios that are about what this server is: tools, resources, logging, HTTP. The others want tools, prompts or questions to the user of
# their own making ("test_simple_text").
APPLY = {
    "2025-06-18": ["server-initialize", "server-session-lifecycle", "logging-set-level", "ping", "tools-list", "resources-list", "prompts-list"],
    "2025-11-25": ["server-initialize", "server-session-lifecycle", "logging-set-level", "ping", "tools-list", "resources-list", "prompts-list",
                   "server-sse-polling", "server-sse-multiple-streams", "dns-rebinding-protection"],
    "2026-07-28": ["server-stateless", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams", "sep-2164-resource-not-found",
                   "dns-rebinding-protection", "caching", "http-header-validation", "http-custom-header-server-validation"],
}


@pytest.mark.client("mcpnode/@modelcontextprotocol/conformance", "its scenarios for 2025-06-18, 2025-11-25 and 2026-07-28 that apply to us, at /mcp")
@pytest.mark.slow(150)
@pytest.mark.parametrize("revision", APPLY)
@pytest.mark.no_asan
def test_conformance(served, revision):
    node = client("mcpnode", "node")
    npm = os.path.join(os.path.dirname(os.path.dirname(node)), "npm", "node_modules")
    results = served.program.path("work/results")
    env = dict(served.program.env(), TOKEN=served.token, UNDICI=os.path.join(npm, "undici"))
    words = [node, "--require", os.path.join(HERE, "mcp_clients", "token.cjs"), os.path.join(npm, ".bin", "conformance"), "server", "--url", served.url,
             "--suite", "all", "--spec-version", revision, "-o", results]
    said = subprocess.run(words, env=env, cwd=served.program.work, capture_output=True, text=True, timeout=LONG, stdin=subprocess.DEVNULL).stdout
    ran = {}
    for path in glob.glob(results + "/server-*/checks.json"):
        name = re.match(r"server-(.*?)-\d{4}-\d\d-\d\dT", os.path.basename(os.path.dirname(path)))[1]
        with open(path) as f:
            ran[name] = json.load(f)
    assert set(APPLY[revision]) <= set(ran), said[-3000:]
    for name, checks in ran.items():
        bad = [c for c in checks if c["status"] not in ("SUCCESS", "INFO", "SKIPPED")]
        if name not in APPLY[revision]:     # even there every message was as the schema has it
            bad = [c for c in bad if c["id"] == "wire-schema-valid"]
        bad = [c for c in bad if not (c.get("details") or {}).get("untestable")]
        assert not bad, (name, bad)
