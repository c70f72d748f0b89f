"""test_chat_editing.py - the line that is typed: keys, blocks, pastes, history, Tab, what is typed ahead."""
import io
import os
import re
import signal
import time

import pexpect
import pyte
import pytest

from chat_keys import AT_PROMPT, PLAIN, ask, editor, leave, leave_shell, paste, said, start, start_in_shell
from raw_server import wait_for


def test_what_can_be_said(bare, serve):
    serve(bare, [said("plain"), said("caf\u00e9 \u4e2d \U0001f426"), said("ac")])
    p = start(bare)
    ask(p, "plain", "Heard")
    ask(p, "caf\u00e9 \u4e2d \U0001f426", "Heard")
    ask(p, "abc\x1b[D\x7f", "Heard")            # editing keys
    leave(p)


BLOCK = '"""'
LINES = [
    ("one\\\rtwo", "one\ntwo"),                                    # a backslash at the end
    ("one\x1b\rtwo", "one\ntwo"),                                  # Alt-Enter
    ("two\x01one\x1b\r", "one\ntwo"),                              # where the cursor is
    (BLOCK + "\ra\r\r/help\rb\r" + BLOCK, "a\n\n/help\nb"),      # quotes on lines of their own
    (BLOCK + "a\rb" + BLOCK, "a\nb"),                              # with text on theirs
    ("look: " + BLOCK + "\ra\rb\r" + BLOCK + " ", "look:\na\nb"),
    (BLOCK + "/exit" + BLOCK, "/exit"),                            # a question, whatever it says
    (BLOCK + "!1" + BLOCK, "!1"),
]


def inputrc(program, text):
    with open(program.path("home/.inputrc"), "w") as f:
        f.write(text)


@pytest.mark.parametrize("mode", ["emacs", "vi"])
def test_several_lines_are_one_edit(bare, serve, mode):
    """What was typed before can be changed, and the message comes back whole from the history. The mode stays what it was."""
    serve(bare, [said(meant) for _, meant in LINES] + [said("look:\na\nb"), said("ab")])
    inputrc(bare, "set editing-mode %s\n" % mode)
    p = start(bare)
    for keys, _ in LINES:
        ask(p, keys if mode == "emacs" else keys.replace("\x01", "\x1b0i"), "Heard")
    ask(p, "\x1b[A" * 3, "Heard")
    ask(p, "axx\x7f\x7fb", "Heard")
    leave(p)


def test_vi_mode(bare, serve):
    serve(bare, [said("one, two"), said("one, two"), said("thr\nee"), said("ac")])
    inputrc(bare, "set editing-mode vi\n")
    p = start(bare)
    ask(p, "oe two\x1b0an\x1bea,", "Heard")       # ESC 0 a: behind the first letter; e: to the end of the word
    ask(p, "\x1bk", "Heard")                     # the history, in command mode; Enter sends from there
    ask(p, "three\x1bhi\x1b\r", "Heard")         # Alt-Enter
    ask(p, "abc\x1b[D\x7f", "Heard")            # an arrow is no ESC
    p.send("lost\x1bx\x03")                     # Ctrl-C in command mode
    p.expect("\\^C\r\n")
    p.expect("> ")
    leave(p)


def test_the_users_bindings_stay(bare, serve):
    serve(bare, [said("first"), said("second"), said("first"), said("one\\")])
    inputrc(bare, '"\\e[A": history-search-backward\n$if sandpiper\n"\\C-o": accept-line\n$endif\n"\\C-xz": "one"\n')
    p = start(bare)
    ask(p, "first", "Heard")
    ask(p, "second", "Heard")
    ask(p, "fi\x1b[A", "Heard")
    p.send("\x18z\\\x0f")                       # a key of their own sends even this
    p.expect("Heard")
    p.expect("> ")
    leave(p)


@pytest.mark.parametrize("locale", [{"LANG": "C", "LC_ALL": "C"}, {"LANG": None, "LC_ALL": None}, {"LANG": "xx_YY.UTF-8"}])
def test_any_locale_takes_utf8(bare, serve, locale):
    serve(bare, [said("caf\u00e9 \u4e2d"), said("cafe \u4e2d")])
    p = start(bare, env=locale)
    ask(p, "caf\u00e9 \u4e2d", "Heard")
    ask(p, "caf\u00e9\x7fe \u4e2d", "Heard")               # one Backspace takes a whole character
    leave(p)


