"""test_batch.py - the questions of a file: each is answered once and has a line on disk, whatever ends the program; how many are asked at once; what a row may be."""
import http.server
import json
import os
import random
import re
import signal
import socket
import threading
import time

import pytest

from program import HANG
from test_doctor import kill_in_a_cell
from test_own_engine import HERE as BOX, use

MANY = int(os.environ.get("SANDPIPER_TEST_BATCH", "0"))         # rows of the long runs
CODE = "import os; n = sum(map(int, QUESTION.split('+'))); print(n, sorted(os.listdir('/mnt/data')))"


class Model:
    """Answers from as many threads as ask: for "what is A+B" it has code computed and says what that printed. refuse(n): answer request n with 429? hold(text) may wait, and
    refuse the first request of a question."""

    def __init__(self, refuse=lambda n: False, wait=0.0, says=(429, "Rate limit reached"), port=0, run=None, hold=lambda text: False):
        self.asked, self.refused, self.bodies, self.lock, self.now, self.most, self.connections, self.lists = [], 0, [], threading.Lock(), 0, 0, [], 0
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                model.connections.append(self.connection)

            def log_message(self, *args):
                pass

            def give(self, status, text, kind="application/json", **headers):
                self.send_response(status)
                for name, value in dict(headers, **{"Content-Type": kind, "Content-Length": len(text)}).items():
                    self.send_header(name.replace("_", "-"), str(value))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self):
                model.lists += 1
                self.give(200, json.dumps({"object": "list", "data": [{"id": "test-model", "object": "model"}]}))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with model.lock:
                    model.bodies.append(body)
                    model.now += 1
                    model.most = max(model.most, model.now)
                    refused = refuse(len(model.bodies))
                    model.refused += bool(refused)
                time.sleep(wait)
                try:
                    if refused:
                        self.give(says[0], json.dumps({"error": {"message": says[1]}}), Retry_After=1)
                    else:
                        self.answer(body)
                finally:
                    with model.lock:
                        model.now -= 1

            def answer(self, body):
                last, done = body["messages"][-1], sum(m["role"] == "tool" for m in body["messages"])
                if done == (len(run) if isinstance(run, list) else 1):
                    delta, end = {"content": "It is %s." % last["content"].strip()}, "stop"
                else:
                    text = last["content"] if isinstance(last["content"], str) else last["content"][-1]["text"]
                    with model.lock:
                        model.asked.append(text)
                    if hold(text):
                        return self.give(says[0], json.dumps({"error": {"message": says[1]}}))
                    if "fail" in text:
                        return self.give(400, '{"error": {"message": "cannot be asked"}}')
                    code = run[done] if isinstance(run, list) else "QUESTION = %r\n%s" % (text.rsplit(" ", 1)[-1], run or CODE)
                    delta, end = {"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                                                  "function": {"name": "execute_python", "arguments": json.dumps({"code": code})}}]}, "tool_calls"
                events = [{"choices": [{"index": 0, "delta": dict(delta, role="assistant"), "finish_reason": None}]},
                          {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
                          {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}]
                text = "".join("data: %s\n\n" % json.dumps(dict(e, id="x", object="chat.completion.chunk", created=1, model="test-model")) for e in events)
                self.give(200, text + "data: [DONE]\n\n", "text/event-stream")

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda request, client: None         # a program that was killed does not hear the answer
        self.url = "http://127.0.0.1:%d/v1" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        for one in self.connections:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass                                            # it is closed already


@pytest.fixture
def model():
    made = []

    def start(program, **how):
        made.append(Model(**how))
        program.url = made[-1].url
        return made[-1]
    yield start
    for one in made:
        one.end()


def rows(program, n, name="q.jsonl"):
    program.write(name, "".join(json.dumps({"id": "r%d" % i, "question": "what is %d+1" % i}) + "\n" for i in range(n)))
    return name


def lines(program, name="out.jsonl"):
    """A batch that fails before its first line leaves no file."""
    name = os.path.join(program.work, name)
    if not os.path.exists(name):
        return []
    with open(name) as f:
        return [json.loads(line) for line in f]


def test_what_a_killed_program_left(sandpiper, model):
    """Its runners do not look for that; batch does, once."""
    kill_in_a_cell(sandpiper)
    model(sandpiper)
    left = os.listdir(sandpiper.path("run/sandpiper"))
    r = sandpiper.run("batch", rows(sandpiper, 2), "-o", "out.jsonl")
    assert r.code == 0 and len(left) == 1 and sandpiper.leftovers() == [], r


def test_a_table(sandpiper_on, model):
    m = model(sandpiper_on)
    sandpiper_on.write("q.csv", 'a;b;note\n1;2;"one; or\n""two"""\n30;4;x\n')
    words = ("batch", "q.csv", "-o", "out.jsonl", "--template", "{note}: {{sum}} what is {a}+{b}")
    r = sandpiper_on.run(*words)
    assert (r.code, r.out) == (0, "") and "2 answered, 0 failed, 0 left" in r.err, r
    found = {line["id"]: line for line in lines(sandpiper_on)}
    assert {id: line["answer"].split()[2] for id, line in found.items()} == {"1": "3", "2": "34"}
    one = found["1"]
    assert (one["status"], one["exit_code"], one["epoch"], one["error"], one["files"]) == ("answered", 0, 1, None, [])
    assert "QUESTION" in one["code"][0] and one["usage"]["input_tokens"] == 20 and one["computed"]["runs"] == 1 and one["seconds"] > 0
    assert sorted(m.asked) == ['one; or\n"two": {sum} what is 1+2', "x: {sum} what is 30+4"]
    r = sandpiper_on.run(*words)                                # all have a line
    assert r.code == 0 and ", 2 done before" in r.err and len(m.asked) == 2
    sandpiper_on.write("q.csv", "a;b;note\n1;2;changed\n30;4;x\n")
    r = sandpiper_on.run(*words)                                # by id and content
    assert "1 answered" in r.err and len(m.asked) == 3 and len(lines(sandpiper_on)) == 3


def test_rows_share_nothing(sandpiper_on, model):
    """One process asks several rows, over one connection; each has a sandbox, a conversation and files of its own."""
    m = model(sandpiper_on, run="""import os
seen = "left" in globals(), os.listdir("/mnt/data"), [n for n in os.listdir("/tmp") if n == "left"]
left = 1
for name in "/mnt/data/left", "/tmp/left":
    open(name, "w").close()
print(seen)""")
    sandpiper_on.write("q.jsonl", "".join(json.dumps({"id": i, "question": "row %d" % i}) + "\n" for i in range(4)))
    r = sandpiper_on.run("batch", "q.jsonl", "-o", "out.jsonl", "-j", "1", "--out", "kept")
    assert r.code == 0, r
    assert [x["answer"].split("\n")[0] for x in lines(sandpiper_on)] == ["It is (False, [], [])"] * 4
    assert [sum(x["role"] == "user" for x in body["messages"]) for body in m.bodies] == [1] * 8
    assert sorted(os.listdir(os.path.join(sandpiper_on.work, "kept"))) == list("0123")
    assert len(m.connections) <= 2 and m.lists < 4          # a list of models that comes late costs a connection; for the next row it was heard
    assert sandpiper_on.leftovers() == []


def test_a_row_whose_interpreter_crashes(sandpiper_on, model):
    """A snapshot is made when the second cell begins: the third has the variables of the first, and none of the second."""
    m = model(sandpiper_on, run=["kept = 41", "kept = 42\nimport os\nos.kill(os.getpid(), 11)", "print(kept)"])
    r = sandpiper_on.run("batch", rows(sandpiper_on, 2), "-o", "out.jsonl", "-j", "1")
    assert r.code == 0 and [x["answer"] for x in lines(sandpiper_on)] == ["It is 41."] * 2, (r, lines(sandpiper_on))
    assert "SIGSEGV" in json.dumps(m.bodies)


def test_what_a_row_may_have(sandpiper, model):
    m = model(sandpiper)
    os.mkdir(os.path.join(sandpiper.work, "d"))
    sandpiper.write("d/own.csv", "x\n1\n")
    sandpiper.write("all.txt", "for all")
    sandpiper.write("d/q.jsonl", json.dumps({"task_id": 7, "Question": "what is 1+1", "file_name": "own.csv", "system": "Be short."}) + "\n\n"
                    + json.dumps({"custom_id": "c", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "other", "messages": [
                        {"role": "system", "content": "Old."}, {"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"},
                        {"role": "user", "content": [{"type": "text", "text": "what is 2+2"}]}]}}) + "\n"
                    + json.dumps({"custom_id": "d", "url": "/v1/responses", "body": {"input": "what is 3+3", "instructions": "Kind."}}) + "\n"
                    + json.dumps({"id": "gone", "question": "what is 4+4", "files": ["none.csv"]}) + "\n")
    r = sandpiper.run("batch", "d/q.jsonl", "-o", "out.jsonl", "--add", "all.txt")
    assert r.code == 1 and "3 answered, 1 failed" in r.err and "none.csv" in r.err, r
    found = {line["id"]: line for line in lines(sandpiper)}
    assert "2 ['all.txt', 'own.csv']" in found["7"]["answer"] and "4 ['all.txt']" in found["c"]["answer"], found
    assert (found["gone"]["status"], found["gone"]["answer"]) == ("usage", None)
    first = [b for b in m.bodies if b["messages"][-1]["role"] == "user"]
    said = {b["messages"][-1]["content"][-11:] if isinstance(b["messages"][-1]["content"], str) else "": b for b in first}
    assert said["what is 2+2"]["model"] == "other" and [x["role"] for x in said["what is 2+2"]["messages"]][-3:] == ["user", "assistant", "user"]
    assert "Be short." in json.dumps(said["what is 1+1"]["messages"]) and "Kind." in json.dumps(said["what is 3+3"]["messages"])


@pytest.mark.parametrize("text, args, said", [
    ("", [], "has no questions"), ("a,b\n1,2\n", [], 'has no "question"'), ("a,b\n1,2\n", ["--template", "{c}?"], 'there is no "c"'),
    ('a,b\n1,"2\n', ["--template", "{a}"], "a quoted field in row 1 does not end"), ("a\n1,2\n", ["--template", "{a}"], "it has 2 fields, the header has 1"),
    ('{"question": "x", "id": 1}\n{"question": "y", "id": 1}\n', [], "two rows have the same id"), ('{"question": "x"}\n{"question"\n', [], "row 2"),
    ('{"custom_id": "a", "url": "/v1/embeddings", "body": {}}\n', [], "can be asked"), ('{"question": "x"}\n', ["-j", "0"], "--jobs"),
    ('{"question": "x"}\n', ["--only", "5"], "no row has the id"), ('{"question": "x"}\n', ["--allow-packages", "numpy"], "batch has no option --allow-packages"), ('{"question": "x"}\n', ["more.csv"], "of one file")])
def test_rows_that_are_wrong(bare, text, args, said):
    bare.write("q", text)
    r = bare.run("batch", "q", "-o", "out.jsonl", *args)
    assert r.code == 2 and r.out == "" and said in r.err and r.err.count("\n") <= 2, r
    assert not os.path.exists(os.path.join(bare.work, "out.jsonl")) or not lines(bare)


def test_what_a_wrong_command_is_told(bare):
    rows(bare, 1)
    bare.write("q.csv", "a,b\n1,2\n")
    for name, why in (("none.csv", "No such file or directory"), ("/tmp", "Is a directory")):
        for words in (("batch", name, "-o", "out.jsonl"), ("batch", "report", name)):
            r = bare.run(*words)
            assert r.code == 2 and "cannot read %s: %s" % (name, why) in r.err, r
    r = bare.run("batch", "q.csv", "-o", "out.jsonl")
    assert r.code == 2 and "--template makes one of the columns" in r.err
    for name, why in (("no/out.jsonl", "No such file or directory"), ("/tmp", "Is a directory")):
        r = bare.run("batch", "q.jsonl", "-o", name)
        assert r.code == 2 and "cannot write %s: %s" % (name, why) in r.err, r
    r = bare.run("batch", "q.jsonl", "-o", "out.jsonl", "--out", "/proc/none")
    assert r.code == 2 and r.err == "sandpiper: --out: cannot create the directory /proc/none: No such file or directory\n" and "out.jsonl" not in os.listdir(bare.work), r


@pytest.mark.parametrize("columns", [80, 40])
def test_the_line_at_a_terminal(sandpiper, model, columns):
    """It fits, is wiped when something else is said, also behind the ^C that the terminal echoes, and no part of it is cut."""
    model(sandpiper, wait=1)
    rows(sandpiper, 20)
    p = sandpiper.chat("batch", "q.jsonl", "-o", "out.jsonl", "-j", "4", size=(24, columns))
    p.expect(r"\r4 of 20 done, 4 running, \d+s left[^\r]*\x1b\[K")
    assert len(p.after.strip("\r").replace("\x1b[K", "")) <= columns - 3 and not p.after.endswith(","), p.after
    p.send("\x03")
    p.expect("finishing the 4")
    assert p.before.endswith("\r\x1b[Ksandpiper: "), p.before[-60:]
    p.expect("The same command goes on")


def test_a_file_that_is_no_results(bare):
    rows(bare, 1)
    bare.write("out.jsonl", "my diary")                         # without its end of line: this is not a line that was cut
    assert bare.run("batch", "q.jsonl", "-o", "out.jsonl").code == 2
    assert open(os.path.join(bare.work, "out.jsonl")).read() == "my diary"
    bare.write("out.jsonl", "my diary\n")
    r = bare.run("batch", "q.jsonl", "-o", "out.jsonl")
    assert r.code == 2 and "out.jsonl, line 1: this is not the result of a batch" in r.err
    assert open(os.path.join(bare.work, "out.jsonl")).read() == "my diary\n"
    r = bare.run("batch", "q.jsonl")
    assert r.code == 2 and "batch needs -o FILE" in r.err
    assert bare.run("batch").code == 2


def test_no_key_in_the_process_that_reads_answers(sandpiper, model):
    model(sandpiper, wait=2)
    rows(sandpiper, 1)
    p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl")
    time.sleep(1)
    with open("/proc/%d/environ" % p.pid, "rb") as f:
        assert b"KEY" not in f.read()
    p.communicate(timeout=HANG)
    assert p.returncode == 0


def test_failed_rows(sandpiper, model):
    m = model(sandpiper)
    sandpiper.write("q.jsonl", "".join('{"id": "%s", "question": "%s 1+%d"}\n' % (id, id, i) for i, id in enumerate(["a", "fail", "b", "fail2", "c"])))
    words = ("batch", "q.jsonl", "-o", "out.jsonl", "-j", "1")
    r = sandpiper.run(*words, "--max-errors", "1")
    assert r.code == 1 and "1 answered, 1 failed, 3 left" in r.err and "cannot be asked" in r.err, r
    r = sandpiper.run(*words)
    assert r.code == 1 and "2 answered, 1 failed, 0 left, 2 done before" in r.err, r
    asked = len(m.asked)
    assert sandpiper.run(*words).code == 0 and len(m.asked) == asked     # nothing is left to be asked
    r = sandpiper.run(*words, "--retry-failed")
    assert r.code == 1 and "0 answered, 2 failed" in r.err, r
    r = sandpiper.run(*words, "--settle", "fail", "nobody can answer this")
    assert (r.code, r.out, r.err) == (0, "", "")
    assert lines(sandpiper)[-1]["status"] == "settled" and lines(sandpiper)[-1]["error"] == "nobody can answer this"
    r = sandpiper.run(*words, "--only", "fail2")
    assert r.code == 1 and "1 failed" in r.err
    r = sandpiper.run("batch", "report", "out.jsonl")
    assert r.code == 0 and r.out.startswith("5 rows: 4 answered, 1 not\n") and "(row fail2)" in r.out, r


def test_some_rows_in_some_order(sandpiper, model):
    m = model(sandpiper)
    rows(sandpiper, 9)
    words = ("batch", "q.jsonl", "-j", "1", "-q")
    for name in ("a", "b"):
        assert sandpiper.run(*words, "-o", name, "--shuffle", "5", "--limit", "4").code == 0
    assert [x["id"] for x in lines(sandpiper, "a")] == [x["id"] for x in lines(sandpiper, "b")] != ["r0", "r1", "r2", "r3"]
    assert sandpiper.run(*words, "-o", "c", "--epochs", "2", "--limit", "11").code == 0
    assert [(x["id"], x["epoch"]) for x in lines(sandpiper, "c")] == [("r%d" % i, 1) for i in range(9)] + [("r0", 2), ("r1", 2)]
    r = sandpiper.run(*words, "-o", "d", "--max-tokens-total", "60")
    assert r.code == 1 and len(lines(sandpiper, "d")) == 2 and "the limit of tokens or cost is reached" in r.err
    r = sandpiper.run("batch", "report", "a", "c")
    assert "compared: 4 have the same answer, 0 another, 0 are in the first alone" in r.out, r
    assert len(m.asked) == 4 + 4 + 11 + 2


def test_files_that_code_makes(sandpiper, model):
    model(sandpiper, run="open('/mnt/data/made.txt', 'w').write(QUESTION)")
    rows(sandpiper, 2)
    assert sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "--out", "made").code == 0
    for line in lines(sandpiper):
        (f,) = line["files"]
        assert f["name"] == "made.txt" and f["path"] == "made/%s/made.txt" % line["id"]
        assert open(os.path.join(sandpiper.work, f["path"])).read() == line["id"][1:] + "+1"


