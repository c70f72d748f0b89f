"""model_shapes.py - the two other APIs of the scripted model service: OpenAI's Responses and Workers AI's own. Each has a check of a
request, as strict as the service, and its answers, whole and as a stream. What was said lies in messages for every shape, so that
scripts need not know which it is.

Of Responses the memory is the point: an item is taken back only as it was given, by the model that it was given to, in its place. The words
of the refusals are OpenAI's.
"""
import json
import re

from image_parts import check_parts, words

RESPONSES_FIELDS = {"model", "instructions", "input", "tools", "tool_choice", "max_output_tokens", "temperature", "reasoning", "include", "store",
                    "stream", "parallel_tool_calls"}
ITEM_FIELDS = {"message": {"type", "role", "content", "id", "status", "phase"}, "reasoning": {"type", "id", "summary", "content", "encrypted_content"},
               "function_call": {"type", "id", "call_id", "name", "arguments"}, "function_call_output": {"type", "call_id", "output"}}
WORKERS_FIELDS = {"messages", "tools", "max_tokens", "temperature", "stream", "reasoning_effort"}


def find_nulls(value, where="body"):
    if value is None:
        return [where]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [n for k, v in items for n in find_nulls(v, "%s.%s" % (where, k))]


class Chat:
    """Chat completions: model_server has them."""
    def messages(self, body):
        return body.get("messages") or []


