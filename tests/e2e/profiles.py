"""profiles.py - what particular services refuse, in their own words: Mistral, Workers AI, DeepSeek, llama.cpp (WIRE section 7 and its evidence). A
ModelServer with a profile answers a request that this service would refuse with that service's error, and the test fails. A refusal that
the program may meet once and then has to remember (a parameter) has a name instead, and fails the test only the second time.
"""
import json
import re

NINE = re.compile(r"[A-Za-z0-9]{9}")
ROLES = ("system", "user", "assistant", "tool")


class Refusal(Exception):
    def __init__(self, status, body, parameter=None):
        super().__init__(json.dumps(body))
        self.status, self.body, self.parameter = status, body, parameter


class Profile:
    """check(body) raises a Refusal. call_id names calls as this service does; too_long is its error for a prompt that does not fit."""
    name = "plain"
    reasoning = None            # what each reply thinks, for services that want it back
    counts = False              # refusals are counted by the server, and judged by the test
    arguments_whole = False     # a call comes in one piece

    def call_id(self, number, k):
        return "call_%s_%d" % (number, k + 1)

    def check(self, body):
        pass

    def receive(self, request):
        """The whole request, not its body alone."""
        self.check(request.body)

    # how replies look; answer["number"] tells them apart

    def thoughts(self, answer, parts):
        """Deltas of what is thought before the text."""
        return [{"reasoning_content": part} for part in parts]

    def message(self, answer, message):
        """The last word on a message that is sent whole."""
        return message

    def call(self, answer, call):
        """A call as it is sent: call has index, id, type, function."""
        return call


def calls_of(message):
    return message.get("tool_calls") or []


def previous(messages):
    """Pairs of (index, message, role of the one before)."""
    before = None
    for i, m in enumerate(messages):
        yield i, m, before
        before = m.get("role")