@pytest.mark.slow(20)
def test_a_service_that_refuses(sandpiper, model):
    """Half of all requests get 429: no row fails, and fewer are asked at once."""
    chance = random.Random(1)
    m = model(sandpiper, refuse=lambda n: chance.random() < 0.5)
    rows(sandpiper, 12)
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", timeout=180)
    assert r.code == 0 and m.refused > 3 and {x["status"] for x in lines(sandpiper)} == {"answered"}, r
    assert sorted(x["id"] for x in lines(sandpiper)) == sorted("r%d" % i for i in range(12))


@pytest.mark.parametrize("how, code, said", [
    ("refused", 75, "(connection refused)"), ("unknown", 75, "cannot reach none.invalid: unknown host"), ("key", 77, "refused the credentials (401)"),
    ("quota", 75, "the quota for model test-model is used up"), ("engine", 3, "gpubox")])
def test_what_all_rows_would_meet(sandpiper, model, how, code, said):
    """One message, no line for any row, and the next run asks them."""
    m = model(sandpiper, refuse=lambda n: how in ("key", "quota"), says=(401, "Incorrect API key") if how == "key" else (402, "pay"))
    rows(sandpiper, 40)
    url = sandpiper.url
    if how in ("refused", "unknown"):
        sandpiper.url = "http://127.0.0.1:9/v1" if how == "refused" else "https://none.invalid/v1"
    elif how == "engine":
        use(sandpiper, ["sh", "-c", "exit 1", "{python}"])
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "-j", "2")
    assert (r.code, r.out, lines(sandpiper)) == (code, "", []), r
    assert r.err.count("sandpiper: ") == 1 and "no row can be asked: " in r.err and said in r.err, r
    assert r.err.endswith("0 answered, 40 left: the same command goes on with them\n") and len(m.bodies) <= 10, (r, len(m.bodies))
    if how == "refused":
        sandpiper.url = url
        r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "--limit", "3")
        assert r.code == 0 and len(lines(sandpiper)) == 3, r


