"""public_internet.py FOLDER PROGRAM... - run a program where the public internet is a server of ours: in a network of its own whose loopback has a
public address, with FOLDER/hosts as /etc/hosts. Run by `unshare --net --mount`, as root. The server speaks HTTPS on port 443: /file gives a file,
/redirect leads to /secret on 127.0.0.1, /endless never ends, /packed is small and unpacks to much, else 404."""
import fcntl
import os
import socket
import ssl
import struct
import subprocess
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PUBLIC = "93.184.216.34"
SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916


def interface(name, address, up):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        if address:
            fcntl.ioctl(s, SIOCSIFADDR, struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(address)))
        if up:
            fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", name, 1))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        with open(os.path.join(sys.argv[1], "seen"), "a") as f:
            f.write("%s %s\n" % (self.connection.getsockname()[0], self.path))
        path = self.path
        self.send_response({"/file": 200, "/redirect": 302, "/endless": 200, "/packed": 200}.get(path, 404))
        if path == "/redirect":
            self.send_header("Location", "https://127.0.0.1/secret")
        if path == "/packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        try:
            if path == "/file":
                self.wfile.write(b"a,b\n1,2\n")
            if path == "/packed":
                z = zlib.compressobj(wbits=31)
                self.wfile.write(b"".join(z.compress(bytes(1 << 20)) for _ in range(64)) + z.flush())
            while path == "/endless":
                self.wfile.write(bytes(65536))
        except OSError:
            pass

    def log_message(self, *_):
        pass


def main():
    folder, *program = sys.argv[1:]
    interface(b"lo", None, True)
    interface(b"lo:1", PUBLIC, True)
    subprocess.run(["mount", "--bind", os.path.join(folder, "hosts"), "/etc/hosts"], check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"))
    server = ThreadingHTTPServer(("0.0.0.0", 443), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    if os.fork() == 0:
        # Ends with the program, whose place in this process tree is its parent's.
        parent = os.getppid()
        server.timeout = 0.2
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        while os.getppid() == parent:
            server.handle_request()
        os._exit(0)
    server.socket.close()
    os.execv(program[0], program)


def place(s):
    """Puts the programs of s there. Its authority; a function that tells what the server was asked."""
    from elsewhere import refuse        # and pytest, which the program that main() starts would wait for
    if os.geteuid() != 0:
        refuse("it needs root")
    names = ",".join("DNS:%s.example" % n for n in ("good", "inside", "both"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=good.example",
                    "-addext", "subjectAltName=IP:%s,%s" % (PUBLIC, names), "-keyout", s.path("key.pem"), "-out", s.path("cert.pem")],
                   check=True, capture_output=True)
    with open(s.path("hosts"), "w") as f:
        f.write("127.0.0.1 localhost inside.example both.example\n%s good.example both.example\n" % PUBLIC)
    plain, seen = s.argv, s.path("seen")
    s.argv = lambda args: ["unshare", "--net", "--mount", "/usr/bin/python3", __file__, s.dir, *plain(args)]
    return s.path("cert.pem"), lambda: open(seen).read().splitlines() if os.path.exists(seen) else []


if __name__ == "__main__":
    main()
