#!/usr/bin/python3
"""soak.py [SECONDS] [ENGINE] - two minutes of two hundred clients, each with a connection that it keeps and answers that can be checked, beside the
attacks of server.py that do not stop: bodies of nothing but values, the longest files, sandboxes whose makers have left, connections without a
request, the ids and the room of another client. No answer may be wrong, and the server's memory must stay flat. Prints the figures as JSON; exit
status 1 if it does not hold.

  soak.py clients HOST TOKEN SECONDS BOX...    the clients, a process of their own
"""
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time

if __name__ == "__main__":
    sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

CLIENTS = 200
BOXES = 8
FLAT = 1.25             # the last quarter's most memory, of the second quarter's most (the first warms up)


# ------------------------------------------------------------------------------------------------------------------ the clients

class Client:
    def __init__(self, host, token, number, box):
        self.host, self.token, self.box, self.r = host, token, box, random.Random(number)
        self.name, self.value, self.wrong, self.times, self.late = "c%d" % number, None, [], [], 0

    async def ask(self, path, body=None):
        text = b"" if body is None else json.dumps(body).encode()
        self.writer.write(("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (
            "GET" if body is None else "POST", path, self.host, self.token, len(text))).encode() + text)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
        body = await self.reader.readexactly(length)
        if int(head[9:12]) == 408:      # it came too late while others needed the connection, and was not read: asked again, as RFC 9110 says
            self.late += 1
            self.writer.close()
            self.reader, self.writer = await asyncio.open_connection(*self.host.split(":"))
            return await self.ask(path, None if not text else json.loads(text))
        return int(head[9:12]), body

    async def run_code(self, code, stdout):
        status, body = await self.ask("/run_code", {"sandbox_id": self.box, "code": code})
        return status == 200 and json.loads(body)["stdout"] == stdout, body

    async def product(self):
        a, b = self.r.randrange(10 ** 9), self.r.randrange(10 ** 9)
        return await self.run_code("print(%d * %d)" % (a, b), "%d\n" % (a * b))

    async def variable(self):
        before, self.value = self.value, self.r.randrange(10 ** 9)
        said = "" if before is None else "print(%s); " % self.name
        return await self.run_code("%s%s = %d" % (said, self.name, self.value), "" if before is None else "%d\n" % before)

    async def file(self):
        text = "%x" % self.r.getrandbits(8 * self.r.choice((10, 1000, 60000)))
        status, body = await self.ask("/write_file", {"sandbox_id": self.box, "filename": self.name, "content": text})
        if status != 200:
            return False, body
        status, body = await self.ask("/files/%s/%s" % (self.box, self.name))
        return status == 200 and body == text.encode(), body

    async def health(self):
        status, body = await self.ask("/")
        return status == 200 and json.loads(body)["status"] == "ok", body

    async def live(self, end):
        self.reader, self.writer = await asyncio.open_connection(*self.host.split(":"))
        while time.monotonic() < end:
            deed, began = self.r.choice((self.product, self.product, self.variable, self.file, self.health)), time.perf_counter()
            try:
                good, body = await deed()
            except (OSError, asyncio.IncompleteReadError) as e:
                self.wrong.append("%s %s: %r" % (self.name, deed.__name__, e))
                return
            self.times.append(1000 * (time.perf_counter() - began))
            if not good:
                self.wrong.append("%s %s: %r" % (self.name, deed.__name__, body[:300]))
            await asyncio.sleep(self.r.random())
        self.writer.close()


