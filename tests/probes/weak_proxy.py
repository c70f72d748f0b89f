"""weak_proxy.py - the self-test's proxy: it asks whoever is wanted, looks at nothing, adds the secret and leaves it in the answer."""
import atexit
import json
import os
import select
import socket
import socketserver
import ssl
import threading
import urllib.parse

from . import network

QUIET = 0.3     # seconds without a byte of the code's: its request is whole


def relay(code, host):
    """Bytes both ways until the host closes."""
    asking = True
    while True:
        ready = select.select([host] + [code] * asking, [], [], QUIET)[0]
        if host in ready or not asking:
            piece = host.recv(65536)
            if not piece:
                return
            code.sendall(piece)
        if code in ready:
            piece = code.recv(65536)
            host.sendall(piece)
            asking = bool(piece)
        elif not ready and asking:
            asking = False
            if not isinstance(host, ssl.SSLSocket):
                host.shutdown(socket.SHUT_WR)


class Naive(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            self.serve()
        except (OSError, ValueError):
            pass

    def serve(self):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.connection.recv(65536)
            if not piece:
                return
            head += piece
        method, target, _ = head.split(None, 2)
        url = urllib.parse.urlsplit(target.decode() if method != b"CONNECT" else "//" + target.decode())
        with socket.create_connection((url.hostname, url.port or 80), 20) as host:
            if method == b"CONNECT":
                self.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                if url.port == self.server.secret:
                    host = unchecked().wrap_socket(host)
                    head = head.replace(b"\r\n", b"\r\nAuthorization: Bearer %s\r\n" % network.SECRET.encode(), 1)
                host.sendall(head.replace(target, (url.path or "/").encode(), 1).replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            relay(self.connection, host)


def unchecked():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def place(weak):
    """The ports of all servers, where a cell looks for them, and the environment that leads code to the proxy."""
    ports, _ = network.servers(weak)
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Naive)
    server.daemon_threads, server.secret = True, ports["secret"]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    atexit.register(server.server_close)
    path = weak.write("ports.json", json.dumps(dict(ports, forms=network.forms())))
    os.chmod(path, 0o644)
    return {"HTTP_PROXY": "http://127.0.0.1:%d" % server.server_address[1], "http_proxy": "http://127.0.0.1:%d" % server.server_address[1], "NO_PROXY": "",
            "no_proxy": "", **network.ENVIRONMENT}
