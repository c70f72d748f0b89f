"""test_chat_screen.py - what stands on the screen of a chat, in a terminal that lays out anew what it shows when its window is resized (tmux)."""
import contextlib
import os
import re
import sqlite3
import time

import pytest

from tmux_terminal import Tmux, needs_tmux

pytestmark = needs_tmux
TYPED = "a line that is typed and that is quite a bit longer than the forty columns to come"
WIDTHS = (40, 30, 60, 100)


def dense(text):
    """Without blanks and line ends: the terminal breaks lines anywhere."""
    return re.sub(r"\s", "", text)


def check_widths(t):
    """At each width the line stands there once, behind all that stood before it."""
    for width in WIDTHS:
        t.resize(width)
        t.until(lambda text: dense(text).endswith("Ctrl-Dends.>" + dense(TYPED)), of=t.all)


def test_a_typed_line_when_the_window_is_resized(bare, serve, tmp_path):
    serve(bare, [])
    with Tmux(bare, tmp_path) as t:
        t.until("Ctrl-D ends.\n>")
        t.type(TYPED)
        t.until("come")
        check_widths(t)


def test_lines_that_are_typed_when_the_window_is_resized(bare, serve, tmp_path):
    serve(bare, [])
    with Tmux(bare, tmp_path) as t:
        t.until("Ctrl-D ends.\n>")
        t.type(TYPED[:45])
        t.keys("M-Enter")
        t.type(TYPED[45:])
        t.keys(*["Left"] * 50)
        t.until("columns to come")
        check_widths(t)


@pytest.mark.slow(5)
def test_the_status_line_when_the_window_is_resized(bare, serve, tmp_path):
    server = serve(bare, [{"answer": {"text": "Heard.", "stall_after": 0}}])
    with Tmux(bare, tmp_path) as t:
        t.until("Ctrl-D ends.\n>")
        t.type("go")
        t.keys("Enter")
        t.until("Waiting for test-model... ")
        for width in (40, 60, 30):
            t.resize(width)
            t.until(lambda text: re.search(r"[-\\|/] Waiting", text.split("\n")[-1]))
            assert sum("Waiting" in line for line in t.all()) <= 1, (width, t.all())       # it comes back after 0.3 s
        t.type("what I type meanwhile")
        t.until("meanwhile")
        for width in (60, 40):
            t.resize(width)
            t.until(lambda text: re.search("> .*meanwhile", text.split("\n")[-1]))
            assert not re.search("Waiting|meanwhile(?s:.)*meanwhile", "\n".join(t.all())), (width, t.all())
        t.resize(60)
        server.going.set()
        t.until("Heard.")
        assert not re.search("Waiting|meanwhile \\(", "\n".join(t.all())), t.all()


@pytest.mark.slow(5)
def test_a_progress_bar_when_the_window_is_resized(sandpiper, serve, tmp_path):
    code = ("import os, time\nfor i in range(1000):\n    print('\\rbar %s' % ('#' * 60), end='', flush=True)\n    time.sleep(0.05)\n"
            "    if os.path.exists('go'): break\nprint()\nprint('done')")
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Ended."}}], complete=False)
    with Tmux(sandpiper, tmp_path) as t:
        t.until("Ctrl-D ends.\n>")
        t.type("go")
        t.keys("Enter")
        t.until("| bar ###")
        for width in (50, 30, 90, 40):
            t.resize(width)
            t.until(lambda text: sum("###" in line for line in text.split("\n")) == 1 and "| bar " in text)
        t.keys("C-c")
        t.until("Stopped")
        assert sum("| bar" in line for line in t.all()) <= 1, t.all()


CODE = ("def f(values):\n    for value in values:\n        if value > 10:\n            print(value, round(value / 3, 2))\n            total_of_values = 3\n")


def test_code_keeps_its_indentation_in_a_narrow_window(sandpiper, serve, tmp_path):
    """At 20 columns each line begins where the code has it, in the code that runs and in the answer's; no empty line stands between."""
    serve(sandpiper, [{"answer": {"calls": [{"code": CODE}]}}, {"answer": {"text": "Look:\n\n```python\n%s```\n" % CODE}}])
    with Tmux(sandpiper, tmp_path, size=(60, 20)) as t:
        t.until("ends.\n>")
        t.type("go")
        t.keys("Enter")
        lines = t.until("[1 run")
    shown = lines[lines.index("> go") + 2:]
    cell, answer = shown[:shown.index("")], shown[shown.index("Look:") + 2:-1]
    answer = answer[:next(i for i, line in enumerate(answer) if line.startswith("["))]
    for part, begin in ((cell, r"  \d  "), (answer, "  ")):
        starts = [re.match(begin + r"( *)(def|for|if|pri|tot)", line) for line in part]
        assert [(m.group(1).count(" "), m.group(2)) for m in starts if m] == [(0, "def"), (4, "for"), (8, "if"), (12, "pri"), (12, "tot")], part
        assert "" not in part and all(len(line) <= 20 for line in part), part
        assert dense("".join(re.sub("^  [0-9]  ", "", line) for line in part)) == dense(CODE), part


FIRST = "This sentence of the answer is streamed word by word and takes a while until it has come to its end, at which other news may be told."
SECOND = "Another paragraph follows."


def has_open(t, path):
    """Does the program in that terminal still use the file?"""
    pid = int(t.run("display-message", "-p", "#{pane_pid}"))
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(OSError):      # closed meanwhile
            if os.readlink("/proc/%d/fd/%s" % (pid, fd)) == path:
                return True
    return False


@pytest.mark.parametrize("args", [[], ["--plain"]])
def test_news_waits_for_the_end_of_a_line_of_the_answer(bare, serve, tmp_path, args):
    """In the middle of a sentence a session can no longer be saved, which is told at its end; and with -v the tokens are told."""
    path = os.path.realpath(bare.path("state/sandpiper/store/sessions.db"))

    def spoil():
        t.until("This sentence")
        assert has_open(t, path)
        with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
            db.execute("DROP TABLE piece")

    def wait_until_told():
        while has_open(t, path):
            time.sleep(0.02)

    serve(bare, [{"answer": {"text": FIRST + "\n\n" + SECOND, "piece": 6, "before": {5: spoil, 15: wait_until_told}}}])
    with Tmux(bare, tmp_path, "-v", *args) as t:
        t.until("\n>")
        t.type("go")
        t.keys("Enter")
        t.until("[no code ran")
        shown = dense("".join(t.all()))
    news = r"sandpiper:\S*sessions\.dbis\S*isnotsaved"
    assert re.search(re.escape(dense(FIRST)) + news + re.escape(dense(SECOND)) + "sandpiper:20tokensin", shown), shown
