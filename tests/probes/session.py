"""session.py - a table of hostile cells as one session of the program, asked by a scripted model: after every probe a cell computes 42, so a
probe that breaks the session, or whose effects are taken for the next cell's, is BROKEN."""
import copy
import json
import os
import secrets
import stat
import time

from . import files, languages, limits, mounts, network, protocol
from .cell import BROKEN, HELD, MARK, NOT_RUN, WEAKER, Cell, Finding, Probe, judge

from model_server import ModelServer  # noqa: E402

GROUPS = {"limits": limits.LIMIT_PROBES, "protocol": protocol.PROTOCOL_PROBES, "files": files.FILE_PROBES, "mounts": mounts.MOUNT_PROBES,
          "hosts": network.NETWORK_PROBES, **languages.GROUPS}
WITH = {"mounts": mounts.prepare, "hosts": network.prepare, **dict.fromkeys(languages.GROUPS, languages.prepare)}      # what a group's session is started with besides
LIMITS = ("--timeout", "%ds" % Cell.limit, "--memory", "256m", "--pids", "40", "--data-size", "64m")
PATIENT_S = 20      # the limit of time of one that was slow
ENDED = Probe("END", "what the code started ends with the session", None, None)
SENT = Probe("SENT", "what goes to the model stays a conversation that a strict service accepts", None, None)
CLEAN = Probe("WORK", "nothing appears in the working folder, nor at a path that an archive names", None, None)


def cells_of(r):
    """The cells in order, with what belongs to each."""
    cells = {}
    for e in map(json.loads, r.out.splitlines()):
        if e["type"] == "tool_call":
            cells[e["cell"]] = Cell(e)
        elif e["type"] == "tool_output":
            cells[e["cell"]].out += e["text"]
        elif e["type"] == "tool_result":
            cells[e["cell"]].finish(e)
        elif e["type"] == "file":
            cells[e["cell"]].files.append(e)
    return [c for c in (cells[n] for n in sorted(cells)) if hasattr(c, "status")]


def marked(mark):
    """Processes, seen from outside, that carry that name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f:
                found += [int(pid)] if f.read().strip() == mark else []
        except OSError:
            pass
    return found


def gone(mark, seconds=0):
    end = time.monotonic() + seconds
    while marked(mark):
        if time.monotonic() >= end:
            return False
        time.sleep(0.05)
    return True


def new_mark():
    return "sp" + secrets.token_hex(5)      # a name has 15 bytes


def play(there, calls, *args, timeout=150):
    """One session, a cell a question: the cells as told, how the program ended, and what was wrong in what it sent."""
    exchanges = []
    for call in calls:
        exchanges += [{"answer": {"calls": [{"code": call} if isinstance(call, str) else call]}}, {"answer": {"text": "Done."}}]
    with ModelServer(exchanges) as server:
        there.url = server.url
        r = there.run("--json", *LIMITS, *args, env=network.ENVIRONMENT, stdin="".join("%d?\n" % i for i in range(len(calls))), timeout=timeout)
    return cells_of(r), r, server.verdict()


def foreign(there, cell):
    """Delivered files that are not the caller's own plain ones."""
    return [f["path"] for f in cell.files if os.lstat(f["path"]).st_uid != there.uid or not stat.S_ISREG(os.lstat(f["path"]).st_mode)]


def judge_pair(there, group, p, probe, after):
    """A probe's cell, and the one behind it."""
    found = judge(there.place, group, p, lambda: p.holds(probe), repr(probe))
    if found.verdict == HELD and (after.status != "ok" or after.value != "42"):
        found = Finding(there.place, group, p, BROKEN, "the cell after it: %r" % after)
    bad = foreign(there, probe)
    if found.verdict == HELD and bad:
        found = Finding(there.place, group, p, BROKEN, "not the caller's own plain files: %s" % bad)
    return found


def calls_of(p, group, mark):
    """A probe's cell, and the one behind it."""
    return [languages.call_of(p, p.code.replace(MARK, mark)), {"code": languages.cell_after(p) if group in languages.GROUPS else "6 * 7"}]


def words_of(there, group):
    return WITH[group](there) if group in WITH else ()


def judged(there, group, p, probe, after):
    """One that was merely slow, itself or the cell after it, on a machine that is busy with something else, has all the time it needs in a session
    of its own, and so has one for which one before it had left no variables. What is locked or lost for good is so there too. One that was too slow
    to tell anything is tried again."""
    found = judge_pair(there, group, p, probe, after)
    for _ in range(3):
        late = "timeout" in (probe.status, after.status) or "name 'kept' is not defined" in after.error
        if found.verdict != NOT_RUN and (found.verdict != BROKEN or not late):
            break
        patient = copy.copy(p)
        patient.code = p.code.replace(*limits.PATIENCE)
        alone = [{"code": "kept = 7"}, *calls_of(patient, group, new_mark())]
        cells, _, _ = play(there, alone, *words_of(there, group), "--timeout", "%ds" % PATIENT_S)
        if len(cells) == 3:
            _, probe, after = cells
            probe.limit = after.limit = PATIENT_S
            found = judge_pair(there, group, p, probe, after)
        if found.verdict != NOT_RUN:
            break
    return found


def run_group(there, group):
    """Every probe of the group in that place."""
    here = [p for p in GROUPS[group] if there.place in (p.places or [there.place])]
    mark, probes = new_mark(), [p for p in here if there.place not in p.weaker]
    cells, r, refused = play(there, [call for p in probes for call in calls_of(p, group, mark)], *words_of(there, group))
    found = []
    for i, p in enumerate(probes):
        if 2 * i + 1 < len(cells):
            found.append(judged(there, group, p, cells[2 * i], cells[2 * i + 1]))
        else:
            found.append(Finding(there.place, group, p, NOT_RUN, "the session ended before it: %r" % r))
    found.append(judge(there.place, group, SENT, lambda: not refused, refused))
    left = [f for f in os.listdir(there.work)] + [f for f in ("/tmp/escaped",) if os.path.exists(f)]
    found.append(judge(there.place, group, CLEAN, lambda: not left, "left: %s" % left))
    if group == "hosts":
        found.append(network.judge_reached(there))
    if group == "limits" or group in languages.GROUPS:
        found.append(judge(there.place, group, ENDED, lambda: gone(mark), "processes %s" % marked(mark)))
    return found + [Finding(there.place, group, p, WEAKER, "docs/SECURITY.md promises less here")
                    for p in here if there.place in p.weaker]
