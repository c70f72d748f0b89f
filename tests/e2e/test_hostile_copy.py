"""test_hostile_copy.py - the code has taken its worker over and lies when a live copy is asked for: about sizes, addresses, paths, by keeping the file, by
silence. No copy is made, or one that harms itself alone; nothing of it reaches this machine, and nobody waits for it longer than for any request."""
import os
import signal
import time

import pytest

from named_sandboxes import listed, named_bwrap, run            # noqa: F401

# evil(self, fd) is called in place of what writes the copy
TAKE_OVER = """import sys, os, posix, marshal, mmap, fcntl, time
f = sys._getframe()
while f.f_code.co_name != 'serve_one':
    f = f.f_back
G = f.f_globals
G['need']('snapshot'), G['need']('live_copy')
real = G['copy_out']
def whole(fd, parts=(), files=(), stack=1 << 41, size=None, at=4096, kernel=None, descriptors=(), cwd=b'/mnt/data'):
    text = marshal.dumps((parts, stack, kernel or (0, 4096, [0] * 11, 0, bytes(64 * 32), bytes(24)), [], descriptors, files, cwd, {}))
    os.pwrite(fd, text, 4096)
    os.pwrite(fd, (len(text) if size is None else size).to_bytes(8, 'little') + at.to_bytes(8, 'little'), 0)
def plus(self):
    self.say(G['RECORD_RESULT'], b'+' + self.inventory())
def copy_out(self, extra):
    fds = G['received'](extra)
    if not fds:
        return plus(self)
    evil(self, fds[0])
G['copy_out'] = copy_out
"""
LIES = {
    "nothing is written": ("plus(self)", "not whole"),
    "it is emptied": ("os.ftruncate(fd, 0); plus(self)", "not whole"),
    "a length of 2^63": ("whole(fd, size=1 << 63); plus(self)", "no live copy"),
    "a length of 2^40": ("whole(fd, size=1 << 40); plus(self)", "no live copy"),
    "a place of 2^63": ("whole(fd, at=1 << 63); plus(self)", "no live copy"),
    "no description": ("os.pwrite(fd, bytes([10] + [0] * 7 + [0, 16]) + bytes(6), 0); os.pwrite(fd, b'[' + b'\\xff' * 9, 4096); plus(self)", "no live copy"),
    "another description": ("t = marshal.dumps([[[]] * 9]); os.pwrite(fd, t, 4096); os.pwrite(fd, len(t).to_bytes(8, 'little') + (4096).to_bytes(8, 'little'), 0); plus(self)", "no live copy"),
    "every address": ("whole(fd, parts=[(4096, 0x7ffffffff000, 7, 'own', 0, b'', ())]); plus(self)", "no live copy"),
    "addresses of the kernel": ("whole(fd, parts=[(-1 << 20, -4096, 7, 'own', 0, b'', ((-1 << 20, -4096, 1 << 62, True),))]); plus(self)", "no live copy"),
    "more pieces than there is room": ("whole(fd, parts=[(i << 13, (i << 13) + 4096, 3, 'own', 0, b'', ()) for i in range(1, 300000)]); plus(self)", "no live copy"),
    "nothing is mapped": ("whole(fd); plus(self)", "no live copy"),
    "a file outside": ("whole(fd, files=[(b'../../../../tmp/outside', 0o100000, 0o644, 0, (0, 10))]); plus(self)", "no live copy"),
    "files without end": ("whole(fd, files=[(b'f%d' % i, 0o100000, 0o644, 0, (0, 1 << 29)) for i in range(100000)]); plus(self)", "no live copy"),
    "descriptors": ("whole(fd, descriptors=[(10**6, '/dev/zero', 2, 0, True), (-1, '/proc/self/mem', 2, 0, True)]); plus(self)", "no live copy"),
    "it stays mapped": ("self.map = mmap.mmap(fd, 1 << 20); whole(fd); plus(self)", "goes on writing to it"),
    "it says no": ("self.say(G['RECORD_RESULT'], b'-' + b'\\x1b[31mred\\n' * 100)", "red"),
    "it says it thrice": ("plus(self), plus(self), self.say(G['RECORD_RESULT'], b'x' * 60000)", "not whole"),
    "it says too much": ("posix.write(self.words, os.urandom(1 << 20)); plus(self)", "not whole"),
    "it ends": ("os._exit(0)", "no live copy"),
    "it kills all": ("os.kill(-1, 9); os._exit(0)", "no live copy"),
    "it fills the file": ("os.ftruncate(fd, 1 << 40)\n    while True: os.write(fd, bytes(1 << 24))", "no live copy"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies(named_bwrap, lie):                                # noqa: F811
    s, (what, said) = named_bwrap, LIES[lie]
    assert run(s, TAKE_OVER + "def evil(self, fd):\n    %s\n" % what, "--memory", "200m").code == 0
    began = time.monotonic()
    r = s.run("fork", "work", "other", timeout=200)
    assert r.code == 3 and said in r.err and "\x1b" not in r.err and r.err.count("\n") <= 2 and len(r.err) < 2000, r
    assert time.monotonic() - began < 100 and not os.path.exists("/tmp/outside")
    assert sorted(listed(s)) == ["work"]
    assert run(s, "print(6 * 7)").out == "42\n"                 # that one goes on, or a new worker
    assert s.run("rm", "work").code == 0 and s.leftovers() == []


def test_silence_is_interrupted(named_bwrap):                   # noqa: F811
    """By Ctrl-C at once, whatever the code does about the signal; the first sandbox stays."""
    s = named_bwrap
    assert run(s, TAKE_OVER + "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ndef evil(self, fd):\n    time.sleep(1000)\n").code == 0
    p = s.start("fork", "work", "other")
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    assert p.wait(60) == 130
    assert sorted(listed(s)) in (["work"], []) and "other" not in listed(s)


def test_the_file_is_sealed(named_bwrap):                       # noqa: F811
    """Whoever kept a descriptor of it can neither write to it, nor map it for that, nor change its size or its seals; the copy is as it was."""
    s = named_bwrap
    keep = TAKE_OVER + """
def copy_out(self, extra):
    import socket
    global kept
    if extra:
        kept = os.dup(int.from_bytes(extra[0][2][:4], 'little'))
    return real(self, extra)
G['copy_out'] = copy_out
secret = 'as it was'
"""
    attack = """import ctypes
def punch(fd):
    if ctypes.CDLL(None, use_errno=True).fallocate(fd, 3, ctypes.c_long(0), ctypes.c_long(1 << 16)):
        raise OSError(ctypes.get_errno(), '')
def tries():
    for name, call in (('write', lambda: os.pwrite(kept, b'evil' * 1024, 4096)), ('grow', lambda: os.ftruncate(kept, 1 << 41)), ('shrink', lambda: os.ftruncate(kept, 4096)),
                       ('map', lambda: mmap.mmap(kept, 4096)), ('punch', lambda: punch(kept)), ('seals', lambda: fcntl.fcntl(kept, 1033, 0)),
                       ('reopen', lambda: os.write(os.open('/proc/self/fd/%d' % kept, os.O_RDWR), b'x'))):
        try:
            call()
            yield name, 'done'
        except OSError as e:
            yield name, e.errno
print(dict(tries()))"""
    assert run(s, keep).code == 0
    assert s.run("fork", "work", "other").code == 0
    got = eval(run(s, attack).out)
    assert set(got) == {"write", "grow", "shrink", "map", "punch", "seals", "reopen"} and "done" not in got.values(), got
    assert run(s, "print(secret, kept)", name="other").out.startswith("as it was ")