def test_empty_lines_ask_nothing(bare, serve):
    serve(bare, [said("x")])
    p = start(bare)
    for _ in range(3):
        p.send("  \r")
        p.expect("> ")
    ask(p, "x", "Heard")
    leave(p)


@pytest.mark.slow(3)
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


def test_a_paste_is_one_message(bare, serve):
    serve(bare, [said("look:\nline 1\n/exit\n!rm\nline 4 thanks")])
    p = start(bare)
    p.send("look:\\\r")
    p.expect("look:")
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


def test_a_paste_is_put_by_for_another_question(bare, serve):
    """Ctrl-U takes the line away with its mark, and Ctrl-Y brings both back: after another line, or Ctrl-C."""
    text = "".join("line %d\n" % i for i in range(30))
    other = text.replace("line", "row")
    serve(bare, [said("hello"), said("one %s, two %s" % (other.rstrip("\n"), text.rstrip("\n")))])
    p = start(bare)
    p.send("two " + paste(text))
    p.expect("\\[paste 1: ")
    p.send("\x15")
    ask(p, "hello", "Heard")
    p.send("x\x03")
    p.expect("> ")
    p.send("one " + paste(other))
    p.expect("\\[paste 2: ")
    ask(p, ", \x19", "Heard")
    leave(p)


def waits(pid):
    """Is the chat waiting for the next byte? Until then, what comes was typed ahead, and each of its lines is a message."""
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rpartition(")")[2].split()[0] == "S"


def test_a_paste_without_marks(bare, serve):
    """A terminal that knows no bracketed paste: what comes at once is one text, which Enter sends. It is less than a pseudo-terminal holds: on a
    busy machine the test itself might pause between two parts, and a pause ends such a paste."""
    text = "".join("line %d\n" % i for i in range(400))
    serve(bare, [said("what is\n" + text.rstrip("\n") + "?")])
    p = start(bare, env={"TERM": "dumb"})
    p.send("what is\\\r")
    p.expect("what is")
    wait_for(lambda: waits(p.pid))
    os.set_blocking(p.child_fd, True)
    os.write(p.child_fd, text.replace("\n", "\r").encode())
    p.expect("\\[paste 1: 400 lines, 3.5 kB\\]")
    ask(p, "?", "Heard")
    leave(p)


def test_a_paste_whose_end_never_comes(bare, serve):
    serve(bare, [said("half a paste and more")])
    p = start(bare)
    p.send("\x1b[200~half a paste")
    p.expect("half a paste")
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


@pytest.mark.slow(10)
def test_a_paste_over_the_limit(bare, serve):
    serve(bare, [{"expect": {"last": {"content": {"regex": "^y+$"}}}, "answer": {"text": "Heard."}}])
    p = start(bare)
    data = paste("y" * (1024 * 1024 + 5000))
    for i in range(0, len(data), 4000):
        p.send(data[i:i + 4000])
    p.expect("the paste was cut off at 1 MiB")
    ask(p, "", "Heard")
    leave(p)


def test_typed_ahead(bare, serve):
    """What is typed during an answer is the next line, not lost and not mixed into the answer."""
    serve(bare, [{"answer": {"text": "slow answer", "wait": 1}}, said("typed ahead")])
    p = start(bare)
    p.send("go\r")
    time.sleep(0.5)
    p.send("typed ahead")
    p.expect("typed ahead")
    p.send("\r")                                # by itself: together with text it would be the end of a pasted line
    p.expect("slow answer")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_half_a_line_typed_ahead_is_there(bare, serve):
    server = serve(bare, [{"answer": {"text": "slow answer", "wait": 1}}, said("half a line")])
    p = start(bare)
    p.send("go\r")
    server.wait_request(1)
    p.send("half a")
    p.expect("slow answer")
    p.expect("> half a")
    ask(p, " line", "Heard")
    leave(p)


# ------------------------------------------------------------------------------------------------------------- another editor

