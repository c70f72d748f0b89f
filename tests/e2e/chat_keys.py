"""chat_keys.py - a person at a chat: types, waits for what is shown, leaves."""
import os
import re
import termios

import pexpect

PROMPT = "\\n?> "
AT_PROMPT = "\\?2004h> "           # where a line is read: the mode that marks pastes, then the prompt
PLAIN = {"NO_COLOR": "1"}


def said(text):
    return {"expect": {"last": {"content": text}}, "answer": {"text": "Heard."}}


def start(program, *args, **kw):
    p = program.chat(*args, env=dict(PLAIN, **kw.pop("env", {})), **kw)
    p.expect("> ")
    return p


def start_in_shell(program, **env):
    """A chat that a shell with job control has started: "shell# " is its prompt."""
    p = pexpect.spawn("/bin/bash", ["--norc", "-i"], env=program.env(dict(PLAIN, TERM="xterm-256color", PS1="shell# ", SP=program.argv([])[0], **env)), cwd=program.work,
                      encoding="utf-8", timeout=60, dimensions=(30, 100), echo=False)
    p.expect("shell# ")
    p.send('"$SP"\r')
    p.expect("> ")
    return p


def leave_shell(p):
    p.send("\x04")
    p.expect("shell# ")
    p.send("exit\r")
    p.expect(pexpect.EOF)


def ask(p, text, answer):
    p.send(text + "\r")
    p.expect(answer)
    p.expect("> ")


def leave(p, code=0):
    p.send("\x04")
    p.expect(pexpect.EOF)
    p.close()
    assert p.exitstatus == code, (p.exitstatus, p.signalstatus, p.before)


def modes(p):
    return termios.tcgetattr(p.child_fd)


def modes_before():
    """What the terminal of a chat is set to before the program starts, which may be at its prompt before a test has looked."""
    p = pexpect.spawn("cat", echo=False)
    found = modes(p)
    p.close(force=True)
    return found


def paste(text):
    return "\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~"


def shown(text):
    """The lines as they stay on the screen: what was wiped for being drawn again, such as a prompt behind which news came, is not there."""
    text = re.sub(r"\x1b\[>?[0-9]*[qt]|\x1b[_\]][^\x1b\x07]*(\x1b\\|\x07)", "", text)       # queries and links
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", re.split(r"\r\x1b\[[0-2]?[KJ]", line)[-1]) for line in text.split("\r\n")]


def editor(program, text):
    """A program for $EDITOR: the script, with the file in $1."""
    path = program.write("ed", "#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path
