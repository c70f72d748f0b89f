"""test_doctor.py - sandpiper doctor and sandpiper gc, on every engine and where there is none."""
import glob
import json
import os
import re
import secrets
import shutil
import signal
import tempfile

import pexpect
import pytest

import rootless
from conftest import ENGINES, IMAGE, quiet, swept, why_not
from program import AS_USER


def test_doctor_says_what_an_engine_holds(sandpiper_on, engine):
    r = sandpiper_on.run("doctor", "--offline", "-v", "--memory", "300m", "--pids", "50")
    assert r.code == 0 and r.err == "" and len(r.out.splitlines()) <= 6, r
    assert r.out.startswith("%-12sok    Python 3." % engine), r
    assert [e for e in ("docker", "podman", "bwrap") if "\n" + e in "\n" + r.out] == [engine], r
    short = sandpiper_on.run("doctor", "--offline", "--memory", "300m", "--pids", "50").out
    assert "weaker: " not in short.splitlines()[0] and not re.search("limits:|isolation:|packages:", short), short
    limits = [line for line in r.out.splitlines() if line.startswith("                  limits: ")]
    assert len(limits) == 1 and "50 processes" in limits[0] and "150 MiB in /mnt/data" in limits[0], r
    if os.geteuid() == 0:
        assert "memory 300 MiB" in limits[0] and "1 CPU" in limits[0], r
    assert "10000 files" in limits[0], r
    assert ("(counted after each run)" in limits[0]) == (engine != "docker") and "counted" not in short, r
    assert os.listdir(sandpiper_on.work) == []


def test_doctor_breaks_between_words_at_a_terminal(sandpiper):
    p = sandpiper.chat("doctor", "--offline", "-v", size=(40, 60))
    p.expect(pexpect.EOF)
    assert all(len(line) <= 60 for line in p.before.split("\r\n")) and "numpy" in p.before, p.before


def test_doctor_as_an_ordinary_user_names_what_is_weaker(sandpiper):
    if os.geteuid() != 0:
        pytest.skip("it is one already")
    rootless.own(sandpiper.dir)
    r = sandpiper.run("doctor", "--offline", **AS_USER)
    assert r.code == 0, r
    assert "memory is limited per process" in r.out and "CPU time is not" in r.out and "memory 1 GiB" not in r.out, r


def test_doctor_without_engines(bare):
    r = bare.run("doctor", "--offline", env={"PATH": bare.work})
    assert r.code == 3 and r.err == "", r
    for engine, package in (("docker", "docker.io"), ("podman", "podman"), ("bwrap", "bubblewrap")):
        assert "%-12sno    not installed; install it: sudo apt install %s" % (engine, package) in r.out, r


def test_doctor_names_a_missing_image(sandpiper_on, engine):
    if engine == "bwrap":
        pytest.skip("it has no image")
    r = sandpiper_on.run("doctor", "--offline", "--image", "no-such-image:1")
    assert r.code == 3 and "image no-such-image:1 is missing" in r.out and "; pull it (%s pull no-such-image:1)" % engine in r.out, r


def test_a_runtime_is_never_replaced(bare):
    """gVisor where it is not there: an error of two lines with every engine, and above all no bwrap instead."""
    bare.write("prog.py", "print(1)")
    for engine, cause in (("docker", "docker: unknown runtime runsc-x"), ("podman", "podman: unknown runtime runsc-x"),
                                ("bwrap", "bwrap has no runtimes"), ("auto", "no sandbox engine works with the runtime runsc-x")):
        if engine in ENGINES and why_not(engine):
            continue
        r = bare.run("exec", "--sandbox", engine, "--runtime", "runsc-x", "prog.py")
        assert r.code == 125 and r.out == "" and cause in r.err and "leave out --runtime" in r.err and len(r.err.splitlines()) <= 4, r


def test_doctor_mentions_gvisor(sandpiper_on, engine):
    path = sandpiper_on.write("runsc", "#!/bin/sh\nexit 1\n")
    os.chmod(path, 0o755)
    r = sandpiper_on.run("doctor", "--offline", env={"PATH": sandpiper_on.work + ":" + os.environ["PATH"]})
    assert r.code == 0 and ("gVisor (runsc) is installed: --runtime runsc" in r.out) == (engine != "bwrap"), r


@pytest.mark.parametrize("user", [{}, AS_USER], ids=["root", "user"])
def test_doctor_says_that_bwrap_is_setuid(bare, user):
    """A copy of it is, first in PATH: one line for doctor, two for an error, and the command that they name makes it work again."""
    if os.geteuid() != 0 or why_not("bwrap"):
        pytest.skip("it takes root, and bwrap")
    rootless.own(bare.dir)
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        if os.statvfs(d).f_flag & os.ST_NOSUID:
            pytest.skip("there is no such bit on that file system")
        path = shutil.copy("/usr/bin/bwrap", d)
        os.chmod(path, 0o4755)
        env = {"PATH": d + ":/usr/bin:/bin"}
        r = bare.run("doctor", "--offline", "--sandbox", "bwrap", env=env, **user)
        assert r.code == 3 and len(r.out.splitlines()) == 1 and "CVE-2026-41163" in r.out and r.out.endswith("sudo chmod u-s %s\n" % path), r
        r = bare.run("exec", "--sandbox", "bwrap", "-", stdin="print(42)", env=env, **user)
        assert r.code == 125 and r.out == "" and len(r.err.splitlines()) == 2 and "%s is setuid" % path in r.err, r
        os.chmod(path, 0o755)
        r = bare.run("exec", "--sandbox", "bwrap", "-", stdin="print(42)", env=env, **user)
        assert r.code == 0 and r.out == "42\n", r


