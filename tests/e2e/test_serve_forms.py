"""test_serve_forms.py - answers that a program reads: response_format (text.format in Responses) is checked, asked for once more, and then an error."""
import json

import pytest

from openai_server import call, done, start, user         # noqa: F401 (start is a fixture)
from serving import sse

PLACE = {"type": "object", "required": ["city", "size"], "additionalProperties": False,
         "properties": {"city": {"type": "string"}, "size": {"$ref": "#/$defs/size"}}, "$defs": {"size": {"type": "integer", "minimum": 1}}}
FORM = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": PLACE}}
GOOD = '{"city": "Ulm", "size": 126000}'


def complete(server, *messages, status=200, **more):
    return server.ask("/v1/chat/completions", {"messages": list(messages), **more}, status)


def text_of(answer):
    return answer["choices"][0]["message"]["content"]


def test_an_answer_in_its_form(start):
    """The model is told the schema, computes as ever, and may put a fence around what it says."""
    server, model = start(call("100 + 26", text="Let me compute."), done("```json\n%s\n```" % GOOD), done(GOOD))
    got = complete(server, user("Ulm?"), response_format=FORM)
    assert text_of(got) == GOOD and got["choices"][0]["finish_reason"] == "stop" and got["sandpiper"]["steps"][0]["output"] == "126", got
    assert json.dumps(PLACE, separators=(",", ":")) in model.requests[0].messages[0]["content"]
    more = complete(server, user("Ulm?"), {"role": "assistant", "content": text_of(got)}, user("again"), response_format=FORM)
    assert text_of(more) == GOOD and more["sandpiper"]["new_interpreter"] is False, more
    assert model.requests[-1].messages[0] == model.requests[0].messages[0]


def test_asked_once_more(start):
    """With what was wrong. The words that were no answer are not in the conversation that goes on, nor in a stream."""
    server, model = start(done("Ulm has 126000."), done(GOOD, roles="system user assistant user"), done('{"city": "Ulm"}'), call("1"), done(GOOD), done("Plain."))
    got = complete(server, user("Ulm?"), response_format=FORM)
    assert text_of(got) == GOOD and got["usage"]["total_tokens"] == 60, got
    assert model.requests[1].messages[-2]["content"] == "Ulm has 126000." and "is not one JSON value" in model.requests[1].messages[-1]["content"]
    talk = [user("Ulm?"), {"role": "assistant", "content": GOOD}, user("more")]
    r = server.open("/v1/chat/completions", {"messages": talk, "response_format": FORM, "stream": True})
    chunks = [data for _, data in sse(r)]
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks[:-1]) == GOOD, chunks
    assert "answer.size: is missing" in model.requests[3].messages[-1]["content"]
    assert [m["role"] for m in model.requests[4].messages] == ["system", "user", "assistant", "user", "assistant", "tool"]
    talk += [{"role": "assistant", "content": GOOD}, user("in words")]
    assert text_of(complete(server, *talk)) == "Plain." and "JSON schema" not in model.requests[-1].messages[0]["content"]


def test_an_answer_that_never_fits(start):
    wrong = '{"city": "Ulm", "size": "big"}'
    server, model = start(done(wrong), done(wrong), done("x"), done("y"), done(GOOD))
    error = complete(server, user("Ulm?"), response_format=FORM, status=502)["error"]
    assert error["message"] == "test-model gave no answer in the form that was asked for: answer.size: must be an integer", error
    r = server.open("/v1/chat/completions", {"messages": [user("Ulm?")], "response_format": {"type": "json_object"}, "stream": True})
    assert r.status == 502 and "is not one JSON value" in json.load(r)["error"]["message"] and r.headers["x-should-retry"] == "false"
    assert len(model.requests) == 4 and text_of(complete(server, user("Ulm?"), response_format=FORM)) == GOOD


def test_only_json(start):
    """json_object: an object, whatever is in it; a list is none."""
    server, model = start(done("[1]"), done('{"a": [1, null]}'))
    assert text_of(complete(server, user("q"), response_format={"type": "json_object"})) == '{"a": [1, null]}'
    assert "answer: must be an object" in model.requests[1].messages[-1]["content"]


def test_what_is_not_checked_is_said(start):
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date", "pattern": "^2"}}}
    server, _ = start(done('{"day": "x"}'))
    got = complete(server, user("q"), response_format={"type": "json_schema", "json_schema": {"name": "d", "schema": schema}})
    assert got["sandpiper"]["unchecked"] == ["pattern", "format"], got


@pytest.mark.parametrize("form, said", [
    ({"type": "xml"}, "response_format: its type must be text, json_object or json_schema, the last with the schema"),
    ({"type": "json_schema"}, "response_format: its type must be text, json_object or json_schema, the last with the schema"),
    ("json", "response_format: its type must be text, json_object or json_schema, the last with the schema"),
    ({"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#/nowhere"}}},
     'response_format: the schema has no #/nowhere: "$ref" may point only into the schema itself'),
    ({"type": "json_schema", "json_schema": {"name": "x", "schema": {"title": "x" * 70000}}}, "response_format: the schema is longer than 64 KiB"),
])
def test_a_form_that_is_none(start, form, said):
    server, model = start()
    error = complete(server, user("q"), response_format=form, status=400)["error"]
    assert (error["message"], error["param"]) == (said, "response_format") and not model.requests, error


def test_in_responses(start):
    server, _ = start(done("Ulm"), done(GOOD), call("1"), done(GOOD))
    form = {"format": {"type": "json_schema", "name": "place", "strict": True, "schema": PLACE}}
    got = server.ask("/v1/responses", {"input": "Ulm?", "text": form})
    assert got["output"][-1]["content"][0]["text"] == GOOD and got["text"] == form, got
    events = list(sse(server.open("/v1/responses", {"input": "Ulm?", "text": form, "stream": True})))
    assert "".join(data["delta"] for name, data in events if name == "response.output_text.delta") == GOOD and events[-1][0] == "response.completed"
    assert server.ask("/v1/responses", {"input": "q", "text": {"format": {"type": "x"}}}, 400)["error"]["param"] == "text.format"
