"""test_snapshots.py - the state outlives code that dies: on every engine, as root and as an ordinary user, each way to die, what the program tells
(--json and a reader's eye), and where no copy can be had. The supervisor's part is in tests/unit/sandbox/test_snapshots.c."""
import os
import re
import resource
import subprocess

import pytest

import rootless
from conftest import HANG, PLACES, make_sandpiper, need_engine
from probes import session
from probes.cell import NOT_FOR_USER

pytestmark = pytest.mark.no_asan

KEPT = "ariables are back to what they were before this code"
FILL = "b = bytearray(%d << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"


@pytest.fixture(params=PLACES)
def place(request):
    need_engine(request.param)
    return request.param


@pytest.fixture
def there(place):
    yield from make_sandpiper(place)


def play(there, codes, *args):
    """One session, a cell a question; the cells as told."""
    cells, r, refused = session.play(there, codes, *args)
    assert len(cells) == len(codes) and not refused, (r, refused)
    return cells


def out_of_memory(place):
    """Without a control group the limit is one of each process: malloc fails, nothing dies."""
    return place not in NOT_FOR_USER


@pytest.mark.slow(10)
def test_every_death(there, place):
    deaths = [
        ("x.append(1)\nos.kill(os.getpid(), signal.SIGKILL)", "died", "SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "died", "SIGKILL"),        # two in a row
        ("x.append(2)\nos._exit(7)", "died", "exit code 7"),
        ("x = 3\nctypes.string_at(0)", "died", "SIGSEGV"),
        ("x = 4\nfor s in (2, 15, 1): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(1)", "timeout", "ignored the interrupt"),
        ("x = 5\nos.closerange(0, 1024)", "died", "descriptors"),
    ]
    if out_of_memory(place):
        deaths.insert(2, ("x = 6\ny = b'x' * (600 << 20)", "memory", "256 MiB"))
    codes = ["import os, signal, time, ctypes\nx = [0]\ndef f(): return len(x)"]
    for code, _, _ in deaths:
        codes += [code, "(f(), x, os.path.exists('note'))"]
    codes += ["open('note', 'w').write('here')\nos._exit(1)", "(f(), x, open('note').read())"]
    cells = play(there, codes, "--timeout", "10s")
    assert cells[0].status == "ok"
    for (code, status, words), dead, after in zip(deaths, cells[1::2], cells[2::2]):
        assert dead.status == status and words in dead.error and KEPT in dead.error, (code, dead)
        assert dead.state_restored and not dead.state_lost, (code, dead)
        assert "replaced by a copy made before this cell" in dead.model_text, (code, dead)
        assert after.status == "ok" and after.value == "(1, [0], False)" and not after.state_restored, (code, after)
    assert cells[-2].state_restored and [f["name"] for f in cells[-2].files] == ["note"], cells[-2]
    assert cells[-1].value == "(1, [0], 'here')", cells[-1]


def test_no_copy(there, place):
    cells = play(there, [
        "import os, threading, time\nx = 1\ngate = threading.Event()\nt = threading.Thread(target=gate.wait)\nt.start()",
        "os._exit(0)",
        "x"])
    assert cells[1].state_lost and not cells[1].state_restored and "variables are gone" in cells[1].error and "threads were running" in cells[1].error
    assert cells[2].status == "exception" and "NameError" in cells[2].error


def test_switched_off(there, place):
    cells = play(there, ["import os\nx = 1", "os._exit(0)", "x"], "--no-snapshots")
    assert cells[1].state_lost and not cells[1].state_restored and cells[1].error.endswith("; variables are gone")
    assert cells[2].status == "exception"


def test_memory_is_the_cells_first(there, place):
    """A copy that no longer fits is given up, and the cell goes on; what dies then says why nothing is left."""
    if not out_of_memory(place):
        pytest.skip("memory is limited for each process here, a copy takes none of it")
    cells = play(there, [
        "import os\nx = 1\n" + FILL % 130,
        "for i in range(0, len(b), 4096): b[i] = 2\nprint('went on')",      # 260 MiB with the copy's
        "os._exit(0)",                                                      # a copy was made after that
        "(x, b[0], len(b) >> 20)",
        "for i in range(0, len(b), 4096): b[i] = 3\nos._exit(0)",
        "x",
        # a state of 100 MiB, and a cell that is too big by itself: the copy is not to blame, and stays. The state
        # takes longer to make than the 50 ms for which an older copy would be kept
        "import time\nx = 2\n" + FILL % 100 + "\ntime.sleep(0.1)",
        "c = [b'x' * (50 << 20) for i in range(9)]",
        "(x, len(b) >> 20)"], "--timeout", "20s")
    assert cells[0].status == "ok", cells[0]
    assert cells[1].status == "ok" and cells[1].out == "went on\n" and "memory" not in cells[1].model_text, cells[1]
    assert cells[2].state_restored and cells[3].value == "(1, 2, 130)", cells[2:4]
    assert cells[4].state_lost and "no snapshot to restore: it was killed, most likely as memory ran short" in cells[4].error, cells[4]
    assert cells[5].status == "exception", cells[5]
    assert cells[7].status == "memory" and cells[7].state_restored, cells[7]
    assert cells[8].value == "(2, 100)", cells[8]


FILL_FOLDERS = """
def fill(*folders):
    for folder in folders:
        try:
            with open(folder + "/big", "wb") as f:
                while True: f.write(bytes(1 << 20))
        except OSError as e:
            print(e.errno)
"""


def test_files_leave_room_for_code(there, place):
    """However many there are: code that removes one still runs."""
    cells = play(there, [FILL_FOLDERS, "fill('/mnt/data', '/tmp', '/dev/shm')", "x = bytearray(4 << 20)", "import os; os.remove('/mnt/data/big'); len(x)"],
                 "--memory", "128m")
    assert [c.status for c in cells] == ["ok"] * 4 and cells[1].out == "28\n" * 3 and cells[3].value == str(4 << 20), cells


def test_files_that_fill_the_memory_are_told(there, place):
    if not out_of_memory(place):
        pytest.skip("no limit for all memory together")
    cells = play(there, [FILL_FOLDERS + "fill('/mnt/data')"], "--memory", "128m", "--data-size", "128m")
    assert cells[0].status == "memory" and re.search(r"limit 128 MiB, of which files in /mnt/data, /tmp and /dev/shm take 1[12]\d", cells[0].error), cells
    assert "NOT saved: the files in the sandbox fill its memory (--memory)" in str(cells), cells


def test_machine_code_stays_in_memory(there, place):
    """The supervisor locks it (guest/lock_code.py), once there is time: without that, a cell that fills the memory little by little stops
    everything instead of being killed, on a machine where nobody else has used Python since it was started."""
    allowed = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    if 0 <= allowed < 8 << 20:
        pytest.skip("nothing may be locked here: ulimit -Hl is %d" % (allowed >> 10))
    cells = play(there, ["1", "import resource, time\ntime.sleep(0.1)",
                         "[int(l.split()[1]) > 3000 for l in open('/proc/1/status') if l.startswith('VmLck')]",
                         "resource.getrlimit(resource.RLIMIT_MEMLOCK)"])
    assert [c.value for c in cells[2:]] == ["[True]", "(0, 0)"], cells


@pytest.mark.check
def test_thrash(there, place):
    """Machine code of a package, here another file that is mapped, is dropped and read again, over and over, where memory is nearly full: what stands
    still for that is killed before its time limit."""
    if not out_of_memory(place):
        pytest.skip("no limit for all memory together")
    shared = os.path.join(there.work, "shared")
    os.mkdir(shared, 0o755)
    with open(shared + "/code", "wb") as f:
        f.write(os.urandom(64 << 20))
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)      # else it does not count as the sandbox's
    if subprocess.check_output(["stat", "-f", "-c", "%T", shared], text=True).strip() in ("tmpfs", "ramfs"):
        pytest.skip("a file in memory is never dropped")
    if there.uid != os.geteuid():
        rootless.own(there.work, there.uid)
    loop = """import mmap
with open('/mnt/host/shared/code', 'rb') as f: code = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
def there():
    lines = iter(open('/proc/self/smaps'))
    return next(int(rss.split()[1]) for line in lines if line.endswith('/shared/code\\n') for rss in lines if rss.startswith('Rss:'))
%s
kept = []
while True:
    for i in range(0, len(code), 4096): code[i]
    # half of the room that the file still has: each round reads all of it, which a busy machine is slow at
    if there() > 4000: kept.append(bytearray(b'x') * max(262144, (there() - 4000) * 512))""" % (FILL % 150)
    cells = play(there, ["x = 1", loop, "x"], "--mount", "shared", "--memory", "200m", "--timeout", "60s")
    assert cells[1].status == "memory" and KEPT in cells[1].error and cells[1].seconds < 50, cells[1]
    assert cells[2].value == "1", cells[2]