def test_a_row_that_may_not_use_its_model(sandpiper, model):
    """is its own affair."""
    m = model(sandpiper, refuse=lambda n: m.bodies[n - 1]["model"] == "dear", says=(403, "no access to this model"))
    sandpiper.write("q.jsonl", "".join(json.dumps(dict({"question": "what is %d+1" % i}, **({"model": "dear"} if i % 4 else {}))) + "\n" for i in range(12)))
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "-j", "4")
    assert r.code == 1 and "3 answered, 9 failed, 0 left" in r.err and "no access to this model" in r.err, r


def test_a_service_that_comes_back(sandpiper, model):
    """What has answered before is waited for, and no row fails."""
    m = model(sandpiper)
    rows(sandpiper, 30)
    p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl", "-j", "4")
    while len(m.asked) < 10:
        time.sleep(0.02)
    m.end()
    said = p.stderr.readline()
    assert said.startswith(b"sandpiper: waiting: cannot reach 127.0.0.1:"), said
    model(sandpiper, port=int(m.url.split(":")[2].split("/")[0]))
    out, err = p.communicate(timeout=HANG)
    assert p.returncode == 0 and b"waiting" not in err and {x["status"] for x in lines(sandpiper)} == {"answered"}, (out, err)
    assert len(lines(sandpiper)) == 30


