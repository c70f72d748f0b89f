"""mounts.py - hostile cells against the folders of --mount: one read-only, one that code may write to, and beside them what it must not reach."""
import os

import rootless

from .cell import Probe, ok_out

HEAD = """
import os
top, made = '/mnt/host/shared', '/mnt/host/made'
def told(ways):
    done = []
    for name, what in ways.items():
        try:
            if what() is not False: done.append(name)
        except OSError: pass
    print(*done)
"""

MOUNT_PROBES = [
    Probe("M01", "what may be written is written, and only there", HEAD + """
told({'made': lambda: open(made + '/here', 'w').close(), 'shared': lambda: open(top + '/here', 'w')})""", ok_out("made\n")),
    Probe("M02", "nothing in a read-only folder is made, changed or removed", HEAD + """
a = top + '/a.txt'
told({'made': lambda: open(top + '/new', 'x'), 'opened': lambda: open(a, 'r+'), 'cut': lambda: os.truncate(a, 0), 'folder': lambda: os.mkdir(top + '/d'),
      'link': lambda: os.symlink('x', top + '/l'), 'mode': lambda: os.chmod(a, 0o777), 'time': lambda: os.utime(a, (1, 1)),
      'moved': lambda: os.rename(a, top + '/b'), 'removed': lambda: os.unlink(top + '/b'), 'attribute': lambda: os.setxattr(a, 'user.x', b'x'),
      'by proc': lambda: open('/proc/self/root' + a, 'r+')})""", ok_out("\n")),
    Probe("M03", "no way out: not by .., by a link, by a descriptor or by /proc", HEAD + """
def reads(path): return lambda: 'canary' in open(path).read()
def above():
    fd = os.open(top, os.O_RDONLY)
    for _ in range(3):
        fd = os.open('..', os.O_RDONLY, dir_fd=fd)
        if 'secret.txt' in os.listdir(fd): return True
    return False
told(dict({p: reads(p) for p in (top + '/../secret.txt', top + '/sub/../../secret.txt', top + '/abs', top + '/rel', top + '/far', top + '/sub/up')},
          fd=above, link=lambda: (os.symlink(os.readlink(top + '/abs'), made + '/l'), reads(made + '/l')())[1],
          proc=lambda: any(reads('/proc/1/cwd/' + p)() for p in ('../secret.txt', '../../secret.txt'))))""", ok_out("\n")),
    Probe("M04", "no hard link and no move from one folder to another", HEAD + """
open(made + '/own', 'w').close()
told({'out': lambda: os.link(top + '/a.txt', '/mnt/data/x'), 'over': lambda: os.link(top + '/a.txt', made + '/x'),
      'data': lambda: os.link(made + '/own', '/mnt/data/y'), 'move': lambda: os.rename(made + '/own', '/mnt/host/own')})""", ok_out("\n")),
    Probe("M05", "no device and no set-user-ID file in the one that may be written to", HEAD + """
open(made + '/s', 'w').close()
told({'device': lambda: os.mknod(made + '/d', 0o20666, os.makedev(1, 1)), 'pipe': lambda: os.mkfifo(made + '/p'), 'mode': lambda: os.chmod(made + '/s', 0o4755),
      'open': lambda: os.open(made + '/t', os.O_CREAT | os.O_WRONLY, 0o4755)})""", ok_out("\n")),
    Probe("M06", "a folder is not mounted otherwise, nor unmounted", HEAD + """
import ctypes, struct
c = ctypes.CDLL(None, use_errno=True)
told({'remount': lambda: c.mount(None, top.encode(), None, 4096 | 32, None) == 0, 'bind': lambda: c.mount(made.encode(), (top + '/sub').encode(), None, 4096, None) == 0,
      'attributes': lambda: c.syscall(442, -100, top.encode(), 0, struct.pack('QQQQ', 0, 1, 0, 0), 32) == 0, 'unmount': lambda: c.umount2(top.encode(), 2) == 0,
      'namespace': lambda: c.unshare(0x10020000) == 0})""", ok_out("\n")),
    Probe("M07", "the place of the folders cannot be changed", HEAD + """
told({'moved': lambda: os.rename(top, '/mnt/host/other'), 'linked': lambda: os.symlink('/etc', '/mnt/host/etc'), 'removed': lambda: os.rmdir('/mnt/host/made'),
      'file': lambda: open('/mnt/host/file', 'w')})""", ok_out("\n")),
]


def make(folder, uid):
    """shared and made in that folder, and beside them what no code may read."""
    for name in ("shared/sub", "made"):
        os.makedirs(os.path.join(folder, name))
    for name, text in (("secret.txt", "canary"), ("shared/a.txt", "a"), ("shared/sub/b.txt", "b")):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    secret = os.path.join(folder, "secret.txt")
    for name, target in (("abs", secret), ("rel", "../secret.txt"), ("far", "../../../../../../.." + secret), ("sub/up", "../../secret.txt")):
        os.symlink(target, os.path.join(folder, "shared", name))
    if uid != os.geteuid():
        rootless.own(folder, uid)
    for name in (".", "shared", "shared/sub", "made"):
        os.chmod(os.path.join(folder, name), 0o777)
    return folder


def prepare(there):
    """What the program is started with."""
    folder = there.path("mounts")
    if not os.path.exists(folder):
        make(folder, there.uid)
    return ("--mount", folder + "/shared", "--mount", folder + "/made:rw")
