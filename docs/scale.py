#!/usr/bin/python3
"""scale.py - the figures of docs/SCALE.md. "scale.py measure PROGRAM" measures on this machine what one row of a batch and one request to serve cost
(as root, with bwrap). "scale.py simulate" plays a million questions on a hundred nodes with the costs below: which resource each row
waits for, and which one is full first. Every cost is an option: scale.py simulate --help.
"""
import argparse
import heapq
import http.client
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

# ---- what is measured ----

INTO = 'echo $$ > "$0" && exec "$@"'          # sh: joins a control group, whose processor time is counted
BOX = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
       "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/mnt", "--tmpfs", "/mnt/data",
       "--chdir", "/", "--clearenv", "/usr/bin/python3", "{python}"]


class Model(http.server.BaseHTTPRequestHandler):
    """Has code run once, and answers."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        try:
            self.send_error(404)
        except OSError:
            pass            # the client was gone

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        call = {"index": 0, "id": "c", "type": "function", "function": {"name": "execute_python", "arguments": '{"code": "print(1)"}'}}
        delta, end = ({"content": "It is 1."}, "stop") if body["messages"][-1]["role"] == "tool" else ({"tool_calls": [call]}, "tool_calls")
        events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}]
        data = "".join("data: %s\n\n" % json.dumps(e) for e in events).encode() + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def cpu_of(pid):
    """Seconds so far, of that process alone."""
    try:
        with open("/proc/%d/schedstat" % pid) as f:
            return int(f.read().split()[0]) / 1e9
    except OSError:
        return 0.0


class Group:
    """A control group that counts the processor time of what joins it: v1's cpuacct or v2. Needs root."""

    def __init__(self, name):
        v1 = "/sys/fs/cgroup/cpuacct"
        self.path = os.path.join(v1 if os.path.isdir(v1) else "/sys/fs/cgroup", "sandpiper-scale-%s-%d" % (name, os.getpid()))
        self.v1 = os.path.isdir(v1)
        os.mkdir(self.path)
        self.procs = os.path.join(self.path, "cgroup.procs")

    def end(self):
        """Seconds, once all have ended."""
        while open(self.procs).read():
            time.sleep(0.05)
        with open(os.path.join(self.path, "cpuacct.usage" if self.v1 else "cpu.stat")) as f:
            words = f.read().split()
        os.rmdir(self.path)
        return int(words[0]) / 1e9 if self.v1 else int(words[words.index("usage_usec") + 1]) / 1e6


