"""many_workers.py - many workers that each run many short programs through SandboxFusion's /run_code, one after another on a connection of its own, as those
who train and evaluate models do. With 512 workers the client is one process with one thread, so that it leaves the processors to the server."""
import asyncio
import base64
import json
import statistics
import time

PROGRAM = "print(sum(range(%d)))"


async def ask(reader, writer, host, token, body):
    """(status, answer) of one request on a connection that stays open."""
    text = json.dumps(body).encode()
    auth = base64.b64encode(b"x:" + token.encode()).decode()
    writer.write(("POST /run_code HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                  % (host, auth, len(text))).encode() + text)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(next(line for line in head.splitlines() if line.startswith("content-length:")).split(":")[1])
    return int(head.split()[1]), json.loads(await reader.readexactly(length))


class Many:
    """What came of it: seconds, the times of the answers, and what was wrong with each of the others."""

    def __init__(self, workers, each):
        self.workers, self.each, self.times, self.failed, self.seconds, self.started = workers, each, [], [], 0, 0

    async def worker(self, n, host, token):
        address, port = host.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(address, int(port))
        try:
            for i in range(self.each):
                began, number = time.monotonic(), n * self.each + i
                self.started += 1
                status, answer = await ask(reader, writer, host, token, {"language": "python", "code": PROGRAM % number, "run_timeout": 60})
                if status == 200 and answer["run_result"]["stdout"] == "%d\n" % sum(range(number)):
                    self.times.append(time.monotonic() - began)
                else:
                    self.failed.append((status, str(answer)[:300]))
        finally:
            writer.close()

    async def all(self, host, token):
        done = await asyncio.gather(*(self.worker(n, host, token) for n in range(self.workers)), return_exceptions=True)
        self.failed += [repr(e) for e in done if e]

    def run(self, host, token):
        began = time.monotonic()
        asyncio.run(self.all(host, token))
        self.seconds = time.monotonic() - began
        return self

    def figures(self):
        times = sorted(self.times)
        return {"requests a second": len(times) / self.seconds, "p50": statistics.median(times), "p99": times[int(len(times) * 0.99)], "most": times[-1]}
