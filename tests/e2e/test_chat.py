"""test_chat.py - the chat in a real pseudo-terminal: editing, pastes, interrupts, commands, and the terminal as it was afterwards."""
import os
import re
import signal
import subprocess
import termios
import time

import pexpect
import pytest

from conftest import BIN

PROMPT = "\\n?> "
AT_PROMPT = "\\?2004h> "           # where a line is read: the mode that marks pastes, then the prompt
PLAIN = {"NO_COLOR": "1"}


def said(text):
    return {"expect": {"last": {"content": text}}, "answer": {"text": "Heard."}}


def start(program, *args, **kw):
    p = program.chat(*args, env=dict(PLAIN, **kw.pop("env", {})), **kw)
    p.expect("> ")
    return p


def ask(p, text, answer):
    p.send(text + "\r")
    p.expect(answer)
    p.expect("> ")


def leave(p, code=0):
    p.send("\x04")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == code, (p.exitstatus, p.signalstatus, p.before)


def modes(p):
    return termios.tcgetattr(p.child_fd)


def test_a_conversation(sandpiper_on, serve):
    serve(sandpiper_on, [{"expect": {"last": {"content": "set x"}}, "answer": {"text": "I set it.", "calls": [{"code": "x = 21\nprint('set')"}]}},
                         {"answer": {"text": "It is set."}},
                         {"expect": {"last": {"content": "double it"}}, "answer": {"calls": [{"code": "x * 2"}]}},
                         {"expect": {"last": {"content": {"contains": "42"}}}, "answer": {"text": "It is 42."}}])
    p = start(sandpiper_on)
    p.send("set x\r")
    p.expect("I set it.\r\n")
    p.expect("1  x = 21\r\n  2  print")
    p.expect(re.escape("| set\r\n"))
    p.expect("It is set.\r\n")
    p.expect("> ")
    p.send("double it\r")
    p.expect("= 42\r\n")
    p.expect("It is 42.\r\n")
    p.expect("> ")
    leave(p)


def test_what_can_be_said(bare, serve):
    p = None
    serve(bare, [said("plain"), said("caf\u00e9 \u4e2d \U0001f426"), said("one\ntwo"), said('a\n\n/help\nb'), said("ac")])
    p = start(bare)
    ask(p, "plain", "Heard")
    ask(p, "caf\u00e9 \u4e2d \U0001f426", "Heard")
    p.send("one\\\r")
    p.expect("\\.\\.\\. ")
    ask(p, "two", "Heard")
    p.send('"""\r')
    for line in ("a", "", "/help", "b"):
        p.expect("\\.\\.\\. ")
        p.send(line + "\r")
    p.expect("\\.\\.\\. ")
    ask(p, '"""', "Heard")
    ask(p, "abc\x1b[D\x7f", "Heard")            # editing keys
    leave(p)


@pytest.mark.parametrize("locale", [{"LANG": "C", "LC_ALL": "C"}, {"LANG": None, "LC_ALL": None}, {"LANG": "xx_YY.UTF-8"}])
def test_any_locale_takes_utf8(bare, serve, locale):
    serve(bare, [said("caf\u00e9 \u4e2d"), said("cafe \u4e2d")])
    p = start(bare, env=locale)
    ask(p, "caf\u00e9 \u4e2d", "Heard")
    ask(p, "caf\u00e9\x7fe \u4e2d", "Heard")               # one Backspace takes a whole character
    leave(p)


def test_the_greeting_is_not_cut_in_words(bare, serve):
    serve(bare, [], model="a-model-with-a-name")
    p = start(bare, size=(24, 32))
    lines = p.before.split("\r\n")
    assert any("a-model-with-a-name" in line for line in lines) and all(len(line) <= 32 for line in lines if "http" not in line), lines
    leave(p)


def test_empty_lines_ask_nothing(bare, serve):
    serve(bare, [said("x")])
    p = start(bare)
    for _ in range(3):
        p.send("  \r")
        p.expect("> ")
    ask(p, "x", "Heard")
    leave(p)


