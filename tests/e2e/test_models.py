"""test_models.py - what services say of their models: the command that lists them, the list that is kept for a day, and what a question makes of
it. The servers that people run themselves are mocked by their own calls.
"""
import glob
import json
import os
import re
import resource
import socket
import stat
import time

import pexpect
import pytest

from answering_terminal import PLAIN, AnsweringTerminal
from provider_rows import ROWS, mock, point
from program import HANG

BASE = "/v1/models"
MARKS_PASTES = b"\x1b[?2004h"    # which is what a prompt begins with


def listed(*models, owner="somebody"):
    return {"object": "list", "data": [dict({"object": "model", "owned_by": owner}, **m) for m in models]}


def day(days):
    """A date, so many midnights (UTC) away. The program counts whole days up to its first minute, so at any time of day it is one day less."""
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() + days * 86400))


def kept(program):
    return glob.glob(program.path("cache/sandpiper/models/*.json"))


def local(server, **more):
    """Nothing but this server, as one of the user's own."""
    return dict({"OPENAI_BASE_URL": None, "OPENAI_API_KEY": None, "SANDPIPER_MODEL": None, "SANDPIPER_BASE_URL": server.url}, **more)


# ----------------------------------------------------------------------------------------------------------------- the command

ROUTER = {"id": "z-ai/glm-5.3-flash", "context_length": 1048576, "top_provider": {"context_length": 1000000, "max_completion_tokens": 65536},
          "pricing": {"prompt": "0.00000015", "completion": "0.0000005", "input_cache_read": "0.00000003"},
          "supported_parameters": ["max_tokens", "tools"]}


def test_models_lists_what_the_service_tells(bare, serve):
    server = serve(bare)
    server.others[BASE] = listed(ROUTER, {"id": "gpt-5-mini", "shutdown_date": "2026-12-11"}, {"id": "test-model"})
    r = bare.run("models")
    assert r.code == 0 and r.err == "", r
    lines = [line.split() for line in r.out.splitlines()]
    assert lines == [["MODEL", "WINDOW", "TOOLS", "$/M", "IN", "$/M", "OUT", "ENDS"], ["gpt-5-mini", "2026-12-11"], ["test-model", "default"],
                     ["z-ai/glm-5.3-flash", "1,000,000", "yes", "0.15", "0.50"]], r
    assert server.asides[0].headers["authorization"] == "Bearer test-key"
    one = json.loads(bare.run("models", "--json", "GLM").out)
    assert one == {"id": "z-ai/glm-5.3-flash", "provider": "openai", "context": 1000000, "max_output": 65536, "tools": True, "price_input": 0.15,
                   "price_cached": 0.03, "price_output": 0.5, "ends": None, "replaced_by": None, "default": False}, one


def test_models_without_a_match(bare, serve):
    serve(bare)
    r = bare.run("models", "nothing-like-it")
    assert (r.code, r.out) == (1, "") and 'no model name contains "nothing-like-it"' in r.err, r


def test_models_fits_the_terminal(bare, serve):
    server = serve(bare)
    server.others[BASE] = listed(ROUTER, {"id": "short"})
    for columns in (30, 45, 100):
        p = bare.chat("models", size=(40, columns))
        text = p.read()
        assert all(len(line) <= columns for line in text.split("\r\n")) and "glm-5.3-flash" in text and "1,000,000" in text, text


def test_names_are_scrubbed(bare, serve):
    server = serve(bare)
    server.others[BASE] = listed({"id": "red\033[31m"}, {"id": "turned\u202eround"}, {"id": "x" * 5000}, {"id": "good"})
    r = bare.run("models")
    assert r.code == 0 and "\033" not in r.out and "\u202e" not in r.out and "xxxxx" not in r.out and "good" in r.out, r


