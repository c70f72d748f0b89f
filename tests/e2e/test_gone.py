"""test_gone.py - a model that its service has no longer: our default gives way to the next of its list, with one line; a name that the user
gave stops, and the replacement is named. What is only busy is not gone. And a reply of another model than was asked is told.
"""
import pytest

from provider_rows import ROWS, mock, models_of, point, words

FINE = {"answer": {"text": "Fine."}}
LISTS = sorted(n for n in ROWS if len(models_of(ROWS[n])) > 1 and not any("*" in m for m in models_of(ROWS[n])))
OWN = "providers:\n  mine:\n    base_url: %s\n    key_variable: MINE_KEY\n    models: [first, second, third]\nprovider: mine\n"


def error(message, code=None, kind="invalid_request_error", **more):
    return {"error": dict({"message": message, "type": kind, "param": None, "code": code}, **more)}


GONE = [
    ("OpenAI, Groq", 404, error("The model `first` does not exist or you do not have access to it.", "model_not_found")),
    ("Groq", 400, error("The model `first` has been decommissioned and is no longer supported.", "model_decommissioned")),
    ("NVIDIA", 410, {"status": 410, "title": "Gone", "detail": "The model 'first' has reached its end of life on 2026-09-01T00:00:00Z."}),
    ("NVIDIA, in a 400", 400, {"detail": "The model 'first' has reached its end of life and is no longer available."}),
    ("Workers AI", 410, {"success": False, "errors": [{"code": 5028, "message": "AiError: This model was deprecated on 2026-08-30"}], "result": {}, "messages": []}),
    ("Workers AI, in a 400", 400, {"name": "AiError", "internalCode": 5028, "httpCode": 400, "message": "5028: This model was deprecated on 2026-08-30"}),
    ("Fireworks", 404, {"error": {"object": "error", "type": "invalid_request_error", "code": "NOT_FOUND", "message": "Model not found, inaccessible, and/or not deployed"}}),
    ("Together", 400, error("Unable to access non-serverless model first. Please create and start a new dedicated endpoint for the model.", "model_not_available")),
    ("OpenRouter", 404, {"error": {"message": "No endpoints found for first.", "code": 404}, "user_id": "u"}),
    ("Hugging Face", 400, error("The requested model 'first' does not exist", "model_not_found", param="model")),
    ("Ollama", 404, error("model 'first' not found", kind="not_found_error")),
    ("Gemini", 404, [{"error": {"code": 404, "message": "models/first is not found for API version v1main.", "status": "NOT_FOUND"}}]),
    ("Gemini, later", 404, [{"error": {"code": 404, "message": "This model models/first is no longer available.", "status": "NOT_FOUND"}}]),
    ("Azure", 404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}}),
    ("Anthropic", 404, error("model: first", "not_found_error", "not_found_error")),
    ("DeepSeek", 400, error("Model Not Exist", "invalid_request_error")),
    ("Mistral", 400, {"object": "error", "message": "Invalid model: first", "type": "invalid_model", "param": None, "code": "1500"}),
    ("Moonshot", 404, {"error": {"message": "Not found the model first or Permission denied", "type": "resource_not_found_error"}}),
    ("Z.ai", 400, {"error": {"code": "1211", "message": "Unknown Model, please check the model code."}}),
    ("xAI", 404, {"code": "Some requested entity was not found", "error": "The model first does not exist or your team does not have access to it."}),
    ("Cohere", 404, {"id": "x", "message": "model 'first' not found, make sure the correct model ID was used and that you have access to the model."}),
]
BUSY = [(429, error("Rate limit reached for model `first`: it does not exist in unlimited supply", "rate_limit_exceeded")),
        (503, error("The model first is not found on any free machine", "model_not_available"))]
KEPT = [(400, error("'messages' must alternate")), (403, error("You may not use the model first; its end of life is near")),
        (404, error("Invalid URL (POST /v1/chat/completions)"))]


def own(program, server):
    program.url = None
    program.configure(OWN % server.url)
    return {"MINE_KEY": "k"}


def gone_lines(r):
    return [line for line in r.err.splitlines() if "no longer" in line]


