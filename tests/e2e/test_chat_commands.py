"""test_chat_commands.py - the chat's commands and the words that are obeyed without a slash."""
import base64
import re

import pexpect
import pytest

from chat_keys import PLAIN, editor, said, start, ask, leave


def test_help_and_unknown(bare, serve):
    serve(bare, [])
    p = start(bare)
    p.send("/help\r")
    for word in ("/clear", "/code", "/exit", "/model", "/reset", "/retry", "/system", "Ctrl-R"):
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


@pytest.mark.parametrize("env, line", [({"NO_COLOR": ""}, "\x1b\\[2mNo code has run yet\\."), ({}, "sandpiper: No code has run yet\\.")])
def test_a_notice_is_dimmed_or_has_a_prefix(bare, serve, env, line):
    """Either shows that it is neither the model's nor the code's."""
    serve(bare, [])
    p = bare.chat(env=dict(PLAIN, **env))
    p.expect("Ctrl-D ends.*>")
    p.send("/code\r")
    p.expect(line)
    p.expect("\n.*>")
    leave(p)


def test_the_same_help_outside(bare, serve):
    """"sandpiper help chat" says what /help all does, and the keys."""
    r = bare.run("help", "chat")
    assert r.code == 0 and r.err == "" and r.out.startswith("Usage: ") and bare.run("chat", "--help").out == r.out, r
    assert max(map(len, r.out.splitlines())) < 80, r
    listed = r.out[r.out.index("\n/clear "):].splitlines()[1:]
    assert {"/help", "/model", "/exit", "Ctrl-C", "Ctrl-R", "Alt-Enter", "Tab"} <= {line.split()[0] for line in listed}, r
    serve(bare, [])
    p = start(bare, size=(60, 90))
    p.send("/help all\r")
    p.expect("Ctrl-X[^\r]*\r\n")
    shown = re.sub("\x1b[^a-zA-Z]*[a-zA-Z]", "", p.before + p.after)
    assert [line for line in listed if line.strip() and line not in shown] == [], shown
    leave(p)


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
    ask(p, "/model other-model", "Model set to \"other-model\"(, which is not in the service's list| \\(not checked\\))\\.")
    ask(p, "/system", "No custom instructions set\\. /system TEXT sets them\\.")
    ask(p, "/system speak like a pirate", "Custom instructions: speak like a pirate")
    ask(p, "two", "Heard")
    leave(p)


def test_system_of_the_command_line(bare, serve):
    serve(bare, [])
    p = start(bare, "-s", "be brief")
    ask(p, "/system", "Custom instructions: be brief")
    ask(p, "/system off", "Custom instructions removed\\.")
    ask(p, "/system off", "No custom instructions set\\. /system TEXT sets them\\.")
    leave(p)


# ------------------------------------------------------------------------------------------------------- the user's own code

def test_edit_runs_what_comes_back(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "x = 20\nprint('first')"}]}}, {"answer": {"text": "Set."}}])
    path = editor(sandpiper, 'test -e changed && exit; touch changed; cp "$1" seen.py; sed -i s/20/30/ "$1"\n')
    p = start(sandpiper, env={"EDITOR": path})
    ask(p, "/edit", "No code has run yet\\.")
    ask(p, "set x", "Set\\.")
    p.send("/edit\r")
    p.expect(re.escape("| first\r\n"))
    p.expect("> ")
    assert open(sandpiper.path("work/seen.py")).read() == "x = 20\nprint('first')\n"
    ask(p, "!x", "= 30\r\n")
    ask(p, "/edit", "Nothing was changed, so nothing ran\\.")
    leave(p)


def test_run_a_file_or_code(sandpiper, serve):
    serve(sandpiper, [])
    sandpiper.write("my_code.py", "y = 6\ny * 7\n")
    sandpiper.write("half.py", "print('half')\n\0\nprint('whole')\n")
    p = start(sandpiper)
    p.send("/run my_c\t")
    p.expect("my_code\\.py")
    ask(p, "", "= 42\r\n")
    ask(p, "/run y + 1", "= 7\r\n")
    ask(p, "/run missing.py", "missing\\.py: No such file")
    ask(p, "/run half.py", "half\\.py: not Python: it contains a NUL byte")
    assert "| half" not in p.before
    ask(p, "/run", "/run needs an argument: /run FILE\\|CODE")
    leave(p)