def test_ctrl_x_ctrl_e(bare, serve):
    """The line in an editor of one's own, and back into the line; nothing of it is left on disk."""
    serve(bare, [said("one\ntwo\nthree")])
    path = editor(bare, 'stat -c "mode %a" "$2"; stty -a | grep -o " icanon"; cp "$2" seen; printf "one\\ntwo\\nthr\\033[2Jee\\n\\n" > "$2"; echo "$1 $2"\n')
    p = start(bare, env={"EDITOR": "no-such", "VISUAL": path + "  -f"})
    p.send("on\x18\x05")
    p.expect("mode 600\r\n")
    p.expect(" icanon")
    p.expect("-f (/[^\r]*/sandpiper/edit-[^/]*/text\\.md)\r\n")
    kept = p.match.group(1)
    p.expect("> one\r\n[^\n]*two\r\n[^\n]*three")
    assert open(bare.path("work/seen")).read() == "on\n" and not os.path.exists(os.path.dirname(kept))
    ask(p, "", "Heard")
    leave(p)


def test_the_line_comes_back_where_it_was(bare, serve):
    """It is drawn once more in its old place, without the prompt of before."""
    serve(bare, [])
    p = start(bare, env={"EDITOR": editor(bare, "true")}, size=(30, 80))
    p.logfile_read = io.StringIO()
    p.send("one\x1b\rtwo\x18\x05")
    p.expect("\\?2004l")
    p.expect("> one\r\n[^\n]*two")
    screen = pyte.Screen(80, 30)
    pyte.Stream(screen).feed("> " + p.logfile_read.getvalue())
    assert "\n".join(line.rstrip() for line in screen.display).strip() == "> one\ntwo"
    p.send("\x03\x04")
    p.expect(pexpect.EOF)


@pytest.mark.parametrize("how, told", [
    ("exit 3", "ed failed \\(exit code 3\\); the text is unchanged"),
    ("kill -9 $$", "ed failed \\(killed by SIGKILL\\); the text is unchanged"),
    ("kill -2 $PPID; sleep 0.2; true", None),           # Ctrl-C there is not for us
    ("true", None),
    (None, "cannot start no-such-editor: not found in PATH\r\n *Set VISUAL or EDITOR to the editor of your choice\\."),
])
def test_an_editor_that_fails(bare, serve, how, told):
    serve(bare, [said("kept line")])
    p = start(bare, env={"EDITOR": editor(bare, how) if how else "no-such-editor", "VISUAL": None}, size=(30, 200))
    p.send("kept\x18\x05")
    if told:
        p.expect(told)
    p.expect("> kept")
    ask(p, " line", "Heard")
    leave(p)


def test_no_editor_at_all(bare, serve):
    serve(bare, [])
    p = start(bare, env={"PATH": "/nonexistent", "EDITOR": " ", "VISUAL": "", "SANDPIPER_SANDBOX": "auto"}, size=(30, 200))
    p.send("x\x18\x05")
    p.expect("no editor was found\r\n *Set VISUAL or EDITOR")
    p.expect("> x")
    p.send("\x15\x04")
    p.expect(pexpect.EOF)


def test_an_editor_is_stopped_with_us(bare, serve):
    """Ctrl-Z there is the shell's business; fg goes on with both."""
    serve(bare, [said("kept line")])
    path = editor(bare, "echo editing; kill -TSTP 0; echo again; printf 'kept line' > \"$1\"\n")
    p = start_in_shell(bare, EDITOR=path)
    p.send("kept\x18\x05")
    p.expect("editing")
    p.expect("Stopped")
    p.expect("shell# ")
    p.send("fg\r")
    p.expect("again")
    p.expect("> kept line")
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave_shell(p)


def test_sigterm_ends_the_editor_too(bare, serve):
    serve(bare, [])
    p = start(bare, env={"EDITOR": editor(bare, "echo editing $$; exec sleep 100\n")})
    p.send("x\x18\x05")
    p.expect("editing")
    p.kill(signal.SIGTERM)
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == 143


def test_a_killed_program_leaves_no_text(bare, serve):
    """What it was editing stays while the editor lives, then the next gc removes it, copies of the editor's own too."""
    serve(bare, [])
    p = start(bare, env={"EDITOR": editor(bare, "trap '' HUP; cp \"$1\" \"$1~\"; echo \"editing $$ $1\"; exec sleep 100\n")})
    p.send("secret\x18\x05")
    p.expect("editing ([0-9]+) (/[^\r]*)\r\n")
    pid, path = int(p.match.group(1)), p.match.group(2)
    p.kill(signal.SIGKILL)
    p.wait()
    r = bare.run("gc", env={"SANDPIPER_SANDBOX": "bwrap"})
    assert r.code == 0 and r.out == "nothing to remove\n" and open(path).read() == open(path + "~").read() == "secret\n", r
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    r = bare.run("gc", env={"SANDPIPER_SANDBOX": "bwrap"})
    assert r.code == 0 and r.out == "removed 1 unfinished draft of killed programs\n" and not os.path.exists(os.path.dirname(path)), r