@pytest.mark.parametrize("who, status, body", GONE, ids=[g[0] for g in GONE])
def test_the_default_gives_way(sandpiper, serve, who, status, body):
    server = serve(sandpiper, [{"expect": {"model": "first"}, "answer": {"status": status, "json": body}},
                               {"expect": {"model": "second"}, "answer": {"calls": [{"code": "print(6 * 7)"}]}},
                               {"expect": {"model": "second"}, "answer": {"text": "It is 42."}}])
    r = sandpiper.run("how many?", env=own(sandpiper, server))
    assert r.code == 0 and r.out == "It is 42.\n", r
    lines = gone_lines(r)
    assert len(lines) == 1 and "first" in lines[0] and "second" in lines[0], r


@pytest.mark.parametrize("name", LISTS)
def test_each_provider_has_a_second(sandpiper, serve, name):
    """The first model of its row is retired; its mock says so in its words."""
    first, second = models_of(ROWS[name])[:2]
    server = serve(sandpiper, [FINE], profile=mock(name, retired=[first]))
    r = sandpiper.run(*words(name), "well?", env=point(sandpiper, name, server))
    assert r.code == 0 and r.out == "Fine.\n", (r, server.refusals)
    assert len(server.refusals) == 1 + (name == "mistral") and len(gone_lines(r)) == 1, (r, server.refusals)
    assert second in server.requests[-1].path + server.bodies()[-1].get("model", ""), server.requests[-1].path


def test_the_next_but_one(sandpiper, serve):
    gone = {"status": 404, "json": GONE[0][2]}
    server = serve(sandpiper, [{"answer": gone}, {"answer": gone}, dict(FINE, expect={"model": "third"})])
    r = sandpiper.run("well?", env=own(sandpiper, server))
    assert r.code == 0 and r.out == "Fine.\n" and len(gone_lines(r)) == 2, r


def test_the_last_is_told(sandpiper, serve):
    gone = {"answer": {"status": 404, "json": GONE[0][2]}}
    server = serve(sandpiper, [gone, gone, gone])
    r = sandpiper.run("well?", env=own(sandpiper, server))
    assert r.code == 1 and r.out == "" and "third" in r.err and len(server.bodies()) == 3, r


def test_it_is_asked_no_more_in_the_session(sandpiper, serve):
    """A script of two questions: the second goes to the second model at once."""
    server = serve(sandpiper, [{"answer": {"status": 404, "json": GONE[0][2]}}, dict(FINE, expect={"model": "second"}), dict(FINE, expect={"model": "second"})])
    r = sandpiper.run(env=own(sandpiper, server), stdin="one?\ntwo?\n")
    assert r.code == 0 and r.out.count("Fine.") == 2 and len(gone_lines(r)) == 1, r


def test_a_list_that_names_a_model_twice_comes_to_its_end(sandpiper, serve):
    """None of its models is asked again that is gone, neither now nor at the next start."""
    gone = {"answer": {"status": 404, "json": GONE[0][2]}}
    server = serve(sandpiper, [dict(gone, expect={"model": model}) for model in ("first", "second", "first")])
    env = own(sandpiper, server)
    sandpiper.configure((OWN % server.url).replace("third", "first"))
    r = sandpiper.run("go", env=env)
    assert r.code == 1 and len(server.requests) == 2 and len(gone_lines(r)) == 1, (r, server.requests)
    r = sandpiper.run("go", env=env)
    assert r.code == 1 and len(server.requests) == 3, (r, server.requests)


def test_a_pattern_that_the_gone_model_matches_too(sandpiper, serve):
    """The service still lists it, before another that the next pattern names."""
    server = serve(sandpiper, [{"expect": {"model": "first-large"}, "answer": {"status": 404, "json": GONE[0][2]}},
                               dict(FINE, expect={"model": "first-small"})])
    server.others["/v1/models"] = {"object": "list", "data": [{"id": name, "object": "model"} for name in ("first-large", "first-small")]}
    env = own(sandpiper, server)
    sandpiper.configure((OWN % server.url).replace("first, second, third", "'*first-large*', '*first*'"))
    r = sandpiper.run("well?", env=env)
    assert r.code == 0 and r.out == "Fine.\n" and len(gone_lines(r)) == 1, r


