"""test_serve_clients.py - two clients of one server, each with a token of its own: neither finds, ends or pushes out what belongs to the other, by whatever
id or name it asks; and neither can take the room of the other."""
import base64
import concurrent.futures
import json
import os
import pty
import signal
import urllib.request

import pytest

from conftest import HANG
from openai_server import done, said, start, user         # noqa: F401 (start is a fixture)
from serving import Server
from test_mcp_http import Served, call, modern, request

A, B = "a" * 32, "b" * 32


def tokens(program, *lines):
    path = program.path("tokens")
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as f:
        f.write("".join(line + "\n" for line in lines))
    return path


def ask(server, path, body=None, status=200, token=A, **headers):
    return server.ask(path, body, status, Authorization="Bearer " + token, **headers)


@pytest.mark.slow(3)
def test_questions_of_another_client(start, sandpiper):
    """Each has half of the eight, and makes room among its own conversations, however many questions it asks."""
    server, _ = start(*[done("Answer.") for _ in range(16)], args=("--queue", "0s", "--token-file", tokens(sandpiper, A, B)))
    first = [ask(server, "/ask", {"input": "q"})["session"] for _ in range(3)]
    mine = ask(server, "/v1/chat/completions", {"messages": [user("q")]})["sandpiper"]["session"]
    for _ in range(8):
        ask(server, "/ask", {"input": "q"}, token=B)
    assert [ask(server, "/ask", {"input": "more", "session": s})["session"] for s in first] == first
    more = ask(server, "/v1/chat/completions", {"messages": [user("q"), said("Answer."), user("more")]})["sandpiper"]
    assert more["session"] == mine and more["new_interpreter"] is False, more
    assert len(ask(server, "/list_sandboxes", {}, token=B)["sandboxes"]) == 4
    for box in ask(server, "/list_sandboxes", {}, token=B)["sandboxes"]:
        ask(server, "/stop_sandbox", {"sandbox_id": box["sandbox_id"]}, token=B)
        ask(server, "/create_sandbox", {}, token=B)
    full = server.open("/ask", {"input": "q"}, Authorization="Bearer " + B)     # none of those that it has may go
    assert full.status == 429 and int(full.headers["Retry-After"]) > 0 and json.load(full)["detail"] == "all sandboxes of this token are in use (4)"


@pytest.mark.slow(30)
def test_places_of_another_client(start, sandpiper):
    """More conversations of one client than are remembered of one: those of another stay."""
    answers = [done("Answer.") for _ in range(260)]
    server, _ = start(*answers, args=("--token-file", tokens(sandpiper, A + " 1", B + " 1")))
    mine = ask(server, "/v1/chat/completions", {"messages": [user("mine")]})["sandpiper"]["session"]
    for n in range(257):
        ask(server, "/v1/chat/completions", {"messages": [user("q%d" % n)]}, token=B)
    more = ask(server, "/v1/chat/completions", {"messages": [user("mine"), said("Answer."), user("more")]})["sandpiper"]
    assert more["session"] == mine and more["new_interpreter"] is False, more
    theirs = ask(server, "/v1/chat/completions", {"messages": [user("mine"), said("Answer."), user("more"), said("Answer."), user("x")]}, token=B)["sandpiper"]
    assert theirs["session"] != mine and theirs["new_interpreter"] is True


def test_answers_of_another_client(start, sandpiper):
    server, _ = start(done("Answer."), done("Answer."), args=("--token-file", tokens(sandpiper, A, B)))
    answer = ask(server, "/v1/responses", {"input": "q"})["id"]
    refused = ask(server, "/v1/responses", {"input": "more", "previous_response_id": answer}, 400, token=B)
    assert refused["error"]["code"] == "previous_response_not_found", refused
    assert ask(server, "/v1/responses", {"input": "more", "previous_response_id": answer})["status"] == "completed"