@pytest.mark.parametrize("status, key, code, words", [
    (401, "wrong-key-of-somebody", 77, ["refused the key from OPENAI_API_KEY (401)"]),
    (401, None, 77, ["needs an API key to list its models (401)", "Set OPENAI_API_KEY"]),
    (404, "k", 1, ["has no list of models (404)", "-m MODEL"]),
    (503, "k", 75, ["is busy (503)"]),
    (400, "k", 1, ["did not list its models (400)"]),
])
def test_models_says_why_there_is_no_list(bare, serve, status, key, code, words):
    server = serve(bare)
    server.others[BASE] = (status, {"error": {"message": "no, wrong-key-of-somebody"}})
    r = bare.run("models", env={"OPENAI_API_KEY": key})
    assert (r.code, r.out) == (code, "") and all(w in r.err for w in words) and (status != 401 or "wrong-key" not in r.err) and r.err.count("\n") == 2, r


def test_models_of_what_is_no_service(bare, serve):
    server = serve(bare)
    server.others[BASE] = {"hello": "world"}
    r = bare.run("models")
    assert r.code == 1 and "did not send a list of models" in r.err, r
    r = bare.run("models", env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert r.code == 1 and "connection refused" in r.err, r
    r = bare.run("models", env={"OPENAI_BASE_URL": None, "OPENAI_API_KEY": None})
    assert r.code == 2 and "No model yet" in r.err, r


def test_ctrl_c_ends_a_list(bare, serve):
    server = serve(bare)
    server.others[BASE] = None
    p = bare.chat("models")
    for _ in range(100):
        if server.asides:
            break
        time.sleep(0.05)
    p.sendintr()
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 130, p.exitstatus


def test_models_on_this_machine(bare, serve):
    """With nothing configured every server that is found is listed."""
    server = serve(bare)
    server.others[BASE] = listed({"id": "embedder"}, {"id": "mine", "max_model_len": 32768}, {"id": "a"}, owner="vllm")
    bare.configure("providers:\n  ollama: {discover: false}\n  llama.cpp: {discover: false}\n  lm-studio: {discover: false}\n"
                   "  here: {title: Here, base_url: '%s', discover: true, local: true}\n"
                   "  there: {title: There, base_url: '%s', discover: true, local: true}\n" % (server.url, server.url))
    env = local(server, SANDPIPER_BASE_URL=None, SANDPIPER_DISCOVER="1")
    r = bare.run("models", env=env)
    assert r.code == 0 and r.out.splitlines()[0] == "Here at " + server.url, r
    marked = [line.split() for line in r.out.splitlines() if "default" in line]
    assert marked == [["mine", "32,768", "default"]], r         # what a question would go to: the first of the first server
    assert [line.split()[0] for line in bare.run("models", "-m", "a", env=env).out.splitlines() if "default" in line][:1] == ["a"]
    one = local(server, SANDPIPER_MODEL=None)
    assert [line.split()[0] for line in bare.run("models", env=one).out.splitlines() if "default" in line] == ["mine"]


# ----------------------------------------------------------------------------------------------------------------- what is kept

def test_a_list_is_kept_for_a_day(bare, serve):
    server = serve(bare)
    server.others[BASE] = listed({"id": "kept-model", "context_window": 4242})
    assert bare.run("models", "--offline").code == 2
    assert bare.run("models").code == 0
    file, = kept(bare)
    with open(file) as f:
        text = f.read()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600 and "test-key" not in text, text
    r = bare.run("models", "--offline")
    assert r.code == 0 and "kept-model" in r.out and "4,242" in r.out and len(server.asides) == 1, r
    for wrong in (dict(json.loads(text), time=int(time.time()) - 90000), dict(json.loads(text), time=int(time.time()) + 9000),
                  dict(json.loads(text), url="http://elsewhere/v1"), dict(json.loads(text), v=7), dict(json.loads(text), models=7)):
        with open(file, "w") as f:
            json.dump(wrong, f)
        assert bare.run("models", "--offline").code == 2, wrong
    for broken in ("", "{", "[]", "\0" * 100, "[" * 100000):
        with open(file, "w") as f:
            f.write(broken)
        assert bare.run("models", "--offline").code == 2, broken[:20]


def test_a_foreign_file_is_not_believed(bare, serve):
    server = serve(bare)
    server.others[BASE] = listed({"id": "kept-model"})
    bare.run("models")
    file, = kept(bare)
    os.chmod(file, 0o666)
    assert bare.run("models", "--offline").code == 2
    os.chmod(file, 0o600)
    assert bare.run("models", "--offline").code == 0
    os.rename(file, file + "x")
    os.symlink(file + "x", file)
    assert bare.run("models", "--offline").code == 0           # one's own link
    if os.geteuid() == 0:
        os.lchown(file, 12345, 12345)
        assert bare.run("models", "--offline").code == 2
        os.rename(file + "x", file)
        os.chown(file, 12345, 12345)
        assert bare.run("models", "--offline").code == 2


def test_nowhere_to_keep_it_is_nothing_to_tell(bare, serve):
    serve(bare)
    with open(bare.path("cache/sandpiper"), "w"):
        pass
    r = bare.run("models")
    assert r.code == 0 and r.err == "", r


# ---------------------------------------------------------------------------------------------------- what a question makes of it

ONCE = [{"answer": {"text": "Heard."}}]


def remote(program, server, **entry):
    """A list that was kept of a service that is no local one: for the program it is at a name, not at a loopback address."""
    server.others[BASE] = listed(dict({"id": "test-model"}, **entry))
    assert program.run("models").code == 0
    del server.asides[:]
    server.others[BASE] = (404, {})     # what is asked now is not answered, as if it were not local


def test_the_day_a_model_ends_is_told_once_a_day(sandpiper, serve):
    server = serve(sandpiper, ONCE * 3)
    remote(sandpiper, server, shutdown_date=day(21))
    first, second = sandpiper.run("q"), sandpiper.run("q")
    assert (first.code, first.out) == (0, "Heard.\n") and "test-model will be retired on %s, in 20 days" % day(21) in first.err, first
    assert (second.code, second.out) == (0, "Heard.\n") and "retired" not in second.err, second
    for file in glob.glob(sandpiper.path("cache/sandpiper/models/*.told")):     # yesterday
        with open(file) as f:
            text = f.read()
        with open(file, "w") as f:
            f.write(text.replace(day(0), day(-1)))
    third = sandpiper.run("q")
    assert "retired" in third.err, third


@pytest.mark.parametrize("days, entry, words", [(62, {}, None), (-3, {}, "was due to be retired on"), (60, {}, "in 59 days"),
                                                (11, {"deprecation_replacement_model": "next-model"}, "next-model takes its place")])
def test_which_ends_are_told(sandpiper, serve, days, entry, words):
    server = serve(sandpiper, ONCE)
    remote(sandpiper, server, deprecation=day(days) + "T00:00:00Z", **entry)
    r = sandpiper.run("q")
    assert r.code == 0 and (words in r.err if words else r.err == ""), r


def bound(expect):
    return [{"expect": dict({"max_tokens": expect}), "answer": {"text": "Heard."}}]


def test_the_window_of_the_list(sandpiper, serve):
    """A reply gets a quarter of the window at most, so the bound that is sent tells which window is in force."""
    server = serve(sandpiper, bound(1000) + bound(500) + bound(750))
    remote(sandpiper, server, context_window=4000)
    assert sandpiper.run("q").code == 0
    assert sandpiper.run("--context", "2000", "q").code == 0
    sandpiper.configure("models:\n  test-model: {context: 3000}\n")
    assert sandpiper.run("q").code == 0


def test_a_model_without_tools_is_asked_for_blocks(sandpiper, serve):
    blocks = {"expect": {"absent": ["tools"]}, "answer": {"text": "Heard."}}
    native = {"expect": {"tools": ["execute_python"]}, "answer": {"text": "Heard."}}
    server = serve(sandpiper, [blocks, native, native])
    remote(sandpiper, server, capabilities={"function_calling": False})
    assert sandpiper.run("q").code == 0
    assert sandpiper.run("--dialect", "native", "q").code == 0
    sandpiper.configure("models:\n  test-model: {dialect: native}\n")
    assert sandpiper.run("q").code == 0


def test_a_silent_list_costs_150_ms(sandpiper, serve):
    server = serve(sandpiper, ONCE)
    server.others[BASE] = None
    r = sandpiper.run("q")
    assert (r.code, r.out, r.err) == (0, "Heard.\n", "") and r.seconds < HANG, r


# ----------------------------------------------------------------------------------------------------- servers of the user's own

class Ollama:
    """What Ollama says beside the API of OpenAI. windows: of the models in memory."""

    def __init__(self, server, windows=None, capabilities=("completion", "tools"), parameters=""):
        self.windows, self.shown = dict(windows or {}), []
        server.others.update({
            BASE: listed({"id": "qwen3.5:4b"}, {"id": "other:latest"}, owner="library"),
            "/api/ps": lambda request: {"models": [{"name": n, "model": n, "context_length": w} for n, w in self.windows.items()]},
            "/api/version": {"version": "0.33.0"},
            "/api/show": lambda request: self.show(request, capabilities, parameters),
        })

    def show(self, request, capabilities, parameters):
        self.shown.append(json.loads(request.raw)["model"])
        return {"capabilities": list(capabilities), "parameters": parameters,
                "model_info": {"general.architecture": "qwen35", "qwen35.context_length": 262144}}


def test_a_list_of_running_models_without_end(bare, serve):
    """Looking each of them up among many models took a quarter of a minute."""
    server = serve(bare)
    server.others[BASE] = listed(*({"id": "m%d" % i} for i in range(10000)), owner="library")
    server.others["/api/ps"] = {"models": [{"name": "x"}] * 200000}
    server.others["/api/show"] = {}
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    r = bare.run("models", "m77", env=local(server))
    assert r.code == 0 and resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - spent < 5, r


NARROW = "Ollama runs qwen3.5:4b with a context window of 4,096 tokens, too small for longer work. Enlarge it: OLLAMA_CONTEXT_LENGTH=65536 ollama serve"


def test_ollamas_window_is_the_one_in_memory(sandpiper, serve):
    server = serve(sandpiper, bound(1024) + bound(1024), model="qwen3.5:4b")
    ollama = Ollama(server, {"qwen3.5:4b": 4096})
    first, second = sandpiper.run("q", env=local(server)), sandpiper.run("-m", "qwen3.5:4b", "q", env=local(server))
    assert (first.code, first.out) == (0, "Heard.\n") and NARROW in first.err and first.err.count("Enlarge") == 1, first
    assert second.code == 0 and second.err == "", second        # once a day
    assert set(ollama.shown) == {"qwen3.5:4b"}


def test_ollamas_window_after_the_model_was_loaded(sandpiper, serve):
    """Nobody knows it before; then it is read, and told."""
    server = serve(sandpiper, [{"answer": {"calls": [{"code": "print(6 * 7)"}]}}, {"expect": {"max_tokens": 1024}, "answer": {"text": "42"}}])
    ollama = Ollama(server)

    def load(request):
        ollama.windows["qwen3.5:4b"] = 4096
        return {"answer": {"calls": [{"code": "print(6 * 7)"}]}}
    server.exchanges[0] = load
    r = sandpiper.run("-m", "qwen3.5:4b", "q", env=local(server))
    assert (r.code, r.out) == (0, "42\n") and r.err.count(NARROW) == 1, r


def test_a_wide_window_is_not_told(sandpiper, serve):
    server = serve(sandpiper, bound(4096))
    Ollama(server, {"qwen3.5:4b": 65536})
    r = sandpiper.run("-m", "qwen3.5:4b", "q", env=local(server))
    assert (r.code, r.err) == (0, ""), r


def test_ollamas_window_that_the_models_file_sets(sandpiper, serve):
    server = serve(sandpiper, bound(2500))
    Ollama(server, parameters="stop \"x\"\nnum_ctx                        10000")
    r = sandpiper.run("-m", "qwen3.5:4b", "q", env=local(server))
    assert r.code == 0 and "with a context window of 10,000 tokens" in r.err, r


def test_ollamas_models_without_tools(sandpiper, serve):
    server = serve(sandpiper, [{"expect": {"absent": ["tools"]}, "answer": {"text": "Heard."}}])
    Ollama(server, {"qwen3.5:4b": 65536}, capabilities=["completion"])
    assert sandpiper.run("-m", "qwen3.5:4b", "q", env=local(server)).code == 0


def test_a_chat_asks_its_server_behind_the_prompt(sandpiper, serve):
    """The prompt does not wait for it, and a question typed ahead does: that goes out without tools."""
    asked = []

    def hear(request):
        asked.append("tools" in json.loads(request.raw))
        return {"answer": {"text": "Heard."}}
    server = serve(sandpiper, [], model="qwen3.5:4b")
    Ollama(server, {"qwen3.5:4b": 4096}, capabilities=["completion"])
    for _ in range(5):                  # the server has 150 ms, which a busy machine may need for itself
        server.exchanges.append(hear)
        t = AnsweringTerminal(sandpiper, PLAIN, args=["-m", "qwen3.5:4b"], env=local(server))
        t.send("q\r")
        t.expect("Heard.")
        t.expect(MARKS_PASTES)
        assert t.close() == 0
        if b"with a context" in t.seen:
            break
    assert t.seen.index(MARKS_PASTES) < t.seen.index(b"with a context") < t.seen.index(b"Heard."), t.seen
    assert asked[-1] is False


def test_models_of_ollama(bare, serve):
    server = serve(bare)
    Ollama(server, {"qwen3.5:4b": 32768})
    r = bare.run("models", env=local(server))
    assert r.code == 0 and [line.split() for line in r.out.splitlines()[1:]] == [["other:latest", "yes"], ["qwen3.5:4b", "32,768", "yes", "default"]], r


def test_llama_cpp_tells_its_window(sandpiper, serve):
    """In its list where it is new, else in /props."""
    server = serve(sandpiper, bound(2048) + bound(1500))
    server.others[BASE] = listed({"id": "a model.gguf", "meta": {"n_ctx": 8192, "n_ctx_train": 262144}}, owner="llamacpp")
    assert sandpiper.run("-m", "a model.gguf", "q", env=local(server)).code == 0
    server.others[BASE] = listed({"id": "a model.gguf", "meta": {"n_ctx_train": 262144}}, owner="llamacpp")
    server.others["/props"] = {"default_generation_settings": {"n_ctx": 6000}, "total_slots": 1}
    r = sandpiper.run("-m", "a model.gguf", "q", env=local(server))
    assert (r.code, r.err) == (0, ""), r
    assert server.asides[-1].path == "/props?autoload=false&model=a%20model.gguf"


def test_vllm_tells_its_window(sandpiper, serve):
    server = serve(sandpiper, bound(1250))
    server.others[BASE] = listed({"id": "Qwen/Qwen3.8-27B", "max_model_len": 5000}, owner="vllm")
    assert sandpiper.run("-m", "Qwen/Qwen3.8-27B", "q", env=local(server)).code == 0


def test_lm_studio_tells_its_window(sandpiper, serve):
    server = serve(sandpiper, bound(1024) + bound(1200))
    server.others[BASE] = listed({"id": "qwen/qwen3.5-4b"}, owner="organization_owner")
    server.others["/api/v1/models"] = {"models": [
        {"type": "llm", "key": "qwen/qwen3.5-4b", "max_context_length": 262144, "capabilities": {"vision": False, "trained_for_tool_use": True},
         "loaded_instances": [{"id": "qwen/qwen3.5-4b", "config": {"context_length": 4096}}]}]}
    r = sandpiper.run("-m", "qwen/qwen3.5-4b", "q", env=local(server))
    assert r.code == 0 and "LM Studio runs qwen/qwen3.5-4b with a context window of 4,096 tokens" in r.err and "lms load qwen/qwen3.5-4b" in r.err, r
    server.others["/api/v1/models"] = (404, {})
    server.others["/api/v0/models"] = listed({"id": "qwen/qwen3.5-4b", "state": "loaded", "loaded_context_length": 4800, "max_context_length": 262144})
    assert sandpiper.run("-m", "qwen/qwen3.5-4b", "q", env=local(server)).code == 0


VLLM_REFUSAL = {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
                          "type": "BadRequestError", "param": None, "code": 400}}


