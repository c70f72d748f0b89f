"""test_allow_net.py - --allow-net and --secret, on every engine: what reaches a public internet of our own, what is told of it, named sandboxes, wrong
words, and the proxy's end. What hostile code tries is tests/probes/network.py."""
import http.server
import json
import os
import signal
import socketserver
import threading
import time

import pytest

from chat_keys import leave, start
from conftest import make_sandpiper, need_engine
from model_server import ModelServer
from named_sandboxes import end_all
from public_internet import place

GET = """
import ssl, urllib.request
unchecked = ssl.create_default_context()
unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
def get(url, **more):
    try:
        with urllib.request.urlopen(url, timeout=20, **({'context': unchecked} if url[:5] == 'https' else {}), **more) as r:
            return r.read()
    except OSError as e:
        return str(e)
"""


@pytest.fixture(params=("bwrap", "docker", "podman"))
def sandpiper(request):
    need_engine(request.param)
    yield from make_sandpiper(request.param)


class Site(http.server.BaseHTTPRequestHandler):
    """Says what it was asked."""
    def do_GET(self):
        body = ("%s %s" % (self.path, self.headers.get("Authorization") or self.headers.get("X-Key"))).encode()
        self.server.asked.append(body.decode())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.asked, server.at = [], "127.0.0.1:%d" % server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def internet(sandpiper):
    """The program where 93.184.216.34 is public, and good.example leads there; what the server there was asked."""
    return sandpiper, *place(sandpiper)


def proxies(program):
    """Pids of the proxy of that program, and of its processes, that run."""
    parents, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as f:
                head, _, rest = f.read().rpartition(")")
            if rest.split()[0] != "Z":
                names[int(pid)], parents[int(pid)] = head.partition("(")[2], int(rest.split()[1])
        except OSError:
            pass
    return {pid for pid, name in names.items() if name == "sp-proxy" and program in (parents[pid], parents.get(parents[pid]))}


def test_public_hosts(internet):
    """Names, a wildcard, https by tunnel and by a secret; a name that leads to both places leads to the public one alone, one that leads inside to none."""
    s, ca, asked = internet
    code = GET + """
print(get('https://good.example/file'), get('https://both.example/file'), get('http://good.example/secret/file')[:1])
for url in ('https://inside.example/', 'http://inside.example/', 'https://93.184.216.34/file', 'https://nowhere.example/'): print(get(url))
"""
    r = s.run("exec", "--allow-net", "*.example", "--allow-net", "good.example", "-c", code)
    assert r.code == 125 and "*.example: that is no host" in r.err           # a whole top-level domain is not one's own to name
    r = s.run("exec", "--allow-net", "good.example,both.example", "--allow-net", "inside.example,nowhere.example", "-c", code)
    lines = r.out.splitlines()
    assert r.code == 0 and lines[0].startswith("b'a,b\\n1,2\\n' b'a,b\\n1,2\\n'"), r
    assert ["no public address" in line for line in lines[1:]] == [True, True, False, False], r
    assert "93.184.216.34:443 is not in --allow-net" in lines[3] and "not known" in lines[4], r
    assert asked() == ["93.184.216.34 /file"] * 2
    assert "sandpiper: network: https://good.example\n" in r.err and "network was on: " in r.err, r
    r = s.run("exec", "-q", "--secret", "KEY=good.example", "--ca-cert", ca, "-c", GET + "print(get('http://good.example/file'), get('https://good.example/file'))",
              env={"KEY": "0123456789"})
    assert r.out.startswith("b'a,b\\n1,2\\n' ") and "ask for http://good.example instead" in r.out and not r.err, r
    r = s.run("exec", "-q", "--secret", "KEY=good.example", "-c", GET + "print(get('http://good.example/file'))", env={"KEY": "0123456789"})
    assert "certificate of that host is not trusted" in r.out, r           # a secret goes to nobody whose certificate is not checked