@pytest.mark.parametrize("keys, line", [
    ("bc\x01a\x05d", "abcd"),                             # Ctrl-A, Ctrl-E
    ("keep lost\x1bb\x0b", "keep "),                      # Alt-B, Ctrl-K
    ("lost\x15kept", "kept"),                             # Ctrl-U
    ("one two\x17three", "one three"),                    # Ctrl-W
    ("a b\x17\x19\x19", "a bb"),                          # Ctrl-Y
    ("one two\x01\x1bf,", "one, two"),                    # Alt-F
    ("ab\x02\x06\x02X", "aXb"),                           # Ctrl-B, Ctrl-F
    ("abc\x1b[H\x1b[3~", "bc"),                          # Home, Delete
    ("ab\x1b[D\x1b[CX\x1b[F!", "abX!"),                   # arrows, End
    ("teh\x14", "the"),                                   # Ctrl-T
    ("gone\x15\x1f", "gone"),                            # Ctrl-_ undoes
])
def test_keys_of_a_line_editor(bare, serve, keys, line):
    serve(bare, [said(line)])
    p = start(bare)
    ask(p, keys, "Heard")
    leave(p)


def test_history_with_keys(bare, serve):
    serve(bare, [said("first one"), said("second two"), said("first one"), said("second two"), said("first one, again")])
    p = start(bare)
    ask(p, "first one", "Heard")
    ask(p, "second two", "Heard")
    ask(p, "\x1b[A\x1b[A", "Heard")                         # Up, Up
    ask(p, "\x10\x10\x10\x0e", "Heard")                     # Ctrl-P, Ctrl-N
    p.send("\x12fir")                                      # Ctrl-R
    p.expect("reverse-i-search")
    ask(p, "\x05, again", "Heard")
    leave(p)


def test_ctrl_l_clears_the_screen(bare, serve):
    serve(bare, [said("kept line")])
    p = start(bare)
    p.send("kept")
    p.expect("kept")
    p.send("\x0c")
    p.expect(re.escape("\x1b[H\x1b[2J"))
    p.expect("> kept")                                      # the line stands at the top, as it was
    ask(p, " line", "Heard")
    leave(p)


# ------------------------------------------------------------------------------------------------------------------- pastes

def paste(text):
    return "\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~"


def test_a_paste_is_one_message(bare, serve):
    serve(bare, [said("look:\nline 1\n/exit\n!rm\nline 4 thanks")])
    p = start(bare)
    p.send("look:\\\r")
    p.expect("\\.\\.\\. ")
    p.send(paste("line 1\n/exit\n!rm\nline 4\n"))
    p.expect("line 4")
    time.sleep(0.3)
    ask(p, " thanks", "Heard")
    leave(p)


def test_a_long_paste_is_a_mark(bare, serve):
    text = "".join("line %d\n" % i for i in range(5000))
    serve(bare, [said("what is " + text.rstrip("\n") + "?")])
    p = start(bare)
    p.send("what is ")
    data = paste(text)
    for i in range(0, len(data), 2000):         # a pseudo-terminal holds 4 KiB
        p.send(data[i:i + 2000])
    p.expect("\\[paste 1: 5,000 lines, 48.9 kB\\]")
    ask(p, "?", "Heard")
    leave(p)


def test_a_paste_whose_end_never_comes(bare, serve):
    serve(bare, [said("half a paste and more")])
    p = start(bare)
    p.send("\x1b[200~half a paste")
    p.expect("half a paste", timeout=5)
    ask(p, " and more", "Heard")
    leave(p)


def test_hostile_pastes(bare, serve):
    serve(bare, [said("ab")])
    p = start(bare)
    p.send(paste("a\x1b[2J\x1b]0;title\x07b\x03\x04"))
    p.expect("ab")
    assert "\x1b[2J" not in p.before and "\x1b]0" not in p.before
    ask(p, "", "Heard")
    leave(p)


def test_a_paste_over_the_limit(bare, serve):
    serve(bare, [{"expect": {"last": {"content": {"regex": "^y+$"}}}, "answer": {"text": "Heard."}}])
    p = start(bare)
    data = paste("y" * (1024 * 1024 + 5000))
    for i in range(0, len(data), 4000):
        p.send(data[i:i + 4000])
    p.expect("the paste was cut off at 1 MiB", timeout=20)
    ask(p, "", "Heard")
    leave(p)