@pytest.mark.slow(3)
def test_doctor_with_an_engine_that_lies(bare):
    """A client that prints escape sequences and fails: one clean line and a remedy."""
    path = bare.write("docker", "#!/bin/sh\nprintf 'docker: Error \\033[31mred\\033[0m\\n' >&2\nexit 125\n")
    os.chmod(path, 0o755)
    r = bare.run("doctor", "--offline", env={"PATH": bare.work + ":/usr/bin:/bin"}, timeout=120)
    assert "\033" not in r.out and "docker      no    Error" in r.out, r


def kill_in_a_cell(sandpiper):
    """The program is killed while a cell runs; returns the owner as its record names it."""
    p = sandpiper.start("exec", "-", stdin=-1)
    p.stdin.write(b"print('up', flush=True)\nwhile True: pass\n")
    p.stdin.close()
    assert p.stdout.readline() == b"up\n"
    records = glob.glob(sandpiper.path("run/sandpiper/*/record"))
    assert len(records) == 1
    with open(records[0]) as f:
        owner = json.load(f)["owner"]
    for pid in glob.glob("/proc/[0-9]*"):       # and what would see it off
        try:
            with open(pid + "/stat") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == "sp-keeper" and int(rest.split()[1]) == p.pid:
            os.kill(int(pid[6:]), signal.SIGKILL)
    p.kill()
    p.wait()
    return owner


def test_gc_removes_orphans(sandpiper_on, engine):
    owner, name = kill_in_a_cell(sandpiper_on), "sandpiper-" + secrets.token_hex(8)
    if engine != "bwrap":       # and one of which only the label is left; one of somebody who lives stays
        start = ["run", "-d", "--rm", "--network", "none", "--ulimit", "nofile=256:256", "--ulimit", "nproc=256:256", "--label", "sandpiper=1",
                  "--entrypoint", "sleep"]
        r = quiet([engine, *start, "--label", "sandpiper.owner=" + owner, "--name", name, IMAGE, "100"])
        assert r.returncode == 0, r.stdout
        head = owner.split(":")[0]
        with open("/proc/self/stat") as f:
            alive = "%s:%d:%s" % (head, os.getpid(), f.read().rpartition(")")[2].split()[19])
        other = "sandpiper-" + secrets.token_hex(8)
        r = quiet([engine, *start, "--label", "sandpiper.owner=" + alive, "--name", other, IMAGE, "100"])
        assert r.returncode == 0, r.stdout
    try:
        r = sandpiper_on.run("gc")
        assert swept(r, engine, 1), r
        if engine != "bwrap":
            names = quiet([engine, "ps", "-a", "--format", "{{.Names}}"]).stdout.split()
            assert name not in names and other in names, names
    finally:
        for left in (name, other) if engine != "bwrap" else ():     # each alone: podman removes none where one is missing
            quiet([engine, "rm", "-f", left])
    assert glob.glob(sandpiper_on.path("run/sandpiper/*")) == []
    r = sandpiper_on.run("gc")
    assert swept(r, engine), r


def test_gc_tells_all_that_it_removed(sandpiper):
    kill_in_a_cell(sandpiper)
    for name in ("edit-aaaaaa", "edit-bbbbbb"):
        os.makedirs(sandpiper.path("run/sandpiper/" + name))
    r = sandpiper.run("gc")
    assert swept(r, "bwrap", 1) and "removed 2 unfinished drafts of killed programs" in r.out.splitlines(), r


def test_gc_without_engines(bare):
    r = bare.run("gc", env={"PATH": bare.work})
    assert r.code == 0 and r.out == "nothing to remove\n" and r.err == "", r


# ------------------------------------------------------------------------------------------------------------ the model's side

CALLS = {"expect": {"tools": ["execute_python"], "max_tokens": 1024}, "answer": {"calls": [{"code": "print(6 * 7)"}]}}


def model_lines(r):
    """What doctor says of the model; the engines come after it."""
    return r.out[:re.search(r"^(docker|podman|bwrap) ", r.out, re.M).start()].splitlines()


def test_doctor_asks_the_model_for_a_call(sandpiper, serve):
    server = serve(sandpiper, [CALLS])
    server.others["/v1/models"] = {"data": [{"id": "test-model", "context_window": 131072, "shutdown_date": "2031-01-14"}]}
    r = sandpiper.run("doctor")
    assert r.code == 0 and r.err == "" and "test-key" not in r.out, r
    assert [re.sub(r"\d\.\d\d s", "T", line) for line in model_lines(r)] == [
        "key         ok    from OPENAI_API_KEY",
        "endpoint    ok    %s lists 1 model" % server.url,
        "model       ok    test-model, context window of 131,072 tokens",
        "                  to be retired on 2031-01-14",
        "tool calls  ok    tool call after T",
        "streaming   ok    replies are streamed",
        "dialect     ok    native, detected just now"], r


