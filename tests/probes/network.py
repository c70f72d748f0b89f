"""network.py - hostile cells against the hosts of --allow-net and --secret: servers of ours on loopback, one in the clear and one with TLS that code may
reach, one that gets a secret and says it back, and one that nobody may reach."""
import atexit
import base64
import http.server
import json
import os
import ssl
import subprocess
import threading
import urllib.parse

import rootless

from .cell import Probe, judge, ok_out

SECRET = "S3cr/et+value=of-probes"
MOST_SENT = 128 << 10
ENVIRONMENT = {"PROBE_SECRET": SECRET}
# The same in every cell: what answers come, and what a raw connection to the proxy gets.
HEAD = """
import json, os, socket, ssl, urllib.request, urllib.error
at = json.load(open('/mnt/data/ports.json'))
proxy = ('127.0.0.1', int(os.environ.get('HTTP_PROXY', ':9').rpartition(':')[2]))
def get(url, **more):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **more), timeout=20) as r:
            return '%d %s %s' % (r.status, r.read().decode(), dict(r.headers))
    except urllib.error.HTTPError as e:
        return '%d %s' % (e.code, e.reason)
    except OSError as e:
        return str(e)
def raw(text, more=b''):
    with socket.create_connection(proxy, 20) as s:
        s.sendall(text.encode())
        got = s.recv(4096)
        if more:
            s.sendall(more)
            while True:
                try: piece = s.recv(65536)
                except OSError: break
                if not piece: break
                got += piece
        return got
def hello(host):
    ctx = ssl.create_default_context()
    ctx.check_hostname, ctx.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    tls = ctx.wrap_bio(ssl.MemoryBIO(), out, server_hostname=host)
    try: tls.do_handshake()
    except ssl.SSLWantReadError: pass
    return out.read()
"""

NETWORK_PROBES = [
    Probe("N01", "a host that is not named is not reached, however its address is written", HEAD + """
ways = ['http://%s:%d/' % (h, at['none']) for h in ('127.0.0.1', 'localhost', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0', '[::1]', '[::ffff:127.0.0.1]',
        '127.0.0.1.', 'LOCALHOST.', '127.0.0.1%2e')]
print([w for w in ways if 'canary' in get(w)], 'canary' in str(raw('CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % at['none'], b'GET / HTTP/1.0\\r\\n\\r\\n')))""", ok_out("[] False\n")),
    Probe("N02", "a name that is allowed and leads to an inner address is refused (rebinding)", HEAD + """
print('no public address' in get('http://localhost:%d/' % at['plain']), b'no public address' in raw('CONNECT localhost:%d HTTP/1.1\\r\\n\\r\\n' % at['plain']))""",
          ok_out("True True\n")),
    Probe("N03", "a redirect to another host is judged anew", HEAD + """
print(get('http://127.0.0.1:%d/away' % at['plain'])[:3])""", ok_out("403\n")),
    Probe("N04", "a tunnel whose TLS names another host (SNI) reaches nobody", HEAD + """
print(raw('CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % at['tls'], hello('evil.example')).split(b'\\r\\n\\r\\n', 1)[1])""", ok_out("b''\n")),
    Probe("N05", "a tunnel without TLS reaches nobody", HEAD + """
print(raw('CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % at['plain'], b'GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n').split(b'\\r\\n\\r\\n', 1)[1])""", ok_out("b''\n")),
    Probe("N06", "a Host that is another one than the URL's is refused (fronting)", HEAD + """
print(get('http://127.0.0.1:%d/' % at['plain'], headers={'Host': 'evil.example'})[:3])""", ok_out("403\n")),
    Probe("N07", "a request that can be read in two ways is refused (smuggling)", HEAD + """
url = 'POST http://127.0.0.1:%d/ HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n' % (at['plain'], at['plain'])
print(*[raw(url + h + '\\r\\n\\r\\n')[9:12].decode() for h in ('Transfer-Encoding: chunked\\r\\nContent-Length: 3', 'Content-Length: 3\\r\\nContent-Length: 4',
        'Content-Length : 3', ' X: y', 'X: y\\n\\nGET / HTTP/1.1')])""", ok_out("411 400 400 400 400\n")),
    Probe("N08", "a secret goes to its host, and is in nothing that comes back", HEAD + """
import base64
answer = get('http://127.0.0.1:%d/echo' % at['secret'])
own = get('http://127.0.0.1:%d/echo' % at['secret'], headers={'Authorization': 'Bearer mine', 'Accept-Encoding': 'gzip'})
print(answer[:3], own[:3], 'knows it' in answer, 'mine' in own, *[form for form in at['forms'] if base64.b64decode(form).decode() in answer + own])""",
          ok_out("200 200 True False\n")),
    Probe("N09", "a secret is nowhere inside", HEAD + """
import base64, glob
value, found = base64.b64decode(at['forms'][0]), []
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline') + glob.glob('/run/sandpiper/*') + glob.glob('/tmp/*'):
    try:
        if value in open(path, 'rb').read(1 << 20): found.append(path)
    except OSError: pass
print(found, value.decode() in str(os.environ))""", ok_out("[] False\n")),
    Probe("N10", "a secret's host is not reached by a tunnel, nor another port or host with it", HEAD + """
print(b'ask for http://' in raw('CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % at['secret']), 'knows it' in get('http://127.0.0.1:%d/echo' % at['plain']))""",
          ok_out("True False\n")),
    Probe("N11", "the proxy is the only way: no server of the machine is reached without it", HEAD + """
def direct(port):
    try: return not socket.create_connection(('127.0.0.1', port), 3).close()
    except OSError: return False
print(*[name for name in ('plain', 'tls', 'secret', 'none') if direct(at[name])])""", ok_out("\n")),
    Probe("N13", "a secret is not given away in pieces (Range)", HEAD + """
import base64
pieces = [get('http://127.0.0.1:%d/echo' % at['secret'], headers={'Range': 'bytes=%d-%d' % (i, i + 9)}) for i in range(0, 60, 10)]
print(pieces[0][:3], base64.b64decode(at['forms'][0]).decode() in ''.join(p[4:14] for p in pieces))""", ok_out("200 False\n")),
    Probe("N12", "no more leaves than may, in one request or in many", HEAD + """
get('http://127.0.0.1:%d/' % at['plain'], data=bytes(1 << 20))
for _ in range(8):
    get('http://127.0.0.1:%d/' % at['plain'], data=bytes(30000))
print(get('http://127.0.0.1:%d/' % at['plain'])[:3], int(get('http://127.0.0.1:%d/' % at['plain'])[:3] == '403'))""", ok_out("403 1\n")),
]
REACHED = Probe("N14", "all that hosts have got is no more than may leave", None, None)


