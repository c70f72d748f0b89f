"""service.py - the scripted model service of make bench, on loopback, and what a program is told of it."""
import http.server
import json
import os
import time

import copies
import uploads

# In pieces, as a program writes them; one write of 1 GB would be killed for its memory.
GIGABYTE = "import sys\nfor i in range(1024): sys.stdout.write(('x' * 127 + '\\n') * 8192)"


class Model(http.server.BaseHTTPRequestHandler):
    """One tool call, then an answer; streamed as the services do it."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True      # head and body are two writes; what the kernel waits between them is nobody's cost but this server's

    def log_message(self, *_):
        pass

    def do_GET(self):
        """What models there are: the chat asks behind its prompt, and may be gone before it is answered."""
        try:
            self.send_error(404)
        except OSError:
            self.close_connection = True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = json.dumps(body["messages"][1])
        if "slowly" in question:
            time.sleep(0.3)
        code = copies.LOAD + copies.USE if "load the table" in question else copies.USE if "the table" in question else GIGABYTE if "gigabyte" in question else uploads.CODE if "fifty files" in question else "print(1)"
        if body["messages"][-1]["role"] == "tool":
            deltas, finish = [{"content": "The answer is "}, {"content": "1."}], "stop"
        else:
            call = {"index": 0, "id": "call_1", "type": "function",
                    "function": {"name": "execute_python", "arguments": json.dumps({"code": code})}}
            deltas, finish = [{"tool_calls": [call]}], "tool_calls"
        events = [{"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
                       "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
        data = "".join(f"data: {json.dumps(e)}\n\n" for e in events).encode() + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def environment(home, url):
    return {"PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": home,
            "SANDPIPER_DISCOVER": "0", "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "bench", "SANDPIPER_MODEL": "scripted",
            "SANDPIPER_DIALECT": "native"}
