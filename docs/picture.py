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

COLUMNS, LINES = 84, 44
CELL, ROW, SIZE = 8.43, 18, 14          # pixels
DARK = {"fg": "#d8dee9", "bg": "#161a21"}
COLOURS = ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
           "#7f8896", "#ef8b93", "#b5d89b", "#f0d399", "#8cc8ff", "#d9a0e8", "#7fd0da", "#ffffff"]

SALES = "date,city,seats\n" + "".join("2026-%02d-%02d,%s,%d\n" % (m, d, city, (m * 7 + d * 3 + len(city) * 11) % 40 + base)
                                      for m in (1, 2, 3) for d in range(1, 28, 3) for city, base in (("Oslo", 20), ("Rome", 31), ("Lima", 12)))
CODE = """import pandas as pd
df = pd.read_csv('sales.csv', parse_dates=['date'])
table = df.groupby(['city', df['date'].dt.month_name()])['seats'].sum().unstack()
table['total'] = table.sum(axis=1)
print(table[['January', 'February', 'March', 'total']])"""


def answer(output):
    """The table of the answer, out of what the code really printed."""
    rows = [line.split() for line in output.splitlines() if re.match(r"(Lima|Oslo|Rome) ", line)]
    best = max(rows, key=lambda r: int(r[4]))
    lines = ["**%s** sold most: %s seats.\n" % (best[0], best[4]), "| city | January | February | March | total |", "|---|---:|---:|---:|---:|"]
    return "\n".join(lines + ["| %s |" % " | ".join(r) for r in rows])


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
    """(text, colour or None, bold, dim) out of a line with the terminal's colours; now: those that the line before left on, changed in place."""
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
                now.update(colour=None, bold=False, dim=False, under=False)
            elif c in (1, 2, 4):
                now[{1: "bold", 2: "dim", 4: "under"}[c]] = True
            elif c == 22:
                now.update(bold=False, dim=False)
            elif c == 24:
                now["under"] = False
            elif 30 <= c <= 37 or 90 <= c <= 97:
                now["colour"] = COLOURS[c - 30 if c < 40 else c - 82]
            elif c == 39:
                now["colour"] = None
            elif c == 38 and codes[:1] == [5]:
                n = codes[1]
                grey = "#%02x%02x%02x" % ((8 + (n - 232) * 10,) * 3) if n >= 232 else None
                cube = None if n < 16 or n >= 232 else "#%02x%02x%02x" % tuple(0 if v == 0 else 55 + 40 * v for v in ((n - 16) // 36, (n - 16) // 6 % 6, (n - 16) % 6))
                now["colour"] = COLOURS[n] if n < 16 else grey or cube
                del codes[:2]
    return out


def svg(lines):
    width, height = COLUMNS * CELL + 32, len(lines) * ROW + 56
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'
           '\'DejaVu Sans Mono\',monospace" font-size="%d">' % (width, height, width, height, SIZE),
           "<title>A sandpiper session in a terminal</title>",
           '<rect width="100%%" height="100%%" rx="8" fill="%s"/>' % DARK["bg"]]
    out += ['<circle cx="%d" cy="18" r="5.5" fill="%s"/>' % (20 + 18 * i, c) for i, c in enumerate(("#e06c75", "#e5c07b", "#98c379"))]
    now = {"colour": None, "bold": False, "dim": False, "under": False}
    for y, line in enumerate(lines):
        x = 0
        for text, how in spans(line, now):
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
    exchanges = [{"answer": {"calls": [{"code": CODE}]}}, {"answer": {"text": "(written below)"}}]
    with ModelServer(exchanges, model="demo-model", lenient=True) as server:
        env = {"HOME": work, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "screen-256color", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none",
               "SANDPIPER_MODEL": "demo-model", "SANDPIPER_SANDBOX": "bwrap", "SANDPIPER_SAVE": "off"}
        env.update(("XDG_%s" % k, os.path.join(folder, v)) for k, v in (("STATE_HOME", "state"), ("CACHE_HOME", "cache"), ("CONFIG_HOME", "config"),
                                                                           ("RUNTIME_DIR", "run")))
        # The model's second reply quotes what its code really gave.
        first = subprocess.run([os.path.join(TREE, "build", "sandpiper"), "exec", "--add", "sales.csv", "-c", CODE], env=env, cwd=work, capture_output=True,
                               text=True)
        if first.returncode:
            sys.exit("picture: " + first.stderr)
        exchanges[1]["answer"]["text"] = answer(first.stdout)
        t = Terminal(folder, [os.path.join(TREE, "build", "sandpiper"), "--add", "sales.csv"], env)
        try:
            t.wait("Ctrl-D ends")
            t.type("Which city sold the most seats? Show them by month.")
            t.wait(r"sold most(.*\n)+>\s*$")
            t.type("!import ctypes; ctypes.string_at(0)    # crash the interpreter")
            t.wait(r"crash the interpreter\s*\n(.*\n)+>\s*$")
            t.type("!table.loc['Rome', 'March']            # and the variables?")
            t.wait(r"the variables\?\s*\n(.*\n)+>\s*$")
            return t.screen("-e").rstrip("\n").split("\n")
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
