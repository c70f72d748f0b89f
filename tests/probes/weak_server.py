#!/usr/bin/python3
"""weak_server.py - the server of the self-test: it keeps whatever comes in memory, asks nobody for a token, and believes every header."""
import http.server
import json
import sys


class Weak(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        base = "http://" + self.headers.get("X-Forwarded-Host", self.headers.get("Host", ""))
        body = json.dumps({"sandbox_id": "0" * 32, "id": "x", "session": "x", "sandboxes": [], "files": [], "servers": [{"url": base}],
                           "download_url": base + "/files/0/f"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "x")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_DELETE = do_GET


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Weak)
    server.daemon_threads = True
    print("listening on http://127.0.0.1:%d" % server.server_port, file=sys.stderr, flush=True)
    server.serve_forever()
