"""test_apptainer.py - Apptainer as walls, with SANDPIPER_TEST_APPTAINER=IMAGE, a folder or file with a python3: what it holds, as its user and as
an ordinary one, and that nothing is left of it. Debian 12 has no Apptainer: docs/SECURITY.md says where this was run."""
import glob
import json
import os
import shutil
import signal

import pytest

import rootless
from conftest import make_sandpiper, need_engine
from probes import session
from probes.cell import BROKEN, NOT_RUN
from test_doctor import kill_in_a_cell
from test_engines import until

IMAGE = os.environ.get("SANDPIPER_TEST_APPTAINER")
pytestmark = [pytest.mark.no_asan, pytest.mark.skipif(not IMAGE or not shutil.which("apptainer"), reason="SANDPIPER_TEST_APPTAINER names no image, or there is no apptainer")]


@pytest.fixture(params=["whoever we are", "an ordinary user"])
def box(request):
    need_engine("bwrap")
    ordinary = request.param != "whoever we are"
    if ordinary and os.geteuid() != 0:
        pytest.skip("we are one")
    for s in make_sandpiper("bwrap"):
        s.configure("engines: %s\n" % json.dumps({"box": dict({"like": "apptainer", "with": {"image": IMAGE}}, **({"start": rootless.wrapped(["{inside}"])} if ordinary else {}))}))
        s.engine, s.ordinary = "box", ordinary
        yield s


def test_what_it_holds(box):
    """Root's limits are a control group's; an ordinary user may make none, so doctor says what is weaker."""
    r = box.run("doctor")
    assert "box" in r.out and " ok " in r.out and "open:" not in r.out, r
    assert [line.strip() for line in r.out.splitlines() if "weaker:" in line] == (["weaker: CPU time: no limit was seen from inside"] if box.ordinary else []), r
    r = box.run("exec", "--data-size", "80m", "-c", """
import os, threading
def full(folder):
    try:
        for i in range(400):
            open(folder + "/%d" % i, "wb").write(bytes(1 << 20))
    except OSError as e:
        return i, e.errno
print(full("/mnt/data"), full("/tmp"), full("/dev/shm"), os.environ["HOME"], os.path.exists("/sys/fs"))
t = threading.Thread(target=print, args=("a thread",))
t.start()
t.join()""")
    assert r.code == 0 and r.out == "(80, 28) (64, 28) (0, 28) /mnt/data False\na thread\n", r


def test_cells_files_and_deaths(box):
    data = box.write("in.bin", bytes(range(256)) * 20000)
    r = box.run("exec", "--add", data, "--out", box.path("work/out"), "-c", "open('out.bin', 'wb').write(open('in.bin', 'rb').read()[::-1])")
    assert r.code == 0, r
    with open(box.path("work/out/out.bin"), "rb") as f:
        assert f.read() == (bytes(range(256)) * 20000)[::-1]
    cells, r, refused = session.play(box, ["import os, signal\nx = [0]", "x.append(1)\nos.kill(os.getpid(), signal.SIGKILL)", "x", "while True: pass", "x"])
    assert [c.status for c in cells] == ["ok", "died", "ok", "timeout", "ok"] and cells[4].value == "[0]" and not refused, (cells, r)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_nothing_is_left(box, end):
    p = box.start("exec", "-c", "import time\nprint('up', flush=True)\ntime.sleep(300)")
    assert p.stdout.readline() == b"up\n", p.communicate()
    p.send_signal(end)
    p.wait()
    until(lambda: not os.listdir(box.path("run/sandpiper")))
    assert not glob.glob("/sys/fs/cgroup/*/**/sandpiper-%d-*" % p.pid, recursive=True)


def test_gc(box):
    """It, and what would have seen to the sandbox, were killed."""
    kill_in_a_cell(box)
    assert box.run("gc").code == 0
    until(lambda: not os.listdir(box.path("run/sandpiper")))


# What a control group there has killed is seen there alone: code that is killed for memory has died of a signal.
NOT_SEEN = ("L03", "L03t")
OF_ALL = ("L04", "L05")             # memory of all processes together: no control group, no limit


@pytest.mark.slow(15)
@pytest.mark.parametrize("group", ["limits", "protocol", "files"])
def test_probes(box, group):
    bad = [repr(f) for f in session.run_group(box, group) if f.verdict in (BROKEN, NOT_RUN) and not (f.id in NOT_SEEN and "died" in repr(f))
           and not (f.id in OF_ALL and box.ordinary)]
    assert not bad, "\n".join(bad)