def test_ended_ids_of_another_client(sandpiper):
    """For others they never were, whether they were stopped or have expired, and after a restart too. Many of one client push out none of another."""
    path = tokens(sandpiper, A, B)
    server = Server(sandpiper, "--token-file", path, "--ttl", "2s")
    box = ask(server, "/create_sandbox", {})["sandbox_id"]
    expired = ask(server, "/create_sandbox", {})["sandbox_id"]
    ask(server, "/stop_sandbox", {"sandbox_id": box})
    while expired in [b["sandbox_id"] for b in ask(server, "/list_sandboxes", {})["sandboxes"]]:
        pass
    for restarted in (False, True):
        for id in (box, expired):
            assert ask(server, "/run_code", {"sandbox_id": id, "code": "1"}, 410)["code"] == "SANDBOX_EXPIRED"
            for where, more in (("/run_code", {"code": "1"}), ("/stop_sandbox", {}), ("/run_code", {"code": "1", "recreate": True})):
                assert ask(server, where, {"sandbox_id": id, **more}, 404, token=B)["code"] == "SANDBOX_UNKNOWN"
            ask(server, "/files/%s/x" % id, None, 404, token=B)
            ask(server, "/ask", {"input": "x", "session": id}, 404, token=B)
            assert server.open("/sandboxes/" + id, method="DELETE", Authorization="Bearer " + B).status == 404
        server.close()
        if not restarted:
            server = Server(sandpiper, "--token-file", path)


def test_a_link_is_for_the_file_of_one_client(sandpiper):
    """It works without a token, and with that of another client; it opens nothing else."""
    server = Server(sandpiper, "--token-file", tokens(sandpiper, A, B))
    box = ask(server, "/create_sandbox", {})["sandbox_id"]
    ask(server, "/write_file", {"sandbox_id": box, "filename": "a.txt", "content": "words"})
    link = ask(server, "/download_file", {"sandbox_id": box, "filename": "a.txt"})["download_url"]
    place = link[len(server.url):]
    assert urllib.request.urlopen(link).read() == b"words"
    assert ask(server, place, token=B) == b"words"
    ask(server, place.replace("a.txt", "b.txt"), None, 404, token=B)
    ask(server, place.replace(box, "0" * 32), None, 404, token=B)
    assert server.open(place.replace("a.txt", "b.txt"), Authorization=None).status == 401
    assert server.close() == 0


def test_sandboxes_without_tokens_belong_to_no_token(sandpiper):
    """A server with one client leaves a sandbox behind. The clients of a later one that has tokens do not see it; a later one without does."""
    server = Server(sandpiper)
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    for args, status in ((("--token-file", tokens(sandpiper, A, B)), 404), ((), 200)):
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        server.process.stderr.close()
        server = Server(sandpiper, *args)
        server.token = server.token or A
        server.ask("/run_code", {"sandbox_id": box, "code": "1"}, status)
    assert server.close() == 0


@pytest.mark.slow(10)
def test_a_share_for_each(sandpiper):
    """A token without a number has its share of --max-sandboxes; whoever asks first cannot take all."""
    server = Server(sandpiper, "--token-file", tokens(sandpiper, A + " 3", B, "c" * 32), "--max-sandboxes", "8", "--queue", "0s")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda _: server.open("/create_sandbox", {}, Authorization="Bearer " + B).status, range(8)))
    assert sorted(got) == [200] * 2 + [429] * 6, got
    for token, most in ((A, 3), ("c" * 32, 2)):
        for _ in range(most):
            ask(server, "/create_sandbox", {}, token=token)
        full = ask(server, "/create_sandbox", {}, 429, token=token)
        assert full["detail"].startswith("all sandboxes of this token are in use (%d)" % most), full
    assert server.close() == 0


@pytest.mark.slow(3)
def test_mcp_sessions_of_another_token(sandpiper):
    """By its id nobody else can call in a session, end it, cancel in it or read its files; nor do many new ones end it."""
    served = Served(sandpiper, tokens=2)
    mine, theirs = served.tokens
    session = served.begin()
    box = served.post(call(1, "execute_python", code="x = 1\nopen('f.txt', 'w').write('secret')"), **session)[2]["result"]["structuredContent"]["sandbox"]
    running = served.send(call(2, "execute_python", code="import time\nprint('runs', flush=True)\ntime.sleep(2)\nx",
                               _meta={"progressToken": "p"}), **session).getresponse()
    assert b"runs" in running.readline()
    served.token = theirs
    for message in (call(3, "execute_python", code="x"), request(3, "tools/list"), request(3, "resources/list"),
                    request(3, "resources/read", uri="sandpiper://%s/f.txt" % box)):
        assert served.post(message, **session)[0] == 404, message
    assert served.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}, **session)[0] in (202, 404)
    assert served.post(None, method="DELETE", **session)[0] == 404
    message, headers = modern(4, "execute_python", code="x", sandbox=box)
    assert served.post(message, **headers)[2]["result"]["isError"]
    message, headers = modern(4, "execute_python", code="1")
    for name in ("mcp-" + session["Mcp_Session_Id"], session["Mcp_Session_Id"]):
        other = served.post(message, **headers, Cookie="sandpiper-conversation=" + name)[2]["result"]["structuredContent"]
        assert other["sandbox"] != box
    for _ in range(257):
        served.begin()
    served.token = mine
    assert b'"value":"1"' in running.read().replace(b" ", b"")
    assert served.post(call(5, "execute_python", code="x"), **session)[2]["result"]["structuredContent"]["value"] == "1"
    served.end()
    assert sandpiper.leftovers() == []