def test_vars(sandpiper, serve):
    """Names, types, shapes and sizes; the look itself leaves nothing behind."""
    serve(sandpiper, [])
    p = start(sandpiper, size=(30, 120))
    ask(p, "/vars", "No variables yet\\.")
    ask(p, "!import json, array; n = 12; words = ['a', 'b']; big = bytes(2500); evil = '\\x1b[2J'", "")
    p.send("/vars\r")
    p.expect("n +int +12 +[0-9]+ bytes\r\n")
    p.expect("words +list +len 2 ")
    p.expect("big +bytes +len 2500 +2\\.5 kB")
    p.expect("> ")
    assert "json" not in p.before and "space" not in p.before, p.before
    p.send("!sorted(k for k in globals() if k[0] != '_')\r")
    p.expect(re.escape("['array', 'big', 'evil', 'json', 'n', 'words']"))
    p.expect("> ")
    leave(p)


def test_last_output_in_full(sandpiper, serve):
    serve(sandpiper, [])
    path = editor(sandpiper, 'cp "$1" seen.txt; echo paged\n')
    p = start(sandpiper, env={"PAGER": path}, size=(30, 100))
    ask(p, "/last", "No code has run yet\\.")
    ask(p, "!pass", "pass")
    ask(p, "/last", "The last code printed nothing\\.")
    ask(p, "!print('one'); 2", "= 2\r\n")
    ask(p, "/last", "one\r\n= 2\r\n")
    p.send("!for i in range(5000): print('line', i, '\\x1b[2J')\r")
    p.expect("5,000 lines")
    p.expect("> ")
    ask(p, "/last", "paged")
    lines = open(sandpiper.path("work/seen.txt")).read().splitlines()
    assert len(lines) >= 5000 and lines[4999].strip() == "line 4999" and "\x1b" not in "".join(lines), (len(lines), lines[-2:])
    leave(p)


@pytest.mark.slow(3)
def test_timeout_and_sandbox(sandpiper, serve):
    serve(sandpiper, [{"expect": {"system": {"contains": "2 s a run"}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper, "--timeout", "90")
    ask(p, "/timeout", "Time limit per run: 90 s\\.")
    ask(p, "/timeout soon", "/timeout: expected a time such as 90, 90s or 2m")
    ask(p, "/timeout 2s", "Time limit per run: 2 s\\.")
    p.send("!import time; time.sleep(60)\r")
    p.expect("2 s")
    p.expect("> ")
    p.send("/sandbox\r")
    for word in ("engine   bwrap", "name     none", "memory   ", "time     2 s for one run"):
        p.expect(word)
    p.expect("> ")
    ask(p, "go", "Heard")
    leave(p)


def test_models_verbose_doctor(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "Heard."}}], complete=False)
    p = start(sandpiper, size=(50, 120))
    ask(p, "/models", "test-model\r\n")
    ask(p, "/models nosuch", "No model of the service has that in its name\\.")
    ask(p, "/verbose", "Showing tokens, timings and what")
    ask(p, "/verbose off", "No longer showing tokens")
    ask(p, "/verbose maybe", "/verbose: expected on or off, found \"maybe\"")
    p.send("/doctor\r")
    p.expect("key|model")
    p.expect("\\?2004h> ", timeout=60)
    leave(p)


def test_doctor_checks_what_the_chat_uses(sandpiper, serve):
    """The URL and the limits of the command line, the key that belongs to them, and the model of now."""
    server = serve(sandpiper, [], complete=False, lenient=True)
    url, sandpiper.url = sandpiper.url, None
    p = start(sandpiper, "--base-url", url, "-m", "first-model", "--memory", "300m", "--sandbox", "bwrap", size=(50, 120),
              env={"SANDPIPER_SANDBOX": "nosuch-engine", "SANDPIPER_API_KEY": "key-of-the-flag"})
    ask(p, "/model second-model", "Model set to")
    p.send("/doctor\r")
    p.expect("endpoint +ok +[^\r]*%s" % re.escape(url.split("//")[1]))
    p.expect("second-model")
    p.expect("\\?2004h> ", timeout=60)
    leave(p)
    asked = [(r.body["model"], r.headers.get("authorization")) for r in server.requests]
    assert asked and set(asked) == {("second-model", "Bearer key-of-the-flag")}, asked


