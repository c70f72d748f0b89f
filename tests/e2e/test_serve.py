"""test_serve.py - `sandpiper serve`: who is let in, what a sandbox can be asked, what happens to requests when a client, a sandbox or the server ends."""
import base64
import os
import re
import select
import signal
import socket
import stat
import threading
import time

import jsonschema
import pytest

from conftest import HANG
from raw_server import wait_for
from serve_raw import Server


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper)
    yield s
    s.close()


def test_a_sandbox_from_first_to_last(sandpiper_on, engine):
    s = Server(sandpiper_on)
    made = s.good("/create_sandbox", conversation_id="one")
    box = made["sandbox_id"]
    assert len(box) == 32 and made["info"]["engine"] == engine and made["conversation_id"] == "one", made
    assert s.good("/create_sandbox", conversation_id="one")["sandbox_id"] == box
    other = s.good("/create_sandbox")["sandbox_id"]
    ran = s.good("/run_code", sandbox_id=box, code="print('hi')\nx = 41\nx + 1", language="py")
    assert ran["output"] == "hi\n42" and ran["stdout"] == "hi\n" and ran["value"] == "42" and ran["error"] is None and ran["seconds"] >= 0, ran
    failed = s.good("/run_code", sandbox_id=box, code="x / 0")
    assert failed["status"] == "exception" and failed["error"]["name"] == "ZeroDivisionError", failed
    assert s.good("/run_code", sandbox_id=other, code="'x' in dir()")["value"] == "False"
    assert s.good("/write_file", sandbox_id=box, filename="in/é.txt", content="hello")["size"] == 5
    assert s.good("/execute_command", sandbox_id=box, command="cat in/*; echo no >&2; exit 3")["exit_code"] == 3
    assert [f["name"] for f in s.good("/list_files", sandbox_id=box)["files"]] == ["in/é.txt"]
    assert s.good("/get_sandbox_info", sandbox_id=box)["info"]["variables"] == "x (int)"
    assert {b["sandbox_id"] for b in s.good("/list_sandboxes")["sandboxes"]} == {box, other}
    assert s.good("/stop_sandbox", sandbox_id=box) == {"sandbox_id": box, "stopped": True}
    s.refused(410, "SANDBOX_EXPIRED", "/run_code", sandbox_id=box, code="1")
    assert s.good("/run_code", sandbox_id=other, code="1")["value"] == "1"
    assert s.close() == 0 and sandpiper_on.leftovers() == []


def test_files(server):
    box = server.good("/create_sandbox")["sandbox_id"]
    made = server.good("/run_code", sandbox_id=box, code="open('p.html', 'w').write('<script>')\nimport matplotlib.pyplot as plt\n_ = plt.plot([1])")
    links = {f["name"]: f["url"] for f in made["files"]}
    page = server.ask("GET", links["p.html"].split(str(server.port), 1)[1], token=None)
    assert page.status == 200 and page.body == b"<script>" and page.headers["Content-Type"] == "application/octet-stream"
    assert page.headers["X-Content-Type-Options"] == "nosniff" and page.headers["Content-Security-Policy"].startswith("sandbox")
    assert page.headers["Content-Disposition"].startswith("attachment;") and "Access-Control-Allow-Origin" not in page.headers
    figure = server.ask("GET", "/files/%s/figure-1.png" % box)
    assert figure.headers["Content-Type"] == "image/png" and figure.body[:4] == b"\x89PNG"
    assert server.good("/download_file", sandbox_id=box, filename="p.html")["download_url"] == links["p.html"]
    assert server.ask("GET", "/files/%s/p.html" % box, token=None).status == 401
    assert server.ask("GET", "/files/%s/p.html?key=%s" % (box, "0" * 64), token=None).status == 401
    assert server.ask("GET", "/files/%s/nope" % box).status == 404


