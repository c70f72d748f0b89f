"""test_draft.py - what is typed and pasted while an answer comes: it becomes a draft, a paste sends nothing by itself, and Ctrl-C is seen at once whatever
waits before it."""
import re
import time

import pytest

from chat_keys import AT_PROMPT, leave, leave_shell, paste, said, start, start_in_shell

WORDS = {"text": " ".join("word%d" % i for i in range(400)), "piece": 8, "delay": 0.05}
RUNNING = {"calls": [{"code": "print('started', flush=True)\nimport time\nwhile True: time.sleep(0.1)"}]}
PHASES = {
    "waiting": ({"text": "never", "wait": 30}, None),
    "thinking": ({"reasoning": WORDS["text"], "text": "never", "piece": 8, "delay": 0.05}, None),
    "streaming": (WORDS, "word1 "),
    "running": (RUNNING, r"\| started"),
    "retrying": ({"status": 429, "headers": {"Retry-After": "30"}, "body": "{}"}, "Retrying in"),
}


def lines_of(n):
    return "".join("line %d of a text that somebody pastes\n" % i for i in range(n)) + "/exit\n!print(1)\n"


def begin(program, server, phase):
    p = start(program)
    p.send("go\r")
    server.wait_request(1)
    if PHASES[phase][1]:
        p.expect(PHASES[phase][1])
    return p


def stop(p):
    began = time.monotonic()
    p.send("\x03")
    p.expect("Stopped")
    took = time.monotonic() - began
    p.expect(AT_PROMPT)
    return took


@pytest.mark.slow(6)
@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("n", [3, 60, 300, 5000])
@pytest.mark.parametrize("phase", PHASES)
def test_a_paste_sends_nothing(sandpiper, serve, phase, n, marked):
    text = lines_of(n)
    server = serve(sandpiper, [{"answer": PHASES[phase][0]}, {"answer": {"text": "Heard."}}], lenient=True)
    p = begin(sandpiper, server, phase)
    p.send(paste(text) if marked else text.replace("\n", "\r"))
    time.sleep(0.3)
    took = stop(p)
    assert took < 10, took                      # 0.2 on a machine that does nothing else; what is stopped would go on for longer
    assert len(server.bodies()) == 1
    p.send("\r")                                # the draft is in the line: now it is sent
    p.expect("Heard")
    assert server.bodies()[1]["messages"][-1]["content"].strip() == text.strip()
    p.expect("> ")
    leave(p)


@pytest.mark.parametrize("end", ["\r", "\r\r", "\r\n"], ids=["enter", "two", "crlf"])
def test_a_pasted_line_without_marks_waits_for_enter(bare, serve, end):
    server = serve(bare, [{"answer": dict(WORDS, text="one two three four five six")}, said("rm -rf everything")])
    p = begin(bare, server, "waiting")
    p.send("rm -rf everything" + end)
    p.expect(AT_PROMPT + "rm -rf everything")
    time.sleep(0.2)
    assert len(server.bodies()) == 1
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_control_bytes_in_a_paste_are_no_keys(bare, serve):
    server = serve(bare, [{"answer": dict(WORDS, text="one two three four five six")}, said("abc")])
    p = begin(bare, server, "waiting")
    p.send(paste("a\x1cb\x1ac"))
    p.expect(AT_PROMPT + "abc")
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


@pytest.mark.parametrize("when", ["working", "editing"])
def test_backspace_takes_a_whole_paste(bare, serve, when):
    server = serve(bare, [{"answer": dict(WORDS, text="one two three four five six", delay=0.2)}, said("first and third")])
    p = begin(bare, server, "waiting")
    if when == "editing":
        p.expect(AT_PROMPT)
    p.send("first ")
    p.send(paste(lines_of(60)))
    p.expect(r"\[paste 1: ")
    p.send("\x7f")
    p.send("and third")
    if when == "working":
        p.expect(AT_PROMPT + "first and third")
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_a_draft_above_the_limit_is_told(bare, serve):
    server = serve(bare, [{"answer": dict(WORDS, text="one two three four five six seven", delay=0.5)}], lenient=True)
    p = begin(bare, server, "waiting")
    p.send(paste("x" * 70 + "\n" * 1 + ("y" * 70 + "\n") * 16000))
    p.expect("the paste was cut off at 1 MiB")
    p.send("\x03")
    p.expect(AT_PROMPT)
    leave(p)


