"""test_other_clients.py - clients that were written for other services, unchanged (tests/clients/shapes.txt), against `sandpiper serve`: E2B's
SDK, SandboxFusion's client, AgentCube's SDK; and Dify's code node, which is no package of its own: what its executor sends and reads."""
import base64
import json
import os
import pathlib
import signal
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from clients import client
from program import children, name_of
from raw_server import wait_for
from serving import Server


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper, "--queue", "0s")      # no test waits for a place that it does not get
    yield s
    assert s.close() == 0


def run(server, program, **env):
    """A Python program of a user's, in the environment with the clients."""
    env = dict(PATH="/usr/bin:/bin", HOME="/nonexistent", NO_PROXY="*", **env)
    r = subprocess.run([client("shapes"), "-I", "-c", textwrap.dedent(program)], env=env, capture_output=True, text=True, timeout=240)
    assert r.returncode == 0, r.stderr[-3000:]
    return [json.loads(line) for line in r.stdout.splitlines() if line.startswith(("{", "["))]


@pytest.mark.client("shapes/e2b-code-interpreter", "`run_code` with live output, errors, figures, `kill`")
@pytest.mark.slow(150)
@pytest.mark.no_asan
def test_e2b(server):
    told = run(server, """
        import json
        from e2b_code_interpreter import Sandbox
        from e2b.exceptions import NotFoundException
        def tell(x): print(json.dumps(x))
        s = Sandbox.create(timeout=300)
        live = []
        e = s.run_code("import sys\\nx = 21\\nprint('out')\\nprint('err', file=sys.stderr)\\nx * 2", on_stdout=lambda m: live.append(m.line))
        tell({"text": e.text, "stdout": "".join(e.logs.stdout), "stderr": "".join(e.logs.stderr), "error": e.error, "live": "".join(live)})
        e = s.run_code("1/0")
        tell({"name": e.error.name, "value": e.error.value, "last": e.error.traceback.splitlines()[-1]})
        e = s.run_code("import matplotlib.pyplot as plt\\nplt.plot([1, 2]); plt.show()")
        tell({"png": [r.png for r in e.results if r.png]})
        tell({"shell": "".join(s.run_code("echo $((6 * 7))", language="bash").logs.stdout)})
        try: s.run_code("1", language="r"); tell({"language": "taken"})
        except Exception as e: tell({"language": str(e)[:3]})
        tell({"killed": s.kill(), "again": s.kill()})
        try: s.run_code("1"); tell({"after": "ran"})
        except Exception as e: tell({"after": type(e).__name__})
        """, E2B_API_URL=server.url, E2B_SANDBOX_URL=server.url, E2B_API_KEY=server.token)
    assert told[0] == {"text": "42", "stdout": "out\n", "stderr": "err\n", "error": None, "live": "out\n"}
    assert told[1] == {"name": "ZeroDivisionError", "value": "division by zero", "last": "ZeroDivisionError: division by zero"}
    assert len(told[2]["png"]) == 1 and base64.b64decode(told[2]["png"][0]).startswith(b"\x89PNG")
    assert told[3:5] == [{"shell": "42\n"}, {"language": "422"}]
    assert told[5:] == [{"killed": True, "again": False}, {"after": "NotFoundException"}]


