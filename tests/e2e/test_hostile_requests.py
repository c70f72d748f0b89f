"""test_hostile_requests.py - a thousand broken requests of each kind against `sandpiper serve`: each gets one 4xx that says what was wrong with that
one, and afterwards the same process serves as before. The kinds: random bytes, cut requests, huge headers, wrong types, and what two programs would
read as two different requests (smuggling). Seeded, so a failure can be had again."""
import ast
import json
import pathlib
import random
import re
import socket
import threading

import jsonschema
import pytest

from conftest import HANG
from serving import Server

EACH = 1000
AT_ONCE = 50            # those that the server has to wait for are sent side by side
CLIENTS = pathlib.Path(__file__).resolve().parent.parent.parent / "src" / "serve" / "clients"
# Where libmicrohttpd refuses by itself, and how it says so (sandpiper-serve(1) tells of these).
UNREADABLE, CHUNKS = b"Your HTTP request was syntactically incorrect", b"Your HTTP chunked encoding was syntactically incorrect"
TOO_BIG, CHUNK_TOO_BIG = b"Your HTTP header was too big", b"The chunk size used in your HTTP chunked encoded request is too large"
# And where it is ours.
NO_HTTP, CUT = b'"detail":"not an HTTP request, or it ends within its first line"', b'"detail":"the request ended before it was complete"'
UNCLEAR = b'"detail":"the headers do not say clearly where the request ends"'
NO_PATH = b'"detail":"the target of the request must be a path"'
TOO_LARGE, HIDDEN = b'"detail":"the body is too large"', b'"detail":"there is a NUL byte in the headers, or a line that is folded"'


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper)
    yield s
    assert s.close() == 0


def talk(server, request):
    """What comes back until the server closes, or has answered a request that it could read to its end."""
    host, port = server.host.split(":")
    with socket.create_connection((host, int(port)), timeout=HANG * 2) as s:
        try:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass                        # refused before all was sent
        answer = b""
        try:
            while True:
                some = s.recv(65536)
                if not some:
                    return answer
                answer += some
        except ConnectionError:
            return answer


def is_refusal(answer, statuses, says):
    """One answer with one of these statuses that says one of these."""
    return (answer.startswith(tuple(b"HTTP/1.1 %d " % s for s in statuses)) and any(word in answer for word in says) and answer.count(b"HTTP/1.1 ") == 1)


def all_refused(server, requests):
    """Each (bytes, statuses, words) is answered by one of these statuses with one of these words; the first that is not is told, with the request.
    Afterwards a correct request gets what it asks for."""
    wrong, lock, todo = [], threading.Lock(), iter(requests)

    def work():
        while not wrong:
            with lock:
                request, statuses, says = next(todo, (None, (), ()))
            if request is None:
                return
            for _ in range(5):
                try:
                    answer = talk(server, request)
                except OSError as e:
                    answer = repr(e).encode()
                if b"the request did not arrive in time" not in answer:       # this machine's fault: we were not run for ten seconds
                    break
            if not is_refusal(answer, statuses, says):
                wrong.append((request[:300], answer[:600], statuses, says))
    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[0]
    assert server.process.poll() is None
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    assert server.ask("/run_code", {"sandbox_id": box, "code": "6 * 7"})["value"] == "42"


def head(server, path="/run_code", method="POST", **headers):
    headers = {"Host": server.host, "Authorization": "Bearer " + server.token, "Content-Type": "application/json", **headers}
    return ("%s %s HTTP/1.1\r\n" % (method, path) + "".join("%s: %s\r\n" % h for h in headers.items())).encode()


