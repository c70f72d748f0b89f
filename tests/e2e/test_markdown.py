"""test_markdown.py - answers at a terminal: the corpus of tests/markdown on real screens, what is left alone, /raw and /copy.

The screens are kept in tests/markdown/screens, one file a width; SANDPIPER_TEST_SCREENS=write writes them anew, to be looked at."""
import base64
import glob
import os
import re

import pytest

from chat_keys import AT_PROMPT, ask, leave, start
from program import TREE

pyte = pytest.importorskip("pyte")

CORPUS = sorted(glob.glob(os.path.join(TREE, "tests", "markdown", "*.md")))
MARKS = (("bold", "*"), ("italics", "/"), ("underscore", "_"), ("strikethrough", "~"))


def answer_of(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def row(screen, y):
    """A line of the screen; below it, where there is any, its styles: a letter a cell."""
    cells = [screen.buffer[y][x] for x in range(screen.columns)]
    text = "".join(c.data for c in cells).rstrip()
    style = "".join(next((mark for name, mark in MARKS if getattr(c, name)), "." if c.fg == "default" else "c") if c.data.strip() else " " for c in cells)
    return [text] + (["    " + style.rstrip()] if style.strip(" .") else [])


def screen_of(shown, width):
    """What shown looks like on a terminal of that width."""
    screen = pyte.Screen(width, 200)
    # pyte draws the parts of an emoji one by one and drops joiners, with the rest of the line: what is joined is left out
    pyte.Stream(screen).feed(re.sub("\u200d[\u2190-\u2bff\U0001f000-\U0001faff]|[\U0001f3fb-\U0001f3ff]|[\u200c\u200d]", "", shown))
    last = max((y for y in range(200) if any(screen.buffer[y][x].data.strip() for x in range(width))), default=-1)
    return [line for y in range(last + 1) for line in row(screen, y)]


@pytest.mark.slow(10)
@pytest.mark.parametrize("width", [40, 80, 100])
def test_the_corpus(bare, serve, width):
    serve(bare, [{"answer": {"text": answer_of(path), "piece": 7}} for path in CORPUS])
    at_prompt = "\\?2004h\x1b\\[1m>\x1b\\[0m "
    p = bare.chat("--quiet", "--dialect", "native", size=(50, width))
    p.expect(at_prompt)
    screens = []
    for path in CORPUS:
        p.send("go\r")
        p.expect(at_prompt)
        shown = p.before[p.before.index("\n") + 1:]
        shown = re.sub(r"\x1b\[\?2004[hl]", "", shown)
        screens += ["==== %s" % os.path.basename(path)] + screen_of(shown, width)
    leave(p)
    kept = os.path.join(TREE, "tests", "markdown", "screens", "%d.txt" % width)
    now = "\n".join(screens) + "\n"
    if os.environ.get("SANDPIPER_TEST_SCREENS") == "write":
        with open(kept, "w", encoding="utf-8") as f:
            f.write(now)
    with open(kept, encoding="utf-8") as f:
        assert now == f.read()


ANSWER = "# Title\n\n- **bold** and $\\sigma$\n"


@pytest.mark.parametrize("args, env", [(["--plain"], {}), ([], {"TERM": "dumb"}), ([], {"SANDPIPER_RENDER": "plain"})])
def test_left_as_it_is(bare, serve, args, env):
    serve(bare, [{"answer": {"text": ANSWER}}])
    p = start(bare, *args, env=env)
    p.send("go\r")
    p.expect(re.escape(ANSWER.replace("\n", "\r\n")))
    leave(p)


def test_a_pipe_gets_the_bytes(bare, serve):
    serve(bare, [{"answer": {"text": ANSWER}}])
    assert bare.run("go").out == ANSWER
    r = bare.run("--config", bare.write("mine.yaml", "render: pretty\n"), "go")
    assert r.code == 2 and "mine.yaml:1: render: expected one of auto|plain" in r.err, r


def test_no_color_keeps_the_layout(bare, serve):
    serve(bare, [{"answer": {"text": ANSWER}}])
    p = start(bare, env={"NO_COLOR": "1"})
    p.send("go\r")
    p.expect("# Title\r\n\r\n• bold and σ\r\n")
    leave(p)


@pytest.mark.parametrize("env, shown", [({}, "\x1b]8;id=s1;https://example.org\x1b\\docs\x1b]8;;\x1b\\."), ({"TMUX": "/x"}, "docs (https://example.org).")])
def test_links_where_the_terminal_has_them(bare, serve, env, shown):
    serve(bare, [{"answer": {"text": "See [docs](https://example.org)."}}])
    p = start(bare, env=dict({"TERM": "xterm-kitty"}, **env))
    p.send("go\r")
    p.expect(re.escape("See " + shown))
    leave(p)


def test_ctrl_c_in_a_table_shows_what_had_come(bare, serve):
    serve(bare, [{"answer": {"text": "One.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |", "piece": 4, "stall_after": 14}}])
    p = start(bare)
    p.send("go\r")
    p.expect("One\\.\r\n")
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect(AT_PROMPT)
    leave(p)


def test_a_resize_in_the_middle_of_an_answer(bare, serve):
    """What comes after it is laid out for the new width: words whole, tables fitted."""
    words = "The quick brown fox jumps over the lazy dog while the model explains at length. " * 4
    text = "%s\n\n%s\n\n| Name | What it is |\n|---|---|\n| one | %s |\n" % (words, words, words)
    server = serve(bare, [{"answer": {"text": text, "piece": 40, "stall_after": 12}}])
    p = start(bare, size=(30, 100))
    p.send("go\r")
    p.expect("explains(?s:.)*explains")
    p.setwinsize(30, 44)
    server.going.set()
    p.expect(re.escape("Name"))
    later = re.sub("\x1b\\[[0-9;?]*[A-Za-z]|\r", "", p.before).split("\n")[-6:]     # the first lines may have been drawn before
    p.expect(AT_PROMPT)
    table = [line for line in re.sub("\x1b\\[[0-9;?]*[A-Za-z]|\r", "", "Name" + p.before).split("\n") if "│" in line or "─" in line]
    assert len(later) == 6 and all(len(line) <= 44 and set(line.split()) <= set(words.split()) for line in later), later
    assert len(table) > 5 and all(len(line) <= 44 for line in table), table
    leave(p)


@pytest.mark.slow(3)
def test_raw_and_copy(bare, serve):
    text = "The *answer*:\n\n```\nx = 1\n```\n"
    serve(bare, [{"answer": {"text": text}}, {"answer": {"text": "x" * 80000}}])
    p = start(bare, env={"TERM": "xterm-kitty"}, size=(30, 200), timeout=10)
    ask(p, "/copy", "No answer yet\\.")
    ask(p, "/copy all", "/copy: expected code, or nothing for the answer, found \"all\"")
    ask(p, "go", "x = 1")
    ask(p, "/raw", re.escape(text.strip().replace("\n", "\r\n")))
    ask(p, "/copy", re.escape("\x1b]52;c;%s\x1b\\" % base64.b64encode(text.strip().encode()).decode()) + "sandpiper: [^\r]*answer to the clipboard: 28 bytes\\.")
    ask(p, "/copy code", re.escape("\x1b]52;c;%s\x1b\\" % base64.b64encode(b"x = 1").decode()))
    ask(p, "more", "xxx")
    ask(p, "/copy", "80,000 bytes; a terminal's clipboard takes at most 74,994\\. /raw prints it\\.")
    leave(p)


def test_copy_through_tmux_and_where_there_is_no_clipboard(bare, serve):
    serve(bare, [{"answer": {"text": "hi"}}] * 2)
    p = start(bare, env={"TMUX": "/x"}, size=(30, 200))
    ask(p, "go", "hi")
    ask(p, "/copy", re.escape("\x1bPtmux;\x1b\x1b]52;c;aGk=\x1b\x1b\\\x1b\\"))
    leave(p)
    p = start(bare, env={"TERM": "linux"}, size=(30, 200))
    ask(p, "go", "hi")
    ask(p, "/copy", "no clipboard that programs can reach")
    leave(p)
