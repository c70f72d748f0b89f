"""thread_chat.py - a chat in a pseudo-terminal that a thread reads: hundreds of them may run beside each other, which pexpect's select cannot."""
import fcntl
import os
import pty
import struct
import termios
import threading
import time


class Chat:
    """A pseudo-terminal of our own: hundreds of threads may have one each."""

    def __init__(self, sp, env, limit=60):
        self.limit = limit           # seconds for each wait
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 1000, 0, 0))
        self.p = sp.start(stdin=slave, stdout=slave, stderr=slave, env=dict(env, TERM="xterm", NO_COLOR="1"))
        os.close(slave)
        self.seen, self.at = "", 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while True:
                self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        except OSError:
            pass

    def prompt(self):
        """Until a line is read, and what was said before that."""
        deadline = time.monotonic() + self.limit
        while "?2004h> " not in self.seen[self.at:]:
            assert self.p.poll() is None, "the chat ended: %s\n%s" % (self.p.returncode, self.seen[-2000:])
            assert time.monotonic() < deadline, "no prompt: %r" % self.seen[-2000:]
            time.sleep(0.02)
        said, self.at = self.seen[self.at:], len(self.seen)
        return said

    def send(self, text):
        os.write(self.master, text.encode())

    def close(self):
        self.send("\x04")
        code = self.p.wait(self.limit)
        self.reader.join(5)     # it sees the end; a number that is closed under it would be another chat's
        os.close(self.master)
        return code
