"""test_json.py - the event stream on stdout: one object a line, in order, complete, closed by session_end."""
import json


def events(r):
    out = [json.loads(line) for line in r.out.splitlines()]
    for e in out:
        assert "type" in e and "v" in e and "question" in e, e
    return out


def test_a_question_with_a_call(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"text": "Computing.", "calls": [{"code": "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('f.txt','w').write('hi')\n6 * 7"}]}},
                         {"answer": {"text": "It is 42.", "usage": [30, 5]}}])
    r = sandpiper_on.run("--json", "go")
    assert r.code == 0, r
    got = events(r)
    kinds = [e["type"] for e in got]
    assert kinds[0] == "session" and kinds[-2:] == ["done", "session_end"], kinds
    for kind in ("text", "tool_call", "tool_output", "tool_result", "file", "usage"):
        assert kind in kinds, kinds
    assert kinds.index("tool_call") < kinds.index("tool_output") < kinds.index("tool_result")
    assert got[0]["model"] == "test-model"
    call = next(e for e in got if e["type"] == "tool_call")
    assert call["question"] == 1 and "6 * 7" in call["code"]
    result = next(e for e in got if e["type"] == "tool_result")
    assert result["value"] == "42", result
    done = got[-2]
    assert done["answer"] == "It is 42." and done["status"] == "answered", done
    assert done["usage"]["input_tokens"] == 50 and done["usage"]["output_tokens"] == 15, done
    assert got[-1]["exit_code"] == 0
    texts = {}
    for e in got:
        if e["type"] == "text":
            texts[e["reply"]] = texts.get(e["reply"], "") + e["text"]
    assert texts == {1: "Computing.", 2: "It is 42."}, texts


def test_a_script(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "A"}}, {"answer": {"status": 400, "json": {"error": {"message": "no"}}}}])
    r = sandpiper.run("--json", stdin="one\ntwo\n")
    got = events(r)
    assert r.code == 1 and got[-1]["exit_code"] == 1, r
    done = [e for e in got if e["type"] == "done"]
    assert [d["question"] for d in done] == [1, 2] and [d["status"] == "answered" for d in done] == [True, False], done


def test_usage_errors_are_on_stderr_only(bare):
    r = bare.run("--json", "--nonsense")
    assert r.code == 2 and r.out == "" and r.err, r


def test_what_was_thought_stands_in_done(sandpiper, serve):
    serve(sandpiper, [{"answer": {"reasoning": "Hm."}}, {"answer": {"reasoning": "Six times seven,\nso 42."}},
                      {"answer": {"reasoning": "Hm.", "text": "It is 42."}}])
    r = sandpiper.run("--json", stdin="one\ntwo\n")
    done = [e for e in events(r) if e["type"] == "done"]
    assert r.code == 1 and [d["status"] for d in done] == ["no_answer", "answered"], r
    assert done[0]["answer"] is None and done[0]["reasoning"] == "Six times seven,\nso 42." and "so 42." in done[0]["error"], done
    assert done[1]["answer"] == "It is 42." and done[1]["reasoning"] is None, done
    assert not [e for e in events(r) if e["type"] == "text" and "seven" in e["text"]]


def test_the_output_that_stands_for_an_answer(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "print(6 * 7)"}]}}] * 4)
    r = sandpiper.run("--json", "go")
    got = events(r)
    assert r.code == 5, r
    assert [e["status"] for e in got if e["type"] == "tool_result"] == ["ok", "ok", "not_run", "not_run"]
    assert got[-2]["status"] == "limit" and got[-2]["answer"] == "42" and "again and again" in got[-2]["error"], got[-2]
    assert "".join(e["text"] for e in got if e["type"] == "text") == "42"