def test_that_it_waits_is_told_once(sandpiper, model):
    """The rows that were under way may end in any order: one is refused, another is answered, a third is refused."""
    gates, refused = [threading.Event() for _ in range(4)], {1, 3}

    def hold(text):
        n = int(text.split("+")[0].rsplit(" ", 1)[-1])
        return n < 4 and gates[n].wait(HANG) and n in refused and not refused.remove(n)
    m = model(sandpiper, hold=hold, says=(403, "not yet"))
    rows(sandpiper, 5)
    p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl", "-j", "3")
    gates[0].set()
    while len(m.asked) < 4:
        time.sleep(0.02)
    gates[1].set()
    said = p.stderr.readline()
    assert said.startswith(b"sandpiper: waiting: ") and b"not yet" in said, said
    gates[2].set()
    while "r2" not in {x["id"] for x in lines(sandpiper)}:
        time.sleep(0.02)
    gates[3].set()
    out, err = p.communicate(timeout=HANG)
    assert p.returncode == 0 and b"waiting" not in err and {x["status"] for x in lines(sandpiper)} == {"answered"} and not refused, (out, err)


def test_lines_as_openai_has_them(sandpiper, model):
    m = model(sandpiper)
    sandpiper.write("q.jsonl", "".join(json.dumps(line) + "\n" for line in [
        {"custom_id": "c", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "what is 2+2"}]}},
        {"custom_id": "r", "method": "POST", "url": "/v1/responses", "body": {"input": "what is 3+3"}},
        {"custom_id": "f", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "fail 1+1"}]}}]))
    words = ("batch", "q.jsonl", "-o", "out.jsonl", "--format", "openai")
    assert sandpiper.run(*words).code == 1
    found = {line["custom_id"]: line for line in lines(sandpiper)}
    assert len({line["id"] for line in found.values()}) == 3 and found["c"]["error"] is None
    assert all(found[x]["response"]["status_code"] == 200 and found[x]["response"]["request_id"] for x in "cr")
    body = found["c"]["response"]["body"]
    assert (body["object"], body["choices"][0]["message"]["content"], body["usage"]["total_tokens"]) == ("chat.completion", "It is 4 [].", 30)
    body = found["r"]["response"]["body"]
    assert (body["object"], body["output"][0]["content"][0]["text"]) == ("response", "It is 6 [].")
    assert found["f"]["response"] is None and found["f"]["error"]["code"] == "no_answer" and "cannot be asked" in found["f"]["error"]["message"]
    asked = len(m.asked)
    r = sandpiper.run(*words)
    assert ", 3 done before" in r.err and len(m.asked) == asked, r
    r = sandpiper.run(*words, "--retry-failed")
    assert "0 answered, 1 failed, 0 left, 2 done before" in r.err and len(m.asked) == asked + 1, r
    r = sandpiper.run("batch", "report", "out.jsonl")
    assert r.out.startswith("3 rows: 2 answered, 1 not\n") and "(row f)" in r.out and "tokens: 60" in r.out, r
    r = sandpiper.run("batch", "q.jsonl", "-o", "x", "--format", "md")
    assert r.code == 2 and "batch has the format openai" in r.err