@pytest.mark.slow(5)
def test_huge_pages(there, place):
    """What makes copies of many objects cheap must not use up the memory: a part of it exists twice until the next copy."""
    look = "time.sleep(0.06)\nsum(int(line.split()[1]) for line in open('/proc/self/smaps_rollup') if 'AnonHugePages' in line)"
    for memory, some in ("2g", True), ("400m", False):
        cells = play(there, ["import os, time\nx = [str(i) * 3 for i in range(3900000)]"] + 12 * [look] + ["os._exit(0)", "len(x)"],
                     "--memory", memory, "--timeout", "60s")
        assert cells[0].status == "ok", (memory, cells[0])
        seen = [int(cell.value) for cell in cells[1:-2]]
        if some or not out_of_memory(place):    # there no limit is for all memory together
            assert seen[-1] >= 2048 and seen == sorted(seen), (memory, seen)
        else:
            assert not any(seen), (memory, seen)
        assert cells[-2].state_restored and cells[-1].value == "3900000", (memory, cells[-2:])


@pytest.mark.slow(3)
def test_leftovers(there, place):
    name = session.new_mark()
    cells = play(there, [
        "import os, time\nx = 1\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        open('/proc/self/comm', 'w').write('%s')\n"
        "        time.sleep(60)\n    os._exit(0)\nos.wait()\ntime.sleep(0.2)\n"
        "def alive(): return sum(open('/proc/%%s/comm' %% p).read().strip() == '%s' for p in os.listdir('/proc') if p.isdigit())\nalive()" % (name, name),
        "os._exit(0)",
        "(x, alive())",
        "import signal\ndef bomb():\n    signal.signal(2, signal.SIG_IGN)\n    while True:\n        try: os.fork()\n        except OSError: pass\nbomb()",
        "1"])
    assert cells[0].value == "1" and cells[1].state_restored and cells[2].value == "(1, 0)", cells
    assert cells[3].status == "timeout" and cells[3].state_restored != cells[3].state_lost and cells[3].seconds < HANG, cells[3]
    assert cells[4].value == "1", cells[4]
    assert session.gone(name)


