"""test_status_line.py - what the status line of a chat writes while something is waited for, byte by byte."""
import re
import time

import pexpect
import pyte
import pytest

from chat_keys import AT_PROMPT, leave, start


def written(p, seconds):
    """What it writes in that time."""
    text, end = "", time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            text += p.read_nonblocking(4096, timeout=0.05)
        except pexpect.TIMEOUT:
            pass
    return text


def wait_for(program, serve, *args, env=None):
    serve(program, [{"answer": {"text": "never", "wait": 30}}], complete=False)
    p = start(program, *args, env=env or {})
    p.send("go\r")
    p.expect("Waiting for test-model")
    return p


@pytest.mark.slow(4)
def test_only_what_changed_is_written(bare, serve):
    """The whole line once a second at most, and between those the one character that turns."""
    p = wait_for(bare, serve)
    text = written(p, 3)
    assert text.count("Waiting for") <= 4 and len(re.findall("\r[-\\\\|/](?! Waiting)", text)) >= 8, repr(text)
    screen = pyte.Screen(100, 30)
    pyte.Stream(screen).feed("| Waiting for test-model" + text)
    assert re.fullmatch(r"[-\\|/] Waiting for test-model\.\.\. \d s \(Ctrl-C stops\)", screen.display[0].rstrip()), screen.display
    p.send("\x03")
    p.expect("Stopped")
    p.expect("> ")
    leave(p)


@pytest.mark.slow(4)
@pytest.mark.parametrize("args, env", [([], {"ACCESSIBLE": "1"}), (["--plain"], {})])
def test_once_a_second_where_somebody_listens(bare, serve, args, env):
    p = wait_for(bare, serve, *args, env=env)
    text = written(p, 3)
    assert 2 <= len(re.findall("\r[-\\\\|/]", text)) <= 4, repr(text)
    p.send("\x03")
    p.expect("Stopped")
    p.expect("> ")
    leave(p)


@pytest.mark.slow(13)
@pytest.mark.parametrize("off, env, rings", [(None, {}, "\a"), (None, {"TERM": "xterm-kitty"}, "\a\x1b]9;sandpiper: done\x1b\\"), ("notify: off\n", {"TERM": "xterm-kitty"}, "")],
                         ids=["bell", "notice", "off"])
def test_the_bell_after_long_work(bare, serve, off, env, rings):
    serve(bare, [{"answer": {"text": "Soon."}}, {"answer": {"text": "Late.", "wait": 10.5}}])
    if off:
        bare.configure(off)
    p = start(bare, env=env)
    p.send("go\r")
    p.expect("Soon\\.")
    p.expect(AT_PROMPT)
    assert "\a" not in p.before, p.before
    p.send("go\r")
    p.expect("Late\\.")
    p.expect(AT_PROMPT)
    assert ("]9;" in p.before) == ("]9;" in rings) and p.before.count("\a") == len(rings[:1]) and rings in p.before, repr(p.before)
    leave(p)
