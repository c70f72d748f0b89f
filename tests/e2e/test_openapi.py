"""test_openapi.py - /openapi.json of `sandpiper serve` says what the server does: schemathesis, which makes requests from it and holds the answers against
it, finds nothing wrong; a generator makes a client of it without a warning, and that client works; and programs that read less of it than the standard
has (Dify's custom tools, which other builders of agents resemble) find all that they need."""
import json
import pathlib
import re
import subprocess
import textwrap
import urllib.request

import pytest

from clients import client
from serve_raw import Server as Raw
from serving import Server

CONFIG = pathlib.Path(__file__).resolve().parent.parent / "clients" / "schemathesis.toml"


@pytest.fixture
def server(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "42"}}] * 500, complete=False)
    s = Server(sandpiper, "--queue", "0s")      # else each request for a ninth sandbox takes ten seconds to be refused
    yield s
    assert s.close() == 0


def schemathesis(server, place, document, *args):
    """Its report. The same requests each time: deterministic, with a bound on their number."""
    argv = [client("openapi", "schemathesis"), "--config-file", str(CONFIG), "run", document, "--url", server.url, "--header",
            "Authorization: Bearer " + server.token, "--generation-deterministic", "--no-color", "--request-timeout", "60", *args]
    r = subprocess.run(argv, cwd=place, env=dict(PATH="/usr/bin:/bin", HOME=place, NO_PROXY="*"), capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout[-12000:] + r.stderr[-2000:]


@pytest.mark.client("openapi/schemathesis", "its requests from /openapi.json")
@pytest.mark.slow(20)
def test_schemathesis_finds_nothing(sandpiper, server):
    code, report = schemathesis(server, sandpiper.dir, server.url + "/openapi.json", "--phases", "fuzzing,stateful", "--max-examples", "3")
    assert code == 0 and "Stateful (in" in report, report


def with_sandbox(api, box):
    """The document for one sandbox that lives, so that requests reach it."""
    for methods in api["paths"].values():
        for operation in methods.values():
            for p in operation.get("parameters", []):
                if p["name"] == "id":
                    p["schema"] = {"const": box}
            if "requestBody" in operation:
                properties = operation["requestBody"]["content"]["application/json"]["schema"].get("properties", {})
                if "sandbox_id" in properties:
                    properties["sandbox_id"] = {"const": box}
    return api


@pytest.mark.slow(50)
@pytest.mark.no_asan
def test_schemathesis_finds_nothing_in_a_living_sandbox(sandpiper, server):
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    document = pathlib.Path(sandpiper.dir) / "openapi.json"
    document.write_text(json.dumps(with_sandbox(server.ask("/openapi.json"), box)))
    code, report = schemathesis(server, sandpiper.dir, str(document), "--phases", "coverage,fuzzing", "--max-examples", "6", "--exclude-path", "/stop_sandbox")
    assert code == 0, report
    assert server.ask("/run_code", {"sandbox_id": box, "code": "6 * 7"})["value"] == "42"


@pytest.mark.slow(30)
@pytest.mark.no_asan
def test_what_schemathesis_would_find(sandpiper, server):
    """It is the server that it looks at: a document that says something else does not pass."""
    api = server.ask("/openapi.json")
    del api["paths"]["/run_code"]["post"]["responses"]["404"]
    api["paths"]["/list_sandboxes"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]["required"].append("nothing")
    document = pathlib.Path(sandpiper.dir) / "openapi.json"
    document.write_text(json.dumps(api))
    code, report = schemathesis(server, sandpiper.dir, str(document), "--phases", "fuzzing", "--max-examples", "5", "--no-shrink", "--include-path", "/run_code", "--include-path", "/list_sandboxes")
    assert code == 1 and "Undocumented status code" in report and '"nothing" is a required property' in report.replace("'", '"'), report


def flat(schema):
    """What a reader of flat parameters takes of a body: {name: property}. It follows no reference and no choice at the top, and holds each type
    against single words."""
    assert schema["type"] == "object" and not {"$ref", "oneOf", "anyOf", "allOf"} & set(schema), schema
    for name, p in schema.get("properties", {}).items():
        assert "$ref" not in p and isinstance(p.get("type", ""), str) and ("type" in p or "anyOf" in p), (name, p)
        assert p["description"] and isinstance(p["description"], str) and isinstance(p.get("default", ""), (str, bool, int, float)), (name, p)
    return schema.get("properties", {})


def tools_of(api):
    """{operationId: (method, URL, parameters, required)}, read as Dify reads a custom tool."""
    base, tools = api["servers"][0]["url"], {}
    assert re.fullmatch("https?://[^/]+(/.*[^/])?", base), base      # the path of a tool is put right behind it
    assert isinstance(api["info"]["description"], str)
    for path, methods in api["paths"].items():
        for method, o in methods.items():
            assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", o["operationId"]) and o["operationId"] not in tools, o["operationId"]
            assert isinstance(o["summary"], str) and o["summary"], o
            content = o.get("requestBody", {"content": {"application/json": {"schema": {"type": "object"}}}})["content"]
            assert list(content) == ["application/json"], content
            schema = content["application/json"]["schema"]
            parameters = [p["name"] for p in o.get("parameters", [])]
            assert all(isinstance(p["schema"]["type"], str) and p["description"] for p in o.get("parameters", []))
            assert not set(parameters) & set(flat(schema)), (o["operationId"], "one name twice")
            tools[o["operationId"]] = method, base + path, [*parameters, *flat(schema)], schema.get("required", [])
    assert 1 <= len(tools) <= 100
    return tools


def test_it_can_be_imported_as_tools(sandpiper, server):
    tools = tools_of(server.ask("/openapi.json"))

    def use(tool, **parameters):
        method, url, names, required = tools[tool]
        assert set(required) <= set(parameters) <= set(names) and method == "post"
        r = urllib.request.urlopen(urllib.request.Request(url, json.dumps(parameters).encode(), {
            "Content-Type": "application/json", "Authorization": "Bearer " + server.token}))
        return json.loads(r.read())
    box = use("create_sandbox")["sandbox_id"]
    use("write_file", sandbox_id=box, filename="a.txt", content="6")
    assert use("run_code", sandbox_id=box, code="int(open('a.txt').read()) * 7")["value"] == "42"
    assert use("execute_command", sandbox_id=box, command="cat a.txt")["stdout"] == "6"


def urls_of(server, host=None):
    """The address of the server in what it says of itself, and the beginning of its links."""
    headers = {"Host": host} if host else {}
    box = server.ask("/create_sandbox", {"conversation_id": "links"}, **headers)["sandbox_id"]
    made = server.ask("/run_code", {"sandbox_id": box, "code": "open('f', 'w').close()"}, **headers)["files"][0]["url"]
    link = server.ask("/download_file", {"sandbox_id": box, "filename": "f"}, **headers)["download_url"]
    assert link == made
    return server.ask("/openapi.json", **headers)["servers"], made.partition("/files/")[0]


def test_the_address_is_the_one_that_the_client_used(sandpiper, server):
    assert urls_of(server) == ([{"url": server.url}], server.url)
    other = server.host.replace("127.0.0.1", "localhost")
    assert urls_of(server, other) == ([{"url": "http://" + other}], "http://" + other)
    assert server.open("/openapi.json", Host="evil.example").status == 403


def test_a_public_url(sandpiper):
    """It takes the place of the address everywhere, and its name may stand in Host."""
    s = Server(sandpiper, "--public-url", "https://tools.example:8443/python/")
    for host in (None, "tools.example", "tools.example:8443"):
        assert urls_of(s, host) == ([{"url": "https://tools.example:8443/python"}], "https://tools.example:8443/python")
    assert s.open("/openapi.json", Host="other.example").status == 403
    assert s.close() == 0
    for url in ("tools.example", "ftp://tools.example", "https://", "https://u:p@tools.example", "https://tools.example/?a=b", "https://tools.example/#a"):
        r = sandpiper.run("serve", "--listen", "127.0.0.1:0", "--public-url", url)
        assert r.code == 2 and "--public-url" in r.err, r


def test_a_proxy_that_is_named(sandpiper):
    """Its word on scheme and host is taken, the last one of a list; nobody else's is, and no name that is not allowed."""
    def servers(s, status=200, **said):
        got = s.ask("/openapi.json", status=status, **{"X_Forwarded_" + name: value for name, value in said.items()})
        return got["servers"][0]["url"] if status == 200 else got["detail"]
    s = Server(sandpiper)
    assert servers(s, Proto="https", Host="evil.example") == s.url
    assert s.close() == 0
    for proxy in ("127.0.0.1", "127.0.0.0/8", "10.0.0.1,::ffff:127.0.0.0/104"):
        s = Server(sandpiper, "--allow-host", "tools.example", *[a for one in proxy.split(",") for a in ("--trusted-proxy", one)])
        assert servers(s) == s.url
        assert servers(s, Proto="https") == "https://" + s.host
        assert servers(s, Proto="https", Host="tools.example:8443") == "https://tools.example:8443"
        assert servers(s, Proto="ftp, HTTPS ", Host="evil.example,\ttools.example") == "https://tools.example"
        box = s.ask("/create_sandbox", {})["sandbox_id"]
        made = s.ask("/run_code", {"sandbox_id": box, "code": "open('f', 'w').close()"}, X_Forwarded_Proto="https", X_Forwarded_Host="tools.example")
        assert made["files"][0]["url"].startswith("https://tools.example/files/")
        assert "X-Forwarded-Host is not allowed" in servers(s, 403, Host="tools.example, evil.example")
        assert "http or https" in servers(s, 400, Proto="https, javascript")
        assert s.close() == 0
    s = Server(sandpiper, "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "unix", "--trusted-proxy", "::1")
    assert servers(s, Proto="https", Host="evil.example") == s.url
    assert s.close() == 0
    for wrong in ("tools.example", "127.0.0.1:80", "10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0.0/8x", "", "*"):
        r = sandpiper.run("serve", "--listen", "127.0.0.1:0", "--trusted-proxy", wrong)
        assert r.code == 2 and "--trusted-proxy: expected an address" in r.err, r


def test_a_proxy_on_a_unix_socket(sandpiper):
    path = sandpiper.path("socket")
    s = Raw(sandpiper, "--trusted-proxy", "unix", listen="unix:" + path)
    r = s.ask("GET", "/openapi.json", headers={"Host": "tools.example", "X-Forwarded-Proto": "https"})
    assert r.json["servers"] == [{"url": "https://tools.example"}], r.body
    assert [s.ask("GET", "/openapi.json", headers={"X-Forwarded-" + name: ""}, keep=False).status for name in ("Host", "Proto")] == [403, 400]
    assert s.close() == 0


@pytest.mark.client("openapi/openapi-python-client", "a client made of /openapi.json, used")
@pytest.mark.slow(20)
@pytest.mark.no_asan
def test_a_generated_client(sandpiper, server):
    place = pathlib.Path(sandpiper.dir)
    (place / "config.yaml").write_text("post_hooks: []\n")      # ruff, which only lays out the code
    made = subprocess.run([client("openapi", "openapi-python-client"), "generate", "--url", server.url + "/openapi.json", "--output-path", str(place / "made"),
                           "--meta", "none", "--config", str(place / "config.yaml"), "--fail-on-warning"],
                          cwd=place, env=dict(PATH="/usr/bin:/bin", HOME=str(place), NO_PROXY="*"), capture_output=True, text=True, timeout=120)
    assert made.returncode == 0 and "arning" not in made.stdout + made.stderr, made.stdout + made.stderr
    program = """
        import json, sys
        sys.path.insert(0, ".")
        from made import AuthenticatedClient
        from made.api.default import create_sandbox, fork_sandbox, run_code, stop_sandbox, write_file
        from made.models import CreateSandboxBody, Error, ForkSandboxBody, RunCodeBody, RunCodeResponse200, StopSandboxBody, WriteFileBody
        c = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True)
        box = create_sandbox.sync(client=c, body=CreateSandboxBody())
        print(json.dumps(box.info.engine))
        write_file.sync(client=c, body=WriteFileBody(sandbox_id=box.sandbox_id, filename="a.txt", content="seen"))
        ran = run_code.sync(client=c, body=RunCodeBody(sandbox_id=box.sandbox_id, code="print(open('a.txt').read())\\n6 * 7"))
        assert isinstance(ran, RunCodeResponse200)
        print(json.dumps([ran.stdout, ran.value, ran.status.value, ran.error]))
        failed = run_code.sync(client=c, body=RunCodeBody(sandbox_id=box.sandbox_id, code="1 / 0"))
        print(json.dumps(failed.error.name))
        copy = fork_sandbox.sync(client=c, body=ForkSandboxBody(sandbox_id=box.sandbox_id))
        print(json.dumps([copy.copy_of == box.sandbox_id, run_code.sync(client=c, body=RunCodeBody(sandbox_id=copy.sandbox_id, code="open('a.txt').read()")).value]))
        print(json.dumps(stop_sandbox.sync(client=c, body=StopSandboxBody(sandbox_id=box.sandbox_id)).stopped))
        gone = run_code.sync(client=c, body=RunCodeBody(sandbox_id=box.sandbox_id, code="1"))
        assert isinstance(gone, Error)
        print(json.dumps(gone.code))
        """
    r = subprocess.run([client("openapi"), "-I", "-c", textwrap.dedent(program), server.url, server.token], cwd=place, env=dict(PATH="/usr/bin:/bin", NO_PROXY="*"),
                       capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, r.stderr[-3000:]
    assert [json.loads(line) for line in r.stdout.splitlines()] == ["bwrap", ["seen\n", "42", "ok", None], "ZeroDivisionError", [True, "'seen'"], True, "SANDBOX_EXPIRED"]
