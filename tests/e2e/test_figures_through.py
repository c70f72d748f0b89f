"""test_figures_through.py - figures in a terminal that is not the next one: behind tmux, which may pass things on, and behind ssh, which takes its time."""
import base64
import os
import re
import shlex
import shutil
import subprocess
import time

import pytest

from answering_terminal import ITERM2, KITTY, SIXEL, AnsweringTerminal
from test_figures import APC, LABELLED, PROMPT, RED, script


@pytest.mark.slow(5)
@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_in_tmux(sandpiper, serve, tmp_path):
    """It answers for itself and has no graphics: blocks and texts, and nothing of queries or replies on the screen."""
    serve(sandpiper, script(LABELLED % "plt.show()"))
    env = sandpiper.env({"TERM": "xterm-256color"})

    def tmux(*words):
        return subprocess.run(["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null", *words], env=env, cwd=sandpiper.work, capture_output=True, text=True).stdout

    def until(text):
        end = time.monotonic() + 60
        while text not in tmux("capture-pane", "-p"):
            assert time.monotonic() < end, tmux("capture-pane", "-p")
            time.sleep(0.1)
        return tmux("capture-pane", "-p")
    tmux("new-session", "-d", "-x", "100", "-y", "60", shlex.join(sandpiper.argv([])))
    try:
        until("Ctrl-D ends")
        until("\n>")
        tmux("send-keys", "plot", "Enter")
        shown = until("Here.")
        assert all(word in shown for word in ("two waves", "seconds", "the sine", "the cosine")), shown
        assert re.search(r"(?m)^ +0 .* 4 .* 10 *$", shown), shown
        assert re.search("[\u2500-\u259f]", shown) and not re.search("rgb:|i=31|62c|1;2c", shown), shown
        tmux("send-keys", "C-d")
        end = time.monotonic() + 30
        while tmux("list-sessions"):
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        tmux("kill-server")


class InTmux:
    """The program in a tmux of its own, with that configuration; what AnsweringTerminal starts is a client of it."""

    def __init__(self, program, folder, configuration):
        self.program, self.socket = program, str(folder / "socket")
        self.work, self.children, self.pids = program.work, program.children, program.pids
        (folder / "tmux.conf").write_text(configuration)
        self.words = ["tmux", "-S", self.socket, "-f", str(folder / "tmux.conf")]

    def argv(self, args):
        """The program with these arguments; or another, where they begin with one."""
        return [*self.words, "new-session", shlex.join(args if args[:1] == ["sh"] else self.program.argv(args))]

    def env(self, extra):
        return self.program.env(dict({"TMUX": None, "TMUX_PANE": None, "LC_TERMINAL": "iTerm2"}, **extra))

    def run(self, *words):
        return subprocess.run([*self.words, *words], env=self.env({}), capture_output=True, text=True).stdout

    def until(self, text):
        """The pane, once it has that text."""
        end = time.monotonic() + 60
        while text not in self.run("capture-pane", "-p"):
            assert time.monotonic() < end, self.run("capture-pane", "-p")
            time.sleep(0.05)
        return self.run("capture-pane", "-p")


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
@pytest.mark.parametrize("passes,replies", [("on", KITTY), ("off", KITTY), ("on", dict(KITTY, version=ITERM2["version"])),
                                            ("on", dict(KITTY, version=b"\x1bP>|kitty(0.26.5)\x1b\\"))], ids=["on", "off", "iterm2", "old"])
def test_through_tmux(sandpiper, serve, tmp_path, passes, replies):
    """Where tmux passes things on to a kitty, the image goes there, and placeholders show it wherever tmux puts them."""
    serve(sandpiper, script(RED % (160, 160, "a.png")))
    inside = InTmux(sandpiper, tmp_path, "set -g allow-passthrough %s\n" % passes)
    t = AnsweringTerminal(inside, replies, size=(40, 100), env={"COLORTERM": "truecolor"})
    try:
        inside.until("\n>")
        t.send("plot\r")
        t.expect("Here.")
        shown = inside.until("Here.")
        parts = [p for p in APC.findall(t.seen) if b"a=q" not in p[0]]
        assert not re.search("rgb:|i=31|62c|1;2c", shown), shown
        if passes == "off" or replies is not KITTY:
            assert not parts and "\U0010eeee" not in shown and b"1337" not in t.seen
            assert re.search(r"\u2580-\u259f|48;2;250;20;20", inside.run("capture-pane", "-p", "-e")), shown
        else:
            keys = dict(k.split(b"=") for k in parts[0][0].split(b","))
            assert keys[b"U"] == b"1" and keys[b"q"] == b"2" and all(len(p[1]) <= 4096 for p in parts) and parts[-1][0].endswith(b"m=0")
            sent = b"".join(base64.b64decode(p[1], validate=True) for p in parts)
            assert keys[b"f"] == b"100" and sent[:8] == b"\x89PNG\r\n\x1a\n" and sent[-8:-4] == b"IEND"

            def places(text):
                return [line.count("\U0010eeee") for line in text.splitlines() if "\U0010eeee" in line]
            assert places(shown) == [int(keys[b"c"])] * int(keys[b"r"])       # in the cells that tmux tells of
            assert b"\x1b[38;5;%dm" % (int(keys[b"i"]) & 255) in t.seen
            inside.run("resize-window", "-x", "60", "-y", "30")
            assert places(inside.until("Here.")) == places(shown)
        t.send("\x04")
        assert t.close(text=None) == 0
    finally:
        inside.run("kill-server")


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
@pytest.mark.parametrize("seen", [True, False], ids=["tmux", "hidden"])
@pytest.mark.parametrize("args", [[], ["plot"]], ids=["chat", "question"])
def test_the_title_of_the_pane_stays(sandpiper, serve, tmp_path, args, seen):
    """tmux takes kitty's query for a title. It is not sent there, not even where neither TMUX nor TERM tells of it (hidden: as behind ssh)."""
    serve(sandpiper, script(RED % (160, 160, "a.png")))
    inside = InTmux(sandpiper, tmp_path, "set -g allow-passthrough off\nset -g default-terminal xterm-256color\nset -g remain-on-exit on\n")
    program = shlex.join(sandpiper.argv(args))
    t = AnsweringTerminal(inside, KITTY, args=["sh", "-c", "printf '\\033]2;mine\\033\\\\'; exec %s%s" % ("" if seen else "env -u TMUX -u TMUX_PANE ", program)])
    try:
        inside.until("\n>" if not args else "Here.")
        if not args:
            t.send("plot\r")
            inside.until("Here.")
        assert inside.run("display-message", "-p", "#{pane_title}") == "mine\n"
    finally:
        inside.run("kill-server")
        t.close(text=None)