@pytest.mark.parametrize("model, flags", [
    ("Qwen/Qwen2.5-7B-Instruct", "--tool-call-parser hermes"),
    ("Qwen/Qwen3-8B-AWQ", "--tool-call-parser hermes"),
    ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "--tool-call-parser qwen3_coder"),
    ("Qwen/Qwen3.8-27B", "--tool-call-parser qwen3_coder"),
    ("meta-llama/Llama-3.1-8B-Instruct", "--tool-call-parser llama3_json"),
    ("meta-llama/Meta-Llama-3.1-8B-Instruct", "--tool-call-parser llama3_json"),
    ("NousResearch/Hermes-3-Llama-3.1-8B", "--tool-call-parser hermes"),
    ("mistralai/Ministral-8B-Instruct-2410", "--tool-call-parser mistral"),
    ("openai/gpt-oss-20b", "--tool-call-parser openai"),
    ("deepseek-ai/DeepSeek-V3.1", "--tool-call-parser deepseek_v31"),
    ("deepseek-ai/DeepSeek-V3-0324", "--tool-call-parser deepseek_v3"),
    ("test-model", "the --tool-call-parser named for this model at docs.vllm.ai/en/latest/features/tool_calling"),
])
def test_vllm_without_its_parser_goes_on_in_blocks(sandpiper, serve, model, flags):
    server = serve(sandpiper, [{"expect": {"tools": ["execute_python"]}, "answer": {"status": 400, "json": VLLM_REFUSAL}},
                               {"expect": {"absent": ["tools"]}, "answer": {"text": "Heard."}}])
    server.others[BASE] = listed({"id": model, "max_model_len": 32768}, owner="vllm")
    r = sandpiper.run("-m", model, "--dialect", "auto", "q", env=local(server))
    assert (r.code, r.out) == (0, "Heard.\n"), r
    assert "vLLM was started without a tool parser: restart it with --enable-auto-tool-choice " in r.err and r.err.count("\n") == 1, r
    assert flags + ". Until then" in r.err, r


