"""test_upload.py - artifacts.upload: files on S3-compatible storage and Azure Blob; their URLs in answer and events; what fails; what stays secret."""
import contextlib
import io
import json
import os
import re
import subprocess
import threading
import time

import pytest

from chat_keys import ask, leave, start
from conftest import BIN, TREE
from storage_server import ACCESS, SAS, SECRET, Real, Storage, azure_problem, s3_problem

ASAN = b"__asan_init" in open(BIN, "rb").read()
PLOT = "open('/mnt/data/a b.png', 'wb').write(b'\\x89PNG' + bytes(1000)); open('/mnt/data/t.csv', 'w').write('a\\n1\\n'); open('/mnt/data/none', 'w')"
ASK = {"answer": {"calls": [{"code": PLOT}]}}


@pytest.fixture
def storage():
    """storage(kind, statuses...) gives (server, URL for --upload, environment)."""
    started = []

    def start(kind, *answers):
        s = Storage({"s3": s3_problem, "azure": azure_problem}[kind], answers)
        started.append(s)
        if kind == "s3":
            return s, "s3://bucket/some where", {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": s.url}
        return s, s.url + "/account/container", {"AZURE_STORAGE_SAS_TOKEN": "?" + SAS}
    yield start
    for s in started:
        s.close()


def session_of(r):
    return json.loads(r.out.splitlines()[0])["session"]


def no_secret(sandpiper, r):
    text = r.out + r.err
    for folder, _, names in os.walk(sandpiper.dir):
        for name in names:
            with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, name), "rb") as f:     # the keeper takes a sandbox's folder away later
                text += f.read().decode("latin-1")
    for secret in (SECRET, SAS, "s3cr3t", "%2Bsas"):
        assert secret not in text, secret


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_files_are_uploaded(sandpiper, serve, storage, kind):
    s, to, env = storage(kind)
    serve(sandpiper, [ASK, {"answer": {"text": "See ![plot](sandbox:/mnt/data/a b.png), /mnt/data/t.csv, /mnt/data/t.csvx and /mnt/data/"}}])
    r = sandpiper.run("--json", "--upload", to, "--trace", "trace.jsonl", "draw", env=env)
    base = {"s3": s.url + "/bucket/some%20where", "azure": s.url + "/account/container"}[kind] + "/" + session_of(r)
    assert r.code == 0, r
    files = [e for e in map(json.loads, r.out.splitlines()) if e["type"] == "file"]
    assert {e["name"]: e["url"] for e in files} == {"a b.png": base + "/a%20b.png", "t.csv": base + "/t.csv", "none": base + "/none"}
    assert all(os.path.exists(e["path"]) for e in files)
    path = base[len(s.url):]
    assert s.objects == {path + "/a%20b.png": ("image/png", b"\x89PNG" + bytes(1000)), path + "/t.csv": ("text/csv", b"a\n1\n"),
                         path + "/none": ("application/octet-stream", b"")}
    done = [e for e in map(json.loads, r.out.splitlines()) if e["type"] == "done"][0]
    said = "See ![plot](%s/a%%20b.png), %s/t.csv, /mnt/data/t.csvx and /mnt/data/" % (base, base)
    assert done["answer"] == said
    assert "".join(e["text"] for e in map(json.loads, r.out.splitlines()) if e["type"] == "text") == said
    no_secret(sandpiper, r)


def test_plain_output(sandpiper, serve, storage):
    """In a pipe the answer alone is on stdout; config.yaml says where to."""
    s, to, env = storage("s3")
    serve(sandpiper, [ASK, {"answer": {"text": "It is in /mnt/data/t.csv."}}])
    sandpiper.configure("artifacts:\n  upload: %s\n" % to)
    r = sandpiper.run("draw", env=env)
    assert r.code == 0 and re.fullmatch(r"It is in %s/bucket/some%%20where/[-0-9a-f]+/t\.csv\.\n" % s.url, r.out), r
    assert "t.csv: %s/" % s.url in r.err


def test_a_busy_service_is_asked_again(sandpiper, serve, storage):
    s, to, env = storage("azure", 503, 500)
    serve(sandpiper, [ASK, {"answer": {"text": "Done."}}])
    r = sandpiper.run("--json", "--upload", to, "draw", env=env)
    assert r.code == 0 and s.requests == 5 and len(s.objects) == 3, r