class Responses:
    sees = False                # an image is wrong
    bounded = True              # a request without max_output_tokens is wrong: on a loopback address there is always one

    def __init__(self):
        self.given = {}             # id of an item -> (model, item, id of the reasoning it needs)
        self.calls = {}             # call_id -> (model, id of the reasoning it needs)

    def forget(self):
        """Another key, a moved alias: what was given is not known any more."""
        self.given, self.calls = {}, {}

    # ---- requests

    def messages(self, body):
        """As if they were chat completions."""
        out = [{"role": "system", "content": body.get("instructions")}] if "instructions" in body else []
        for item in body.get("input") or []:
            kind = item.get("type", "message")
            if kind == "message":
                content = item.get("content")
                text = content if isinstance(content, str) else "".join(p.get("text", "") for p in content or [])
                out.append({"role": item.get("role"), "content": text or content})
            elif kind == "function_call":
                call = {"id": item.get("call_id"), "type": "function", "function": {"name": item.get("name"), "arguments": item.get("arguments")}}
                if out and out[-1].get("role") == "assistant" and "tool_calls" not in out[-1]:
                    out[-1]["tool_calls"] = [call]
                elif out and out[-1].get("role") == "assistant":
                    out[-1]["tool_calls"].append(call)
                else:
                    out.append({"role": "assistant", "content": "", "tool_calls": [call]})
            elif kind == "function_call_output":
                out.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": words(item.get("output"))})
        return out

    def check(self, body, problems):
        if set(body) - RESPONSES_FIELDS:
            problems.append("unknown fields %s" % sorted(set(body) - RESPONSES_FIELDS))
        problems += ["%s is null" % n for n in find_nulls(body)]
        if not body.get("model") or not isinstance(body.get("input"), list) or not body["input"]:
            problems.append("model or input is missing")
            return
        if body.get("store") is not False:
            problems.append("store is %r: what is said here must not be kept there" % body.get("store"))
        limit = body.get("max_output_tokens", None if self.bounded else 16)
        if not isinstance(limit, int) or limit < 16:
            problems.append("max_output_tokens is %r" % limit)
        for k, tool in enumerate(body.get("tools") or []):
            if tool.get("type") != "function" or not tool.get("name") or not isinstance(tool.get("parameters"), dict) or "function" in tool:
                problems.append("tools[%d] is not flat: %s" % (k, json.dumps(tool)))
        self.check_items(body, problems)

    def check_items(self, body, problems):
        open_calls, answered, used = [], [], False
        for i, item in enumerate(body["input"]):
            kind, where = item.get("type", "message"), "input[%d]" % i
            if kind not in ITEM_FIELDS:
                problems.append("%s.type is %r" % (where, kind))
                continue
            if set(item) - ITEM_FIELDS[kind]:
                problems.append("%s (%s) has fields %s" % (where, kind, sorted(set(item) - ITEM_FIELDS[kind])))
            if open_calls and answered and kind != "function_call_output":
                problems.append("No tool output found for function call %s." % open_calls[0])
                open_calls = []
            if kind == "function_call":
                used = True
                open_calls.append(item.get("call_id"))
                answered = []
                if not isinstance(json.loads(item.get("arguments") or "null"), dict) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item.get("name", "")):
                    problems.append("%s: name or arguments are wrong: %s" % (where, json.dumps(item)))
            elif kind == "function_call_output":
                if item.get("call_id") not in open_calls:
                    problems.append("No tool call found for function call output with call_id %s." % item.get("call_id"))
                else:
                    open_calls.remove(item["call_id"])
                answered.append(item.get("call_id"))
                if isinstance(item.get("output"), list) and self.sees:
                    check_parts(where + ".output", item["output"], "responses", problems)
                elif not isinstance(item.get("output"), str) or not item["output"]:
                    problems.append("%s.output is %r" % (where, item.get("output")))
            elif kind == "message":
                if open_calls:
                    problems.append("No tool output found for function call %s." % open_calls[0])
                    open_calls = []
                if item.get("role") == "user" and not isinstance(item.get("content"), str):
                    if self.sees:
                        check_parts(where + ".content", item["content"], "responses", problems)
                    else:
                        problems.append("%s.content is %s: no image was expected" % (where, type(item.get("content")).__name__))
                if item.get("role") not in ("user", "assistant"):
                    problems.append("%s.role is %r" % (where, item.get("role")))
                if item.get("role") == "assistant" and not isinstance(item.get("content"), list):
                    problems.append("Cannot determine type of 'item': %s" % where)      # llama.cpp
            self.check_given(body, i, item, where, problems)
        if open_calls:
            problems.append("No tool output found for function call %s." % open_calls[0])
        if used and not body.get("tools"):
            problems.append("a history of calls without tools in the request")

    def check_given(self, body, i, item, where, problems):
        """Items with an id, and calls whose reasoning was given."""
        items, model = body["input"], body["model"]
        identity, kind = item.get("id"), item.get("type", "message")
        before = [x.get("id") for x in items[:i]]
        if kind == "reasoning":
            owner, was, _ = self.given.get(identity, (None, None, None))
            if was is None:
                problems.append("Item with id '%s' not found. Items are not persisted when `store` is set to false." % identity)
            elif owner != model or item.get("encrypted_content") != was.get("encrypted_content"):
                problems.append("The encrypted content for item %s could not be verified." % identity)
            elif item != was:
                problems.append("%s is not as it was given: %s" % (where, json.dumps(item)))
            after = items[i + 1] if i + 1 < len(items) else {}
            if after.get("type", "message") == "function_call_output" or after.get("role") == "user" or not after:
                problems.append("Item '%s' of type 'reasoning' was provided without its required following item." % identity)
        elif identity:
            owner, was, needs = self.given.get(identity, (None, None, None))
            if was is None:
                problems.append("Item with id '%s' not found. Items are not persisted when `store` is set to false." % identity)
            elif needs and needs not in before:
                problems.append("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'." % (identity, kind, needs))
        if kind == "function_call":
            owner, needs = self.calls.get(item.get("call_id"), (None, None))
            if needs and owner == model and needs not in before:
                problems.append("Item '%s' of type 'function_call' was provided without its required 'reasoning' item: '%s'." % (identity, needs))

    # ---- answers

    def items(self, answer, body, calls):
        """The output of one answer, remembered."""
        n, model, out, needs = answer.get("number", 1), body.get("model"), [], None
        asked = "reasoning.encrypted_content" in (body.get("include") or [])
        if answer.get("reasoning"):
            needs = "rs_%d" % n
            summary = [{"type": "summary_text", "text": answer["reasoning"]}] if (body.get("reasoning") or {}).get("summary") else []
            item = {"type": "reasoning", "id": needs, "summary": summary}
            if asked:
                item["encrypted_content"] = "gAAAA-%s-%d" % (model, n)
            out.append(item)
            self.given[needs] = (model, item, None)
        if answer.get("text"):
            item = {"type": "message", "id": "msg_%d" % n, "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": answer["text"], "annotations": []}]}
            out.append(item)
            self.given[item["id"]] = (model, item, needs)
        for k, call in enumerate(calls):
            item = {"type": "function_call", "id": "fc_%d_%d" % (n, k), "call_id": call["id"], "name": call["function"]["name"],
                    "arguments": call["function"]["arguments"], "status": "completed"}
            out.append(item)
            self.given[item["id"]] = (model, item, needs)
            self.calls[call["id"]] = (model, needs if asked else None)
        return out

    def response(self, answer, body, output, status):
        n = answer.get("usage", [20, 10])
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(answer.get("finish"))
        return {"id": "resp_%d" % answer.get("number", 1), "object": "response", "created_at": 1, "status": status if not reason or status == "in_progress" else "incomplete",
                "error": None, "incomplete_details": {"reason": reason} if reason and status != "in_progress" else None, "model": body.get("model"),
                "output": output, "store": False,
                "usage": {"input_tokens": n[0], "output_tokens": n[1], "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": sum(n)} if n else None}

    def whole(self, answer, body, calls):
        return self.response(answer, body, self.items(answer, body, calls), "completed")

    def stream(self, answer, body, calls, pieces):
        """The events of one answer, as text."""
        output, size, number = self.items(answer, body, calls), answer.get("piece", 6), 0

        def event(kind, **more):
            nonlocal number
            number += 1
            return "event: %s\ndata: %s\n\n" % (kind, json.dumps(dict({"type": kind, "sequence_number": number}, **more)))
        yield event("response.created", response=self.response(answer, body, [], "in_progress"))
        for i, item in enumerate(output):
            at = {"item_id": item["id"], "output_index": i}
            kind = item["type"]
            empty = {"message": {"content": []}, "reasoning": {"summary": []}, "function_call": {"arguments": ""}}[kind]
            yield event("response.output_item.added", output_index=i, item=dict(item, **empty, status="in_progress"))
            if kind == "reasoning" and item["summary"]:
                yield event("response.reasoning_summary_part.added", summary_index=0, part={"type": "summary_text", "text": ""}, **at)
                for p in pieces(item["summary"][0]["text"], size):
                    yield event("response.reasoning_summary_text.delta", summary_index=0, delta=p, **at)
            elif kind == "message":
                for p in pieces(item["content"][0]["text"], size):
                    yield event("response.output_text.delta", content_index=0, delta=p, logprobs=[], obfuscation="x", **at)
            elif kind == "function_call":
                for p in pieces(item["arguments"], size):
                    yield event("response.function_call_arguments.delta", delta=p, obfuscation="y", **at)
                yield event("response.function_call_arguments.done", arguments=item["arguments"], **at)
            yield event("response.output_item.done", output_index=i, item=dict(item, status=None if kind == "reasoning" else "completed"))
        last = self.response(answer, body, output, "completed")
        yield event("response." + last["status"], response=last)