def test_models_marks_the_one_that_a_pattern_finds(sandpiper, serve):
    """The service's order decides, as when a question is asked."""
    server = serve(sandpiper, [dict(FINE, expect={"model": "z-first-large"})])
    server.others["/v1/models"] = {"object": "list", "data": [{"id": name, "object": "model"} for name in ("other", "z-first-large", "a-first-small")]}
    env = own(sandpiper, server)
    sandpiper.configure((OWN % server.url).replace("first, second, third", "'*none*', '*first*'"))
    r = sandpiper.run("models", env=env)
    assert [line.split()[0] for line in r.out.splitlines() if line.endswith(" default")] == ["z-first-large"], r
    assert sandpiper.run("well?", env=env).out == "Fine.\n"


@pytest.mark.parametrize("status, body", BUSY, ids=["429", "503"])
def test_busy_is_not_gone(sandpiper, serve, status, body):
    server = serve(sandpiper, [{"answer": {"status": status, "json": body, "headers": {"Retry-After-Ms": "50"}}}, dict(FINE, expect={"model": "first"})])
    r = sandpiper.run("well?", env=own(sandpiper, server))
    assert r.code == 0 and r.out == "Fine.\n" and not gone_lines(r), r


@pytest.mark.parametrize("status, body", KEPT, ids=["400", "403", "404"])
def test_another_refusal_is_not_gone(sandpiper, serve, status, body):
    server = serve(sandpiper, [{"expect": {"model": "first"}, "answer": {"status": status, "json": body}}])
    r = sandpiper.run("well?", env=own(sandpiper, server))
    assert r.code in (1, 77) and len(server.bodies()) == 1, r


@pytest.mark.parametrize("model, instead, body", [
    ("llama-3.3-70b-versatile", "openai/gpt-oss-120b", None),                   # known beforehand
    ("qwen-9", "qwen/qwen3.8-27b", error("The model `qwen-9` has been decommissioned. Use qwen/qwen3.8-27b instead.", "model_decommissioned")),
    ("gpt-oss-12b", "openai/gpt-oss-120b", None),                               # the nearest of its list
], ids=["table", "error", "list"])
def test_a_name_of_the_user_stops(sandpiper, serve, model, instead, body):
    """-m: nothing else is asked in its place; the replacement is named, however it is known."""
    service = mock("groq", retired=[model])
    server = serve(sandpiper, [{"answer": {"status": 400, "json": body}}] if body else [], profile=service)
    if body:
        service.retired, service.models = set(), ()
    r = sandpiper.run("--provider", "groq", "-m", model, "well?", env=point(sandpiper, "groq", server))
    assert r.code == 1 and r.out == "" and len(server.bodies()) == 1, r
    assert model in r.err and instead in r.err and "-m " in r.err and len(r.err.splitlines()) <= 3, r


def test_in_the_environment_it_is_the_users_too(sandpiper, serve):
    server = serve(sandpiper, [], profile=mock("groq"))
    env = dict(point(sandpiper, "groq", server), SANDPIPER_PROVIDER="groq", SANDPIPER_MODEL="llama-3.3-70b-versatile")
    r = sandpiper.run("well?", env=env)
    assert r.code == 1 and "openai/gpt-oss-120b" in r.err and len(server.bodies()) == 1, r


# ---- another model answers

@pytest.mark.parametrize("asked, answered, told", [
    ("gemini-2.5-flash", "gemini-3.5-flash-lite", True),
    ("glm-5.3", "glm-5.3-flash", True),
    ("gpt-6-luna", "gpt-6-luna-2026-10-01", False),
    ("claude-haiku-5-5", "claude-haiku-5-5-20260801", False),
    ("openai/gpt-oss-120b", "gpt-oss-120b", False),
    ("mistral-small-latest", "mistral-small-2603", False),
    ("first", "first", False),
])
def test_another_model_is_told_once(sandpiper, serve, asked, answered, told):
    server = serve(sandpiper, [{"answer": {"calls": [{"code": "print(1)"}], "model": answered}}, {"answer": {"text": "Fine.", "model": answered}}])
    env = own(sandpiper, server)
    sandpiper.configure((OWN % server.url).replace("    base_url", "    allow_insecure: true\n    base_url"))
    r = sandpiper.run("-m", asked, "well?", env=env)
    assert r.code == 0 and r.out == "Fine.\n", r
    lines = [line for line in r.err.splitlines() if "The service answered with" in line]
    assert len(lines) == int(told) and (not told or (asked in lines[0] and answered in lines[0])), r