def test_typed_ahead(bare, serve):
    """What is typed during an answer is the next line, not lost and not mixed into the answer."""
    serve(bare, [{"answer": {"text": "slow answer", "wait": 1}}, said("typed ahead")])
    p = start(bare)
    p.send("go\r")
    time.sleep(0.5)
    p.send("typed ahead\r")
    p.expect("slow answer")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


# --------------------------------------------------------------------------------------------------------------- interrupts

def test_ctrl_c_at_the_prompt_clears_the_line(bare, serve):
    serve(bare, [said("second")])
    p = start(bare)
    p.send("first try\x03")
    p.expect("\\^C\r\n")
    p.expect("> ")
    p.send('"""\rline\r\x03')
    p.expect("\\^C\r\n")
    p.expect("> ")
    p.send("\x12first\x03")                     # inside a search too
    p.expect("\\^C\r\n")
    p.expect("> ")
    ask(p, "second", "Heard")
    leave(p)


def test_ctrl_c_while_the_model_speaks(bare, serve):
    serve(bare, [{"answer": {"text": "one two three four five six", "piece": 4, "delay": 0.3}},
                 {"expect": {"roles": "system user assistant user", "last": {"content": "next"}}, "answer": {"text": "Heard."}}])
    p = start(bare)
    p.send("go\r")
    p.expect("one two")
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect("> ")
    ask(p, "next", "Heard")
    leave(p)


def test_the_first_key_after_a_ctrl_c_counts(bare, serve):
    """The interrupt of the question before is no interrupt of the line: key by key, as a person types."""
    serve(bare, [{"answer": {"text": "one two three four five six", "piece": 4, "delay": 0.3}}, said("next")])
    p = start(bare)
    p.send("go\r")
    p.expect("one two")
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect("> ")
    for key in "next":
        p.send(key)
        p.expect(key)
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_ctrl_c_while_the_model_is_silent_and_retry(bare, serve):
    server = serve(bare, [{"answer": {"text": "never", "wait": 20}}, said("go")])
    p = start(bare)
    p.send("go\r")
    server.wait_request(1)
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect("/retry")
    p.expect("> ")
    ask(p, "/retry", "Heard")
    leave(p)


def test_ctrl_c_in_a_cell_keeps_the_variables(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "x = 5\nprint('started', flush=True)\nimport time\nwhile True: time.sleep(0.1)"}]}},
                         {"expect": {"roles": "system user assistant tool assistant user"}, "answer": {"calls": [{"code": "x + 1"}]}},
                         {"expect": {"last": {"content": {"contains": "6"}}}, "answer": {"text": "Six."}}])
    p = start(sandpiper_on)
    p.send("go\r")
    p.expect("\\| started")
    p.send("\x03")
    p.expect(re.escape("sandpiper: Stopped. Variables are kept.") + "( /retry asks again\\.)?\r\n", timeout=10)
    shown = p.before
    p.expect(AT_PROMPT)
    assert not re.search("the user|interrupted|\\n! ", shown + p.before), shown + p.before     # one line for one key
    p.send("and x?\r")
    p.expect("= 6\r\n")
    p.expect("Six.")
    p.expect("> ")
    leave(p)


def test_a_second_ctrl_c_kills_stubborn_code(sandpiper_on, serve):
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('started', flush=True)\nwhile True: time.sleep(0.1)"
    serve(sandpiper_on, [{"answer": {"calls": [{"code": code}]}}, said("still there?")], complete=True)
    p = start(sandpiper_on, size=(30, 200))
    p.send("go\r")
    p.expect("\\| started")
    begin = time.monotonic()
    p.send("\x03")
    time.sleep(0.2)
    p.send("\x03")
    p.expect("Code did not react to Ctrl-C and was killed; variables are gone\\.", timeout=10)      # there were none before
    p.expect("> ", timeout=10)
    assert time.monotonic() - begin < 3 and "the user" not in p.before
    p.send("still there?\r")
    i = p.expect(["Heard", "refused"])
    assert i == 0
    p.expect("> ")
    leave(p)