@pytest.mark.slow(3)
def test_progress_of_large_files(sandpiper, serve, storage):
    """Bytes of all files that a cell made, in the status line, and a wait with its reason; nothing of the line in a pipe, or for small files."""
    s, to, env = storage("azure", 503)
    code = "for n in 'ab': open(n + '.bin', 'wb').write(bytes(12_600_000))"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Heard."}}] * 2 + [ASK, {"answer": {"text": "Small."}}])
    s.gates = {2: threading.Event(), 3: threading.Event()}
    p = start(sandpiper, "--upload", to, env=env)
    p.send("go\r")
    p.expect(r"a\.bin: 127\.0\.0\.1:\d+ is busy \(503\)\. Trying again in [0-9.]+ s \(2 of 4\)")
    p.expect(r"Uploading files\.\.\. [1-9][\d.]* MB of 25\.2 MB")
    s.gates[2].set()
    p.expect(r"Uploading files\.\.\. (1[2-9]|2[0-5])[\d.]* MB of 25\.2 MB")
    s.gates[3].set()
    p.expect("Heard")
    leave(p)
    r = sandpiper.run("--upload", to, "go", env=env)
    assert r.code == 0 and "Uploading" not in r.err and " of 25" not in r.err and len(s.objects) == 4, r
    p = start(sandpiper, "--upload", to, env=env)
    p.logfile_read = io.StringIO()
    ask(p, "small", "Small")
    leave(p)
    assert "Small" in p.logfile_read.getvalue() and " of " not in p.logfile_read.getvalue(), p.logfile_read.getvalue()


@pytest.mark.parametrize("kind, change, why", [
    ("s3", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "403 SignatureDoesNotMatch"), ("s3", {"AWS_ACCESS_KEY_ID": "other"}, "403 InvalidAccessKeyId"),
    ("azure", {"AZURE_STORAGE_SAS_TOKEN": "sig=wrong"}, "403 AuthenticationFailed"),
    ("s3", {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "127.0.0.1:1: ")])
def test_refused(sandpiper, serve, storage, kind, change, why):
    """One line, the answer all the same, exit code 1; the files are here."""
    s, to, env = storage(kind)
    serve(sandpiper, [ASK, {"answer": {"text": "Done: /mnt/data/t.csv"}}])
    r = sandpiper.run("--upload", to, "--out", "out", "draw", env=dict(env, **change))
    assert r.code == 1 and r.out == "Done: /mnt/data/t.csv\n" and s.objects == {} and s.requests <= 1, r
    assert r.err.count("was not uploaded") == 1 and why in r.err and "no more files are uploaded" in r.err, r
    assert sorted(os.listdir(os.path.join(sandpiper.work, "out"))) == ["a b.png", "none", "t.csv"]
    no_secret(sandpiper, r)


@pytest.mark.slow(3)
@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_no_room_at_the_other_end(sandpiper, serve, storage, kind):
    """The files before it are there with their URLs; it is one line for the first that does not fit, and the session goes on."""
    s, to, env = storage(kind, 201, *[507] * 20)
    serve(sandpiper, [ASK, {"answer": {"text": "Done: /mnt/data/a b.png, /mnt/data/t.csv"}}])
    r = sandpiper.run("--upload", to, "--out", "out", "draw", env=env)
    assert r.code == 1 and len(s.objects) == 1 and r.out.count(s.url) == 1 and r.out.startswith("Done: "), r
    assert r.err.count("was not uploaded") == 1 and "507 InsufficientStorage" in r.err, r
    assert sorted(os.listdir(os.path.join(sandpiper.work, "out"))) == ["a b.png", "none", "t.csv"]
    no_secret(sandpiper, r)


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_a_file_that_shrinks_meanwhile(sandpiper, serve, storage, kind):
    """Whoever truncates it does not end the program."""
    s, to, env = storage(kind)
    serve(sandpiper, [{"answer": {"calls": [{"code": "open('a.bin', 'wb').write(bytes(12_600_000))"}]}}, {"answer": {"text": "Done."}}])
    s.gates = {1: threading.Event()}
    p = sandpiper.start("--upload", to, "--out", "out", "go", env=env)
    deadline = time.monotonic() + 60
    while not s.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    os.truncate(sandpiper.path("work/out/a.bin"), 1000)
    s.gates[1].set()
    out, err = p.communicate(timeout=60)
    assert p.returncode == 1 and out == b"Done.\n" and not s.objects and s.requests == 1, (p.returncode, out, err)
    assert b"a.bin was not uploaded to 127.0.0.1:" in err and b": the file became shorter while it was sent; no more files" in err, err


@pytest.mark.skipif(ASAN, reason="ASan takes memory of its own")
def test_a_large_file_takes_no_memory(sandpiper, serve, storage):
    """While the second file is on its way, the program has sent the first without ever having all of it in its memory."""
    s, to, env = storage("azure")
    code = "for n, mib in ('a', 60), ('b', 12):\n    with open(n + '.bin', 'wb') as f:\n        for i in range(mib): f.write(bytes(1 << 20))"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "Done."}}])
    s.gates = {2: threading.Event()}
    p = sandpiper.start("--upload", to, "--max-file", "64m", "--out", "out", "go", env=env)
    deadline = time.monotonic() + 60
    while s.requests < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    with open("/proc/%d/status" % p.pid) as f:
        most = int(re.search(r"^VmHWM:\s+(\d+) kB", f.read(), re.M)[1]) >> 10
    s.gates[2].set()
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0 and out == b"Done.\n" and sorted(len(b) >> 20 for _, b in s.objects.values()) == [12, 60], (p.returncode, out, err)
    assert most < 40, most


