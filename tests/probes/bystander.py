#!/usr/bin/python3
"""bystander.py HOST:PORT TOKEN - a client of the server that does nothing wrong, in a process of its own, beside an attack. It asks one small thing after
another, each on a connection of its own, until its stdin ends and it has LEAST answers; then it prints {"n", "p50", "p99", "worst" (ms), "wrong" (what was not a 200),
"slow" (how much longer than its processor time a piece of work took in nine of ten cases: the share of other programs)}."""
import http.client
import json
import select
import sys
import time

LEAST = 100             # answers
QUESTIONS = (("GET", "/", None), ("POST", "/list_sandboxes", b"{}"))


def ask(host, token, method, path, body):
    c = http.client.HTTPConnection(host, timeout=30)
    try:
        c.request(method, path, body, {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        r = c.getresponse()
        r.read()
        return None if r.status == 200 else "%s %s: %d" % (method, path, r.status)
    except OSError as e:
        return "%s %s: %s" % (method, path, e)
    finally:
        c.close()


def slowness():
    began = time.perf_counter(), time.thread_time()
    sum(range(150000))
    return (time.perf_counter() - began[0]) / (time.thread_time() - began[1])


def main(host, token):
    times, wrong, slow = [], [], []
    while len(times) < LEAST or not select.select([sys.stdin], [], [], 0.005)[0]:
        for question in QUESTIONS:
            began = time.perf_counter()
            bad = ask(host, token, *question)
            times.append(1000 * (time.perf_counter() - began))
            wrong += [bad] if bad else []
        slow.append(slowness())
    times.sort()
    at = [round(times[min(int(len(times) * q), len(times) - 1)], 1) for q in (0.5, 0.99, 1)]
    print(json.dumps({"n": len(times), "p50": at[0], "p99": at[1], "worst": at[2], "wrong": wrong[:5], "slow": round(sorted(slow)[len(slow) * 9 // 10], 2)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
