"""test_stdin.py - stdin beside a question is data, and never a trap: every rule of DESIGN section 2."""
import os
import socket
import subprocess

import pytest

from conftest import BIN, HANG, need_engine

READ = {"answer": {"calls": [{"code": "import os\nfor f in sorted(os.listdir('/mnt/data')): print(f, os.path.getsize('/mnt/data/' + f))"}]}}
CSV = "day,amount\n2024-01-01,5\n2024-01-02,7\n"


def ask(program, serve, stdin, files, args=(), sees=None, **popen):
    """A question whose code lists /mnt/data; files is what must be there, sees what the model must be shown."""
    expect = {"last": {"role": "user", "content": sees or {"contains": "go"}}}
    server = serve(program, [dict(READ, expect=expect), {"expect": {"last": {"content": files}}, "answer": {"text": "ok"}}])
    r = program.run(*args, "go", stdin=stdin, **popen)
    assert r.code == 0 and r.out == "ok\n", r
    return r, server


def test_small_text_is_shown_whole(sandpiper_on, serve):
    r, _ = ask(sandpiper_on, serve, CSV, "stdin.csv %d" % len(CSV), sees={"contains": ["go", "2024-01-02,7", "/mnt/data/stdin.csv"]})
    assert str(len(CSV)) in r.err, r


@pytest.mark.slow(3)
def test_larger_data_is_shown_as_a_profile(sandpiper_on, serve):
    data = "Datum;Betrag\n" + "".join("%02d.03.2024;%d,50\n" % (1 + i % 28, i) for i in range(3000))
    _, server = ask(sandpiper_on, serve, data, "stdin.csv %d" % len(data),
                    sees={"contains": ["/mnt/data/stdin.csv", "Datum", "Betrag", ";", "decimal"]})
    assert len(server.bodies()[0]["messages"][-1]["content"]) < 2500


def test_binary_data(sandpiper, serve):
    data = b"\x89PNG\r\n\x1a\n" + bytes(5000)
    ask(sandpiper, serve, data, "stdin.png %d" % len(data))


@pytest.mark.slow(3)
def test_a_regular_file_is_read_whole(sandpiper, serve):
    path = sandpiper.write("in.csv", CSV)
    with open(path) as f:
        ask(sandpiper, serve, f, "stdin.csv %d" % len(CSV))