def test_killed_code_goes_back_to_the_variables_before_it(sandpiper, serve):
    code = "import signal, time\nx = 6\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('started', flush=True)\nwhile True: time.sleep(0.1)"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}])
    p = start(sandpiper, size=(30, 200))
    ask(p, "!x = 5", "")
    p.send("go\r")
    p.expect("\\| started")
    p.send("\x03")
    time.sleep(0.2)
    p.send("\x03")
    p.expect("Code did not react to Ctrl-C and was killed\\. Variables are back to what they were before it ran\\.", timeout=10)
    p.expect(AT_PROMPT)
    p.send("!x\r")
    p.expect("= 5\r\n")
    p.expect(AT_PROMPT)
    p.send("!import time; time.sleep(30)\r")           # a line of one's own, stopped: one line as well
    time.sleep(0.7)
    p.send("\x03")
    p.expect("sandpiper: Stopped\\. Variables are kept\\.\r\n")
    assert "the user" not in p.before and "! " not in p.before.split("sleep(30)")[-1], p.before
    p.expect(AT_PROMPT)
    leave(p)


def test_without_an_engine_the_effect_is_said_first(bare, serve):
    serve(bare, [{"answer": {"calls": [{"code": "1"}]}}] * 2)
    p = start(bare, env={"PATH": bare.work, "SANDPIPER_SANDBOX": "auto"}, size=(30, 200))
    p.send("go\r")
    p.expect("sandpiper: cannot run code: none of docker, podman and bubblewrap is installed\r\n  Quickest: sudo apt install bubblewrap ")
    assert p.before.rstrip().endswith("! not run") or "! not run\r\n" in p.before, p.before
    p.expect(AT_PROMPT)
    leave(p)
    r = bare.run("go", env={"PATH": bare.work, "SANDPIPER_SANDBOX": "auto"})
    assert r.code == 3 and "cannot run code: none of docker, podman and bubblewrap is installed" in r.err and "there is no sandbox" not in r.err, r


# ----------------------------------------------------------------------------------------------------------------- commands

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


def test_history_on_disk(bare, serve):
    serve(bare, [said("first question"), said("first question"), said("second question")])
    p = start(bare)
    ask(p, "first question", "Heard")
    leave(p)
    path = bare.path("state/sandpiper/history")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert open(path).read() == "first question\n"
    p = start(bare)
    p.send("\x1b[A")                            # up
    p.expect("first question")
    ask(p, "", "Heard")
    ask(p, "second question", "Heard")
    leave(p)
    p = start(bare)
    p.send("\x12econd")                         # reverse search
    p.expect("second question")
    p.send("\x03")
    p.expect("> ")
    leave(p)
    serve(bare, [])


def test_completion_of_commands(bare, serve):
    serve(bare, [said("tab\tnothing")], complete=False)
    p = start(bare)
    p.send("/sys\t")
    p.expect("/system ")
    p.send("\x15\r")
    leave(p)


def test_files_go_with_the_first_question(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": {"contains": ["/mnt/data/notes.txt", "forty-two", "what?"]}}}, "answer": {"text": "Heard."}},
                      {"expect": {"last": {"content": "again"}}, "answer": {"text": "Heard."}}])
    sandpiper.write("notes.txt", "forty-two\n")
    p = start(sandpiper, "--add", "notes.txt")
    ask(p, "what?", "Heard")
    ask(p, "again", "Heard")
    leave(p)


