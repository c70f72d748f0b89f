"""test_chat_commands.py - the chat's commands and the words that are obeyed without a slash."""
import re

import pexpect
import pytest

from chat_keys import said, start, ask, leave


def test_help_and_unknown(bare, serve):
    serve(bare, [])
    p = start(bare)
    p.send("/help\r")
    for word in ("/code", "/retry", "/clear", "/reset", "/model", "/system", "/exit", "Ctrl-R"):
        p.expect(re.escape(word))
    p.expect("> ")
    p.send("/hepl\r")
    p.expect("Unknown command /hepl\\. Did you mean /help\\? \\(/help lists all\\.\\)")
    p.expect("> ")
    p.send("/modle gpt-9\r")
    p.expect("Unknown command /modle\\. Did you mean /model\\?")
    p.expect("> ")
    p.send("/retry\r")
    p.expect("Nothing to retry")
    p.expect("> ")
    p.send("/quit\r")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 0


def test_a_command_takes_what_its_row_says(bare, serve):
    serve(bare, [said("exit the loop how?"), said(" help")])
    p = start(bare)
    ask(p, "/clear everything", "/clear takes no argument\\. \\(To ask this as a question, put a space before it\\.\\)")
    ask(p, "/help model", "/model \\[NAME\\]\\s+change the model.*\r\n.*Tab completes names\\.")
    ask(p, "/help moddle", "Unknown command /moddle\\. Did you mean /model\\?")
    ask(p, "/blurb", "Unknown command /blurb\\. \\(/help lists all\\.\\)")
    for word in ("help", "?"):
        ask(p, word, "/retry .*Ctrl-R")
    ask(p, "exit the loop how?", "Heard")
    ask(p, " help", "Heard")
    leave(p)


@pytest.mark.parametrize("word", ["exit", "quit", ":q", "exit()", "quit()", "exit "])
def test_words_that_leave(bare, serve, word):
    serve(bare, [])
    p = start(bare)
    p.send(word + "\r")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 0


def test_help_fits_a_screen(bare, serve):
    serve(bare, [])
    p = start(bare, size=(24, 80))
    p.send("/help\r")
    p.expect("> ")
    lines = p.before.split("\r\n")
    assert 10 <= len(lines) <= 22 and all(len(line) < 80 for line in lines), lines
    leave(p)


def test_help_fits_80_columns(bare, serve):
    serve(bare, [])
    p = start(bare, size=(40, 80))
    p.send("/help\r")
    p.expect("Ctrl-R[^\r]*\r\n")
    text = p.before + p.after
    assert max(len(re.sub("\x1b[^a-zA-Z]*[a-zA-Z]", "", line)) for line in text.split("\r\n")) <= 79, text
    p.expect("> ")
    leave(p)


def test_a_path_is_a_question(bare, serve):
    serve(bare, [said("/usr/bin/env is what?"), said(" /help me")])
    p = start(bare)
    ask(p, "/usr/bin/env is what?", "Heard")
    ask(p, " /help me", "Heard")
    leave(p)


def test_own_code_and_code(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "x = 20"}]}}, {"answer": {"text": "Set."}},
                      {"expect": {"last": {"content": {"contains": ["x + 3", "23", "what did I run?"]}}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper)
    ask(p, "set x", "Set.")
    p.send("!x + 3\r")
    p.expect("= 23\r\n")
    p.expect("> ")
    p.send("!1/0\r")
    p.expect("! .*ZeroDivisionError")
    p.expect("> ")
    p.send("/code\r")
    p.expect("x = 20\r\n")
    p.expect("> ")
    ask(p, "what did I run?", "Heard")
    p.send("/reset\r")
    p.expect("Python restarted: variables cleared, files kept\\.")
    p.expect("> ")
    p.send("!x\r")
    p.expect("NameError")
    p.expect("> ")
    leave(p)


def test_clear_model_system(bare, serve):
    serve(bare, [said("one"), {"expect": {"roles": "system user", "model": "other-model", "system": {"contains": "speak like a pirate"}},
                               "answer": {"text": "Heard."}}])
    p = start(bare)
    ask(p, "one", "Heard")
    ask(p, "/clear", "Conversation cleared\\. Variables are kept\\.")
    ask(p, "/model", "The model is \"test-model\"\\.")
    ask(p, "/model other-model", "Model set to \"other-model\", which is not in the service's list\\.")
    ask(p, "/system", "No custom instructions set\\. /system TEXT sets them\\.")
    ask(p, "/system speak like a pirate", "Custom instructions: speak like a pirate")
    ask(p, "two", "Heard")
    leave(p)


def test_system_of_the_command_line(bare, serve):
    serve(bare, [])
    p = start(bare, "-s", "be brief")
    ask(p, "/system", "Custom instructions: be brief")
    ask(p, "/system off", "No custom instructions set\\. /system TEXT sets them\\.")
    leave(p)
