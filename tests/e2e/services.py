"""services.py - mocks of whole model services, for the tests of providers: each stands for one service as it was in November 2026, and
refuses what that one refuses, in its words and its envelope: a wrong key, a path that is not there, a model that it does not serve (any
more), a field that it does not know, a history that it does not take. What it ignores is ignored.

Two kinds of wrong are told apart. A Refusal is sent to the program as the service would send it, and counted by the server (its
refusals): the test says how many may be. What a service does not refuse but asks for in its documents (thoughts back, a switch without
which a long call is minutes of silence) is a line of wants(), and fails the test.

A mock remembers what it gave: thoughts and signatures are compared with what comes back.
"""
import json
import re
from urllib.parse import urlsplit

from profiles import Profile, Refusal, calls_of

CHAT_FIELDS = {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "max_tokens",
               "max_completion_tokens", "temperature", "top_p", "stop", "seed", "n", "user", "response_format", "presence_penalty",
               "frequency_penalty", "logprobs", "top_logprobs", "reasoning_effort"}


class Service(Profile):
    """Bearer key, chat completions, OpenAI's envelope; the classes below say where theirs differs."""
    counts = True
    reasoning = "I should run this."
    home = None                     # the base URL of the real one
    key_variable = None             # with the key for it; None: it needs none
    key_header = "authorization"
    models = ()                     # what it serves; the first is our default. Empty: whatever is asked for
    paths = ("/chat/completions",)
    fields = CHAT_FIELDS            # None: it ignores what it does not know
    thoughts_in = "reasoning_content"
    efforts = ()                    # those that it takes; empty: any
    in_effect = {}                  # asked for -> what must then be in effect
    title = None                    # of the second and further rows of one service

    def __init__(self, key="test-key", retired=()):
        self.key, self.retired = key, set(retired)
        self.demands = True             # False: a program that cannot know which service it talks to
        self.said = {}                  # (model, id of a call or text) -> what was thought before it

    # ---- who asks, and for what

    @property
    def base(self):
        """The path of the base URL."""
        return urlsplit(self.home).path.rstrip("/")

    def receive(self, request):
        """Raises a Refusal; returns what is wrong without being refused."""
        self.check_key(request.headers)
        self.check_path(request.path)
        self.check_model(self.model_of(request))
        for field in sorted(set(request.body) - self.fields) if self.fields and "messages" in request.body else ():
            self.unknown(field, request.body[field])
        self.check_effort(self.effort(request.body))
        self.check(request.body)
        return self.wants(request.body) if self.demands else []

    def check_key(self, headers):
        if not self.key_variable:
            return
        sent = headers.get(self.key_header, "")
        if sent != ("Bearer " + self.key if self.key_header == "authorization" else self.key):
            self.denied(sent)

    def check_path(self, path):
        if path.partition("?")[0] not in [self.base + p for p in self.paths]:
            raise Refusal(404, {"error": {"message": "Invalid URL (POST %s)" % path, "type": "invalid_request_error", "param": None, "code": None}})

    def model_of(self, request):
        return request.body.get("model")

    def check_model(self, model):
        if model in self.retired:
            self.gone(model)
        if self.models and model not in self.models:
            self.no_model(model)

    def effort(self, body):
        """How long it is told to think, in effect; None: nothing is said of it."""
        return body.get("reasoning_effort", (body.get("reasoning") or {}).get("effort"))

    def check_effort(self, effort):
        if effort is not None and self.efforts and effort not in self.efforts:
            self.bad_effort(effort)

    def listing(self, request):
        self.check_key(request.headers)
        if request.path.partition("?")[0] != self.base + "/models":
            raise Refusal(404, {"error": {"message": "Not found"}})
        listed = [m for m in self.models if m not in self.retired] or ["test-model"]
        return {"json": {"object": "list", "data": [{"id": m, "object": "model"} for m in listed]}}

    def aside(self, request):
        """An answer that is no reply of the model, or None."""
        return None

    # ---- refusals, in OpenAI's words

    def refuse(self, text, status=400, code=None, param=None, kind="invalid_request_error"):
        raise Refusal(status, {"error": {"message": text, "type": kind, "param": param, "code": code}})

    def denied(self, sent):
        self.refuse("Incorrect API key provided.", 401, "invalid_api_key")

    def no_model(self, model):
        self.refuse("The model `%s` does not exist or you do not have access to it." % model, 404, "model_not_found")

    def gone(self, model):
        self.no_model(model)

    def unknown(self, field, value):
        self.refuse("Unrecognized request argument supplied: %s" % field)

    def bad_effort(self, effort):
        self.refuse("Unsupported value: 'reasoning_effort' does not support '%s' with this model. Supported values are: %s." % (
            effort, ", ".join("'%s'" % e for e in self.efforts)), code="unsupported_value", param="reasoning_effort")

    # ---- what was given, and whether it is back

    def thoughts(self, answer, parts):
        return [{self.thoughts_in: part} for part in parts] if self.thoughts_in else []

    def give(self, answer, body, calls):
        """Before a reply is sent."""
        for key in [call["id"] for call in calls] or [answer.get("text")]:
            self.said[body.get("model"), key] = self.kept(answer)

    def kept(self, answer):
        """What must come back of what is thought in an answer."""
        return answer.get("reasoning")

    def given(self, body, message):
        """What the model that is asked now thought before this message of the history, or None."""
        calls = calls_of(message)
        return self.said.get((body["model"], calls[0]["id"] if calls else message.get("content")))

    def wants(self, body):
        return []

    def wants_thoughts(self, body, field):
        """field holds what was thought, word for word, in each message of the model that is asked."""
        out = []
        for i, m in enumerate(body.get("messages") or []):
            was = self.given(body, m) if m.get("role") == "assistant" else None
            if was and m.get(field) != was:
                out.append("messages[%d].%s is %r; given was %r" % (i, field, m.get(field), was))
        return out


def newest_question(messages):
    """The index of the last user message: what stands behind it is the step that is under way."""
    return max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=0)


def reasoning_details(text, signature=None, style="anthropic-claude-v1"):
    """Thoughts as OpenRouter and MiniMax give them."""
    item = {"type": "reasoning.text", "text": text, "format": style, "index": 0}
    return [dict(item, signature=signature)] if signature else [item]


def all_services():
    """name of a provider -> its mock's class."""
    import services_hosts
    import services_labs
    import services_local
    found = {}
    for module in (services_labs, services_hosts, services_local):
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, Service) and thing.__dict__.get("name"):
                found[thing.name] = thing
    return found


def dated(model):
    """gpt-6-luna-2026-10-01 is gpt-6-luna."""
    return re.sub(r"-\d{4}-\d{2}-\d{2}$", "", model)


def same_json(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