def test_nothing_outside_is_read(server):
    box = server.good("/create_sandbox")["sandbox_id"]
    server.good("/run_code", sandbox_id=box, code="import os\nos.symlink('/etc/passwd', 'link')\nos.mkdir('d')\nos.mkfifo('fifo')")
    for name in ("../../etc/passwd", "%2e%2e%2fetc%2fpasswd", "%252e%252e%252fetc", "..", "%2e%2e", "/etc/passwd", "%2fetc%2fpasswd", "a%00b", "a%5cb",
                 "a%0ab", "link", "d", "d/", "fifo", "x" * 5000, "%ff", "%", "proc/self/environ"):
        a = server.ask("GET", "/files/%s/%s" % (box, name))
        assert a.status in (400, 404, 414, 431) and b"root:" not in a.body, (name, a.status, a.body)
    for name in ("../x", "/etc/x", "a\nb", "", "x" * 5000):
        a = server.post("/write_file", sandbox_id=box, filename=name, content="x")
        assert a.status == 422, (name, a.status, a.body)


def test_what_is_wrong_with_a_file(server):
    box = server.good("/create_sandbox")["sandbox_id"]
    server.good("/write_file", sandbox_id=box, filename="d/f", content="x")
    for name in ("d", "d/f/g"):
        server.refused(409, "CONFLICT", "/write_file", sandbox_id=box, filename=name, content="x")
    for name in ("none", "none/f", "d"):
        server.refused(404, "NOT_FOUND", "/download_file", sandbox_id=box, filename=name)
    server.refused(422, "INVALID_ARGUMENT", "/download_file", sandbox_id=box, filename="../f")
    server.refused(422, "INVALID_ARGUMENT", "/write_file", sandbox_id=box, filename="f", content="a", encoding="base64")
    server.refused(403, "FORBIDDEN", "/upload_file", sandbox_id=box, remote_filename="f", file_url="https://example.com/f")
    server.refused(403, "FORBIDDEN", "/upload_file", sandbox_id=box, remote_path="d/g", file_url="https://example.com/f")
    for names, said in (({}, "remote_filename: is missing"), ({"remote_path": "a", "remote_filename": "b"}, "remote_path")):
        r = server.refused(422, "INVALID_ARGUMENT", "/upload_file", sandbox_id=box, file_url="https://example.com/f", **names)
        assert said in r.json["detail"], r.json


def test_a_slip_is_no_request_of_another_api(server):
    """/run_code is SandboxFusion's too, whose clients can send a token in the URL alone."""
    slip = {"code": "print(1)", "language": "python"}
    assert "sandbox_id: is missing" in server.refused(422, "INVALID_ARGUMENT", "/run_code", **slip).json["detail"]
    basic = {"Authorization": "Basic " + base64.b64encode(("x:" + server.token).encode()).decode()}
    assert server.ask("POST", "/run_code", slip, headers=basic).json["run_result"]["stdout"] == "1\n"
    slip.update(sandbox_id=server.good("/create_sandbox")["sandbox_id"], timeout="5")
    assert "timeout" in server.ask("POST", "/run_code", slip, headers=basic).json["detail"]


def test_who_is_let_in(server):
    host = "127.0.0.1:%d" % server.port
    health = server.ask("GET", "/", token=None)
    assert health.status == 200 and health.json["status"] == "ok" and health.headers["Cache-Control"] == "no-store"
    assert server.ask("GET", "/list_sandboxes", token=None).status == 401
    assert server.ask("POST", "/list_sandboxes", {}, token=None).status == 401
    assert server.ask("POST", "/list_sandboxes", {}, token=server.token[:-1] + "!").status == 401
    assert server.ask("POST", "/list_sandboxes", {}, token=None, headers={"X-Api-Key": server.token}).status == 200
    assert server.ask("GET", "/list_sandboxes").status == 405 and server.ask("GET", "/nope").status == 404
    for name, value, status in (("Host", "evil.example", 403), ("Host", "evil.example:%d" % server.port, 403), ("Host", "localhost:%d" % server.port, 200),
                                ("Origin", "http://evil.example", 403), ("Origin", "null", 403), ("Origin", "http://%s" % host, 200),
                                ("Sec-Fetch-Site", "cross-site", 403), ("Sec-Fetch-Site", "same-origin", 200),
                                ("Content-Type", "text/plain", 415), ("Content-Type", "application/x-www-form-urlencoded", 415)):
        a = server.ask("POST", "/list_sandboxes", {}, headers={name: value}, keep=False)
        assert a.status == status and not any(h.lower().startswith("access-control") for h in a.headers), (name, value, a.status)
    assert server.ask("POST", "/run_code", "{", keep=False).json["code"] == "INVALID_JSON"
    assert server.ask("POST", "/run_code", "[" * 100000, keep=False).status == 400
    assert server.ask("POST", "/run_code", '{"sandbox_id": 1}', keep=False).json["code"] == "INVALID_ARGUMENT"
    server.refused(404, "SANDBOX_UNKNOWN", "/run_code", sandbox_id="0" * 32, code="1")
    server.refused(404, "SANDBOX_UNKNOWN", "/run_code", sandbox_id="../x", code="1")


