"""questions.py - one scripted question on a live session, by the command line (a script with --json) and by the server (/v1), in turns."""
import http.client
import json
import re
import statistics
import subprocess
import time


def by_script(process, text):
    began = time.monotonic()
    process.stdin.write(text.encode() + b"\n")
    process.stdin.flush()
    while b'"type":"done"' not in process.stdout.readline():
        pass
    return (time.monotonic() - began) * 1000


class Client:
    def __init__(self, process):
        seen = ""
        while "listening" not in seen:
            seen += process.stderr.readline().decode()
        self.token = re.search(r"token: (\S+)", seen).group(1)
        self.connection = http.client.HTTPConnection(re.search(r"http://([^ /]+)", seen).group(1))
        self.messages = []

    def __call__(self, text):
        self.messages.append({"role": "user", "content": text})
        body = json.dumps({"model": "sandpiper", "messages": self.messages})
        began = time.monotonic()
        self.connection.request("POST", "/v1/chat/completions", body, {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())
        took = (time.monotonic() - began) * 1000
        assert answer["sandpiper"]["new_interpreter"] == (len(self.messages) == 1), answer
        self.messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
        return took


def used(process):
    """Processor time so far in ms, with that of its runners: what a machine's other work hardly changes."""
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as f:
        children = f.read().split()
    spent = 0
    for pid in [process.pid, *children]:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            if pid != process.pid and b"\0runner\0" not in f.read():
                continue
        with open("/proc/%s/schedstat" % pid) as f:
            spent += int(f.read().split()[0])
    return spent / 1e6


def overhead(program, env, n=100):
    """Of the script, and of the server, in ms: (what nine of ten take longer than, since more processes meet more of a machine's other work;
    the median; processor time)."""
    common = {"env": env, "stderr": subprocess.PIPE}
    script = subprocess.Popen([program, "--json", "-q", "--sandbox", "bwrap", "--stdin", "script"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              **dict(common, stderr=subprocess.DEVNULL))
    server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--sandbox", "bwrap"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **common)
    try:
        client = Client(server)
        for _ in range(5):
            by_script(script, "what is one?"), client("what is one?")
        before = used(script), used(server)
        times = [(by_script(script, "what is one?"), client("what is one?")) for _ in range(n)]
        spent = [(used(p) - b) / n for p, b in zip((script, server), before)]
    finally:
        script.stdin.close()
        server.terminate()
        script.wait()
        server.wait()
    return [(statistics.quantiles(t, n=10)[0], statistics.median(t), cpu) for t, cpu in zip(zip(*times), spent)]