@pytest.mark.parametrize("to, env, said", [
    ("ftp://host/x", {}, "expected s3://BUCKET/PREFIX"), ("s3://bucket", {}, "Set AWS_ACCESS_KEY_ID"), ("https://h.test/c", {}, "Set AZURE_STORAGE_SAS_TOKEN"),
    ("https://h.test/c?sig=abc", {"AZURE_STORAGE_SAS_TOKEN": "x"}, "the URL must not contain a query"),
    ("https://h.test/", {"AZURE_STORAGE_SAS_TOKEN": "x"}, "names no bucket or container"),
    ("http://h.test/c", {"AZURE_STORAGE_SAS_TOKEN": "x"}, "not sent over http://"),
    ("s3://bucket/x", {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": "minio:9000"}, 'AWS_ENDPOINT_URL: expected a URL'),
    ("https://user:pw@h.test/c", {"AZURE_STORAGE_SAS_TOKEN": "x"}, "--upload")])
def test_usage(bare, serve, to, env, said):
    serve(bare, [])
    for words in (["q"], ["serve", "--listen", "127.0.0.1:0"]):         # a server too says so at its start, not to the first question
        r = bare.run(*words, "--upload", to, env=env)
        assert r.code == 2 and said in r.err and r.out == "" and "abc" not in r.err, r


@pytest.fixture(scope="module")
def programs():
    """The folder of s3rver and azurite-blob. tests/run.sh has begun to fetch them. Where that cannot be done it is a failure in CI."""
    r = subprocess.run([os.path.join(TREE, "setup/storage_servers.sh")], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if r.returncode and os.environ.get("SANDPIPER_TEST_ENGINES") == "required":
        pytest.fail("s3rver and azurite cannot be installed: " + r.stderr[-2000:], pytrace=False)
    if r.returncode:
        pytest.skip("s3rver and azurite cannot be installed: " + r.stderr[-300:])
    return r.stdout.strip()


@pytest.mark.slow(30)
@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_a_real_server(sandpiper, serve, tmp_path, programs, kind):
    s = Real(kind, str(tmp_path), programs)
    try:
        serve(sandpiper, [ASK, {"answer": {"text": "See /mnt/data/a b.png"}}])
        r = sandpiper.run("--json", "--upload", s.to, "draw", env=s.env)
        files = {e["name"]: e["url"] for e in map(json.loads, r.out.splitlines()) if e["type"] == "file"}
        assert r.code == 0 and files["a b.png"].endswith("/%s/a%%20b.png" % session_of(r)), r
        assert s.get(files["a b.png"]) == ("image/png", b"\x89PNG" + bytes(1000))
        assert s.get(files["t.csv"]) == ("text/csv", b"a\n1\n") and s.get(files["none"])[1] == b""
    finally:
        s.close()
