"""services_hosts.py - mocks of the services that run the models of others: Groq, Together, OpenRouter, Cerebras, Hugging Face, Fireworks,
NVIDIA, Bedrock, DashScope, Workers AI. See services.py.
"""
import profiles
from profiles import Refusal, calls_of
from services import CHAT_FIELDS, Service, reasoning_details, same_json


class Groq(Service):
    """gpt-oss knows no effort none, qwen no other; thoughts go under reasoning, both ways, and the other name is refused."""
    name = "groq"
    home = "https://api.groq.com/openai/v1"
    key_variable = "GROQ_API_KEY"
    models = ("openai/gpt-oss-120b", "qwen/qwen3.8-27b")
    fields = CHAT_FIELDS | {"reasoning_format", "include_reasoning", "service_tier"}
    thoughts_in = "reasoning"
    in_effect = {"low": "low", "high": "high", "none": "low"}

    def refuse(self, text, status=400, code=None, **more):
        raise Refusal(status, {"error": dict({"message": text, "type": "invalid_request_error"}, **({"code": code} if code else {}))})

    def gone(self, model):
        self.refuse("The model `%s` has been decommissioned and is no longer supported. Please refer to the list of deprecations for a recommendation "
                    "on which model to use instead." % model, code="model_decommissioned")

    def unknown(self, field, value):
        self.refuse("property '%s' is unsupported" % field)

    def check(self, body):
        effort, gpt = body.get("reasoning_effort"), "gpt-oss" in body["model"]
        allowed = ("low", "medium", "high") if gpt else ("none", "default")
        if effort is not None and effort not in allowed:
            self.refuse("`reasoning_effort` must be one of " + ", ".join("`%s`" % e for e in allowed))
        if body.get("reasoning_format") == "raw" and body.get("tools"):
            self.refuse("`reasoning_format` cannot be `raw` when tools are used")
        for i, m in enumerate(body["messages"]):
            for field in set(m) & {"reasoning_content", "reasoning_details"}:
                self.refuse("'messages.%d' : for 'role:assistant' the following must be satisfied[('messages.%d' : property '%s' is unsupported)]" % (i, i, field))


class Together(Service):
    """reasoning: {enabled}; thoughts under the name that the model's engine has."""
    name = "together"
    home = "https://api.together.ai/v1"
    key_variable = "TOGETHER_API_KEY"
    models = ("zai-org/GLM-5.3-Flash", "openai/gpt-oss-120b")
    fields = None
    in_effect = {"low": "low", "high": "high", "none": "low"}      # GLM cannot be kept from thinking

    def no_model(self, model):
        self.refuse("Unable to access model %s. Please request the list of available models." % model, 404, "model_not_available")

    def gone(self, model):
        self.refuse("Unable to access non-serverless model %s. Please create and start a new dedicated endpoint for the model." % model, 400, "model_not_available")

    def effort(self, body):
        on = (body.get("reasoning") or {}).get("enabled")
        return "none" if on is False else body.get("reasoning_effort")

    def check(self, body):
        if "reasoning" in body and (not isinstance(body["reasoning"], dict) or not isinstance(body["reasoning"].get("enabled"), bool)):
            self.refuse("Invalid request: reasoning.enabled must be a boolean", code="invalid_request_error")
        if body.get("reasoning_effort", "low") not in ("low", "medium", "high", "max"):
            self.refuse("Invalid request: reasoning_effort", code="invalid_request_error")

    def wants(self, body):
        strict = ["tools[%d] is strict" % k for k, t in enumerate(body.get("tools") or []) if t["function"].get("strict")]
        return strict + (["max_completion_tokens is not the name here"] if "max_completion_tokens" in body else [])


class OpenRouter(Service):
    """reasoning: {effort}, never beside reasoning_effort; the list of its thoughts comes back whole, text and signature."""
    name = "openrouter"
    home = "https://openrouter.ai/api/v1"
    key_variable = "OPENROUTER_API_KEY"
    models = ("openai/gpt-oss-120b", "z-ai/glm-5.3-flash", "google/gemini-3.8-flash")
    fields = None
    in_effect = {"low": "low", "high": "high"}

    def refuse(self, text, status=400, **more):
        raise Refusal(status, {"error": {"message": text, "code": status}, "user_id": "user_x"})

    def denied(self, sent):
        self.refuse("No auth credentials found", 401)

    def no_model(self, model):
        self.refuse("%s is not a valid model ID" % model)

    def gone(self, model):
        self.refuse("No endpoints found for %s." % model, 404)

    def thoughts(self, answer, parts):
        last = reasoning_details("", "sig-%s" % answer["number"])
        return [{"reasoning": p, "reasoning_details": reasoning_details(p)} for p in parts] + [{"reasoning_details": last}]

    def kept(self, answer):
        return reasoning_details(answer["reasoning"], "sig-%s" % answer["number"]) if answer.get("reasoning") else None

    def check(self, body):
        if "reasoning" in body and "reasoning_effort" in body:
            self.refuse("Only one of \"reasoning\" and \"reasoning_effort\" may be provided")
        effort = self.effort(body)
        if effort not in (None, "none", "minimal", "low", "medium", "high", "xhigh", "max"):
            self.refuse("Invalid reasoning effort %s" % effort)

    def wants(self, body):
        out = []
        for i, m in enumerate(body["messages"]):
            was = self.given(body, m) if calls_of(m) else None
            if was and not same_json(m.get("reasoning_details"), was):
                out.append("messages[%d].reasoning_details is %r; given was %r" % (i, m.get("reasoning_details"), was))
        return out


