"""test_folder.py - a folder's .env: what it may decide, what is said, and what the user is asked first."""
import json
import os

import pexpect
import pytest

from chat_keys import ask, leave, said as heard, start
from conftest import BIN

PLAIN = {"NO_COLOR": "1"}
HEARD = {"answer": {"text": "Heard."}}
QUESTION = r"This folder's \.env sends your questions to 127\.0\.0\.1:%d \(OPENAI_BASE_URL\); allow\? \[y/N\] "


def leads_to(program, url, extra=""):
    """The folder's .env names that server; the environment names nothing."""
    program.write(".env", "OPENAI_BASE_URL=%s\nSANDPIPER_MODEL=test-model\n%s" % (url, extra))
    os.chmod(os.path.join(program.work, ".env"), 0o600)
    program.url = None


def port(server):
    return int(server.url.split(":")[2].split("/")[0])


def kept(program):
    return program.path("state/sandpiper/folders")


def asked(program, server, *args, answer):
    """At a terminal: the question is answered; what was shown afterwards, and the exit code."""
    p = program.chat(*args, env=PLAIN, size=(30, 200))
    p.expect(QUESTION % port(server))
    p.send(answer)
    p.expect(pexpect.EOF)
    p.close()
    return p.before, p.exitstatus


def test_what_is_ignored_is_told_once_in_a_chat(bare, serve):
    """Not again for each session that it goes on with."""
    serve(bare, [heard("one"), heard("two")])
    bare.write(".env", "SANDPIPER_TIMEOUT=5\n")
    os.chmod(os.path.join(bare.work, ".env"), 0o600)
    p = start(bare)
    ask(p, "one", "Heard")
    leave(p)
    p = start(bare)
    assert "SANDPIPER_TIMEOUT is ignored" in p.before
    ask(p, "two", "Heard")
    (other,) = (s["id"] for s in map(json.loads, bare.run("sessions", "--json").out.splitlines()) if s["title"] == "one")
    p.send("/resume %s\r" % other[-8:])
    p.expect("Continuing \"one\"")
    assert "is ignored" not in p.before, p.before
    p.expect("> ")
    leave(p)


def unasked(program, *args):
    p = program.chat(*args, env=PLAIN, size=(30, 200))
    p.expect(pexpect.EOF)
    p.close()
    return p.before, p.exitstatus


@pytest.mark.parametrize("quiet", [False, True])
def test_the_environments_key_keeps_the_question(bare, serve, quiet):
    """A folder's URL takes nothing from who has a key himself: neither the question nor the key."""
    evil = serve(bare, [])
    evil_url = evil.url
    serve(bare, [HEARD])
    bare.configure("providers:\n  openai: {base_url: '%s', api: chat_completions}\n" % bare.url)
    leads_to(bare, evil_url, "OPENAI_API_KEY=theirs\n")
    r = bare.run(*["-q"] * quiet, "q", env={"OPENAI_API_KEY": "mine"})
    assert (r.code, r.out) == (0, "Heard.\n"), r
    assert evil.requests == [] == evil.asides
    said = "./.env:1: OPENAI_BASE_URL is ignored: you have set a key or URL for openai yourself"
    assert (said in r.err) != quiet and (not quiet or r.err == ""), r


def test_another_key_of_the_environment_keeps_it_too(bare, serve):
    evil = serve(bare, [])
    leads_to(bare, evil.url, "OPENAI_API_KEY=theirs\nSANDPIPER_PROVIDER=openai\n")
    serve(bare, [HEARD])
    bare.configure("providers:\n  groq: {base_url: '%s'}\n" % bare.url)
    bare.url = None
    r = bare.run("q", env={"GROQ_API_KEY": "mine"})
    assert (r.code, r.out) == (0, "Heard.\n") and "SANDPIPER_PROVIDER is ignored: your environment chooses groq" in r.err, r
    assert evil.requests == [] == evil.asides


@pytest.mark.parametrize("args", [("q",), ("-q", "q"), ("--json", "q"), ("models",), ("doctor", "--sandbox", "bwrap"), ("debug", "request", "q")])
def test_with_nobody_to_ask_nothing_is_sent(bare, serve, args):
    server = serve(bare, [])
    leads_to(bare, server.url)
    r = bare.run(*args, stdin="")
    text = r.out + r.err
    assert r.code == 2, r
    assert "sends your questions to 127.0.0.1:%d (OPENAI_BASE_URL), and you have not allowed that" % port(server) in text, r
    assert "--dotenv allow" in text and "--dotenv ignore" in text, r
    assert server.requests == [] == server.asides and not os.path.exists(kept(bare)), server.requests


def test_what_asks_no_model_asks_nobody(sandpiper, serve):
    server = serve(sandpiper, [])
    leads_to(sandpiper, server.url)
    assert sandpiper.run("exec", "-c", "print(6 * 7)").out == "42\n"
    r = sandpiper.run("config")
    assert r.code == 0 and server.url in r.out and "you are asked before" in r.out, r
    assert server.requests == []


