"""test_network.py - TLS, proxies and names: a real TLS server with a certificate of our own on loopback, a proxy that says no and one that
connects, names that do not exist. Each failure says which of them it was, which endpoint and model, and what to do.
"""
import base64
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest

from model_server import ModelServer
from program import HANG


# -- TLS

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]       # six of RSA take a processor for two seconds


def make(args, cwd):
    subprocess.run(["openssl", *args], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """ca.pem signs good.pem (127.0.0.1), old.pem (expired) and other.pem (another host); strange.pem is of a CA that nobody trusts."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not there")
    d = tmp_path_factory.mktemp("ca")
    for ca in ("ca", "stranger"):
        make(["req", "-x509", *KEY, "-keyout", ca + ".key", "-out", ca + ".pem", "-days", "2", "-subj", "/CN=" + ca], d)
    for name, ca, host, days in [("good", "ca", "IP:127.0.0.1", "2"), ("other", "ca", "DNS:elsewhere.example", "2"), ("old", "ca", "IP:127.0.0.1", "-1"),
                                 ("strange", "stranger", "IP:127.0.0.1", "2")]:
        make(["req", *KEY, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name], d)
        (d / (name + ".ext")).write_text("subjectAltName=" + host + "\n")
        start = ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"] if days == "-1" else ["-days", days]
        try:
            make(["x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key", "-CAcreateserial", "-out", name + ".pem",
                  "-extfile", name + ".ext", *start], d)
        except subprocess.CalledProcessError:       # openssl before 3.4 cannot make one that is over; one that ends today at this second can
            make(["x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key", "-CAcreateserial", "-out", name + ".pem",
                  "-extfile", name + ".ext", "-days", "0"], d)
            time.sleep(1.1)
    return d


class TlsServer(ModelServer):
    """The scripted service behind TLS."""

    def __init__(self, exchanges, folder, name):
        super().__init__(exchanges)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / (name + ".pem"), folder / (name + ".key"))

    def __enter__(self):
        super().__enter__()
        self.url = self.url.replace("http:", "https:")
        return self

    def connection(self, conn, number):
        try:
            conn = self.tls.wrap_socket(conn, server_side=True)
        except OSError:
            conn.close()
            return
        super().connection(conn, number)


@pytest.mark.slow(5)
def test_the_right_ca(bare, certificates):
    with TlsServer([{"answer": {"text": "over TLS"}}], certificates, "good") as server:
        bare.url = server.url
        r = bare.run("--sandbox", "bwrap", "go", env={"SSL_CERT_FILE": certificates / "ca.pem"})
        assert (r.code, r.out) == (0, "over TLS\n"), r
        server.check()


ISSUER = ["certificate is not trusted", "--ca-cert FILE"]


@pytest.mark.slow(5)
@pytest.mark.parametrize("certificate, trust, said", [
    ("good", None, [*ISSUER, "(trusted certificates: the system's certificates)"]), ("strange", "ca.pem", [*ISSUER, "(trusted certificates: SSL_CERT_FILE=/"]),
    ("good", "stranger.pem", [*ISSUER, "stranger.pem)"]), ("old", "ca.pem", ["certificate has expired", "clock"]),
    ("other", "ca.pem", ["certificate is for another host", "in the base URL"]), ("good", "missing.pem", ["missing.pem)", "--ca-cert FILE"]),
])
def test_wrong_certificates(bare, certificates, certificate, trust, said):
    """Refused at once, each with its own reason and remedy; nothing of the request, and no key, went over."""
    with TlsServer([], certificates, certificate) as server:
        bare.url = server.url
        r = bare.run("go", env={"SSL_CERT_FILE": trust and certificates / trust})
        assert r.code == 1 and r.out == "" and all(s in r.err for s in said) and bare.url in r.err and "test-model" in r.err, r
        assert ("--ca-cert" in r.err) == ("--ca-cert FILE" in said), r     # it would not help against the others
        assert r.err.count("\n") == 2 and r.seconds < HANG and not server.requests and server.connections <= 1, r


ORDER = [   # the first that is there counts: good or bad
    ({"CURL_CA_BUNDLE": "ca.pem"}, None), ({"SSL_CERT_FILE": "ca.pem"}, None), ({"SSL_CERT_DIR": "folder"}, None),
    ({"SSL_CERT_FILE": "stranger.pem", "SSL_CERT_DIR": "folder"}, None),
    ({"CURL_CA_BUNDLE": "ca.pem", "SSL_CERT_FILE": "stranger.pem"}, None),
    ({"CURL_CA_BUNDLE": "stranger.pem", "SSL_CERT_FILE": "ca.pem"}, "CURL_CA_BUNDLE={}/stranger.pem"),
    ({"CURL_CA_BUNDLE": "stranger.pem", "SSL_CERT_DIR": "folder"}, "CURL_CA_BUNDLE={}/stranger.pem"),
    ({"SSL_CERT_FILE": "stranger.pem", "SSL_CERT_DIR": "nothing"}, "SSL_CERT_FILE={0}/stranger.pem, SSL_CERT_DIR={0}/nothing"),
    ({"SANDPIPER_CA_CERT": "ca.pem", "CURL_CA_BUNDLE": "stranger.pem", "SSL_CERT_FILE": "stranger.pem"}, None),
    ({"SANDPIPER_CA_CERT": "stranger.pem", "CURL_CA_BUNDLE": "ca.pem", "SSL_CERT_FILE": "ca.pem", "SSL_CERT_DIR": "folder"}, "--ca-cert {}/stranger.pem"),
]


@pytest.mark.parametrize("variables, blamed", ORDER)
def test_which_certificates_count(bare, certificates, variables, blamed):
    """As for users of curl, with --ca-cert above all; what is in force is said."""
    folder = certificates / "folder"
    if not folder.exists():
        folder.mkdir()
        shutil.copy(certificates / "ca.pem", folder)
        subprocess.run(["openssl", "rehash", str(folder)], check=True, capture_output=True)
    with TlsServer([{"answer": {"text": "over TLS"}}], certificates, "good") as server:
        bare.url = server.url
        r = bare.run("go", env={name: certificates / value for name, value in variables.items()})
        if blamed:
            assert r.code == 1 and ": %s)" % blamed.format(certificates) in r.err and not server.requests, r
        else:
            assert (r.code, r.out) == (0, "over TLS\n"), r


def test_ca_cert_in_each_place(bare, certificates):
    """Flag over variable over file; in the file a path is meant from its folder or from home; a folder's .env is not obeyed."""
    bad = {"SANDPIPER_CA_CERT": certificates / "stranger.pem", "CURL_CA_BUNDLE": certificates / "stranger.pem"}
    shutil.copy(certificates / "ca.pem", bare.path("config/sandpiper/mine.pem"))
    shutil.copy(certificates / "ca.pem", bare.path("home/mine.pem"))
    with TlsServer([{"answer": {"text": "over TLS"}}] * 4, certificates, "good") as server:
        bare.url = server.url
        assert bare.run("--ca-cert", str(certificates / "ca.pem"), "go", env=bad).out == "over TLS\n"
        for path in (certificates / "ca.pem", "mine.pem", "~/mine.pem"):
            bare.configure("ca_cert: %s\n" % path)
            r = bare.run("go", env={"CURL_CA_BUNDLE": certificates / "stranger.pem"})
            assert (r.code, r.out) == (0, "over TLS\n"), r
        bare.configure("")
        bare.write(".env", "SANDPIPER_CA_CERT=%s\n" % (certificates / "ca.pem"))
        r = bare.run("go")
        assert r.code == 1 and "SANDPIPER_CA_CERT is ignored" in r.err and "not trusted" in r.err, r


@pytest.mark.parametrize("content, said", [
    (None, "No such file"), ("", "contains no certificate"), ("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n", "contains no certificate"),
    (b"\x30\x82\x03\x00" + bytes(99), "openssl x509 -inform der"), ("-----BEGIN CERTIFICATE-----\n?\n", "contains no certificate"), ("folder", "directory"),
])
def test_a_ca_cert_that_is_none(bare, serve, content, said):
    """Exit 2 before anything is asked, whoever named it."""
    serve(bare, [])
    path = bare.path("work/ca.pem")
    if content == "folder":
        path = bare.work
    elif content is not None:
        bare.write("ca.pem", content)
    bare.configure("ca_cert: %s\n" % path)
    for words, env, named in ((["--ca-cert", path], {}, "--ca-cert"), ([], {"SANDPIPER_CA_CERT": path}, "SANDPIPER_CA_CERT"), ([], {}, "config.yaml:1")):
        r = bare.run(*words, "go", env=env)
        assert r.code == 2 and r.out == "" and named in r.err and said in r.err and r.err.count("\n") <= 2, r


def test_the_list_of_models_over_tls(bare, certificates):
    """Who asks for it trusts whom everybody else trusts."""
    with TlsServer([{"answer": {"text": "over TLS"}}] * 2, certificates, "good") as server:
        bare.url = server.url
        env = {"SANDPIPER_MODEL": None, "SANDPIPER_BASE_URL": bare.url, "OPENAI_BASE_URL": None, "OPENAI_API_KEY": None}
        r = bare.run("--ca-cert", str(certificates / "ca.pem"), "go", env=env)
        assert (r.code, r.out) == (0, "over TLS\n") and "Using test-model" in r.err, r
        assert bare.run("go", env=dict(env, CURL_CA_BUNDLE=certificates / "ca.pem")).out == "over TLS\n"
        r = bare.run("go", env=env)
        assert r.code == 2 and "is not trusted" in r.err and "--ca-cert FILE" in r.err and bare.url in r.err and r.err.count("\n") == 2, r


# -- proxies

class Proxy:
    """CONNECT and plain requests. refuse: the answer to everything; else it connects to target, whatever was asked for."""

    def __init__(self, target=None, refuse=None):
        self.target, self.refuse, self.asked = target, refuse, []

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://someone:secret-word@127.0.0.1:%d" % self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()
        return self

    def __exit__(self, *exc):
        self.listener.shutdown(socket.SHUT_RDWR)        # close() alone wakes nobody: the thread would answer for the next listener of that number
        self.acceptor.join()
        self.listener.close()

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        data = b""
        while b"\r\n\r\n" not in data:
            got = conn.recv(65536)
            if not got:
                return conn.close()
            data += got
        self.asked.append(data.decode("latin-1"))
        if self.refuse:
            conn.sendall(self.refuse)
            return conn.close()
        other = socket.create_connection(("127.0.0.1", self.target))
        conn.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for a, b in ((conn, other), (other, conn)):
            threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    @staticmethod
    def pump(a, b):
        try:
            while True:
                got = a.recv(65536)
                if not got:
                    break
                b.sendall(got)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_a_proxy_is_used(bare, certificates):
    """HTTPS_PROXY, with its credentials, for a host that only the proxy can reach; the certificate is that host's all the same."""
    with TlsServer([{"answer": {"text": "through it"}}], certificates, "other") as server, Proxy(server.port) as proxy:
        bare.url = "https://elsewhere.example/v1"
        r = bare.run("--sandbox", "bwrap", "--max-tokens", "100", "go", env={"HTTPS_PROXY": proxy.url, "SSL_CERT_FILE": certificates / "ca.pem"})
        assert (r.code, r.out) == (0, "through it\n"), r
        assert proxy.asked[0].startswith("CONNECT elsewhere.example:443 "), proxy.asked
        assert "Basic " + base64.b64encode(b"someone:secret-word").decode() in proxy.asked[0] and "test-key" not in proxy.asked[0]


REFUSALS = {407: b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
            403: b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 27\r\n\r\n<title>Not for you</title>\n"}


@pytest.mark.parametrize("status", REFUSALS)
def test_a_proxy_refuses(bare, status):
    with Proxy(refuse=REFUSALS[status]) as proxy:
        bare.url = "https://elsewhere.example/v1"
        r = bare.run("go", env={"HTTPS_PROXY": proxy.url})
    assert r.code == 1 and "proxy refused" in r.err and str(status) in r.err and "elsewhere.example" in r.err and "HTTPS_PROXY" in r.err, r
    assert "secret-word" not in r.err and "test-key" not in r.err and "test-model" in r.err and r.err.count("\n") == 2 and r.seconds < HANG, r
    assert len(proxy.asked) == 1


def test_a_proxy_refuses_a_plain_request(bare):
    """http://, without a key: then the proxy's answer is the only one there is."""
    bare.url, bare.key = "http://elsewhere.example/v1", None
    with Proxy(refuse=REFUSALS[407]) as proxy:
        r = bare.run("go", env={"http_proxy": proxy.url})
    assert r.code == 1 and "(407)" in r.err and "proxy" in r.err and "http_proxy" in r.err and "secret-word" not in r.err, r
    assert proxy.asked[0].startswith("POST http://elsewhere.example/v1/chat/completions "), proxy.asked


def test_a_proxy_that_is_not_there(bare):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    bare.url = "https://elsewhere.example/v1"
    r = bare.run("go", env={"HTTPS_PROXY": "http://someone:secret-word@127.0.0.1:%d" % port})
    assert r.code == 1 and "proxy" in r.err and str(port) in r.err and "elsewhere.example" in r.err and r.seconds < HANG, r
    assert "secret-word" not in r.err and r.err.count("\n") == 2, r
    r = bare.run("go", env={"HTTPS_PROXY": "http://no-such-proxy.invalid:3128"})
    assert r.code == 1 and "no-such-proxy.invalid" in r.err and "HTTPS_PROXY" in r.err and r.seconds < HANG, r


def test_loopback_goes_past_the_proxy(sandpiper, serve):
    with Proxy(refuse=REFUSALS[403]) as proxy:
        serve(sandpiper, [{"answer": {"text": "direct"}}])
        r = sandpiper.run("go", env={"HTTP_PROXY": proxy.url, "http_proxy": proxy.url, "ALL_PROXY": proxy.url})
    assert (r.code, r.out) == (0, "direct\n") and not proxy.asked, r


# -- names and connections

def test_a_name_that_is_not_there(bare):
    """Two tries at most: a resolver that is down for a moment comes back, a name that does not exist does not."""
    bare.url = "https://no-such-host.invalid/v1"
    r = bare.run("go")
    assert r.code == 1 and "unknown host" in r.err and "no-such-host.invalid" in r.err and "Check the base URL" in r.err, r
    assert r.err.count("(2 of 2)") <= 1 and "of 4" not in r.err, r


@pytest.mark.slow(3)
def test_each_wait_is_shown(sandpiper, serve):
    busy = {"answer": {"status": 503, "json": {"error": {"message": "no room, test-key"}}}}
    serve(sandpiper, [busy, busy, busy, busy])
    r = sandpiper.run("go")
    assert r.code == 75 and "test-key" not in r.err, r
    for n in (2, 3, 4):
        assert re.search("is busy \\(503: no room, \\[key\\]\\)\\. Trying again in [0-9.]+ s \\(%d of 4\\)\\." % n, r.err), r
    assert "after 4 tries" in r.err and r.err.rstrip().endswith("Try again later, or use another model"), r


@pytest.mark.parametrize("answer, cause", [
    ({"cut_after": 4, "reset": True}, "reset the connection"), ({"cut_after": 4}, "closed the connection early"),
    ({"stall_after": 4, "stall": 20}, "sent nothing for 1 s"),
])
def test_why_a_reply_was_cut(sandpiper, serve, answer, cause):
    server = serve(sandpiper, [{"answer": dict(answer, text="The beginning of an answer that never ends", delay=0.02)}])
    r = sandpiper.run("--idle-timeout", "1s", "go")
    assert r.code == 1 and cause in r.err and "127.0.0.1:%d" % server.port in r.err and "test-model" in r.err, r


def test_a_stream_that_ends_early(sandpiper, serve):
    serve(sandpiper, [{"answer": {"sse": ['data: {"choices":[{"index":0,"delta":{"content":"The beginning"}}]}\n\n']}}])
    r = sandpiper.run("go")
    assert r.code == 1 and "ended without a finish reason" in r.err, r


@pytest.mark.slow(5)
def test_a_loading_model_is_waited_for(sandpiper, serve):
    loading = {"answer": {"status": 503, "json": {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}}}
    serve(sandpiper, [loading, loading, {"answer": {"text": "ready"}}])
    r = sandpiper.run("go")
    assert (r.code, r.out) == (0, "ready\n") and r.err.count("loading test-model; waiting") == 1 and r.seconds > 4, r


def test_a_refused_stream_is_remembered(sandpiper, serve):
    refusal = {"status": 400, "json": {"error": {"message": "Unsupported value: 'stream' does not support true with this model.", "param": "stream",
                                                 "code": "unsupported_value"}}}
    serve(sandpiper, [{"expect": {"stream": True}, "answer": refusal},
                      {"expect": {"stream": False}, "answer": {"calls": [{"code": "print(1)"}]}},
                      {"expect": {"stream": False}, "answer": {"text": "done"}}])
    r = sandpiper.run("go")
    assert (r.code, r.out) == (0, "done\n"), r
