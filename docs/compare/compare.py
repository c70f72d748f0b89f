#!/usr/bin/python3
"""compare.py - the table of docs/COMPARE.md: sandpiper and its peers, each installed from PyPI or npm into build/compare, each driven by the same scripted
model on this machine, which has it run the same code. A cell says what was seen; what did not run has none, and says why on stderr.

    docs/compare/compare.py [NAME ...]

The code only reads, and only what this script made: a file in the home folder of the run, a key that is none, a port that it listens on. What a program
gives back to the model is searched for words that are in no code ("FIRST41"), so nothing counts that did not run.
"""
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TREE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PLACE = os.path.join(TREE, "build", "compare")
sys.path[1:1] = [os.path.join(TREE, "tests", "e2e"), os.path.join(TREE, "tests")]

from model_server import ModelServer  # noqa: E402

QUESTION, ANSWER = "what is six times seven?", "It is 42."
PATIENCE = 150                  # seconds for one run of a program
LIMIT = 60                      # code that has not been stopped by then is called unlimited

FIRST = "v = 40\nprint('FIRST%d' % (v + 1))"
SECOND = "print('SECOND%d' % (v + 2))"
WARM = "print('WARM%d' % (1 + 1))"
READ = "print('FILE' + open('CANARY').read()[::-1])"
KEY = """import os, re
text = str(dict(os.environ))
try:
    text += open('/proc/%d/environ' % os.getppid()).read()
except OSError:
    pass
print('KEY' + re.search('sk-canary-([0-9a-f]+)', text).group(1)[::-1])"""
CONNECT = "import socket\nsocket.create_connection(('127.0.0.1', PORT), 5).close()"
CRASH = "import ctypes\nctypes.string_at(0)"
AFTER = "try:\n    print('AFTER%d' % (v + 3))\nexcept NameError:\n    print('ALIVE%d' % (3 + 4))"
STAY = "import signal\nfor s in (signal.SIGINT, signal.SIGTERM):\n    signal.signal(s, signal.SIG_IGN)\nwhile True:\n    pass"

IN_SHELL = "python3 - <<'END'\n%s\nEND"
OI = """import sys
from interpreter import interpreter as i
i.offline = i.auto_run = True
i.disable_telemetry, i.llm.supports_functions = True, False
i.llm.model, i.llm.api_base, i.llm.api_key = 'openai/test-model', sys.argv[1], sys.argv[2]
i.llm.context_window, i.llm.max_tokens = 32000, 1000
print(i.chat(sys.argv[3], display=False)[-1]['content'])"""


def call(name, **arguments):
    return {"answer": {"calls": [{"name": name, "arguments": json.dumps(arguments)}]}}


# A name | what is installed (npm's has a slash) | how it is started, with NAME for its folder | how it shows its version | how the model has it run code
PEERS = {
    "sandpiper": (None, lambda u, k: [TREE + "/build/release/sandpiper", "--sandbox", "bwrap", "--timeout", "10s", QUESTION],
                  [TREE + "/build/release/sandpiper", "--version"], lambda c: {"answer": {"calls": [{"code": c}]}}),
    "codex": ("@openai/codex", lambda u, k: ["NAME/node_modules/.bin/codex", "exec", "--skip-git-repo-check", "-m", "gpt-5.4", "-c", 'model_provider="t"', "-c",
              'model_providers.t={name="t",base_url="%s",env_key="OPENAI_API_KEY",wire_api="responses"}' % u, QUESTION],
              ["NAME/node_modules/.bin/codex", "--version"], lambda c: call("exec_command", cmd=IN_SHELL % c)),
    "gptme": ("gptme", lambda u, k: ["NAME/bin/gptme", "-n", "-m", "openai/test-model", QUESTION], ["NAME/bin/gptme", "--version"],
              lambda c: call("ipython", code=c)),
    "open-interpreter": ("open-interpreter", lambda u, k: ["NAME/bin/python", "-c", OI, u, k, QUESTION], ["NAME/bin/interpreter", "--version"],
                         lambda c: {"answer": {"text": "```python\n%s\n```" % c}}),
    "llm": ("llm", lambda u, k: ["NAME/bin/llm", "-m", "gpt-4o-mini", QUESTION], ["NAME/bin/llm", "--version"], None),
}