def test_off_by_default(sandpiper, site):
    r = sandpiper.run("exec", "-c", GET + "import os\nprint(get('http://%s/'), [k for k in os.environ if 'proxy' in k.lower() and os.environ[k]])" % site.at)
    assert r.out.endswith("[]\n") and not site.asked and "network" not in r.err, r
    p = sandpiper.start("exec", "-c", "print(1, flush=True)\nimport time\ntime.sleep(5)")
    assert p.stdout.readline() == b"1\n" and not proxies(p.pid)
    p.send_signal(signal.SIGINT)
    p.communicate()
    sandpiper.write(".env", "ALLOW_NET=%s\nSANDPIPER_ALLOW_NET=%s\n" % (site.at, site.at))
    sandpiper.run("exec", "-c", GET + "get('http://%s/')" % site.at, env={"SANDPIPER_ALLOW_NET": site.at})
    assert not site.asked


def test_events_and_words(sandpiper, site):
    """Each request is an event and a line; the model is told of the hosts; config.yaml says it as well, and doctor."""
    sandpiper.configure("allow_net: [%s]\nsecrets: [KEY=api.example.com=X-Key]\n" % site.at)
    code = GET + "print(get('http://%s/a?b'), get('http://evil.example/'))" % site.at
    with ModelServer([{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}]) as server:
        sandpiper.url = server.url
        r = sandpiper.run("--json", "what?", env={"KEY": "0123456789"})
        told = json.dumps(server.requests[0].body)
    events = [json.loads(line) for line in r.out.splitlines()]
    seen = [(e["state"], e["method"], e["host"], e["path"], e["why"]) for e in events if e["type"] == "network" and e["state"] != "done"]
    assert seen == [("open", "GET", "127.0.0.1", "/a?b", None), ("refused", "GET", "evil.example", "/", "evil.example:80 is not in --allow-net")], r
    kinds = [e["type"] for e in events]
    assert kinds.index("tool_call") < kinds.index("network") < kinds.index("tool_result")
    assert "0123456789" not in r.out + r.err + told and site.asked == ["/a?b None"]
    assert "no network but to %s" % site.at in told, told[:3000]
    assert "sandpiper: network: code may reach %s, http://api.example.com; KEY is added" % site.at in r.err, r
    assert "network was on: 1 request, 1 refused" in r.err
    sandpiper.url = None
    r = sandpiper.run("doctor", "--offline", env={"KEY": "0123456789"})
    assert "on: code may reach %s, http://api.example.com (allow_net)" % site.at in r.out and "isolation could not be confirmed" not in r.out, r


def test_hosts_of_the_file_are_left_out_for_one_run(sandpiper, site):
    sandpiper.configure("allow_net: [%s]\nsecrets: [KEY=api.example.com]\n" % site.at)
    code = GET + "import os\nprint(get('http://%s/'), [k for k in os.environ if 'proxy' in k.lower() and os.environ[k]])" % site.at
    r = sandpiper.run("exec", "--allow-net", "none", "-c", code)
    assert r.code == 0 and r.out.endswith("[]\n") and not site.asked and "network" not in r.err, r
    r = sandpiper.run("exec", "--allow-net", "none", "--allow-net", site.at, "-c", code)        # what is said later counts
    assert r.code == 0 and site.asked == ["/ None"] and "api.example.com" not in r.err, r
    assert "api.example.com" not in sandpiper.run("config", "--allow-net", "none", "--all").out


def test_greeting_of_a_chat(sandpiper, site):
    with ModelServer([]) as server:
        sandpiper.url = server.url
        p = start(sandpiper, "--allow-net", site.at)
        assert "network: code may reach %s." % site.at in p.before + p.after
        p.send("/sandbox\r")
        p.expect("network  %s" % site.at)
        leave(p)