@pytest.mark.client("shapes/e2b-code-interpreter", "code contexts")
@pytest.mark.slow(10)
@pytest.mark.no_asan
def test_e2b_contexts(server):
    """Each has variables of its own; they are listed, restarted, removed, and end with their sandbox."""
    told = run(server, """
        import json
        from e2b_code_interpreter import Sandbox
        def tell(*x): print(json.dumps(x))
        def x(s, context=None):
            e = s.run_code("x", context=context)
            return e.text or e.error.name
        def refused(f, *words):
            try: return f(*words) and "done"
            except Exception as e: return type(e).__name__
        s, other = Sandbox.create(), Sandbox.create()
        a, b = s.create_code_context(), s.create_code_context(cwd="/mnt/data", language="python")
        for i, c in enumerate((None, a, b)): s.run_code("x = %d" % i, context=c)
        tell(x(s), x(s, a), x(s, b), x(other))
        tell([a.language, a.cwd], [c.id for c in s.list_code_contexts()] == ["default", a.id, b.id], len(other.list_code_contexts()))
        s.restart_code_context(a); s.restart_code_context("default")
        tell(x(s), x(s, a), x(s, b))
        s.remove_code_context(b)
        tell([c.id for c in s.list_code_contexts()] == ["default", a.id], refused(x, s, b), refused(s.remove_code_context, b), refused(s.remove_code_context, "default"))
        # a context of one sandbox is none of another's, and neither is a sandbox a context
        tell(refused(x, other, a), refused(other.remove_code_context, a), refused(other.remove_code_context, s.sandbox_id), refused(other.restart_code_context, a))
        s.kill()
        tell(refused(x, s, a), refused(s.list_code_contexts), refused(s.create_code_context))
        made = [refused(other.create_code_context) for i in range(8)]
        other.kill()
        tell(len(set(made)), Sandbox.create() is not None)
        """, E2B_API_URL=server.url, E2B_SANDBOX_URL=server.url, E2B_API_KEY=server.token)
    gone = "NotFoundException"
    assert told[0] == ["0", "1", "2", "NameError"]
    assert told[1] == [["python", "/mnt/data"], True, 1]
    assert told[2] == ["NameError", "NameError", "2"]
    assert told[3] == [True, gone, gone, gone]
    assert told[4] == [gone] * 4
    assert told[5] == [gone] * 3
    assert told[6] == [2, True]


@pytest.mark.slow(150)
@pytest.mark.no_asan
def test_e2b_without_a_key(server):
    told = run(server, """
        import json
        from e2b_code_interpreter import Sandbox
        try: Sandbox.create(); print(json.dumps(["made"]))
        except Exception as e: print(json.dumps([type(e).__name__]))
        """, E2B_API_URL=server.url, E2B_SANDBOX_URL=server.url, E2B_API_KEY="e2b_0123456789abcdef0123456789abcdef")
    assert told == [["AuthenticationException"]]


@pytest.mark.client("shapes/sandbox-fusion", "`run_code` (Python, bash, JavaScript, SQL) with files, stdin and a time limit, `run_jupyter`")
@pytest.mark.slow(3)
@pytest.mark.no_asan
def test_sandbox_fusion(server):
    told = run(server, """
        import base64, json, os
        from sandbox_fusion import run_code, run_jupyter, RunCodeRequest, RunJupyterRequest, set_endpoint
        set_endpoint(os.environ["ENDPOINT"])
        def tell(r): print(json.dumps(json.loads(r.json())))
        b = lambda s: base64.b64encode(s).decode()
        tell(run_code(RunCodeRequest(code="print(open('in/a.txt').read()); print(input()); open('b.txt', 'w').write('made')", language="python",
                                     stdin="typed", files={"in/a.txt": b(b"given")}, fetch_files=["b.txt", "none.txt"])))
        tell(run_code(RunCodeRequest(code="import sys; print(1, file=sys.stderr); sys.exit(3)", language="python")))
        tell(run_code(RunCodeRequest(code="while True: pass", language="python", run_timeout=1)))
        tell(run_code(RunCodeRequest(code="echo $((6*7)); pwd", language="bash")))
        tell(run_code(RunCodeRequest(code="console.log(6 * 7)", language="nodejs")))
        tell(run_code(RunCodeRequest(code="create table t as select 6 as a, 7 as b; select a * b as product from t", language="sql")))
        tell(run_code(RunCodeRequest(code="selec 1", language="sql")))
        tell(run_jupyter(RunJupyterRequest(cells=["a = 123", "a", "print(a)", "raise RuntimeError('wrong')"], fetch_files=[])))
        """, ENDPOINT=server.url.replace("http://", "http://any:%s@" % server.token))
    assert told[0]["status"] == "Success" and told[0]["run_result"]["stdout"] == "given\ntyped\n" and told[0]["run_result"]["return_code"] == 0
    assert {k: base64.b64decode(v) for k, v in told[0]["files"].items()} == {"b.txt": b"made"}
    assert (told[1]["status"], told[1]["run_result"]["return_code"], told[1]["run_result"]["stderr"]) == ("Failed", 3, "1\n")
    assert (told[2]["status"], told[2]["run_result"]["status"], told[2]["run_result"]["return_code"]) == ("Failed", "TimeLimitExceeded", None)
    assert told[3]["run_result"]["stdout"] == "42\n/mnt/data\n"
    ran = told[4]["run_result"]
    assert ran["stdout"] == "42\n" or ran["return_code"] == 127 and "node" in ran["stderr"], told[4]
    ran = told[5]["run_result"]
    assert told[5]["status"] == "Success" and ran["stdout"].split() == ["product", "0", "42"] and (ran["return_code"], ran["stderr"]) == (0, ""), told[5]
    ran = told[6]["run_result"]
    assert (told[6]["status"], ran["status"], ran["return_code"]) == ("Failed", "Finished", 1) and "syntax error" in ran["stderr"], told[6]
    cells = told[7]["cells"]
    assert told[7]["status"] == "Success" and told[7]["driver"]["status"] == "Finished"
    assert [c["display"] for c in cells] == [[], [{"text/plain": "123"}], [], []] and cells[2]["stdout"] == "123\n"
    assert cells[3]["error"][0]["ename"] == "RuntimeError" and cells[3]["error"][0]["evalue"] == "wrong"


