"""services_labs.py - mocks of the services of those who make the models: OpenAI, Azure, Anthropic, xAI, Gemini, DeepSeek, Moonshot, Z.ai,
MiniMax, Mistral, Cohere. See services.py.
"""
import profiles
from profiles import Refusal, calls_of
from services import CHAT_FIELDS, Service, dated, newest_question, reasoning_details, same_json


class OpenAI(Service):
    """The rules of gpt-6: it thinks, so no temperature and no stop; tools are for /v1/responses, or for effort none. astra, 6.1-sol and all of
    6.2 always think."""
    name = "openai"
    home = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    models = ("gpt-6-luna", "gpt-6.1-terra", "gpt-6-sol", "gpt-6-astra", "gpt-6.1-sol", "gpt-6.2-sol", "gpt-6.2-astra")
    paths = ("/chat/completions", "/responses")
    fields = CHAT_FIELDS | {"store", "metadata", "service_tier", "verbosity", "prompt_cache_key"}
    efforts = ("none", "low", "medium", "high", "xhigh", "max")
    in_effect = {"low": "low", "high": "high", "none": "none"}
    thoughts_in = None              # chat completions never show them

    def check_model(self, model):
        super().check_model(dated(model or ""))

    def unsupported(self, field):
        instead = {"max_tokens": " Use 'max_completion_tokens' instead."}.get(field, "")
        self.refuse("Unsupported parameter: '%s' is not supported with this model.%s" % (field, instead), code="unsupported_parameter", param=field)

    def check(self, body):
        model, effort = body["model"], self.effort(body)
        if effort == "none" and ("astra" in model or "gpt-6.1-sol" in model or "gpt-6.2" in model):
            self.refuse("Unsupported value: 'none' is not supported with the '%s' model." % model, code="unsupported_value", param="reasoning_effort")
        for field in ("stop", "temperature", "top_p") if effort != "none" else ("stop",):
            if field in body:
                self.unsupported(field)
        if "messages" not in body:
            return
        if "max_tokens" in body:
            self.unsupported("max_tokens")
        if body.get("tools") and effort != "none":
            self.refuse("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. To use function tools, use "
                        "/v1/responses or set reasoning_effort to 'none'." % model, param="reasoning_effort")

    def wants(self, body):
        if "input" in body and "reasoning.encrypted_content" not in (body.get("include") or []) and self.effort(body) != "none":
            return ["without include reasoning.encrypted_content its thoughts are lost from call to call"]
        return self.dropped(body)

    read = ()                       # the input of the last request, its instructions and tools in front

    def dropped(self, body):
        """Thoughts behind an edit of what was sent before are dropped, without a word."""
        old, self.read = self.read, [body.get("instructions"), body.get("tools")] + list(body.get("input") or [])
        same = next((i for i, (a, b) in enumerate(zip(old, self.read)) if a != b), len(old))
        lost = [i for i, item in enumerate(self.read) if i >= same and isinstance(item, dict) and item.get("type") == "reasoning" and item in old]
        return ["the thoughts of %d items are dropped: item %d was changed" % (len(lost), same - 2)] if lost else []


class OpenAIResponses(OpenAI):
    name = "openai-responses"


class Azure(OpenAI):
    """The same behind deployments of any name, with the key in a header of its own."""
    name = "azure"
    home = "https://mine.openai.azure.com/openai/v1"
    key_variable = "AZURE_OPENAI_API_KEY"
    key_header = "api-key"
    models = ()

    def denied(self, sent):
        raise Refusal(401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key or wrong API endpoint."}})

    def gone(self, model):
        raise Refusal(404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}})


