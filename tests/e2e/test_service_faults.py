"""test_service_faults.py - a model's service that cuts, stalls, lies, floods, redirects or speaks the wrong TLS, met in all three ways of use:
one question, a script of two on stdin, a chat. Whatever it does there is an exit code from the table, one message that says what, where and
what to do, no word of the key, no wait without an end; and where the service comes to its senses, so does the program.
"""
import gzip
import json
import re
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from conftest import BIN, Sandpiper
from raw_server import RawServer
from thread_chat import Chat

KEY = "sk-proj-THE-SECRET-0123456789abcdef"
WELL = "all is well"
WAYS = ["one", "script", "chat"]
LIMIT = 100                     # seconds: only what hangs takes longer
PATIENT = {"SANDPIPER_%s_TIMEOUT" % name: "60s" for name in ("CONNECT", "IDLE", "QUIET")}
# The one timer that a row is about; the others are patient, since the service may be slow on a busy machine. An answer that is well comes behind the
# silence in some; nobody has to connect in time.
SOON = {"CONNECT": "1s", "IDLE": "3s", "QUIET": "3s"}
EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
AT_ONCE = {"retry-after-ms": "1"}               # the waits between tries have a test of their own
FAULTS = []


class Fault:
    def __init__(self, name, play, codes, what, do, **more):
        self.name, self.codes, self.what, self.do = name, codes if isinstance(codes, tuple) else (codes,), what, do
        self.play = play or (lambda c, request: c.answer("never"))
        self.tls, self.accept, self.always, self.timer, self.trust = (more.get(k) for k in ("tls", "accept", "always", "timer", "trust"))
        self.where, self.ways = more.get("where", r"127\.0\.0\.1:\d+"), more.get("ways", WAYS)


def fault(name, codes, what, do, **more):
    """One row: how it ends a single question, what its message says, and what it tells to do."""
    def add(play):
        FAULTS.append(Fault(name, play, codes, what, do, **more))
        return play
    return add


def raw_fault(name, codes, what, do, data, pause=None, **more):
    """Bytes, and then the end (or silence for pause seconds)."""
    def play(c, request):
        c.send(data)
        if pause:
            c.wait(pause)
    FAULTS.append(Fault(name, play, codes, what, do, **more))


def body_fault(name, codes, what, do, body, status=200, kind="application/json", **more):
    headers = more.pop("headers", {})
    FAULTS.append(Fault(name, lambda c, request: c.whole(body, status, kind, **headers), codes, what, do, **more))


def stream_fault(name, codes, what, do, *parts, **more):
    """The head of a stream and these parts; a number is a pause."""
    def play(c, request):
        c.head(Connection="close", **AT_ONCE)
        for part in parts:
            c.wait(part) if isinstance(part, (int, float)) else c.send(part)
    FAULTS.append(Fault(name, play, codes, what, do, **more))


