"""test_named_by_the_user.py - what the user has named (image, runtime, engine, limits) is never replaced, and what code runs on is told."""
import json
import os
import shutil

import pytest

import rootless
from conftest import IMAGE, why_not
from program import AS_USER

pytestmark = pytest.mark.xdist_group("user")


def as_ordinary_user(sandpiper):
    """Popen's words: bwrap then has no control group, so it holds CPU time not at all and memory only for each process."""
    if os.geteuid() != 0:
        pytest.skip("it is one already")
    rootless.own(sandpiper.dir)
    return AS_USER


AUTO = {"SANDPIPER_SANDBOX": "auto"}


def test_an_image_that_nobody_has_is_an_error(bare):
    """Not bwrap without a word: one line of cause, one of remedy."""
    r = bare.run("exec", "--image", "nosuch:1", "-", stdin="print(1)", env=AUTO)
    assert r.code == 125 and r.out == "" and len(r.err.splitlines()) == 2, r
    assert "no sandbox engine works with the image nosuch:1" in r.err and "leave out --image" in r.err and "bwrap" not in r.err, r


def test_a_remembered_bwrap_is_no_way_round(bare):
    """It worked a moment ago with the same options, but the image was not named then."""
    if why_not("bwrap"):
        pytest.skip("no bwrap")
    path = os.pathsep.join([bare.work, "/usr/bin", "/bin"])
    for engine in ("docker", "podman"):
        os.chmod(bare.write(engine, "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n"), 0o755)
    r = bare.run("exec", "-", stdin="print(1)", env={"PATH": path})
    assert r.code == 0 and r.out == "1\n", r
    r = bare.run("exec", "--image", IMAGE, "-", stdin="print(1)", env={"PATH": path})
    assert r.code == 125 and r.out == "" and IMAGE in r.err, r


def test_bwrap_and_an_image_contradict_each_other(sandpiper):
    r = sandpiper.run("exec", "--sandbox", "bwrap", "--image", IMAGE, "-", stdin="print(1)")
    assert r.code == 125 and "bwrap has no images" in r.err and "leave out --image" in r.err, r
    sandpiper.configure("image: %s\n" % IMAGE)
    r = sandpiper.run("exec", "--sandbox", "bwrap", "-", stdin="print(1)")
    assert r.code == 0 and r.out == "1\n", r


def test_a_question_that_needs_no_code_is_answered(bare, serve):
    serve(bare, [{"answer": {"text": "hello"}}])
    r = bare.run("--image", "nosuch:1", "hi", env=AUTO)
    assert r.code == 0 and r.out == "hello\n" and r.err.count("nosuch:1") >= 1, r
    assert len([line for line in r.err.splitlines() if "code cannot run here" in line]) == 1, r


def test_a_question_that_needs_code_is_3(bare, serve):
    serve(bare, [{"answer": {"calls": [{"code": "print(1)"}]}}], complete=False)
    r = bare.run("--image", "nosuch:1", "hi", env=AUTO)
    assert r.code == 3 and "nosuch:1" in r.err, r


def test_a_question_under_what_contradicts_itself_is_2(sandpiper, serve):
    """Before anything is asked: nothing that the model writes could run, and it would answer from memory."""
    model = serve(sandpiper, [{"answer": {"calls": [{"code": "print(1)"}]}}], complete=False)
    for what, name in (("image", "nosuch:1"), ("runtime", "runsc")):
        r = sandpiper.run("--sandbox", "bwrap", "--" + what, name, "hi")
        assert r.code == 2 and r.out == "" and not model.requests, (r, model.requests)
        assert r.err == "sandpiper: bwrap has no %ss\n  leave out --%s, or use --sandbox docker or podman\n" % (what, what), r
    p = sandpiper.chat("--sandbox", "bwrap", "--image", "nosuch:1")
    p.expect("bwrap has no images")
    p.wait()
    assert p.exitstatus == 2


def test_every_command_refuses_what_contradicts_itself(sandpiper):
    for command in (["serve", "--listen", "127.0.0.1:0"], ["mcp"], ["doctor", "--offline"]):
        r = sandpiper.run(*command, "--sandbox", "bwrap", "--image", "nosuch:1")
        assert r.code == 2, r
        assert r.err == "sandpiper: bwrap has no images\n  leave out --image, or use --sandbox docker or podman\n", r


@pytest.mark.parametrize("chosen", ["bwrap", "auto"])
def test_a_limit_that_was_named_and_is_not_held_is_refused(sandpiper, chosen):
    user = as_ordinary_user(sandpiper)
    r = sandpiper.run("exec", "--cpus", "0.5", "--sandbox", chosen, "-", stdin="print(1)", **user)
    assert r.code == 125 and r.out == "" and "cannot enforce --cpus" in r.err, r
    if chosen == "bwrap":
        assert len(r.err.splitlines()) == 2 and "leave out --cpus" in r.err, r


