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
from other_machine import cells_files_and_deaths, probes_hold
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
    cells_files_and_deaths(box)


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


OF_ALL = ("L04", "L05")             # memory of all processes together: no control group, no limit


@pytest.mark.slow(15)
@pytest.mark.parametrize("group", ["limits", "protocol", "files"])
def test_probes(box, group):
    probes_hold(box, group, OF_ALL if box.ordinary else ())