@pytest.mark.parametrize("answer, said, not_said", [
    ({"status": 404, "json": {"error": {"message": "The model does not exist", "code": "model_not_found"}}}, "Choose another: /model NAME", "-m MODEL"),
    ({"status": 400, "json": {"error": {"message": "maximum context length is 10 tokens"}}}, "/clear, or choose a model with a larger context window: /model NAME", "session"),
    ({"status": 400, "json": {"error": {"message": "no such thing"}}}, "Start sandpiper again with --trace FILE", "xxx"),
    ({"status": 529, "headers": {"Retry-After": "600"}, "json": {"error": {"message": "full"}}}, "Try again in 10 min, or choose another model: /model NAME", "use another"),
    ({"text": "It is", "finish": "length"}, "start sandpiper again with more --max-tokens", "allows more"),
])
def test_errors_name_what_the_chat_has(bare, serve, answer, said, not_said):
    """Each in its words of the chat; the same error on the command line names a flag."""
    serve(bare, [{"answer": answer}, {"answer": answer}])
    p = start(bare, size=(30, 300))
    p.send("go\r")
    p.expect(re.escape(said))
    shown = p.before + p.after
    p.expect(AT_PROMPT)
    assert not_said not in shown + p.before, shown + p.before
    leave(p)
    r = bare.run("go")
    assert said not in r.err and "/model" not in r.err and "/clear" not in r.err, r


def test_no_key_in_the_chat(bare, serve):
    bare.key = None
    refusal = {"answer": {"status": 401, "json": {"error": {"message": "who are you?"}}}}
    serve(bare, [refusal, refusal])
    p = start(bare, size=(30, 200))
    ask(p, "go", "No API key was sent\\. Quit, export OPENAI_API_KEY=\\.\\.\\., start again")
    leave(p)
    assert "set OPENAI_API_KEY" in bare.run("go").err


def test_only_reasoning_in_the_chat(bare, serve):
    serve(bare, [{"answer": {"reasoning": "Hm."}}, {"answer": {"reasoning": "Six times seven, so 42."}}])
    p = start(bare, size=(30, 200))
    p.send("how many?\r")
    p.expect(re.escape('test-model returned no text (tried twice), only reasoning: "Six times seven, so 42."'))
    p.expect(re.escape("Rephrase, or choose another model: /model NAME"))
    p.expect("/retry asks again")
    p.expect("> ")
    leave(p)


def test_a_full_window_is_told_once(bare, serve):
    """It fills again and again: every few of these questions the oldest ones must go."""
    server = serve(bare, [{"answer": {"text": "Heard %d." % i}} for i in range(12)])
    p = start(bare, "--context", "1200", "--max-tokens", "100", size=(30, 200))
    told = ""
    for i in range(12):
        p.send("%s?\r" % ("word%d " % i * 130))
        p.expect("Heard %d\\." % i)
        told += p.before
        p.expect(AT_PROMPT)
        told += p.before
    assert told.count("context full: the oldest turns are no longer sent to the model") == 1, told
    turns = [len(r.messages) for r in server.requests]
    assert sum(b < a for a, b in zip(turns, turns[1:])) >= 3, turns
    leave(p)


LOOP = {"answer": {"text": "Like this:\n```python\nfor i in range(3): pass\n```"}}


