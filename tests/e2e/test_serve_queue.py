"""test_serve_queue.py - the waiting place of `sandpiper serve`: where all sandboxes are in use, a request waits in turn, whatever API it came by; a client
that leaves gives its place up; and what waits too long, or is too much, is told so."""
import concurrent.futures
import contextlib
import http.client
import json
import re
import socket
import time

import pytest

from openai_server import done, start, user         # noqa: F401 (start is a fixture)
from raw_server import wait_for
from serving import Server, servers, sse
from test_mcp_http import modern
from test_serve_clients import A, B, tokens

RUN = {"language": "python3", "code": "import time\ntime.sleep(0.2)\nprint(6 * 7)"}     # Dify's code node: a sandbox of its own


def at_once(server, path, bodies, **headers):
    """(status, answer) of each, in the order of bodies."""
    def ask(body):
        r = server.open(path, body, **headers)
        return r.status, json.loads(r.read())
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(ask, bodies))


def figure(server, name, token=None):
    text = server.ask("/metrics", **({"Authorization": "Bearer " + token} if token else {})).decode()
    return float(re.search(r"^sandpiper_%s (\S+)$" % name, text, re.M).group(1))


def waits(server, n, token=None):
    wait_for(lambda: figure(server, "requests_waiting", token) == n)


@pytest.fixture
def served(sandpiper):
    yield from servers(sandpiper)


def test_bodies_of_those_who_wait(served):
    """They stay in memory until it is their turn, so those of one token may have 64 MiB together; a small one waits all the same."""
    server = served("--max-sandboxes", "1", "--queue", "1h")
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    large = dict(RUN, more="#" * (7 << 20))
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        sent = []
        for n in range(9):
            sent.append(pool.submit(at_once, server, "/v1/sandbox/run", [large]))
            waits(server, n + 1)
        with socket.create_connection(server.host.split(":")) as s:
            body = json.dumps(large).encode()
            s.sendall(b"POST /v1/sandbox/run HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                      % (server.host.encode(), server.token.encode(), len(body)))
            with contextlib.suppress(ConnectionError):      # it is refused while we are sending
                s.sendall(body)
            assert b" 429 " in s.recv(4096)
        sent.append(pool.submit(at_once, server, "/v1/sandbox/run", [RUN]))
        waits(server, 10)
        server.ask("/stop_sandbox", {"sandbox_id": box})
        assert [r.result()[0][0] for r in sent] == [200] * 10


def test_twenty_questions_on_eight_sandboxes(start):
    """As every user of the default settings has it; and what they leave behind keeps nobody out."""
    server, _ = start(*[done("Answer.") for _ in range(20)])
    assert {status for status, _ in at_once(server, "/ask", [{"input": "q"}] * 20)} == {200}
    assert len(server.ask("/list_sandboxes", {})["sandboxes"]) == 8 and figure(server, "sandboxes_parked") == 8
    for _ in range(8):
        server.ask("/create_sandbox", {})
    assert figure(server, "sandboxes_parked") == 0 and figure(server, "sandboxes_gave_way_total") >= 8


def test_conversations_at_once(start):
    server, _ = start(*[done("Answer.") for _ in range(6)], args=("--max-sandboxes", "2"))
    bodies = [{"messages": [user("q%d" % n)], "stream": n % 2 == 1} for n in range(6)]

    def ask(body):
        r = server.open("/v1/chat/completions", body)
        return r.status, list(sse(r))[-1][1] if body["stream"] else json.loads(r.read())["choices"][0]["message"]["content"]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert set(pool.map(ask, bodies)) == {(200, "[DONE]"), (200, "Answer.")}


def test_routes_that_keep_nothing(served):
    """The ninth caller of a code node waits like the others."""
    server = served("--max-sandboxes", "2")
    got = at_once(server, "/v1/sandbox/run", [RUN] * 5)
    assert [a["data"]["stdout"] for _, a in got] == ["42\n"] * 5, got
    got = at_once(server, "/run_code", [{"code": "print(1)", "language": "python"}] * 5, Authorization="Basic " + "OnRva2Vu")
    assert {status for status, _ in got} == {401}       # a wrong token does not wait
    assert figure(server, "sandboxes") == 0


def test_all_in_use(served):
    server = served("--max-sandboxes", "1", "--queue", "500ms")
    box = server.ask("/create_sandbox", {"conversation_id": "a"})["sandbox_id"]
    began = time.monotonic()
    r = server.open("/create_sandbox", {})
    assert r.status == 429 and int(r.headers["Retry-After"]) > 0 and 0.4 < time.monotonic() - began < 5
    assert json.load(r)["detail"] == "all sandboxes are in use (1), and none became free within 0.5 s"
    assert server.ask("/create_sandbox", {"conversation_id": "a"})["sandbox_id"] == box     # that one exists
    message, headers = modern(1, "execute_python", code="1")
    assert "all sandboxes are in use" in server.ask("/mcp", message, **headers)["result"]["content"][0]["text"]


def test_what_becomes_free(served):
    """It goes to those who wait, over MCP as over our own routes; a spare one of MCP gives way too."""
    server = served("--max-sandboxes", "1", "--queue", "1m")
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    message, headers = modern(1, "execute_python", code="1")
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(server.ask, "/mcp", message, **headers)]
        waits(server, 1)
        answers.append(pool.submit(server.ask, "/create_sandbox", {}))
        waits(server, 2)
        server.ask("/stop_sandbox", {"sandbox_id": box})
        assert answers[0].result()["result"]["structuredContent"]["value"] == "1" and answers[1].result()["sandbox_id"] != box


