"""test_gvisor.py - `--runtime runsc`: a second kernel under podman, which needs no daemon to know it. Debian's runsc of 2022 sets up no network on today's
kernels (docs/SECURITY.md), so it is started as its users have it there, with --network=none.
"""
import os
import re
import shutil

import pytest

from conftest import need_engine
from program import make_sandpiper

CELLS = ["import os\nopen('/mnt/data/a.csv', 'w').write('a,b')\nprint(x := 40, os.uname().release)",
         "print(x + 2)\nprint(os.listdir('/sys/class/net') if os.path.isdir('/sys/class/net') else ['lo'], os.getuid() > 0)",
         "while True: pass",
         "import time\nkids = [os.fork() or (time.sleep(60), os._exit(0)) for _ in range(20)]\nprint(len(kids), 'children')\n[os.kill(k, 9) for k in kids]",
         "import ctypes\nctypes.string_at(0)",
         "print(open('/mnt/data/a.csv').read())"]


@pytest.fixture
def gvisor():
    need_engine("podman")
    installed = shutil.which("runsc")
    if not installed and os.environ.get("SANDPIPER_TEST_ENGINES") == "required":
        pytest.fail("runsc is required", pytrace=False)
    if not installed or os.geteuid() != 0:
        pytest.skip("no runsc, or an ordinary user")
    for sandpiper in make_sandpiper("podman"):
        path = sandpiper.write("runsc", '#!/bin/sh\nexec %s --network=none "$@"\n' % installed)
        os.chmod(path, 0o755)
        yield sandpiper, path


@pytest.mark.slow(20)
def test_a_question_under_gvisor(gvisor, serve):
    """Another kernel; variables, files, the time limit and processes as everywhere. No snapshot there: a crash costs the variables, and says so."""
    sandpiper, runsc = gvisor
    server = serve(sandpiper, [{"answer": {"calls": [{"code": c}]}} for c in CELLS] + [{"answer": {"text": "It is 42."}}])
    r = sandpiper.run("--runtime", runsc, "--timeout", "2s", "--out", sandpiper.work, "-v", "six times seven?", timeout=180)
    assert r.code == 0 and r.out == "It is 42.\n", r
    told = "\n".join(str(m.get("content")) for m in server.requests[-1].messages if m["role"] == "tool")
    release = re.search(r"^40 (\S+)", told, re.M)
    assert release and release.group(1) != os.uname().release, told
    assert "42\n['lo'] True" in told and "20 children" in told and "2 s" in told and "crashed" in told and told.rstrip().endswith("a,b"), told
    with open(os.path.join(sandpiper.work, "a.csv")) as f:
        assert f.read() == "a,b"