def test_a_line_for_a_shell(sandpiper, serve):
    serve(sandpiper, [])
    p = start(sandpiper, size=(30, 160))
    p.send("!ls -a\r")
    p.expect(re.escape("! runs Python. For a shell command: !sh ls -a"))
    p.expect("> ")
    p.send("!lsx\r")
    p.expect("NameError")
    p.expect("> ")
    assert "shell" not in p.before, p.before
    p.send("!sh pwd\r")
    p.expect("/mnt/data")
    p.expect("> ")
    leave(p)


def test_what_is_shown_again_follows_undo(sandpiper, serve):
    """/raw, /copy, /code and /edit: of the last question that the conversation has."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "first = 1"}]}}, {"answer": {"text": "Answer *one*."}},
                      {"answer": {"calls": [{"code": "second = 2"}]}}, {"answer": {"text": "Answer *two*."}}, {"answer": {"text": "Answer *three*."}}])
    p = start(sandpiper, env={"TERM": "xterm-kitty"})
    ask(p, "set first", "Answer")
    ask(p, "set second", "Answer")
    ask(p, "/raw", re.escape("Answer *two*."))
    ask(p, "/undo", "Removed the last question")
    ask(p, "/raw", re.escape("/raw\r\n") + "[^A]*" + re.escape("Answer *one*.\r\n"))
    ask(p, "/code", "first = 1\r\n")
    ask(p, "/copy", re.escape("\x1b]52;c;%s" % base64.b64encode(b"Answer *one*.").decode()))
    ask(p, "/copy code", re.escape("\x1b]52;c;%s" % base64.b64encode(b"first = 1").decode()))
    ask(p, "third", "Answer")
    ask(p, "/raw", re.escape("Answer *three*."))
    ask(p, "/undo", "Removed the last question")
    ask(p, "/undo", "Removed the last question")
    ask(p, "/raw", "No answer yet")
    ask(p, "/code", "No code has run yet\\.")
    leave(p)


def test_long_output_is_folded(sandpiper, serve):
    """At half a screen, with one line that says how to see all of it, of each run; -v shows what fits the usual limits."""
    code = "print('\\n'.join('%s %%d' %% i for i in range(60)))"
    serve(sandpiper, [{"answer": {"calls": [{"code": code % "row"}]}}, {"answer": {"calls": [{"code": code % "line"}]}}, {"answer": {"text": "Done."}}])
    p = start(sandpiper, env={"PAGER": "cat"}, size=(24, 100))
    p.send("go\r")
    p.expect(r"\| row 11\r\n\[first 12 of 60 lines shown; /last 1 shows all[^\r]*\]\r\n")
    p.expect(r"\| line 11\r\n\[first 12 of 60 lines shown; /last 2 shows all[^\r]*\]\r\n")
    p.expect("Done")
    p.expect("> ")
    ask(p, "/last 1", "row 0\r\n(?s:.)*row 59\r\n")
    ask(p, "/last", "line 0\r\n(?s:.)*line 59\r\n")
    ask(p, "/last 9", "No output is kept of run 9\\.")
    ask(p, "/last x", "No output is kept of run x\\.")
    ask(p, "!pass", "pass")
    ask(p, "/last 3", "Run 3 printed nothing\\.")
    p.send("!print('x' * 5000)\r")
    p.expect(r"\[first 1,200 of 5,001 bytes shown; /last 4 shows all\]")
    p.expect("> ")
    leave(p)
    p = start(sandpiper, "-v", size=(24, 100))
    p.send("!" + code % "row" + "\r")
    p.expect(r"\| row 59\r\n")
    p.expect("> ")
    leave(p)
