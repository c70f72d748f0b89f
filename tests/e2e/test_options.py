"""test_options.py - every option of `sandpiper serve` and `sandpiper mcp` does what it says, through the command that users type: as an option, as a
variable of the environment and in config.yaml. `make lint` fails for an option in the table (src/data/config/option.c) that has no check here.

A check is run once for each way, and once without the option (in `make check`), where it has to fail: else it would see nothing.
"""
import base64
import json
import os
import re
import socket
import time

import pytest

from conftest import HANG, need_engine
from mcp_stdio import Mcp
from openai_server import call, done
from option_rows import rows
from package_index import Index, uv
from raw_server import RawServer
from serving import Server, sse
from storage_server import ACCESS, SECRET, Storage, s3_problem
from test_agents import access, offers
from test_network import TlsServer, certificates        # noqa: F401 (certificates is a fixture)
from test_own_engine import HERE

CHECKS = {}             # {(front, option): (value, check)}


def option(name, value, *fronts):
    """The check of an option with this value, which may be a function of the trial; True: it takes none."""
    def add(check):
        CHECKS.update({(front, name): (value, check) for front in fronts or ["serve"]})
        return check
    return add


both = ("serve", "mcp")


class Trial:
    """One option of one front, set in one way."""

    def __init__(self, s, front, name, way, request):
        self.s, self.front, self.way, self.request = s, front, way, request
        self.row, self.ends, self.server = rows(front)[name], [], None
        value = CHECKS[front, name][0]
        self.value = value(self) if callable(value) else value
        assert self.row.takes == (self.value is not True), "an option that takes a value has one in its check, and no other"

    def plain(self):
        """The value as config.yaml and a variable have it."""
        if self.value is not True:
            return self.value
        return self.row.choices[-1] if self.row.type == "OPTION_CHOICE" else str(self.row.type != "OPTION_NOT").lower()

    def yaml(self):
        *section, key = self.row.key.split(".")
        value = self.plain()
        if self.row.type in ("OPTION_LIST", "OPTION_PATHS"):
            value = json.dumps([value])
        elif self.row.type not in ("OPTION_BOOL", "OPTION_NOT", "OPTION_INT", "OPTION_NUMBER"):
            value = json.dumps(value)
        return "".join(name + ":\n  " for name in section) + "%s: %s\n" % (key, value)

    def words(self, args=(), env=None, yaml=""):
        """The arguments and the environment, with the option in its place."""
        args, env = list(args), dict(env or {})
        if self.row.env:
            env[self.row.env] = self.plain() if self.way == "variable" else None
        if self.way == "option":
            args += ["--" + self.row.flag] + ([self.value] if self.row.takes else [])
        self.s.configure(yaml + (self.yaml() if self.way == "file" else ""))
        return args, env

    def start(self, args=(), env=None, yaml="", **more):
        args, env = self.words(args, env, yaml)
        self.server = Server(self.s, *args, env=env, **more) if self.front == "serve" else Mcp(self.s, *args, env=env)
        return self.server

    def box(self, **more):
        return Box(self.start(**more))

    def model(self, *exchanges, complete=False, **more):
        return self.request.getfixturevalue("serve")(self.s, list(exchanges), complete=complete, **more)

    def question(self, *exchanges, body=None, sees=False, **more):
        """The answer of POST /ask, and the requests that the model got."""
        model = self.model(*exchanges, sees=sees)
        server = self.start(**more)
        r = server.open("/ask", {"input": "go", **(body or {})})
        return json.loads(r.read()), model.requests

    def asked(self, *exchanges, **more):
        """The first request."""
        return self.question(*(exchanges or [done("Ok.")]), **more)[1][0]

    def trouble(self, url, pattern, seconds=5):
        """What a question is told of a model service that does not answer."""
        self.s.url = url
        r = self.start().open("/ask", {"input": "go"}, Accept="text/event-stream")
        r.connection.sock.settimeout(seconds) if r.connection.sock else r.fp.raw._sock.settimeout(seconds)
        try:
            assert any(re.search(pattern, json.dumps(data)) for _, data in sse(r))
        except TimeoutError:
            raise AssertionError("no word of it within %s s" % seconds)
        finally:
            r.close()

    def close(self):
        for end in self.ends:
            end()
        if self.server:
            self.server.close()


