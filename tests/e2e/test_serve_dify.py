"""test_serve_dify.py - Dify on another machine, as docs/PROGRAMS.md says that the server is started for it: its code nodes and template nodes, and an agent's
tools from /openapi.json. What Dify sends and reads is done here as it does it; it is no package of its own."""
import base64
import json
import os
import pathlib
import re
import shlex
import subprocess
import textwrap

import pytest

from elsewhere import Elsewhere
from raw_server import wait_for
from serving import Server
from test_openapi import tools_of

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "PROGRAMS.md"
NAME = "python.example"


@pytest.fixture
def there(tmp_path):
    e = Elsewhere(tmp_path, NAME, "other.example")
    yield e
    e.close()


@pytest.fixture
def server(sandpiper, there):
    """Started by the lines of the document, on a free port."""
    text = DOCS.read_text()
    text = text[text.index("**Dify**"):]
    token, line = (re.search(r"^ {4}(%s.*)$" % begin, text, re.M).group(1) for begin in (r"\(umask", "sandpiper serve"))
    subprocess.run(["sh", "-c", token], cwd=sandpiper.work, check=True)
    words = [{"0.0.0.0:8000": "0.0.0.0:0", "HOST": NAME}.get(word, word) for word in shlex.split(line)[2:]]
    assert words[:2] == ["--listen", "0.0.0.0:0"] and {"--token-file", "--allow-host", "--pool"} < set(words), line
    s = Server(sandpiper, *words, listen=(), token=pathlib.Path(sandpiper.work, "token").read_text().strip())
    s.url = "http://%s:%s" % (NAME, s.host.rpartition(":")[2])
    yield s
    assert s.close() == 0


def node(there, server, code, preload="", language="python3", key=None):
    """What a node's executor makes of the answer: the text between the marks, or why there is none."""
    status, got = there.ask(server.url + "/v1/sandbox/run", {"language": language, "code": code, "preload": preload, "enable_network": True},
                            X_Api_Key=key or server.token)
    if status != 200 or got["code"] != 0 or got["data"]["error"]:
        return "refused: %s" % (got["data"]["error"] if status == 200 and got["data"] else [status, got])
    return re.search("<<RESULT>>(.*)<<RESULT>>", got["data"]["stdout"], re.S).group(1)


def inputs(**values):
    return base64.b64encode(json.dumps(values).encode()).decode()


def figure(server, name):
    return float(re.search(r"^sandpiper_%s (\S+)$" % name, server.ask("/metrics").decode(), re.M).group(1))


@pytest.mark.client("Dify", "code nodes (Python, JavaScript) and template nodes, from another machine (a network namespace)")
@pytest.mark.slow(10)
def test_its_nodes(there, server):
    code = textwrap.dedent("""
        def main(a, words):
            return {"result": a * 2, "text": words.upper()}
        import json
        from base64 import b64decode
        print("<<RESULT>>" + json.dumps(main(**json.loads(b64decode("%s").decode("utf-8"))), indent=4) + "<<RESULT>>")
        """) % inputs(a=21, words="größer")
    wait_for(lambda: figure(server, "sandboxes_ready") >= 1)
    assert json.loads(node(there, server, code)) == {"result": 42, "text": "GRÖSSER"}
    assert figure(server, "sandboxes_from_pool_total") >= 1
    template = textwrap.dedent("""
        import json
        from base64 import b64decode
        import jinja2
        def main(**inputs):
            return jinja2.Template('''{%% for x in rows %%}{{ loop.index }}: {{ x.name | upper }}
        {%% endfor %%}''').render(**inputs)
        print("<<RESULT>>%%s<<RESULT>>" %% main(**json.loads(b64decode("%s").decode("utf-8"))))
        """) % inputs(rows=[{"name": "a"}, {"name": "b"}])
    assert node(there, server, template, preload="import jinja2\njinja2.Template('{{ s }}').render(s='a')\n") == "1: A\n2: B\n"
    script = """
        function main({a, words}) { return {result: a * 2, text: words.toUpperCase()} }
        var given = JSON.parse(Buffer.from('%s', 'base64').toString('utf-8'))
        console.log(`<<RESULT>>${JSON.stringify(main(given))}<<RESULT>>`)
        """ % inputs(a=21, words="größer")
    assert json.loads(node(there, server, script, language="nodejs")) == {"result": 42, "text": "GRÖSSER"}
    failed = node(there, server, "function main() { return missing }\nmain()", language="nodejs")
    assert failed.startswith("refused: ") and "missing is not defined" in failed, failed
    assert node(there, server, "1 / 0").endswith("ZeroDivisionError: division by zero")
    assert "[401," in node(there, server, code, key="k" * 64)


@pytest.mark.client("Dify", "a custom tool from /openapi.json, from there")
def test_its_tools(there, server):
    """The document is imported from there, and each tool is used at the URL that it gives."""
    status, api = there.ask(server.url + "/openapi.json")
    tools = tools_of(api)
    assert status == 200 and api["servers"] == [{"url": server.url}]

    def use(tool, **parameters):
        method, url, names, required = tools[tool]
        assert set(required) <= set(parameters) <= set(names) and method == "post"
        status, got = there.ask(url, parameters, Authorization="Bearer " + server.token)
        assert status == 200, got
        return got
    box = use("create_sandbox", conversation_id="of an agent")["sandbox_id"]
    use("write_file", sandbox_id=box, filename="a.csv", content="a,b\n1,2\n")
    ran = use("run_code", sandbox_id=box, code="x = open('a.csv').read()\nopen('r.csv', 'w').write(x * 2)\nlen(x)")
    assert ran["value"] == "8" and ran["files"][0]["url"].startswith(server.url + "/files/")
    assert there.ask(use("download_file", sandbox_id=box, filename="r.csv")["download_url"]) == (200, "a,b\n1,2\n" * 2)
    assert use("stop_sandbox", sandbox_id=box)["stopped"] is True


def test_what_it_is_refused(sandpiper, there, server):
    """A name that is not allowed; and a server as it is started for this machine, which listens on loopback, does not answer there."""
    status, said = there.ask(server.url.replace(NAME, "other.example"))
    assert status == 403 and "--allow-host" in said["detail"]
    own = Server(sandpiper)
    status, said = there.ask("http://%s:%s/" % (NAME, own.host.rpartition(":")[2]))
    assert status == 0 and "refused" in said, said
    assert own.close() == 0 and os.path.exists("/sys/class/net/" + there.cable)
    there.close()
    wait_for(lambda: not os.path.exists("/sys/class/net/" + there.cable))