def test_vllm_without_its_parser_where_tools_are_wanted(sandpiper, serve):
    serve(sandpiper, [{"answer": {"status": 400, "json": VLLM_REFUSAL}}])
    r = sandpiper.run("-m", "openai/gpt-oss-20b", "q")
    assert r.code == 1 and "--enable-auto-tool-choice --tool-call-parser openai" in r.err and "--dialect blocks" in r.err, r


def test_the_parser_of_a_model_of_the_users_own(sandpiper, serve):
    sandpiper.configure("models:\n  house: {vllm_parser: hermes}\n")
    serve(sandpiper, [{"answer": {"status": 400, "json": VLLM_REFUSAL}}])
    r = sandpiper.run("-m", "house", "--dialect", "native", "q")
    assert r.code == 1 and "--enable-auto-tool-choice --tool-call-parser hermes" in r.err, r


def test_llama_cpp_is_found_at_both_ports(bare, serve):
    server = serve(bare, ONCE * 2)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for url, other in ((server.url, "http://127.0.0.1:%d/v1" % port), ("http://127.0.0.1:%d/v1" % port, server.url)):
        bare.configure("providers:\n  ollama: {discover: false}\n  lm-studio: {discover: false}\n"
                       "  llama.cpp: {base_url: '%s', other_url: '%s'}\n" % (url, other))
        r = bare.run("q", env=local(server, SANDPIPER_BASE_URL=None, SANDPIPER_DISCOVER="1"))
        assert (r.code, r.out) == (0, "Heard.\n") and "using test-model of llama.cpp at %s" % server.url in r.err, r