def install(name, package):
    """Into a folder of its own, once. Returns the version that the registry gave."""
    place = os.path.join(PLACE, name)
    if not os.path.isdir(place):
        os.makedirs(place + ".new", exist_ok=True)
        if package.startswith("@"):
            subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", place + ".new", package], check=True, timeout=900)
        else:
            subprocess.run([sys.executable, "-m", "venv", place + ".new"], check=True, timeout=300)
            subprocess.run([place + ".new/bin/python", "-m", "pip", "install", "-q", "setuptools<80", package], check=True, timeout=1800)
            subprocess.run("grep -rlI '%s.new' %s.new/bin | xargs -r sed -i 's|%s.new|%s|g'" % (place, place, place, place), shell=True, check=True)
        os.rename(place + ".new", place)


def tree_of(pid):
    """pid and its descendants."""
    children = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % p) as f:
                children.setdefault(int(f.read().rpartition(")")[2].split()[1]), []).append(int(p))
        except OSError:
            pass
    found = [pid]
    for p in found:
        found += children.get(p, [])
    return found


def memory_of(pids):
    kilobytes = 0
    for p in pids:
        try:
            with open("/proc/%d/smaps_rollup" % p) as f:
                kilobytes += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
        except (OSError, AttributeError):
            pass
    return kilobytes