def test_the_path_that_everything_prints_is_a_name(sandpiper):
    """/mnt/data/r.csv in every route, and as a tool's argument."""
    server = Server(sandpiper)
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    assert server.ask("/write_file", {"sandbox_id": box, "filename": "/mnt/data/d/r.csv", "content": "x,y"})["name"] == "d/r.csv"
    got = server.ask("/download_file", {"sandbox_id": box, "filename": "/mnt/data/d/r.csv"})
    assert got["filename"] == "d/r.csv" and urllib.request.urlopen(got["download_url"]).read() == b"x,y"
    assert server.ask("/write_file", {"sandbox_id": box, "filename": "/mnt/other/r.csv", "content": ""}, 422)["code"] == "INVALID_ARGUMENT"
    for tool, more in (("put_file", {"content": "1"}), ("get_file", {})):
        message, headers = modern(1, tool, name="/mnt/data/m.txt", sandbox=box, **more)
        assert not server.ask("/mcp", message, **headers)["result"].get("isError"), tool
    assert server.ask("/run_code", {"sandbox_id": box, "code": "open('m.txt').read()"})["value"] == "'1'"
    assert server.close() == 0


def test_another_language(sandpiper):
    server = Server(sandpiper)
    auth = {"Authorization": "Basic " + base64.b64encode(b"x:" + server.token.encode()).decode()}
    refused = server.ask("/run_code", {"code": "int main() {}", "language": "cpp"}, 422, **auth)
    assert refused["message"] == "programs in cpp do not run here, only python, pytest, bash, nodejs and sql"
    refused = server.ask("/run_code", {"code": "select 1", "language": "sql", "stdin": "2"}, 422, **auth)
    assert refused["message"] == "stdin: code in sql reads none; send the data in files"
    assert server.close() == 0


def test_tokens_that_change(sandpiper):
    """SIGHUP: one that is new lets in, one that is missing no more; a file that is wrong changes nothing; what each client has stays its own."""
    path = tokens(sandpiper, A)
    server = Server(sandpiper, "--token-file", path)
    box = ask(server, "/create_sandbox", {})["sandbox_id"]
    ask(server, "/write_file", {"sandbox_id": box, "filename": "f", "content": "x"})
    link = ask(server, "/download_file", {"sandbox_id": box, "filename": "f"})["download_url"]

    def change(*lines):
        tokens(sandpiper, *lines)
        server.process.send_signal(signal.SIGHUP)
    ask(server, "/list_sandboxes", {}, 401, token=B)
    change("# both", B + " 2", A)
    assert server.line("read again: (.*)") == "2 tokens"
    assert ask(server, "/list_sandboxes", {}, token=B)["sandboxes"] == [] and len(ask(server, "/list_sandboxes", {})["sandboxes"]) == 1
    change("short")
    assert server.line("(the tokens stay)") and len(ask(server, "/list_sandboxes", {})["sandboxes"]) == 1
    change(B)
    assert server.line("read again: (.*)") == "1 token"
    ask(server, "/list_sandboxes", {}, 401)
    assert server.open(link[len(server.url):], Authorization=None).status == 401
    change(A, B)
    server.line("read again: (.*)")
    assert ask(server, "/run_code", {"sandbox_id": box, "code": "open('f').read()"})["value"] == "'x'"
    assert server.close() == 0


def test_a_terminal_that_goes(sandpiper):
    """SIGHUP then ends the server, though it has a token file; a pipe at stdin whose other end was closed is no terminal."""
    path = tokens(sandpiper, A)
    master, slave = pty.openpty()
    server = Server(sandpiper, "--token-file", path, stdin=slave)
    os.close(slave)
    server.process.send_signal(signal.SIGHUP)
    assert server.line("read again: (.*)") == "1 token"
    os.close(master)
    server.process.send_signal(signal.SIGHUP)
    assert server.process.wait(HANG) == 0
    server.process.stderr.close()
    read, write = os.pipe()
    server = Server(sandpiper, "--token-file", path, stdin=read)
    os.close(read)
    os.close(write)
    server.process.send_signal(signal.SIGHUP)
    assert server.line("read again: (.*)") == "1 token"
    assert server.close() == 0