# ------------------------------------------------------------------------------------------------------------------- history

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


def long_history(bare, last=""):
    """One of over 16 MiB; returns its path."""
    path = bare.path("state/sandpiper/history")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.writelines("%d %s\n" % (i, "x" * 60000) for i in range(290))
        f.write(last)
    return path


def test_a_history_of_many_pastes(bare, serve):
    """Past 16 MiB its beginning goes, and not all of it."""
    serve(bare, [])
    path = long_history(bare, "the last one\n")
    p = start(bare)
    assert "history" not in p.before
    p.send("\x1b[A")
    p.expect("the last one")
    p.send("\x03")
    p.expect("> ")
    leave(p)
    kept = open(path).read().splitlines()
    assert os.path.getsize(path) <= 16 << 20 and kept[-1] == "the last one"
    assert [len(line.split()[-1]) for line in kept[:-1]] == [60000] * (len(kept) - 1) and len(kept) > 270


def test_a_history_that_grows_while_it_is_shortened(bare, serve):
    """What another chat appends to the old file before the new one takes its place is in the new one too."""
    serve(bare, [])
    path = long_history(bare)
    os.chmod(path, 0o600)
    added = []
    with open(path, "a") as f:
        p = bare.chat(env=PLAIN)
        while True:
            f.write("other %d\n" % len(added))
            f.flush()
            if os.stat(path).st_ino != os.fstat(f.fileno()).st_ino:
                break
            added.append("other %d" % len(added))
            time.sleep(0.0002)
    p.expect("> ")
    leave(p)
    kept = [line for line in open(path).read().splitlines() if line.startswith("other")]
    assert kept[:len(added)] == added, (len(kept), len(added))


def test_completion_of_commands(bare, serve):
    serve(bare, [said("tab\tnothing")], complete=False)
    p = start(bare)
    p.send("/sys\t")
    p.expect("/system ")
    p.send("\x15\r")
    leave(p)


@pytest.mark.slow(3)
@pytest.mark.parametrize("typed, completed", [
    ("/put two", "/put two\\\\ words\\.csv "),          # a name with blanks is escaped,
    ("/put \"two", "/put \"two words\\.csv\" "),         # or goes on in quotes,
    ("/put 'two", "/put 'two words\\.csv' "),
    ("/put two\\ w", "/put two\\\\ words\\.csv "),     # and what is escaped already is found
    ("/put it", "/put it\\\\'s\\.csv "),
    ("/put fol", "/put folder/"),
    ("/run pro", "/run program\\.py "),
    ("/export ip", "/export ipynb "),
    ("/export pro", "/export program\\.py "),
    ("what's in @two", "what's in @two\\\\ words\\.csv "),
    ("@folder/in", "@folder/inside "),
    ("the second line \"of @pro", "the second line \"of @program\\.py "),
])
def test_completion_of_files(bare, serve, typed, completed):
    serve(bare, [])
    for name in ("two words.csv", "it's.csv", "program.py"):
        bare.write(name, "x")
    os.makedirs(bare.path("work/folder"))
    bare.write("folder/inside", "x")
    p = start(bare, size=(30, 120))
    p.send(typed + "\t")
    p.expect(completed)
    p.send("\x15\r")
    leave(p)


@pytest.mark.parametrize("typed", ["two", "mail@two", "!x @two", "/put a two", "/system @two", "/get x y two"])
def test_where_no_file_is_completed(bare, serve, typed):
    serve(bare, [said(typed + "?")] if typed[0] not in "/!" else [])
    bare.write("two words.csv", "x")
    p = start(bare, size=(30, 120))
    p.send(typed + "\t?")
    p.expect(re.escape(typed) + "\x07?\\?")
    p.send("\r" if typed[0] not in "/!" else "\x15\r")
    p.expect("> ")
    leave(p)


