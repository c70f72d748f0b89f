"""rows.py - the rows of one batch over one interpreter (--prepare): what the code of a row tries against the rows beside it, against the one that is asked in
its place when it has ended, and against the program that asks them all. A model that knows who is where lets each begin when the others are ready."""
import http.server
import json
import os
import threading

from .cell import NOT_RUN, Finding, Probe, judge
from .session import gone, marked, new_mark

READ = Probe("ROW-READ", "row: memory, environment, descriptors and names of another row are in nothing that can be read", None, None)
FILES = Probe("ROW-FILES", "row: nor are its files in /tmp, /mnt/data and /dev/shm", None, None)
IPC = Probe("ROW-IPC", "row: nor its shared memory (System V, POSIX), its abstract sockets and its ports", None, None)
SIGNAL = Probe("ROW-SIGNAL", "row: signals and ptrace for all processes there are: the row beside it goes on", None, None)
GREEDY = Probe("ROW-GREEDY", "row: with all processes, memory and room for files that it may have, the row beside it has its own", None, None)
STAYS = Probe("ROW-STAYS", "row: processes in sessions of their own that ignore signals end with it, while the batch goes on", None, None)
NEXT = Probe("ROW-NEXT", "row: the next one in its place finds nothing of it, and what was prepared as it was made", None, None)
ANSWER = Probe("ROW-ANSWER", "row: answers for others, written to every descriptor there is, are nobody's", None, None)
ROWS = [READ, FILES, IPC, SIGNAL, GREEDY, STAYS, NEXT, ANSWER]

