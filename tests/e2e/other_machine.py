"""other_machine.py - what engines share whose walls "sandpiper inside" sets: what works there, and that the probes hold."""
from probes import posture, session
from probes.cell import BROKEN, NOT_RUN

# What a control group there has killed is seen there alone: code that is killed for memory has died of a signal.
NOT_SEEN = ("L03", "L03t", "G11")


def cells_files_and_deaths(there):
    data = there.write("in.bin", bytes(range(256)) * 20000)
    r = there.run("exec", "--add", data, "--out", there.path("work/out"), "-c", "open('out.bin', 'wb').write(open('in.bin', 'rb').read()[::-1])")
    assert r.code == 0, r
    with open(there.path("work/out/out.bin"), "rb") as f:
        assert f.read() == (bytes(range(256)) * 20000)[::-1]
    cells, r, refused = session.play(there, ["import os, signal\nx = [0]", "x.append(1)\nos.kill(os.getpid(), signal.SIGKILL)", "x", "while True: pass", "x"])
    assert [c.status for c in cells] == ["ok", "died", "ok", "timeout", "ok"] and cells[4].value == "[0]" and not refused, (cells, r)


def probes_hold(there, group, weaker=()):
    """weaker: what docs/SECURITY.md does not promise there."""
    found = posture.run_group(there) if group == "posture" else session.run_group(there, group)
    bad = [repr(f) for f in found if f.verdict in (BROKEN, NOT_RUN) and f.id not in weaker and not (f.id in NOT_SEEN and "died" in repr(f))]
    assert not bad, "\n".join(bad)