def test_asked_once_and_again_when_it_changes(bare, serve):
    server = serve(bare, [HEARD, HEARD, HEARD, HEARD])
    leads_to(bare, server.url)
    shown, code = asked(bare, server, "one", answer="y\r")
    assert code == 0 and "Heard." in shown and "Using OPENAI_BASE_URL from ./.env: openai at %s" % server.url in shown, shown
    assert os.stat(kept(bare)).st_mode & 0o777 == 0o600
    assert "theirs" not in open(kept(bare)).read()
    r = bare.run("-q", "two")               # a script may go there now; that it does is said, though quiet
    assert (r.code, r.out) == (0, "Heard.\n") and r.err.count("\n") == 1, r
    assert "sandpiper: Using OPENAI_BASE_URL from ./.env: openai at %s, without a key\n" % server.url == r.err, r
    r = bare.run("--json", "-q", "three")
    said = [json.loads(line) for line in r.out.splitlines()]
    assert any(e["type"] == "notice" and "Using OPENAI_BASE_URL from ./.env" in e["text"] for e in said), r
    leads_to(bare, server.url, "# another content\n")
    assert bare.run("four").code == 2
    shown, code = asked(bare, server, "-q", "four", answer="yes\r")
    assert code == 0 and "Using OPENAI_BASE_URL from ./.env" in shown, shown
    os.mkdir(os.path.join(bare.work, "below"))
    os.link(os.path.join(bare.work, ".env"), os.path.join(bare.work, "below/.env"))
    assert bare.run("five", cwd=os.path.join(bare.work, "below")).code == 2     # the same content at another path
    assert open(kept(bare)).read().count("\n") == 1


@pytest.mark.parametrize("answer", ["n\r", "\r", "yess\r", "\x04"])
def test_no_leaves_the_folder_out(bare, serve, answer):
    """The next source decides, and the answer is kept like a yes."""
    evil = serve(bare, [])
    leads_to(bare, evil.url, "SANDPIPER_PROVIDER=openai\n")
    serve(bare, [HEARD, HEARD])
    bare.configure("provider: mine\nmodel: test-model\nproviders:\n  mine: {base_url: '%s', api_key: k}\n" % bare.url)
    bare.url = None
    shown, code = asked(bare, evil, "one", answer=answer)
    assert code == 0 and "Heard." in shown and "./.env is ignored: you did not allow" in shown, shown
    shown, code = unasked(bare, "two")
    assert code == 0 and "Heard." in shown and "allow?" not in shown, shown
    assert evil.requests == [] == evil.asides


def test_an_interrupt_is_no_answer(bare, serve):
    server = serve(bare, [])
    leads_to(bare, server.url)
    shown, code = asked(bare, server, "one", answer="\x03")
    assert code == 130 and not os.path.exists(kept(bare)), shown


def test_what_was_typed_before_is_no_answer(bare, serve):
    server = serve(bare, [])
    leads_to(bare, server.url)
    p = pexpect.spawn("/bin/sh", ["-c", 'sleep 0.5; exec "$0" one', BIN], env=bare.env(dict(PLAIN, TERM="xterm")), cwd=bare.work,
                      encoding="utf-8", timeout=60, dimensions=(30, 200))
    p.send("y\ry\ry\r")
    p.expect(r"allow\? \[y/N\] ")
    assert p.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=1) == 1
    p.send("n\r")
    p.expect(pexpect.EOF)
    p.close()
    assert server.requests == []


def test_a_chat_asks_first(bare, serve):
    server = serve(bare, [HEARD])
    leads_to(bare, server.url)
    p = bare.chat(env=PLAIN, size=(30, 200))
    p.expect(QUESTION % port(server))
    p.send("y\r")
    p.expect("\\?2004h> ")
    p.send("hello\r")
    p.expect("Heard\\.")
    p.expect("> ")
    p.send("\x04")
    p.expect(pexpect.EOF)


def test_flags_and_variables_for_scripts(bare, serve):
    server = serve(bare, [HEARD, HEARD])
    leads_to(bare, server.url)
    assert bare.run("--dotenv", "allow", "one").code == 0
    assert bare.run("one", env={"SANDPIPER_DOTENV": "allow"}).code == 0
    assert bare.run("one").code == 2
    r = bare.run("--dotenv", "ignore", "one")
    assert r.code == 2 and "No model yet" in r.err, r
    leads_to(bare, server.url, "SANDPIPER_DOTENV=allow\n")      # not the folder's to say
    r = bare.run("one")
    assert r.code == 2 and "SANDPIPER_DOTENV is ignored" in r.err, r


def test_a_key_for_the_services_own_place_is_not_asked_about(bare, serve):
    serve(bare, [HEARD, HEARD])
    bare.configure("providers:\n  groq: {base_url: '%s', model: test-model}\n" % bare.url)
    bare.write(".env", "GROQ_API_KEY=projects-own\n")
    os.chmod(os.path.join(bare.work, ".env"), 0o600)
    bare.url = None
    r = bare.run("-q", "one")
    assert r.code == 0 and r.err.startswith("sandpiper: Using GROQ_API_KEY from ./.env: groq at ") and r.err.count("\n") == 1, r
    shown, code = unasked(bare, "two")
    assert code == 0 and "allow" not in shown, shown


def test_answers_that_cannot_be_kept(bare, serve):
    server = serve(bare, [HEARD])
    leads_to(bare, server.url)
    os.mkdir(bare.path("state/sandpiper"))
    os.mkdir(kept(bare))
    shown, code = asked(bare, server, "one", answer="y\r")
    assert code == 0 and "your answer about ./.env holds for this run only" in shown, shown