def test_a_named_llama_cpp_is_found_at_its_old_port(bare, serve):
    server = serve(bare, ONCE * 2)
    bare.configure("providers:\n  llama.cpp: {base_url: 'http://127.0.0.1:9/v1', other_url: '%s'}\n" % server.url)
    for args in ([], ["-m", "test-model"]):
        r = bare.run("--provider", "llama.cpp", *args, "q", env=local(server, SANDPIPER_BASE_URL=None))
        assert (r.code, r.out) == (0, "Heard.\n"), r


def test_a_long_list_of_a_stranger_costs_little(bare, serve):
    """What listens on this machine may be anything: 40,000 elements took four seconds."""
    server = serve(bare)
    server.others[BASE] = {"data": [{}] * 40000}
    bare.configure("providers:\n  ollama: {discover: false}\n  llama.cpp: {discover: false}\n  lm-studio: {discover: false}\n"
                   "  here: {title: Here, base_url: '%s', discover: true, local: true}\n" % server.url)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    r = bare.run("q", env=local(server, SANDPIPER_BASE_URL=None, SANDPIPER_DISCOVER="1"))
    assert r.code == 2 and resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - spent < 1.5, r


# --------------------------------------------------------------------------------------------------------------------- the chat

def test_tab_completes_models_in_the_chat(sandpiper, serve):
    server = serve(sandpiper, [{"expect": {"model": "qwen3.5:4b"}, "answer": {"text": "Heard."}}])
    server.others[BASE] = listed({"id": "qwen3.5:4b"}, {"id": "gemma4:e4b"}, {"id": "turned\u202eround"})
    p = sandpiper.chat(env={"NO_COLOR": "1"})
    p.expect_exact("> ")
    p.send("/model q\t\r")
    p.expect_exact("qwen3.5:4b")
    p.expect_exact("> ")
    p.send("/model \t\t")
    p.expect_exact("gemma4:e4b")
    p.send("\x15question\r")
    p.expect_exact("Heard.")
    p.expect_exact("> ")
    assert "round" not in p.before
    p.send("\x04")
    p.read()