class WorkersAI:
    """The model is in the URL, the answer in an envelope; no ids, arguments as an object."""
    def messages(self, body):
        return body.get("messages") or []

    def check(self, body, problems):
        if set(body) - WORKERS_FIELDS:
            problems.append("unknown fields %s" % sorted(set(body) - WORKERS_FIELDS))
        if not isinstance(body.get("max_tokens"), int):
            problems.append("no max_tokens: 256 would be the default")
        for i, m in enumerate(self.messages(body)):
            if not isinstance(m.get("content"), str):
                problems.append("AiError: Bad input: 5006: messages[%d].content is %r" % (i, m.get("content")))
            if m.get("role") == "tool" and not m.get("name"):
                problems.append("messages[%d]: a tool message without the name of its tool" % i)

    def result(self, answer, calls):
        n = answer.get("usage", [20, 10])
        out = {"response": answer.get("text") or ("" if not calls else None)}
        if calls:
            out["tool_calls"] = [{"name": c["function"]["name"], "arguments": json.loads(c["function"]["arguments"])} for c in calls]
        return dict(out, usage={"prompt_tokens": n[0], "completion_tokens": n[1], "total_tokens": sum(n)})

    def whole(self, answer, body, calls):
        return {"result": self.result(answer, calls), "success": True, "errors": [], "messages": []}

    def stream(self, answer, body, calls, pieces):
        result = self.result(answer, calls)
        for p in pieces(answer.get("text") or "", answer.get("piece", 6)):
            yield "data: %s\n\n" % json.dumps({"response": p, "p": "abcdefgh"[:len(p)]})
        if calls:
            yield "data: %s\n\n" % json.dumps({"response": None, "tool_calls": result["tool_calls"], "p": "ab"})
        yield "data: %s\n\n" % json.dumps({"response": "", "usage": result["usage"]})
        yield "data: [DONE]\n\n"


class Shapes:
    """One of each for a server: Responses remember."""
    def __init__(self):
        self.chat, self.responses, self.workers_ai = Chat(), Responses(), WorkersAI()

    def of(self, path):
        path = path.partition("?")[0]
        return self.responses if path.endswith("/responses") else self.workers_ai if "/run/" in path else self.chat
