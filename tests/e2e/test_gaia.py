"""test_gaia.py - sandpiper as a solver: a task in as one JSON line, the answer and the files out as one; ten tasks of our own with known answers."""
import json
import os
import subprocess
import sys

import pytest

from conftest import TREE

MODEL = os.path.join(TREE, "tests", "model")
sys.path.insert(0, MODEL)
import gaia  # noqa: E402

TASKS = gaia.tasks()


def call(code):
    return {"answer": {"calls": [{"code": code}]}}


def done(text):
    return {"answer": {"text": text}}


def results(r):
    return [json.loads(line) for line in r.out.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("gaia")
    subprocess.run([sys.executable, os.path.join(MODEL, "gaia_data.py"), str(path)], check=True)
    return str(path)


def test_ten_of_five_kinds():
    kinds = [t["kind"] for t in TASKS]
    assert {k: kinds.count(k) for k in kinds} == {"spreadsheet": 2, "image": 2, "PDF": 2, "JSON": 2, "archive": 2}
    assert "answer" not in json.loads(gaia.line_of(TASKS[0]))


@pytest.mark.asan_once
@pytest.mark.slow(3)
@pytest.mark.parametrize("task", TASKS, ids=[t["id"] for t in TASKS])
def test_each_task(sandpiper, serve, folder, task):
    """The scripted model computes it in the sandbox, and its answer is what the code printed."""
    def answer(request):
        return done("The file was read. FINAL ANSWER: %s" % request.messages[-1]["content"].strip())
    serve(sandpiper, [call(task["proof"] + "\nprint(r)"), answer])
    for name in task["files"]:
        with open(os.path.join(folder, name), "rb") as f:
            sandpiper.write(name, f.read(), "wb")
    r = sandpiper.run("--json-result", stdin=gaia.line_of(task))
    (result,) = results(r)
    assert r.code == 0 and result["id"] == task["id"] and result["status"] == "answered", r
    assert result["final_answer"] == task["answer"] and result["answer"].startswith("The file was read."), result


def test_the_files_that_were_made(sandpiper, serve):
    code = "open('a.txt', 'w').write('%s')"
    serve(sandpiper, [call(code % "one"), call(code % "two" + "\nfrom PIL import Image\nImage.new('RGB', (9, 9))"), done("Two."), done("Nothing.")])
    r = sandpiper.run("--json-result", "--out", sandpiper.path("out"), stdin='{"question": "write", "id": 7}\nand now?\n')
    first, second = results(r)
    assert r.code == 0 and first["id"] == 7 and second["id"] is None and second["files"] == [], r
    assert [f["name"] for f in first["files"]] == ["a.txt", "figure-1.png"]
    with open(first["files"][0]["path"]) as f:
        assert f.read() == "two"                        # the latest of that name
    assert first["usage"]["cells"] == 2 and first["session"] == second["session"]


@pytest.mark.parametrize("said, final", [
    ("**Final answer:** 17 geese\nAs said.", "17 geese"), ("FINAL ANSWER: 16\n\n**FINAL ANSWER:**\n\n**17 geese**\n", "17 geese"),
    ("It is **17 geese**", "It is **17 geese**")])
def test_one_question_as_an_argument(sandpiper, serve, said, final):
    serve(sandpiper, [done(said)])
    sandpiper.write("n.txt", "17")
    r = sandpiper.run("--json-result", "--add", "n.txt", "how many?")
    (result,) = results(r)
    assert r.code == 0 and result["question"] == 1 and result["final_answer"] == final, r


def test_gaia_s_own_names(sandpiper, serve):
    server = serve(sandpiper, [done("Five.")])
    sandpiper.write("x.csv", "a\n5\n")
    task = {"task_id": "c61d", "Question": "how many?", "Level": 1, "Final answer": "SECRET", "file_name": "x.csv", "Annotator Metadata": {"Steps": "SECRET"}}
    r = sandpiper.run("--json-result", "-", stdin=json.dumps(task, indent=1))
    assert r.code == 0 and results(r)[0]["id"] == "c61d", r
    assert b"x.csv" in server.requests[0].raw and b"SECRET" not in server.requests[0].raw


BAD = [('{"question": ""}', 'has no "question"'), ('{"q": "x"}', 'has no "question"'), ('{"question": "x"', "is not valid JSON"), ('{"question": "x", "files": [1]}', "list of at most 20"),
       ('{"question": "x", "files": ["none.csv"]}', "none.csv"), ('{"question": "x", "files": %s}' % json.dumps(["a"] * 21), "list of at most 20")]


@pytest.mark.parametrize("task,why", BAD)
def test_bad_tasks(sandpiper, serve, task, why):
    """The first is a usage error before anything starts; a later one has a result line that says so."""
    serve(sandpiper, [done("Yes.")])
    r = sandpiper.run("--json-result", stdin=task + "\n")
    assert r.code == 2 and r.out == "" and why in r.err, r
    r = sandpiper.run("--json-result", stdin="is it?\n" + task + "\n")
    first, second = results(r)
    assert r.code == 2 and first["status"] == "answered" and second["status"] == "usage" and why in second["error"], r


def test_without_it_a_task_is_no_question(sandpiper, serve):
    serve(sandpiper, [])
    r = sandpiper.run("--json", stdin='{"id": "t1", "question": "x"}\n{"id": "t2", "question": "y"}\n')
    assert r.code == 2 and "not questions" in r.err, r


def test_a_failure_is_a_result(sandpiper, serve):
    serve(sandpiper, [{"answer": {"status": 400, "json": {"error": {"message": "no"}}}}])
    r = sandpiper.run("--json-result", "what?")
    (result,) = results(r)
    assert r.code == 1 and result["status"] == "no_answer" and result["answer"] is result["final_answer"] is None and "no" in result["error"], r