# ---------------------------------------------------------------------------------------------------- lists in places of their own

def test_cloudflare_lists_beside_its_api(bare, serve):
    server = serve(bare)
    root = server.url[:-len("/v1")] + "/client/v4/accounts/abc"
    server.others["/client/v4/accounts/abc/ai/models/search"] = {"success": True, "result": [
        {"id": "f9f2", "name": "@cf/openai/gpt-oss-120b", "task": {"name": "Text Generation"},
         "properties": [{"property_id": "context_window", "value": "128000"}]}]}
    for base, more in ((root + "/ai/v1", []), (root, ["--api", "workers_ai"])):
        r = bare.run("models", *more, env={"OPENAI_BASE_URL": base})
        assert r.code == 0 and "@cf/openai/gpt-oss-120b  128,000" in r.out, r
        assert server.asides[-1].path.endswith("/search?per_page=100&task=Text%20Generation"), server.asides[-1].path


def test_anthropic_lists_by_its_own_api(bare, serve):
    server = serve(bare)
    server.others[BASE] = {"data": [{"type": "model", "id": "claude-haiku-5-5", "max_input_tokens": 1000000}]}
    r = bare.run("models", env={"OPENAI_BASE_URL": "http://api.anthropic.com.localhost:%d/v1" % server.port, "SANDPIPER_ALLOW_INSECURE": "1"})
    assert r.code == 0 and "claude-haiku-5-5  1,000,000" in r.out, r
    asked = server.asides[-1]
    assert asked.path == BASE + "?limit=1000" and asked.headers["x-api-key"] == "test-key" and "anthropic-version" in asked.headers
    assert "authorization" not in asked.headers


