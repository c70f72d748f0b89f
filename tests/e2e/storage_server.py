"""storage_server.py - a strict stand-in for storage services on loopback: it checks the signature of S3's requests (AWS Signature 4) and the token and
headers of Azure Blob's, as the services themselves do; and real servers: s3rver and azurite, which setup/storage_servers.sh fetches."""
import base64
import hashlib
import hmac
import os
import re
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ACCESS, SECRET, SAS = "AKIDTEST", "secret/key+with/signs", "sv=2020-10-02&sp=cw&sig=s3cr3t%2Bsas%3D"


def sign(secret, date, region, text):
    key = ("AWS4" + secret).encode()
    for part in (date, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def s3_problem(request, body):
    """Why S3 would refuse it; or None."""
    m = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=(\S+?)/(\d+)/(\S+?)/s3/aws4_request, SignedHeaders=(\S+?), Signature=([0-9a-f]{64})",
                     request.headers.get("Authorization", ""))
    if not m:
        return "AccessDenied"
    access, date, region, signed, signature = m.groups()
    digest = request.headers.get("x-amz-content-sha256")
    if not digest or "x-amz-content-sha256" not in signed.split(";"):
        return "InvalidRequest"
    if access != ACCESS:
        return "InvalidAccessKeyId"
    if digest not in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()):
        return "XAmzContentSHA256Mismatch"
    path, _, query = request.path.partition("?")
    headers = "".join("%s:%s\n" % (name, " ".join(request.headers[name].split())) for name in signed.split(";"))
    canonical = "\n".join([request.command, path, query, headers, signed, digest])
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], "%s/%s/s3/aws4_request" % (date, region),
                      hashlib.sha256(canonical.encode()).hexdigest()])
    return None if hmac.compare_digest(sign(SECRET, date, region, text), signature) else "SignatureDoesNotMatch"


def azure_problem(request, body):
    if request.path.partition("?")[2] != SAS:
        return "AuthenticationFailed"
    return None if request.headers.get("x-ms-blob-type") == "BlockBlob" and request.headers.get("x-ms-version") else "MissingRequiredHeader"


class Storage:
    """answers: statuses, 507 for a full disk, to be given first, before it works. objects: path -> (type, bytes)."""

    def __init__(self, problem, answers=()):
        self.objects, self.answers, self.requests = {}, list(answers), 0
        self.gates = {}         # which request, from 1: until when it is read no further than its first 4 MB (the kernel takes as much again)
        storage = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self):
                storage.requests += 1
                gate, size, body = storage.gates.get(storage.requests), int(self.headers["Content-Length"]), b""
                if gate:
                    body = self.rfile.read(4 << 20)
                    gate.wait(60)
                body += self.rfile.read(size - len(body))
                if len(body) < size:
                    self.close_connection = True
                    return
                code = problem(self, body)
                status = 403 if code else storage.answers.pop(0) if storage.answers else 201
                if status < 300:
                    storage.objects[self.path.partition("?")[0]] = (self.headers["Content-Type"], body)
                text = b"" if status < 300 else b"<Error><Code>%s</Code></Error>" % (code or {507: "InsufficientStorage"}.get(status, "SlowDown")).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/xml")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


# ---------------------------------------------------------------------------------- real servers

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def request(method, url, headers=None, data=None):
    with urllib.request.urlopen(urllib.request.Request(url, data=data, method=method, headers=headers or {}), timeout=20) as r:
        return r.headers, r.read()


S3RVER = "S3RVER"               # its only key and secret


def signed(url, method="GET"):
    """The headers of a request without a body as S3 wants them."""
    _, _, host, path = url.split("/", 3)
    when, empty = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), hashlib.sha256(b"").hexdigest()
    headers = {"host": host, "x-amz-content-sha256": empty, "x-amz-date": when}
    canonical = "\n".join([method, "/" + path, "", "".join("%s:%s\n" % h for h in headers.items()), ";".join(headers), empty])
    scope = when[:8] + "/us-east-1/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    return dict(headers, Authorization="AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        S3RVER, scope, ";".join(headers), sign(S3RVER, when[:8], "us-east-1", text)))


class Real:
    """s3rver or azurite-blob. url: of the bucket or container, which is made; query: goes behind every request of the test's own."""

    def __init__(self, kind, folder, programs):
        port, program = free_port(), os.path.join(programs, {"s3": "s3rver", "azure": "azurite-blob"}[kind])
        self.url, self.query = "http://127.0.0.1:%d" % port, ""
        words = {"s3": ["-a", "127.0.0.1", "-p", str(port), "-d", folder, "--silent"],
                 "azure": ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder, "--skipApiVersionCheck", "--silent"]}[kind]
        self.process = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert self.process.poll() is None and time.monotonic() < until, "%s did not start" % program
            time.sleep(0.05)
        if kind == "s3":
            self.to, self.place = "s3://bucket/some", self.url + "/bucket"
            self.env = {"AWS_ACCESS_KEY_ID": S3RVER, "AWS_SECRET_ACCESS_KEY": S3RVER, "AWS_ENDPOINT_URL": self.url}
            request("PUT", self.place, signed(self.place, "PUT"))
        else:
            self.to = self.place = self.url + "/devstoreaccount1/box"
            token = account_token()
            self.query, self.env = "?" + token, {"AZURE_STORAGE_SAS_TOKEN": token}
            request("PUT", self.place + "?restype=container&" + token, {"Content-Length": "0"}, b"")

    def get(self, url):
        headers, body = request("GET", url + self.query, None if self.query else signed(url))
        return headers["Content-Type"], body

    def close(self):
        self.process.kill()
        self.process.wait()


AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="       # every azurite's own, in its manual


def account_token():
    fields = {"sp": "rwcl", "ss": "b", "srt": "sco", "st": "", "se": "2099-01-01T00:00:00Z", "sip": "", "spr": "", "sv": "2019-12-12"}
    text = "devstoreaccount1\n" + "".join(v + "\n" for v in fields.values())
    sig = base64.b64encode(hmac.new(base64.b64decode(AZURITE_KEY), text.encode(), hashlib.sha256).digest()).decode()
    return urllib.parse.urlencode(dict({k: v for k, v in fields.items() if v}, sig=sig))