@pytest.mark.slow(5)
def test_a_named_sandbox(sandpiper, site):
    """Each program says anew what is allowed; one that was started without has none."""
    ask = GET + "print(get('http://%s/'))" % site.at
    on, name = ("--allow-net", site.at), ("--sandbox-name", "one")
    try:
        assert sandpiper.run("exec", *name, *on, "-c", ask).out == "b'/ None'\n"
        r = sandpiper.run("exec", *name, "-c", ask)
        assert "refused" in r.out and len(site.asked) == 1, r
        assert sandpiper.run("exec", *name, *on, "-c", ask).out == "b'/ None'\n"
        r = sandpiper.run("exec", *name, "--allow-net", "x.example", "-c", ask)
        assert "is not in --allow-net" in r.out, r
        sandpiper.run("exec", "--sandbox-name", "two", "-c", "1")
        r = sandpiper.run("exec", "--sandbox-name", "two", *on, "-c", ask)
        assert "code reaches no host: this sandbox was started without --allow-net" in r.err and len(site.asked) == 2, r
        # a copy is as the first in that
        assert sandpiper.run("fork", "one", "three").code == sandpiper.run("fork", "two", "four").code == 0
        r = sandpiper.run("exec", "--sandbox-name", "three", *on, "-c", ask)
        assert r.out == "b'/ None'\n" and "code reaches no host" not in r.err and len(site.asked) == 3, r
        assert "refused" in sandpiper.run("exec", "--sandbox-name", "three", "-c", ask).out
        r = sandpiper.run("exec", "--sandbox-name", "four", *on, "-c", ask)
        assert "code reaches no host" in r.err and len(site.asked) == 3, r
    finally:
        end_all(sandpiper)


class Hostile(socketserver.StreamRequestHandler):
    """A host that answers without end, too little, or nothing."""
    def handle(self):
        path = self.rfile.readline().split()[1]
        self.server.asked.append(path.decode())
        head = {b"/heads": b"", b"/body": b"HTTP/1.1 200 OK\r\n\r\n", b"/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345"}
        try:
            self.wfile.write(head.get(path, b""))
            while path in (b"/heads", b"/body"):
                self.wfile.write(b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" * 100 if path == b"/heads" else bytes(65536))
            if path == b"/hang":
                self.connection.recv(1 << 20)           # the rest of the head
                self.connection.recv(1)                 # until we are left
        except OSError:
            pass


@pytest.fixture
def hostile():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Hostile) as server:
        server.daemon_threads, server.asked, server.at = True, [], "127.0.0.1:%d" % server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_hosts_that_answer_badly(sandpiper, hostile):
    """What comes without end reaches the limit, also where it is no answer yet; what breaks off is told."""
    code = """
import http.client, os
c = http.client.HTTPConnection('127.0.0.1', 3128, timeout=30)
try:
    c.request('GET', 'http://%s/' + os.environ['WHAT'])
    print(len(c.getresponse().read()))
except (OSError, http.client.HTTPException) as e: print(type(e).__name__)
""" % hostile.at
    for what, said, why in (("heads", "", "more than --net-max-received may come in"), ("body", "", "more than --net-max-received may come in"),
                            ("short", "IncompleteRead\n", "the answer broke off")):
        r = sandpiper.run("exec", "--allow-net", hostile.at, "--net-max-received", "300k", "-c", code.replace("os.environ['WHAT']", repr(what)), timeout=60)
        assert r.code == 0 and r.out.endswith(said), r
        assert "network: refused: GET http://%s/%s: %s" % (hostile.at, what, why) in r.err, r


def test_interrupted_in_a_request(sandpiper, hostile):
    p = sandpiper.start("exec", "--allow-net", hostile.at, "-c", GET + "print(get('http://%s/hang'))" % hostile.at)
    end = time.monotonic() + 30
    while not hostile.asked and time.monotonic() < end:
        time.sleep(0.05)
    assert hostile.asked == ["/hang"]
    mine = proxies(p.pid)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=30)
    assert p.returncode == 130 and mine
    end = time.monotonic() + 10
    while any(os.path.exists("/proc/%d/exe" % pid) for pid in mine) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in mine if os.path.exists("/proc/%d/exe" % pid)]