class Anthropic(Service):
    """The layer for OpenAI's clients: it shows no thoughts, ignores what it does not know."""
    name = "anthropic"
    home = "https://api.anthropic.com/v1"
    key_variable = "ANTHROPIC_API_KEY"
    models = ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5", "claude-opus-5-5")
    fields = None
    thoughts_in = None
    types = {"claude-sonnet-5-5": ("adaptive", "between_tools"), "claude-opus-5-5": ("adaptive",)}      # of thinking
    in_effect = {"none": "none", "high": None}

    def effort(self, body):
        return "none" if (body.get("thinking") or {}).get("type") in ("disabled", "between_tools") else None

    def refuse(self, text, status=400, kind="invalid_request_error", **more):
        raise Refusal(status, {"error": {"code": kind, "message": text, "type": kind, "param": None}})

    def denied(self, sent):
        self.refuse("Invalid bearer token", 401, "authentication_error")

    def no_model(self, model):
        self.refuse("model: %s" % model, 404, "not_found_error")

    def check(self, body):
        for field in ("temperature", "top_p", "top_k"):
            if field in body:
                self.refuse("`%s` is deprecated for this model." % field)
        kind = (body.get("thinking") or {}).get("type")
        if kind and kind not in self.types.get(body["model"], ("adaptive", "disabled")):
            self.refuse("\"thinking.type.%s\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control "
                        "thinking behavior." % kind)
        if body.get("tool_choice", "auto") not in ("auto", "none"):
            self.refuse("tool_choice: forcing the use of a tool is not supported for this model.")
        for i, m in enumerate(body["messages"]):
            if not m.get("content") and not calls_of(m):
                self.refuse("messages.%d: all messages must have non-empty content except for the optional final assistant message" % i)

    def wants(self, body):
        late = [i for i, m in enumerate(body["messages"]) if m["role"] == "system" and i]
        return ["messages[%d]: a system message that is not the first is moved to the front" % i for i in late]


class XAI(Service):
    name = "xai"
    home = "https://api.x.ai/v1"
    key_variable = "XAI_API_KEY"
    models = ("grok-4.7", "grok-4.3")
    paths = ("/chat/completions", "/responses")
    fields = None
    efforts = ("low", "medium", "high")
    in_effect = {"low": "low", "high": "high", "none": "low"}

    def refuse(self, text, status=400, code="Client specified an invalid argument", **more):
        raise Refusal(status, {"code": code, "error": text})

    def denied(self, sent):
        self.refuse("Incorrect API key provided.")

    def no_model(self, model):
        self.refuse("The model %s does not exist or your team does not have access to it." % model, 404, "Some requested entity was not found")

    def bad_effort(self, effort):
        self.refuse("Invalid reasoning effort: unknown variant `%s`, expected one of `low`, `medium`, `high`" % effort)

    def check(self, body):
        for field, said in (("stop", "stop"), ("presence_penalty", "presencePenalty"), ("frequency_penalty", "frequencyPenalty")):
            if field in body:
                self.refuse("Model %s does not support parameter %s." % (body["model"], said))