# -------------------------------------------------------------------------------------------------------------------- models that go

def test_an_end_that_is_known_here_is_told_without_a_list(sandpiper, serve):
    serve(sandpiper, ONCE)
    sandpiper.configure("models:\n  test-model: {ends: %s, replaced_by: next-model}\n" % day(31))
    r = sandpiper.run("q")
    assert r.code == 0 and "test-model will be retired on %s, in 30 days; next-model takes its place" % day(31) in r.err, r


RETIRED = [("openai", "gpt-5", "2026-12-11", "gpt-6.1-sol"), ("openai", "gpt-5-mini", "2026-12-11", "gpt-6.1-terra"), ("openai", "o3", "2026-12-11", "gpt-6.1-sol"),
           ("openai", "gpt-5-nano", "2026-12-11", "gpt-6-luna"), ("openai-responses", "gpt-5", "2026-12-11", "gpt-6.1-sol"),
           ("anthropic", "claude-sonnet-4-5-20250929", "2026-11-30", "claude-sonnet-5-5"),
           ("gemini", "gemini-2.5-flash", "2026-12-01", "gemini-3.5-flash-lite"), ("gemini", "gemini-2.5-pro", "2026-12-01", "gemini-3.8-flash")]
STAYS = [("gemini", "gemini-2.5-flash-lite"), ("openai", "gpt-5.6-sol"), ("openai", "gpt-6.1-sol"), ("openai", "o3-deep-research"), ("anthropic", "claude-sonnet-5-5")]