class Box:
    """A sandbox of either front."""

    def __init__(self, server):
        self.server = server
        self.id = server.ask("/create_sandbox", {})["sandbox_id"] if isinstance(server, Server) else None

    def code(self, code):
        """The result, as both fronts have it."""
        if self.id:
            return self.server.ask("/run_code", {"sandbox_id": self.id, "code": code})
        result = self.server.code(code)
        assert "structuredContent" in result, result        # an error: no sandbox
        return result["structuredContent"]

    def value(self, code):
        result = self.code(code)
        assert result["error"] is None, result
        return result["value"]


def fails_to_start(t, engine, said, yaml=""):
    """Its sandbox does not start, and why."""
    if not yaml:
        need_engine(engine)
    server = t.start(env={"SANDPIPER_SANDBOX": engine}, yaml=yaml)
    if t.front == "mcp":
        result = server.code("1")
        assert result.get("isError") and said in json.dumps(result), result
    else:
        r = server.open("/create_sandbox", {})
        text = r.read().decode()
        assert r.status == 503 and said in text, text


# --------------------------------------------------------------------------------------------------------------- the sandbox

def shared(t):
    path = os.path.join(t.s.work, "shared")
    os.makedirs(path, exist_ok=True)
    with open(path + "/a.txt", "w") as f:
        f.write("seen")
    return path


@option("mount", shared, *both)
def _(t):
    assert t.box().value("open('/mnt/host/shared/a.txt').read()") == "'seen'"


def with_index(t, **more):
    """A sandbox whose packages come from an index of ours: sandpail, and newname, which is young."""
    if not uv():
        pytest.skip("there is no uv here, and none can be fetched")
    index = Index().__enter__()
    t.ends.append(index.close)
    index.add("sandpail", "1.0")
    index.add("newname", "1.0", days=3)
    return t.box(env={"UV_DEFAULT_INDEX": index.url, "PATH": "%s:%s" % (uv(), os.environ["PATH"])}, **more)


@option("with", "sandpail", *both)
def _(t):
    assert with_index(t).value("__import__('sandpail').__version__") == "'1.0'"


@option("requirements", lambda t: t.s.write("needed.txt", "sandpail\n"), *both)
def _(t):
    assert with_index(t).value("__import__('sandpail').__version__") == "'1.0'"


@option("cooldown", "1d", *both)
def _(t):
    assert with_index(t, yaml="with: newname\n").value("__import__('newname').__version__") == "'1.0'"


@option("allow-packages", "sandpail", *both)
def _(t):
    box = with_index(t)
    ask = (lambda *names: box.server.open("/add_packages", {"sandbox_id": box.id, "with": names}).read().decode()) if box.id else \
        lambda *names: json.dumps(box.server.call("add_packages", **{"with": names}))
    assert "newname is not among the packages that this server allows" in ask("newname")
    assert "sandpail 1.0" in ask("sandpail") and box.value("__import__('sandpail').__version__") == "'1.0'"


@option("sandbox", "own", *both)
def _(t):
    start = [word.replace("{name}", "ownbox") for word in HERE]
    assert t.box(yaml="engines:\n  own:\n    start: %s\n" % json.dumps(start)).value("__import__('socket').gethostname()") == "'ownbox'"


@option("image", "sandpiper-has-none:such", *both)
def _(t):
    fails_to_start(t, "docker", "sandpiper-has-none:such")


@option("runtime", "none-such", *both)
def _(t):
    fails_to_start(t, "docker", "none-such")


@option("queue-timeout", "1s", *both)
def _(t):
    fails_to_start(t, "slow", "nothing ran there within 1 s", "engines:\n  slow:\n    start: [sh, -c, 'sleep 4; exec {inside}']\n")


@option("timeout", "300ms", *both)
def _(t):
    assert t.box().code("__import__('time').sleep(2)")["status"] == "timeout"


@option("max-output", "1m", *both)
def _(t):
    assert t.box().code("print('x' * 2_000_000)")["status"] == "output"


@option("memory", "64m", *both)
def _(t):
    result = t.box().code("len(bytearray(300 << 20))")
    assert result["status"] == "memory" or result["error"] and result["error"]["name"] == "MemoryError", result