def test_lines_of_another_program(sandpiper, model):
    """vLLM's have no status_code, and none says what was asked: they count by their id."""
    m = model(sandpiper)
    rows(sandpiper, 5)
    said = lambda **more: {"request_id": "x", "body": {"choices": [{"message": {"content": "as it was"}}], "usage": {"prompt_tokens": 1}}, **more}
    text = "\n".join(json.dumps({"id": "vllm-1", "custom_id": id, "response": response, "error": error}) for id, response, error in [
        ("r0", said(), None), ("r1", said(status_code=200), None), ("r2", said(status_code=500), {"message": "out of memory"}),
        ("r3", None, {"code": "batch_expired", "message": "too late"})])
    sandpiper.write("out.jsonl", text)                          # no end of line behind the last
    words = ("batch", "q.jsonl", "-o", "out.jsonl")
    r = sandpiper.run(*words)
    assert "1 answered, 0 failed, 0 left, 4 done before" in r.err and m.asked == ["what is 4+1"], r
    r = sandpiper.run("batch", "report", "out.jsonl")
    assert r.out.startswith("5 rows: 3 answered, 2 not\n") and "out of memory (row r2)" in r.out and "too late (row r3)" in r.out, r
    r = sandpiper.run(*words, "--retry-failed")
    assert "2 answered, 0 failed, 0 left, 3 done before" in r.err, r
    r = sandpiper.run("batch", "report", "out.jsonl")
    assert r.out.startswith("5 rows: 5 answered, 0 not\n"), r


