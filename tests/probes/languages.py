"""languages.py - hostile code in other languages than Python (G of docs/SECURITY.md): a shell, SQL, JavaScript where there is a node, and a program
of its own from a file. A session for each language, in this order; after every probe Python's interpreter still has its variables."""
import os

from program import PLACES

from .cell import KIB, MARK, MIB, Probe, ok, ok_out, out_of_memory, soon, timed_out

SHELL = tuple(place for place in PLACES if place != "podman-rootless")       # the image of that user has no bash
NODE = tuple(p for p in ("docker", "podman", "bwrap") if p != "bwrap" or os.path.exists("/usr/bin/node"))   # it does not start where memory is limited by process
CONFIG = "languages:\n  program: {run: [python3, '{file}']}\n"
TOOLS = {"sh": "execute_shell", "sql": "execute_sql", "js": "execute_javascript", "program": "execute_program"}
KEPT = "kept * 6"       # the cell after a probe: 42, if Python has kept what the first one made
AGAIN = "kept = 7\n" + KEPT     # after one that killed all that it can, which is Python and its snapshots
SWEEP = """
import os, signal, time
end = time.monotonic() + 1.8
def ours():
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if open('/proc/%%s/comm' %% pid).read().strip() == '%s': yield int(pid)
        except OSError: pass
for number in (signal.SIGSTOP, signal.SIGKILL):
    for i in range(30):
        for pid in ours():
            try: os.kill(pid, number)
            except OSError: pass
        time.sleep(0.01)
# One that is killed goes on until it has a processor, and is seen until its parent has had one.
while list(ours()) and time.monotonic() < end: time.sleep(0.01)
print(len(list(ours())))""" % MARK


def spoken(id_, language, title, code, holds, places=None):
    return Probe(id_, "%s: %s" % (language, title), code, holds, places=places or (SHELL if language == "sh" else None), language=language)


def cell_after(p):
    return AGAIN if "kills all" in p.title else KEPT


def prepare(there):
    there.configure(CONFIG)
    return ("--languages", "sh,sql,program" + (",js" if there.place in NODE else ""))


def call_of(probe, code):
    return {"name": TOOLS[probe.language], "arguments": {"code": code}} if probe.language else {"code": code}


def ended(*statuses):
    return lambda c: c.status in statuses and soon(c) and c.out == ""


def flooded(c):
    return c.status in ("timeout", "output") and len(c.out) <= 17 * MIB and len(c.model_text) < 64 * KIB and soon(c)


FILES = ["/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/cwd/etc/shadow", "/proc/1/root/etc/shadow", "/etc/shadow", "/root/.bashrc", "/root/.ssh/id_rsa", "/var/run/docker.sock"]
# To all descriptors: a result of a cell as the worker writes it, and the last frame of a request as the supervisor does.
FRAMES = r"""import os, struct
said = b''.join(b'%s' % bytes(16) + kind + struct.pack('<I', 9) + b'v\4\0\0\0' + b'6666' for kind in (b'R', b'F', b'Z'))
for fd in range(3, 1024):
    for text in (said, struct.pack('<I', len(said)) + b'Z' + said, bytes(range(256)) * 8):
        try: os.write(fd, text)
        except OSError: pass
"""

