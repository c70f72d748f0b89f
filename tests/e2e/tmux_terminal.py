"""tmux_terminal.py - the program in a tmux of its own: a real terminal whose window can be made smaller, and whose screen and scrollback can be read."""
import shlex
import shutil
import subprocess
import time

import pytest

needs_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Tmux:
    def __init__(self, program, folder, *args, size=(24, 80), env=None):
        self.program, self.socket = program, str(folder / "tmux")
        self.env = program.env(dict({"TERM": "xterm-256color", "TMUX": None, "NO_COLOR": "1"}, **(env or {})))
        self.run("new-session", "-d", "-x", str(size[1]), "-y", str(size[0]), shlex.join(program.argv(args)))
        self.run("set-option", "-g", "window-size", "manual")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.run("kill-server")

    def run(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], env=self.env, cwd=self.program.work, capture_output=True, text=True).stdout

    def screen(self):
        """The lines of the screen, without the empty ones at its end."""
        return self.run("capture-pane", "-p").rstrip("\n").split("\n")

    def all(self):
        """Those that have left it as well."""
        return self.run("capture-pane", "-p", "-S", "-").rstrip("\n").split("\n")

    def until(self, look, limit=60, of=None):
        """The screen (or what of says), once look(text) is true, or once it has that text."""
        end = time.monotonic() + limit
        while True:
            lines = (of or self.screen)()
            text = "\n".join(lines)
            if look in text if isinstance(look, str) else look(text):
                return lines
            assert time.monotonic() < end, text
            time.sleep(0.05)

    def type(self, text):
        self.run("send-keys", "-l", text)

    def keys(self, *names):
        self.run("send-keys", *names)

    def resize(self, columns, rows=24):
        time.sleep(0.3)                         # of a second change within 250 ms the program is told late
        self.run("resize-window", "-x", str(columns), "-y", str(rows))