@option("cpus", "0.05", *both)
def _(t):
    # Without it a busy machine gives it a twelfth at least, in 4 s a third of one; with it, it gets 0.2 s.
    code = "import time\nt, p = time.monotonic(), time.process_time()\nwhile time.monotonic() - t < 4 and time.process_time() - p < 0.3: pass\ntime.process_time() - p"
    assert float(t.box().value(code)) < 0.29


@option("pids", "12", *both)
def _(t):
    result = t.box().code("import subprocess\np = [subprocess.Popen(['sleep', '9']) for _ in range(40)]")
    assert result["error"] and result["error"]["name"] == "BlockingIOError", result


@option("data-size", "2m", *both)
def _(t):
    assert t.box().value("import os\ns = os.statvfs('/mnt/data')\ns.f_blocks * s.f_frsize") == str(2 << 20)


@option("max-file", "4k", *both)
def _(t):
    result = t.box().code("open('small', 'w').write('x')\nopen('large', 'w').write('x' * 9000)")
    assert [f["name"] for f in result["files"]] == ["small"], result


@option("max-files-total", "8k", *both)
def _(t):
    box = t.box()
    assert box.code("open('a', 'w').write('x' * 6000)")["files"]
    assert not box.code("open('b', 'w').write('x' * 6000)")["files"]


@option("no-snapshots", True, *both)
def _(t):
    box = t.box()
    box.code("x = 1")
    box.code("import os\nos.kill(os.getpid(), 9)")
    assert box.value("'x' in globals()") == "False"


@option("figure-format", "svg", *both)
def _(t):
    files = t.box().code("import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")["files"]
    assert [f["name"] for f in files if f["name"].endswith(".svg")], files


# ---------------------------------------------------------------------------------------------------------------- the server

@option("listen", "127.0.0.2:0")
def _(t):
    assert t.start(listen=()).url.startswith("http://127.0.0.2:")


def tokens(t):
    path = t.s.path("tokens")
    with open(path, "w") as f:
        f.write("t" * 32 + "\n")
    os.chmod(path, 0o600)
    return path


@option("token-file", tokens)
def _(t):
    assert t.start(token="t" * 32).ask("/list_sandboxes", {}) == {"sandboxes": []}


@option("allow-host", "tools.example")
def _(t):
    assert t.start().open("/", Host="tools.example").status == 200


@option("public-url", "https://tools.example/python")
def _(t):
    assert t.start().ask("/openapi.json")["servers"] == [{"url": "https://tools.example/python"}]


@option("trusted-proxy", "127.0.0.1")
def _(t):
    assert t.start().ask("/openapi.json", X_Forwarded_Proto="https")["servers"][0]["url"].startswith("https://")


@option("max-sandboxes", "1")
def _(t):
    server = t.start(["--queue", "0s"])
    server.ask("/create_sandbox", {})
    server.ask("/create_sandbox", {}, 429)


@option("log", "json")
def _(t):
    server = t.start()
    server.ask("/list_sandboxes", {})
    with socket.create_connection(server.host.split(":")) as s:
        s.sendall("GET /\u009b31m\u202e\x7f HTTP/1.1\r\nHost: {}\r\n\r\n".format(server.host).encode())
        s.recv(100)
    t.server = None
    server.process.terminate()
    lines = re.findall(r"\{.*\}", server.process.stderr.read().decode())
    assert len(lines) == 2 and json.loads(lines[1])["path"] == "/", lines
    line = json.loads(lines[0])
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time")) and line.pop("ms") >= 0
    assert line == {"method": "POST", "path": "/list_sandboxes", "operation": "list_sandboxes", "status": 200, "bytes": 2, "client": ""}, line


@option("queue", "0s")
def _(t):
    server = t.start(["--max-sandboxes", "1"])
    server.ask("/create_sandbox", {})
    assert server.ask("/create_sandbox", {}, 429)["detail"] == "all sandboxes are in use (1)"


def within(seconds, what):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "not within %d s" % seconds
        time.sleep(0.1)


@option("ttl", "1s")
def _(t):
    server = t.start()
    server.ask("/create_sandbox", {})
    within(6, lambda: not server.ask("/list_sandboxes", {})["sandboxes"])


@option("fetch-urls", True)
def _(t):
    box = t.box()
    r = box.server.open("/upload_file", {"sandbox_id": box.id, "remote_filename": "x", "file_url": "https://127.0.0.1/x"})
    assert json.loads(r.read())["detail"].startswith("127.0.0.1 is not known on the public internet")