def test_who_waits_for_the_same_conversation(served):
    """It takes one sandbox, not two."""
    server = served("--max-sandboxes", "1")
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(server.ask, "/create_sandbox", {"conversation_id": "talk"}) for _ in range(2)]
        waits(server, 2)
        server.ask("/stop_sandbox", {"sandbox_id": box})
        assert len({a.result()["sandbox_id"] for a in answers}) == 1


def test_who_leaves_gives_the_place_up(served):
    server = served("--max-sandboxes", "1", "--queue", "5m")
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = [pool.submit(server.ask, "/create_sandbox", {}), None]
        waits(server, 1)
        sock = raw_request(server, "/v1/sandbox/run", RUN)
        waits(server, 2)
        third = pool.submit(server.ask, "/v1/sandbox/run", RUN)
        waits(server, 3)
        sock.close()
        waits(server, 2)
        server.ask("/stop_sandbox", {"sandbox_id": box})
        server.ask("/stop_sandbox", {"sandbox_id": first[0].result()["sandbox_id"]})
        assert third.result()["data"]["stdout"] == "42\n"
    assert figure(server, "sandboxes_created_total") == 3       # nothing was started for the one that left


def raw_request(server, path, body):
    """The socket of a request whose answer nobody reads yet."""
    c = http.client.HTTPConnection(server.host)
    c.request("POST", path, json.dumps(body), {"Authorization": "Bearer " + server.token, "Content-Type": "application/json"})
    return c.sock


def test_tokens_take_turns(sandpiper):
    """However many requests one of them sends first."""
    server = Server(sandpiper, "--max-sandboxes", "1", "--queue", "1m", "--token-file", tokens(sandpiper, A + " 1", B + " 1"))
    box = server.ask("/create_sandbox", {}, Authorization="Bearer " + A)["sandbox_id"]
    order = []

    def run(token):
        server.ask("/v1/sandbox/run", {"language": "python3", "code": "1"}, Authorization="Bearer " + token)
        order.append(token)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        runs = []
        for token in (A, A, A, A, B, B):
            runs.append(pool.submit(run, token))
            waits(server, len(runs), A)
        server.ask("/stop_sandbox", {"sandbox_id": box}, Authorization="Bearer " + A)
        for r in runs:
            r.result()
    assert order == [A, B, A, B, A, A], order
    assert server.close() == 0


def test_a_queue_has_an_end(served):
    """520 of one token; what is more is refused at once, and so are they when the server ends."""
    server = served("--max-sandboxes", "1", "--queue", "1h")
    server.ask("/create_sandbox", {})
    waiting = [raw_request(server, "/v1/sandbox/run", RUN) for _ in range(520)]
    waits(server, 520)
    r = server.open("/v1/sandbox/run", RUN)
    assert r.status == 429 and json.load(r)["message"] == "all sandboxes are in use, and 520 requests wait for one"
    for s in waiting:
        s.close()
    waits(server, 0)


def test_a_parked_conversation_of_another_token(start, sandpiper):
    """Where the numbers of the file are more than there is, one client's finished questions do not keep another one out."""
    server, _ = start(*[done("Answer.") for _ in range(3)], args=("--max-sandboxes", "3", "--queue", "0s", "--token-file", tokens(sandpiper, A + " 3", B + " 3")))
    mine = [server.ask("/ask", {"input": "q"}, Authorization="Bearer " + A)["session"] for _ in range(3)]
    server.ask("/create_sandbox", {}, Authorization="Bearer " + B)
    left = {b["sandbox_id"] for b in server.ask("/list_sandboxes", {}, Authorization="Bearer " + A)["sandboxes"]}
    assert left == set(mine[1:])
    r = server.open("/create_sandbox", {}, Authorization="Bearer " + B)         # A would be left with fewer
    assert r.status == 429, r.read()
