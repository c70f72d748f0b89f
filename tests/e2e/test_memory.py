"""test_memory.py - 256 MiB of memory at most, whatever a service sends, over a session as long as it likes. Each service here sends the most
of one thing that it can; the program ends with a documented exit code, and its peak is what the kernel says it was.
"""
import gzip
import json
import os
import subprocess
import time

import pytest

from conftest import BIN, Result
from raw_server import RawServer

pytestmark = pytest.mark.no_asan

MOST = 256 << 10                # KiB, as the kernel counts
MIB = 1 << 20
ASAN = "asan" in BIN            # whose shadow is memory too: there only how it ends is looked at


def peak_of(sp, *args, stdin=b"", timeout=280, **env):
    """(result, KiB at most resident). Of the program alone: the sandbox is no child that it has waited for."""
    begin = time.monotonic()
    out, err = open(sp.path("out"), "w+b"), open(sp.path("err"), "w+b")
    p = sp.start(*args, stdin=subprocess.PIPE, stdout=out, stderr=err, env=env)
    try:
        p.stdin.write(stdin)
        p.stdin.close()
    except BrokenPipeError:
        pass
    kib, deadline = 0, begin + timeout
    while True:
        try:                    # of the program itself: what waits for children counts theirs too
            with open("/proc/%d/status" % p.pid) as f:
                kib = max([kib] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
        except OSError:
            pass
        pid, status = os.waitpid(p.pid, os.WNOHANG)
        if pid:
            p.returncode = os.waitstatus_to_exitcode(status)
            break
        assert time.monotonic() < deadline, "it did not end within %d s" % timeout
        time.sleep(0.005)
    texts = []
    for f in (out, err):
        f.seek(0)
        texts.append(f.read())
        f.close()
    return Result(p.returncode, texts[0], texts[1], time.monotonic() - begin, args), kib


def event(delta, finish=None, **more):
    chunk = dict({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, **more)
    return b"data: %s\n\n" % json.dumps(chunk).encode()


def call(k, code, **more):
    function = {"name": "execute_python", "arguments": json.dumps({"code": code})}
    return {"tool_calls": [dict({"index": k, "id": "call_%d" % k, "type": "function", "function": function}, **more)]}


END = event({}, "stop") + b"data: [DONE]\n\n"
END_CALLS = event({}, "tool_calls") + b"data: [DONE]\n\n"


def code_of(size, n):
    return "print(%d)\n# %s" % (n, "x" * (size - 20))


def calls_of(number, size):
    """A reply of number calls, none of which has been sent before."""
    def reply(n):
        return [event(call(k, code_of(size, 1000 * n + k))) for k in range(number)] + [END_CALLS]
    return reply


def text_of(piece, each=65536, of=MIB):
    """Text and thoughts, as much of each as is kept, and a call, so that another round follows."""
    def reply(n):
        part = piece * (each // len(piece))
        return ([event({"reasoning_content": part})] * (of // each) + [event({"content": part})] * (of // each)
                + [event(call(0, "print(%d)" % n)), END_CALLS])
    return reply


def details_of(size):
    """What only the service understands, and wants back."""
    def reply(n):
        return [event({"reasoning_details": [{"type": "reasoning.encrypted", "index": k, "data": "A" * size}]}) for k in range(3 * MIB // size)] + [
            event(call(0, "print(%d)" % n)), END_CALLS]
    return reply


def extra_of(size):
    """A signature at each call."""
    def reply(n):
        return [event(call(k, "print(%d)" % (n * 100 + k), extra_content={"google": {"thought_signature": "S" * size}})) for k in range(12)] + [END_CALLS]
    return reply


def ids_of(size):
    def reply(n):
        return [event(call(k, "print(%d)" % (n * 100 + k), id="%d" % k * size)) for k in range(8)] + [END_CALLS]
    return reply


SERVICES = {
    "32 calls of 900 kB": calls_of(32, 900_000),
    "4 calls of 1 MB": calls_of(4, 1_000_000),
    "256 calls of 200 kB": calls_of(256, 200_000),
    "text": text_of("a long story "),
    "text of control characters": text_of("\x01"),
    "text of escapes": text_of("\x1b[31m"),
    "encrypted thoughts": details_of(500_000),
    "many small thoughts": details_of(500),
    "signatures of 6 MB": extra_of(6 * MIB),
    "signatures of 200 kB": extra_of(200_000),
    "ids of 7 MB": ids_of(7 * MIB),
}


def rounds(reply):
    """That reply, each time anew, as long as it is asked."""
    count = [0]

    def answer(raw, request):
        count[0] += 1
        raw.head(Connection="close")
        for piece in reply(count[0]):
            raw.send(piece)
    return answer


def within(r, kib, codes):
    assert r.code in codes, r
    assert "test-key" not in r.out + r.err
    print("%d MiB at most resident, exit %d, %.1f s" % (kib >> 10, r.code, r.seconds))
    assert ASAN or kib < MOST, "%d MiB at most resident\n%r" % (kib >> 10, r)


COPIES = [("--json",), ("--trace", "trace.jsonl")]


@pytest.mark.slow(50)
@pytest.mark.check
@pytest.mark.parametrize("name, args", [(name, ()) for name in SERVICES] + [
    (name, args) for name in ("4 calls of 1 MB", "text of control characters", "text of escapes", "signatures of 200 kB") for args in COPIES])
def test_a_session(sandpiper, name, args):
    """Three questions, each of a dozen rounds: what is kept of them has a bound, and so has what a listener holds."""
    with RawServer(rounds(SERVICES[name]), keep=False) as server:
        sandpiper.url = server.url
        r, kib = peak_of(sandpiper, *args, "--max-rounds", "12", stdin=b"one\ntwo\nthree\n")
    within(r, kib, (0, 1, 4, 5))


def document(raw, body, kind="application/json"):
    raw.head(kind=kind, Connection="close")
    for piece in body:
        raw.send(piece)


def answer_json(of, unit=b"x"):
    return [b'{"choices":[{"message":{"content":"'] + [unit * (MIB // len(unit))] * of + [b'"},"finish_reason":"stop"}]}']


def call_json(of, key=b'"code":"'):
    """Arguments as an object, where they should be a string."""
    return [b'{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"execute_python","arguments":{', key] + [b"x" * MIB] * of + [
        b'"}}}]},"finish_reason":"stop"}]}']


def values_json(n, one=b"0,"):
    return [b'{"choices":[{"message":{"content":['] + [one * n] + [b'0]},"finish_reason":"stop"}]}']


def error_json(of):
    return [b'{"error":{"message":"'] + [b"x" * MIB] * of + [b'"}}']


DOCUMENTS = {
    "an answer of 15 MB": lambda: answer_json(15), "an answer of 63 MB": lambda: answer_json(63), "an answer of 300 MB": lambda: answer_json(300),
    "escapes": lambda: answer_json(63, b"\\u0001"), "bytes that are no UTF-8": lambda: answer_json(15, b"\xff"),
    "arguments of 15 MB": lambda: call_json(15), "arguments of 60 MB": lambda: call_json(60),
    "200,000 values": lambda: values_json(199_000), "objects": lambda: values_json(60_000, b'{"type":"text","text":"a"},'), "a million values": lambda: values_json(1_000_000),
    "an error of 60 MB": lambda: error_json(60), "a web page of 100 MB": lambda: [b"<html><title>no</title>"] + [b"x" * MIB] * 100,
    "blanks": lambda: [b" " * MIB] * 100, "comments": lambda: [b": %s\n" % (b"x" * 1000) * 1000] * 100, "a line without end": lambda: [b"data: "] + [b"x" * MIB] * 100,
    "events of 8 MB": lambda: [b'data: {"choices":[],"pad":"%s"}\n\n' % (b"\\u0001" * (8 * MIB // 6 - 100))] * 12,
    "items": lambda: [b"".join(b'data: {"type":"response.output_item.done","output_index":%d,"item":{"type":"message","id":"m%d"}}\n\n' % (k, k) for k in range(200_000))],
}


@pytest.mark.slow(3)
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_one_reply(sandpiper, name, status):
    """What is no stream, or no end."""
    body = DOCUMENTS[name]()

    def answer(raw, request):
        raw.head(status, Connection="close")
        for piece in body:
            raw.send(piece)
    with RawServer(answer, keep=False) as server:
        sandpiper.url = server.url
        r, kib = peak_of(sandpiper, "--no-stream", "go")
    within(r, kib, (0, 1, 5))


@pytest.mark.slow(50)
@pytest.mark.check
def test_a_bomb(sandpiper):
    """One megabyte that is a gigabyte."""
    bomb = gzip.compress(b'{"pad":"' + b"x" * (1 << 30), 9)

    def answer(raw, request):
        raw.whole(bomb, Content_Encoding="gzip")
    with RawServer(answer, keep=False) as server:
        sandpiper.url = server.url
        r, kib = peak_of(sandpiper, "go")
    within(r, kib, (1,))


@pytest.mark.slow(30)
def test_a_long_chat_of_long_answers(sandpiper):
    """Sixty answers of a megabyte: the oldest give way, and the last is an answer as the first was."""
    def reply(n):
        return [event({"content": ("%d " % n) * 16384})] * 20 + [END]
    with RawServer(rounds(reply), keep=False) as server:
        sandpiper.url = server.url
        r, kib = peak_of(sandpiper, stdin=b"".join(b"question %d\n" % i for i in range(60)))
    within(r, kib, (0, 5))
    assert "60 60 60" in r.out and "oldest" in r.err


@pytest.mark.parametrize("body_of", [
    lambda: b'{"data":[' + b",".join(b'{"id":"model-%d"}' % i for i in range(400_000)) + b"]}",
    lambda: b'{"data":[' + b",".join(b'{"id":"model-%d","description":"%s"}' % (i, b"x" * 4000) for i in range(12_000)) + b"]}",
    lambda: b'{"data":[{"id":"' + b"x" * (60 * MIB) + b'"}]}',
], ids=["many", "long", "one"])
def test_a_list_of_models(bare, body_of):
    body = body_of()

    def answer(raw, request):
        raw.whole(body)
    with RawServer(answer, keep=False) as server:
        bare.url = server.url
        r, kib = peak_of(bare, "models")
    within(r, kib, (0, 1))