@pytest.mark.slow(3)
def test_an_answer_that_is_too_large(server):
    """A hundred files of 8 MiB would take gigabytes of the one process that serves everybody."""
    def fetch(n):
        r = server.open("/run_jupyter", {"cells": ["_ = open('big', 'wb').write(bytes(8 << 20))"], "fetch_files": ["big"] * n})
        return r.status, json.loads(r.read())
    status, body = fetch(2)
    assert status == 200 and len(body["files"]["big"]) == (8 << 20) // 3 * 4 + 4, status
    status, body = fetch(20)
    assert status == 422 and "the answer is larger than 64 MiB" in json.dumps(body), body


@pytest.mark.client("shapes/agentcube-sdk", "`run_code` (Python, bash: the SDK itself refuses others), `execute_command` (also node and SQL), files")
@pytest.mark.slow(150)
@pytest.mark.no_asan
def test_agentcube(server, tmp_path):
    told = run(server, """
        import json, os
        from agentcube import CodeInterpreterClient
        url = os.environ["URL"]
        with CodeInterpreterClient(workload_manager_url=url, router_url=url) as c:
            c.write_file("6 7\\n", "n.txt")
            r = [c.run_code("python", "a, b = open('n.txt').read().split(); print(int(a) * int(b))"), c.run_code("bash", "echo $((6 * 7)) > b.txt; cat b.txt"), c.execute_command("sh -c 'echo a b | wc -w'"),
                 sorted(f["name"] for f in c.list_files()), c.session_id]
            c.write_file("console.log([6, 7].reduce((a, b) => a * b))", "s.js")
            r.append(c.execute_command("sh -c 'command -v node >/dev/null && node s.js || echo no node'"))
            r.append(c.run_code("python", "import sqlite3; print(sqlite3.connect(':memory:').execute('select 6 * 7').fetchone())"))
            try: c.run_code("javascript", "1"); r.append("ran")
            except ValueError as e: r.append(str(e))
            c.download_file("n.txt", os.environ["HERE"] + "/got.txt")
            try: c.execute_command("false"); r.append("fine")
            except Exception as e: r.append(type(e).__name__)
            print(json.dumps(r))
        """, URL=server.url.replace("http://", "http://any:%s@" % server.token), HERE=str(tmp_path))
    out, shell, words, files, session, script, query, refused, failed = told[0]
    assert script in ("42\n", "no node\n") and query == "(42,)\n" and refused == "Unsupported language: javascript", told
    assert (out, shell, words, failed) == ("42\n", "42\n", "2\n", "CommandExecutionError") and files[:2] == ["b.txt", "n.txt"], told
    assert (tmp_path / "got.txt").read_text() == "6 7\n"
    r = server.open("/v1/namespaces/a/code-interpreters/b/invocations/api/files", X_Agentcube_Session_Id=session)
    assert r.status == 404 and set(json.loads(r.read())) == {"error", "code"}


