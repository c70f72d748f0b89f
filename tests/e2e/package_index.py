"""package_index.py - an index of packages on this machine, with wheels that the test makes: its simple pages in JSON, with sizes and dates, over HTTP or
with a CA of its own over HTTPS. It counts what was asked of it. Also: uv for the tests, where it can be had."""
import base64
import datetime
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import zipfile
from functools import lru_cache


@lru_cache(maxsize=None)
def uv():
    """The folder of a uv, fetched by pip where the outside index is reachable; None."""
    found = shutil.which("uv")
    if found:
        return os.path.dirname(found)
    folder = os.path.join(tempfile.gettempdir(), "sandpiper-test-uv-%d" % os.getuid())
    program = os.path.join(folder, "bin", "uv")
    if not os.access(program, os.X_OK):
        fresh = tempfile.mkdtemp(prefix="sp-uv-")
        pip = [sys.executable, "-m", "pip", "install", "-q", "--target", fresh, "--only-binary", ":all:", "uv==0.13.9"]
        if subprocess.run(pip, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120).returncode != 0:
            shutil.rmtree(fresh, ignore_errors=True)
            return None
        try:
            os.chmod(fresh, 0o755)
            os.rename(fresh, folder)
        except OSError:                                     # another worker was quicker
            shutil.rmtree(fresh, ignore_errors=True)
    return os.path.dirname(program) if os.access(program, os.X_OK) else None


def wheel(name, version="1.0", files=None, requires=(), tag="py3-none-any"):
    """The bytes of a wheel. files: path -> text; its module says the version if none are given."""
    module = name.replace("-", "_")
    files = dict(files if files is not None else {module + "/__init__.py": "__version__ = %r\n" % version})
    info = "%s-%s.dist-info/" % (module, version)
    files[info + "METADATA"] = "Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s" % (name, version, "".join("Requires-Dist: %s\n" % r for r in requires))
    files[info + "WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: %s\n" % tag
    record = ""
    for path, text in files.items():
        data = text.encode() if isinstance(text, str) else text
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (path, digest, len(data))
    files[info + "RECORD"] = record + info + "RECORD,,\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for path, text in files.items():
            z.writestr(path, text)
    return out.getvalue()


class Index:
    """with Index() as index: index.add("name", "1.0"); index.url."""

    def __init__(self, ca=None, password=None):
        """password: of its only user, analyst; without it nobody is answered."""
        self.files, self.asked, self.lock = {}, [], threading.Lock()
        self.wanted = password and "Basic " + base64.b64encode(b"analyst:" + password.encode()).decode()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            do_HEAD = do_GET

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.ca, scheme = None, "http"
        if ca:
            self.ca, scheme = ca + "/ca.pem", "https"
            make_certificates(ca)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(ca + "/server.pem", ca + "/server.key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = "%s://127.0.0.1:%d/simple" % (scheme, self.server.server_port)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def add(self, name, version="1.0", days=30, sdist=False, dated=True, **how):
        """A wheel, or with sdist its source alone, that was uploaded so many days ago."""
        module = name.replace("-", "_")
        file = "%s-%s.tar.gz" % (module, version) if sdist else "%s-%s-%s.whl" % (module, version, how.get("tag", "py3-none-any"))
        data = b"no wheel" if sdist else wheel(name, version, **how)
        when = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)
        self.files.setdefault(name, {})[file] = (data, when.strftime("%Y-%m-%dT%H:%M:%S.000000Z") if dated else None)

    def answer(self, request):
        with self.lock:
            self.asked.append(request.path)
        if self.wanted and request.headers.get("Authorization") != self.wanted:
            request.send_response(401)
            request.send_header("WWW-Authenticate", "Basic")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        asked = re.fullmatch(r"/simple/([^/]+)/([^/]*)", request.path)
        project, file = asked.groups() if asked else ("", "")
        files = self.files.get(project)
        if file.endswith(".metadata"):
            with zipfile.ZipFile(io.BytesIO(files[file[:-9]][0])) as z:
                body = z.read(next(n for n in z.namelist() if n.endswith("/METADATA")))
            self.send(request, body, "application/octet-stream")
            return
        if files is None or (file and file not in files):
            request.send_error(404)
            return
        body, kind = (files[file][0], "application/octet-stream") if file else (self.page(project), "application/vnd.pypi.simple.v1+json")
        self.send(request, body, kind)

    def send(self, request, body, kind):
        request.send_response(200)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)

    def page(self, project):
        rows = []
        for file, (data, when) in self.files[project].items():
            row = {"filename": file, "url": file, "hashes": {"sha256": hashlib.sha256(data).hexdigest()}, "size": len(data), "requires-python": ">=3.6",
                   "yanked": False, "core-metadata": file.endswith(".whl")}
            if when:
                row["upload-time"] = when
            rows.append(row)
        return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": rows, "versions": []}).encode()

    def fetched(self, part):
        """How often a wheel with that in its name was asked for."""
        return sum(part in path.rpartition("/")[2] and path.endswith(".whl") for path in self.asked)


def make_certificates(folder):
    """ca.pem, and server.pem with server.key that it has signed for 127.0.0.1."""
    os.makedirs(folder, exist_ok=True)
    run = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=a CA of the test", "-days", "2",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=keyCertSign")
    run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    with open(os.path.join(folder, "ext"), "w") as f:
        f.write("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    run("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "ext")


def packages_are_sent(s):
    """Where nothing can be mounted they are fetched here and sent as files, each time the sandbox starts anew; the second time nobody is asked for them."""
    with Index() as index:
        index.add("sandpail", "1.0", files={"sandpail/__init__.py": "__version__ = '1.0'\n", "sandpail/part.bin": os.urandom(3 << 20)})
        index.add("huge", "1.0", files={"huge/__init__.py": "", "huge/data.bin": bytes(66 << 20)})
        env = {"UV_DEFAULT_INDEX": index.url, "PATH": "%s:%s" % (uv(), s.env()["PATH"])}
        code = "import os, sandpail\nfolder = os.path.dirname(sandpail.__file__)\nprint(folder.split('/')[1], os.path.getsize(folder + '/part.bin'), sandpail.__version__)"
        r = s.run("exec", "--with", "sandpail", "-c", code, env=env)
        assert r.code == 0 and r.out == "tmp %d 1.0\n" % (3 << 20), r
        asked = len(index.asked)
        assert s.run("exec", "--with", "sandpail", "-c", code, env=env).out == r.out and len(index.asked) == asked
        r = s.run("exec", "--with", "huge", "-c", "import huge, os; print(os.path.getsize(os.path.dirname(huge.__file__) + '/data.bin'))", env=env)
        assert r.code == 0 and r.out == "%d\n" % (66 << 20), r               # /tmp is as large as it must be
        r = s.run("exec", "--memory", "128m", "--with", "huge", "-c", "print(1)", env=env)
        assert r.code == 125 and "a sandbox that runs has room for" in r.err, r