def rows_cost(program, folder, rows):
    """Processor seconds of a row: (batch itself, its runner and keeper, its sandbox)."""
    config, table = os.path.join(folder, "config.yaml"), os.path.join(folder, "q.jsonl")
    boxes, all_else = Group("boxes"), Group("rest")
    with open(config, "w") as f:
        f.write("engines:\n  counted:\n    start: %s\n" % json.dumps(["sh", "-c", INTO, boxes.procs, *BOX]))
    with open(table, "w") as f:
        f.writelines('{"question": "what is %d?"}\n' % i for i in range(rows))
    p = subprocess.Popen(["sh", "-c", INTO, all_else.procs, program, "batch", table, "-o", os.path.join(folder, "out"), "-j", "4", "-q",
                          "--config", config, "--sandbox", "counted"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    front = 0.0
    while not os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        front = max(front, cpu_of(p.pid))
        time.sleep(0.01)
    assert p.wait() == 0, p.stderr.read().decode()
    return front / rows, (all_else.end() - front) / rows, boxes.end() / rows


class Serve:
    def __init__(self, program, *options):
        self.p = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--sandbox", "bwrap", *options], stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        seen = ""
        while "listening" not in seen:
            seen += self.p.stderr.readline().decode()
        self.token, self.at = re.search(r"token: (\S+)", seen)[1], re.search(r"http://([^ /\s]+)", seen)[1]

    def client(self):
        c = http.client.HTTPConnection(self.at)

        def ask(path, **body):
            c.request("POST", path, json.dumps(body), {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
            r = c.getresponse()
            answer = json.loads(r.read())
            assert r.status == 200, answer
            return answer
        return ask


def together(n, work):
    """Seconds until n threads have done it."""
    threads = [threading.Thread(target=work) for _ in range(n)]
    began = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return time.monotonic() - began


def resident(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) / 1024


def serve_cost(program):
    s = Serve(program, "--max-sandboxes", "300")
    clients = 16
    boxes = []

    def make():
        ask = s.client()
        boxes.extend(ask("/create_sandbox")["sandbox_id"] for _ in range(8))

    took = together(clients, make)
    print("serve: %d sandboxes made by %d clients: %.0f a second" % (len(boxes), clients, len(boxes) / took))
    with open("/proc/%d/task/%d/children" % (s.p.pid, s.p.pid)) as f:
        children = [int(pid) for pid in f.read().split()]
    print("serve: %.1f MB, and %.1f MB for each sandbox's runner (median)" % (resident(s.p.pid), sorted(map(resident, children))[len(children) // 2]))

    def use():
        ask = s.client()
        box = boxes.pop()
        for _ in range(100):
            ask("/run_code", sandbox_id=box, code="1")

    before = cpu_of(s.p.pid)
    took = together(clients, use)
    print("serve: %.0f cells a second, %.2f ms of the server's own processor time each" % (clients * 100 / took, (cpu_of(s.p.pid) - before) * 10 / clients))
    s.p.terminate()
    s.p.wait()


def measure(program):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = tempfile.mkdtemp(prefix="sandpiper-scale-")
    os.environ.update(HOME=folder, XDG_RUNTIME_DIR=folder, SANDPIPER_DISCOVER="0", OPENAI_API_KEY="x", SANDPIPER_MODEL="scripted",
                      OPENAI_BASE_URL="http://127.0.0.1:%d/v1" % server.server_port)
    try:
        print("load of this machine: %.1f on %d processors" % (os.getloadavg()[0], os.cpu_count()))
        serve_cost(program)
        front, runner, box = rows_cost(program, folder, 60)
        print("a row: batch itself %.2f ms, its runner %.1f ms, its sandbox %.1f ms of processor time" % (front * 1e3, runner * 1e3, box * 1e3))
        with open(os.path.join(folder, "out"), "a+") as f:
            print("a row: %d bytes of results" % (f.tell() // 60))
            began = time.monotonic()
            for _ in range(100):
                f.write("x" * 700 + "\n")
                f.flush()
                os.fdatasync(f.fileno())
            print("a line to the disk: %.2f ms" % ((time.monotonic() - began) * 10))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- what is played ----

def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    a.add_argument("what", choices=["measure", "simulate"])
    a.add_argument("program", nargs="?", default="build/sandpiper")
    for name, value, text in [
            ("rows", 1000000, "questions"), ("nodes", 100, "machines for sandboxes"), ("node-cores", 32, "processors of each"),
            ("fronts", 1, "machines that run batch"), ("front-cores", 32, "processors of each"), ("jobs", 1000, "-j of each batch"),
            ("starting", 32, "--max-starting of each batch"), ("front-ms", 0.7, "processor time of batch for a row: one process, one thread"),
            ("runner-ms", 24.0, "of its runner, on the front's machine"), ("sandbox-ms", 44.0, "of its sandbox's start and end, on a node"),
            ("code-ms", 200.0, "of the code of a row, on a node"), ("step-ms", 80.0, "until a sandbox starts on a node, beside its processor time"),
            ("steps-a-second", 12.5, "that the scheduler starts; 0: no scheduler"), ("model-s", 1.5, "until the model has answered one request"),
            ("requests", 2, "to the model for a row"), ("model-at-once", 2000, "requests that the service takes at once"),
            ("runner-mb", 5.4, "memory of a runner")]:
        a.add_argument("--" + name, type=type(value), default=value, help=text)
    return a.parse_args()


class Station:
    """A resource with so many places, first come, first served."""

    def __init__(self, name, places):
        self.name, self.places, self.busy, self.line, self.head = name, places, 0, [], 0
        self.waited = self.worked = 0.0
        self.longest = 0


def simulate(o):
    rng = random.Random(1)
    varied = lambda mean: rng.expovariate(1 / mean) if mean > 0 else 0.0
    batch = Station("batch itself, one thread", o.fronts)
    front = Station("the fronts' processors", o.fronts * o.front_cores)
    starts = Station("--max-starting", o.fronts * o.starting)
    scheduler = Station("the scheduler", 1)
    nodes = Station("the nodes' processors", o.nodes * o.node_cores)
    model = Station("the model", o.model_at_once)
    # A row's way: (station, seconds there, held until the way leaves "release"). The place among the starting ones is held over several stations.
    way = [(batch, lambda: o.front_ms / 1e3), (starts, None)]
    if o.steps_a_second:
        way.append((scheduler, lambda: 1 / o.steps_a_second))
    way += [(None, lambda: varied(o.step_ms / 1e3)), (nodes, lambda: varied(o.sandbox_ms / 1e3)), ("release", starts),
            (front, lambda: varied(o.runner_ms / 1e3))]
    for i in range(o.requests):
        way.append((model, lambda: varied(o.model_s)))
        if i + 1 < o.requests:
            way.append((nodes, lambda: varied(o.code_ms / 1e3 / max(1, o.requests - 1))))
    stations = [s for s in (batch, starts, scheduler, front, nodes, model) if any(s is w[0] for w in way)]
    events, serial, now, left, done = [], 0, 0.0, o.rows, 0
    places = o.fronts * o.jobs
    spent = {}

    def go(row, at):
        """Moves a row on until it waits for something. row: [step, when it arrived there]."""
        nonlocal serial
        while row[0] < len(way):
            station, what = way[row[0]]
            if station == "release":
                free(what, at)
                row[0] += 1
                continue
            if isinstance(station, Station) and station.busy >= station.places:
                row[1] = at
                station.line.append(row)
                station.longest = max(station.longest, len(station.line) - station.head)
                return False
            if isinstance(station, Station):
                station.busy += 1
            if what is None:                    # it is held
                row[0] += 1
                continue
            seconds = what()
            if isinstance(station, Station):
                station.worked += seconds
            spent[station] = spent.get(station, 0.0) + seconds
            serial += 1
            heapq.heappush(events, (at + seconds, serial, row))
            return False
        return True

    def free(station, at):
        station.busy -= 1
        if station.head < len(station.line):
            row = station.line[station.head]
            station.head += 1
            if station.head > 100000:
                del station.line[:station.head]
                station.head = 0
            station.waited += at - row[1]
            station.busy += 1
            if way[row[0]][1] is None:
                row[0] += 1
                ended = go(row, at)
                assert not ended
            else:
                station.busy -= 1
                go(row, at)

    began = time.monotonic()
    while done < o.rows:
        while places and left:
            places, left = places - 1, left - 1
            go([0, now], now)
        now, _, row = heapq.heappop(events)
        station = way[row[0]][0]
        row[0] += 1
        if isinstance(station, Station):
            free(station, now)
        if go(row, now):
            done, places = done + 1, places + 1
    print("%s rows on %d nodes with %d fronts, -j %d each: %s, %.0f rows a second (simulated in %.0f s)"
          % (format(o.rows, ","), o.nodes, o.fronts, o.jobs, "%.1f h" % (now / 3600) if now > 7200 else "%.0f min" % (now / 60), o.rows / now, time.monotonic() - began))
    print("%-28s %9s %14s %16s %14s" % ("", "in use", "a row is there", "a row waits", "longest queue"))
    for s in stations:
        use = s.worked / (now * s.places) if s is not starts else None
        print("%-28s %9s %11.0f ms %13.0f ms %14s" % (s.name, "%.0f %%" % (use * 100) if use is not None else "", s.worked * 1e3 / o.rows, s.waited * 1e3 / o.rows,
                                                  format(s.longest, ",")))
    rows_at_once = o.fronts * o.jobs
    print("memory of the runners on each front: %.1f GB; results: %.1f GB" % (o.jobs * o.runner_mb / 1e3, o.rows * 700 / 1e9))
    print("rows under way: %d of the %d that -j allows" % (rows_at_once - places, rows_at_once))


if __name__ == "__main__":
    options = arguments()
    simulate(options) if options.what == "simulate" else measure(os.path.abspath(options.program))