class Cerebras(Service):
    """A flat error; thoughts under reasoning, and no other name."""
    name = "cerebras"
    home = "https://api.cerebras.ai/v1"
    key_variable = "CEREBRAS_API_KEY"
    models = ("gpt-oss-120b", "qwen-3.8-27b")
    fields = CHAT_FIELDS | {"reasoning_format", "service_tier", "clear_thinking", "disable_reasoning"}
    thoughts_in = "reasoning"
    in_effect = {"low": "low", "high": "high", "none": "low"}

    def refuse(self, text, status=400, code="wrong_api_format", param="validation_error", kind="invalid_request_error"):
        raise Refusal(status, {"message": text, "type": kind, "param": param, "code": code})

    def denied(self, sent):
        self.refuse("Wrong API Key", 401, "wrong_api_key", "api_key")

    def no_model(self, model):
        self.refuse("Model %s does not exist or you do not have access to it." % model, 404, "model_not_found", "model", "not_found_error")

    def unknown(self, field, value):
        self.refuse("body.%s: property 'body.%s' is unsupported" % (field, field))

    def check(self, body):
        effort = body.get("reasoning_effort")
        if effort is not None and "gpt-oss" in body["model"] and effort not in ("low", "medium", "high"):
            self.refuse("body.reasoning_effort: Input should be 'low', 'medium' or 'high'")
        for i, m in enumerate(body["messages"]):
            for field in set(m) & {"reasoning_content", "reasoning_details"}:
                self.refuse("messages.%d.assistant.%s: property 'messages.%d.assistant.%s' is unsupported" % (i, field, i, field))


class HuggingFace(Service):
    """A router: what stands behind the colon of a model is one of its providers."""
    name = "huggingface"
    home = "https://router.huggingface.co/v1"
    key_variable = "HF_TOKEN"
    models = ("openai/gpt-oss-120b",)
    fields = None
    thoughts_in = "reasoning"
    efforts = ("low", "medium", "high")
    in_effect = {"low": "low", "high": "high", "none": "low"}

    def check_model(self, model):
        super().check_model(str(model).partition(":")[0])

    def denied(self, sent):
        raise Refusal(401, {"error": "Invalid username or password."})

    def no_model(self, model):
        self.refuse("The requested model '%s' does not exist" % model, 400, "model_not_found", "model")


class Fireworks(Service):
    name = "fireworks"
    home = "https://api.fireworks.ai/inference/v1"
    key_variable = "FIREWORKS_API_KEY"
    models = ("accounts/fireworks/models/deepseek-v4p1-flash", "accounts/fireworks/models/gpt-oss-120b")
    fields = CHAT_FIELDS | {"reasoning_history", "context_length_exceeded_behavior", "thinking"}

    def refuse(self, text, status=400, code="invalid_request_error", **more):
        raise Refusal(status, {"error": {"object": "error", "type": "invalid_request_error", "code": code, "message": text}})

    def denied(self, sent):
        self.refuse("The API key you provided is invalid.", 401, "UNAUTHORIZED")

    def no_model(self, model):
        self.refuse("Model not found, inaccessible, and/or not deployed", 404, "NOT_FOUND")

    def unknown(self, field, value):
        self.refuse("Extra inputs are not permitted, field: '%s', value: %r" % (field, value))

    def check(self, body):
        if body.get("reasoning_effort", "low") not in ("none", "low", "medium", "high", "xhigh", "max"):
            self.refuse("Input should be 'none', 'low', 'medium', 'high', 'xhigh' or 'max', field: 'reasoning_effort'")
        if "thinking" in body and "reasoning_effort" in body:
            self.refuse("Cannot specify both 'thinking' and 'reasoning_effort'")


class Nvidia(Service):
    """A list that changes by the week: what is gone is told by 410, with its date."""
    name = "nvidia"
    home = "https://integrate.api.nvidia.com/v1"
    key_variable = "NVIDIA_API_KEY"
    models = ("openai/gpt-oss-120b", "z-ai/glm-5.3-flash", "qwen/qwen3.8-27b")
    fields = None

    def denied(self, sent):
        raise Refusal(401, {"status": 401, "title": "Unauthorized", "detail": "Authentication failed"})

    def check_model(self, model):
        if model in self.retired:
            self.gone(model)
        if "/" not in str(model):
            self.no_model(model)

    def no_model(self, model):
        raise Refusal(404, {"status": 404, "title": "Not Found", "detail": "Function '%s': Not found for account 'x'" % model})

    def gone(self, model):
        raise Refusal(410, {"status": 410, "title": "Gone", "detail": "The model '%s' has reached its end of life on 2026-09-01T00:00:00Z and is no longer "
                            "available." % model})

    def check(self, body):
        for m in body["messages"]:
            if not m.get("content") and not calls_of(m):
                raise Refusal(400, {"detail": "Assistant message must have either content or tool_calls."})


