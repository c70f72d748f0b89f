"""model_server.py - a scripted model service on loopback. A script is a list of exchanges, each with what request is expected and what is
answered, in the order in which they come:

    [{"answer": {"calls": [{"code": "print(6 * 7)"}]}},
     {"expect": {"last": {"role": "tool", "content": {"contains": "42"}}}, "answer": {"text": "It is 42."}}]

match_request() reads what is expected, ModelServer.play() what is answered. It is strict: a history that some real service would refuse is
refused here (400) and fails the test. Sockets are driven by hand, so that it can also cut, stall, reset and dribble like the worst of them.
"""
import json
import re
import socket
import struct
import threading
import time

from image_parts import check_parts
from model_shapes import Shapes
from profiles import Profile, Refusal

KNOWN_FIELDS = {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "max_tokens", "max_completion_tokens",
                "temperature", "stop", "parallel_tool_calls", "reasoning_effort"}
MESSAGE_FIELDS = {"system": {"role", "content"}, "user": {"role", "content"}, "tool": {"role", "content", "tool_call_id", "name"},
                  "assistant": {"role", "content", "tool_calls", "reasoning_content", "reasoning", "reasoning_details", "refusal"}}


# ------------------------------------------------------------------------------------------------ what a strict service refuses

def no_duplicates(pairs):
    out = {}
    for key, value in pairs:
        if key in out:
            raise ValueError("duplicate key %r" % key)
        out[key] = value
    return out


def check_text(where, value, problems, empty_ok=False):
    if not isinstance(value, str):
        problems.append("%s is %s, not a string" % (where, type(value).__name__))
        return
    if not value and not empty_ok:
        problems.append("%s is empty" % where)
    if "\0" in value:
        problems.append("%s holds a NUL" % where)
    if any("\ud800" <= c <= "\udfff" for c in value):
        problems.append("%s holds a lone surrogate" % where)


def check_calls(where, calls, problems):
    ids = []
    if not isinstance(calls, list) or not calls:
        problems.append("%s.tool_calls is no list with an element" % where)
        return ids
    for k, call in enumerate(calls):
        at = "%s.tool_calls[%d]" % (where, k)
        try:
            ids.append(call["id"])
            function = call["function"]
            if call["type"] != "function" or set(call) - {"id", "type", "function", "extra_content", "index"}:
                problems.append("%s: type or fields are wrong: %s" % (at, sorted(call)))
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", function["name"]):
                problems.append("%s: name %r" % (at, function["name"]))
            if not isinstance(json.loads(function["arguments"], object_pairs_hook=no_duplicates), dict):
                problems.append("%s: arguments are no JSON object: %r" % (at, function["arguments"]))
        except (KeyError, TypeError, ValueError) as e:
            problems.append("%s: %s: %r" % (at, type(e).__name__, e))
    if len(set(ids)) != len(ids):
        problems.append("%s: the same id twice: %s" % (where, ids))
    return ids


def check_messages(messages, problems, sees=False):
    """WIRE section 7, as the strictest services have it. Images are in user messages alone, and only those may follow a result;
    where sees is "results" they are in results too, and nothing of the user's follows one (Mistral)."""
    if not isinstance(messages, list) or not messages:
        problems.append("messages is no list with an element")
        return
    open_ids, before = [], None
    for i, m in enumerate(messages):
        role, where = m.get("role"), "messages[%d]" % i
        if role not in MESSAGE_FIELDS:
            problems.append("%s.role is %r" % (where, role))
            continue
        extra = set(m) - MESSAGE_FIELDS[role]
        if extra:
            problems.append("%s (%s) has fields %s" % (where, role, sorted(extra)))
        parts = isinstance(m.get("content"), list) and role in ("user",) + (("tool",) if sees == "results" else ())
        if parts and sees:
            check_parts(where + ".content", m["content"], "chat", problems)
        else:
            check_text(where + ".content", m.get("content"), problems, empty_ok=role == "assistant" and "tool_calls" in m)
        if open_ids and role != "tool":
            problems.append("%s is %s, but the calls %s are not answered" % (where, role, open_ids))
            open_ids = []
        if role == "system" and i > 0:
            problems.append("%s is a second or late system message" % where)
        if role == "user" and before in ("user",) + (() if parts and sees != "results" else ("tool",)):
            problems.append("%s is user right after %s" % (where, before))
        if role == "assistant" and before in ("assistant", "system", None):
            problems.append("%s is assistant right after %s" % (where, before))
        if role == "tool":
            if not open_ids or m.get("tool_call_id") != open_ids[0]:
                problems.append("%s answers %r, expected %s" % (where, m.get("tool_call_id"), open_ids[:1] or "nothing"))
            open_ids = open_ids[1:]
        if role == "assistant" and "tool_calls" in m:
            open_ids = check_calls(where, m["tool_calls"], problems)
        before = role
    if messages[0].get("role") != "system":
        problems.append("messages[0] is no system message")
    if before not in ("user", "tool"):
        problems.append("the last message is %s" % before)
    if open_ids:
        problems.append("the calls %s are not answered" % open_ids)