class Gemini(Service):
    """3.5 and later: the first call of each step of the question under way must bring its signature back, as it was."""
    name = "gemini"
    home = "https://generativelanguage.googleapis.com/v1beta/openai"
    key_variable = "GEMINI_API_KEY"
    models = ("gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-3.7-pro")
    fields = CHAT_FIELDS - {"logprobs", "top_logprobs", "user"} | {"extra_body"}
    thoughts_in = None
    arguments_whole = True
    STAND_IN = "skip_thought_signature_validator"       # what Google gives for calls that another model made
    in_effect = {"low": "low", "high": "high", "none": "minimal"}

    def refuse(self, text, status=400, kind="INVALID_ARGUMENT", **more):
        raise Refusal(status, [{"error": {"code": status, "message": text, "status": kind}}])

    def denied(self, sent):
        self.refuse("API key not valid. Please pass a valid API key.")

    def check_model(self, model):
        if str(model).startswith("models/"):
            raise Refusal(400, None)
        super().check_model(model)

    def no_model(self, model):
        self.refuse("models/%s is not found for API version v1main, or is not supported for generateContent. Call ListModels to see the list of "
                    "available models and their supported methods." % model, 404, "NOT_FOUND")

    def gone(self, model):
        self.refuse("This model models/%s is no longer available. Please update your code to use a newer model for the latest features and "
                    "improvements." % model, 404, "NOT_FOUND")

    def unknown(self, field, value):
        self.refuse("Invalid JSON payload received. Unknown name \"%s\": Cannot find field." % field)

    def listing(self, request):
        answer = super().listing(request)
        for one in answer["json"]["data"]:
            one["id"] = "models/" + one["id"]
        return answer

    def signature(self, call_id):
        return "sig+%s==" % call_id

    def call(self, answer, call):
        if call["index"]:
            return call             # of parallel calls the first has it
        return dict(call, extra_content={"google": {"thought_signature": self.signature(call["id"])}})

    def check(self, body):
        effort = self.effort(body)
        levels = ("minimal", "low", "medium", "high") if "lite" in body["model"] else ("low", "medium", "high")
        if effort is not None and effort not in levels:
            self.refuse("Thinking level %s is not supported for this model. Please retry with other thinking level." % str(effort).upper())
        messages = body["messages"]
        for i, m in enumerate(messages):
            if not isinstance(m.get("content"), (str, list)):
                self.refuse("Value is not a string: null")
            calls = calls_of(m)
            if calls:
                self.check_step(calls, i > newest_question(messages), i)

    def check_step(self, calls, under_way, i):
        for k, c in enumerate(calls):
            sent = ((c.get("extra_content") or {}).get("google") or {}).get("thought_signature")
            if sent not in (None, self.STAND_IN, self.signature(c["id"])):
                self.refuse("Corrupted thought signature.")
            if under_way and not k and sent is None:
                self.refuse("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and "
                            "missing thought_signature may lead to degraded model performance. Additional data, function call "
                            "`default_api:%s` , position %d." % (c["function"]["name"], i))

    def wants(self, body):
        out = ["%s is deprecated, and makes this model loop" % f for f in ("temperature", "top_p", "top_k") if f in body]
        for i, m in enumerate(body["messages"]):
            if calls_of(m) and self.given(body, m) and self.STAND_IN in str(calls_of(m)[0].get("extra_content")):
                out.append("messages[%d]: a stand-in for a signature that was given" % i)
        return out


class DeepSeek(Service):
    """V4: thinking is on, and with tools it must be back on every assistant message, never empty."""
    name = "deepseek"
    home = "https://api.deepseek.com/v1"
    key_variable = "DEEPSEEK_API_KEY"
    models = ("deepseek-flash", "deepseek-v4-pro")
    fields = None
    efforts = ("low", "medium", "high", "xhigh", "max")
    in_effect = {"low": "low", "high": "high", "none": "none"}

    def denied(self, sent):
        self.refuse("Authentication Fails (governor)", 401, "invalid_request_error", kind="authentication_error")

    def no_model(self, model):
        self.refuse("Model Not Exist", code="invalid_request_error")

    def effort(self, body):
        return "none" if (body.get("thinking") or {}).get("type") == "disabled" else body.get("reasoning_effort")

    def check_effort(self, effort):
        if effort not in (None, "none") + self.efforts:
            self.bad_effort(effort)

    def bad_effort(self, effort):
        self.refuse("Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant `%s`, expected one of `low`, "
                    "`medium`, `high`, `xhigh`, `max` at line 1 column 40" % effort, code="invalid_request_error")

    def check(self, body):
        if body.get("reasoning_effort") == "none":
            self.bad_effort("none")
        profiles.DeepSeek.check_history(self, body)
        if self.effort(body) == "none" or not body.get("tools"):
            return
        for m in body["messages"]:
            if m["role"] == "assistant" and not m.get("reasoning_content"):
                self.refuse("The `reasoning_content` in the thinking mode must be passed back to the API.", code="invalid_request_error")

    def wants(self, body):
        return self.wants_thoughts(body, "reasoning_content") if self.effort(body) != "none" else []


