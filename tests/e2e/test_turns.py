"""test_turns.py - turns.py: with what is left to the other build every case runs, the first one in both, and what only one build can run is left to
nobody. No program runs here."""
from pathlib import Path
from types import SimpleNamespace

import pytest

import turns

pytestmark = pytest.mark.no_asan


class Item(SimpleNamespace):
    __hash__ = object.__hash__


def item(name, case=None, place=None, marks=(), file="test_x"):
    """As pytest hands them over, as far as turns.py looks."""
    spec = case is not None and SimpleNamespace(id="-".join(filter(None, [case, place])), params={"case": case, "engine": place})
    return Item(path=Path("/%s.py" % file), cls=None, originalname=name, name=name, callspec=spec or None, get_closest_marker=lambda m: m in marks)


def shared(items):
    """Which of these run in the release build, and which with sanitizers."""
    return [[i not in turns.left_to_another(items, asan) for i in items] for asan in (False, True)]


def test_of_two_parameters_each_value_meets_both_builds():
    for inner in (2, 4, 8):
        items = [item("t", "%d-%d" % (a, b)) for a in range(4) for b in range(inner)]
        release, asan = shared(items)
        assert release[0] and asan[0]
        assert all(r != a for r, a in zip(release[1:], asan[1:]))
        for b in range(inner):
            assert any(release[b::inner]) and any(asan[b::inner]), (inner, b)


def test_what_one_build_can_run_is_left_to_nobody():
    for mark in ("no_asan", "asan_once", "check"):
        assert shared([item("t", str(n), marks=[mark]) for n in range(9)])[0] == [True] * 9
    places = ["docker", "podman", "bwrap", "podman-rootless"]
    release, asan = shared([item("t", str(n), place) for n in range(2) for place in places])
    assert release == [True] * 6 + [False, True] and asan[2] and asan[6], "a case that another engine has is one case"


def test_single_tests_run_everywhere():
    assert shared([item("t"), item("u")]) == [[True, True], [True, True]]


def test_probes_are_those_of_make_probe():
    assert shared([item("t", file="test_probes", marks=["no_asan"]), item("t", file="test_probes", marks=["no_asan", "check"])])[0] == [False, True]


@pytest.mark.parametrize("here, wanted", [("docker podman bwrap", "required"), ("docker bwrap", ""), ("bwrap", "bwrap docker")])
def test_what_lies_on_this_side_runs_on_one_engine(monkeypatch, here, wanted):
    monkeypatch.setenv("SANDPIPER_TEST_ENGINES", wanted)
    monkeypatch.setattr(turns, "why_not", lambda e: None if e in here.split() else "not here")
    file, names = next((file, names) for file, names in turns.ONE_ENGINE.items() if len(names) > 3)
    items = [item("test_" + name, "", place, file=file) for name in names[:3] for place in turns.ENGINES]
    left = turns.left_to_another(items, False)
    ran = [[p for i, p in zip(items[3 * n:], turns.ENGINES) if i not in left and p in here.split()] for n in range(3)]
    assert [len(on) for on in ran] == [1, 1, 1] and len({on[0] for on in ran}) == len(here.split()), ran
    assert not turns.left_to_another(items, True)
    containers = [item("test_" + name, "", place, file=file) for name in names[:3] for place in ("docker", "podman")]
    assert len(containers) - len(turns.left_to_another(containers, False)) >= 3, "one that bwrap has no case of runs on another engine"


def test_those_of_one_engine_are_there():
    for file, names in turns.ONE_ENGINE.items():
        text = Path(__file__).with_name(file + ".py").read_text()
        assert all("def test_%s(" % name in text for name in names), (file, names)
