"""test_make_probe.py - `make probe`: what it prints, its exit status, and that its probes can fail."""
import os
import re
import subprocess
from types import SimpleNamespace

import pytest

from conftest import BIN, BWRAP_USER, ENGINES, TREE, need_engine
from probes import probe
from probes.cell import BROKEN, HELD, NOT_RUN, WEAKER, Finding, Probe, judge

pytestmark = pytest.mark.no_asan

LINE = re.compile(r"(HELD|BROKEN|WEAKER|NOT RUN) +(\S+) +[^:]+: .+ \([A-Z0-9a-z]+\)(: .+)?")


def run(*args, **env):
    # without pytest, and without what this session has put into its path
    return subprocess.run(["/usr/bin/python3", os.path.join(TREE, "tests/probes/probe.py"), *args], text=True, timeout=280,
                          env=dict({"PATH": os.environ["PATH"], "SANDPIPER_BIN": BIN}, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow(50)
@pytest.mark.check
def test_every_kind_of_probe_can_fail():
    """In a place that is weak on purpose they are BROKEN."""
    need_engine("bwrap")
    r = run("--self-test")
    assert r.returncode == 0 and "CANNOT FAIL" not in r.stdout and r.stdout.count("fails as it must") > 35, (r.stdout, r.stderr)


@pytest.mark.slow(10)
def test_one_place():
    """What it prints. All rows, there and on the others, are run by `make check` itself."""
    need_engine("bwrap")
    r = run("-v", "posture", "pair", ENGINE=BWRAP_USER if os.geteuid() == 0 else "bwrap")
    lines = r.stdout.splitlines()
    assert re.match(r"program +sandpiper \d", lines[0]) and re.match(r"system .*Linux \d", lines[1]), r
    assert any(line.startswith("bwrap     bubblewrap") for line in lines), r
    rows = [m.groups() for m in map(LINE.fullmatch, lines) if m]
    assert {place for _, place, _ in rows} == {BWRAP_USER if os.geteuid() == 0 else "bwrap"}, rows
    last = re.fullmatch(r"(\d+) held, (\d+) broken, (\d+) weaker as documented, (\d+) not run, in \d+ s", lines[-1])
    assert [int(n) for n in last.groups()] == [sum(v == which for v, _, _ in rows) for which in (HELD, BROKEN, WEAKER, NOT_RUN)], r
    assert int(last[1]) > 40 and int(last[2]) == 0 and int(last[4]) == 0 and r.returncode == 0, r.stdout
    assert all(seen for verdict, _, seen in rows if verdict == WEAKER), "-v shows why"


def test_what_is_not_here_is_said(tmp_path):
    """No engine in PATH: nothing held, and that is no success."""
    r = run(PATH=str(tmp_path))
    for engine in ENGINES:
        assert re.search(r"^not here: %s \(.+\)$" % engine, r.stdout, re.M), r
    assert r.returncode == 3 and r.stdout.endswith("\n0 held, 0 broken, 0 weaker as documented, 0 not run, in 0 s\n"), r


@pytest.mark.parametrize("args, env, said", [(("--no-such",), {}, "make probe"), ((), {"ENGINE": "lxc"}, "known are docker"),
                                             ((), {"SANDPIPER_BIN": "/nowhere/sandpiper"}, "no program at /nowhere/sandpiper")])
def test_used_wrongly(args, env, said):
    r = run(*args, **env)
    assert r.returncode == 2 and said in r.stderr and r.stdout == "", r


def test_what_cannot_be_judged_is_not_held():
    """Neither a probe that did not run, nor one whose judge fails, is green."""
    p = Probe("X01", "nothing", None, None)
    report = probe.Report(False)
    report.add([judge("bwrap", "x", p, lambda: {}["missing"], "")])
    assert report.counts[NOT_RUN] == 1 and report.status() == 3
    report.add([Finding("bwrap", "x", p, HELD)])
    assert report.status() == 3
    report.add([Finding("bwrap", "x", p, BROKEN, "\x1b[31mseen\n\u202e")])
    assert report.status() == 1 and report.line(Finding("bwrap", "x", p, BROKEN, "\x1b[31m\u202e")).endswith(": \\x1b[31m\\x202e")


def test_what_could_not_be_tried_is_tried_once_more():
    """The rest of its group runs beside it, and what is broken then is broken."""
    rounds = [[Finding("bwrap", "x", Probe(id_, id_, None, None), verdict) for id_, verdict in zip("abc", verdicts)] for verdicts in (
        (NOT_RUN, NOT_RUN, HELD), (HELD, NOT_RUN, BROKEN), (HELD, HELD, HELD))]
    there = SimpleNamespace(place="bwrap")
    assert [f.verdict for f in probe.attempt_group(there, "x", [], lambda there: rounds.pop(0))] == [HELD, NOT_RUN, BROKEN]
    assert len(rounds) == 1


def test_a_session_that_ends_early_is_not_held(sandpiper, monkeypatch):
    from probes import session
    monkeypatch.setitem(session.GROUPS, "short", [Probe("X%02d" % i, "row", "1", lambda c: True) for i in range(3)])
    monkeypatch.setattr(session, "cells_of", lambda r: [])
    found = session.run_group(sandpiper, "short")
    assert [f.verdict for f in found[:3]] == [NOT_RUN] * 3 and "the session ended before it" in found[0].seen