class Moonshot(Service):
    """Kimi K3: always thinks; its thoughts belong into the history, and are refused where they are missing beside a call."""
    name = "moonshot"
    home = "https://api.moonshot.ai/v1"
    key_variable = "MOONSHOT_API_KEY"
    models = ("kimi-k3", "kimi-k3.1-pro")
    fields = None
    efforts = ("low", "medium", "high", "xhigh", "max")
    in_effect = {"low": "low", "high": "high", "none": "low"}

    def call_id(self, number, k):
        return "execute_python:%d" % (10 * int(number or 0) + k)

    def refuse(self, text, status=400, kind="invalid_request_error", **more):
        raise Refusal(status, {"error": {"message": text, "type": kind}})

    def denied(self, sent):
        self.refuse("Invalid Authentication", 401, "invalid_authentication_error")

    def no_model(self, model):
        self.refuse("Not found the model %s or Permission denied" % model, 404, "resource_not_found_error")

    def bad_effort(self, effort):
        self.refuse("invalid reasoning_effort: %s is not supported for this model" % effort)

    def check(self, body):
        if body.get("temperature", 1) != 1:
            self.refuse("invalid temperature: only 1 is allowed for this model")
        if body.get("top_p", 1) != 1 or body.get("n", 1) != 1:
            self.refuse("invalid top_p or n: only 1 is allowed for this model")
        if (body.get("thinking") or {}).get("type") == "disabled":
            self.refuse("invalid thinking: this model cannot be used without it")
        for i, m in enumerate(body["messages"]):
            if calls_of(m) and not m.get("reasoning_content"):
                self.refuse("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d" % i)
            if m["role"] == "assistant" and not m.get("content") and not calls_of(m):
                self.refuse("Invalid request: the message at position %d with role 'assistant' must not be empty" % i)

    def wants(self, body):
        strict = ["tools[%d] is strict, which this model does not know" % k for k, t in enumerate(body.get("tools") or []) if t["function"].get("strict")]
        return strict + self.wants_thoughts(body, "reasoning_content")


class ZAI(Service):
    """GLM 5.3: always thinks, and keeps what it thought where it is given back unchanged. Its errors have a number."""
    name = "zai"
    home = "https://api.z.ai/api/paas/v4"
    key_variable = "ZAI_API_KEY"
    models = ("glm-5.3-flash", "glm-5.3")
    fields = None
    in_effect = {"low": "low", "high": "high", "none": "low"}

    def refuse(self, text, status=400, code="1210", **more):
        raise Refusal(status, {"error": {"code": code, "message": text}})

    def denied(self, sent):
        self.refuse("Authorization Token non-existent or invalid, please check", 401, "1001")

    def no_model(self, model):
        self.refuse("Unknown Model, please check the model code.", 400, "1211")

    def check(self, body):
        effort = self.effort(body)
        if effort is not None and effort not in ("low", "high", "max"):
            self.refuse("Invalid API parameter, please check the documentation: reasoning_effort")
        if body.get("tool_choice", "auto") != "auto":
            self.refuse("Invalid API parameter, please check the documentation: tool_choice")
        for m in body["messages"]:
            if not m.get("content") and not calls_of(m):
                self.refuse("The messages parameter is illegal. Please check the documentation.", code="1214")

    def wants(self, body):
        out = []
        if body.get("thinking") != {"type": "enabled", "clear_thinking": False}:
            out.append("thinking is %r: what it thought before is thrown away there" % body.get("thinking"))
        if body.get("tools") and body.get("stream") and body.get("tool_stream") is not True:
            out.append("without tool_stream a long call is minutes of silence")
        return out + self.wants_thoughts(body, "reasoning_content")