@pytest.mark.slow(4)
def test_a_draft_after_the_background(bare, serve):
    """Ctrl-Z, bg, a key for the shell, fg: what is typed then is the draft again."""
    server = serve(bare, [{"answer": dict(WORDS, delay=0.2)}, said("next")], lenient=True)
    p = start_in_shell(bare)
    p.send("go\r")
    server.wait_request(1)
    p.expect("word1 ")
    p.send("\x1a")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("bg\r")
    time.sleep(1)
    p.send("fg\r")
    p.expect(r"\$SP")
    time.sleep(1)
    for key in "next":
        p.send(key)
        time.sleep(0.05)
    p.expect(re.escape("> next (Enter queues it)"))
    p.send("\x03")
    p.expect(AT_PROMPT + "next")
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave_shell(p)


def test_enter_queues_a_message(bare, serve):
    server = serve(bare, [{"answer": WORDS}, said("and now?"), said("third")])
    p = begin(bare, server, "streaming")
    for key in "and noww\x7f?":
        p.send(key)
        time.sleep(0.02)
    p.expect(re.escape("> and now? (Enter queues it)"))
    p.send("\r")
    p.expect(re.escape("queued: and now? (Esc takes it back)"))
    p.send("third")
    p.expect(re.escape("> third (one is queued; Esc takes it back)"))
    p.expect("> and now\\?\r\n", timeout=60)
    p.expect("Heard")
    p.expect("> third")                         # it was typed only, so it waits for Enter
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_a_terminal_that_cannot_move_its_cursor(bare, serve):
    """It shows no draft, but loses none: what is queued is sent, what is only typed is in the line at the prompt."""
    serve(bare, [{"answer": dict(WORDS, delay=0.2, text="one two three four five six seven eight")}, said("next"), said("more")])
    p = start(bare, env={"TERM": "dumb"})
    p.send("go\r")
    p.expect("one")
    for key in "next\rmore":
        p.send(key)
        time.sleep(0.02)
    p.expect("eight\r\n.*> next\r\nHeard")
    p.expect("> more$")
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


@pytest.mark.parametrize("key", ["\x1b", "\x03"], ids=["escape", "ctrl-c"])
def test_what_is_queued_comes_back(bare, serve, key):
    server = serve(bare, [{"answer": dict(WORDS, delay=0.3, text="one two three four five six seven eight nine ten")}, said("and now? please")])
    p = begin(bare, server, "waiting")
    p.expect("one")
    p.send("and now?")
    p.expect(re.escape("> and now? (Enter"))
    p.send("\r")
    p.expect("queued: and now")
    p.send(key)
    p.expect("Stopped" if key == "\x03" else re.escape("> and now? (Enter queues it)"))
    p.expect(AT_PROMPT + "and now\\?")
    assert len(server.bodies()) == 1
    p.send(" please\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_what_follows_a_failure_is_not_sent(bare, serve):
    server = serve(bare, [{"answer": {"status": 401, "body": '{"error": {"message": "no"}}', "wait": 2}}], lenient=True)
    p = begin(bare, server, "waiting")
    p.send("next")
    time.sleep(0.1)
    p.send("\r")
    p.expect(AT_PROMPT + "next", timeout=20)
    assert len(server.bodies()) == 1
    p.send("\x03")
    p.expect(AT_PROMPT)
    leave(p)


def test_keys_that_mean_nothing_here(bare, serve):
    server = serve(bare, [{"answer": dict(WORDS, delay=0.3, text="one two three four five six seven eight")}, said("a wörd")])
    p = begin(bare, server, "waiting")
    p.expect("one")
    for keys in ("a gone", "\x17", "w\u00f6rdd", "\x1b[A", "\x1bOA", "\x1b[1;5C", "\x7f", "\t\x7f"):
        p.send(keys)
        time.sleep(0.1)
    p.expect(AT_PROMPT + "a w\u00f6rd", timeout=30)
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)