@option("pool", "1")
def _(t):
    server = t.start()
    within(6, lambda: b"\nsandpiper_sandboxes_ready 1\n" in server.ask("/metrics"))


@option("quiet", True, *both)
def _(t):
    """A notice about the configuration."""
    server = t.start(env={"SANDPIPER_MEMROY": "1g"})
    said = server.close()[1] if t.front == "mcp" else "".join(server.seen)
    t.server = t.server if t.front == "serve" else None
    assert "SANDPIPER_MEMROY" not in said, said


@option("verbose", True)
def _(t):
    server = t.start()
    server.ask("/list_sandboxes", {})
    server.ask("/stop_sandbox", {"sandbox_id": "x"}, 404)
    t.server = None
    server.process.terminate()
    assert "POST /list_sandboxes 200" in server.process.stderr.read().decode()


def another_file(t):
    with open(t.s.path("another.yaml"), "w") as f:
        f.write("timeout: 300ms\n")
    return t.s.path("another.yaml")


@option("config", another_file, *both)
def _(t):
    assert t.box().code("__import__('time').sleep(2)")["status"] == "timeout"


@option("version", True, *both)
def _(t):
    args, env = t.words()
    assert re.fullmatch(r"sandpiper [0-9.]+\n", t.s.run(t.front, *args, env=env, timeout=20).out)


@option("help", True, *both)
def _(t):
    args, env = t.words()
    assert t.s.run(t.front, *args, env=env, timeout=20).out.startswith("Usage: sandpiper %s [OPTION]" % t.front)


# ----------------------------------------------------------------------------------------------------------------- questions

@option("system", "Answer in rhyme.")
def _(t):
    assert "Answer in rhyme." in t.asked().messages[0]["content"]


@option("max-rounds", "1")
def _(t):
    assert t.question(call("1"), done("Ok."))[0].get("code") == "LIMIT"


@option("max-time", "1s")
def _(t):
    assert t.question({"answer": {"text": "Late.", "wait": 3}})[0].get("code") == "LIMIT"


COSTLY = {"answer": {"calls": [{"code": "1"}], "usage": [1000, 1000]}}


@option("max-tokens-total", "1500")
def _(t):
    assert t.question(COSTLY, done("Ok."))[0].get("code") == "LIMIT"


@option("max-cost", "0.05")
def _(t):
    assert t.question(COSTLY, done("Ok."), yaml="models:\n  test-model: {price: [10, 1, 100]}\n")[0].get("code") == "LIMIT"


@option("model", "another-model")
def _(t):
    assert t.asked().body["model"] == "another-model"


@option("provider", "mine")
def _(t):
    mine = t.model(done("Ok."))
    t.model(done("Another's."))
    yaml = "providers:\n  mine: {base_url: %s, key_variable: MINE, models: [one]}\n" % mine.url
    assert t.start(yaml=yaml, env={"MINE": "k"}).ask("/ask", {"input": "go"})["output"] == "Ok."


@option("base-url", lambda t: t.model(done("Ok.")).url)
def _(t):
    t.s.url = None
    assert t.start().ask("/ask", {"input": "go"})["output"] == "Ok."


@option("api", "responses")
def _(t):
    assert t.asked().path.endswith("/responses")


@option("ca-cert", lambda t: str(t.request.getfixturevalue("certificates") / "ca.pem"))
def _(t):
    with TlsServer([{"answer": {"text": "Over TLS."}}], t.request.getfixturevalue("certificates"), "good") as model:
        t.s.url = model.url
        assert t.start().ask("/ask", {"input": "go"})["output"] == "Over TLS."


@option("dotenv", "allow")
def _(t):
    model = t.model(done("Ok."))
    os.chmod(t.s.write(".env", "OPENAI_BASE_URL=%s\nSANDPIPER_MODEL=test-model\n" % model.url), 0o600)
    t.s.url = None
    assert t.start().ask("/ask", {"input": "go"})["output"] == "Ok."


@option("dialect", "blocks")
def _(t):
    assert "tools" not in t.asked().body


@option("max-tokens", "77")
def _(t):
    body = t.asked().body
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 77