class MiniMax(Service):
    """M3: its errors come with HTTP 200; its thoughts apart where reasoning_split is asked for, else in the text, and both must come back."""
    name = "minimax"
    home = "https://api.minimax.io/v1"
    key_variable = "MINIMAX_API_KEY"
    models = ("MiniMax-M3",)
    fields = None

    def refuse(self, text, status=200, code=2013, **more):
        raise Refusal(200, {"id": "x", "choices": None, "created": 1, "model": "", "object": "chat.completion", "usage": {"total_tokens": 0},
                            "base_resp": {"status_code": code, "status_msg": text}})

    def denied(self, sent):
        self.refuse("login fail: Please carry the API secret key in the 'Authorization' field of the request header", code=1004)

    def no_model(self, model):
        self.refuse("invalid params, unknown model '%s' (2013)" % model.lower())

    def thoughts(self, answer, parts):
        if answer.get("split", True):
            return [{"reasoning_content": p, "reasoning_details": reasoning_details(p, style="MiniMax-response-v1")} for p in parts]
        return [{"content": p} for p in ["<think>\n", *parts, "\n</think>\n\n"]]

    def give(self, answer, body, calls):
        answer["split"] = body.get("reasoning_split") is True
        super().give(answer, body, calls)

    def check(self, body):
        waiting = set()
        for m in body["messages"]:
            if m["role"] == "tool" and m["tool_call_id"] not in waiting:
                self.refuse("invalid params, tool result's tool id(%s) not found (2013)" % m["tool_call_id"])
            waiting = waiting - {m.get("tool_call_id")} if m["role"] == "tool" else {c["id"] for c in calls_of(m)}
            if m["role"] == "assistant" and not m.get("content") and not calls_of(m):
                self.refuse("invalid params, chat content is empty (2013)")

    def wants(self, body):
        out, messages = [], body["messages"]
        for i, m in enumerate(messages):
            was = self.given(body, m) if calls_of(m) else None
            if not was:
                continue
            text = "".join(d.get("text", "") for d in m.get("reasoning_details") or [])
            if body.get("reasoning_split") and (text != was or not same_json(m["reasoning_details"], reasoning_details(was, style="MiniMax-response-v1"))):
                out.append("messages[%d].reasoning_details is %r" % (i, m.get("reasoning_details")))
            if not body.get("reasoning_split") and i > newest_question(messages) and was not in (m.get("content") or ""):
                out.append("messages[%d].content is %r, without what was thought in it" % (i, m.get("content")))
        return out


class Mistral(Service, profiles.Mistral):
    """Small 4 and Medium 3.5: effort none or high; what it thinks comes as a part of the content, and no field of that name goes in."""
    name = "mistral"
    home = "https://api.mistral.ai/v1"
    key_variable = "MISTRAL_API_KEY"
    models = ("mistral-small-latest", "mistral-medium-latest", "mistral-large-4")
    fields = profiles.Mistral.FIELDS
    efforts = ("none", "high")
    in_effect = {"high": "high", "none": "none"}
    call_id = profiles.Mistral.call_id

    def denied(self, sent):
        raise Refusal(401, {"detail": "Unauthorized"})

    def no_model(self, model):
        raise Refusal(400, {"object": "error", "message": "Invalid model: %s" % model, "type": "invalid_model", "param": None, "code": "1500"})

    def unknown(self, field, value):
        self.forbid([field], value, field)

    def bad_effort(self, effort):
        detail = [{"type": "literal_error", "loc": ["body", "reasoning_effort"], "msg": "Input should be 'none' or 'high'", "input": effort}]
        raise Refusal(422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error", "param": None, "code": None})

    def refuse(self, *words, **more):
        profiles.Mistral.refuse(self, *words, **more)

    def thoughts(self, answer, parts):
        return [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": p}]}]} for p in parts] if answer.get("thinks") else []

    def give(self, answer, body, calls):
        answer["thinks"] = body.get("reasoning_effort") == "high"
        super().give(answer, body, calls)

    def check(self, body):
        profiles.Mistral.check(self, body)


class Cohere(Service):
    """Its layer for OpenAI's clients."""
    name = "cohere"
    home = "https://api.cohere.ai/compatibility/v1"
    key_variable = "COHERE_API_KEY"
    models = ()
    efforts = ("none", "high")
    thoughts_in = None
    fields = CHAT_FIELDS - {"n", "top_logprobs", "parallel_tool_calls", "user"}

    def check_model(self, model):
        if model in self.retired:
            self.gone(model)
        if not str(model).startswith("command-a"):
            self.no_model(model)

    def refuse(self, text, status=400, **more):
        raise Refusal(status, {"id": "x", "message": text})

    def denied(self, sent):
        self.refuse("invalid api token", 401)

    def no_model(self, model):
        self.refuse("model '%s' not found, make sure the correct model ID was used and that you have access to the model." % model, 404)

    def unknown(self, field, value):
        self.refuse("invalid request: unsupported parameter '%s'" % field, 422)

    def bad_effort(self, effort):
        self.refuse("invalid request: reasoning_effort must be one of none, high", 422)