def test_killed_copy(there, place):
    """All processes of the sandbox are the code's but one: it may kill the copy, and loses what that was for."""
    kill = """import time
for p in os.listdir('/proc'):
    try:
        if p.isdigit() and int(p) not in (1, os.getpid()): os.kill(int(p), 9)
    except ProcessLookupError:      # the copy before this one, which has just ended
        pass
time.sleep(0.2)
"""
    cells = play(there, ["import os\nx = 1", kill + "print('alive')", "os._exit(0)", "x", kill + "os._exit(0)", "x"])
    assert cells[1].out == "alive\n" and cells[1].status == "ok", cells[1]
    assert cells[2].state_restored and cells[3].value == "1", cells[2:4]
    assert cells[4].state_lost and "no snapshot to restore" in cells[4].error and cells[5].status == "exception", cells[4:]


def test_calls_of_one_reply(there, serve):
    """Cells that follow each other with no model in between: a snapshot less than 50 ms old is kept, and what it lacks is said."""
    serve(there, [{"answer": {"calls": [{"code": c} for c in ("import os\nx = 1", "x += 1", "os._exit(3)", "print('x is', x)")]}}, {"answer": {"text": "Done."}}])
    r = there.run(*session.LIMITS, "go")
    assert "! The code ended Python itself (os._exit, exit code 3). V" + KEPT in r.err, r
    assert ("| x is 1" if KEPT + " and the run before it" in r.err else "| x is 2") in r.err, r