FIRST = Probe("G00", "Python has a variable", "kept = 7", ok)
SHELL_PROBES = [
    FIRST,
    spoken("G01", "sh", "it cannot use more than the memory", "x=$(head -c 600M /dev/zero | tr '\\0' a); echo ${#x} | grep 629145600",
           lambda c: c.status in ("memory", "exit", "died", "timeout") and "629145600" not in c.out),
    spoken("G02", "sh", "a fork bomb is held by the limit of processes, and ends with the session",
           "b() { b & b & wait; }; (echo -n %s >/proc/$BASHPID/comm; b) 2>/dev/null" % MARK, lambda c: c.status in ("timeout", "ok", "exit") and soon(c)),
    Probe("G02b", "what is left of it can be killed", SWEEP, ok_out("0\n"), places=SHELL),
    spoken("G03", "sh", "endless output ends at its time, and is cut", "yes", flooded),
    spoken("G04", "sh", "a loop that ignores every signal ends at its time", "trap '' INT TERM QUIT HUP; while :; do :; done", timed_out()),
    spoken("G04b", "sh", "a child that ignores every signal ends at its time", "(trap '' INT TERM; sleep 600); trap '' INT; sleep 600", timed_out()),
    spoken("G04c", "sh", "a stopped one ends at its time", "kill -STOP $$", timed_out()),
    spoken("G04d", "sh", "one that begins anew at each interrupt ends at its time", "trap 'f' INT; f() { while :; do sleep 600; done; }; f", timed_out()),
    spoken("G05", "sh", "files of the host, and of the first process, cannot be read", "cat %s 2>/dev/null; ls /proc/1/fd /proc/1/map_files 2>/dev/null; true" % " ".join(FILES), ok_out("")),
    spoken("G05b", "sh", "nothing can be written but the sandbox's own folders", "for d in / /usr /etc /home /proc/sys/kernel /sys /boot; do touch $d/escaped && echo $d; done 2>/dev/null; true", ok_out("")),
    spoken("G06", "sh", "there is no network", "grep -v 'lo:' /proc/net/dev | grep :; (exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null && echo open; (echo >/dev/udp/192.0.2.1/53) 2>/dev/null && echo sent; true",
           ok_out("")),
    spoken("G07", "sh", "frames on every descriptor are not taken for the worker's",
           "for fd in {1..120}; do for k in R F Z; do printf '%s'$k'\\t\\0\\0\\0v\\4\\0\\0\\0006666' \"$__sp_nonce\" >&$fd; printf '\\377%.0s' {1..64} >&$fd; done; done 2>/dev/null; true",
           lambda c: c.status in ("ok", "died", "timeout", "exit") and c.value in (None, "") and soon(c)),
    spoken("G08", "sh", "one that kills all but itself harms nobody else",
           "for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -9 $p; done 2>/dev/null; true", lambda c: c.status in ("ok", "died")),
    spoken("G08b", "sh", "one that kills all at once, too", "kill -9 -1; read -t 0.3 <> <(:); true", lambda c: c.status in ("ok", "died")),
    spoken("G09", "sh", "it does what it says again", "echo again", ok_out("again\n")),
]

SQL_PROBES = [
    FIRST,
    spoken("G11", "sql", "it cannot use more than the memory",
           "create table big as with recursive c(x) as (select 1 union all select x + 1 from c where x < 20) select hex(randomblob(20000000)) as b from c", out_of_memory),
    spoken("G12", "sql", "a query without end ends at its time", "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c", timed_out()),
    spoken("G13", "sql", "a result without end is cut", "with recursive c(x) as (select 1 union all select x + 1 from c limit 20000) select x, printf('%.900c', 'x') as t from c",
           lambda c: c.status in ("ok", "memory", "timeout") and len(c.model_text) < 64 * KIB),
    spoken("G14", "sql", "no file outside can be read or made, and no code loaded",
           "attach '/etc/shadow' as a; select * from a.sqlite_master", lambda c: c.status == "exception"),
    spoken("G14b", "sql", "no file outside can be made", "attach '/usr/escaped.db' as b; create table b.t(x)", lambda c: c.status == "exception"),
    spoken("G14c", "sql", "no code can be loaded", "select load_extension('/usr/lib/x86_64-linux-gnu/libc.so.6')", lambda c: c.status == "exception"),
    spoken("G15", "sql", "a table under the name of a variable does not change it", "create temp table kept as select 5 as n; drop table if exists kept", lambda c: ok(c) and not c.state_lost),
]