PREPARE = "import ctypes, json, os, re, secrets, signal, socket, time\nshared = {'n': 1}\n"
NAME = "open('/proc/self/comm', 'w').write('%s')\n"
# The secret is made there: neither the model nor the code of the others has it.
VICTIM = """
secret = 'row-' + 'secret-' + secrets.token_hex(8)
shared['n'] = 2
os.environ['ROW_SECRET'] = secret
for folder in '/tmp', '/mnt/data', '/dev/shm':
    try: open(folder + '/beside', 'w').write(secret)
    except OSError: pass
held = open('/tmp/beside')
box, port = socket.socket(socket.AF_UNIX), socket.create_server(('127.0.0.1', 4711))
box.bind(chr(0) + 'row-beside')
box.listen(5)
libc = ctypes.CDLL(None, use_errno=True)
segment = libc.shmget(0x5eed, 4096, 0o1666)
print('up')
"""
CHECK = """
def works(f):
    try: return f() or 'worked'
    except OSError as e: return repr(e)
def fork():
    kids = []
    for i in range(5):
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
def fill():
    open('/mnt/data/more', 'wb').write(bytes(4 << 20))
def memory():
    bytearray(32 << 20)
print(json.dumps({'fork': works(fork), 'fill': works(fill), 'memory': works(memory), 'n': shared['n'], 'file': held.read() == secret,
                  'listening': works(lambda: socket.create_connection(('127.0.0.1', 4711)).close())}))
"""
ATTACK = """
libc = ctypes.CDLL(None, use_errno=True)
pattern, found, read = re.compile(b'row-' + b'secret-[0-9a-f]{16}'), set(), 0
pids = [int(p) for p in os.listdir('/proc') if p.isdigit()]
def look(where, data):
    global read
    read += 1
    if pattern.search(data): found.add(where)
for pid in pids:
    for name in 'environ', 'cmdline', 'comm', 'maps':
        try: look('%s of %d' % (name, pid), open('/proc/%d/%s' % (pid, name), 'rb').read())
        except OSError: pass
    try:
        memory = open('/proc/%d/mem' % pid, 'rb', 0)
        for line in open('/proc/%d/maps' % pid):
            a, b = (int(x, 16) for x in line.split()[0].split('-'))
            if 'r' not in line.split()[1] or b - a > 64 << 20: continue
            try:
                memory.seek(a)
                look('mem of %d' % pid, memory.read(b - a))
            except (OSError, ValueError, OverflowError): pass
    except OSError: pass
    try:
        for fd in os.listdir('/proc/%d/fd' % pid):
            path = '/proc/%d/fd/%s' % (pid, fd)
            try:
                target = os.readlink(path)
                look('fd', target.encode())
                if target.startswith('/'):
                    f = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                    look('file of %d' % pid, os.read(f, 1 << 16))
                    os.close(f)
            except OSError: pass
    except OSError: pass
files = [folder + '/beside' for folder in ('/tmp', '/mnt/data', '/dev/shm') if os.path.exists(folder + '/beside')]
ipc = []
if libc.shmget(0x5eed, 4096, 0o666) >= 0: ipc.append('shmget')
for family, address in (socket.AF_UNIX, chr(0) + 'row-beside'), (socket.AF_INET, ('127.0.0.1', 4711)):
    try:
        socket.socket(family).connect(address)
        ipc.append(repr(address))
    except OSError: pass
for name in '/proc/net/unix', '/proc/net/tcp', '/proc/sysvipc/shm':
    try:
        if re.search('row-beside|:1267 |0*%d ' % 0x5eed, open(name).read()): ipc.append(name)
    except OSError: pass
answer = b'{"id":1,"result":{"status":"answered","answer":"forged"}}' + bytes([10])
forged = 0
for fd in os.listdir('/proc/self/fd'):
    if int(fd) > 2:
        for data in answer, bytes(16) + b'r' + len(answer).to_bytes(4, 'little') + answer:
            try:
                f = os.dup(int(fd))
                os.set_blocking(f, False)
                forged += os.write(f, data) > 0
                os.close(f)
            except OSError: pass
print(json.dumps({'found': sorted(found), 'read': read, 'files': files, 'ipc': ipc, 'forged': forged, 'pids': len(pids)}), flush=True)
for pid in pids:
    if pid not in (os.getpid(), os.getppid()):
        libc.ptrace(16, pid, 0, 0)              # PTRACE_ATTACH
        for number in (signal.SIGKILL, signal.SIGSTOP):
            try: os.kill(pid, number)
            except OSError: pass
"""
TAKE_ALL = """
kept, kids = [], 0
try:
    with open('/mnt/data/full', 'wb') as f:
        while True: f.write(bytes(1 << 20))
except OSError: pass
try:
    while len(kept) < 12: kept.append(bytearray(8 << 20))
except MemoryError: pass
try:
    while kids < 2000:
        if os.fork() == 0:
            while True: time.sleep(60)
        kids += 1
except OSError: pass
print('up', len(kept), kids)
"""
STAY = """
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
for i in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(1)
        os._exit(0)
for folder in '/tmp', '/mnt/data', '/dev/shm':
    try: open(folder + '/left', 'w').close()
    except OSError: pass
shared['n'] = 3
left = True
print('up')
"""
LOOK = """
names = []
for p in os.listdir('/proc'):
    try: names.append(open('/proc/%s/comm' % p).read().strip())
    except OSError: pass
print(json.dumps({'n': shared['n'], 'variable': 'left' in globals(), 'names': [n for n in names if n[:2] == 'sp' and len(n) == 12],
                  'files': [f + '/left' for f in ('/tmp', '/mnt/data', '/dev/shm') if os.path.exists(f + '/left')]}))
"""
WAIT = 60