LIBRECHAT = r"""
import { createRequire } from 'node:module'
const { createCodeExecutionTool } = createRequire(process.env.MODULES + '/')('@librechat/agents')
const tell = (...x) => console.log(JSON.stringify(x))
const base = process.env.LIBRECHAT_CODE_BASEURL, headers = { 'X-API-Key': process.env.KEY }
const call = async (lang, code, files) => {
  const tool = createCodeExecutionTool({ authHeaders: headers, ...(files ? { files } : {}) })
  try {
    const m = await tool.invoke({ name: tool.name, args: { lang, code }, id: 'c', type: 'tool_call' })
    return [m.content, m.artifact]
  } catch (e) { return [String(e.message), null] }
}
const [made, first] = await call('py', "x = 1\nprint(6 * 7)\nopen('a b é.txt', 'w').write('made')")
tell(made, first.files.map((f) => f.name))
const files = first.files.map((f) => ({ ...f, kind: 'user' }))
const [again, second] = await call('py', "print(open('a b é.txt').read(), 'x' in globals())", files)
tell(again, second.session_id === first.session_id)
tell((await call('py', '1/0'))[0], (await call('bash', 'echo $((6*7)) >&2'))[0], (await call('r', '1'))[0])
const form = new FormData()
form.append('file', new Blob(['6,7']), 'in.csv'); form.append('file', new Blob(['more']), 'two.txt')
const up = await (await fetch(base + '/upload', { method: 'POST', headers, body: form })).json()
tell(up.message, up.files.map((f) => f.filename))
tell((await call('py', "print(open('in.csv').read(), open('two.txt').read())", up.files.map((f) => ({ id: f.fileId, name: f.filename, storage_session_id: up.storage_session_id, kind: 'user' }))))[0])
tell(await (await fetch(`${base}/download/${first.session_id}/${files[0].id}`, { headers })).text(), (await fetch(`${base}/download/${first.session_id}/none`, { headers })).status)
tell((await call('py', '1', [files[0], { id: 'in.csv', name: 'in.csv', storage_session_id: up.storage_session_id, kind: 'user' }]))[0])
tell((await fetch(base + '/exec', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).status)
"""


@pytest.mark.client("librechat/@librechat/agents librechat/node-fetch", "its code tool (py, bash); uploads and downloads as LibreChat asks for them")
@pytest.mark.slow(30)
@pytest.mark.no_asan
def test_librechat(server, tmp_path):
    node = client("librechat", "node")
    program = tmp_path / "program.mjs"
    program.write_text(LIBRECHAT)
    env = dict(PATH="/usr/bin:/bin", HOME="/nonexistent", NO_PROXY="*", LIBRECHAT_CODE_BASEURL=server.url, KEY=server.token,
               MODULES=str(pathlib.Path(node).parent.parent / "npm" / "node_modules"))
    r = subprocess.run([node, str(program)], env=env, capture_output=True, text=True, timeout=240)
    assert r.returncode == 0, r.stdout + r.stderr[-3000:]
    told = [json.loads(line) for line in r.stdout.splitlines() if line.startswith("[")]
    assert told[0][0].startswith("stdout:\n42\n") and told[0][1] == ["a b é.txt"], told[0]
    assert told[1] == ["stdout:\nmade False", True], told[1]
    failed, shell, language = told[2]
    assert "ZeroDivisionError: division by zero" in failed and "stderr:\n42" in shell and "lang" in language, told[2]
    assert told[3] == ["success", ["in.csv", "two.txt"]] and told[4][0].startswith("stdout:\n6,7 more")
    assert told[5] == ["made", 404] and "of one session" in told[6][0] and told[7] == [401]


def dify(server, code, language="python3", token=None):
    r = server.open("/v1/sandbox/run", {"language": language, "code": code, "preload": "", "enable_network": True}, Authorization="",
                    X_Api_Key=token or server.token)
    return r.status, json.loads(r.read())