class Mistral(Profile):
    name = "mistral"
    FIELDS = {"model", "messages", "tools", "tool_choice", "stream", "max_tokens", "min_tokens", "temperature", "top_p", "stop", "random_seed",
              "response_format", "safe_prompt", "parallel_tool_calls", "presence_penalty", "frequency_penalty", "n", "prompt_mode", "reasoning_effort"}
    MESSAGE = {"system": {"role", "content"}, "user": {"role", "content"}, "assistant": {"role", "content", "tool_calls", "prefix"},
               "tool": {"role", "content", "tool_call_id", "name"}}
    AFTER = {"system": {None}, "user": {None, "system", "assistant"}, "assistant": {"user", "tool"}, "tool": {"assistant", "tool"}}

    def call_id(self, number, k):
        return ("m%sk%dxxxxxxxxx" % (number, k))[:9]

    def refuse(self, text, kind, code, status=400):
        raise Refusal(status, {"object": "error", "message": text, "type": kind, "param": None, "code": code})

    def forbid(self, place, value, parameter=None):
        detail = [{"type": "extra_forbidden", "loc": ["body", *place], "msg": "Extra inputs are not permitted", "input": value}]
        raise Refusal(422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error", "param": None, "code": None}, parameter)

    def check(self, body):
        for field in set(body) - self.FIELDS:
            self.forbid([field], body[field], field)
        messages = body["messages"]
        open_calls, ids = 0, set()
        for i, m, before in previous(messages):
            role = m.get("role")
            if role not in self.MESSAGE:
                self.refuse("Input tag '%s' found using 'role' does not match any of the expected tags" % role, "invalid_request_error", None, 422)
            for field in set(m) - self.MESSAGE[role]:
                self.forbid(["messages", i, role, field], m[field])
            if before not in self.AFTER[role]:
                self.refuse("Unexpected role '%s' after role '%s'" % (role, before), "invalid_request_message_order", "3230")
            if role != "tool" and open_calls:
                self.refuse("Not the same number of function calls and responses", "invalid_request_message_order", "3230")
            if role == "assistant":
                if not m.get("content") and not calls_of(m):
                    self.refuse("Assistant message must have either content or tool_calls, but not none.", "invalid_request_assistant_message", "3240")
                ids = {c["id"] for c in calls_of(m)}
                open_calls = len(calls_of(m))
                for one in ids:
                    if not NINE.fullmatch(one):
                        self.refuse("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9." % one, "invalid_function_call", "3280")
            if role == "tool":
                open_calls -= 1
                if m.get("tool_call_id") not in ids or open_calls < 0:
                    self.refuse("Unexpected tool call id %s in tool results" % m.get("tool_call_id"), "invalid_request_message_order", "3230")
        if open_calls:
            self.refuse("Not the same number of function calls and responses", "invalid_request_message_order", "3230")
        if messages[-1]["role"] not in ("user", "tool"):
            self.refuse("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", "invalid_request_message_order",
                        "3230")

    too_long = {"status": 400, "json": {"object": "error", "message": "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 "
                                        "maximum context length", "type": "invalid_request_prompt", "param": None, "code": "3051"}}


class WorkersAI(Profile):
    name = "workers-ai"

    def refuse(self, text, code=5006, status=400):
        raise Refusal(status, {"errors": [{"message": "AiError: " + text, "code": code}], "success": False, "result": {}, "messages": []})

    def mismatch(self, what):
        self.refuse("AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', " + what)

    def check(self, body):
        for i, m in enumerate(body["messages"]):
            for field in ("role", "content"):
                if field not in m:
                    self.mismatch("required properties at '/messages/%d' are 'role,content'" % i)
            if not isinstance(m["content"], str):
                kind = {type(None): "null", list: "array", dict: "object"}.get(type(m["content"]), "number")
                self.mismatch("Type mismatch of '/messages/%d/content', '%s' not in 'string'" % (i, kind))
            if m["role"] not in ROLES:
                self.mismatch("'/messages/%d/role' must be one of the roles" % i)
            for c in calls_of(m):
                if not isinstance(c["function"]["arguments"], str):
                    self.mismatch("Type mismatch of '/messages/%d/tool_calls/0/function/arguments', 'object' not in 'string'" % i)
        for i, t in enumerate(body.get("tools") or []):
            f = t["function"]
            if not f.get("description"):
                self.mismatch("required properties at '/tools/%d' are 'name,description,parameters'" % i)
            for name, p in f["parameters"]["properties"].items():
                if not p.get("type") or not p.get("description"):
                    self.mismatch("required properties at '/tools/%d/parameters/properties/%s' are 'type,description'" % (i, name))
        if body.get("tool_choice", "auto") not in ("auto", "none", "required") and not isinstance(body["tool_choice"], dict):
            self.refuse("Invalid input: tool_choice", 8001)

    too_long = {"status": 413, "json": {"errors": [{"message": "AiError: The estimated number of input and maximum output tokens (140000) exceeded this model "
                                                    "context window limit (128000).", "code": 3006}], "success": False, "result": {}, "messages": []}}


class DeepSeek(Profile):
    """thinking: with tool calls its reasoning must come back; the older reasoner refuses it wherever it stands without a call."""
    name = "deepseek"
    reasoning = "I should run this."

    def refuse(self, text, parameter=None):
        raise Refusal(400, {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}}, parameter)

    def check_history(self, body):
        waiting, all_ids = [], set()
        for i, m, before in previous(body["messages"]):
            role = m.get("role")
            if role not in ROLES:
                self.refuse("Failed to deserialize the JSON body into the target type: messages[%d].role: unknown variant `%s`, expected one of `system`, "
                            "`user`, `assistant`, `tool` at line 1 column 40" % (i, role))
            if not isinstance(m.get("content"), str):
                self.refuse("Failed to deserialize the JSON body into the target type: messages[%d]: data did not match any variant of untagged enum "
                            "ChatCompletionRequestContent at line 1 column 90" % i)
            if waiting and role != "tool":
                self.refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
                            "(insufficient tool messages following tool_calls message)")
            if role == "tool":
                if before not in ("assistant", "tool") or m.get("tool_call_id") not in waiting:
                    self.refuse("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
                waiting.remove(m["tool_call_id"])
            if role != "assistant":
                continue
            if not m["content"] and not calls_of(m):
                self.refuse("Invalid assistant message: content or tool_calls must be set")
            waiting = [c["id"] for c in calls_of(m)]
            if all_ids & set(waiting) or len(set(waiting)) < len(waiting):
                self.refuse("Duplicate value for 'tool_call_id' of %s in message[%d]" % (waiting[0], i))
            all_ids |= set(waiting)
        if waiting:
            self.refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
                        "(insufficient tool messages following tool_calls message)")

    def check(self, body):
        self.check_history(body)
        for i, m in enumerate(body["messages"]):
            if m["role"] != "assistant":
                continue
            if calls_of(m) and "reasoning_content" not in m:
                self.refuse("Missing `reasoning_content` field in the assistant message at message index %d. For more information, please refer to "
                            "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls" % i, "reasoning_content")
            if not calls_of(m) and "reasoning_content" in m:
                self.refuse("The reasoning_content is an intermediate result for display purposes only and will not be included in the context for "
                            "inference. Please remove the reasoning_content from your message to reduce network traffic.")

    too_long = {"status": 400, "json": {"error": {"message": "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens "
                                                  "(135904 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
                                                  "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}}}


class LlamaCpp(Profile):
    """--jinja with a strict template (Mistral's or Gemma's way of alternating roles, Qwen's of tools)."""
    name = "llama.cpp"

    def call_id(self, number, k):
        return ("%sL%dzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz" % (number, k))[:32]

    def refuse(self, text, status=400, kind="invalid_request_error"):
        raise Refusal(status, {"error": {"code": status, "message": text, "type": kind}})

    def template(self, text):
        self.refuse("\n------------\nWhile executing CallStatement at line 12, column 28 in source:\n...e or tool_results) %}        {{- raise_exception(...\n"
                    "                                           ^\nError: Jinja Exception: " + text, 500, "server_error")

    def check(self, body):
        messages = body["messages"]
        for i, m, before in previous(messages):
            role, content = m.get("role"), m.get("content")
            if role != "assistant" and content is None:
                self.refuse("All non-assistant messages must contain 'content'")
            if isinstance(content, list) and any(p.get("type") != "text" for p in content):
                self.refuse("unsupported content[].type")
            if role == "assistant" and not content and not calls_of(m):
                self.refuse("Assistant message must contain either 'content' or 'tool_calls'!")
            if role == "system" and i:
                self.template("System message must be at the beginning.")
            if role in ("user", "assistant") and before == role and not (role == "assistant" and calls_of(messages[i - 1])):
                self.template("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.")
            if role == "user" and before == "tool":
                self.template("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.")
            if role == "assistant" and before in (None, "system"):
                self.template("Conversation roles must alternate user/assistant/user/assistant/...")
            for c in calls_of(m):
                try:
                    if not isinstance(json.loads(c["function"]["arguments"]), dict):
                        raise ValueError("no object")
                except (TypeError, ValueError):
                    self.refuse("[json.exception.parse_error.101] parse error at line 1, column 10: syntax error while parsing value - invalid string: missing "
                                "closing quote; last read: '\"print(1'", 500, "server_error")
            if role == "tool" and not m.get("tool_call_id"):
                self.template("Tool messages must have a tool_call_id.")
            if role == "tool" and before not in ("assistant", "tool"):
                self.template("Message has tool role, but there was no previous assistant message with a tool call!")
        if messages[-1]["role"] == "assistant":
            self.refuse("Assistant response prefill is incompatible with enable_thinking.")
        if body.get("tool_choice", "auto") not in ("auto", "none", "required"):
            self.refuse("Invalid tool_choice: " + json.dumps(body["tool_choice"]))

    too_long = {"status": 400, "json": {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type":
                                                  "exceed_context_size_error", "n_prompt_tokens": 140000, "n_ctx": 131072}}}


PROFILES = {p.name: p for p in (Mistral(), WorkersAI(), DeepSeek(), LlamaCpp())}
