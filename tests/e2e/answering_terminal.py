"""answering_terminal.py - a pseudo-terminal that answers as some terminal would: to each query its reply, at once, late, or never."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time

# What each query asks, and how terminals answer.
QUERIES = {"background": b"\x1b]11;?\x1b\\", "version": b"\x1b[>q", "cell": b"\x1b[16t", "kitty": b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", "attributes": b"\x1b[c"}
SILENT = {}
PLAIN = {"attributes": b"\x1b[?1;2c"}
DARK = dict(PLAIN, background=b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\")
LIGHT = dict(PLAIN, background=b"\x1b]11;rgb:ff/ff/ff\x07")
KITTY = dict(DARK, kitty=b"\x1b_Gi=31;OK\x1b\\", version=b"\x1bP>|kitty(0.35.2)\x1b\\", cell=b"\x1b[6;20;10t", attributes=b"\x1b[?62;c")
SIXEL = dict(LIGHT, version=b"\x1bP>|XTerm(390)\x1b\\", cell=b"\x1b[6;16;8t", attributes=b"\x1b[?64;1;2;4;22c")
ITERM2 = dict(DARK, version=b"\x1bP>|iTerm2 3.5.0\x1b\\", cell=b"\x1b[6;20;10t", attributes=b"\x1b[?62;4c")
GARBAGE = dict(kitty=b"\x1b_Gi=31;ENOENT" + b"x" * 900 + b"\x1b\\", version=b"\x1bP>|;;;\xff\xfe[31m;;;\x1b\\", cell=b"\x1b[6;;0t", background=b"\x1b]11;rgb:zz/\x1b\\",
               attributes=b"\x1b[?4444444444444444444444;c")


class AnsweringTerminal:
    """The program in a terminal of so many rows and columns. late: seconds before each reply."""

    def __init__(self, program, replies, args=(), env=None, size=(40, 100), late=0.0, limit=30, **popen):
        self.replies, self.late, self.limit = replies, late, limit
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[0], size[1], 0, 0))
        ours = dict({"TERM": "xterm-256color"}, **(env or {}))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        streams = dict(stdin=slave, stdout=slave, stderr=slave)
        streams.update(popen)
        self.p = subprocess.Popen(program.argv(args), env=program.env(ours), cwd=program.work, preexec_fn=own_terminal, **streams)
        program.children.append(self.p)
        program.pids.append(self.p.pid)
        os.close(slave)
        self.seen, self.at, self.asked, self.replied = b"", 0, [], []
        self.lock, self.closed = threading.Lock(), False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        looked = 0
        try:
            while True:
                self.seen += os.read(self.master, 65536)
                found = sorted((m.start(), m.end(), name) for name, query in QUERIES.items() for m in re.finditer(re.escape(query), self.seen[looked:]))
                self.asked += [name for _, _, name in found]
                said = [self.replies[name] for _, _, name in found if name in self.replies]
                if self.late and said:
                    threading.Timer(self.late, self.reply, (said,)).start()
                else:
                    self.reply(said)
                looked = max(looked + (found[-1][1] if found else 0), len(self.seen) - 64)      # the beginning of a query may have come
        except OSError:
            pass

    def reply(self, said):
        """In the order of the queries, as terminals do."""
        for text in said:
            with self.lock:
                if self.closed:             # another test may have a descriptor of this number by now
                    return
                os.write(self.master, text)
            self.replied.append(text)

    def settle(self):
        """Wait until it has said all that it has to say, each thing once."""
        until = time.monotonic() + self.limit
        while len(self.replied) < len(self.replies):
            assert time.monotonic() < until, (self.asked, self.replied)
            time.sleep(0.01)

    def expect(self, text):
        """Wait for text after what was expected last; returns what stood before it."""
        text = text.encode() if isinstance(text, str) else text
        until = time.monotonic() + self.limit
        while text not in self.seen[self.at:]:
            assert time.monotonic() < until and (self.p.poll() is None or self.reader.is_alive()), "no %r in %r" % (text, self.seen[self.at:][-3000:])
            time.sleep(0.01)
        at = self.seen.index(text, self.at)
        said, self.at = self.seen[self.at:at], at + len(text)
        return said

    def send(self, text):
        os.write(self.master, text.encode())

    def close(self, text="\x04"):
        if text:
            self.send(text)
        code = self.p.wait(self.limit)
        self.reader.join(5)
        self.echo = bool(termios.tcgetattr(self.master)[3] & termios.ECHO)
        with self.lock:
            self.closed = True
            os.close(self.master)
        return code
