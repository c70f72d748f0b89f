#!/usr/bin/python3
"""first_answer.py - how long it takes from nothing to the first answer, and how much is downloaded: each program is started by uvx or npx with an empty
cache, twice, in turn, against a scripted model on this machine. The image is loaded into a docker of its own, which has none. What does not answer has
no row.

    docs/compare/first_answer.py [NAME ...]     after "make wheel"; uvx, npx and docker are taken from PATH, and as root dockerd
                                                the image: make image-serve; docker save sandpiper-serve -o build/dist/sandpiper-serve.tar
"""
import contextlib
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[1:1] = [os.path.join(TREE, "tests", "e2e"), os.path.join(TREE, "tests")]

from model_server import ModelServer  # noqa: E402

TURNS = 3
QUESTION, ANSWER = "what is six times seven?", "It is 42."
IN_WORDS = [{"answer": {"text": ANSWER}}]
BY_CODE = [{"answer": {"calls": [{"code": "print(6 * 7)"}]}}, *IN_WORDS]
# A name | how it is started, DIST being build/dist | what the model says to it; the others' models run nothing for this question.
PROGRAMS = [
    ("sandpiper, uvx", ["uvx", "--from", "DIST/*_x86_64.whl", "sandpiper", QUESTION], BY_CODE),
    ("sandpiper, npx", ["npx", "-y", "--package=DIST/*-linux-x64.tgz", "sandpiper", QUESTION], BY_CODE),
    ("sandpiper-serve, docker", ["sh", "-euc", """docker image inspect sandpiper-serve >/dev/null 2>&1 || docker load -q -i "$0"
        docker run -d --rm --name first --network host -e SANDPIPER_BASE_URL="$OPENAI_BASE_URL" -e SANDPIPER_MODEL=test-model --cap-drop ALL \\
            --security-opt seccomp=unconfined --security-opt systempaths=unconfined sandpiper-serve >/dev/null
        until curl -sf http://127.0.0.1:8000/ >/dev/null; do sleep 0.02; done
        curl -sf -H "Authorization: Bearer $(docker exec first cat /var/lib/sandpiper/token)" http://127.0.0.1:8000/ask --json "{\\"input\\": \\"$1\\"}"
        docker rm -f first >/dev/null""", "DIST/sandpiper-serve.tar", QUESTION], BY_CODE),
    ("llm, uvx", ["uvx", "llm", "-m", "gpt-4o-mini", QUESTION], IN_WORDS),
    ("gptme, uvx", ["uvx", "gptme", "-n", "-m", "openai/test-model", QUESTION], IN_WORDS * 4),
]


def found(word):
    head, dist, pattern = word.rpartition("DIST/")
    return head + glob.glob(os.path.join(TREE, "build", "dist", pattern))[0] if dist else word


@contextlib.contextmanager
def daemon(d):
    """A docker without any image, at d/docker; its containers have the network of this machine."""
    words = ["dockerd", "--data-root", d + "/cache", "--exec-root", d + "/exec", "--pidfile", d + "/pid", "--host", "unix://%s/docker" % d,
             "--bridge", "none", "--iptables=false"]
    with open(d + "/log", "w") as log, subprocess.Popen(words, stdout=log, stderr=log) as p:
        try:
            while not os.path.exists(d + "/docker") and p.poll() is None:
                time.sleep(0.1)
            yield {"DOCKER_HOST": "unix://%s/docker" % d}
        finally:
            p.terminate()
            p.wait(60)
            subprocess.run(["umount", d + "/exec/netns/default"], check=False)      # the network of this machine, which dockerd leaves there


def measured(argv, exchanges):
    """(seconds of the first start, of the second, megabytes in the caches), or None and what it said instead of an answer."""
    with tempfile.TemporaryDirectory() as d, ModelServer(exchanges * 2, lenient=True) as model, \
            (daemon(d) if any("docker run" in w for w in argv) else contextlib.nullcontext({})) as docker:
        env = {**os.environ, **docker, "HOME": d, "UV_CACHE_DIR": d + "/cache/uv", "npm_config_cache": d + "/cache/npm", "OPENAI_BASE_URL": model.url,
               "OPENAI_API_KEY": "none", "SANDPIPER_MODEL": "test-model", "SANDPIPER_SANDBOX": "bwrap"}
        seconds = []
        for _ in range(2):
            begin = time.monotonic()
            done = subprocess.run([found(w) for w in argv], env=env, cwd=d, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
            seconds.append(time.monotonic() - begin)
            if done.returncode or ANSWER not in done.stdout:
                return None, (done.stdout + done.stderr)[-300:]
        size = subprocess.run(["du", "-sk", d + "/cache"], capture_output=True, text=True, check=True).stdout.split()[0]
        return (*seconds, int(size) / 1000), None


def main(names):
    rows = {name: [] for name, _, _ in PROGRAMS if not names or name in names}
    before = os.getloadavg()[0]
    for turn in range(TURNS):                        # by turns, so that what else the machine does meets all of them
        for name, argv, exchanges in PROGRAMS:
            if name in rows:
                row, why = measured(argv, exchanges)
                print("turn %d: %s %s" % (turn + 1, name, "%.1f s, %.1f s, %.0f MB" % row if row else "did not answer: " + why), file=sys.stderr, flush=True)
                rows[name] += [row] if row else []
    middle = {name: [statistics.median(column) for column in zip(*seen)] for name, seen in rows.items() if seen}
    ours = next(iter(middle.values()))
    for name, (first, second, size) in middle.items():
        print("| %s | %.1f s | %.1f s | %.1f | %.0f MB |" % (name, first, second, second / ours[1], size))
    print("medians of %d turns, %d processors, load %.1f before and %.1f after; the fourth column: the second start beside that of %s"
          % (TURNS, os.cpu_count(), before, os.getloadavg()[0], next(iter(middle))))


if __name__ == "__main__":
    main(sys.argv[1:])