@pytest.mark.parametrize("what", ["sandboxes", "processes"])
def test_how_many_start_at_once(sandpiper, model, what):
    """Each takes its time to start (a process: for its key); what has started is no concern of the limit."""
    m = model(sandpiper, wait=0.5)
    rows(sandpiper, 8)
    slow = ["sh", "-c", 'echo + >> "$0"; sleep 0.4; echo - >> "$0"; exec "$@"', sandpiper.path("starts")]
    if what == "sandboxes":
        use(sandpiper, slow + BOX)
    else:
        sandpiper.configure("provider: mine\nmodel: test-model\nproviders: %s\n" % json.dumps({"mine": {"base_url": m.url, "api_key_command": [*slow, "echo", "key"]}}))
        sandpiper.url = None
    assert sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "-j", "8", "--max-starting", "2").code == 0
    now, most, signs = 0, 0, open(sandpiper.path("starts")).read().split()
    for sign in signs:
        now += 1 if sign == "+" else -1
        most = max(most, now)
    assert most == 2 and len(signs) == 16, signs


def test_the_model_is_asked_before_there_is_a_sandbox(sandpiper, model):
    """Only two may start, and neither can before all six rows were asked. What is in the sandbox, which the model is told, is known from an earlier one."""
    m = model(sandpiper)
    go = sandpiper.write("go", "")
    use(sandpiper, ["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.05; done; exec "$@"', go, *BOX])
    assert sandpiper.run("batch", rows(sandpiper, 1), "-o", "before.jsonl").code == 0
    os.remove(go)
    m.bodies.clear()
    rows(sandpiper, 6)
    p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl", "-j", "6", "--max-starting", "2")
    end = time.monotonic() + HANG
    while len(m.bodies) < 6 and time.monotonic() < end:
        time.sleep(0.05)
    asked = len(m.bodies)
    sandpiper.write("go", "")
    assert asked == 6 and p.wait(HANG) == 0
    assert [x["status"] for x in lines(sandpiper)] == ["answered"] * 6


def test_how_many_at_once(sandpiper, model):
    m = model(sandpiper, wait=0.3)
    rows(sandpiper, 12)
    assert sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "-j", "3").code == 0
    assert m.most == 3


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c(sandpiper, model, presses):
    m = model(sandpiper, wait=1)
    rows(sandpiper, 20)
    p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl", "-j", "4")
    while not m.now:
        time.sleep(0.05)
    for _ in range(presses):
        time.sleep(0.3)
        p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=HANG)
    assert p.returncode == 130 and b"rows that are being asked" in err, (p.returncode, err)
    done = len(lines(sandpiper))
    assert done == 4 if presses == 1 else done < 4, done
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl")
    assert r.code == 0 and sorted(x["id"] for x in lines(sandpiper)) == sorted("r%d" % i for i in range(20))


