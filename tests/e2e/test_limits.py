"""test_limits.py - answers as long as they may be, and one byte longer, over a real connection: a clear error or a reply cut by length, and
memory stays bounded. The exact edges of each limit are tests/unit/wire/test_limits.c.
"""
import resource

import pytest

from conftest import BIN

MIB = 1 << 20
MEMORY = 256 * MIB       # of private memory, a hard limit of the kernel: who wants more is aborted
ASAN = b"__asan_init" in open(BIN, "rb").read()


def document(n):
    head, tail = b'{"choices":[{"message":{"content":"', b'"},"finish_reason":"stop"}]}'
    return head + b"x" * (n - len(head) - len(tail)) + tail


def event(n):
    head, tail = b'data: {"choices":[],"pad":"', b'"}'
    return head + b"x" * (n - len(head) - len(tail) + 6) + tail + b"\n\n"


END = b'data: {"choices":[{"delta":{"content":"end"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
CASES = {
    "document": (lambda: document(16 * MIB), 5, "cut off after 1 MiB"),
    "document, one byte more": (lambda: document(16 * MIB + 1), 1, "more than 16 MiB"),
    "event": (lambda: event(8 * MIB) + END, 0, ""),
    "event, one byte more": (lambda: event(8 * MIB + 1) + END, 1, "larger than 8 MiB"),
    "events": (lambda: event(6 * MIB) * 10 + END, 0, ""),
    "events, too many": (lambda: event(6 * MIB) * 11 + END, 1, "larger than 64 MiB"),
    "only brackets": (lambda: b'{"choices":[' + b"[]," * (5 * MIB) + b"1]}", 1, "200,000 values"),
    "deep": (lambda: b'{"deep":' + b"[" * 200 + b"]" * 200 + b"}", 1, "nested more than 200 deep"),
    "deep event": (lambda: b'data: {"deep":' + b"[" * 200 + b"]" * 200 + b"}\n\n" + END, 1, "nested more than 200 deep"),
}


@pytest.mark.slow(3)
@pytest.mark.parametrize("name", CASES)
def test_limit(bare, serve, name):
    make, code, said = CASES[name]
    serve(bare, [{"answer": {"body": make(), "type": "application/json"}}] * 2, complete=False)    # a broken first event is asked for once more
    limit = None if ASAN else lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    r = bare.run("--sandbox", "bwrap", "go", preexec_fn=limit)
    assert r.code == code and said in r.err and len(r.err.splitlines()) <= 3, r
    assert len(r.out_bytes) <= MIB + 1
