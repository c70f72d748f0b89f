"""test_serve_tools.py - the client's own tools: a call of one is handed back as OpenAI does, beside the code that runs inside; its result goes on in the
same sandbox."""
import json

import pytest

from openai_server import call, done, start, user         # noqa: F401 (start is a fixture)
from serving import sse

WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
OTHER = {"type": "function", "function": {"name": "other", "parameters": {"type": "object", "properties": {}}}}


def asks(city="Ulm", id="call_w", text=None, code=None, name="get_weather", arguments=None):
    """A reply that calls get_weather, and runs code before it."""
    calls = [{"code": code}] if code else []
    return {"answer": {"calls": [*calls, {"id": id, "name": name, "arguments": {"city": city} if arguments is None else arguments}], **({"text": text} if text else {})}}


def complete(server, messages, status=200, tools=(WEATHER,), **more):
    return server.ask("/v1/chat/completions", {"messages": messages, "tools": list(tools), **more}, status)


def message_of(answer):
    return answer["choices"][0]["message"]


def result(text, id="call_w"):
    return {"role": "tool", "tool_call_id": id, "content": text}


def test_a_call_and_its_result(start):
    """The code before and after it runs in one interpreter; the model hears the result where the call was."""
    server, model = start(call("x = 41"), asks(code="x + 1", text="Let me look."), call("x"), done("12 degrees and 41."))
    got = complete(server, [user("q")])
    choice = got["choices"][0]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] == "Let me look.", got
    assert choice["message"]["tool_calls"] == [{"id": "call_w", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Ulm"}'}}], got
    assert [t["function"]["name"] for t in model.requests[0].body["tools"]] == ["execute_python", "get_weather"]
    assert [s["output"][:2] for s in got["sandpiper"]["steps"]] == ["(n", "42"] and got["sandpiper"]["status"] == "calls", got
    more = complete(server, [user("q"), choice["message"], result("12 degrees")])
    assert message_of(more)["content"] == "12 degrees and 41." and more["choices"][0]["finish_reason"] == "stop", more
    assert more["sandpiper"]["steps"][0]["output"] == "41" and more["sandpiper"]["new_interpreter"] is False, more
    roles = [(m["role"], m.get("tool_call_id")) for m in model.requests[2].messages]
    assert [r for r, _ in roles] == ["system", "user", "assistant", "tool", "assistant", "tool", "tool"] and roles[-1][1] == "call_w"
    assert model.requests[2].messages[-1]["content"] == "12 degrees"


def test_several_calls_as_chunks(start):
    """Their results may come in any order."""
    two = {"answer": {"calls": [{"id": "a", "name": "get_weather", "arguments": {"city": "A"}}, {"code": "1"}, {"id": "b", "name": "get_weather", "arguments": {}}]}}
    server, model = start(two, done("Both."))
    r = server.open("/v1/chat/completions", {"messages": [user("q")], "tools": [WEATHER], "stream": True, "stream_options": {"include_usage": True}})
    chunks = [data for _, data in sse(r)]
    (calls,) = [c["choices"][0]["delta"]["tool_calls"] for c in chunks[:-1] if c["choices"] and "tool_calls" in c["choices"][0]["delta"]]
    assert [(c["index"], c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls] == [
        (0, "a", "get_weather", {"city": "A"}), (1, "b", "get_weather", {})], calls
    assert [c["choices"][0]["finish_reason"] for c in chunks[:-2]][-1] == "tool_calls" and chunks[-2]["usage"]["total_tokens"] == 30
    said = {"role": "assistant", "content": None, "tool_calls": [{k: v for k, v in c.items() if k != "index"} for c in calls]}
    more = complete(server, [user("q"), said, result("of b", "b"), result([{"type": "text", "text": "of a"}], "a")])
    assert message_of(more)["content"] == "Both." and more["sandpiper"]["new_interpreter"] is False, more
    assert [m["content"] for m in model.requests[1].messages[3:]] == ["of a", "1", "of b"]


def test_a_history_of_calls(start):
    """A server that does not know the conversation makes it of what the client sends."""
    server, model = start(done("Warm."), done("Sure."))
    said = {"role": "assistant", "content": "", "tool_calls": [{"id": "x1", "type": "function", "function": {"name": "gone", "arguments": "{}"}}]}
    messages = [user("q"), said, result("cold", "x1"), {"role": "assistant", "content": "Cold."}, user("and now?"),
                {**said, "tool_calls": [{**said["tool_calls"][0], "id": "x2"}]}, result("warm", "x2")]
    got = complete(server, messages)
    assert message_of(got)["content"] == "Warm." and got["sandpiper"]["new_interpreter"] is True, got
    assert [m["role"] for m in model.requests[0].messages] == ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    assert model.requests[0].messages[-1]["content"].startswith("warm\n\n[This conversation goes on in a new interpreter")
    assert message_of(complete(server, [*messages, message_of(got), user("sure?")]))["content"] == "Sure."


def test_the_user_speaks_beside_the_result(start):
    server, model = start(asks(), done("Fine."))
    got = complete(server, [user("q")])
    more = complete(server, [user("q"), message_of(got), result("12"), user("in Kelvin")])
    assert message_of(more)["content"] == "Fine." and more["sandpiper"]["new_interpreter"] is False
    assert model.requests[1].messages[-1] == user("in Kelvin")


def test_a_call_that_must_be(start):
    """tool_choice: words alone are asked for again as a call; only the one that is named is offered."""
    server, model = start(call("6 * 7"), done("It is 42."), asks(arguments={"city": "42"}), done("No."), done("Never."))
    named = {"type": "function", "function": {"name": "get_weather"}}
    got = complete(server, [user("q")], tools=[OTHER, WEATHER], tool_choice=named)
    assert json.loads(message_of(got)["tool_calls"][0]["function"]["arguments"]) == {"city": "42"} and message_of(got)["content"] is None, got
    assert [t["function"]["name"] for t in model.requests[0].body["tools"]] == ["execute_python", "get_weather"]
    assert "A program waits for a call of get_weather" in model.requests[0].messages[0]["content"]
    assert model.requests[2].messages[-1]["content"] == "Words do not reach the program. Call get_weather now."
    error = complete(server, [user("q")], 502, tools=[OTHER, WEATHER], tool_choice="required")["error"]
    assert error["message"] == "test-model answered in words and did not call other or get_weather", error


def test_none_and_one(start):
    """tool_choice none offers none of them; parallel_tool_calls false hands back one."""
    both = {"answer": {"calls": [{"id": i, "name": "get_weather", "arguments": {"city": i}} for i in "ab"]}}
    server, model = start(done("No tools."), both, done("One."))
    assert message_of(complete(server, [user("q")], tool_choice="none"))["content"] == "No tools."
    assert [t["function"]["name"] for t in model.requests[0].body["tools"]] == ["execute_python"]
    got = complete(server, [user("p")], parallel_tool_calls=False)
    assert [c["id"] for c in message_of(got)["tool_calls"]] == ["a"]
    complete(server, [user("p"), message_of(got), result("12", "a")], parallel_tool_calls=False)
    assert [m["content"] for m in model.requests[2].messages[3:]] == ["12", "Not run: one call at a time. Send it again if it is still needed."]


def test_arguments_of_a_strict_tool(start):
    strict = {"type": "function", "function": {**WEATHER["function"], "strict": True}}
    server, model = start(asks(arguments={"town": "Ulm"}), asks())
    got = complete(server, [user("q")], tools=[strict])
    assert message_of(got)["tool_calls"][0]["function"]["arguments"] == '{"city":"Ulm"}'
    assert model.requests[1].messages[-1]["content"] == "city: is missing"


def test_form_and_tools(start):
    """The answer is held to its form, a call is not."""
    form = {"type": "json_object"}
    server, _ = start(asks(text="Looking."), done("{}"))
    got = complete(server, [user("q")], response_format=form)
    assert got["choices"][0]["finish_reason"] == "tool_calls"
    assert message_of(complete(server, [user("q"), message_of(got), result("x")], response_format=form))["content"] == "{}"


def test_a_model_that_writes_its_code(start):
    server, _ = start(args=("--dialect", "blocks"))
    error = complete(server, [user("q")], 422)["error"]
    assert error["message"].startswith("test-model writes its code as text, so it cannot call the tools of a client"), error


def test_a_service_that_fails_meanwhile(start):
    """The result can be sent again."""
    server, model = start(asks(), {"answer": {"status": 400, "json": {"error": {"message": "no"}}}}, done("Now."))
    said = message_of(complete(server, [user("q")]))
    talk = [user("q"), said, result("12")]
    complete(server, talk, 502)
    got = complete(server, talk)
    assert message_of(got)["content"] == "Now." and got["sandpiper"]["new_interpreter"] is False, got
    assert [m["role"] for m in model.requests[2].messages] == ["system", "user", "assistant", "tool"]


SAID = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
BROKEN = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "[1]"}}]}