def test_a_file_shared_with_a_parent_is_left_alone(sandpiper, serve):
    """while read q; do sandpiper "$q"; done < f: every line is a question, none is swallowed."""
    sandpiper.write("f", "first\nsecond\nthird\n")
    server = serve(sandpiper, [{"expect": {"last": {"content": q}}, "answer": {"text": q.upper()}} for q in ("first", "second", "third")])
    p = subprocess.run(["bash", "-c", 'while read -r q; do "$0" "$q"; done < f', BIN], cwd=sandpiper.work, env=sandpiper.env(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert p.stdout == b"FIRST\nSECOND\nTHIRD\n", p
    assert b"--stdin data" in p.stderr
    assert server.connections == 3


def test_while_read_from_a_pipe_is_no_trap(sandpiper, serve):
    """cmd | while read q; do sandpiper "$q"; done: the rest of the pipe is data to the first call; it ends all the same."""
    serve(sandpiper, [{"answer": {"text": "A"}}, {"answer": {"text": "B"}}], complete=False)
    p = subprocess.run(["bash", "-c", 'printf "first\\nsecond\\n" | while read -r q; do "$0" --stdin ignore "$q"; done', BIN], cwd=sandpiper.work,
                       env=sandpiper.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert p.stdout == b"A\nB\n", p


def test_dev_null_is_no_data_and_no_notice(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": "go"}}, "answer": {"text": "ok"}}])
    r = sandpiper.run("go")
    assert r.code == 0 and r.out == "ok\n" and "stdin" not in r.err, r


def test_a_closed_stdin_is_no_data_and_no_notice(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": "go"}}, "answer": {"text": "ok"}}])
    p = subprocess.run(["sh", "-c", '"$0" go <&-', BIN], env=sandpiper.env(), cwd=sandpiper.work, capture_output=True, timeout=60)
    assert p.returncode == 0 and p.stdout == b"ok\n" and b"stdin" not in p.stderr, p


def test_a_pipe_that_a_parent_forgot_to_close(sandpiper, serve):
    """cron, CI and subprocess.Popen do this: it must not hang."""
    serve(sandpiper, [{"expect": {"last": {"content": "go"}}, "answer": {"text": "ok"}}])
    r, w = os.pipe()
    try:
        result = sandpiper.run("go", stdin=r)
    finally:
        os.close(r)
        os.close(w)
    assert result.code == 0 and result.out == "ok\n" and "--stdin data" in result.err, result
    assert result.seconds < HANG


def test_a_socket_that_a_parent_forgot_to_close(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": "go"}}, "answer": {"text": "ok"}}])
    a, b = socket.socketpair()
    with a, b:
        result = sandpiper.run("go", stdin=a.fileno())
    assert result.code == 0 and result.out == "ok\n", result


def test_a_slow_sibling_is_waited_for(sandpiper, serve):
    """(sleep 2; cat data) | sandpiper: the data of curl and its like is never lost."""
    serve(sandpiper, [READ, {"expect": {"last": {"content": "stdin.csv %d" % len(CSV)}}, "answer": {"text": "ok"}}])
    sandpiper.write("in.csv", CSV)
    p = subprocess.run(["bash", "-c", '(sleep 2; cat in.csv) | "$0" go', BIN], cwd=sandpiper.work, env=sandpiper.env(), capture_output=True, timeout=60)
    assert p.returncode == 0 and p.stdout == b"ok\n", p
    assert b"waiting for stdin" in p.stderr, p


@pytest.mark.slow(3)
def test_a_sibling_that_pauses_in_the_middle(sandpiper, serve):
    serve(sandpiper, [READ, {"expect": {"last": {"content": {"contains": "8"}}}, "answer": {"text": "ok"}}])
    p = subprocess.run(["bash", "-c", '(printf "a,b\\n"; sleep 1.5; printf "1,2\\n") | "$0" go', BIN], cwd=sandpiper.work, env=sandpiper.env(),
                       capture_output=True, timeout=60)
    assert p.returncode == 0 and p.stdout == b"ok\n", p


def test_an_empty_pipe_is_no_data(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": "go"}}, "answer": {"text": "ok"}}])
    r = sandpiper.run("go", stdin=b"")
    assert r.code == 0 and r.out == "ok\n", r


def test_stdin_ignore(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": "go"}}, "answer": {"text": "ok"}}])
    r = sandpiper.run("--stdin", "ignore", "go", stdin=CSV)
    assert r.code == 0 and r.out == "ok\n", r


def test_data_larger_than_the_sandbox_takes(sandpiper):
    sandpiper.url = "http://127.0.0.1:9/v1"
    r = sandpiper.run("--data-size", "1m", "go", stdin=b"x" * 3_000_000)
    assert r.code == 2 and "3,000,000" in r.err.replace(".", ",").replace(" ", ",") and r.out == "", r


def test_docker_without_i(engine_docker, serve, sandpiper):
    """The program itself in a container started without -i: its stdin is /dev/null, so it answers at once."""
    serve(sandpiper, [{"expect": {"last": {"content": "go"}}, "answer": {"text": "ok"}}], complete=False)
    root = os.path.dirname(BIN)
    argv = ["docker", "run", "--rm", "--network", "host", "-v", "%s:/sp:ro" % root, "-v", "/usr:/usr:ro", "-v", "/lib:/lib:ro", "-v", "/etc/ssl:/etc/ssl:ro",
            "-e", "HOME=/tmp", "-e", "SANDPIPER_DISCOVER=0", "-e", "OPENAI_API_KEY=test-key", "-e", "SANDPIPER_MODEL=test-model",
            "-e", "OPENAI_BASE_URL=" + sandpiper.url, "-e", "SANDPIPER_SANDBOX=bwrap", "sandpiper:latest", "/sp/" + os.path.basename(BIN), "go"]
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90)
    assert p.returncode == 0 and p.stdout == b"ok\n" and b"stdin" not in p.stderr, p


@pytest.fixture
def engine_docker():
    need_engine("docker")


def test_several_files(sandpiper_on, serve):
    """--add, repeatable, the same path as stdin data."""
    sandpiper_on.write("one.csv", CSV)
    sandpiper_on.write("two.json", '{"a": [1, 2, 3]}')
    r, _ = ask(sandpiper_on, serve, None, "one.csv %d\ntwo.json 16" % len(CSV), args=["--add", "one.csv", "--add", "two.json"],
               sees={"contains": ["/mnt/data/one.csv", "/mnt/data/two.json", "2024-01-02,7"]})