class Run:
    """One question to a program, with what its model says."""

    def __init__(self, name, codes, limit=PATIENCE):
        _, start, _, how = PEERS[name]
        self.peak, self.ended, port = 0, True, socket.create_server(("127.0.0.1", 0))
        port.settimeout(0.2)
        self.reached, watching = False, threading.Event()

        def accept():
            while not watching.is_set():
                try:
                    port.accept()[0].close()
                    self.reached = True
                except OSError:
                    pass
        threading.Thread(target=accept, daemon=True).start()
        self.canary, self.key = secrets.token_hex(8), secrets.token_hex(8)
        home = tempfile.mkdtemp(dir=PLACE, prefix="home-")
        for folder in ("work", "run", "tmp"):
            os.mkdir(os.path.join(home, folder), 0o700)
        with open(os.path.join(home, "canary"), "w") as f:
            f.write(self.canary)
        codes = [c.replace("CANARY", home + "/canary").replace("PORT", str(port.getsockname()[1])) for c in codes]
        exchanges = [how(c) for c in codes] + [{"answer": {"text": ANSWER}}] * 6
        with ModelServer(exchanges, lenient=True) as model:
            env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": home, "XDG_RUNTIME_DIR": home + "/run", "TMPDIR": home + "/tmp", "LANG": "C.UTF-8",
                   "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-canary-" + self.key, "SANDPIPER_MODEL": "test-model"}
            argv = [w.replace("NAME", os.path.join(PLACE, name)) if w.startswith("NAME") else w for w in start(model.url, env["OPENAI_API_KEY"])]
            begin = time.monotonic()
            with open(home + "/out", "w+b") as out, open(home + "/err", "w+b") as err:
                p = subprocess.Popen(argv, env=env, cwd=home + "/work", stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
                while p.poll() is None and time.monotonic() - begin < limit:
                    if self.stuck(model, codes, name):
                        break
                    self.peak = max(self.peak, memory_of(tree_of(p.pid)))
                    time.sleep(0.1)
                self.ended, self.seconds, self.code = p.poll() is not None, time.monotonic() - begin, p.poll()
                for pid in reversed(tree_of(p.pid)):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except OSError:
                        pass
                p.wait()
                for f in out, err:
                    f.seek(0)
                self.out, self.err = out.read().decode(errors="replace"), err.read().decode(errors="replace")
            self.times = [q.time - begin for q in model.requests]
            self.told = "\n".join(json.dumps(q.body) for q in model.requests)
        watching.set()
        port.close()
        shutil.rmtree(home, ignore_errors=True)

    @staticmethod
    def stuck(model, codes, name):
        """gptme asks on after the answer: what counts has been seen."""
        return name == "gptme" and len(model.requests) > len(codes) + 2

    def says(self, words):
        return words in self.told

    @property
    def why(self):
        return "exit %s after %.0f s: %s" % (self.code, self.seconds, (self.out + self.err)[-300:].replace("\n", " "))


def version_of(name):
    argv = [w.replace("NAME", os.path.join(PLACE, name)) for w in PEERS[name][2]]
    home, best, text = tempfile.mkdtemp(dir=PLACE, prefix="home-"), 1e9, ""
    for _ in range(5):
        begin = time.monotonic()
        text = subprocess.run(argv, env={"PATH": os.environ["PATH"], "HOME": home}, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
        best = min(best, time.monotonic() - begin)
    shutil.rmtree(home, ignore_errors=True)
    return re.search(r"\d+\.\d+[.\d]*", text).group(0), best * 1000


def measure(name):
    """{row: what was seen}"""
    package, _, _, how = PEERS[name]
    if package:
        install(name, package)
    number, milliseconds = version_of(name)
    rows = {"version": number, "`--version`, best of 5": "%s ms" % format(round(milliseconds), ",")}
    codes = [FIRST] if how else []
    plain = Run(name, codes)
    if ANSWER not in plain.out or (how and not plain.says("FIRST41")):
        print("%s gave no answer: %s" % (name, plain.why), file=sys.stderr)
        return rows
    rows["only the answer on stdout"] = "yes" if plain.out.strip() == ANSWER else "no"
    rows["start to answer, with one run of code"] = "%.1f s" % (plain.times[len(codes)] if name == "gptme" else plain.seconds)
    rows["memory, all its processes"] = "%d MB" % (plain.peak / 1000)
    if not how:
        return {**rows, "variables survive from one run of code to the next": "runs no code"}
    many = Run(name, [FIRST, SECOND, READ, KEY, CONNECT, *[WARM] * 5])
    if many.says("WARM2"):
        rows["variables survive from one run of code to the next"] = "yes" if many.says("SECOND42") else "no" if many.says("SECOND%d") else ""
        rows["a file of your home"] = "**read**" if many.says("FILE" + many.canary[::-1]) else "not found"
        rows["your key"] = "**printed**" if many.says("KEY" + many.key[::-1]) else "out of reach"
        rows["network, as it comes"] = "reached a port of the machine" if many.reached else "none"
        gaps = [b - a for a, b in zip(many.times[6:10], many.times[7:11])]
        rows["one more run of code, best of 4"] = "%.0f ms" % (min(gaps) * 1000) if gaps else ""
    else:
        print("%s did not run all code: %s" % (name, many.why), file=sys.stderr)
    crash = Run(name, [FIRST, CRASH, AFTER], LIMIT)
    if crash.says("string_at(0)") or not crash.says("AFTER43"):    # else another request of the program's got that code, and nothing crashed
        rows["a crash of the code (SIGSEGV)"] = ("variables are there again" if crash.says("AFTER43") else "later code runs, variables are gone" if crash.says("ALIVE7") else
                                                "no more code ran within %d s" % LIMIT if not crash.ended else "the program ended with it")
    stay = Run(name, [FIRST, STAY, WARM], LIMIT)
    row = "code that ignores signals, in a loop: the next code ran after"
    rows[row] = "not within %d s" % LIMIT if not stay.ended else "the program ended"
    if stay.says("WARM2") and not stay.says("SIG_IGN"):
        del rows[row]           # as above
    elif stay.says("WARM2"):    # codex says that it has left the process running
        left = " (the loop goes on beside it)" if stay.says("running with session ID") else ""
        rows[row] = "%.0f s%s" % (stay.times[2] - stay.times[1], left)
    return rows


def main(names):
    if set(names) - set(PEERS):
        sys.exit("compare.py: known: " + ", ".join(PEERS))
    os.makedirs(PLACE, exist_ok=True)
    table, load = {}, os.getloadavg()[0]
    for name in names or PEERS:
        try:
            table[name] = measure(name)
            print(name, table[name], file=sys.stderr, flush=True)
        except (subprocess.SubprocessError, OSError) as e:
            print("%s could not be run: %s" % (name, e), file=sys.stderr)
    rows = list(dict.fromkeys(row for seen in table.values() for row in seen if row != "version"))
    print("| | " + " | ".join("%s %s" % (n, table[n].get("version", "")) for n in table) + " |\n|" + "---|" * (len(table) + 1))
    for row in rows:
        print("| %s | " % row + " | ".join(seen.get(row, "") for seen in table.values()) + " |")
    print("\n%s, %d processors, load %.0f before and %.0f after" % (time.strftime("%d %B %Y"), os.cpu_count(), load, os.getloadavg()[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