@pytest.mark.parametrize("messages, more, param, said", [
    ([user("q"), SAID], {}, "messages[1]", "the call a before it has no result"),
    ([user("q"), SAID, user("p")], {}, "messages[2]", "the call a before it has no result"),
    ([user("q"), result("x")], {}, "messages[1]", "it is the result of no call of the message before"),
    ([user("q"), SAID, result("x", "a"), result("x", "a")], {}, "messages[3]", "it is the result of no call of the message before"),
    ([user("q"), SAID, {"role": "function", "name": "f", "content": "x"}], {}, "messages[2]", "give functions as tools, and their results as messages of the role tool"),
    ([user("q"), BROKEN], {}, "messages[1]", "the arguments of a call must be the text of a JSON object"),
    ([user("q")], {"tools": [{"type": "web_search"}]}, "tools[0]", "only functions: the server runs Python itself"),
    ([user("q")], {"tools": [WEATHER, WEATHER]}, "tools[1]", "another one has this name"),
    ([user("q")], {"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0]", "its name must be of 1 to 64 letters, digits, _ and -"),
    ([user("q")], {"tool_choice": {"type": "function", "function": {"name": "nope"}}}, "tool_choice", "there is no such function among the tools"),
    ([user("q")], {"tools": [], "tool_choice": "required"}, "tool_choice", "required, but there are no functions among the tools"),
    ([user("q")], {"functions": [{"name": "f"}]}, "functions", "give functions as tools, and their results as messages of the role tool"),
    ([user("q")], {"n": 2}, "n", "only one answer is given per request; send the request again for another"),
])
def test_what_is_refused(start, messages, more, param, said):
    server, model = start()
    error = complete(server, messages, 400, **{"tools": [WEATHER], **more})["error"]
    assert (error["param"], error["message"]) == (param, param + ": " + said) and not model.requests, error


def test_tools_that_are_no_list(start):
    server, _ = start()
    assert server.ask("/v1/chat/completions", {"messages": [user("q")], "tools": "x"}, 400)["error"]["message"] == "tools: must be a list"


def test_the_name_of_the_servers_own_tool(start):
    server, _ = start()
    tool = {"type": "function", "function": {"name": "execute_python"}}
    assert "is the name of a tool of the server itself" in complete(server, [user("q")], 422, tools=[tool])["error"]["message"]


# ------------------------------------------------------------------------------------------------------------------------------ Responses

FLAT = {"type": "function", **WEATHER["function"]}


def test_in_responses(start):
    """Calls are items; the client sends them back, or only their results with previous_response_id."""
    server, model = start(call("x = 1"), asks(), done("12."), asks(id="call_v", text="Looking."), call("x"), done("Still 12."))
    got = server.ask("/v1/responses", {"input": "q", "tools": [FLAT], "store": False})
    (item,) = got["output"]
    assert (item["type"], item["call_id"], item["name"], item["arguments"], item["status"]) == (
        "function_call", "call_w", "get_weather", '{"city":"Ulm"}', "completed") and got["status"] == "completed", got
    talk = [user("q"), item, {"type": "function_call_output", "call_id": "call_w", "output": "12"}]
    more = server.ask("/v1/responses", {"input": talk, "tools": [FLAT]})
    assert more["output"][0]["content"][0]["text"] == "12." and more["sandpiper"]["new_interpreter"] is False, more
    assert [m["role"] for m in model.requests[2].messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    r = server.open("/v1/responses", {"input": "again", "tools": [FLAT], "previous_response_id": more["id"], "stream": True})
    events = list(sse(r))
    kinds = [name[9:] for name, _ in events]
    tail = ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done", "completed"]
    assert kinds[-5:] == tail, kinds
    final = events[-1][1]["response"]
    assert [i["type"] for i in final["output"]] == ["message", "function_call"] and events[-3][1]["arguments"] == '{"city":"Ulm"}'
    assert events[-5][1]["item"]["arguments"] == "" and final["output"][1]["arguments"] == '{"city":"Ulm"}'
    body = {"tools": [FLAT], "previous_response_id": final["id"], "input": [{"type": "function_call_output", "call_id": "call_v", "output": "12"}]}
    wrong = server.ask("/v1/responses", {**body, "input": [{**body["input"][0], "call_id": "nope"}]}, 422)
    assert "made no call with the id nope" in wrong["error"]["message"], wrong
    last = server.ask("/v1/responses", body)
    assert last["output"][0]["content"][0]["text"] == "Still 12." and last["sandpiper"]["steps"][0]["output"] == "1", last


@pytest.mark.parametrize("whole", [True, False])
def test_a_sandbox_that_gave_way_meanwhile(start, whole):
    """The result goes on in another one, in which the code has run again, whoever keeps the conversation."""
    server, model = start(call("x = 5"), asks(), call("x"), done("Five."), args=("--max-sandboxes", "1"))
    got = server.ask("/v1/responses", {"input": "q", "tools": [FLAT]})
    box = server.ask("/create_sandbox", {})["sandbox_id"]
    server.ask("/stop_sandbox", {"sandbox_id": box})
    came = {"type": "function_call_output", "call_id": "call_w", "output": "12"}
    more = {"input": [user("q"), got["output"][0], came]} if whole else {"input": [came], "previous_response_id": got["id"]}
    last = server.ask("/v1/responses", {**more, "tools": [FLAT]})
    assert last["sandpiper"]["steps"][0]["output"] == "5" and last["output"][-1]["content"][0]["text"] == "Five.", last
    asked = model.requests[2].messages
    assert [m["role"] for m in asked] == ["system", "user", "assistant", "tool"], asked
    assert asked[-1]["content"].startswith("12\n\n[This conversation goes on in a new interpreter: its code was run again (1 run)"), asked
