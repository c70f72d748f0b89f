"""test_figures.py - figures in terminals that answer in every way: what is drawn, what is asked, and that no reply is ever taken for something typed."""
import base64
import os
import re
import shutil
import time
from urllib.parse import unquote

import pyte
import pytest

from conftest import BIN
from answering_terminal import (DARK, GARBAGE, ITERM2, KITTY, LIGHT, PLAIN, SILENT, SIXEL, AnsweringTerminal)
from program import HANG

PROMPT = "\x1b[?2004h"
# A file that is an image: its size and colour are known.
RED = "from PIL import Image\nImage.new('RGB', (%d, %d), (250, 20, 20)).save('%s')"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [3, 1, 2])\nplt.show()"
APC = re.compile(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\")
DRAWN = re.compile(rb"\x1b_Ga=T|\x1bP[0-9;]*q|\x1b\]1337;File|\xe2\x96|\x1b\[48;|\x1b\[7m|\x1b\[[0-9;]*(4|10)[0-7]m")


def script(code, question="plot", answer="Here."):
    return [{"expect": {"last": {"content": question}}, "answer": {"calls": [{"code": code}]}}, {"answer": {"text": answer}}]


def plotted(program, serve, replies, code=RED % (400, 300, "a.png"), **kw):
    """The bytes from the question to the answer, and the terminal, closed."""
    serve(program, script(code))
    t = AnsweringTerminal(program, replies, **kw)
    t.expect(PROMPT)
    t.send("plot\r")
    said = t.expect("Here.")
    t.expect(PROMPT)
    assert t.close() == 0
    return said, t


def screen(data, columns):
    s = pyte.Screen(columns, 400)
    pyte.ByteStream(s).feed(re.sub(rb"\x1b\][^\x07\x1b]*(\x07|\x1b\\)", b"", data))
    return [line.rstrip() for line in s.display]


def drawn_rows(data, columns):
    """The rows of the screen that have the figure's red on them."""
    s = pyte.Screen(columns, 400)
    pyte.ByteStream(s).feed(re.sub(rb"\x1b\][^\x07\x1b]*(\x07|\x1b\\)", b"", data))
    return [y for y in range(400) if any("fa1414" in (c.fg, c.bg) for c in s.buffer[y].values())]


def kitty_image(said):
    """The keys of the image that was sent, and its bytes."""
    parts = [p for p in APC.findall(said) if b"a=q" not in p[0]]
    assert all(len(p[1]) == 4096 for p in parts[:-1]) and len(parts[-1][1]) <= 4096, [len(p[1]) for p in parts]
    assert all(p[0].endswith(b"m=1") for p in parts[:-1]) and parts[-1][0].endswith(b"m=0")
    return dict(k.split(b"=") for k in parts[0][0].split(b",")), b"".join(base64.b64decode(p[1], validate=True) for p in parts)


@pytest.mark.parametrize("code", [RED % (400, 300, "a.png"), PLOT], ids=["saved", "open"])
def test_kitty(sandpiper, serve, code):
    """A PNG is sent as it is."""
    said, _ = plotted(sandpiper, serve, KITTY, code=code, size=(30, 100))
    keys, sent = kitty_image(said)
    assert keys[b"a"] == b"T" and keys[b"f"] == b"100" and b"s" not in keys
    with open(unquote(re.search(rb"\x1b\]8;;file://[^/]*([^\x1b]+)\x1b", said)[1].decode()), "rb") as f:
        assert sent == f.read()
    if code is not PLOT:
        assert int(keys[b"c"]) == 40 and int(keys[b"r"]) == 15        # 400 x 300 in cells of 10 x 20, as it is


@pytest.mark.parametrize("code", [RED % (400, 300, "a.jpg"), "import os\nfrom PIL import Image\n"
                                  "Image.frombytes('RGB', (900, 600), os.urandom(900 * 600 * 3)).save('a.png')",
                                  "from PIL import Image\nImage.new('1', (6000, 6000)).save('a.png')"], ids=["jpeg", "bytes", "pixels"])
def test_kitty_is_sent_pixels(sandpiper, serve, code):
    """Of what is no PNG, or of one that is too large to be sent whole."""
    said, _ = plotted(sandpiper, serve, KITTY, code=code, size=(30, 100))
    keys, sent = kitty_image(said)
    assert keys[b"f"] == b"24" and len(sent) == int(keys[b"s"]) * int(keys[b"v"]) * 3


@pytest.mark.slow(10)
def test_what_draws_is_gone_afterwards(sandpiper, serve):
    """With a session open and figures drawn the program is as small as the contract says; what drew them takes 4 MB."""
    serve(sandpiper, script(PLOT) + script(PLOT, question="again"))
    t = AnsweringTerminal(sandpiper, KITTY, size=(30, 100))
    t.expect(PROMPT)
    for question in ("plot", "again"):
        t.send(question + "\r")
        assert b"\x1b_Ga=T" in t.expect("Here.")
        t.expect(PROMPT)
    with open("/proc/%d/status" % t.p.pid) as f:
        resident = [int(line.split()[1]) for line in f if line.startswith("VmRSS")][0]
    with open("/proc/%d/maps" % t.p.pid) as f:
        assert "chafa" not in f.read()
    assert t.close() == 0
    assert resident < 18 << 10 or "asan" in BIN, "%d kB" % resident


def test_sixel(sandpiper, serve):
    said, _ = plotted(sandpiper, serve, SIXEL, code=RED % (1500, 1400, "a.png"), size=(60, 100))
    found = re.findall(rb'\x1bP[0-9;]*q"1;1;(\d+);(\d+)[^\x1b]*\x1b\\', said)
    assert len(found) == 1, said[:500]
    width, height = map(int, found[0])
    assert width <= 100 * 8 and 23 * 16 <= height <= 24 * 16


@pytest.mark.slow(3)
def test_iterm2(sandpiper, serve):
    said, _ = plotted(sandpiper, serve, ITERM2, size=(30, 100))
    found = re.search(rb"\x1b\]1337;File=inline=1;width=(\d+);height=(\d+)[^:]*:([^\x07]*)\x07", said)
    assert found and int(found[1]) == 40 and int(found[2]) == 15
    base64.b64decode(found[3], validate=True)


@pytest.mark.slow(3)
@pytest.mark.parametrize("size", [(24, 80), (60, 200), (15, 40), (12, 20)])
def test_blocks(sandpiper, serve, size):
    said, _ = plotted(sandpiper, serve, PLAIN, code=RED % (640, 480, "a.png"), size=size, env={"COLORTERM": "truecolor"})
    rows = drawn_rows(said, size[1])
    assert 4 <= len(rows) <= min(24, size[0] * 2 // 3)
    assert rows == list(range(rows[0], rows[0] + len(rows))), "a line was wrapped"
    if size[0] > 15:
        assert len(rows) == min(24, size[0] * 2 // 3)


@pytest.mark.slow(5)
@pytest.mark.parametrize("env,have,lack", [
    ({"COLORTERM": "truecolor"}, rb"\x1b\[[0-9;]*[34]8;2;", None),
    ({"TERM": "xterm-256color"}, rb"\x1b\[[0-9;]*[34]8;5;", rb"[34]8;2;"),
    ({"TERM": "xterm"}, rb"\x1b\[[0-9;]*(3[0-7]|4[0-7]|9[0-7]|10[0-7])m", rb"[34]8;[25];"),
    ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, rb"\xe2\x96", rb"\x1b\[[0-9;]*m")])
def test_colours(sandpiper, serve, env, have, lack):
    said, _ = plotted(sandpiper, serve, LIGHT, code=PLOT, env=env)
    said = said[said.index(b"plt.show()"):]
    assert re.search(have, said), said[-3000:]
    assert not lack or not re.search(lack, said), said[-3000:]


LABELLED = """import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 10, 100)
plt.plot(x, np.sin(x), label='the sine')
plt.plot(x, np.cos(x), label='the cosine')
plt.title('two waves'); plt.xlabel('seconds'); plt.ylabel('volts'); plt.legend(loc='upper right')
%s"""


@pytest.mark.slow(10)
@pytest.mark.parametrize("end", [        # how Python ends it is nothing to our memory, how large it is drawn may be
    pytest.param("plt.show()", id="open"), pytest.param("plt.savefig('a.png', dpi=150)", id="saved", marks=pytest.mark.no_asan),
    pytest.param("fig = plt.gcf(); fig.savefig('a.png'); plt.close(fig)", id="closed", marks=pytest.mark.no_asan)])
@pytest.mark.parametrize("size", [(24, 80), (30, 40), (40, 120)], ids=lambda size: "%dx%d" % size)
def test_texts_are_characters(sandpiper, serve, size, end):
    """Where a figure is drawn by characters its texts are words on the screen, in their places."""
    said, _ = plotted(sandpiper, serve, PLAIN, code=LABELLED % end, size=size, env={"COLORTERM": "truecolor"})
    lines = screen(said[said.rindex(b"savefig" if "savefig" in end else b"show()"):], size[1])
    last = max(y for y, line in enumerate(lines) if line.startswith(("saved:", "made:")))
    rows = lines[last - min(24, size[0] * 2 // 3):last]
    text = "\n".join(rows)
    for word in ("two waves", "seconds", "the sine", "the cosine"):
        assert word in text, text
    title, label = [next(line for line in rows if word in line) for word in ("two waves", "seconds")]
    assert rows.index(title) < 2 and rows.index(label) == len(rows) - 1
    assert abs((title.index("two waves") + 4.5) - (label.index("seconds") + 3.5)) <= 2                # both are centred over the axes
    assert "volts" in "".join(line[:1].strip() or line[1:2].strip() for line in rows if line[:2].strip()), text   # downwards, on the left
    ticks = [line for line in rows if re.search(r"\b0(\.0)? .* 10(\.0)?\b", line)]
    assert len(ticks) == 1 and rows.index(ticks[0]) < len(rows) - 1, text


SLOW = """
import matplotlib.artist, time
class Slow(matplotlib.artist.Artist):
    def draw(self, renderer): time.sleep(0.8)
plt.gcf().add_artist(Slow())
"""


@pytest.mark.slow(5)
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "linux"}, {"TERM": "xterm"}], ids=["no colour", "linux", "16"])
def test_texts_in_few_colours(sandpiper, serve, env):
    """On a machine that is busy with other work, too: here the figure waits twice while it is saved."""
    code = LABELLED % "" + (SLOW if "NO_COLOR" in env else "") + "plt.show()"
    said, _ = plotted(sandpiper, serve, PLAIN, code=code, size=(24, 80), env=env)
    text = "\n".join(screen(said[said.rindex(b"show()"):], 80))
    for word in ("two waves", "seconds", "the sine", "the cosine"):
        assert word in text, text


@pytest.mark.slow(20)
def test_the_background_reaches_the_figure(sandpiper, serve):
    """The file itself is made for it."""
    for replies, expected in ((DARK, (0x1e, 0x1e, 0x2e)), (LIGHT, (255, 255, 255)), (PLAIN, (255, 255, 255))):
        said, _ = plotted(sandpiper, serve, replies, code=PLOT)
        path = re.search(rb"saved: ([^\x1b ]*)", said)[1].decode()
        from PIL import Image
        with Image.open(path) as image:
            corner = image.convert("RGB").getpixel((0, 0))
        assert sum(abs(a - b) for a, b in zip(corner, expected)) < 60, (corner, expected)


@pytest.mark.slow(3)
@pytest.mark.parametrize("late", [0.3, 1.5])
@pytest.mark.parametrize("replies", [KITTY, SIXEL, GARBAGE], ids=["kitty", "sixel", "garbage"])
def test_late_replies_are_not_typed(sandpiper, serve, replies, late):
    """Some come while a line is typed, some while the question runs."""
    serve(sandpiper, script("import time\ntime.sleep(2)", question="plot it") + script("1 + 1", question="again"))
    t = AnsweringTerminal(sandpiper, replies, late=late)
    t.expect(PROMPT)
    t.send("plot")
    t.send(" it\r")
    t.expect("Here.")
    t.expect(PROMPT)
    t.send("again\r")
    t.expect("Here.")
    t.expect(PROMPT)
    assert t.close() == 0
    left = re.sub(rb"\x1b\[\?2004[hl]", b"", t.seen)
    for leak in (b"[?6", b"rgb:", b"i=31;", b"XTerm", b"ENOENT", b"[?44"):
        assert leak not in left, (leak, left)


@pytest.mark.parametrize("replies", [SILENT, GARBAGE], ids=["silent", "garbage"])
def test_no_sensible_reply(sandpiper, serve, replies):
    began = time.monotonic()
    said, t = plotted(sandpiper, serve, replies, env={"COLORTERM": "truecolor"})
    assert len(drawn_rows(said, 100)) == 24
    assert sorted(t.asked) == ["attributes", "background", "cell", "version"]         # once; about kitty's graphics only one that has them
    assert time.monotonic() - began < HANG


def test_leaving_at_once_leaves_no_reply_to_the_shell(bare, serve):
    serve(bare, [])
    t = AnsweringTerminal(bare, KITTY, late=0.2)
    t.expect(PROMPT)
    t.expect("\x1b[c")
    assert t.close() == 0
    assert b"[?62" not in t.seen and b"rgb:" not in t.seen


def test_typed_ahead(sandpiper, serve):
    """The question is in the terminal before it has answered, and the next one while the first runs."""
    serve(sandpiper, script(RED % (400, 300, "a.png")) + script("2", question="next"))
    t = AnsweringTerminal(sandpiper, KITTY, late=0.1)
    t.send("plot\rne")
    t.expect("import")
    t.send("xt")
    t.expect("xt")
    t.send("\r")
    while t.seen.count(b"Here.") < 2:
        t.expect("Here.")
    assert b"\x1b_Ga=T" in t.seen
    t.expect(PROMPT)
    assert t.close() == 0


@pytest.mark.parametrize("where", ["pipe", "dumb", "off", "quiet", "linux"])
def test_where_nothing_is_asked(sandpiper, serve, where):
    serve(sandpiper, script(RED % (400, 300, "a.png")))
    if where == "pipe":
        r = sandpiper.run("plot")
        assert r.code == 0 and not DRAWN.search((r.out + r.err).encode()) and "saved: /" in r.err
        return
    args = {"off": ["--figures", "off"], "quiet": ["-q"]}.get(where, [])
    t = AnsweringTerminal(sandpiper, KITTY, args=args, env={"TERM": {"dumb": "dumb", "linux": "linux"}.get(where, "xterm")})
    t.expect("> " if where == "dumb" else PROMPT)
    t.send("plot\r")
    said = t.expect("Here.")
    assert t.close() == 0
    assert t.asked == [] and b"\x1b_G" not in t.seen
    assert bool(DRAWN.search(said)) == (where == "linux") and (b"saved: " in said) == (where != "quiet")


@pytest.mark.parametrize("replies,late", [(KITTY, 0), (KITTY, 0.4), (SILENT, 0)], ids=["kitty", "late", "silent"])
def test_one_question(sandpiper, serve, replies, late):
    """The terminal is asked when there is something to draw, and echoes as before afterwards."""
    serve(sandpiper, script(RED % (400, 300, "a.png")))
    t = AnsweringTerminal(sandpiper, replies, args=["plot"], late=late, env={"COLORTERM": "truecolor"})
    t.expect("Here.")
    assert t.close(text=None) == 0 and t.echo
    assert t.asked.count("attributes") == (2 if "kitty" in t.asked else 1)
    assert (b"\x1b_Ga=T" in t.seen) == (replies is KITTY and not late)
    assert b"[?62" not in t.seen and b"rgb:" not in t.seen


def test_one_question_with_its_answer_elsewhere(sandpiper, serve):
    serve(sandpiper, script(RED % (400, 300, "a.png")))
    with open(os.path.join(sandpiper.work, "out"), "wb") as out:
        t = AnsweringTerminal(sandpiper, KITTY, args=["plot"], stdout=out)
        t.expect("saved: ")
        assert t.close(text=None) == 0
    assert t.asked == [] and not DRAWN.search(t.seen)
    assert open(os.path.join(sandpiper.work, "out"), "rb").read() == b"Here.\n"


def test_files_are_told_in_few_lines(sandpiper, serve):
    code = "for i in range(9):\n    open('f%d.txt' % i, 'w').write('x' * i)"
    said, t = plotted(sandpiper, serve, PLAIN, code=code, env={"HOME": sandpiper.path("state")}, size=(40, 200))
    lines = [x for x in screen(said, 200) if x.startswith("saved:")]
    assert len(lines) == 6
    assert re.fullmatch(r"saved: ~/sandpiper/sessions/[^ ]*/f0.txt \(0 bytes\)", lines[0])
    assert re.fullmatch(r"saved: 4 more in ~/sandpiper/sessions/[^ ]*", lines[5])


LONG = "quarterly results of all regions 2026.csv"


@pytest.mark.parametrize("replies,columns,name,shown", [
    (PLAIN, 80, "figure-1.png", r"~/\.local/state/sandpiper/sessions/[0-9a-f]{8}/files/figure-1\.png \(4\.1 kB\)"),
    (PLAIN, 80, LONG, r"~/\.local/state/sandpiper/sessions/[0-9a-f]{8}/files/" + LONG),                         # longer than the screen, to be copied
    (KITTY, 80, LONG, r"\u2026/sessions/[0-9a-f]{8}/files/" + LONG),
    (KITTY, 40, "figure-1.png", r"\u2026/[0-9a-f]{8}/files/figure-1\.png")], ids=["whole", "copied", "linked", "narrow"])
def test_a_path_is_one_line(sandpiper, serve, replies, columns, name, shown):
    """In the usual home a figure's path fits 80 columns. A longer one gives up its beginning where a link has all of it."""
    said, _ = plotted(sandpiper, serve, replies, code="open(%r, 'w').write('x' * 4096)" % name, size=(40, columns),
                      env={"HOME": sandpiper.path("home"), "XDG_STATE_HOME": None})
    line = re.search(rb"saved: ([^\r\n]*)", said)[1]
    text = re.sub(rb"\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[0-9;]*m", b"", line).decode()
    assert re.fullmatch(shown, text), text
    assert (replies, name) == (PLAIN, LONG) or len("saved: " + text) <= columns
    links = re.findall(rb"\x1b\]8;;file://[^/]*([^\x1b]+)\x1b\\", line)
    assert len(links) == (replies is KITTY)
    assert not links or os.path.exists(unquote(links[0].decode()))


@pytest.mark.slow(10)
@pytest.mark.parametrize("code", ["open('a.png', 'w').write('no image')", "open('a.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(3000))",
                                  "import os\nos.symlink('/etc/passwd', 'a.png')",
                                  "from PIL import Image\nImage.new('1', (30000, 30000)).save('a.png')"])
def test_what_is_no_image_costs_a_line(sandpiper, serve, code):
    said, _ = plotted(sandpiper, serve, PLAIN, code=code)
    about = [x for x in screen(said, 100) if "a.png" in x and not re.match(r"\s*\d  ", x)]
    assert 1 <= len(about) <= 2 and not drawn_rows(said, 100), about


@pytest.mark.slow(3)
def test_an_image_in_the_answer(sandpiper, serve):
    """Drawn where the answer has it, unless it was drawn a moment ago; what is no figure of ours keeps its name."""
    serve(sandpiper, script(RED % (400, 300, "a.png"), answer="See ![the plot](/mnt/data/a.png) above. Done.") +
          [{"answer": {"text": "Again:\n\n![the plot](sandbox:/mnt/data/a.png)\n\n![other](/mnt/data/b.png)\n\nSeen."}}])
    t = AnsweringTerminal(sandpiper, KITTY)
    t.expect(PROMPT)
    t.send("plot\r")
    assert t.expect("Done.").count(b"\x1b_Ga=T") == 1
    t.expect(PROMPT)
    t.send("show me\r")
    said = t.expect("Seen.")
    assert said.count(b"\x1b_Ga=T") == 1 and b"other" in said and said.index(b"Again:") < said.index(b"\x1b_Ga=T") < said.index(b"other")
    t.expect(PROMPT)
    assert t.close() == 0


@pytest.mark.slow(3)
def test_an_image_in_a_table_keeps_its_name(sandpiper, serve):
    """On one line, since there is room for it; and it is drawn where the same answer has it again."""
    serve(sandpiper, script(RED % (400, 300, "a.png"), answer="Done.") +
          [{"answer": {"text": "| figure | what |\n|---|---|\n| ![the plot](a.png) | red |\n\n![the plot](a.png)\n\nSeen."}}])
    t = AnsweringTerminal(sandpiper, KITTY)
    t.expect(PROMPT)
    t.send("plot\r")
    t.expect("Done.")
    t.expect(PROMPT)
    t.send("show me\r")
    said = t.expect("Seen.")
    assert b"the plot (a.png)" in said and said.count(b"\x1b_Ga=T") == 1, said[:600]
    t.expect(PROMPT)
    assert t.close() == 0


@pytest.mark.slow(5)
def test_commands_about_files(sandpiper, serve):
    code = "%s\n%s\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('my data.csv', 'w').write('a,b')" % (RED % (400, 300, "a.png"), RED % (10, 10, "b.png"))
    serve(sandpiper, script(code) + [{"expect": {"last": {"content": {"contains": "extra.txt"}}}, "answer": {"text": "Got it."}}])
    sandpiper.write("extra.txt", "hello")
    t = AnsweringTerminal(sandpiper, KITTY, size=(40, 200))

    def command(line):
        t.send(line + "\r")
        t.expect(line + "\r\n")
        return t.expect(PROMPT).decode()
    t.expect(PROMPT)
    assert "No figure" in command("/plots")
    t.send("plot\r")
    t.expect("Here.")
    t.expect(PROMPT)
    listed = command("/plots")
    assert "  1  a.png" in listed and "  2  b.png" in listed and "\x1b_Ga=T" not in listed
    assert "\x1b_Ga=T" in command("/plots 2")
    assert "No figure 7: /plots lists" in command("/plots 7")
    files = command("/files")
    assert "In /mnt/data: a.png, b.png, my data.csv" in files and files.count("my data.csv") >= 2
    assert "Copied to my data.csv" in command("/get my data.csv")
    assert open(os.path.join(sandpiper.work, "my data.csv")).read() == "a,b"
    assert "File exists" in command("/get my data.csv")
    assert "Copied to copy.png" in command("/get /mnt/data/a.png copy.png")
    assert "there is no file nothing.txt, neither saved nor in /mnt/data" in command("/get nothing.txt")
    assert "/mnt/data/extra.txt" in command("/put extra.txt")
    assert "No such file" in command("/put missing.txt")
    t.send("read extra.txt\r")
    t.expect("Got it.")
    t.expect(PROMPT)
    assert t.close() == 0


def test_without_libchafa(sandpiper, serve, monkeypatch):
    """One line says once what to install; the path is printed all the same."""
    found = [path for path in ("/usr/lib/x86_64-linux-gnu/libchafa.so.0", "/usr/lib/aarch64-linux-gnu/libchafa.so.0", "/usr/lib64/libchafa.so.0") if os.path.exists(path)]
    if not found or not shutil.which("bwrap"):
        pytest.skip("libchafa cannot be hidden here")
    argv = sandpiper.argv
    monkeypatch.setattr(sandpiper, "argv", lambda args: ["bwrap", "--dev-bind", "/", "/", "--bind", "/dev/null", os.path.realpath(found[0]), *argv(args)])
    said, _ = plotted(sandpiper, serve, PLAIN, code=RED % (40, 30, "a.png") + "\n" + RED % (40, 30, "b.png"))
    shown = " ".join(" ".join(screen(said, 100)).split())
    assert shown.count("figures are not shown here: libchafa") == 1, shown
    assert "apt install libchafa0" in shown
    assert shown.count("saved: ") == 2 and not drawn_rows(said, 100)
