"""test_full_disk.py - the disk of the state, of the cache, of the runtime folder or of the whole home is full, read-only or not to be written to: every
way of use answers, says once what is left out and what to do, and leaves nothing behind."""
import glob
import json
import os
import secrets
import shutil
import subprocess

import pexpect
import pytest

from chat_keys import ask, leave, start
from conftest import BIN, HANG, need_engine
from raw_server import wait_for
from serving import Server, sse

WORD = {"state": "XDG_STATE_HOME", "cache": "XDG_CACHE_HOME", "run": "XDG_RUNTIME_DIR"}
TROUBLE = {"bytes": "is full", "inodes": "is full", "read-only": "is read-only", "quota": "is full (your quota is used up)"}
DISKS = ["bytes", "inodes", "read-only"]
ASAN = b"__asan_init" in open(BIN, "rb").read()
SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int mkdir(const char *path, unsigned mode)
{
    const char *full = getenv("FULL");
    if (full && strncmp(path, full, strlen(full)) == 0)
        return errno = EDQUOT, -1;
    return syscall(SYS_mkdir, path, mode);
}
int mkdirat(int dir, const char *name, unsigned mode)
{
    const char *full = getenv("FULL");
    char link[64], path[4096];
    ssize_t n;
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    n = readlink(link, path, sizeof path - 1);
    if (full && n > 0 && strncmp(path, full, strlen(full)) == 0)
        return errno = EDQUOT, -1;
    return syscall(SYS_mkdirat, dir, name, mode);
}
"""


def fill(folder, trouble):
    """What a full disk is like: no block, not even an inode; or it was mounted read-only."""
    size = "size=64k,nr_inodes=8" if trouble == "inodes" else "size=64k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size + ",mode=0700", "sandpiper-test", folder], check=True)
    if trouble == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    elif trouble == "inodes":
        for i in range(8):
            try:
                os.mkdir(os.path.join(folder, "d%d" % i))
            except OSError:
                break
    else:
        with open(os.path.join(folder, "filler"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 1024)
            except OSError:
                pass


@pytest.fixture
def full():
    """full(program, names, trouble): the disks of these folders are so. A private look at it would be another than dockerd's."""
    if os.getuid() != 0:
        pytest.skip("mounting needs root")
    mounted = []

    def make(program, names, trouble="bytes"):
        for name in names:
            fill(program.path(name), trouble)
            mounted.append(program.path(name))
        return program

    yield make
    for folder in mounted:
        for name in ("filler", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"):
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                os.rmdir(path) if os.access(folder, os.W_OK) else None
        wait_for(lambda: subprocess.run(["umount", folder], stderr=subprocess.DEVNULL).returncode == 0, HANG)     # a keeper may be at work in it


def spare_of(program):
    """The name of the spare place that belongs to its runtime folder."""
    h = 14695981039346656037
    for c in program.path("run/sandpiper").encode():
        h = (h ^ c) * 1099511628211 % 2**64
    return "sandpiper-%d/spare-%016x" % (os.geteuid(), h)


def spares(program):
    return [f for shared in ("/tmp", "/var/tmp", "/dev/shm") for f in glob.glob("%s/%s/*" % (shared, spare_of(program)))]


def warned(err, program, name, trouble):
    """Once, in one line: what is wrong where, and what to do."""
    lines = [line for line in err.splitlines() if TROUBLE[trouble] in line]
    assert len(lines) == 1, err
    assert program.path(name) in lines[0] and WORD[name] in lines[0], err
    assert ("Make it writable" if trouble == "read-only" else "Make room there") in lines[0], err


CODE = {"answer": {"calls": [{"code": "print(6 * 7)"}]}}
SEEN = {"expect": {"last": {"content": {"contains": ["42"]}}}, "answer": {"text": "It is 42."}}


@pytest.mark.parametrize("trouble", DISKS)
@pytest.mark.parametrize("name", sorted(WORD))
def test_a_question(sandpiper, serve, full, name, trouble):
    serve(sandpiper, [CODE, SEEN])
    full(sandpiper, [name], trouble)
    before = spares(sandpiper)
    r = sandpiper.run("go")
    assert r.code == 0 and r.out == "It is 42.\n", r
    warned(r.err, sandpiper, name, trouble)
    assert spares(sandpiper) == before


@pytest.mark.parametrize("name", sorted(WORD))
def test_a_question_without_code(sandpiper, serve, full, name):
    serve(sandpiper, [{"answer": {"text": "Hello."}}])
    full(sandpiper, [name])
    r = sandpiper.run("-q", "go")
    assert r.code == 0 and r.out == "Hello.\n" and r.err == "", r


@pytest.mark.parametrize("name", sorted(WORD))
def test_a_script(sandpiper, serve, full, name):
    serve(sandpiper, [CODE, SEEN, {"answer": {"text": "Yes."}}])
    full(sandpiper, [name])
    r = sandpiper.run(stdin="one\ntwo\n")
    assert r.code == 0 and "It is 42." in r.out and "Yes." in r.out, r
    warned(r.err, sandpiper, name, "bytes")


@pytest.mark.parametrize("trouble", DISKS)
@pytest.mark.parametrize("name", sorted(WORD))
def test_exec(sandpiper, full, name, trouble):
    full(sandpiper, [name], trouble)
    r = sandpiper.run("exec", "-c", "print(1)")
    assert r.code == 0 and r.out == "1\n", r
    warned(r.err, sandpiper, name, trouble)


@pytest.mark.parametrize("name", sorted(WORD))
def test_a_chat(sandpiper, serve, full, name):
    serve(sandpiper, [CODE, SEEN, {"answer": {"text": "Yes."}}])
    full(sandpiper, [name])
    p = sandpiper.chat(size=(40, 400), env={"NO_COLOR": "1"})
    said = ""
    for question, answer in (("go", "It is 42."), ("again", "Yes.")):
        p.expect("> ")
        said += p.before
        p.send(question + "\r")
        p.expect(answer)
        said += p.before
    p.expect("> ")
    p.send("\x04")
    p.expect(pexpect.EOF)
    said += p.before
    p.close()
    assert p.exitstatus == 0, said
    warned(said.replace("\r", "\n"), sandpiper, name, "bytes")


def test_an_export_from_a_chat(bare, serve, full):
    """A file gets its name only when it is whole."""
    serve(bare, [{"answer": {"text": "Yes."}}])
    os.mkdir(bare.path("work/disk"))
    full(bare, ["work/disk"])
    p = start(bare, size=(40, 300))
    ask(p, "go", "Yes.")
    ask(p, "/export disk/x.md", "No space left on device")
    leave(p)
    assert os.listdir(bare.path("work/disk")) == ["filler"]


@pytest.mark.parametrize("trouble", DISKS)
def test_everything_at_once(sandpiper, serve, full, trouble):
    """One disk, and nothing else: still an answer. What the cache's part of it costs need not be said beside the state's."""
    serve(sandpiper, [CODE, SEEN])
    full(sandpiper, ["state", "cache", "run", "config"], trouble)
    r = sandpiper.run("go")
    assert r.code == 0 and r.out == "It is 42.\n", r
    assert [TROUBLE[trouble] in line for line in r.err.splitlines()].count(True) == 2, r


def test_a_place_where_no_folder_can_be_made(sandpiper):
    r = sandpiper.run("exec", "-c", "print(1)", env={"XDG_STATE_HOME": "/proc/nowhere"})
    assert (r.code, r.out) == (0, "1\n") and r.err.startswith("sandpiper: /proc/nowhere/sandpiper cannot be created: full output"), r


@pytest.mark.parametrize("home", ["nobody's to write to", "a file"])
def test_a_home_that_cannot_be_written_to(sandpiper, serve, home):
    """No XDG folders but the home's own, which cannot be made: no code is needed, or some is."""
    env = {name: None for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")}
    env["HOME"] = sandpiper.write("file", "") if home == "a file" else "/proc/1/task"      # not even by root
    serve(sandpiper, [{"answer": {"text": "Hello."}}, CODE, SEEN])
    r = sandpiper.run("go", env=env)
    assert r.code == 0 and r.out == "Hello.\n" and len(r.err.splitlines()) == 1 and "XDG_STATE_HOME" in r.err, r
    r = sandpiper.run("go", env=env)
    assert r.code == 0 and r.out == "It is 42.\n", r


def test_the_socket_on_each_engine(sandpiper_on, serve, full):
    """Where the engine's own programs must find it, too."""
    serve(sandpiper_on, [CODE, SEEN])
    full(sandpiper_on, ["run"])
    before = spares(sandpiper_on)
    r = sandpiper_on.run("go", timeout=120)
    assert r.code == 0 and r.out == "It is 42.\n" and "for the sandbox's socket" in r.err and "/tmp/sandpiper-" in r.err, r
    r = sandpiper_on.run("gc")
    assert r.code == 0, r
    assert spares(sandpiper_on) == before


@pytest.mark.parametrize("engine", ["docker", "bwrap"])
def test_what_a_killed_program_leaves_there_is_found(sandpiper_on, full, engine):
    need_engine(engine)
    full(sandpiper_on, ["run"])
    before = spares(sandpiper_on)
    p = sandpiper_on.start("exec", "-c", "print(1, flush=True)\nimport time\ntime.sleep(60)")
    assert p.stdout.readline() == b"1\n"
    assert len(spares(sandpiper_on)) == len(before) + 1
    p.kill()
    p.wait()
    r = sandpiper_on.run("gc")
    assert r.code == 0, r
    wait_for(lambda: spares(sandpiper_on) == before, HANG)  # its keeper may be at work on it


def test_a_spare_place_is_ours_or_is_not_used(sandpiper, full):
    """Somebody has put a link, or a folder that is open to others, where ours would be: another place is taken."""
    full(sandpiper, ["run"])
    place = "/tmp/" + spare_of(sandpiper)
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    trap = sandpiper.path("trap")
    os.mkdir(trap, 0o700)
    for make, remove in ((lambda: os.symlink(trap, place), os.unlink), (lambda: (os.mkdir(place), os.chmod(place, 0o777)), os.rmdir)):
        make()
        try:
            r = sandpiper.run("exec", "-c", "print(1)")
        finally:
            remove(place)
        assert r.code == 0 and r.out == "1\n" and "/var/tmp/sandpiper-" in r.err, r
    assert os.listdir(trap) == []


@pytest.mark.parametrize("words", [["gc"], ["exec", "-c", "print(1)"]], ids=["gc", "start"])
def test_empty_spare_places_of_runtime_folders_that_are_gone(sandpiper, words):
    """Whoever sweeps removes them: nobody with that runtime folder will. Only empty folders of ours, and none that was made just now."""
    own = "/tmp/sandpiper-%d" % os.geteuid()
    os.makedirs(own, mode=0o700, exist_ok=True)
    gone, fresh, used, opened, link = places = ["%s/spare-%s" % (own, secrets.token_hex(8)) for _ in range(5)]
    for place in places[:4]:
        os.mkdir(place, 0o700)
    open(used + "/socket", "w").close()
    os.chmod(opened, 0o755)
    os.symlink(sandpiper.path("work"), link)
    for place in gone, used, opened, link:
        os.utime(place, (1, 1), follow_symlinks=False)
    os.utime(sandpiper.path("work"), (1, 1))
    try:
        r = sandpiper.run(*words)
        assert r.code == 0, r
        wait_for(lambda: not os.path.exists(gone), HANG)
        assert [os.path.lexists(place) for place in places] == [False, True, True, True, True]
    finally:
        os.unlink(used + "/socket")
        os.unlink(link)
        for place in fresh, used, opened:
            os.rmdir(place)


@pytest.mark.parametrize("engine", ["docker", "bwrap"])
@pytest.mark.parametrize("words", [["gc"], ["exec", "-c", "print(1)"]], ids=["gc", "start"])
def test_what_is_dead_in_spare_places_of_runtime_folders_that_are_gone(sandpiper_on, engine, words):
    """Whoever sweeps ends and removes it, by the same rules as in its own: what lives is left alone."""
    need_engine(engine)
    own = "/tmp/sandpiper-%d" % os.geteuid()
    os.makedirs(own, mode=0o700, exist_ok=True)
    place = "%s/spare-%s" % (own, secrets.token_hex(8))
    there = place + "/" + secrets.token_hex(8)
    p = sandpiper_on.start("exec", "-c", "print(1, flush=True)\nimport time\ntime.sleep(60)")
    assert p.stdout.readline() == b"1\n"
    os.mkdir(place, 0o700)
    try:
        record, = glob.glob(sandpiper_on.path("run/sandpiper/*/record"))
        shutil.copytree(os.path.dirname(record), there, ignore=lambda _, names: [n for n in names if n != "record"])
        os.utime(place, (1, 1))
        assert sandpiper_on.run("gc").code == 0 and os.listdir(there) == ["record"] and p.poll() is None
        p.kill()
        p.wait()
        r = sandpiper_on.run(*words)
        assert r.code == 0, r
        wait_for(lambda: not os.path.exists(there), HANG)
        assert os.path.exists(place)
        os.utime(place, (1, 1))
        assert sandpiper_on.run("gc").code == 0 and not os.path.exists(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_files_are_lost_or_saved_elsewhere(sandpiper, serve, full):
    """With nowhere to save them that is a loss, and never the working directory; --out on another disk is as ever."""
    code = {"answer": {"calls": [{"code": "open('table.csv', 'w').write('a,b')"}]}}
    serve(sandpiper, [code, {"answer": {"text": "done"}}] * 2)
    full(sandpiper, ["state"])
    r = sandpiper.run("go")
    assert r.code == 1 and r.out == "done\n" and "table.csv" in r.err and "--out DIR" in r.err, r
    assert os.listdir(sandpiper.work) == [], os.listdir(sandpiper.work)
    r = sandpiper.run("--out", "out", "go")
    assert r.code == 0 and open(sandpiper.path("work/out/table.csv")).read() == "a,b", r
    assert "history are not saved" in r.err and "files" not in r.err.split("table.csv")[0].split("is full")[1], r


MAKE = {"answer": {"calls": [{"code": "open('big.bin', 'wb').write(bytes(3 << 20))\nopen('little.txt', 'w').write('x')"}]}}


@pytest.mark.parametrize("trouble", ["bytes", "inodes"])
def test_out_on_a_full_disk(sandpiper, serve, full, trouble):
    """A line for each file that has no room; nothing of it is left there; /get brings it elsewhere, and the session goes on."""
    os.mkdir(sandpiper.path("work/out"))
    serve(sandpiper, [MAKE, {"answer": {"text": "Made."}}, {"answer": {"text": "Still here."}}])
    full(sandpiper, ["work/out"], trouble)
    before = sorted(os.listdir(sandpiper.path("work/out")))
    p = start(sandpiper, "--out", "out", size=(40, 300))
    ask(p, "go", "sandpiper: big.bin: cannot be [^\r\n]*No space left on device\r\n(?s:.)*Made[.]")
    ask(p, "/get big.bin out", "sandpiper: [^\r\n]*: No space left on device\r\n")
    ask(p, "/get big.bin", "Copied to big.bin")
    ask(p, "and now?", "Still here.")
    leave(p)
    assert sorted(os.listdir(sandpiper.path("work/out"))) == before and os.path.getsize(sandpiper.path("work/big.bin")) == 3 << 20


def test_the_sandboxs_own_disk_is_full(sandpiper, serve):
    """What has no room there is told with its size, leaves nothing behind, and is no end of the session."""
    serve(sandpiper, [{"answer": {"calls": [{"code": "open('f', 'wb').write(bytes(30 << 20))"}]}}, {"answer": {"text": "Made."}}, {"answer": {"text": "Still here."}}])
    for name in ("a.bin", "data/b.bin"):
        os.makedirs(os.path.dirname(sandpiper.path("work/" + name)), exist_ok=True)
        sandpiper.write(name, bytes(8 << 20))
    p = start(sandpiper, "--data-size", "32m", "--max-file", "1m", size=(40, 300))
    ask(p, "go", "Made[.]")
    for how, name in (("/put a.bin", "a.bin"), ("what of @a.bin", "a.bin"), ("/put data", "data/b.bin")):
        ask(p, how, "sandpiper: %s could not be copied into the sandbox [(][0-9]+ bytes read, then: No space left on device[)]; /mnt/data holds 32 MiB\r\n" % name)
    ask(p, "!import os; print(sorted(os.listdir('.')), os.path.getsize('f'))", r"\['data', 'f'\] 31457280|\['f'\] 31457280")
    ask(p, "and now?", "Still here.")
    leave(p)


def test_a_name_that_cannot_be_kept(sandpiper, full):
    full(sandpiper, ["run"], "inodes")
    r = sandpiper.run("exec", "--sandbox-name", "keeper", "-c", "print(1)")
    assert r.code == 0 and r.out == "1\n" and '"keeper"' in r.err and "cannot be kept" in r.err, r
    assert "it ends with this session" in r.err, r
    assert "keeper" not in sandpiper.run("ps").out


def test_a_name_that_leads_to_a_spare_place(sandpiper, full):
    """A name takes no bytes, so it is kept where the rest has to lie elsewhere; it is found, listed, left alone and removed like any other."""
    full(sandpiper, ["run"], "bytes")
    before = spares(sandpiper)
    r = sandpiper.run("exec", "--sandbox-name", "keeper", "-c", "x = 42")
    assert r.code == 0 and '"keeper" is new' in r.err and "cannot be kept" not in r.err, r
    try:
        assert len(spares(sandpiper)) == len(before) + 1
        assert sandpiper.run("gc").code == 0
        r = sandpiper.run("exec", "--sandbox-name", "keeper", "-c", "print(x)")
        assert r.code == 0 and r.out == "42\n" and "new" not in r.err, r
        found = [line.split() for line in sandpiper.run("ps").out.splitlines() if line.startswith("keeper ")]
        assert [line[2] for line in found] == ["idle"], found
    finally:
        r = sandpiper.run("rm", "keeper")
    assert r.code == 0 and "keeper" not in sandpiper.run("ps").out, r
    assert spares(sandpiper) == before


@pytest.mark.skipif(ASAN, reason="ASan wants to be loaded first")
@pytest.mark.parametrize("name", sorted(WORD))
def test_a_quota_that_is_used_up(sandpiper, name):
    """EDQUOT is a full disk with a reason."""
    source, shim = sandpiper.write("shim.c", SHIM), sandpiper.path("work/shim.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source], check=True)
    r = sandpiper.run("exec", "-c", "print(1)", env={"LD_PRELOAD": shim, "FULL": sandpiper.path(name)})
    assert r.code == 0 and r.out == "1\n", r
    warned(r.err, sandpiper, name, "quota")


def test_other_commands(sandpiper, full):
    full(sandpiper, ["state", "cache", "run"])
    for words in (["ps"], ["gc"], ["config"], ["doctor"], ["--version"]):
        r = sandpiper.run(*words)
        assert r.code == 0 or words == ["doctor"], r


def mcp(server, message):
    """The answer, in a session of its own."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}}
    response = server.open("/mcp", hello, Accept="application/json, text/event-stream")
    response.read()
    response = server.open("/mcp", message, Mcp_Session_Id=response.headers["Mcp-Session-Id"], Accept="application/json, text/event-stream")
    return json.loads(response.read()) if "json" in response.headers["Content-Type"] else [data for _, data in sse(response)][-1]


def test_a_server_whose_state_disk_is_full(sandpiper, serve, full):
    """A sandbox works, but is not found again if the server is killed: the answer says so, and why. Once there is room, its next use makes up for it."""
    serve(sandpiper, [{"answer": {"text": "Yes."}}])
    full(sandpiper, ["state"])
    server = Server(sandpiper)
    boxes = [server.ask("/create_sandbox", {}) for _ in range(2)]
    for box in boxes:
        (notice,) = box["notices"]
        assert notice.startswith("if the server is killed, it will not find this sandbox again: ") and "No space left on device" in notice, notice
    unused, used = (box["sandbox_id"] for box in boxes)
    notices = [server.ask("/run_code", {"sandbox_id": used, "code": "1"})["notices"] for _ in range(2)]
    assert notices == [boxes[1]["notices"], []]     # once
    asked = server.ask("/ask", {"input": "q"})
    assert asked["notices"] == [boxes[0]["notices"][0].replace(unused, asked["session"])]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_python", "arguments": {"code": "1", "sandbox": unused}}}
    assert boxes[0]["notices"][0] in str(mcp(server, call)["result"]["content"])
    os.unlink(sandpiper.path("state/filler"))
    assert server.ask("/run_code", {"sandbox_id": used, "code": "x = 1"})["status"] == "ok"
    assert server.ask("/get_sandbox_info", {"sandbox_id": used})["notices"] == []
    server.process.kill()
    server.process.wait()
    server.process.stderr.close()
    server = Server(sandpiper)
    assert server.ask("/run_code", {"sandbox_id": used, "code": "x"})["value"] == "1"
    assert server.ask("/run_code", {"sandbox_id": unused, "code": "1"}, 404)["code"] == "SANDBOX_UNKNOWN"
    assert server.close() == 0
    for line in sandpiper.run("ps", "--json").out.splitlines():
        sandpiper.run("rm", json.loads(line)["name"])