def test_dify(server):
    """As its code executor does it: the code node's program, made by Dify, prints its result between marks."""
    program = textwrap.dedent("""
        def main(a): return {"result": a * 2}
        import json
        from base64 import b64decode
        inputs = json.loads(b64decode('%s').decode('utf-8'))
        print('<<RESULT>>' + json.dumps(main(**inputs), indent=4) + '<<RESULT>>')
        """) % base64.b64encode(b'{"a": 21}').decode()
    status, body = dify(server, program)
    assert status == 200 and (body["code"], body["message"], body["data"]["error"]) == (0, "success", "")
    assert json.loads(body["data"]["stdout"].split("<<RESULT>>")[1]) == {"result": 42}
    status, body = dify(server, "x = 1\nx / 0")
    assert status == 200 and body["code"] == 0 and body["data"]["error"].endswith("ZeroDivisionError: division by zero")
    assert dify(server, "x")[1]["data"]["error"].endswith("NameError: name 'x' is not defined")        # each run is alone
    assert dify(server, "1", language="ruby")[1]["code"] != 0
    if os.path.exists("/usr/bin/node"):
        status, body = dify(server, "const main = ({a}) => ({result: a * 2});\nconsole.log('<<RESULT>>' + JSON.stringify(main({a: 21})) + '<<RESULT>>')", language="nodejs")
        assert status == 200 and json.loads(body["data"]["stdout"].split("<<RESULT>>")[1]) == {"result": 42} and body["data"]["error"] == "", body
        assert "ReferenceError: x is not defined" in dify(server, "x", language="nodejs")[1]["data"]["error"]
    assert dify(server, "1", token="0123456789abcdef0123456789abcdef") == (401, {"code": 401, "message": body_of_401(server), "data": None})


def test_a_run_is_stopped_from_outside(server):
    """Its sandbox ends with the answer. Somebody with the same token may stop it before: the run fails, and the server goes on."""
    with ThreadPoolExecutor(1) as beside:
        run_there = beside.submit(dify, server, "import time\ntime.sleep(600)")
        wait_for(lambda: [b for b in server.ask("/list_sandboxes", {})["sandboxes"] if b["busy"]])
        (box,) = server.ask("/list_sandboxes", {})["sandboxes"]
        assert server.ask("/stop_sandbox", {"sandbox_id": box["sandbox_id"]})["stopped"] is True
        status, body = run_there.result()
    assert (status, body["code"]) == (503, 503) and "ended" in body["message"], body
    assert server.ask("/list_sandboxes", {})["sandboxes"] == []


def test_a_run_whose_runner_is_killed(sandpiper, server):
    """Nobody has the id of its sandbox, so it must not stay until it would expire."""
    with ThreadPoolExecutor(1) as beside:
        run_there = beside.submit(dify, server, "import time\ntime.sleep(600)")
        runners = lambda: [p for p in children(server.process.pid) if b"\0runner\0" in pathlib.Path("/proc/%d/cmdline" % p).read_bytes()]   # noqa: E731
        # One that is killed before it has a keeper leaves its folder to the next program's sweep.
        wait_for(lambda: [k for p in runners() for k in children(p) if name_of(k) == "sp-keeper"])
        for pid in runners():
            os.kill(pid, signal.SIGKILL)
        status, body = run_there.result()
    assert status == 503 and "killed" in body["message"], body
    wait_for(lambda: not server.ask("/list_sandboxes", {})["sandboxes"])


def test_few_runs_wait_for_one_sandbox(server):
    """One that runs and 32 that wait; the next gets a 429 in the form of its API, and is told to come again."""
    box = server.ask("/v2/sandboxes", {}, 201)["sandboxID"]
    runs = server.open("/execute", {"code": "print('begun', flush=True)\nimport time\ntime.sleep(600)"}, E2b_Sandbox_Id=box)
    assert json.loads(runs.readline())["text"] == "begun\n"
    with ThreadPoolExecutor(33) as beside:
        sent = [beside.submit(server.open, "/execute", {"code": "1"}, E2b_Sandbox_Id=box) for _ in range(33)]
        wait_for(lambda: [r for r in sent if r.done()])
        (refused,) = [r.result() for r in sent if r.done()]
        assert (refused.status, refused.headers["Retry-After"] is not None) == (429, True)
        assert json.loads(refused.read()) == {"code": 429, "message": "too many requests are waiting for this sandbox"}
        server.ask("/stop_sandbox", {"sandbox_id": box})
        assert {r.result().status for r in sent} == {429, 503}


def body_of_401(server):
    r = server.open("/v1/sandbox/run", {}, Authorization="")
    return json.loads(r.read())["message"]