def check_request(text, shape=None, service=False, sees=False):
    """(body, problems) of a request; without a shape, or with that of chat completions, one of those. A service has its own say on fields."""
    problems = []
    try:
        body = json.loads(text.decode("utf-8"), object_pairs_hook=no_duplicates)
    except ValueError as e:
        return {}, ["the body is no strict JSON: %s" % e]
    if hasattr(shape, "check"):
        shape.check(body, problems)
        check_messages(shape.messages(body), problems, sees)
        return body, problems
    unknown = set(body) - KNOWN_FIELDS
    if unknown and not service:
        problems.append("unknown fields %s" % sorted(unknown))
    if not isinstance(body.get("model"), str) or not body["model"]:
        problems.append("no model")
    check_messages(body.get("messages"), problems, sees)
    has_tools = any(m.get("role") == "tool" or "tool_calls" in m for m in body.get("messages") or [])
    if has_tools and not body.get("tools"):
        problems.append("a history of calls without tools in the request")
    for k, tool in enumerate(body.get("tools") or []):
        f = tool.get("function", {})
        if tool.get("type") != "function" or not f.get("name") or f.get("parameters", {}).get("type") != "object":
            problems.append("tools[%d] is wrong: %s" % (k, json.dumps(tool)))
    if "stream_options" in body and not body.get("stream"):
        problems.append("stream_options without stream")
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    if not service and (not isinstance(limit, int) or limit <= 0):
        problems.append("no max_tokens: a loopback address must always get one (it is %r)" % limit)
    return body, problems


def match(where, wanted, got, problems):
    """wanted from a script against got: a dict is a subset, {regex} {contains} {not_contains} {any} are tests, a list is exact, the rest equal."""
    if isinstance(wanted, dict) and set(wanted) <= {"regex", "contains", "not_contains", "any", "equals"} and wanted:
        text = got if isinstance(got, str) else json.dumps(got, ensure_ascii=False)
        if "equals" in wanted and got != wanted["equals"]:
            problems.append("%s: expected %r\n    got %r" % (where, wanted["equals"], got))
        if "regex" in wanted and not re.search(wanted["regex"], text, re.S | re.M):
            problems.append("%s: nothing matches /%s/ in\n    %s" % (where, wanted["regex"], text))
        for piece in listed(wanted.get("contains")):
            if piece not in text:
                problems.append("%s: %r is not in\n    %s" % (where, piece, text))
        for piece in listed(wanted.get("not_contains")):
            if piece in text:
                problems.append("%s: %r must not be in\n    %s" % (where, piece, text))
    elif isinstance(wanted, dict):
        for key, value in wanted.items():
            if not isinstance(got, dict) or key not in got:
                problems.append("%s: no %r in %s" % (where, key, json.dumps(got, ensure_ascii=False)[:300]))
            else:
                match("%s.%s" % (where, key), value, got[key], problems)
    elif isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            problems.append("%s: expected %d elements, got %s" % (where, len(wanted), json.dumps(got, ensure_ascii=False)[:2000]))
        else:
            for i, value in enumerate(wanted):
                match("%s[%d]" % (where, i), value, got[i], problems)
    elif wanted != got:
        problems.append("%s: expected %r\n    got %r" % (where, wanted, got))


