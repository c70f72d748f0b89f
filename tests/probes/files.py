"""files.py - hostile cells against what is copied out to the host (F of docs/SECURITY.md), one session in this order."""
import os

from .cell import MIB, Probe, ok, ok_out, read  # noqa: F401

EVIL_NAMES = ["a\nb.txt", "\x1b[31mred.txt", "-rf", "\u202etxt.exe", "n" * 250 + ".txt", "\"'`$(x)`.txt", ".bashrc", "..\\up.txt"]

FILE_PROBES = [
    Probe("F01", "links to files of the host are not delivered", """
import os
for i, target in enumerate(('/etc/passwd', '/etc/hostname', '/proc/self/environ', '/usr/bin/python3', '../../etc/passwd')):
    os.symlink(target, '/mnt/data/link%d.txt' % i)
open('real.txt', 'w').write('real')""", lambda c: ok(c) and [f["name"] for f in c.files] == ["real.txt"]),
    Probe("F03", "no hard link to a file outside", """
import os
for path in ('/usr/bin/env', '/etc/alternatives', '/proc/self/status'):
    try:
        os.link(path, '/mnt/data/hard')
        print('linked', path)
    except OSError: pass""", ok_out("")),
    Probe("F04", "a socket, a folder and a device named like a figure do not block", """
import os, socket
try: os.mkfifo('/mnt/data/plot.png')
except OSError: os.symlink('/dev/zero', '/mnt/data/plot.png')       # the filter refuses mknod
socket.socket(socket.AF_UNIX).bind('/mnt/data/sock.png')
os.mkdir('/mnt/data/dir.png')""", lambda c: ok(c) and c.files == [] and c.seconds < 1.5),
    Probe("F05", "hostile names are delivered under harmless ones",
     "names = %r\nfor n in names: open('/mnt/data/' + n, 'w').write('x')\nopen(b'/mnt/data/\\xff\\xfe.txt', 'w').write('x')\n" % (EVIL_NAMES,),
     lambda c: ok(c) and len(c.files) == len(EVIL_NAMES) + 1 and all(read(f) == b"x" for f in c.files) and
     not any(ord(ch) < 32 or ch in "\x7f\u202e/" for f in c.files for ch in os.path.basename(f["path"])) and
     not any(os.path.basename(f["path"])[0] in ".-" for f in c.files)),
    Probe("F06", "what looks like configuration lands in the state folder, without a dot",
     "for n in ('.gitconfig', '.env', 'sitecustomize.py', '.bashrc2', 'config.yaml'): open(n, 'w').write('raise SystemExit')",
     lambda c: ok(c) and len(c.files) == 5 and all("/state/" in f["path"] and os.path.basename(f["path"])[0] != "." for f in c.files)),
    Probe("F07", "broken and huge images are passed or refused, never decoded", """
import struct
open('broken.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\nrubbish')
open('bomb.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + struct.pack('>I4sIIBBBBB', 13, b'IHDR', 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0))
open('big.png', 'wb').write(b'\\x89PNG' + bytes(17 << 20))
open('sparse.bin', 'wb').truncate(60 << 20)""",
     lambda c: ok(c) and sorted(f["name"] for f in c.files) == ["big.png", "bomb.png", "broken.png"] and c.seconds < 4),
    Probe("F08", "an archive is delivered, not unpacked", """
import tarfile, io
with tarfile.open('t.tar', 'w') as t:
    for name in ('../../escaped', '/tmp/escaped'):
        info = tarfile.TarInfo(name)
        info.size = 1
        t.addfile(info, io.BytesIO(b'x'))""", lambda c: ok(c) and [f["name"] for f in c.files] == ["t.tar"]),
    Probe("F09", "closed folders do not stop the removal",
     "import os\nos.mkdir('closed')\nopen('closed/in', 'w').write('x')\nos.chmod('closed', 0)\nos.mkdir('locked', 0)", ok),
    Probe("F10", "a delivered file is the caller's own",
     "open('mine.txt', 'w').write('x')", lambda c: ok(c) and len(c.files) == 1),
    Probe("F11", "/mnt/data cannot be removed, renamed or replaced", """
import os
for what in (lambda: os.rmdir('/mnt/data'), lambda: os.rename('/mnt/data', '/mnt/other'), lambda: os.symlink('/etc', '/mnt/data2'),
             lambda: os.unlink('/mnt/data')):
    try:
        what()
        print('done')
    except OSError: pass""", ok_out("")),
    # last, since it goes on during the next cells
    Probe("F02", "a folder swapped with a link while files are copied: nothing outside is read", """
import os, time
os.mkdir('real'); open('real/passwd', 'w').write('mine'); os.symlink('/etc', 'fake'); os.symlink('real', 'swap')
if os.fork() == 0:
    end = time.monotonic() + 1
    while time.monotonic() < end:
        os.rename('real', 'd'); os.rename('fake', 'real'); os.rename('real', 'fake'); os.rename('d', 'real')
    os._exit(0)
time.sleep(0.05)""", lambda c: ok(c) and all(read(f) == b"mine" for f in c.files)),
]