def written(program, name="out.jsonl"):
    """How many whole lines there are."""
    path = os.path.join(program.work, name)
    with open(path, "rb") if os.path.exists(path) else open(os.devnull, "rb") as f:
        return f.read().count(b"\n")


def until_written(program, p, n):
    while written(program) < n and p.poll() is None:
        time.sleep(0.02)


@pytest.mark.slow(30)
def test_killed_at_any_moment(sandpiper, model):
    """No row is lost, none has two lines, and at most -j rows are asked again after each end."""
    m, n, at_once = model(sandpiper), MANY or 60, 32 if MANY else 4
    rows(sandpiper, n)
    chance = random.Random(3)
    for at in sorted(chance.sample(range(n - at_once), 20 if MANY else 8)):
        p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl", "-j", str(at_once), "-q")
        until_written(sandpiper, p, at)
        time.sleep(chance.random() * 0.1)
        p.kill()
        p.wait(HANG)
        asked = len(set(m.asked))
        assert p.returncode == -signal.SIGKILL and written(sandpiper) <= asked <= written(sandpiper) + at_once
    with open(os.path.join(sandpiper.work, "out.jsonl"), "a") as f:
        f.write('{"id":"r')                                     # as a full disk leaves it
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "-j", str(at_once), timeout=120 + n)
    assert r.code == 0, r
    assert sorted(x["id"] for x in lines(sandpiper)) == sorted("r%d" % i for i in range(n))
    print("%d rows, killed %d times, %d asked again" % (n, 20 if MANY else 8, len(m.asked) - n))
    sandpiper.run("gc")