def test_doctor_tells_the_dialect_and_how_replies_come(sandpiper, serve):
    serve(sandpiper, [{"expect": {"stream": False}, "answer": {"text": "```python\nprint(6 * 7)\n```\n"}}])
    r = sandpiper.run("doctor", "--dialect", "blocks", "--no-stream")
    assert "test-model, context window not known\n" in r.out and "replies are not streamed (--no-stream)" in r.out, r
    assert r.code == 0 and "dialect     ok    blocks (code" in r.out, r


def test_doctor_offline_asks_nothing(sandpiper, serve):
    server = serve(sandpiper)
    r = sandpiper.run("doctor", "--offline")
    assert r.code == 0 and "model " not in r.out and not server.requests and not server.asides, r


def test_doctor_without_a_model(sandpiper):
    r = sandpiper.run("doctor")
    lines = model_lines(r)
    assert r.code == 2 and lines[0].startswith("model       no    No model yet") and "  a key: " in lines[1] and len(lines) == 4, r


def test_doctor_without_the_key_that_a_service_needs(sandpiper):
    r = sandpiper.run("doctor", "--provider", "openai", "--sandbox", "bwrap")
    assert r.code == 2 and "key         no    OpenAI needs an API key, and OPENAI_API_KEY is not set" in r.out, r
    assert "endpoint" not in r.out, r


def test_doctor_without_engines_is_3_whatever_the_model(bare, serve):
    serve(bare, [CALLS])
    r = bare.run("doctor", env={"PATH": bare.work})
    assert r.code == 3 and "\nmodel       ok    test-model" in r.out, r


@pytest.mark.parametrize("answers, code, words", [
    ([{"status": 401, "json": {"error": {"message": "bad test-key"}}}], 77, ["refused the credentials (401)", "key         no", "The key came from OPENAI_API_KEY"]),
    ([{"status": 404, "json": {"error": {"message": "no model test-model", "code": "model_not_found"}}}], 1,
     ["has no model \"test-model\" (404)", "model       no", "it lists test-model-2: -m test-model-2"]),
    ([{"text": "Six times seven is forty-two."}], 1, ["endpoint    ok", "model       ok", "tool calls  no", "answers, but does not call the tool", "--dialect blocks"]),
    ([{"text": "Let me think", "finish": "length"}], 1, ["had not called the tool after 1024 tokens"]),
    ([{"calls": [{"name": "no_such_tool", "arguments": "{}"}]}], 1, ["sent a tool call that cannot be used"]),
    ([{"text": "```python\nprint(6 * 7)\n```\n"}], 0, ["tool calls  ok    code as text after", "dialect     ok    blocks, detected"]),
])
def test_doctor_tells_what_is_wrong_with_the_model(sandpiper, serve, answers, code, words):
    server = serve(sandpiper, [{"answer": a} for a in answers])
    server.others["/v1/models"] = {"data": [{"id": "test-model-2"}, {"id": "unlike"}]}
    r = sandpiper.run("doctor")
    assert r.code == code and "test-key" not in r.out + r.err, r
    assert all(w in "\n".join(model_lines(r)) for w in words), r


def test_doctor_and_an_endpoint_that_is_not_there(sandpiper):
    r = sandpiper.run("doctor", "--base-url", "http://127.0.0.1:9/v1", "-m", "x")
    assert r.code == 1 and "endpoint    no    cannot reach 127.0.0.1:9 (connection refused)" in r.out, r
    r = sandpiper.run("doctor", "--base-url", "http://127.0.0.1:9/v1")
    assert r.code == 2 and "model       no    no model was chosen, and nothing answers at" in r.out and "endpoint    ok" not in r.out, r


def test_doctor_and_a_list_that_wants_another_key(sandpiper, serve):
    server = serve(sandpiper)
    server.others["/v1/models"] = (401, {"error": {"message": "Incorrect API key provided: test-key"}})
    r = sandpiper.run("doctor")
    assert r.code == 77 and "refused the key from OPENAI_API_KEY (401)" in r.out and "test-key" not in r.out + r.err, r


def test_doctor_where_there_is_no_list(sandpiper, serve):
    server = serve(sandpiper, [CALLS])
    server.others["/v1/models"] = (404, {})
    r = sandpiper.run("doctor")
    assert r.code == 0 and len(model_lines(r)) == 6, r


def test_ctrl_c_ends_doctors_question(sandpiper, serve):
    server = serve(sandpiper, [{"answer": {"wait": 30, "text": "late"}}])
    p = sandpiper.chat("doctor")
    server.wait_request(1)
    p.sendintr()
    p.read()
    p.close()
    assert p.exitstatus == 130, p.exitstatus