@pytest.mark.slow(3)
def test_put_reads_what_completion_wrote(sandpiper, serve):
    """Escaped, in quotes, or as it is: one file."""
    serve(sandpiper, [{"expect": {"last": {"content": {"contains": "two words.csv"}}}, "answer": {"text": "Heard."}}] * 3)
    sandpiper.write("two words.csv", "a,b\n1,2\n")
    p = start(sandpiper, size=(30, 120))
    for typed in ("two\t", "\"two\t", "two words.csv"):
        p.send("/put " + typed + "\r")
        p.expect("words[^\r]*\r\n")
        p.expect("> ")
        ask(p, "what is in it?", "Heard")
    leave(p)


@pytest.mark.slow(5)
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
    p.expect("sandpiper: [^\r\n]*\r\n")
    p.expect("> half a ")                       # the line is there again, below the news
    p.send("line\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


UP, DOWN = "\x1b[A", "\x1b[B"


@pytest.mark.parametrize("mode", ["emacs", "vi"])
def test_arrows_move_inside_lines_and_then_into_the_history(bare, serve, mode):
    serve(bare, [said("first"), said("on!e\ntw?o"), said("first"), said("on!e\ntw?o"), said("\u00e4b+\n\u4e2dc"), said("1\n2\n3*")])
    inputrc(bare, "set editing-mode %s\n" % mode)
    p = start(bare)
    ask(p, "first", "Heard")
    ask(p, "one\x1b\rtwo\x1b[D" + UP + "!" + DOWN + "\x1b[D?", "Heard")   # column 2, then behind the "!"
    ask(p, UP * 3, "Heard")                                               # its second line, its first, and what was asked before
    ask(p, UP * 2 + UP + DOWN, "Heard")                                   # into the history and back
    ask(p, "\u00e4b\x1b\r\u4e2dc\x1b[D" + UP + "+", "Heard")               # columns, not characters
    ask(p, "1\x1b\r2\x1b\r3" + UP * 2 + DOWN * 2 + "*", "Heard")
    leave(p)


def test_a_paste_comes_back_as_its_placeholder(bare, serve):
    """And is sent again whole; in a later chat too, where its text was kept on disk."""
    text = "".join("line %d\n" % i for i in range(60)) + "end"
    whole = "look: " + text + " well?"
    serve(bare, [said(whole), said("other"), said(whole + " and?"), said(whole + " and?")])
    p = start(bare)
    p.send("look: " + paste(text))
    p.expect(re.escape("[paste 1: 61 lines,"))
    ask(p, " well?", "Heard")
    ask(p, "other", "Heard")
    p.send(UP * 2)
    p.expect(r"look: \[paste 1: 61 lines, [^\]]*\] well\?")
    ask(p, " and?", "Heard")
    assert "line 7" not in p.before
    leave(p)
    p = start(bare)
    p.send(UP)
    p.expect(re.escape("[paste 1: 61 lines,"))
    ask(p, "", "Heard")
    leave(p)


def test_escape_twice_edits_the_last_question(bare, serve):
    """Its answer goes when the edited question is sent, and stays if nothing is."""
    server = serve(bare, [said("one")] + [said("too"), said("two"), said("two more"), said("three")])
    p = start(bare)
    p.send("\x1b\x1b")
    p.expect("Nothing to edit: no question was asked yet\\.")
    p.expect("> ")
    ask(p, "one", "Heard")
    ask(p, "too", "Heard")
    p.send("\x1b")
    time.sleep(0.2)
    p.send("\x1b")
    p.expect("Editing the last question: its answer is removed when you send it\\.")
    p.expect(AT_PROMPT + "too")
    ask(p, "\x7f\x7fwo", "Heard")
    assert [m["content"] for m in server.bodies()[-1]["messages"] if m["role"] == "user"] == ["one", "two"]
    p.send("\x1b\x1b")
    p.expect(AT_PROMPT + "two")
    p.send("\x03")                              # not sent
    p.expect("> ")
    ask(p, "two more", "Heard")
    assert [m["content"] for m in server.bodies()[-1]["messages"] if m["role"] == "user"] == ["one", "two", "two more"]
    p.send("\x1b\x1b")
    p.expect(AT_PROMPT + "two more")
    p.send("\x15")
    ask(p, "/raw", "Heard")                     # a command is no question
    ask(p, "three", "Heard")
    assert [m["content"] for m in server.bodies()[-1]["messages"] if m["role"] == "user"] == ["one", "two", "two more", "three"]
    leave(p)