JAVASCRIPT_PROBES = [
    FIRST,
    spoken("G21", "js", "it cannot use more than the memory", "const held = []; for (;;) held.push(new Array(1e6).fill(held.length + 0.5))", ended("memory", "died", "exit", "timeout"), NODE),
    spoken("G21b", "js", "memory outside of its heap counts", "const kept = []; for (let i = 0; i < 60; i++) kept.push(Buffer.alloc(10e6, 1)); kept.length", ended("memory", "died", "exception", "exit"), NODE),
    spoken("G22", "js", "a fork bomb is held by the limit of processes, and ends with the session",
           "const { spawn } = require('child_process'); for (let i = 0; i < 300; i++) spawn('sh', ['-c', 'echo -n %s >/proc/$$/comm; sleep 30; true']).on('error', () => {}); 1" % MARK,
           lambda c: c.status in ("ok", "timeout", "died", "memory", "exception") and soon(c), NODE),
    Probe("G22b", "what is left of it can be killed", SWEEP, ok_out("0\n"), places=NODE),
    spoken("G23", "js", "endless output ends at its time, and is cut", "const line = 'x'.repeat(1 << 16) + '\\n'; for (;;) require('fs').writeSync(1, line)", flooded, NODE),
    spoken("G24", "js", "a loop that ignores every signal ends at its time",
           "for (const s of ['SIGINT', 'SIGTERM', 'SIGHUP']) { process.removeAllListeners(s); process.on(s, () => {}); } await 1; for (;;) {}", timed_out(), NODE),
    spoken("G24b", "js", "a wait that nothing ends, ends at its time", "process.removeAllListeners('SIGINT'); await new Promise(() => setInterval(() => {}, 1000))", timed_out(), NODE),
    spoken("G24c", "js", "one that has lost its own functions ends at its time", "for (const k of Object.keys(require('fs'))) require('fs')[k] = null; Buffer.concat = Buffer.alloc = null; require('util').inspect = null; 5",
           lambda c: c.status in ("timeout", "exception", "ok") and soon(c), NODE),
    spoken("G25", "js", "files of the host, and of the first process, cannot be read",
           "for (const f of %r) try { console.log(require('fs').readFileSync(f).length) } catch { }" % FILES, ok_out(""), NODE),
    spoken("G26", "js", "there is no network",
           "console.log(await new Promise(r => require('net').connect(80, '192.0.2.1').on('connect', () => r('open')).on('error', e => r(e.code))), require('fs').readFileSync('/proc/net/dev', 'latin1').match(/^ *\\w+:/gm).length)",
           ok_out("ENETUNREACH 1\n"), NODE),
    spoken("G27", "js", "frames on every descriptor are not taken for the worker's",
           "const said = Buffer.concat([...'RFZ'].map(k => Buffer.from('\\0'.repeat(16) + k + '\\x09\\0\\0\\0v\\x04\\0\\0\\x006666'))); for (let fd = 3; fd < 120; fd++) try { require('fs').writeSync(fd, said) } catch { }",
           lambda c: c.status in ("ok", "died", "timeout", "exit") and c.value in (None, "") and soon(c), NODE),
    spoken("G28", "js", "one that kills all at once harms nobody else", "try { process.kill(-1, 'SIGKILL') } finally { await new Promise(r => setTimeout(r, 300)) }", lambda c: c.status in ("ok", "died", "exception"), NODE),
    spoken("G29", "js", "it does what it says again", "console.log('again')", ok_out("again\n"), NODE),
]

PROGRAM_PROBES = [
    FIRST,
    spoken("G31", "program", "it cannot use more than the memory", "x = b'x' * (600 << 20)\nprint(len(x))", lambda c: c.status in ("memory", "exit", "died") and c.out == "" or "MemoryError" in c.out),
    spoken("G32", "program", "a fork bomb is held by the limit of processes, and ends with the session", """
import os, time
open('/proc/self/comm', 'w').write('%s')
while True:
    try: os.fork()
    except OSError: time.sleep(0.2)
    except KeyboardInterrupt: pass""" % MARK, lambda c: c.status == "timeout" and soon(c)),
    Probe("G32b", "what is left of it can be killed", SWEEP, ok_out("0\n")),
    spoken("G33", "program", "endless output ends at its time, and is cut", "import os\nwhile True: os.write(1, b'x' * 65536)", flooded),
    spoken("G34", "program", "a loop that ignores every signal ends at its time",
           "import signal\nfor s in (2, 15, 1, 3, 10, 12): signal.signal(s, signal.SIG_IGN)\nwhile True: pass", timed_out()),
    spoken("G34b", "program", "a child that keeps stdout open does not hold the cell", "import os, time\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\nprint('went on')",
           ok_out("went on\n")),
    spoken("G35", "program", "files of the host, and of the first process, cannot be read", "for f in %r:\n    try: print(len(open(f, 'rb').read(9)), f)\n    except OSError: pass" % FILES, ok_out("")),
    spoken("G36", "program", "there is no network", "import socket, errno\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError as e: print(errno.errorcode[e.errno])\nprint(open('/proc/net/dev').read().count(':'))",
           ok_out("ENETUNREACH\n1\n")),
    spoken("G37", "program", "frames on every descriptor are not taken for the worker's", FRAMES, lambda c: c.status in ("ok", "exit") and c.value in (None, "")),
    spoken("G38", "program", "one that kills all at once harms nobody else", "import os, time\nos.kill(-1, 9)\ntime.sleep(0.3)", lambda c: c.status in ("ok", "died", "exit")),
]

# One session with all of them took more than two minutes on a busy machine, since so much of it is waiting for limits.
GROUPS = {"shell": SHELL_PROBES, "sql": SQL_PROBES, "javascript": JAVASCRIPT_PROBES, "program": PROGRAM_PROBES}