def chunk(text=None, finish=None, **more):
    delta = {"content": text} if text is not None else {}
    return "data: %s\n\n" % json.dumps(dict({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, **more))


DONE = "data: [DONE]\n\n"
AGAIN = r"Ask again|ask again"
URL = r"base URL"
MODEL = r"-m MODEL|another model|/model NAME"
TRACE = r"--trace FILE"
OK_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

# -- cut: at each stage of an answer
raw_fault("cut before the status line", 1, "closed the connection without an answer", "network|server", b"")
raw_fault("cut in the status line", 1, "broken answer|closed the connection|not HTTP", "network|base URL", b"HTTP/1.1 20")
raw_fault("cut in the headers", 1, "closed the connection in the middle of its headers", "Ask again|network", OK_HEAD + b"X-More: ye")
raw_fault("cut behind the headers", 1, "closed the connection|broke off|empty", AGAIN, CHUNKED)
raw_fault("cut in the size of a chunk", 1, "broke off.*closed the connection early", AGAIN, CHUNKED + b"1f")
raw_fault("cut in a chunk", 1, "broke off.*closed the connection early|lost in the middle", AGAIN, CHUNKED + b"ff\r\ndata: {\"choices\":[")
stream_fault("cut in an event", 1, "broke off|lost in the middle", AGAIN, chunk("Half an "), 'data: {"choices":[{"del')
stream_fault("cut in a character", 1, "broke off|lost in the middle", AGAIN, chunk("Half a "), chunk("\u00e9")[:-30].encode()[:-1], b"\xc3")
stream_fault("cut after an event", 1, "broke off|lost in the middle", AGAIN, chunk("Half an answer"))
body_fault("an empty stream", 1, "sent an empty answer", AGAIN, b"", kind="text/event-stream")
stream_fault("no [DONE] behind the finish", 0, None, None, chunk("enough"), chunk(finish="stop"))
body_fault("an empty answer", 1, "sent an empty answer", AGAIN, b"")
body_fault("cut document", 1, "invalid JSON: unexpected end", AGAIN, b'{"choices":[{"message":{"content":"Half an')


@fault("reset in the middle", 1, "reset|lost in the middle|broke off", AGAIN)
def reset(c, request):
    c.head()
    c.send(chunk("Half an "))
    time.sleep(0.1)
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@fault("cut in a compressed body", 1, "broke off|closed the connection early|lost in the middle", AGAIN)
def cut_gzip(c, request):
    body = gzip.compress((chunk("Half an answer") * 3000).encode())
    c.head(Content_Encoding="gzip", Content_Length=len(body))
    c.send(body[:len(body) // 2])


# -- slow
raw_fault("no answer at all", 1, "sent nothing for 3 s", "--idle-timeout", b"", 200, timer="IDLE")
raw_fault("headers and no more", 1, "sent nothing for 3 s", "--idle-timeout", CHUNKED, 200, timer="IDLE")
stream_fault("silence in the middle", 1, "sent nothing for 3 s", AGAIN, chunk("Half an "), 200, timer="IDLE")
stream_fault("silence behind the finish", 0, None, None, chunk("enough"), chunk(finish="stop"), 200, timer="IDLE")


@fault("one byte at a time", 1, "no content, for 3 s", AGAIN, timer="QUIET")
def byte_by_byte(c, request):
    c.head()
    for b in b'data: {"choices":[{"delta":{"content":"' + b"x" * 4000:
        c.send(bytes([b]))
        c.wait(0.3)


@fault("comments for ever", 1, "no content, for 3 s", AGAIN, timer="QUIET")
def comments(c, request):
    c.head()
    c.for_ever(": keep-alive\n\n", 0.2)


@fault("empty deltas for ever", 1, "no content, for 3 s", AGAIN, timer="QUIET")
def empty_deltas(c, request):
    c.head()
    c.for_ever(chunk(""), 0.2)


@fault("blanks for ever", 1, "no content, for 3 s", AGAIN, timer="QUIET")
def blanks(c, request):
    c.head(kind="application/json")
    c.for_ever(" ", 0.2)


# -- lying
@fault("more announced than sent", 1, "broke off.*closed the connection early|lost in the middle", AGAIN)
def long_length(c, request):
    c.head(Content_Length=100000)
    c.send(chunk("Half an answer"))


@fault("less announced than sent", 1, "broke off|lost in the middle|unexpected end", AGAIN)
def short_length(c, request):
    c.head(Content_Length=120, Connection="close")
    c.send(chunk("Half an answer") + chunk(" and the rest", "stop") + DONE)


raw_fault("two lengths", 1, "sent an invalid reply|closed|broke off", "base URL|Ask again|network", OK_HEAD + b"Content-Length: 5\r\nContent-Length: 90\r\n\r\ndata:")
raw_fault("a length below nothing", 1, "sent an invalid reply|closed|broke off", "base URL|Ask again|network", OK_HEAD + b"Content-Length: -5\r\n\r\ndata:")
raw_fault("a chunk size that is none", 1, "sent an invalid reply|closed|broke off|failed", "base URL|Ask again|network", CHUNKED + b"zz\r\ndata:")
raw_fault("no HTTP", 1, "invalid reply: a reply that is not HTTP", URL, b"SSH-2.0-OpenSSH_9.2p1\r\n")
raw_fault("HTTP/0.9", 1, "sent an invalid reply", URL, b"<html>hello</html>")
body_fault("gzip that is none", 1, "sent an invalid reply", URL + "|" + AGAIN, b"no gzip at all", headers={"Content-Encoding": "gzip"})
body_fault("a web page", 1, "not an API reply.*an HTML page, \"Log in\"", URL, "<!doctype html><title>Log in</title><p>Hello", kind="text/html")
body_fault("plain text", 1, "not an API reply.*It works", URL, "It works!", kind="text/plain")
body_fault("a picture", 1, "not an API reply.*264 bytes that are not text", URL, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), kind="image/png")
body_fault("JSON that is no object", 1, "not an API reply|sent an invalid reply", URL + "|" + AGAIN, "[1, 2, 3]")
body_fault("a string", 1, "not an API reply|sent an invalid reply", URL + "|" + AGAIN, '"hello"')
body_fault("null", 1, "not an API reply|sent an invalid reply", URL + "|" + AGAIN, "null")
body_fault("an object of something else", 1, "not an API reply.*JSON without an answer", URL, {"hello": "world"})
body_fault("an error with status 200", 1, "refused the request.*no such thing", TRACE, {"error": {"message": "no such thing", "type": "invalid_request_error"}})
body_fault("no choices", 1, "no text|empty", MODEL, {"choices": []}, where="test-model")
body_fault("choices that are null", 1, "not an API reply|no text|empty", URL + "|" + MODEL, {"choices": None})
body_fault("numbers below nothing", 0, None, None, {"choices": [{"index": 0, "message": {"content": WELL}, "finish_reason": "stop"}],
                                                   "usage": {"prompt_tokens": -5, "completion_tokens": -10 ** 30}, "created": -1})
body_fault("a million choices", 1, "more than 200,000 values", AGAIN, '{"choices":[' + '{"message":{}},' * 999_999 + '{"message":{"content":"x"}}]}')
body_fault("brackets without end", 1, "sent an invalid reply|broke off", AGAIN, "[" * 100_000)
body_fault("deep nesting", 1, "sent an invalid reply|broke off", AGAIN, '{"choices":' + "[" * 5000 + "]" * 5000 + "}")
body_fault("bytes that are no UTF-8", 0, None, None, b'{"choices":[{"message":{"content":"all \xff\xfe\xc3 well"},"finish_reason":"stop"}]}')
body_fault("NULs", 1, "not an API reply|sent an invalid reply", URL + "|" + AGAIN, b"\0" * 1000)
body_fault("an error that is no text", 75, "failed.*500", "[Tt]ry again", b'{"error":{"message":{"a":["\x1b[31m",7]}}}', 500, headers=AT_ONCE)
stream_fault("an event that is no JSON", 1, "sent an invalid reply.*invalid JSON", AGAIN, chunk("Half an "), "data: {nothing}\n\n", DONE)
stream_fault("an error in the stream", 1, "no such luck", TRACE, chunk("Half an "), 'data: {"error":{"message":"no such luck","type":"invalid_request_error"}}\n\n')
stream_fault("an overload in the stream", 75, "overloaded", "[Tt]ry again", 'event: error\ndata: {"error":{"message":"overloaded","type":"overloaded_error"}}\n\n')
stream_fault("a finish that is an error", 75, "ended the reply with an error", "[Tt]ry again", chunk("Half an "), chunk(finish="error"), DONE)


@fault("calls of nothing", 5, "4 broken tool calls in a row.*unknown tool", MODEL, where=r"test-model|model")
def no_calls(c, request):
    c.head()
    c.event({"tool_calls": [{"index": k, "id": "same", "type": "function", "function": {"name": "rm -rf", "arguments": "{" * k}} for k in range(8)]})
    c.event({}, "tool_calls")
    c.send(DONE)


# -- huge
@fault("headers without end", 1, "headers larger than 256 KiB|sent an invalid reply", URL + "|" + AGAIN)
def many_headers(c, request):
    c.send("HTTP/1.1 200 OK\r\n")
    c.for_ever("X-Padding: %s\r\n" % ("x" * 1000))


@fault("a header without end", 1, "headers (larger|longer)", URL + "|" + AGAIN + "|network")
def long_header(c, request):
    c.send("HTTP/1.1 200 OK\r\nX-Padding: ")
    c.for_ever("x" * 65536)


@fault("a line without end", 1, "one event is larger than 8 MiB", AGAIN)
def long_line(c, request):
    c.head()
    c.send("data: ")
    c.for_ever("x" * 65536)


@fault("a document without end", 1, "more than 16 MiB", AGAIN)
def long_document(c, request):
    c.head(kind="application/json")
    c.send('{"choices":[{"message":{"content":"')
    c.for_ever("x" * 65536)


@fault("text without end", 5, "did not end; it was cut off after 1 MiB", MODEL, where="test-model")
def long_text(c, request):
    c.head()
    c.for_ever(chunk("on and on " * 3000))


@fault("reasoning without end", 5, "the reasoning of test-model did not end; it was cut off after 1 MiB", MODEL, where="test-model")
def long_reasoning(c, request):
    c.head()
    c.for_ever('data: {"choices":[{"delta":{"reasoning_content":"%s"}}]}\n\n' % ("on and on " * 3000))


@fault("comments as fast as they go", 1, "larger than 64 MiB", AGAIN)
def fast_comments(c, request):
    c.head()
    c.for_ever((": %s\n" % ("x" * 1000)) * 64)


@fault("an error without end", 75, "failed.*500|500", "[Tt]ry again")
def long_error(c, request):
    c.head(500, "text/plain", **AT_ONCE)
    c.for_ever("went wrong " * 6000)


@cache
def many():
    return b"".join(b'data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":{"name":"execute_python","arguments":'
                    b'"{\\"code\\":\\"print(%d) # %s\\"}"}}]}}]}\n\n' % (k, k, k, b"x" * 900_000) for k in range(32))


@fault("32 calls of 900 kB", 5, "4 broken tool calls in a row.*more than 4 MiB", MODEL, where=r"test-model|model")
def many_calls(c, request):
    c.head()
    c.send(many())
    c.event({}, "tool_calls")
    c.send(DONE)


@cache
def bomb():
    return gzip.compress(b'{"pad":"' + b"x" * (200 << 20), 1)


@fault("a bomb", 1, "more than 16 MiB", AGAIN)
def send_bomb(c, request):
    c.whole(bomb(), Content_Encoding="gzip")


# -- redirects: never followed, and never with the key
def redirect(name, location, what, do, no=None, status=302):
    def play(c, request):
        c.whole("", status, "text/plain", Location=location.replace("PORT", str(c.sock.getsockname()[1])))
    FAULTS.append(Fault("redirect: " + name, play, (1,), what, do))
    FAULTS[-1].no = no


SELF = "http://127.0.0.1:PORT"
AWAY = r"[Ss]et the base URL to where it leads|[Ss]et the base URL to http"
redirect("a loop", SELF + "/v1/chat/completions", "redirect to http", "base URL")
redirect("another path", SELF + "/api/v2/chat/completions", "redirect to http", r"base URL to http://127\.0\.0\.1:\d+/api/v2")
redirect("a path alone", "/elsewhere/v1/chat/completions", "redirect to /elsewhere", r"base URL to http://127\.0\.0\.1:\d+/elsewhere/v1", status=308)
redirect("https", "https://127.0.0.1/v1/chat/completions", "redirect to https", r"base URL to https://127\.0\.0\.1/v1")
redirect("a path with the key", "/%s/v1/chat/completions" % KEY, r"redirect to /\[key\]/v1", "base URL", KEY)
redirect("another host", "http://evil.example/v1/chat/completions", "redirect to http://evil", "another host", AWAY)
redirect("another host that begins alike", "http://127.0.0.1.evil.example/v1/chat/completions", "redirect", "another host", AWAY)
redirect("a host behind an @", "http://127.0.0.1:80@evil.example/v1/chat/completions", "redirect", "another host", AWAY)
redirect("no scheme", "//evil.example/v1/chat/completions", "redirect", "another host", AWAY)
redirect("another scheme", "ftp://127.0.0.1/v1/chat/completions", "redirect to ftp", "model service|base URL", AWAY)
redirect("a file", "file:///etc/passwd", "redirect to file", "model service|base URL", AWAY, 301)
redirect("nowhere", "", r"\(302\)|302", "base URL", AWAY)
redirect("escapes", "http://evil.example/\x1b[2J\x1b]0;title\x07", "redirect", "another host", AWAY)


# -- TLS
def tls_of(name, **more):
    return lambda folder: tls_context(folder, name, **more)


TLS_CA = {"trust": "ca.pem", "always": True}
FAULTS += [
    Fault("TLS: expired", None, (1,), "has expired", "renew|clock", tls="old", **TLS_CA),
    Fault("TLS: unknown signer", None, (1,), "certificate is not trusted", "--ca-cert FILE", tls="good", always=True),
    Fault("TLS: self-signed", None, (1,), "certificate is not trusted", "--ca-cert FILE", tls="self", **TLS_CA),
    Fault("TLS: wrong name", None, (1,), "is for another host", r"Check the host in the base URL", tls="other", **TLS_CA),
]
FAULTS[-1].no = r"Trust the certificate|elsewhere\.example"


def tls_fault(name, what, do, **more):
    def add(accept):
        FAULTS.append(Fault("TLS: " + name, None, (1,), what, do, accept=accept, always=True, **more))
        return accept
    return add


@tls_fault("plain HTTP on its port", "does not speak TLS", "http://", tls="accept")
def plain_http(sock, closing):
    sock.recv(100)
    sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


@tls_fault("cut in the handshake", "TLS", "network|server", tls="accept")
def cut_handshake(sock, closing):
    sock.recv(100)
    sock.sendall(b"\x16\x03\x03\x00\x7a\x02\x00")


@tls_fault("silence in the handshake", "no connection within 1 s", "network|server", tls="accept", timer="CONNECT")
def silent_handshake(sock, closing):
    closing.wait(200)


@tls_fault("an alert", "TLS connection failed: [^:]*handshake failure", "network|server", tls="accept")
def alert(sock, closing):
    sock.recv(1000)
    sock.sendall(b"\x15\x03\x03\x00\x02\x02\x28")
    closing.wait(0.3)


@tls_fault("an old version", "uses a TLS version older than 1.2", "must offer TLS 1.2", tls="accept")
def old_version(sock, closing):
    """A server hello of TLS 1.0."""
    sock.recv(2000)
    hello = b"\x03\x01" + bytes(32) + b"\x00" + b"\x00\x2f" + b"\x00"
    hello = b"\x02" + struct.pack(">I", len(hello))[1:] + hello
    sock.sendall(b"\x16\x03\x01" + struct.pack(">H", len(hello)) + hello)
    closing.wait(0.3)


@fault("TLS where http:// is set", 1, "sent an invalid reply|closed|reset|failed", "base URL|network|server")
def tls_on_http(c, request):
    c.send(b"\x15\x03\x03\x00\x02\x02\x46")


# -- statuses
@fault("interim answers without end", 1, "headers larger than 256 KiB|in the middle of its headers", URL + "|network" + "|" + AGAIN)
def interim(c, request):
    c.for_ever("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 50)


@fault("100 Continue and then the end", 1, "closed the connection|broke off", AGAIN + "|network")
def only_continue(c, request):
    c.send("HTTP/1.1 100 Continue\r\n\r\n")


raw_fault("204", 1, "empty answer", AGAIN + "|" + URL, b"HTTP/1.1 204 No Content\r\n\r\n")
raw_fault("206", 1, "not an API reply|empty answer|broke off", AGAIN + "|" + URL, b"HTTP/1.1 206 Partial\r\nContent-Length: 4\r\n\r\nhalf")
raw_fault("304", 1, "304", "base URL|--trace", b"HTTP/1.1 304 Not Modified\r\n\r\n")
raw_fault("a status of a thousand", 1, "sent an invalid reply|status|closed", "base URL|--trace|network", b"HTTP/1.1 1000 What\r\nContent-Length: 0\r\n\r\n")
body_fault("401", 77, "refused the credentials.*no such key", "OPENAI_API_KEY", {"error": {"message": "no such key %s" % KEY}}, 401)
body_fault("404", 1, "test-model|: not found: ", URL, "not found", 404, "text/plain")
body_fault("407", 1, "407", "proxy", "", 407)
body_fault("418", 1, "refused the request.*teapot", TRACE, {"error": "I am a teapot"}, 418)
for absurd, said in [("99999999999", None), ("1e300", None), ("Fri, 31 Dec 9999 23:59:59 GMT", None), ("-7", "wait"), ("soon", "wait"), ("nan", "wait"),
                     ("7200", "in 2.0 h"), ("299000", "in 3 days")]:
    body_fault("429, Retry-After %s" % absurd, 75, "is busy.*429", "Try again later" if said is None else said if said != "wait" else "[Tt]ry again",
               {"error": {"message": "slow down"}}, 429, headers={"Retry-After": absurd}, ways=["one"])
body_fault("429, an absurd wait in the body", 75, "is busy.*429", "Try again later", {"error": {"message": "try again in 999999h59m"}}, 429)
body_fault("quota", 75, "quota", "plan", {"error": {"message": "used up", "code": "insufficient_quota"}}, 429, headers={"Retry-After": "99999999999"})
body_fault("500 with a web page", 75, "failed.*500.*HTML page", "[Tt]ry again", "<html><title>Oops</title>", 500, "text/html", headers=AT_ONCE)
body_fault("503", 75, "is busy.*503", "[Tt]ry again", "", 503, headers=AT_ONCE)
body_fault("599", 75, "failed.*599", "[Tt]ry again", "", 599, headers=AT_ONCE)


# ------------------------------------------------------------------------------------------------------------------ the three ways

def openssl(folder, *args):
    subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not there")
    d = tmp_path_factory.mktemp("tls")
    for name, host, days in [("self", "IP:127.0.0.1", "2"), ("ca", None, "2")]:
        openssl(d, "req", "-x509", *EC, "-nodes", "-keyout", name + ".key", "-out", name + ".pem", "-days", days, "-subj", "/CN=" + name,
                *(["-addext", "subjectAltName=" + host] if host else []))
    for name, host, days in [("good", "IP:127.0.0.1", "2"), ("other", "DNS:elsewhere.example", "2"), ("old", "IP:127.0.0.1", "0")]:
        openssl(d, "req", *EC, "-nodes", "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
        (d / (name + ".ext")).write_text("subjectAltName=%s\n" % host)
        openssl(d, "x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", name + ".pem", "-extfile",
                name + ".ext", "-days", days)
    time.sleep(1.1)             # the one of no days is over then
    return d


def tls_context(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / (name + ".pem"), folder / (name + ".key"))
    return context


def sane_after(f):
    """The service has this fault where it is asked "first", and none where it is asked anything else."""
    def answer(c, request):
        if f.always or b'"content":"first' in request.raw.rpartition(b'"role":"user"')[2]:
            f.play(c, request)
        else:
            c.answer(WELL)
    return answer


class Outcome:
    def __init__(self, code, text, answer, seconds, left):
        self.code, self.text, self.answer, self.seconds, self.left = code, text, answer, seconds, left

    def __repr__(self):
        return "exit %s after %.1f s, answer %r\n%s\nleft: %s" % (self.code, self.seconds, self.answer[-300:], self.text[-3000:], self.left)

    def message(self):
        """The error: the last line that is ours of the first question, and what is indented below it."""
        lines = self.text.split("\n")
        at = [i for i, line in enumerate(lines) if re.match(r"sandpiper: (?!.*(Trying again in|asking again))", line)
              and "terminated" not in line and "retry asks" not in line]
        at = [i for i in at if "question 2:" not in lines[i]]
        out = []
        for i in at[-1:]:
            out.append(lines[i])
            while i + 1 < len(lines) and lines[i + 1].startswith("  "):
                i += 1
                out.append(lines[i])
        return out


def env_of(f, folder):
    trust = {"SSL_CERT_FILE": str(folder / f.trust)} if f.trust else {}
    timer = {"SANDPIPER_%s_TIMEOUT" % f.timer: SOON[f.timer]} if f.timer else {}
    return dict(PATIENT, OPENAI_API_KEY=KEY, **trust, **timer)


def run_one(sp, f, env):
    r = sp.run("first", env=env, timeout=LIMIT)
    return r.code, r.err, r.out


def run_script(sp, f, env):
    r = sp.run(stdin="first\nsecond\n", env=env, timeout=2 * LIMIT)
    return r.code, r.err, r.out


ESCAPES = re.compile(r"\x1b\[[0-9;?>]*[A-Za-z]|\x1b[\]_][^\x07\x1b]*(\x07|\x1b\\)|\r")        # queries of the terminal as well


def run_chat(sp, f, env):
    chat = Chat(sp, env, LIMIT)
    chat.prompt()
    chat.send("first\r")
    said = chat.prompt()
    chat.send("second\r")
    answer = chat.prompt()
    code = chat.close()
    assert f.always or WELL in answer, "the chat did not go on: %r" % answer
    said = "\n".join(line.rpartition("\r\x1b[K")[2] for line in said.split("\n"))       # without the status line, which is gone again
    return code, ESCAPES.sub("", said), ESCAPES.sub("", answer)


RUN = {"one": run_one, "script": run_script, "chat": run_chat}


def outcome(f, way, folder=None):
    sp = Sandpiper("bwrap")
    begin = time.monotonic()
    try:
        tls = tls_context(folder, f.tls) if f.tls and f.tls != "accept" else None
        with RawServer(sane_after(f), tls=tls, accept=f.accept) as server:
            sp.url = server.url if not f.accept else server.url.replace("http:", "https:")
            code, text, answer = RUN[way](sp, f, env_of(f, folder))
            text = text.replace("\r", "")
    finally:
        left = sp.finish()
        shutil.rmtree(sp.dir, ignore_errors=True)
    return Outcome(code, text, answer, time.monotonic() - begin, left)


def exit_codes(f, way):
    """Of a script: the worse of the fault and the good answer behind it. The chat goes on, and ends as the user ends it."""
    return {"one": f.codes, "script": f.codes, "chat": (0,)}[way]


def faults_of(with_certificate):
    rows = [f for f in FAULTS if (f.tls not in (None, "accept")) == with_certificate]
    return pytest.mark.parametrize("f", rows, ids=[f.name for f in rows])


def meet(f, folder=None):
    """In each of its ways, at once: what they do most is wait."""
    with ThreadPoolExecutor(len(f.ways)) as pool:
        for way, o in zip(f.ways, pool.map(lambda way: outcome(f, way, folder), f.ways)):
            judge(f, way, o)


@pytest.mark.slow(20)
@faults_of(with_certificate=False)
def test_fault(f):
    meet(f)


@faults_of(with_certificate=True)
def test_fault_of_a_certificate(certificates, f):
    meet(f, certificates)


def judge(f, way, o):
    assert o.code in exit_codes(f, way), o
    assert not o.left, o
    assert "THE-SECRET" not in o.text + o.answer, o
    assert "\x1b" not in o.text, o
    if way == "script" and not f.always and f.codes[0] not in (2, 3, 77):
        assert WELL in o.answer, o          # the question behind it is none the worse
    message = o.message()
    if not f.what:
        assert not message, o
        return
    text = "\n".join(message)
    assert 1 <= len(message) <= 2, (message, o)
    assert re.search(f.what, text), (f.what, message, o)
    assert re.search(f.where, text), (f.where, message, o)
    assert re.search(f.do, text), (f.do, message, o)
    assert not getattr(f, "no", None) or not re.search(f.no, text), (f.no, message)
    assert way != "script" or "question 1: " in text, message


def test_there_are_enough():
    assert len(FAULTS) >= 50 and len({f.name for f in FAULTS}) == len(FAULTS)