def listed(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def match_request(expect, request, problems):
    """One exchange's "expect" against a request that came."""
    expect, body = dict(expect), request.body
    messages = request.messages
    if "path" in expect:
        match("path", expect.pop("path"), request.path, problems)
    for name, value in (expect.pop("headers", None) or {}).items():
        got = request.headers.get(name.lower())
        if value is None and got is not None:
            problems.append("header %s must not be sent (it is %r)" % (name, got))
        elif value is not None:
            match("header " + name, value, got or "", problems)
    for name in listed(expect.pop("absent", None)):
        if name in body:
            problems.append("%r must not be in the request" % name)
    if "tools" in expect:
        match("tools", expect.pop("tools"), [t.get("function", t).get("name") for t in body.get("tools") or []], problems)
    if "roles" in expect:
        match("roles", expect.pop("roles"), " ".join(m.get("role", "?") for m in messages), problems)
    if "system" in expect:
        match("system", expect.pop("system"), messages[0].get("content") if messages else None, problems)
    if "last" in expect:
        match("last message", expect.pop("last"), messages[-1] if messages else None, problems)
    if "tail" in expect:
        tail = expect.pop("tail")
        match("last messages", tail, messages[-len(tail):], problems)
    for key, value in expect.items():
        match(key, value, body.get(key), problems)


# ---------------------------------------------------------------------------------------------------------- answers as bytes

def pieces(text, size):
    return [text[i:i + size] for i in range(0, len(text), size)] or [""]


def calls_of(answer):
    out = []
    for k, call in enumerate(answer.get("calls") or []):
        arguments = call.get("arguments", {"code": call.get("code", "")})
        call_id = answer["profile"].call_id(answer.get("number", ""), k) if answer.get("profile") else "call_%s_%d" % (answer.get("number", ""), k + 1)
        out.append({"index": k, "id": call.get("id", call_id), "type": "function",
                    "function": {"name": call.get("name", "execute_python"),
                                 "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}})
    return out


def finish_of(answer):
    return answer.get("finish", "tool_calls" if answer.get("calls") else "stop")


def usage_of(answer):
    n = answer.get("usage", [20, 10])
    return {"prompt_tokens": n[0], "completion_tokens": n[1], "total_tokens": sum(n)} if n else None


def profile_of(answer):
    return answer.get("profile") or Profile()


def stream_events(answer, model):
    """Chat-completions chunks: role, what is thought, text in pieces, calls with their arguments in pieces, finish, usage."""
    size, profile = answer.get("piece", 6), profile_of(answer)

    def chunk(delta, finish=None, **more):
        return dict({"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": answer.get("model", model),
                     "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, **more)
    yield chunk({"role": "assistant", "content": ""})
    if answer.get("reasoning"):
        for delta in profile.thoughts(answer, pieces(answer["reasoning"], size)):
            yield chunk(delta)
    if answer.get("text"):
        for part in pieces(answer["text"], size):
            yield chunk({"content": part})
    for call in (profile.call(answer, c) for c in calls_of(answer)):
        if profile.arguments_whole:
            yield chunk({"tool_calls": [call]})
            continue
        yield chunk({"tool_calls": [dict(call, function=dict(call["function"], arguments=""))]})
        for part in pieces(call["function"]["arguments"], size):
            yield chunk({"tool_calls": [{"index": call["index"], "function": {"arguments": part}}]})
    yield chunk({}, finish_of(answer))
    if usage_of(answer):
        yield dict(chunk({}), choices=[], usage=usage_of(answer))


def whole_reply(answer, model):
    profile = profile_of(answer)
    message = {"role": "assistant", "content": answer.get("text") or (None if answer.get("calls") else "")}
    if answer.get("reasoning"):
        for delta in profile.thoughts(answer, [answer["reasoning"]]):
            message.update(delta)
    if answer.get("calls"):
        message["tool_calls"] = [{k: v for k, v in profile.call(answer, c).items() if k != "index"} for c in calls_of(answer)]
    return {"id": "chatcmpl-test", "object": "chat.completion", "created": 1, "model": answer.get("model", model),
            "choices": [{"index": 0, "message": profile.message(answer, message), "finish_reason": finish_of(answer)}], "usage": usage_of(answer)}


class Request:
    def __init__(self, number, method, path, headers, raw, connection):
        self.number, self.method, self.path, self.headers, self.raw = number, method, path, headers, raw
        self.connection, self.time = connection, time.monotonic()
        self.body, self.messages, self.refused, self.skipped = {}, [], [], False


class ModelServer:
    """with ModelServer(exchanges) as s: ... s.url ...; then s.check()."""

    def __init__(self, exchanges=(), model="test-model", lenient=False, profile=None, at=("127.0.0.1", 0)):
        self.exchanges, self.model, self.lenient, self.at = list(exchanges), model, lenient, at
        self.profile, self.parameters = profile, []     # of profiles.py: refuses what that service refuses; parameters: (name, model) refused
        self.refusals = []              # (status, text) by a profile that leaves the judgement to the test
        self.requests, self.problems, self.connections = [], [], 0
        self.asides = []                # requests for a list of models and the like, which no script expects; nor do their connections count
        self.others = {}                # path: the JSON that is answered there, (status, JSON), or a function of the request that gives one
        self.shapes = Shapes()
        self.shapes.responses.bounded = not self.counts()
        self.sees = False               # an image in a request is wrong
        self.lock, self.closing, self.sockets = threading.Lock(), threading.Event(), set()
        self.going = threading.Event()      # what has stalled goes on
        self.gone = threading.Event()       # the client closed a connection in the middle of an answer
        self.arrived = threading.Condition(self.lock)

    def counts(self):
        return bool(self.profile) and self.profile.counts

    def __enter__(self):
        self.listener = socket.create_server(self.at)
        self.port = self.listener.getsockname()[1]
        self.url = "http://127.0.0.1:%d/v1" % self.port
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()
        return self

    def __exit__(self, *exc):
        self.closing.set()
        self.going.set()
        self.listener.shutdown(socket.SHUT_RDWR)        # close() alone wakes nobody: the thread would go on with whatever next has that number
        self.acceptor.join()
        self.listener.close()
        with self.lock:
            for s in list(self.sockets):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.sockets.add(conn)
            threading.Thread(target=self.connection, args=(conn, [0]), daemon=True).start()

    def connection(self, conn, number):
        """number: a list, filled at the first request that counts."""
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        try:
            while True:
                request, data = self.read(conn, data, number)
                if request is None or not self.answer(conn, request):
                    return
        except OSError:
            self.gone.set()
        finally:
            with self.lock:
                self.sockets.discard(conn)
            conn.close()

    def read(self, conn, data, number):
        while b"\r\n\r\n" not in data:
            got = conn.recv(65536)
            if not got:
                return None, b""
            data += got
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        if headers.get("expect", "").lower() == "100-continue":
            conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = int(headers.get("content-length", "0"))
        while len(data) < length:
            got = conn.recv(1 << 20)
            if not got:
                return None, b""
            data += got
        with self.lock:
            request = Request(len(self.requests), method, path, headers, data[:length], number[0])
            if method == "GET" or path.partition("?")[0] in self.others:
                self.asides.append(request)
                return request, data[length:]
            if not number[0]:
                self.connections += 1
                number[0] = request.connection = self.connections
            self.requests.append(request)
            self.arrived.notify_all()
        return request, data[length:]

    def wait_request(self, number, timeout=60):
        """Until that many requests have come."""
        with self.lock:
            if not self.arrived.wait_for(lambda: len(self.requests) >= number, timeout):
                raise AssertionError("request %d did not come within %d s" % (number, timeout))
            return self.requests[number - 1]

    def judge(self, request):
        """The exchange for this request, and what is wrong with it."""
        problems = []
        if request.method == "GET":
            return self.listing(request), problems
        shape = self.shapes.of(request.path)
        self.shapes.responses.sees = self.sees or self.counts()
        aside = self.profile.aside(request) if self.counts() else None
        if aside:
            request.skipped = True
            return aside, problems
        request.body, problems = check_request(request.raw, shape, self.counts(), self.sees or self.counts())
        request.messages = shape.messages(request.body)
        if not request.headers.get("content-type", "").startswith("application/json"):
            problems.append("Content-Type is %r" % request.headers.get("content-type"))
        if self.profile and not problems:
            try:
                problems += self.profile.receive(request) or []
            except Refusal as e:
                return self.refused(request, e)
        with self.lock:
            index = sum(1 for r in self.requests[:request.number] if r.method != "GET" and not r.skipped)
        if index >= len(self.exchanges):
            return None, problems + ["request %d was not expected: the script has %d exchanges" % (index + 1, len(self.exchanges))]
        exchange = self.exchanges[index]
        if callable(exchange):
            exchange = exchange(request)
        match_request(exchange.get("expect") or {}, request, problems)
        return exchange.get("answer", {}), problems

    def aside(self, conn, request):
        value = self.others[request.path.partition("?")[0]]
        value = value(request) if callable(value) else value
        status, value = value if isinstance(value, tuple) else (200, value)
        if value is None:
            self.wait(60)               # it is busy
        else:
            self.send_json(conn, status, value)
        return True

    def listing(self, request):
        if not self.counts():
            return {"json": {"object": "list", "data": [{"id": self.model, "object": "model"}]}}
        try:
            return self.profile.listing(request)
        except Refusal as e:        # no list is no refusal of a question
            return {"status": e.status, "json": e.body}

    def refused(self, request, e):
        """What a profile refuses: always a problem, or once for each parameter and model, or left to the test."""
        answer = {"status": e.status, "json": e.body} if e.body is not None else {"status": e.status, "body": ""}
        if self.profile.counts:
            self.refusals.append((e.status, str(e)))
            request.skipped = True
            return answer, []
        met = (e.parameter, request.body.get("model"))
        again = e.parameter is None or met in self.parameters
        self.parameters.append(met)
        request.skipped = not again
        return answer, ["%s refuses this: %s" % (self.profile.name, e)] if again else []

    def answer(self, conn, request):
        if request.path.partition("?")[0] in self.others:
            return self.aside(conn, request)
        try:
            answer, problems = self.judge(request)
        except Exception as e:      # a mistake in a script must fail the test, not hang the program
            answer, problems = None, ["the script itself failed: %r" % e]
        if problems and not self.lenient:
            text = "request %d to %s:\n  - %s\nmessages were:\n%s" % (
                request.number + 1, request.path, "\n  - ".join(problems), show_messages(request.body if "messages" in request.body else {"messages": request.messages}))
            self.problems.append(text)
            request.refused = problems
            if answer and self.profile and not self.counts():
                return self.play(conn, request, dict(answer))
            if answer and self.counts():        # the service itself would go on
                return self.reply(conn, request, answer)
            self.send_json(conn, 400, {"error": {"message": "the test refused this request: " + "; ".join(problems)[:400]}})
            return True
        return self.reply(conn, request, answer or {})

    def reply(self, conn, request, answer):
        answer = dict(answer, number=request.number + 1, profile=self.profile)      # ids of calls differ from reply to reply
        if self.profile and self.profile.reasoning and not request.skipped and request.method == "POST":
            answer.setdefault("reasoning", self.profile.reasoning)
        if self.counts() and not request.skipped and request.method == "POST":
            self.profile.give(answer, request.body, calls_of(answer))
        return self.play(conn, request, answer)

    # -- playing an answer; returns whether the connection goes on

    def send_head(self, conn, status, headers):
        conn.sendall(("HTTP/1.1 %d X\r\n" % status + "".join("%s: %s\r\n" % h for h in headers.items()) + "\r\n").encode("latin-1"))

    def send_json(self, conn, status, value, headers=None, kind="application/json"):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_head(conn, status, dict({"Content-Type": kind, "Content-Length": len(data)}, **(headers or {})))
        conn.sendall(data)

    def wait(self, seconds):
        self.closing.wait(seconds)

    def play(self, conn, request, answer):
        if answer.get("wait"):
            self.wait(answer["wait"])
        if answer.get("reset") == "before":
            return self.reset(conn)
        if answer.get("close") == "before":
            return False
        status, headers = answer.get("status", 200), answer.get("headers") or {}
        if "body" in answer:
            body = answer["body"]
            self.send_json(conn, status, body if isinstance(body, bytes) else body.encode(), headers, answer.get("type", "text/html"))
        elif "json" in answer:
            self.send_json(conn, status, answer["json"], headers)
        elif "sse" in answer:
            return self.stream(conn, [listed(answer["sse"])[i] for i in range(len(listed(answer["sse"])))], answer, headers, ready=True)
        elif hasattr(self.shapes.of(request.path), "stream"):
            shape, calls = self.shapes.of(request.path), calls_of(answer)
            if request.body.get("stream") and not answer.get("whole"):
                return self.stream(conn, list(shape.stream(answer, request.body, calls, pieces)), answer, headers)
            self.send_json(conn, status, shape.whole(answer, request.body, calls), headers)
        elif request.body.get("stream") and not answer.get("whole"):
            model = request.body.get("model", self.model)
            events = list(stream_events(answer, model))
            if not (request.body.get("stream_options") or {}).get("include_usage"):
                events = [e for e in events if e["choices"]]
            return self.stream(conn, ["data: %s\n\n" % json.dumps(e) for e in events] + ["data: [DONE]\n\n"], answer, headers)
        else:
            self.send_json(conn, status, whole_reply(answer, request.body.get("model", self.model)), headers)
        return True

    def stream(self, conn, events, answer, headers, ready=False):
        """Chunked. cut_after: so many events, then close (or reset); stall_after: so many, then silence for stall seconds, or until going
        is set. before: functions that are called before the event of that number."""
        self.send_head(conn, answer.get("status", 200), dict({"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}, **headers))
        for i, event in enumerate(events):
            if answer.get("cut_after") == i:
                return self.reset(conn) if answer.get("reset") else False
            if answer.get("stall_after") == i:
                self.going.wait(answer.get("stall", 60))
            if answer.get("delay"):
                self.wait(answer["delay"])
            if i in answer.get("before", ()):
                answer["before"][i]()
            data = event if isinstance(event, bytes) else event.encode()
            conn.sendall(b"%x\r\n%s\r\n" % (len(data), data))
        conn.sendall(b"0\r\n\r\n")
        return True

    def reset(self, conn):
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def bodies(self):
        return [r.body for r in self.requests if r.method == "POST"]

    def verdict(self, complete=True):
        """Everything that was wrong, as text; said once."""
        text = "\n\n".join(self.problems)
        asked = len([r for r in self.requests if r.method == "POST" and not r.skipped])
        if complete and asked < len(self.exchanges) and not text:
            text = "only %d of %d requests came" % (asked, len(self.exchanges))
        self.problems, self.exchanges = [], self.exchanges[:asked]
        return text

    def check(self, complete=True):
        text = self.verdict(complete)
        assert not text, text


def show_messages(body):
    """A history as a person reads it."""
    lines = []
    for i, m in enumerate(body.get("messages") or []):
        content = m.get("content")
        text = content if isinstance(content, str) else json.dumps(content)
        if m.get("role") == "system" and len(text) > 300:
            text = text[:300] + " ..."
        lines.append("  [%d] %s%s: %s" % (i, m.get("role"), " (%s)" % m["tool_call_id"] if "tool_call_id" in m else "",
                                          text.replace("\n", "\n        ")))
        for call in m.get("tool_calls") or []:
            lines.append("        call %s %s" % (call.get("id"), json.dumps(call.get("function"))))
    return "\n".join(lines)
