#!/usr/bin/python3
"""picture.py - docs/session.svg, the picture in README: a real session in a real terminal, made by "make docs".

build/sandpiper runs in tmux with a real sandbox (bwrap); only the model's replies are scripted (tests/e2e/model_server.py). What the terminal
shows at the end is asked of tmux and drawn as it is, so the picture cannot show what the program does not print. Needs tmux and bubblewrap.
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(TREE, "tests", "e2e"))
from model_server import ModelServer     # noqa: E402

COLUMNS, LINES = 84, 70
CELL, ROW, SIZE = 8.43, 18, 14          # pixels
DARK = {"fg": "#d8dee9", "bg": "#161a21"}
COLOURS = ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
           "#7f8896", "#ef8b93", "#b5d89b", "#f0d399", "#8cc8ff", "#d9a0e8", "#7fd0da", "#ffffff"]

SALES = "date,city,seats\n" + "".join("2026-%02d-%02d,%s,%d\n" % (m, d, city, (m * 7 + d * 3 + len(city) * 11) % 40 + base)
                                      for m in (1, 2, 3) for d in range(1, 28, 3) for city, base in (("Oslo", 20), ("Rome", 31), ("Lima", 12)))
CODE = """import pandas as pd
df = pd.read_csv('sales.csv', parse_dates=['date'])
months = df['date'].dt.month_name()
table = df.pivot_table('seats', months, 'city', aggfunc='sum', sort=False)
print(table, table.sum().to_dict(), sep='\\n')
ax = table.plot.bar(title='Seats sold', rot=0, xlabel='', figsize=(8, 2.9))"""
CRASH = """import ctypes
ctypes.CDLL(None).strlen(len(table.to_csv()))"""
AGAIN = """import ctypes
ctypes.CDLL(None).strlen(table.to_csv().encode())"""


def best(output):
    """The city that sold most, out of what the code really printed, and how much."""
    rows = [(int(m[2]), m[1]) for m in re.finditer(r"'(\w+)': (\d+)", output)]
    return "**%s** sold most: %d seats in three months." % max(rows)[::-1]


class Terminal:
    def __init__(self, folder, argv, env):
        self.tmux = ["tmux", "-S", os.path.join(folder, "tmux"), "-f", "/dev/null"]
        subprocess.run(self.tmux + ["new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), "-c", os.path.join(folder, "work"),
                                    "env", "-i", *["%s=%s" % p for p in env.items()], *argv], check=True)

    def type(self, text):
        subprocess.run(self.tmux + ["send-keys", "-l", text], check=True)
        subprocess.run(self.tmux + ["send-keys", "Enter"], check=True)

    def screen(self, *how):
        return subprocess.run(self.tmux + ["capture-pane", "-p", *how], check=True, capture_output=True, text=True).stdout

    def wait(self, pattern):
        until = time.monotonic() + 60
        while not re.search(pattern, self.screen()):
            if time.monotonic() > until:
                sys.exit("picture: %r did not come; the screen:\n%s" % (pattern, self.screen()))
            time.sleep(0.05)

    def end(self):
        subprocess.run(self.tmux + ["kill-server"])


def spans(line, now):
    """(text, how it is shown) out of a line with the terminal's colours; now: how the line before ended, changed in place."""
    out = []
    for part in re.split(r"(\x1b\[[\d;]*m|\x1b\]8;[^\x1b]*\x1b\\)", line):
        sgr = re.fullmatch(r"\x1b\[([\d;]*)m", part)
        if not sgr:
            if part and not part.startswith("\x1b"):
                out.append((part, dict(now)))
            continue
        codes = [int(c or 0) for c in sgr[1].split(";")]
        while codes:
            c = codes.pop(0)
            if c == 0:
                now.update(colour=None, behind=None, bold=False, dim=False, under=False)
            elif c in (1, 2, 4):
                now[{1: "bold", 2: "dim", 4: "under"}[c]] = True
            elif c == 22:
                now.update(bold=False, dim=False)
            elif c == 24:
                now["under"] = False
            elif 30 <= c <= 37 or 90 <= c <= 97:
                now["colour"] = COLOURS[c - 30 if c < 40 else c - 82]
            elif c in (39, 49):
                now["colour" if c == 39 else "behind"] = None
            elif c in (38, 48) and codes[:1] == [5]:
                n = codes[1]
                grey = "#%02x%02x%02x" % ((8 + (n - 232) * 10,) * 3) if n >= 232 else None
                cube = None if n < 16 or n >= 232 else "#%02x%02x%02x" % tuple(0 if v == 0 else 55 + 40 * v for v in ((n - 16) // 36, (n - 16) // 6 % 6, (n - 16) % 6))
                now["colour" if c == 38 else "behind"] = COLOURS[n] if n < 16 else grey or cube
                del codes[:2]
    return out


def block(c):
    """The parts of a cell, as (x, y, width, height) in eighths, that a block element fills; None: it is another character."""
    n = ord(c) - 0x2580
    if not 0 <= n < 32:
        return None
    corners = {0x16: "c", 0x17: "d", 0x18: "a", 0x19: "acd", 0x1a: "ad", 0x1b: "abc", 0x1c: "abd", 0x1d: "b", 0x1e: "bc", 0x1f: "bcd"}
    if n in corners:
        return [("abcd".index(k) % 2 * 4, "abcd".index(k) // 2 * 4, 4, 4) for k in corners[n]]
    whole = {0x00: (0, 0, 8, 4), 0x10: (4, 0, 4, 8), 0x14: (0, 0, 8, 1), 0x15: (7, 0, 1, 8)}
    if n in whole:
        return [whole[n]]
    return [(0, 8 - n, 8, n)] if n <= 8 else [(0, 0, 16 - n, 8)] if n < 0x10 else None


def drawn(text, x, y, how):
    """What is behind the text, and its block elements: a font leaves gaps between these."""
    left, top, wide, high = 16 + x * CELL, 35 + y * ROW, CELL / 8, ROW / 8
    rect = '<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>'
    out = [rect % (left, top, len(text) * CELL, ROW, how["behind"])] if how["behind"] else []
    for run in re.finditer(r"(.)\1*", text):
        for bx, by, bw, bh in block(run[1]) or []:
            several = [(left + run.start() * CELL, len(run[0]) * CELL)] if bw == 8 else [(left + i * CELL + bx * wide, bw * wide) for i in range(*run.span())]
            out += [rect % (begin, top + by * high, width, bh * high, how["colour"] or DARK["fg"]) for begin, width in several]
    return out


def svg(lines):
    width, height = COLUMNS * CELL + 32, len(lines) * ROW + 56
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'
           '\'DejaVu Sans Mono\',monospace" font-size="%d">' % (width, height, width, height, SIZE),
           "<title>A sandpiper session in a terminal</title>",
           "<style>rect{shape-rendering:crispEdges}</style>",
           '<rect width="100%%" height="100%%" rx="8" fill="%s"/>' % DARK["bg"]]
    out += ['<circle cx="%d" cy="18" r="5.5" fill="%s"/>' % (20 + 18 * i, c) for i, c in enumerate(("#e06c75", "#e5c07b", "#98c379"))]
    now = {"colour": None, "behind": None, "bold": False, "dim": False, "under": False}
    for y, line in enumerate(lines):
        x = 0
        for text, how in spans(line, now):
            out += drawn(text, x, y, how)
            text = "".join(" " if block(c) else c for c in text)
            if text.strip():
                style = "".join([' fill="%s"' % (how["colour"] or DARK["fg"]), ' font-weight="bold"' if how["bold"] else "",
                                 ' opacity="0.6"' if how["dim"] else "", ' text-decoration="underline"' if how["under"] else ""])
                out.append('<text x="%.1f" y="%d" xml:space="preserve" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>'
                           % (16 + x * CELL, 48 + y * ROW, len(text) * CELL, style, html.escape(text)))
            x += len(text)
    return "\n".join(out + ["</svg>", ""])


def record(folder):
    work = os.path.join(folder, "work")
    os.mkdir(work)
    for name in ("state", "cache", "config", "run"):
        os.mkdir(os.path.join(folder, name), 0o700)
    with open(os.path.join(work, "sales.csv"), "w") as f:
        f.write(SALES)
    os.symlink(os.path.join(TREE, "build", "sandpiper"), os.path.join(folder, "sandpiper"))
    exchanges = [{"answer": {"calls": [{"code": CODE}]}}, {"answer": {"text": "(written below)"}},
                 {"answer": {"calls": [{"code": CRASH}]}}, {"answer": {"calls": [{"code": AGAIN}]}}, {"answer": {"text": "(written below)"}}]
    with ModelServer(exchanges, model="demo-model", lenient=True) as server:
        env = {"HOME": work, "PATH": folder + ":/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "screen-256color", "PS1": "$ ",
               "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "SANDPIPER_MODEL": "demo-model", "SANDPIPER_SANDBOX": "bwrap"}
        env.update(("XDG_%s" % k, os.path.join(folder, v)) for k, v in (("STATE_HOME", "state"), ("CACHE_HOME", "cache"), ("CONFIG_HOME", "config"),
                                                                           ("RUNTIME_DIR", "run")))
        # The model's replies quote what its code really gave.
        first = subprocess.run(["sandpiper", "exec", "--add", "sales.csv", "-c", CODE + "\nprint(len(table.to_csv()))"], env=env, cwd=work,
                               executable=os.path.join(folder, "sandpiper"), capture_output=True, text=True)
        if first.returncode:
            sys.exit("picture: " + first.stderr)
        exchanges[1]["answer"]["text"] = best(first.stdout)
        exchanges[4]["answer"]["text"] = "As CSV the table has **%s** characters." % first.stdout.split()[-1]
        for name in os.listdir(work):
            if name != "sales.csv":
                os.unlink(os.path.join(work, name))
        t = Terminal(folder, ["bash", "--norc", "--noprofile", "-i"], env)
        try:
            t.wait(r"\$\s*$")
            t.type("sandpiper --add sales.csv --out .")
            t.wait("Ctrl-D ends")
            t.type("Which city sold the most seats? Show the months, and plot them.")
            t.wait(r"sold most: \d(.*\n)+>\s*$")
            t.type("How long is that table as CSV? Ask strlen of the C library.")
            t.wait(r"characters(.*\n)+>\s*$")
            return t.screen("-e", "-N").rstrip("\n").split("\n")
        finally:
            t.end()


def main():
    folder = tempfile.mkdtemp(prefix="picture-")
    try:
        lines = record(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    while lines and re.fullmatch(r"(\x1b\[[\d;]*m|[> ])*", lines[-1]):
        lines.pop()
    path = os.path.join(TREE, "docs", "session.svg")
    with open(path, "w", encoding="utf-8") as f:
        f.write(svg(lines).replace(folder, "~"))
    print(path)


main()