@option("context", "4000")
def _(t):
    answer, requests = t.question(done("Ok."), body={"input": "word " * 8000})
    assert "context" in answer.get("detail", "") and not requests, answer


@option("temperature", "0.25")
def _(t):
    assert t.asked().body.get("temperature") == 0.25


@option("reasoning-effort", "low")
def _(t):
    assert t.asked().body.get("reasoning_effort") == "low"


PIXEL = base64.b64encode(bytes.fromhex("89504e470d0a1a0a0000000d494844520000000100000001080600000"
                                       "01f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082")).decode()


@option("vision", "on")
def _(t):
    request = t.asked(done("Ok."), sees=True, body={"files": [{"name": "a.png", "content": PIXEL, "encoding": "base64"}]})
    assert "image_url" in json.dumps(request.messages[-1]["content"])


@option("no-stream", True)
def _(t):
    assert not t.asked().body.get("stream")


@option("connect-timeout", "300ms")
def _(t):
    """A listener whose queue is full: the kernel answers nobody else."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    full = [socket.socket() for _ in range(3)]
    t.ends += [s.close for s in [listener, *full]]
    for s in full:
        s.setblocking(False)
        s.connect_ex(listener.getsockname())
    t.trouble("http://127.0.0.1:%d/v1" % listener.getsockname()[1], "connect|no answer")


@option("idle-timeout", "300ms")
def _(t):
    with RawServer(lambda raw, request: raw.closing.wait(HANG)) as model:
        t.trouble(model.url, "sent nothing for")


@option("quiet-timeout", "300ms")
def _(t):
    def keep_alive(raw, request):
        raw.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        raw.for_ever(b": working\n\n", 0.05)
    with RawServer(keep_alive) as model:
        t.trouble(model.url, "only keep-alives|no content|nothing but")


@option("verify", True)
def _(t):
    assert t.question(call("print(6 * 7)"), done("It is 42."), call("print(42)"), done("42"))[0]["computed"]["verified"] == "agrees"


@option("languages", "sh", *both)
def _(t):
    if t.front == "serve":
        assert "execute_shell" in offers(t.asked(done("Nothing.")))
    else:
        assert "language" in json.dumps(t.box().server.ask("tools/list"))


@option("agents", "files+code")
def _(t):
    assert "access_file" in offers(t.asked(done("Nothing."), done("Ok.")))


@option("allow-folder", shared)
def _(t):
    _, requests = t.question({"answer": access(shared(t) + "/a.txt")}, done("Found."), done("Ok."), args=["--agents", "files+code"])
    assert "seen" in requests[1].messages[-1]["content"], requests[1].messages


@option("upload", "s3://bucket/some")
def _(t):
    storage = Storage(s3_problem)
    t.ends.append(storage.close)
    t.question(call("open('a.csv', 'w').write('x')"), done("Ok."),
               env={"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": storage.url})
    assert list(storage.objects.values()) == [("text/csv", b"x")], storage.objects


@option("show-reasoning", True)
def _(t):
    assert t.asked(args=["--api", "responses"]).body.get("reasoning", {}).get("summary") == "auto"


# ------------------------------------------------------------------------------------------------------------------ the tests

def trials():
    for front, name in CHECKS:
        for i, way in enumerate(rows(front)[name].ways()):          # with sanitizers one way will do: what reads the others has unit tests
            yield pytest.param(front, name, way, id="%s-%s-%s" % (front, name, way), marks=[pytest.mark.no_asan] * (i > 0))


def run(sandpiper, request, front, name, way):
    t = Trial(sandpiper, front, name, way, request)
    try:
        CHECKS[front, name][1](t)
    finally:
        t.close()


@pytest.mark.slow(20)
@pytest.mark.parametrize("front,name,way", trials())
def test_option(sandpiper, request, front, name, way):
    run(sandpiper, request, front, name, way)


@pytest.mark.check
@pytest.mark.parametrize("front,name", [pytest.param(*one, id="-".join(one)) for one in CHECKS])
def test_its_check_can_fail(sandpiper, request, front, name):
    with pytest.raises(AssertionError):
        run(sandpiper, request, front, name, "none")


@pytest.mark.parametrize("front", both)
def test_help_shows_what_has_an_effect(bare, front):
    shown = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", bare.run("help", front).out, re.M))
    assert shown | {"version"} == {name for f, name in CHECKS if f == front}