class Bedrock(Service):
    """OpenAI's shape at an address with the region in it. gpt-oss does not think aloud there."""
    name = "bedrock"
    home = "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1"
    key_variable = "AWS_BEARER_TOKEN_BEDROCK"
    models = ("openai.gpt-oss-120b-1:0", "openai.gpt-oss-20b-1:0")
    thoughts_in = None
    efforts = ("low", "medium", "high")
    in_effect = {"low": "low", "high": "high", "none": "low"}

    def denied(self, sent):
        raise Refusal(403, {"Message": "Authentication failed: Please make sure your API Key is valid."})

    def no_model(self, model):
        self.refuse("The model '%s' does not exist" % model, 404, "model_not_found", "model")

    def unknown(self, field, value):
        self.refuse("%s: Extra inputs are not permitted" % field, code="validation_error")


class DashScope(Service):
    """Qwen: thinking is a switch, enable_thinking, and 3.8 has levels as well; while it is on no tool can be forced."""
    name = "dashscope"
    home = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
    key_variable = "DASHSCOPE_API_KEY"
    models = ("qwen3.8-flash", "qwen3.8-max", "qwen-plus")
    fields = None
    in_effect = {"low": "low", "high": "high", "none": "none"}

    def refuse(self, text, status=400, code="invalid_parameter_error", **more):
        raise Refusal(status, {"error": {"code": code, "param": None, "message": "<400> InternalError.Algo.InvalidParameter: " + text, "type":
                                         "invalid_request_error"}, "request_id": "x"})

    def denied(self, sent):
        raise Refusal(401, {"error": {"message": "Incorrect API key provided.", "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}})

    def no_model(self, model):
        raise Refusal(404, {"error": {"message": "The model `%s` does not exist or you do not have access to it." % model, "type": "invalid_request_error",
                                      "param": None, "code": "model_not_found"}, "request_id": "x"})

    def effort(self, body):
        return "none" if body.get("enable_thinking") is False else body.get("reasoning_effort")

    def check(self, body):
        if "enable_thinking" in body and not isinstance(body["enable_thinking"], bool):
            self.refuse("The value of the enable_thinking parameter must be a boolean")
        if body.get("reasoning_effort", "low") not in ("low", "medium", "high", "xhigh", "max"):
            self.refuse("The value of the reasoning_effort parameter is not one of low, medium, high, xhigh, max")
        if self.effort(body) != "none" and body.get("tool_choice", "auto") not in ("auto", "none"):
            self.refuse("The tool_choice parameter does not support being set to required or object in thinking mode")
        for m in body["messages"]:
            if not m.get("content") and not calls_of(m):
                self.refuse("The content field is a required field.")


class WorkersAI(Service, profiles.WorkersAI):
    name = "workers-ai"
    home = "https://api.cloudflare.com/client/v4/accounts/acct/ai/v1"
    key_variable = "CLOUDFLARE_API_KEY"
    models = ("@cf/openai/gpt-oss-120b", "@cf/zai-org/glm-5.3-flash")
    fields = None
    in_effect = {"low": "low", "high": "high"}

    def denied(self, sent):
        raise Refusal(401, {"success": False, "errors": [{"code": 10000, "message": "Authentication error"}], "messages": [], "result": None})

    def refuse(self, text, code=5006, status=400):
        profiles.WorkersAI.refuse(self, text, code, status)

    def no_model(self, model):
        self.refuse("No such model %s or task" % model, 5007)

    def gone(self, model):
        self.refuse("This model was deprecated on 2026-08-30. Please use another model.", 5028, 410)

    def bad_effort(self, effort):
        self.mismatch("'/reasoning_effort' must be one of low, medium, high")

    def check_path(self, path):
        if path not in [self.base + p for p in self.paths]:
            raise Refusal(404, {"success": False, "errors": [{"code": 7003, "message": "Could not route to %s, perhaps your object identifier is invalid?"
                                                              % path}], "messages": [], "result": None})

    def check(self, body):
        if body.get("reasoning_effort", "low") not in ("low", "medium", "high"):
            self.bad_effort(body["reasoning_effort"])
        profiles.WorkersAI.check(self, body)

    def wants(self, body):
        return ["no max_tokens: 256 would be the default"] if not body.get("max_tokens") else []


class WorkersAINative(WorkersAI):
    """The model is in the path."""
    name = "workers-ai-native"
    home = "https://api.cloudflare.com/client/v4/accounts/acct"
    models = ("@cf/meta/llama-3.3-70b-instruct-fp8-fast", "@cf/openai/gpt-oss-20b")
    thoughts_in = None
    in_effect = {"low": None, "high": None, "none": None}       # its default model does not reason

    def model_of(self, request):
        return request.path.partition("/ai/run/")[2]

    def check_path(self, path):
        if not path.startswith(self.base + "/ai/run/@cf/"):
            super().check_path(path)