def test_nor_over_attached_pipes(bare):
    """There docker's client says only after the start what the daemon does not hold."""
    if why_not("docker"):
        pytest.skip("no docker")
    docker = """#!/bin/sh
case " $* " in
*' run -d '*) echo 'docker: Error response from daemon: invalid mount config for type "bind": bind source path does not exist: /x' >&2; exit 125;;
*' run -i '*) sleep 0.1; echo 'WARNING: Your kernel does not support memory limit capabilities or the cgroup is not mounted. Limitation discarded.' >&2;;
esac
exec %s "$@"
""" % shutil.which("docker")
    os.chmod(bare.write("docker", docker), 0o755)
    path = {"PATH": os.pathsep.join([bare.work, "/usr/bin", "/bin"])}
    r = bare.run("exec", "--sandbox", "docker", "--memory", "200m", "-", stdin="print(1)", env=path)
    assert r.code == 125 and r.out == "" and "docker: cannot enforce --memory here" in r.err, r
    r = bare.run("exec", "--sandbox", "docker", "-", stdin="print(1)", env=path)
    assert r.code == 0 and r.out == "1\n" and "cannot enforce every limit" in r.err, r


@pytest.mark.parametrize("limit", [("--memory", "200m"), ("--memory", "2g"), ("--cpus", "2")])
def test_what_is_held_less_strictly_is_told_each_time(sandpiper, limit):
    """Memory for each process only; more CPUs than the default ask for room, which there is. Who named it hears so at every start."""
    user = as_ordinary_user(sandpiper)
    for _ in range(2):
        r = sandpiper.run("exec", *limit, "-", stdin="print(1)", **user)
        assert r.code == 0 and r.out == "1\n" and "memory is limited per process" in r.err, r


def test_a_named_sandbox_is_no_way_round(sandpiper):
    user = as_ordinary_user(sandpiper)
    assert sandpiper.run("exec", "--sandbox-name", "loose", "-", stdin="pass", **user).code == 0
    r = sandpiper.run("exec", "--sandbox-name", "loose", "--cpus", "1", "-", stdin="print(1)", **user)
    assert r.code == 125 and r.out == "" and "--cpus cannot be enforced" in r.err and "sandpiper rm loose" in r.err, r
    assert sandpiper.run("rm", "loose", **user).code == 0


@pytest.mark.parametrize("limit", [("--memory", "200m"), ("--cpus", "0.5"), ("--pids", "60"), ("--data-size", "8m")])
def test_limits_that_were_named_are_held(sandpiper_on, limit):
    probe = """
import os, time, subprocess
def memory():
    try: x = [bytes(1 << 20) + bytes([i % 256]) for i in range(400)]
    except MemoryError: print('held')
def cpus():
    b, c = time.monotonic(), time.process_time()
    while time.monotonic() - b < 1: pass
    print('held' if time.process_time() - c < 0.8 else 'not held')
def pids():
    n = []
    try:
        for i in range(100): n.append(subprocess.Popen(['sleep', '5']))
    except OSError: print('held')
    for p in n: p.kill()
def data_size():
    try: open('f', 'wb').write(bytes(20 << 20))
    except OSError as e: print('held', end=''); os.remove('f')
"""
    r = sandpiper_on.run("exec", *limit, "-", stdin=probe + limit[0].strip("-").replace("-", "_") + "()")
    assert "held" in r.out and "not held" not in r.out or (limit[0] == "--memory" and r.code == 137), r


def test_the_event_names_engine_and_image(sandpiper_on, engine, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "print(1)"}]}}, {"answer": {"text": "done"}}])
    r = sandpiper_on.run("--json", "go")
    events = [json.loads(line) for line in r.out.splitlines()]
    assert events[0]["type"] == "session" and events[0]["sandbox"] == engine and "engine" not in events[0], events[0]
    up = [e for e in events if e["type"] == "sandbox"]
    assert len(up) == 1 and events.index(up[0]) < [e["type"] for e in events].index("tool_output"), r
    assert up[0]["engine"] == engine and up[0]["image"] == (None if engine == "bwrap" else IMAGE) and up[0]["python"].startswith("3."), up
    assert up[0]["name"] is None and "runtime" in up[0], up


def test_with_auto_the_event_tells(bare, serve):
    if why_not("bwrap"):
        pytest.skip("no bwrap")
    serve(bare, [{"answer": {"calls": [{"code": "print(1)"}]}}, {"answer": {"text": "done"}}])
    r = bare.run("--json", "go", env=AUTO)
    events = [json.loads(line) for line in r.out.splitlines()]
    assert events[0]["sandbox"] == "auto" and "engine" not in events[0]
    assert [e["engine"] for e in events if e["type"] == "sandbox"][0] in ("docker", "podman", "bwrap"), r


def test_the_greeting_names_what_is_known(sandpiper_on, engine, serve):
    serve(sandpiper_on, [])
    p = sandpiper_on.chat(env={"NO_COLOR": "1"})
    p.expect("Code runs in %s" % (engine if engine == "bwrap" else "%s, image %s" % (engine, IMAGE)))
    p.expect("> ")
    p.send("!print(40 + 2)\r")
    p.expect("42")
    assert "Code runs in" not in p.before, p.before
    p.expect("> ")
    p.send("\x04")
    p.wait()


def test_what_the_greeting_could_not_say_is_told_when_it_is_up(bare, serve):
    serve(bare, [])
    p = bare.chat(env=dict(AUTO, NO_COLOR="1"))
    p.expect("Ctrl-D ends")
    assert "Code runs in" not in p.before
    p.expect("Code runs in (docker|podman|bwrap)")
    p.send("\x04")
    p.wait()


def test_exec_tells_it_with_v(sandpiper_on, engine):
    r = sandpiper_on.run("-v", "exec", "-", stdin="print(1)")
    assert r.code == 0 and "Code runs in %s" % (engine if engine == "bwrap" else "%s, image %s" % (engine, IMAGE)) in r.err, r