def test_what_it_says_of_itself(server):
    box = server.good("/create_sandbox")["sandbox_id"]
    api = server.ask("GET", "/openapi.json", token=None).json
    assert api["openapi"] == "3.1.0" and api["paths"]["/"]["get"]["security"] == []
    code = api["paths"]["/run_code"]["post"]
    body = code["requestBody"]["content"]["application/json"]["schema"]
    answer = code["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator.check_schema(body)
    assert set(body["required"]) == {"sandbox_id", "code"} and {"401", "404", "410", "413", "415", "422", "429", "503"} <= set(code["responses"])
    for text in ("1", "1/0", "open('a', 'w').close()"):
        jsonschema.validate(server.good("/run_code", sandbox_id=box, code=text), answer)
    names = [o["operationId"] for methods in api["paths"].values() for o in methods.values()]
    assert len(names) == len(set(names)) and [p["name"] for p in api["paths"]["/files/{id}/{name}"]["get"]["parameters"]] == ["id", "name"]
    page = server.ask("GET", "/docs", token=None)
    assert page.headers["Content-Type"].startswith("text/html") and "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert b"http://" not in page.body and b"https://" not in page.body      # it loads nothing from elsewhere
    assert server.ask("GET", "/metrics", token=None).status == 401
    figures = dict(line.rsplit(" ", 1) for line in server.ask("GET", "/metrics").body.decode().splitlines() if line[0] != "#")
    assert figures["sandpiper_sandboxes"] == "1" and int(figures['sandpiper_answers_total{status="2xx"}']) >= 5, figures


def test_malformed_requests(server):
    host, auth = "Host: 127.0.0.1:%d\r\n" % server.port, "Authorization: Bearer %s\r\nContent-Type: application/json\r\n" % server.token
    good = "GET / HTTP/1.1\r\n%s\r\n" % host
    for head, status in (("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", 400), ("Content-Length: 4\r\nContent-Length: 5\r\n", 400),
                         ("Content-Length: +4\r\n", 400), ("Content-Length: -4\r\n", 400), ("Content-Length : 4\r\n", 400),
                         ("Transfer-Encoding: gzip, chunked\r\n", 400), ("Transfer-Encoding:\tchunked, identity\r\n", 400),
                         (host, 400), ("Content-Length: 99999999999999999999999\r\n", 413),
                         ("Content-Length: 1000000000\r\n", 413), ("X: %s\r\n" % ("a" * 100000), 431)):
        got = server.raw("POST /list_sandboxes HTTP/1.1\r\n%s%s%s\r\n%s" % (host, auth, head, good))
        assert got.startswith(b"HTTP/1.1 %d" % status) and b"200 OK" not in got, (head, got)
    for data in ("GET /\r\n", "GET / HTTP/1.2\r\n%s\r\n" % host, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET http://x/ HTTP/1.1\r\n%s\r\n" % host,
                 "GET / HTTP/1.1\r\n\r\n", "TRACE / HTTP/1.1\r\n%s%s\r\n" % (host, auth), "BREW / HTTP/1.1\r\n%s%s\r\n" % (host, auth),
                 "GET /%s HTTP/1.1\r\n%s\r\n" % ("a" * 100000, host)):
        got = server.raw(data)
        assert got.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4", b"HTTP/1.1 505")), (data[:50], got)
    for _ in range(50):
        server.raw(os.urandom(300))
    # what follows a refusal is not read as a request
    got = server.raw("POST /x HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (host, len(good), good))
    assert got.startswith(b"HTTP/1.1 401") and got.count(b"HTTP/1.1 ") == 1, got
    got = server.raw(b"POST /run_code HTTP/1.1\r\n" + (host + auth).encode() + b"Transfer-Encoding: chunked\r\n\r\n" + (b"100000\r\n" + b" " * (1 << 20) + b"\r\n") * 9)
    assert got.startswith(b"HTTP/1.1 413"), got[:100]
    # a client that still sends gets its answer
    got = server.raw(b"POST /run_code HTTP/1.1\r\n" + host.encode() + b"Content-Length: 5000000\r\n\r\n" + b"a" * 5000000)
    assert got.startswith(b"HTTP/1.1 401"), got[:100]
    assert server.raw(good * 3).count(b"HTTP/1.1 200") == 3
    assert server.ask("GET", "/", keep=False).status == 200


FOREVER = "import time; time.sleep(3600)"         # and leaves the processors to the other tests


def begun(server, box, code):
    """A thread in which a client of its own asks for this; by now it runs."""
    got = []

    def ask():
        try:
            got.append(server.another().post("/run_code", sandbox_id=box, code=code))
        except OSError as e:        # the server ended
            got.append(e)
    t = threading.Thread(target=ask)
    t.start()
    while not [b for b in server.another().good("/list_sandboxes")["sandboxes"] if b["sandbox_id"] == box and b["busy"]]:
        assert t.is_alive(), got[0].body
    return t, got


def test_a_slow_one_holds_up_nobody(server):
    box, other = server.good("/create_sandbox")["sandbox_id"], server.good("/create_sandbox")["sandbox_id"]
    half = server.connect()
    half.sendall(b"POST /run_code HTTP/1.1\r\nHost: ")
    t, got = begun(server, box, FOREVER)
    for _ in range(20):
        assert server.good("/run_code", sandbox_id=other, code="1")["value"] == "1"
    assert not got
    server.good("/stop_sandbox", sandbox_id=box)
    t.join(HANG)
    assert got[0].status == 503 and got[0].json["code"], got[0].body
    half.close()


def test_a_client_that_leaves(server):
    """Its code is interrupted, and the sandbox goes on with its variables."""
    box = server.good("/create_sandbox")["sandbox_id"]
    server.good("/run_code", sandbox_id=box, code="x = 7")
    body = ('{"sandbox_id": "%s", "code": "%s"}' % (box, FOREVER)).encode()
    left = server.connect()
    left.sendall(b"POST /run_code HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                 % (server.port, server.token.encode(), len(body), body))
    while not server.good("/list_sandboxes")["sandboxes"][0]["busy"]:
        pass
    left.close()
    assert server.good("/run_code", sandbox_id=box, code="x")["value"] == "7"


def test_limits(sandpiper):
    s = Server(sandpiper, "--max-sandboxes", "1", "--queue", "0s", "--ttl", "1s")
    box = s.good("/create_sandbox", conversation_id="a")["sandbox_id"]
    full = s.refused(429, "TOO_MANY_REQUESTS", "/create_sandbox")
    assert int(full.headers["Retry-After"]) > 0
    deadline = time.monotonic() + HANG
    while s.post("/list_sandboxes").json["sandboxes"] and time.monotonic() < deadline:
        time.sleep(0.05)
    s.refused(410, "SANDBOX_EXPIRED", "/run_code", sandbox_id=box, code="1")
    again = s.good("/run_code", sandbox_id=box, code="2", recreate=True)
    assert again["recreated"] is True and again["sandbox_id"] != box and again["value"] == "2", again
    s.close()


def test_tokens_and_addresses(sandpiper):
    token = os.path.join(sandpiper.dir, "token")
    with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write("# ours\nabcdefghijklmnopqrstuvwxyz\n")
    s = Server(sandpiper, "--token-file", token)
    assert s.token is None and s.ask("POST", "/list_sandboxes", {}, token="abcdefghijklmnopqrstuvwxyz").status == 200
    assert s.close() == 0
    os.chmod(token, 0o644)
    refused = sandpiper.run("serve", "--token-file", token)
    assert refused.code == 2 and "can be read by others" in refused.err, refused
    refused = sandpiper.run("serve", "--listen", "0.0.0.0:0")
    assert refused.code == 2 and "--token-file" in refused.err, refused
    refused = sandpiper.run("serve", "--listen", "example.com:80")
    assert refused.code == 2 and "not an address" in refused.err, refused
    refused = sandpiper.run("serve", "--listen", "unix:" + token)
    assert refused.code == 1 and "There is a file that is no socket" in refused.err, refused
    refused = sandpiper.run("serve", "--listen", "unix:/nowhere/at/all")
    assert refused.code == 1 and refused.err.endswith("sandpiper: cannot listen on unix:/nowhere/at/all: No such file or directory\n"), refused
    for name in ("gpu.example:8000", "http://gpu.example", "gpu.example/", "*.example", "[::1]", ""):
        refused = sandpiper.run("serve", "--listen", "127.0.0.1:0", "--allow-host", name)
        assert refused.code == 2 and "--allow-host: expected the name of a host" in refused.err, refused
    path = os.path.join(sandpiper.dir, "socket")
    s = Server(sandpiper, listen="unix:" + path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and s.ask("POST", "/list_sandboxes", {}).status == 200
    assert s.close() == 0 and not os.path.exists(path)


def test_more_allowed_hosts_than_are_passed_on(sandpiper):
    names = [a for i in range(1000) for a in ("--allow-host", "h%04d%s.example" % (i, "a" * 120))]
    r = sandpiper.run("serve", "--listen", "127.0.0.1:0", *names)
    assert r.code == 2 and "--allow-host and --trusted-proxy: all names together must fit in 128 KiB" in r.err, r


def test_a_client_sees_its_own_sandboxes_alone(sandpiper):
    token, mine, theirs = os.path.join(sandpiper.dir, "token"), "m" * 32, "t" * 32
    with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write(mine + "\n" + theirs + "\n")
    s = Server(sandpiper, "--token-file", token)
    other = s.another()
    s.token, other.token = mine, theirs
    box = s.good("/create_sandbox", conversation_id="talk")["sandbox_id"]
    s.good("/write_file", sandbox_id=box, filename="secret", content="x")
    for path, more in (("/run_code", {"code": "1"}), ("/list_files", {}), ("/stop_sandbox", {}), ("/download_file", {"filename": "secret"})):
        other.refused(404, "SANDBOX_UNKNOWN", path, sandbox_id=box, **more)
    assert other.ask("GET", "/files/%s/secret" % box).status == 404
    assert other.good("/list_sandboxes")["sandboxes"] == []
    assert other.good("/create_sandbox", conversation_id="talk")["sandbox_id"] != box
    assert [b["sandbox_id"] for b in s.good("/list_sandboxes")["sandboxes"]] == [box]
    assert s.good("/run_code", sandbox_id=box, code="open('secret').read()")["value"] == "'x'"
    assert s.close() == 0


def test_a_token_has_a_limit_of_its_own(sandpiper):
    token, mine, theirs = os.path.join(sandpiper.dir, "token"), "m" * 32, "t" * 32
    with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write("%s 1\n%s\n" % (mine, theirs))
    s = Server(sandpiper, "--token-file", token, "--max-sandboxes", "3", "--queue", "0s")
    other = s.another()
    s.token, other.token = mine, theirs
    box = s.good("/create_sandbox", conversation_id="talk")["sandbox_id"]
    full = s.refused(429, "TOO_MANY_REQUESTS", "/create_sandbox")
    assert "all sandboxes of this token are in use (1)" == full.json["detail"] and int(full.headers["Retry-After"]) > 0
    assert s.good("/create_sandbox", conversation_id="talk")["sandbox_id"] == box       # it has that one already
    assert [other.post("/create_sandbox").status for _ in range(3)] == [200, 200, 429]   # three in all
    s.good("/stop_sandbox", sandbox_id=box)
    assert s.good("/create_sandbox")["sandbox_id"] != box
    assert s.close() == 0


def test_nothing_piles_up(sandpiper):
    """One request and 32 that wait for a sandbox, and 256 of one token at once; what is more is told to come again, and another token is not held up."""
    token, mine, theirs = os.path.join(sandpiper.dir, "token"), "m" * 32, "t" * 32
    with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write("%s 8\n%s\n" % (mine, theirs))
    s = Server(sandpiper, "--token-file", token, "--max-sandboxes", "9", "--timeout", "1h")      # none ends by itself, however long all this takes
    other = s.another()
    s.token, other.token = mine, theirs
    running = lambda: int(re.search(rb"^sandpiper_requests_running (\d+)$", other.ask("GET", "/metrics").body, re.M).group(1))    # noqa: E731
    idle = running()
    boxes = [s.good("/create_sandbox")["sandbox_id"] for _ in range(8)]
    request = "POST /run_code HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"

    def run(box):
        body = '{"sandbox_id": "%s", "code": "%s"}' % (box, FOREVER)
        c = s.connect()
        c.sendall((request % (s.port, mine, len(body), body)).encode())
        return c
    waiting = [run(boxes[0]) for _ in range(40)]
    refused = []
    until = time.monotonic() + 4 * HANG
    while len(refused) < 40 - 33 and time.monotonic() < until:
        refused += [c for c in select.select(waiting, [], [], HANG)[0] if c not in refused]
    for c in refused:
        answer = c.recv(65536)
        assert answer.startswith(b"HTTP/1.1 429 ") and b"Retry-After: " in answer and b"too many requests are waiting for this sandbox" in answer, answer
        waiting.remove(c)
    assert len(waiting) == 33 and not select.select(waiting, [], [], 0)[0]
    waiting += [run(boxes[1 + i // 32]) for i in range(256 - 33)]
    wait_for(lambda: running() == 256 + idle)      # asked by the other token: one more of this one could take the place of the last
    assert s.post("/get_sandbox_info", sandbox_id="0" * 32).status == 429
    full = s.refused(429, "TOO_MANY_REQUESTS", "/create_sandbox")
    assert "in progress" in full.json["detail"] and int(full.headers["Retry-After"]) > 0
    theirs = other.good("/create_sandbox")["sandbox_id"]
    assert other.good("/run_code", sandbox_id=theirs, code="1")["value"] == "1" and s.ask("GET", "/", token=None).status == 200
    assert {b["sandbox_id"] for b in s.good("/list_sandboxes")["sandboxes"]} == set(boxes)      # what makes room is never one too many
    s.good("/stop_sandbox", sandbox_id=boxes.pop())
    while s.post("/get_sandbox_info", sandbox_id=theirs).status == 429:
        assert time.monotonic() < until + 2 * HANG
    for c in waiting:
        c.close()
    for box in boxes:
        s.good("/stop_sandbox", sandbox_id=box)
    assert s.close() == 0


def test_socket_from_systemd(sandpiper):
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        plain, fd = sandpiper.argv, theirs.fileno()
        sandpiper.argv = lambda args: ["/bin/bash", "-c", 'exec 3<&%d; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"' % fd, "bash", *plain(args)]
        s = Server(sandpiper, pass_fds=[fd])
        assert s.port == theirs.getsockname()[1] and s.ask("GET", "/").status == 200
        assert s.close() == 0


def test_the_end(sandpiper):
    """The first signal lets what runs finish and refuses what is new; the second ends that too. No sandbox stays."""
    s = Server(sandpiper)
    box = s.good("/create_sandbox")["sandbox_id"]
    t, got = begun(s, box, FOREVER)
    s.process.send_signal(signal.SIGTERM)
    assert b"finishing what is running" in s.process.stderr.readline()
    assert s.ask("GET", "/").json["status"] == "draining"
    assert s.post("/list_sandboxes").status == 503 and not got
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(HANG) == 0
    t.join(HANG)
    assert sandpiper.leftovers() == []


def test_drain(sandpiper):
    s = Server(sandpiper)
    box = s.good("/create_sandbox")["sandbox_id"]
    t, got = begun(s, box, "import time\ntime.sleep(0.5)\n'done'")
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(HANG) == 0
    t.join(HANG)
    assert got[0].json["value"] == "'done'"


def test_a_body_that_does_not_come_delays_no_end(sandpiper):
    s = Server(sandpiper)
    half = s.connect()
    half.sendall(b"POST /run_code HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                 b"Content-Length: 100\r\n\r\n{" % (s.port, s.token.encode()))
    s.good("/list_sandboxes")       # so that the other one's headers have been read
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(15) == 0 and half.recv(4096).startswith(b"HTTP/1.1 408 ")
    half.close()


def test_a_sandbox_that_is_slow_to_end_is_waited_for(sandpiper):
    """Stopped by its client, and then the server by a signal: nothing stays behind."""
    s = Server(sandpiper)
    box = s.good("/create_sandbox")["sandbox_id"]
    runner = runner_of(box)
    os.kill(runner, signal.SIGSTOP)
    try:
        s.good("/stop_sandbox", sandbox_id=box)
        s.process.terminate()
        assert select.select([s.process.stderr], [], [], HANG)[0], "it has not waited"      # the runner has that pipe too, so it would not end
        assert b"waiting for 1 sandbox to end" in s.process.stderr.readline()
    finally:
        os.kill(runner, signal.SIGCONT)
    assert s.process.wait(HANG) == 0 and sandpiper.leftovers() == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_that_wait(sandpiper, sent):
    s = Server(sandpiper)
    box = s.good("/create_sandbox")["sandbox_id"]
    runner = runner_of(box)
    os.kill(runner, signal.SIGSTOP)
    try:
        s.process.send_signal(sent)
        assert b"waiting for 1 sandbox to end" in s.process.stderr.readline()
        s.process.send_signal(sent)
        assert s.process.wait(5) == 0
    finally:
        os.kill(runner, signal.SIGCONT)
    assert sandpiper.leftovers() == []


def runner_of(box):
    """The process that holds this sandbox."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if b"--sandbox-name=srv-" + box.encode() in f.read():
                    return int(pid)
        except OSError:     # it has ended
            pass
    raise AssertionError("no process holds " + box)


def test_a_body_that_is_taken_can_be_read(server):
    """The limit of a body is one of what is parsed: beyond it there is a 413, not a body that is called wrong."""
    box = server.good("/create_sandbox")["sandbox_id"]
    assert server.good("/write_file", sandbox_id=box, filename="big", content="x" * (15 << 20))["size"] == 15 << 20
    for path in ("/write_file", "/ask", "/v1/chat/completions"):
        got = server.raw(("POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                          % (path, server.port, server.token, (16 << 20) + 1)))
        assert got.startswith(b"HTTP/1.1 413") and b"larger than 16777216 bytes" in got, got


def test_errors_beneath_v1(server):
    """What OpenAI's API has and this server has not is refused in that API's form too."""
    for method, path, status in (("POST", "/v1/embeddings", 404), ("GET", "/v1/responses/resp_1", 404), ("GET", "/v1/models/some/model", 404),
                                 ("GET", "/v1/chat/completions", 405), ("GET", "/nope", 404)):
        a = server.ask(method, path, {} if method == "POST" else None, keep=False)
        assert a.status == status and (set(a.json) == {"error"} and a.json["error"]["message"] if path != "/nope" else set(a.json) == {"code", "detail"}), a.body
    assert server.ask("GET", "/v1/nope", token=None).json["error"]["code"] == "invalid_api_key"
    assert server.ask("PUT", "/run_code", keep=False).headers["Allow"] == "POST"
