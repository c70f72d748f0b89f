"""test_screen.py - whatever comes from outside, by whichever command it is shown: nothing of it acts on a terminal or hides in it."""
import json
import os
import re

import pexpect
import pytest

from conftest import BIN

# Everything that a terminal obeys or does not show: C0 but newline and tab, DEL, C1, bidi controls, zero widths, tags.
EVIL = [chr(c) for c in [*range(0x01, 0x09), *range(0x0b, 0x20), 0x7f, *range(0x80, 0xa0), 0xad, 0x61c, *range(0x200b, 0x2010), *range(0x2028, 0x202f),
                         *range(0x2060, 0x2070), 0xfeff, 0xfff9, 0xe0041, 0xe007f]]
TEXT = "".join("%s\x1b\\" % c for c in EVIL) + "\x1b]0;title\x07\x1b[2J\x1b[31mend"      # what begins a sequence is ended, or it would swallow the rest
OURS = re.compile("\x1b\\[K|\x1b\\[\\d+G|\x1b\\[\\?2004[hl]|\r")       # the status line, the marks of pastes, a line's end


def harmless(shown):
    left = OURS.sub("", shown)
    found = sorted({"U+%04X" % ord(c) for c in left if c in EVIL})
    assert not found, (found, left)
    return left


def at_terminal(program, *args, stdin=None, env=None, code=0):
    """The program with a terminal for all three, or stdin a file; all that it showed."""
    words = ["-c", 'exec "$0" "$@" < "$IN"' if stdin else 'exec "$0" "$@"', BIN, *args]
    p = pexpect.spawn("/bin/sh", words, env=program.env(dict({"TERM": "xterm", "NO_COLOR": "1", "IN": stdin or ""}, **(env or {}))), cwd=program.work,
                      encoding="utf-8", codec_errors="strict", timeout=60, dimensions=(50, 200), echo=False)
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == code, (p.exitstatus, p.signalstatus, p.before)
    return p.before


def reply(text):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text, "reasoning": text}, "finish_reason": text}]}, ensure_ascii=False)


def test_debug_reply(bare):
    """Escapes mean the same; in a pipe the bytes stay as they are."""
    path = bare.write("body", reply(TEXT))
    shown = harmless(at_terminal(bare, "debug", "reply", stdin=path))
    piped = bare.run("debug", "reply", stdin=open(path, "rb").read())
    assert json.loads(shown) == json.loads(piped.out) and json.loads(shown)["text"] == TEXT
    assert "\u009b" in piped.out and "\\u009b" in shown
    path = bare.write("error", json.dumps({"error": {"message": TEXT, "code": TEXT}}, ensure_ascii=False))
    assert "\\u202e" in harmless(at_terminal(bare, "debug", "reply", "--status", "400", stdin=path))
    assert "the colon is missing" in harmless(at_terminal(bare, "debug", "reply", "--header", "x%s" % TEXT, stdin=path, code=2))


def test_debug_request(bare, serve):
    serve(bare, [])
    shown = harmless(at_terminal(bare, "debug", "request", "what is %s?" % TEXT))
    shown = shown[shown.index('{"model"'):]             # behind what the status line was
    piped = bare.run("debug", "request", "what is %s?" % TEXT)
    assert json.loads(shown)["messages"][1] == json.loads(piped.out)["messages"][1] and TEXT in json.loads(shown)["messages"][1]["content"]
    assert "\u202e" in piped.out


@pytest.mark.parametrize("args", [(), ("-v", "--show-reasoning"), ("--json",)])
def test_a_question(sandpiper, serve, args):
    code = "print(%r)\nopen(%r, 'w').write('x')\nraise ValueError(%r)" % (TEXT, "a%sb.txt" % TEXT.replace("/", "").replace("\\", ""), TEXT)
    serve(sandpiper, [{"answer": {"reasoning": TEXT, "text": TEXT, "calls": [{"code": code}]}}, {"answer": {"calls": [{"code": repr(TEXT)}]}},
                      {"answer": {"text": "the answer is " + TEXT}}])
    shown = harmless(at_terminal(sandpiper, *args, "go"))
    assert "the answer is" in shown and "end" in shown
    if args == ("--json",):
        # In front of an event may stand what the status line was, where something took so long that there was one.
        events = [json.loads(line[line.index('{"type"'):]) for line in shown.splitlines() if '{"type"' in line]
        done = [e for e in events if e["type"] == "done"]
        assert done[0]["answer"] == "the answer is " + TEXT