class OverSsh:
    """The program at the other end of ssh: an sshd of our own, started for the one connection, which it has as stdin and stdout."""

    def __init__(self, program, folder):
        self.program, self.work, self.children, self.pids = program, program.work, program.children, program.pids
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        lines = ["HostKey %s" % (folder / "host"), "AuthorizedKeysFile %s" % (folder / "user.pub"), "StrictModes no", "PidFile none", "UsePAM no",
                 "PermitRootLogin prohibit-password", "PasswordAuthentication no", "PrintMotd no", "PrintLastLog no"]
        (folder / "sshd_config").write_text("\n".join(lines) + "\n")
        sshd = "exec /usr/sbin/sshd -i -f %s" % (folder / "sshd_config")
        if os.geteuid() == 0:           # who is root needs a folder there, empty and his own: in a /run that nobody else sees
            sshd = "unshare -m sh -c %s" % shlex.quote("mount -t tmpfs none /run && mkdir -m 755 /run/sshd && " + sshd)
        self.words = ["ssh", "-F", "none", "-tt", "-i", str(folder / "user"), "-o", "ProxyCommand=" + sshd]
        for option in ("IdentitiesOnly=yes", "IdentityAgent=none", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
                       "GlobalKnownHostsFile=/dev/null", "LogLevel=ERROR"):
            self.words += ["-o", option]

    def argv(self, args):
        """Its terminal's name is handed on by ssh; everything else of its environment is said."""
        given = ["%s=%s" % one for one in self.program.env({}).items() if one[0] != "TERM"]
        words = " ".join(shlex.quote(w) for w in ["env", "-i", *given])
        return [*self.words, "there", "cd %s && exec %s TERM=$TERM %s" % (shlex.quote(self.work), words, shlex.join(self.program.argv(args)))]

    def env(self, extra):
        return dict({"PATH": os.environ["PATH"]}, TERM=extra["TERM"])


@pytest.fixture
def ssh(sandpiper, tmp_path):
    if not os.path.exists("/usr/sbin/sshd") or not shutil.which("ssh"):
        pytest.skip("openssh-server is not installed")
    return OverSsh(sandpiper, tmp_path)


@pytest.mark.parametrize("replies,drawn", [(KITTY, b"\x1b_Ga=T"), (SIXEL, b'q"1;1;')], ids=["kitty", "sixel"])
def test_over_ssh(sandpiper, serve, ssh, replies, drawn):
    """The terminal's answers take their time, and are heard."""
    serve(sandpiper, script(RED % (160, 160, "a.png")))
    t = AnsweringTerminal(ssh, replies, late=0.2)
    t.expect(PROMPT)
    t.settle()
    t.send("plot\r")
    assert drawn in t.expect("Here.")
    t.expect(PROMPT)
    assert t.close() == 0


@pytest.mark.slow(3)
@pytest.mark.parametrize("replies", [KITTY, SIXEL], ids=["kitty", "sixel"])
def test_over_a_slow_ssh(sandpiper, serve, ssh, replies):
    """They come when nobody waits for them any more, while a line is typed: they are still no part of it."""
    serve(sandpiper, script("1 + 1", question="plot it"))
    t = AnsweringTerminal(ssh, replies, late=1)
    t.expect(PROMPT)
    t.send("plot")
    t.settle()
    t.send(" it\r")
    t.expect("Here.")
    t.expect(PROMPT)
    assert t.close() == 0
    for leak in (b"[?6", b"rgb:", b"i=31;", b"XTerm", b"kitty(", b"6;20;10"):
        assert leak not in t.seen, (leak, t.seen)


@pytest.mark.parametrize("replies", [KITTY, SIXEL], ids=["kitty", "sixel"])
def test_one_question_over_a_slow_ssh(sandpiper, serve, ssh, replies):
    """Its figure does not wait for them, and its end does: nothing is left to the shell."""
    serve(sandpiper, script(RED % (160, 160, "a.png")))
    t = AnsweringTerminal(ssh, replies, args=["plot"], late=0.5)
    t.expect("Here.")
    assert t.close(text=None) == 0
    assert "attributes" in t.asked
    for leak in (b"[?6", b"rgb:", b"i=31;OK", b"XTerm", b"kitty("):
        assert leak not in t.seen, (leak, t.seen)