async def clients(host, token, seconds, *boxes):
    end = time.monotonic() + float(seconds)
    all_of_them = [Client(host, token, i, boxes[i % len(boxes)]) for i in range(CLIENTS)]
    await asyncio.gather(*(c.live(end) for c in all_of_them))
    times = sorted(t for c in all_of_them for t in c.times)
    wrong = [w for c in all_of_them for w in c.wrong]
    print(json.dumps({"answers": len(times), "p50_ms": round(times[len(times) // 2], 1), "p99_ms": round(times[len(times) * 99 // 100], 1),
                      "wrong": len(wrong), "first_wrong": wrong[:5], "late": sum(c.late for c in all_of_them)}))


# ------------------------------------------------------------------------------------------------------------------ the attacks

def attacks(t):
    """Each as the other client, or as nobody."""
    from probes import server
    other = server.Target.__new__(server.Target)
    other.__dict__.update(t.__dict__, a=t.b, b=t.a)
    body = server.small_values(16 << 20)
    long = b'{"sandbox_id":"%s","filename":"f","content":"' + b"\\u0001" * (15 * (1 << 20) // 6) + b'"}'

    def values():
        server.Sending(other, [other.head(path, len(body)) + body for path in ("/ask", "/write_file", "/mcp", "/v1/chat/completions")] * 5).run(60)

    def files():
        box = other.ask("/create_sandbox", {"conversation_id": "files"}).data.get("sandbox_id", "0" * 32).encode()
        data = long % box
        server.Sending(other, [other.head("/write_file", len(data)) + data] * 3).run(60)

    def left():
        for path, data in (("/create_sandbox", b"{}"), ("/v2/sandboxes", b'{"templateID":"base"}'), ("/mcp", server.NEW)):
            server.leave(other, path, data, random.choice((0, 0.01, 0.05)))

    def headers():
        held = []
        try:
            for i in range(600):
                held.append(other.connect())
                held[-1].sendall(b"POST /run_code HTTP/1.1\r\nHost: ")
        except OSError:
            pass
        time.sleep(1)
        for s in held:
            s.close()

    def ids():
        for box in t.ask("/list_sandboxes", {}).data["sandboxes"]:
            for path in ("/stop_sandbox", "/run_code", "/reset_sandbox"):
                other.ask(path, {"sandbox_id": box["sandbox_id"], "code": "1"} if path == "/run_code" else {"sandbox_id": box["sandbox_id"]})

    def room():
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}}
        for _ in range(20):
            other.ask("/mcp", hello)
        other.ask("/ask", {"input": "q"})
    return [values, files, left, headers, ids, room]


def forever(attack, end, count):
    while time.monotonic() < end:
        try:
            attack()
        except Exception as e:      # an attack that fails is no fault; it is counted apart
            count[attack.__name__ + " failed"] = count.get(attack.__name__ + " failed", 0) + 1
            count["last failure"] = repr(e)
            time.sleep(0.1)
        count[attack.__name__] = count.get(attack.__name__, 0) + 1
        time.sleep(0.2)


def soak(seconds, engine="bwrap"):
    from probes import server
    from program import Sandpiper
    from raw_server import RawServer
    there, count, memory = Sandpiper(engine), {}, []
    try:
        with RawServer(lambda raw, request: raw.answer(), keep=False) as model:
            there.url = model.url
            with server.Target(there, "--max-sandboxes", str(2 * BOXES + 2)) as t:
                boxes = [t.ask("/create_sandbox", {}).data["sandbox_id"] for _ in range(BOXES)]
                begin = t.memory()
                users = subprocess.Popen([sys.executable, os.path.abspath(__file__), "clients", t.host, t.a, str(seconds), *boxes], stdout=subprocess.PIPE)
                end = time.monotonic() + seconds
                threads = [threading.Thread(target=forever, args=(attack, end, count)) for attack in attacks(t)]
                for thread in threads:
                    thread.start()
                while time.monotonic() < end:
                    memory.append(t.memory())
                    time.sleep(0.2)
                seen = json.loads(users.communicate(timeout=120)[0])
                for thread in threads:
                    thread.join()
                time.sleep(2)
                after, quarter = t.memory(), len(memory) // 4
                seen.update(seconds=seconds, attacks=count, memory={"begin": begin, "second_quarter": max(memory[quarter:2 * quarter]),
                                                                    "last_quarter": max(memory[-quarter:]), "peak": max(memory), "after": after})
        return seen
    finally:
        seen_left = there.finish()
        shutil.rmtree(there.dir, ignore_errors=True)
        if seen_left:
            print("left behind: %s" % seen_left, file=sys.stderr)


def holds(seen):
    """Whether memory stays flat shows where each quarter has each attack several times, which takes a minute."""
    m = seen["memory"]
    flat = seen["seconds"] < 60 or m["last_quarter"] <= FLAT * m["second_quarter"] + 4
    return seen["answers"] > 100 and not seen["wrong"] and m["peak"] < 64 and flat


if __name__ == "__main__":
    if sys.argv[1:2] == ["clients"]:
        asyncio.run(clients(*sys.argv[2:]))
    else:
        result = soak(float(sys.argv[1]) if len(sys.argv) > 1 else 120.0, *sys.argv[2:3])
        print(json.dumps(result, indent=1))
        sys.exit(0 if holds(result) else 1)
