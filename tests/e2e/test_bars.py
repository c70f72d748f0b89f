"""test_bars.py - a line that code overwrites with \\r: one line that changes at a terminal; in a pipe and to the model only its last state."""
import re

import pexpect

from test_signs import PLAIN, shown

BAR = """import sys, time
for i in range(5):
    sys.stdout.write("\\r%3d%%|%s" % (25 * i, "#" * i))
    sys.stdout.flush()
    time.sleep(0.1)
sys.stdout.write("\\n")
print("ready")
"""


def test_in_a_pipe_and_to_the_model(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": BAR}]}}, {"expect": {"last": {"content": "100%|####\nready"}}, "answer": {"text": "Done."}}])
    r = sandpiper.run("go")
    assert r.out == "Done.\n" and " 75%" not in r.err and "| 100%|####\n| ready\n" in r.err, r


def test_at_a_terminal(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": BAR}]}}, {"answer": {"text": "Done."}}])
    p = sandpiper.chat("-p", "go", env=PLAIN)
    for state in ("  0%|", " 25%|#", " 50%|##", " 75%|###", "100%|####"):
        p.expect(re.escape("| " + state))
    so_far = p.before and "| 100%|####"
    p.expect(pexpect.EOF)
    lines = shown(so_far + p.before)
    assert lines[:4] == ["| 100%|####", "| ready", "", "Done."], lines


def test_the_whole_screen_at_the_end(sandpiper, serve):
    """One line of it is left, whatever its states were; one that is wider than the screen is cut, not wrapped."""
    code = BAR.replace("#", "=" * 30) + "sys.stdout.write('\\rgone\\rkept')\n"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}])
    p = sandpiper.chat("-p", "go", env=PLAIN, size=(40, 60))
    p.expect(pexpect.EOF)
    out = [line for line in shown(p.before) if line.startswith("| ")]
    assert [line[:8] for line in out] == ["| 100%|=", "| ready", "| kept"] and all(len(line) <= 60 for line in out), out


def test_a_dumb_terminal_gets_the_last_state(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": BAR}]}}, {"answer": {"text": "Done."}}])
    p = sandpiper.chat("-p", "go", env={"TERM": "dumb"})
    p.expect(pexpect.EOF)
    assert p.before.count("#\r\n") == 1 and "| 100%|####\r\n| ready" in p.before, p.before


def test_a_long_bar_does_not_use_up_the_screen(sandpiper, serve):
    """Its states count for nothing: neither for the 200 lines nor for the 32 KiB that are shown."""
    code = "for i in range(20000):\n    print('\\r%d of 20000 %s' % (i, '.' * 40), end='', flush=i % 1000 == 0)\nprint()\nprint('after')"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"expect": {"last": {"content": "19999 of 20000 %s\nafter" % ("." * 40)}}, "answer": {"text": "Done."}}])
    p = sandpiper.chat("-p", "go", env=PLAIN)
    p.expect(pexpect.EOF)
    out = [line for line in shown(p.before) if line.startswith("| ")]
    assert out == ["| 19999 of 20000 " + "." * 40, "| after"], out


NESTED = """import sys, time
def put(text):
    sys.stdout.write(text)
    sys.stdout.flush()
for i in range(3):
    put("\\r%3d%%|outer" % (50 * i))
    for k in range(3):
        put("\\n\\r%3d%%|inner\\x1b[A" % (50 * k))
        time.sleep(0.05)
    put("\\n\\r          \\x1b[A")
put("\\n")
print("ready")
"""


def test_bars_below_each_other(sandpiper, serve):
    """As tqdm draws them, with the cursor up: both change in place, and the inner one goes."""
    exchanges = [{"answer": {"calls": [{"code": NESTED}]}}, {"expect": {"last": {"content": "100%|outer\nready"}}, "answer": {"text": "Done."}}]
    serve(sandpiper, exchanges)
    r = sandpiper.run("go")
    assert [line for line in r.err.split("\n") if line.startswith("| ")] == ["| 100%|outer", "| ready"], r
    serve(sandpiper, exchanges)
    p = sandpiper.chat("-p", "go", env=PLAIN)
    p.expect(re.escape("|   0%|outer") + "\r\n" + re.escape("| 100%|inner"))
    p.expect(re.escape("| 100%|outer"))
    p.expect(pexpect.EOF)
    assert shown("| 100%|outer" + p.before)[:4] == ["| 100%|outer", "| ready", "", "Done."], p.before