def judge_reached(there):
    got = sum(server.got for server in there.network.values())
    return judge(there.place, "hosts", REACHED, lambda: 60000 < got <= MOST_SENT, "%d bytes" % got)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        server = self.server
        left = int(self.headers.get("Content-Length", 0))
        while left:                     # it may end before all has come
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                break
            server.got += len(piece)
            left -= len(piece)
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:%d/" % server.elsewhere)
            body = b""
        else:
            known = self.headers.get("Authorization") == "Bearer " + SECRET
            body = (b"canary " + (b"knows it " if known else b"") + b" ".join(base64.b64decode(f) for f in forms()) if self.path == "/echo" and known
                    else b"canary " + (self.headers.get("Authorization") or "").encode())
            wanted = self.headers.get("Range", "")
            if wanted:
                first, _, last = wanted.partition("=")[2].partition("-")
                body = body[int(first):int(last) + 1]
            self.send_response(206 if wanted else 200)
            self.send_header("X-Echo", self.headers.get("Authorization") or "")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def forms():
    """The secret as servers write it, in base64, so that no code has it."""
    plain = SECRET
    # behind 0, 1 and 2 bytes: the characters that hold bits of the secret alone
    packed = [base64.b64encode((before + plain).encode()).decode()[(len(before) * 8 + 5) // 6:(len(before) + len(plain)) * 8 // 6] for before in ("", "u", "us")]
    return [base64.b64encode(f.encode()).decode() for f in (plain, plain.replace("/", "\\/"), urllib.parse.quote(plain, safe=""), *packed)]


def serve(context=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.elsewhere = 0, 0
    server.handle_error = lambda *_: None       # of who breaks off
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    atexit.register(server.server_close)
    return server


def servers(there):
    """{name: port}, and the file of the authority that signed."""
    key, certificate = there.path("net.key"), there.path("net.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=probe",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    found = {"plain": serve(), "tls": serve(context), "secret": serve(context), "none": serve()}
    found["plain"].elsewhere = found["none"].server_address[1]
    there.network = found
    return {name: s.server_address[1] for name, s in found.items()}, certificate


def prepare(there):
    """What the program is started with."""
    ports, certificate = servers(there)
    with open(there.path("ports.json"), "w") as f:
        json.dump(dict(ports, forms=forms()), f)
    for path in (there.path("ports.json"), certificate):
        os.chmod(path, 0o644)
        if there.uid != os.geteuid():
            rootless.own(path, there.uid)
    return ("--add", there.path("ports.json"), "--ca-cert", certificate, "--net-max-sent", str(MOST_SENT),
            "--allow-net", "127.0.0.1:%d,127.0.0.1:%d,localhost:%d" % (ports["plain"], ports["tls"], ports["plain"]),
            "--secret", "PROBE_SECRET=127.0.0.1:%d" % ports["secret"])