@pytest.mark.slow(3)
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_errors_of_a_service(bare, serve, status):
    answer = {"answer": {"status": status, "headers": {"Retry-After": "0"}, "json": {"error": {"message": "no: " + TEXT, "code": TEXT, "type": TEXT}}}}
    serve(bare, [answer] * 6, complete=False)
    assert "no:" in harmless(at_terminal(bare, "go", code={400: 1, 401: 77, 404: 1, 429: 75, 500: 75}[status]))


def test_exec(sandpiper):
    code = "import sys\nprint(%r)\nprint(%r, file=sys.stderr)\nopen(%r, 'w').write('x')\nraise ValueError(%r)" % (
        TEXT, TEXT, "a%sb.txt" % TEXT.replace("/", ""), TEXT)
    shown = harmless(at_terminal(sandpiper, "exec", sandpiper.write("code.py", code), code=1))
    assert shown.count("end") >= 3
    assert sandpiper.run("exec", "-c", "print(%r)" % TEXT).out == TEXT + "\n"        # to a pipe the bytes of the code


def test_models(bare, serve):
    rows = [{"id": "good"}, {"id": "b" + TEXT}, {"id": "c\u202ed"}]
    server = serve(bare, [], complete=False)
    server.others["/v1/models"] = {"data": rows}
    for args in ((), ("--json",)):
        assert "good" in harmless(at_terminal(bare, "models", *args))


@pytest.mark.slow(3)
def test_configuration(bare):
    """The command line, the environment, a folder's .env, config.yaml: values and what is wrong with them."""
    for flag in ("--model", "--system", "--provider", "--memory", "--base-url", "--nosuch", "--config", "--color", "--image"):
        code = 0 if flag in ("--model", "--system", "--image") else 2
        harmless(at_terminal(bare, flag, "x%sy" % TEXT, "config", code=code))
    harmless(at_terminal(bare, "help", TEXT, code=2))
    harmless(at_terminal(bare, "exec", "x%s.py" % TEXT.replace("/", ""), code=125))
    harmless(at_terminal(bare, "rm", TEXT, code=2))
    bare.write(".env", "SANDPIPER_MODEL='%s'\nSANDPIPER_PROVIDER=openai\nSANDPIPER_X='%s'\n%s\n" % (TEXT, TEXT, TEXT))
    os.chmod(os.path.join(bare.work, ".env"), 0o600)
    harmless(at_terminal(bare, "config"))
    bare.write(".env", "SANDPIPER_PROVIDER='%s'\n" % TEXT)
    harmless(at_terminal(bare, "config", code=2))
    os.unlink(os.path.join(bare.work, ".env"))
    bare.configure("model: \"%s\"\n" % TEXT.replace("\\", "\\\\").encode("unicode_escape").decode().replace("\\\\", "\\").replace("\\\\", "\\"))
    harmless(at_terminal(bare, "config", code=2 if "config.yaml" in bare.run("config").err else 0))


def test_a_history_that_others_wrote(bare, serve):
    """readline shows what it is given."""
    serve(bare, [])
    os.makedirs(bare.path("state/sandpiper"))
    with open(bare.path("state/sandpiper/history"), "w") as f:
        f.write("begin %s\n" % "".join(chr(c) for c in range(0x80, 0xa0)).replace("\u009d", "").replace("\u0090", ""))
    os.chmod(bare.path("state/sandpiper/history"), 0o600)
    p = bare.chat(env={"NO_COLOR": "1"})
    p.expect("> ")
    p.send("\x1b[A")
    p.expect("begin")
    p.send("\x15\x04")
    p.expect(pexpect.EOF)
    assert not re.search("[\x80-\x9f]", p.before), repr(p.before)