def whole(server, path, body, **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(server, path, **{"Content-Length": len(body), **headers}) + b"\r\n" + body


def test_random_bytes(server):
    r = random.Random(1)
    words = [b"GET ", b"POST ", b"/", b" HTTP/1.1", b"\r\n", b"\n", b"\r\n\r\n", b"Host: x", b":", b"\0", b"%", b" "]

    def one():
        if r.random() < 0.5:
            return bytes(r.randrange(256) for _ in range(r.randrange(1, 400)))
        return b"".join(r.choice(words) if r.random() < 0.7 else bytes([r.randrange(256)]) for _ in range(r.randrange(1, 60)))
    words = NO_HTTP, CUT, UNREADABLE, b"the request needs the header Host", b"the target of the request must be a path", b"the name in Host is not one of"
    all_refused(server, [(one(), (400, 403), words) for _ in range(EACH)])


def test_cut_requests(server):
    r = random.Random(2)
    request = whole(server, "/run_code", {"sandbox_id": "0" * 32, "code": "print(1)" * 100})
    line = request.index(b"\n") + 1
    cuts = [r.randrange(1, len(request) if i % 4 else line + 50) for i in range(EACH)]
    all_refused(server, [(request[:cut], (400,), (NO_HTTP if cut < line else CUT,)) for cut in cuts])


@pytest.mark.slow(5)
def test_huge_headers(server):
    r = random.Random(3)

    def one():
        kind = r.randrange(4)
        size = r.choice([1 << 15, 1 << 16, 1 << 18])
        if kind == 0:
            return head(server, **{"X-Long": "a" * size}) + b"\r\n", (431,), (TOO_BIG,)
        if kind == 1:
            return head(server, **{"X-%d" % i: "b" * 20 for i in range(size // 32)}) + b"\r\n", (431,), (TOO_BIG,)
        if kind == 2:
            return head(server, path="/" + "a" * size) + b"\r\n", (414,), (TOO_BIG,)
        return head(server, **{"N" * size: "v"}) + b"\r\n", (431,), (TOO_BIG,)
    all_refused(server, (one() for _ in range(EACH)))


def theirs():
    """The schemas of other people's clients, by path, which are texts in the files of those: of C, which Python reads alike."""
    found = {}
    for file in sorted(CLIENTS.glob("*.c")):
        source = file.read_text()
        texts = {m[1]: json.loads(ast.literal_eval("(" + m[2] + ")")) for m in re.finditer(r'static const char (\w+)\[\] =\s*("\{[^;]*");', source)}
        prefix = re.search(r'#define INVOCATIONS (".*")', source)
        rows = re.finditer(r'{"POST", (?:(INVOCATIONS) )?"([^"]*)",[^{}]*?\.body = (\w+)', source)
        found |= {(json.loads(prefix[1]) if m[1] else "") + m[2]: texts[m[3]] for m in rows}
    assert len(found) == 18, sorted(found)
    return found


def schemas(server):
    """What the body of each path must be: ours from the server's own description, other people's from the table."""
    ours = {path: row["post"]["requestBody"]["content"]["application/json"]["schema"] for path, row in server.ask("/openapi.json")["paths"].items()
            if "requestBody" in row.get("post", {})}
    return theirs() | ours


def wrong_names(schema, body):
    """The members that a validator of others' finds fault with."""
    found = set()
    for error in jsonschema.Draft202012Validator(schema).iter_errors(body):
        if error.validator == "required":
            found |= {n for n in error.validator_value if n not in body}
        elif error.validator == "additionalProperties" and not error.path:
            found |= set(body) - set(schema["properties"])
        else:
            found |= {str(p) for p in list(error.path)[:1]}
    return found


def test_wrong_types(server):
    """Bodies that are JSON of another shape, for every operation that takes one: the refusal names a member that is wrong, or says that there is no such
    sandbox; and bodies that are no JSON at all."""
    r = random.Random(4)
    of = schemas(server)
    cube = "/v1/namespaces/{namespace}/code-interpreters/{name}/invocations/api/"
    paths = ["/create_sandbox", "/get_sandbox_info", "/run_code", "/execute_command", "/write_file", "/upload_file", "/download_file", "/list_files",
             "/reset_sandbox", "/add_packages", "/stop_sandbox", "/v1/sandbox/run", "/execute", "/contexts", "/run_jupyter", cube + "execute", cube + "files"]
    values = [None, True, 0, -1, 1e300, "", "x", "\u0000", "0" * 32, [], [1], {}, {"a": 1}, [[[]]], "A" * 5000]
    names = ["sandbox_id", "code", "command", "language", "timeout", "filename", "name", "content", "input", "model", "messages", "stream", "cells"]

    def of_a_body(path, body):
        request = whole(server, path.format(namespace="a", name="b"), body)
        wrong = wrong_names(of[path], body)
        if wrong:
            return request, (422,), [('"%s%s' % (n, sign)).encode() for n in wrong for sign in (": ", "[", ".")]
        return request, (404,), (b"there is no sandbox with this id", b"there is no such sandbox")

    def one():
        path = r.choice(paths)
        at = path.format(namespace="a", name="b")
        kind = r.randrange(5)
        if kind == 0:
            return whole(server, at, r.choice([[], 1, "x", None, [{}], True])), (422,), (b"must be an object",)
        if kind == 1:
            return whole(server, at, r.choice([b"{", b"{]", b"nul", b"\xff\xfe", b"{\"a\":1,\"a\":2}", b"[" * 100000, b"{}{}", b"{\"a\": 01}"])), (400,), (b"invalid JSON: ",)
        if kind == 2:
            return (whole(server, at, {"sandbox_id": "0" * 32}, **{"Content-Type": r.choice(["text/plain", "multipart/form-data", "", "application/xml"])}),
                    (415,), (b"the body must be application/json",))
        while True:
            # An object without anything wrong in it is a good request for a sandbox.
            body = {n: r.choice(values) for n in r.sample(names, r.randrange(1, 5))}
            body |= {"conversation_id": r.choice([1, [], {}, True])} if path == "/create_sandbox" else {}
            if wrong_names(of[path], body) or path not in ("/v1/sandbox/run", "/run_jupyter"):
                return of_a_body(path, body)
    all_refused(server, [one() for _ in range(EACH)])


def test_wrong_questions(server):
    """Questions in OpenAI's two shapes with something wrong in each: in the conversation, an item of it, a part of that, or beside it."""
    r = random.Random(6)
    junk = [True, 0, -1, 1e300, "", " ", [], [1], {}, {"a": 1}, [[[]]], [None], "A" * 5000]        # none of them is an entry of a conversation, or a part of one
    good = {"role": "user", "content": "x"}
    items = [*junk, {"type": "function_call", "name": "f"}, {"type": "item_reference", "id": "msg_1"}, {"type": "compaction"}, {"role": "robot", "content": "x"},
             {"role": "tool", "content": "x"}, {"role": "assistant", "tool_calls": [{}]}, {"role": "user"}, {"role": ["user"], "content": "x"}]
    parts = [*junk, {"type": "input_image", "file_id": "f"}, {"type": "input_file", "file_url": "https://x.example/"}, {"type": "input_audio"},
             {"type": "image_url", "image_url": {"url": "https://x.example/"}}, {"type": "text", "text": []}, {"type": ["text"], "text": "x"}]
    beside = {"stream": 1, "model": [1], "tools": [{"type": "function"}], "tool_choice": "required", "top_logprobs": 3}
    only = {"/v1/chat/completions": {"n": 2, "stop": "x", "logprobs": True, "response_format": {}, "reasoning_effort": 1},
            "/v1/responses": {"previous_response_id": "resp_1", "background": True, "conversation": "c", "prompt": {"id": 1}, "text": 1, "metadata": 1,
                              "reasoning": {"effort": 1}, "instructions": 1}}

    def one():
        path, name = r.choice([("/v1/chat/completions", "messages"), ("/v1/responses", "input")])
        kind = r.randrange(4)
        if kind == 0:
            value = r.choice([v for v in junk if path != "/v1/responses" or not isinstance(v, str) or not v.strip()] + [None])
            return whole(server, path, {name: value} if r.random() < 0.9 else r.choice([[], 1, "x", None]))
        if kind == 1:
            return whole(server, path, {name: [good] * r.randrange(3) + [r.choice(items)] + [good] * r.randrange(3)})
        if kind == 2:
            return whole(server, path, {name: [{"role": "user", "content": [{"type": "text", "text": "x"}] * r.randrange(2) + [r.choice(parts)]}]})
        key, value = r.choice(list((beside | only[path]).items()))
        return whole(server, path, {name: [good], key: value})
    all_refused(server, [(one(), (400, 404, 413, 422), (b'"type":"invalid_request_error"',)) for _ in range(EACH)])


def test_smuggling(server):
    """Two lengths, two encodings, lengths that are no numbers, chunks that are none: behind each a second request waits to be let through."""
    r = random.Random(5)
    second = b"GET / HTTP/1.1\r\nHost: " + server.host.encode() + b"\r\n\r\n"
    lengths = ["5, 6", "+5", "-5", "0x5", "5 6", "5;", "", "99999999999999999999999", "18446744073709551621", "5e0", "٥".encode().decode("latin-1")]
    encodings = ["identity", "gzip", "chunked, identity", "identity, chunked", "xchunked", "chunked,chunked", "chunked; q=1", "\"chunked\"", "\x0bchunked"]
    chunks = [b"-1\r\n", b"0x5\r\n", b"5\nabcde", b"ffffffffffffffff\r\n", b"10000000000000000\r\n", b"zz\r\n", b"\r\n", b"5;\0\r\nabcdeX"]

    def one():
        kind = r.randrange(7)
        base = head(server)
        if kind == 0:
            return base + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,), (UNCLEAR,)
        if kind == 1:
            return base + b"Content-Length: 2\r\nContent-Length: %d\r\n\r\n{}" % r.randrange(3, 60), (400,), (UNCLEAR,)
        if kind == 2:
            return base + b"Content-Length: " + r.choice(lengths).encode("latin-1") + b"\r\n\r\n{}", (400, 413), (UNCLEAR, TOO_LARGE)
        if kind == 3:
            return base + b"Transfer-Encoding: " + r.choice(encodings).encode() + b"\r\n\r\n0\r\n\r\n", (400,), (UNCLEAR,)
        if kind == 4:
            return base + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", (400,), (UNCLEAR,)
        if kind == 5:
            return base + r.choice([b"Content-Length : 2", b"Content-Length\t: 2", b"Transfer-Encoding : chunked"]) + b"\r\n\r\n{}", (400,), (UNCLEAR,)
        return base + b"Transfer-Encoding: chunked\r\n\r\n" + r.choice(chunks), (400, 413), (CHUNKS, CHUNK_TOO_BIG, CUT)
    all_refused(server, [(request + second, *expected) for request, *expected in (one() for _ in range(EACH))])


def parts(server, name, value):
    """A request that is answered with 200, with this in place of one of its parts."""
    part = {"method": b"POST", "target": b"/list_sandboxes?a=b", "version": b"HTTP/1.1", "Host": server.host.encode(), "Cookie": b"a=b",
            "Authorization": b"Bearer " + server.token.encode(), "Content-Type": b"application/json", "Content-Length": b"2"}
    part[name] = part[name] + value if name in part else value
    return (b"%(method)s %(target)s %(version)s\r\n" % {k.encode(): v for k, v in part.items()}
            + b"".join(k.encode() + b": " + v + b"\r\n" for k, v in part.items() if k[0].isupper()) + b"Connection: close\r\n\r\n{}")


@pytest.mark.parametrize("name", ["method", "target", "Host", "Cookie", "Authorization", "Content-Type", "Content-Length"])
@pytest.mark.parametrize("hidden", [b"\0", b"\0x", b"\0 x: y", b"\0" * 100, b"\r\n x", b"\r\n\tx"], ids=repr)
def test_hidden_bytes(server, name, hidden):
    """What the library drops, another program in front of us may read: a NUL byte and all behind it, a line that is folded."""
    if name == "method" and hidden.startswith(b"\r"):
        return
    assert is_refusal(talk(server, parts(server, name, hidden)), (400,), (HIDDEN, UNCLEAR, NO_PATH, UNREADABLE))


def test_what_is_not_hidden(server):
    """Blanks that are allowed, lines that end with LF alone, empty values, many headers, and a request in single bytes."""
    plain = parts(server, "Cookie", b"")
    good = [plain, parts(server, "Empty", b""), plain.replace(b": ", b":"), plain.replace(b": ", b": \t "),
            plain.replace(b"\r\n", b"\n"), plain.replace(b"?a=b", b"?"), plain.replace(b"?a=b", b""), plain.replace(b"?a=b", b"?a=%00&b=%20c+d&e"),
            plain.replace(b"Cookie: ", b"".join(b"X-%d: %s\r\n" % (i, b"y" * (i % 50)) for i in range(100)) + b"Cookie: ")]
    for request in good:
        for other in (request, request.replace(b"Connection: close\r\n", b"") + plain):
            answer = talk(server, other)
            assert answer.startswith(b"HTTP/1.1 200 ") and answer.count(b"HTTP/1.1 200 ") == answer.count(b"HTTP/1.1 "), (other, answer)
    host, port = server.host.split(":")
    with socket.create_connection((host, int(port)), timeout=HANG) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(plain)):
            s.sendall(plain[i:i + 1])
        assert s.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_port_is_a_port(server):
    host, port = server.host.split(":")
    for other in (str(int(port) + 2 ** 32), str(int(port) + 2 ** 64), "0" + port, port + "0", "-" + port, " " + port, port + "\0", "65536"):
        answer = talk(server, parts(server, "Cookie", b"").replace(server.host.encode(), ("%s:%s" % (host, other)).encode()))
        assert answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 ")), (other, answer)