def told_of(sandpiper, serve, provider, model):
    """What is said when it is asked, at a service that still has it."""
    service = mock(provider)
    service.models = ()
    server = serve(sandpiper, ONCE, profile=service)
    return sandpiper.run("--provider", provider, "-m", model, "q", env=point(sandpiper, provider, server)).err


@pytest.mark.parametrize("provider, model, day, instead", RETIRED)
def test_what_is_retired_this_year(sandpiper, serve, provider, model, day, instead):
    """Before and after its last day: the day, and what takes its place."""
    said = told_of(sandpiper, serve, provider, model)
    assert re.search(r"%s (will|was due to) be retired on %s(, in \d+ days?)?; %s takes its place" % (re.escape(model), day, re.escape(instead)), said), said


@pytest.mark.parametrize("provider, model", STAYS)
def test_what_stays(sandpiper, serve, provider, model):
    assert "retired" not in told_of(sandpiper, serve, provider, model)


@pytest.mark.parametrize("provider, model, instead", [("openai", "gpt-5", "gpt-6.1-sol"), ("anthropic", "claude-sonnet-4-5", "claude-sonnet-5-5")])
def test_what_is_gone_is_answered_with_its_replacement(sandpiper, serve, provider, model, instead):
    server = serve(sandpiper, [], profile=mock(provider, retired=[model]))
    r = sandpiper.run("--provider", provider, "-m", model, "q", env=point(sandpiper, provider, server))
    assert r.code == 1 and "Use %s instead: -m %s" % (instead, instead) in r.err, r


def test_both_rows_of_openai_know_the_same_models():
    assert ROWS["openai"]["profiles"] == ROWS["openai-responses"]["profiles"]


GONE = {"answer": {"status": 404, "json": {"error": {"message": "The model `test-model` does not exist", "code": "model_not_found"}}}}


def test_the_nearest_to_a_model_that_is_gone_is_named(sandpiper, serve):
    server = serve(sandpiper, [GONE])
    server.others[BASE] = listed({"id": "unlike"}, {"id": "test-model-2"})
    r = sandpiper.run("q")
    assert r.code == 1 and "Did you mean: -m test-model-2" in r.err, r