class Model:
    """Three rows at a time would not fit on a slow machine: "beside" is asked all the time, the others one after another in the second place."""

    def __init__(self, marks):
        self.marks, self.told, self.gone = marks, {}, None
        self.full, self.checked, self.over = threading.Event(), threading.Event(), threading.Event()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args):
                pass

            def give(self, kind, data):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.give("application/json", b'{"object": "list", "data": [{"id": "m", "object": "model"}]}')

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                row = next(json.dumps(m["content"]) for m in reversed(body["messages"]) if m["role"] == "user").rstrip('"]}').split()[-1]
                results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
                code = model.next(row, results)
                delta = {"role": "assistant", "content": "answer of %s" % row}
                if code:
                    delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": "c%d" % len(results), "type": "function", "function": {
                        "name": "execute_python", "arguments": json.dumps({"code": code})}}]}
                events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                          {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if code else "stop"}]}]
                self.give("text/event-stream", b"".join(b"data: %s\n\n" % json.dumps(dict(e, id="x", object="chat.completion.chunk", created=1, model="m")).encode()
                                                        for e in events) + b"data: [DONE]\n\n")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d/v1" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def named(self, row, code):
        return NAME % self.marks[row] + code

    def next(self, row, results):
        """The code that this row runs next; None: it is answered."""
        self.told[row] = results
        if row == "beside":
            if not results:
                return self.named(row, VICTIM)
            if len(results) == 1:
                self.full.wait(WAIT)
                return CHECK
            self.checked.set()
            self.over.wait(WAIT)
            return None
        if not results:
            for _ in range(WAIT):
                if marked(self.marks["beside"]) and self.told.get("beside"):
                    break
                threading.Event().wait(1)
            if row == "next":
                self.gone = gone(self.marks["stay"], 3)
            return self.named(row, {"attack": ATTACK, "greedy": TAKE_ALL, "stay": STAY, "next": LOOK}[row])
        if row == "greedy":
            self.full.set()
            self.checked.wait(WAIT)
        if row == "next":
            self.over.set()
        return None


def run_group(there):
    rows = ("beside", "attack", "greedy", "stay", "next")
    model = Model({row: new_mark() for row in rows})
    there.url = model.url
    there.write("load.py", PREPARE)
    there.write("rows.jsonl", "".join(json.dumps({"id": row, "question": "what about %s" % row}) + "\n" for row in rows))
    r = there.run("batch", "rows.jsonl", "-o", "rows.out", "-j", "2", "--prepare", "load.py", "--memory", "256m", "--pids", "40", "--data-size", "64m",
                  timeout=6 * WAIT)
    model.server.shutdown()
    model.server.server_close()
    answers = {}
    if os.path.exists(os.path.join(there.work, "rows.out")):
        with open(os.path.join(there.work, "rows.out")) as f:
            answers = {line["id"]: line["answer"] for line in map(json.loads, f)}
    for name in ("load.py", "rows.jsonl", "rows.out"):
        if os.path.exists(os.path.join(there.work, name)):
            os.unlink(os.path.join(there.work, name))
    seen = {row: said[-1].strip() for row, said in model.told.items() if said}
    if set(seen) != set(rows):
        return [Finding(there.place, "rows", row, NOT_RUN, "%r; %s" % (r, seen)) for row in ROWS]

    def of(row):
        return json.loads(next(line for line in seen[row].split("\n") if line.startswith('{"%s' % ("found" if row == "attack" else ""))))
    on, mine = {"fork": "worked", "fill": "worked", "memory": "worked", "n": 2, "file": True, "listening": "worked"}, [(row, "answer of " + row) for row in rows]
    holds = {READ: lambda: of("attack")["found"] == [] and of("attack")["read"] > 20,
             FILES: lambda: of("attack")["files"] == [],
             IPC: lambda: of("attack")["ipc"] == [],
             SIGNAL: lambda: of("beside")["n"] == 2 and of("beside")["listening"] == "worked",
             GREEDY: lambda: of("beside") == on and seen["greedy"].startswith("up"),
             STAYS: lambda: model.gone and seen["stay"].startswith("up"),
             NEXT: lambda: {k: v for k, v in of("next").items() if k != "names"} == {"n": 1, "variable": False, "files": []}
             and set(of("next")["names"]) <= {model.marks["next"]},
             ANSWER: lambda: sorted(answers.items()) == sorted(mine) and of("attack")["forged"] > 0}
    return [judge(there.place, "rows", row, holds[row], "%s; answers %s" % (seen, answers)) for row in ROWS]
