"""services_local.py - mocks of the servers that run on one's own machine: Ollama, llama.cpp, LM Studio, vLLM. See services.py.
"""
import profiles
from profiles import Refusal
from services import Service


class Ollama(Service):
    """Ignores what it does not know; reads thoughts back under reasoning alone."""
    name = "ollama"
    home = "http://127.0.0.1:11434/v1"
    models = ("qwen3.5:4b", "gemma4:e4b")
    paths = ("/chat/completions", "/responses")
    fields = None
    thoughts_in = "reasoning"
    in_effect = {"low": "low", "high": "high", "none": "none"}

    def refuse(self, text, status=400, kind="invalid_request_error", **more):
        raise Refusal(status, {"error": {"message": text, "type": kind, "param": None, "code": None}})

    def no_model(self, model):
        self.refuse("model '%s' not found" % model, 404, "not_found_error")

    def aside(self, request):
        if request.path != "/api/show":
            return None
        return {"json": {"capabilities": ["completion", "tools", "thinking"], "model_info": {"qwen35.context_length": 262144}}}

    def listing(self, request):
        return super().listing(request) if request.path.startswith("/v1") else {"json": {"version": "0.33.0", "models": []}}

    def check(self, body):
        effort = body.get("reasoning_effort")
        if effort not in (None, "none", "low", "medium", "high", "max"):
            self.refuse("invalid reasoning value: '%s' (must be \"high\", \"medium\", \"low\", \"max\", or \"none\")" % effort)

    def wants(self, body):
        return ["messages[%d].%s is not read here" % (i, f) for i, m in enumerate(body["messages"])
                for f in set(m) & {"reasoning_content", "reasoning_details"}]


class LlamaCpp(Service, profiles.LlamaCpp):
    name = "llama.cpp"
    home = "http://127.0.0.1:9931/v1"
    models = ()
    paths = ("/chat/completions", "/responses")
    fields = None
    call_id = profiles.LlamaCpp.call_id

    def refuse(self, *words, **more):
        profiles.LlamaCpp.refuse(self, *words, **more)

    def listing(self, request):
        if request.path.partition("?")[0] == "/props":
            return {"json": {"default_generation_settings": {"n_ctx": 32768}, "total_slots": 1}}
        return {"json": {"object": "list", "data": [{"id": "qwen3.8-27b.gguf", "object": "model", "meta": {"n_ctx": 32768, "n_ctx_train": 262144}}]}}

    def check(self, body):
        profiles.LlamaCpp.check(self, body)


class LMStudio(Service):
    name = "lm-studio"
    home = "http://127.0.0.1:1234/v1"
    models = ("qwen3.8-27b",)
    paths = ("/chat/completions", "/responses")
    fields = None

    def no_model(self, model):
        self.refuse("Invalid model identifier \"%s\". Please specify a valid downloaded model." % model, code="model_not_found", param="model")

    def listing(self, request):
        return super().listing(request) if request.path.startswith("/v1") else {"json": {"data": []}}


class VLLM(Service):
    """Started with --enable-auto-tool-choice and a parser."""
    name = "vllm"
    home = "http://127.0.0.1:8000/v1"
    models = ("Qwen/Qwen3.8-27B",)
    paths = ("/chat/completions", "/responses")
    fields = None
    thoughts_in = "reasoning"

    def no_model(self, model):
        self.refuse("The model `%s` does not exist." % model, 404, 404, kind="NotFoundError")

    def listing(self, request):
        answer = super().listing(request)
        for one in answer["json"]["data"]:
            one["max_model_len"] = 131072
        return answer

    def check(self, body):
        effort = body.get("reasoning_effort")
        if effort not in (None, "none", "low", "medium", "high"):
            self.refuse("1 validation error: {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'none', 'low', "
                        "'medium' or 'high'\", 'input': '%s'}" % effort, code=400, kind="Bad Request")