def test_the_proxy_ends_with_its_program(sandpiper, site):
    p = sandpiper.start("exec", "--allow-net", site.at, "-c", GET + "get('http://%s/')\nimport time\ntime.sleep(60)" % site.at)
    end = time.monotonic() + 30
    while not site.asked and time.monotonic() < end:
        time.sleep(0.05)
    mine = proxies(p.pid)
    assert site.asked and mine
    with open("/proc/%d/environ" % min(mine), "rb") as f:
        assert b"KEY" not in f.read()                   # nothing of ours but what finds certificates
    p.send_signal(signal.SIGKILL)
    p.wait()
    end = time.monotonic() + 10
    while any(os.path.exists("/proc/%d/exe" % pid) for pid in mine) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in mine if os.path.exists("/proc/%d/exe" % pid)]


def test_a_proxy_that_dies(sandpiper, site):
    """Code is told, and the program goes on."""
    p = sandpiper.start("exec", "--allow-net", site.at, "-c",
                        GET + "print(get('http://%s/'), flush=True)\nimport time\ntime.sleep(2)\nprint(get('http://%s/'))" % (site.at, site.at))
    assert p.stdout.readline() == b"b'/ None'\n"
    for pid in proxies(p.pid):
        os.kill(pid, signal.SIGKILL)
    out, err = p.communicate(timeout=60)
    assert b"refused" in out and b"its proxy has ended" in err and p.returncode == 0, (out, err)


@pytest.mark.parametrize("words,said", [
    (("--allow-net", "*"), "--allow-net *: that is no host"),
    (("--allow-net", "http://a.org"), "--allow-net http://a.org: that is a URL"),
    (("--allow-net", "127.1"), "--allow-net 127.1: that is no host"),
    (("--allow-net", "a.org:0"), "a port is a number from 1 to 65535"),
    (("--secret", "NOTHING=a.org"), "the environment has no variable of that name"),
    (("--secret", "SHORT=a.org"), "its value must have 8 to 4096 bytes"),
    (("--secret", "a.org"), "expected NAME=HOST"),
    (("--secret", "SHORT=http://a.org"), "its value must have 8 to 4096 bytes"),
    (("--secret", "HOME=http://a.org"), "--secret HOME: \"http://a.org\" is no host"),
    (("--allow-net", ""), "--allow-net : no host is named"),
])
def test_wrong_words(sandpiper, words, said):
    r = sandpiper.run(*words, "question?", env={"SHORT": "123", "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9"})
    assert r.code == 2 and said in r.err and "123" not in r.err, r


@pytest.mark.parametrize("command", ["mcp", "batch"])
def test_sandboxes_of_fronts_have_none(sandpiper, command):
    r = sandpiper.run(command, "--allow-net", "a.org", stdin="")
    assert r.code == 2 and command + " has no option --allow-net" in r.err, r
    sandpiper.configure("allow_net: [a.org]\n")
    r = sandpiper.run("mcp", stdin="")
    assert r.code == 0 and "not for these sandboxes: they have no network" in r.err, r


def test_an_engine_of_ones_own(sandpiper):
    sandpiper.configure("engines: {mine: {start: [python3, '{python}']}}\n")
    r = sandpiper.run("exec", "--sandbox", "mine", "--allow-net", "a.org", "-c", "1")
    assert r.code == 125 and "mine cannot be given hosts: --allow-net and --secret need docker, podman or bwrap" in r.err, r


def test_certificates_are_there(sandpiper):
    """Or no host could be asked by https."""
    r = sandpiper.run("exec", "-q", "--allow-net", "a.example", "-c", "import ssl\nprint(len(ssl.create_default_context().get_ca_certs()) > 50)")
    assert r.out == "True\n", r


def test_servers_of_the_codes_own(sandpiper, site):
    """They are not asked for through the proxy, and another server on the proxy's port does not come to be."""
    r = sandpiper.run("exec", "-q", "--allow-net", "a.example", "-c", """
import http.server, threading, urllib.request
s = http.server.HTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen('http://127.0.0.1:8000/').status)
try: http.server.HTTPServer(('127.0.0.1', 3128), None)
except OSError as e: print(e.errno)
s.shutdown()
""")
    assert r.out == "200\n98\n", r