def test_code_to_be_read_stays_the_answer(sandpiper, serve):
    """It streams at once; what the model says to the question about it is neither shown nor kept."""
    serve(sandpiper, [LOOP, {"answer": {"text": "OK, never mind."}},
                      {"expect": {"roles": "system user assistant user", "last": {"content": "thanks"}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("how do I write a loop?\r")
    p.expect("Like this:\r\n```python\r\nfor i in range\\(3\\): pass\r\n```\r\n")
    p.expect("the answer contains code; asking test-model whether to run it\r\n")
    p.expect(AT_PROMPT)
    assert "never mind" not in p.before, p.before
    ask(p, "thanks", "Heard")
    leave(p)


def test_ctrl_c_at_that_question_leaves_the_answer(sandpiper, serve):
    server = serve(sandpiper, [LOOP, {"answer": {"text": "OK.", "wait": 20}},
                               {"expect": {"roles": "system user assistant user", "last": {"content": "thanks"}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("how do I write a loop?\r")
    p.expect("whether to run it\r\n")
    until = time.monotonic() + 10
    while len(server.requests) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect(AT_PROMPT)
    assert "/retry" not in p.before, p.before           # there is an answer
    ask(p, "/retry", "Nothing to retry")
    ask(p, "thanks", "Heard")
    leave(p)


def test_code_that_is_to_be_run_runs(sandpiper, serve):
    serve(sandpiper, [LOOP, {"answer": {"text": "Yes.", "calls": [{"code": "print(6 * 7)"}]}}, {"answer": {"text": "It is 42."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("compute it\r")
    p.expect("Like this:")
    p.expect("whether to run it\r\n")
    p.expect("Yes\\.\r\n")
    p.expect(re.escape("| 42\r\n"))
    p.expect("It is 42\\.\r\n")
    p.expect("> ")
    leave(p)


def test_the_same_code_again_and_again(sandpiper, serve):
    call = {"answer": {"calls": [{"code": "print(6 * 7)"}]}}
    serve(sandpiper, [call, call, call, call, {"expect": {"tail": [{"role": "assistant", "content": "42"}, {"content": "thanks"}]}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(30, 200))
    p.send("go\r")
    p.expect("already run twice with the same result")
    p.expect("\n42\r\n")
    p.expect("the same code again and again instead of an answer; the output of the code is shown instead")
    p.expect(AT_PROMPT)
    assert "/retry" not in p.before, p.before
    ask(p, "thanks", "Heard")
    leave(p)


def test_errors_go_on(bare, serve):
    serve(bare, [{"answer": {"status": 401, "json": {"error": {"message": "bad key"}}}}, said("again")])
    p = start(bare)
    ask(p, "go", "401")
    ask(p, "again", "Heard")
    leave(p)


# ----------------------------------------------------------------------------------------------------------------- the terminal

ENDS = {"ctrl-d": lambda p: p.send("\x04"), "exit": lambda p: p.send("/exit\r"), "term": lambda p: p.kill(signal.SIGTERM),
        "hup": lambda p: p.kill(signal.SIGHUP)}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("where", ["prompt", "answer"])
def test_modes_are_restored(bare, serve, end, where):
    if where == "answer" and end in ("ctrl-d", "exit"):
        pytest.skip("nothing is read during an answer")
    server = serve(bare, [{"answer": {"text": "x", "wait": 20}}] if where == "answer" else [], complete=False)
    # a shell around it, so that the terminal outlives the program
    p = pexpect.spawn("/bin/sh", ["-c", 'stty -a; "$0"; echo "code $?"; stty -a', BIN], env=bare.env(dict(PLAIN, TERM="xterm-256color")),
                      cwd=bare.work, encoding="utf-8", timeout=20, dimensions=(30, 100))
    p.expect("> ")
    before = p.before.split("\n\x1b")[0]
    if where == "answer":
        p.send("go\r")
        server.wait_request(1)
        time.sleep(0.2)
    if end in ("term", "hup"):
        pid = int(subprocess.check_output(["pgrep", "-P", str(p.pid), "-x", "sandpiper"]).split()[0])
        os.kill(pid, signal.SIGTERM if end == "term" else signal.SIGHUP)
    else:
        ENDS[end](p)
    p.expect("code (\\d+)")
    assert p.match.group(1) == ("0" if end in ("ctrl-d", "exit") else "143")
    p.expect(pexpect.EOF)
    settings = [re.findall(r"-?\b(?:icanon|echo|isig|ixon|icrnl|opost|susp = \S+|eof = \S+)", t) for t in (before, p.before)]
    assert settings[0] == settings[1] and "icanon" in settings[1] and "echo" in settings[1], settings


def test_bracketed_paste_is_switched_off(bare, serve):
    serve(bare, [])
    p = bare.chat(env=PLAIN)
    p.expect(re.escape("\x1b[?2004h"))
    p.expect("> ")
    p.send("\x04")
    p.expect(re.escape("\x1b[?2004l"))
    p.expect(pexpect.EOF)
    assert "\x1b[?2004h" not in p.before


def shown(text):
    """The lines as they stay on the screen: what was wiped for being drawn again, such as a prompt behind which news came, is not there."""
    text = re.sub(r"\x1b\[[>]?[0-9]*[qt]|\x1b[_\]][^\x1b\x07]*(\x1b\\|\x07)", "", text)      # queries and links
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", re.split(r"\r\x1b\[[0-2]?[KJ]", line)[-1]) for line in text.split("\r\n")]


@pytest.mark.parametrize("columns", [40, 80])
def test_long_words_stay_whole(sandpiper, serve, columns):
    """Notices are broken between words; what is to be copied (a path, an address) is never broken by us."""
    address = "https://status.example.invalid/incidents/2026/11/22/a-very-long-name-of-something"
    serve(sandpiper, [{"answer": {"calls": [{"code": "open('result.txt', 'w').write('hi')"}]}},
                      {"answer": {"status": 400, "json": {"error": {"message": "the request was refused for a reason that is given at %s in full" % address}}}}])
    p = start(sandpiper, size=(24, columns))
    p.send("go\r")
    p.expect("in\\s+full")
    said = shown(p.before)
    path = [line.strip() for line in said if line.strip().endswith("/result.txt") or "/result.txt (" in line]
    assert path and os.path.exists(path[0].removeprefix("saved: ").split(" (")[0]), said
    assert any(address in line for line in said), said
    assert all(len(line) <= columns for line in said if "/" not in line), said
    p.expect("> ")
    leave(p)


@pytest.mark.parametrize("columns", [40, 80])
def test_narrow_and_wide(sandpiper, serve, columns):
    """No line of ours is wider than the terminal, but for the answer's, which it wraps itself."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "print('word ' * 40)\nlonger_name = 'and a rather long line of code ' * 2 # with a comment"}]}},
                      {"answer": {"text": "Heard."}}])
    p = start(sandpiper, size=(24, columns))
    p.send("go\r")
    p.expect("Heard")
    for line in p.before.split("\r\n")[1:-1]:
        assert len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", line)) <= columns, line
    p.expect("> ")
    leave(p)


def test_a_resize(bare, serve):
    serve(bare, [said("x" * 60)])
    p = start(bare, size=(24, 80))
    p.send("x" * 30)
    p.expect("x{30}")
    p.setwinsize(24, 40)
    time.sleep(0.3)
    ask(p, "x" * 30, "Heard")
    leave(p)


def test_ctrl_backslash_leaves_the_terminal_as_it_was(bare, serve):
    serve(bare, [{"answer": {"wait": 20}}], complete=False)
    p = bare.chat(env=PLAIN)
    before = modes(p)
    p.expect("> ")
    p.send("x\r")
    p.expect("Waiting for")
    p.send("\x1c")
    p.expect(pexpect.EOF)
    after = modes(p)
    p.close()
    assert p.signalstatus == signal.SIGQUIT and after == before
    assert bare.run("gc").code == 0


def test_words_after_a_resize(bare, serve):
    """Words of ours stay whole in a terminal that has become narrow; the status line stays one line."""
    serve(bare, [{"answer": {"text": "Heard.", "wait": 1.2}}], model="a-model-with-a-name-of-some-length")
    p = start(bare, size=(24, 100))
    p.setwinsize(24, 28)
    p.send("x\r")
    p.expect("Heard")
    frames = re.findall("\r([^\r\n\x1b]+)\x1b", p.before)
    assert frames and all(len(f) < 28 for f in frames), frames
    p.expect("> ")
    p.send("/nosuch\r")
    p.expect("lists\\s+all\\.\\)\r\n")
    p.send("/help\r")
    p.expect("searches\\s+the\\s+history\r\n")
    lines = re.sub("\x1b\\[[?0-9]*[a-zA-Z]", "", p.before).split("\r\n")
    assert len(lines) > 15 and all(len(line) <= 28 for line in lines), lines
    leave(p)


def test_suspend_and_go_on(bare, serve):
    serve(bare, [said("half a line")])
    p = pexpect.spawn("/bin/bash", ["--norc", "-i"], env=bare.env(dict(PLAIN, TERM="xterm-256color", PS1="shell# ", SP=BIN)), cwd=bare.work,
                      encoding="utf-8", timeout=15, dimensions=(30, 100), echo=False)
    p.expect("shell# ")
    p.send('"$SP"\r')
    p.expect("> ")
    p.send("half a ")
    p.expect("half a")
    p.send("\x1a")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("stty -a\r")
    p.expect(" icanon")
    p.expect("shell# ")
    p.send("fg\r")
    p.expect("half a")
    p.send("line\r")
    p.expect("Heard")
    p.expect("> ")
    p.send("\x04")
    p.expect("shell# ")
    p.send("exit\r")
    p.expect(pexpect.EOF)


def test_suspend_while_the_model_speaks(bare, serve):
    serve(bare, [{"answer": {"text": "one two three four five six", "piece": 4, "delay": 0.3}}])
    p = pexpect.spawn("/bin/bash", ["--norc", "-i"], env=bare.env(dict(PLAIN, TERM="xterm-256color", PS1="shell# ", SP=BIN)), cwd=bare.work,
                      encoding="utf-8", timeout=15, dimensions=(30, 100), echo=False)
    p.expect("shell# ")
    p.send('"$SP"\r')
    p.expect("> ")
    p.send("go\r")
    p.expect("one two")
    p.send("\x1a")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("stty -a\r")
    p.expect(" icanon")
    p.expect("shell# ")
    p.send("fg\r")
    p.expect("five six")
    p.expect("> ")
    p.send("\x04")
    p.expect("shell# ")
    p.send("exit\r")
    p.expect(pexpect.EOF)


def test_the_end_leaves_a_line_of_its_own(bare, serve):
    serve(bare, [])
    p = start(bare)
    p.send("\x04")
    p.expect(pexpect.EOF)
    assert p.before.endswith("\r\n"), p.before


def test_help_fits_80_columns(bare, serve):
    serve(bare, [])
    p = start(bare, size=(40, 80))
    p.send("/help\r")
    p.expect("Ctrl-R[^\r]*\r\n")
    text = p.before + p.after
    assert max(len(re.sub("\x1b[^a-zA-Z]*[a-zA-Z]", "", line)) for line in text.split("\r\n")) <= 79, text
    p.expect("> ")
    leave(p)


def test_hostile_model_text(bare, serve):
    serve(bare, [{"answer": {"text": "a\x1b[2J\x1b]52;c;QUJD\x07b\x9b31mc\u202ed\r\noops"}}])
    p = start(bare)
    p.send("go\r")
    p.expect("oops")
    shown = p.before
    p.expect("> ")
    assert "abcd" in shown, repr(shown)
    for bad in ("\x1b[2J", "\x1b]52", "\x9b", "\u202e"):
        assert bad not in shown, repr(shown)
    leave(p)


def test_memory(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "1"}]}}, {"answer": {"text": "Heard."}}])
    p = start(sandpiper)
    with open("/proc/%d/status" % p.pid) as f:
        idle = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    ask(p, "go", "Heard")
    with open("/proc/%d/status" % p.pid) as f:
        status = f.read()
    if "asan" not in BIN:
        assert idle < 16 * 1024, idle
        assert int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) < 24 * 1024, status
    leave(p)


def test_news_while_a_line_is_typed(bare, serve, tmp_path):
    """The sandbox comes up in the background; what it has to say must not tear the line that is being typed."""
    serve(bare, [said("half a line")], complete=False)
    for name in ("docker", "podman"):
        path = tmp_path / name
        path.write_text("#!/bin/sh\nsleep 1.5\necho no such luck >&2\nexit 1\n")
        path.chmod(0o755)
    p = bare.chat("-v", "--sandbox", "auto", env=dict(PLAIN, PATH="%s:%s" % (tmp_path, os.environ["PATH"])))
    p.expect("> ")
    p.send("half a ")
    p.expect("half a ")
    p.expect("sandpiper: [^\r\n]*\r\n", timeout=20)
    p.expect("> half a ")                       # the line is there again, below the news
    p.send("line\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_system_of_the_command_line(bare, serve):
    serve(bare, [])
    p = start(bare, "-s", "be brief")
    ask(p, "/system", "Custom instructions: be brief")
    ask(p, "/system off", "No custom instructions set\\. /system TEXT sets them\\.")
    leave(p)