def resident(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def runners(pid):
    """The processes that a batch keeps, one for each place; its first child is what starts them."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()][1:]


@pytest.mark.no_asan
@pytest.mark.slow(20)
def test_memory(sandpiper, model):
    """of batch itself and of the runners, which are the same from the first row to the last, does not grow with the rows."""
    model(sandpiper)
    n, sizes, kept = MANY or 150, [], []
    rows(sandpiper, n)
    p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl", "-j", "8", "-q")
    for at in (n // 5, n - 20):
        until_written(sandpiper, p, at)
        kept.append(runners(p.pid))
        sizes.append((resident(p.pid), max(map(resident, kept[0]))))
    p.communicate(timeout=HANG)
    for i, who in enumerate(("batch", "the largest runner")):
        print("%s: %d kB after %d rows, %d kB after %d" % (who, sizes[0][i], n // 5, sizes[1][i], n - 20))
    assert p.returncode == 0 and kept[0] and set(kept[0]) <= set(kept[1]), kept
    assert sizes[1][0] <= 1.1 * sizes[0][0] and sizes[1][1] <= 1.1 * sizes[0][1], sizes


class Bucket:
    """Lets through as many requests as a limit of so many a second allows."""

    def __init__(self, rate):
        self.rate, self.have, self.given, self.first, self.last, self.lock = rate, rate, 0, None, 0, threading.Lock()

    def __call__(self, _):
        with self.lock:
            now = time.monotonic()
            self.first = self.first or now
            self.have = min(self.rate, self.have + (now - (self.last or now)) * self.rate)
            self.last = now
            if self.have < 1:
                return True
            self.have -= 1
            self.given += 1
            return False

    def share(self):
        """Of what the limit allows."""
        return self.given / (self.rate + self.rate * (self.last - self.first))


@pytest.mark.slow(20)
@pytest.mark.parametrize("jobs", ["auto", "12"])
def test_a_storm_of_refusals(sandpiper, model, jobs):
    """A limit of three requests a second: no row fails, and most of the limit is used."""
    limit = Bucket(3)
    m = model(sandpiper, refuse=limit)
    rows(sandpiper, 24)
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl", "-j", jobs, timeout=180)
    print("%d refused, %.0f %% of the limit" % (m.refused, 100 * limit.share()))
    assert r.code == 0 and m.refused > 8 and {x["status"] for x in lines(sandpiper)} == {"answered"}, r
    assert limit.share() >= 0.8, (limit.share(), m.refused)


def test_two_at_once_on_one_file(sandpiper, model):
    m = model(sandpiper, wait=1)
    rows(sandpiper, 4)
    p = sandpiper.start("batch", "q.jsonl", "-o", "out.jsonl")
    while not m.now:
        time.sleep(0.05)
    r = sandpiper.run("batch", "q.jsonl", "-o", "out.jsonl")
    assert r.code == 2 and "another batch is writing to it" in r.err
    p.communicate(timeout=HANG)
    assert p.returncode == 0
