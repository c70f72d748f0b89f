"""turns.py - what one round of tests leaves to another, in `make test` and `make check` as they are (tests/run.sh gives --turns). Each case runs in
one of the rounds at least, and each test in every round that it is fit for. Nothing takes turns where tests are named (`make test ARGS=...`, pytest by
itself), in `make quick`, among the long repetitions, or with SANDPIPER_TEST_EVERY=1: there everything runs.

  builds    A test with several cases runs its first one in both builds, and each of the others in one: of two cases beside each other mostly one in
            the release build and one with sanitizers. A case that only one build is fit for (no_asan, asan_once, an engine other than bwrap) runs there.
  probes    tests/probes run on bwrap in `make check` (`make probe`), as on every engine, and so not in `make test` as well (PROBES).
"""
from program import PLACES, engine_of

PROBES = ("test_probes", "test_posture")


def place_of(item):
    """The engine, or the engine as a user, that this case is for; None: it has no choice."""
    values = getattr(item, "callspec", None) and item.callspec.params.values() or ()
    return next((v for v in values if isinstance(v, str) and v in PLACES), None)


def case_of(item):
    """What tells it from the other cases of its test, but for the place."""
    return item.callspec.id.replace(place_of(item) or "", "") if getattr(item, "callspec", None) else ""


def other_build(item, number, asan):
    """Does the other build run this case, the number-th of its test, and it alone?"""
    if number == 0 or item.get_closest_marker("no_asan") or item.get_closest_marker("asan_once") or engine_of(place_of(item) or "bwrap") != "bwrap":
        return False
    # 0 1 1 0 1 0 0 1 ...: where a parameter has two values, or four, neither build has one of them alone.
    return (bin(number).count("1") % 2 == 1) != asan


def left_to_another(items, asan):
    """The items that this round leaves out, of all there are."""
    tests, out = {}, set()
    for item in items:
        cases = tests.setdefault((item.path, item.cls, getattr(item, "originalname", item.name)), {})
        number = cases.setdefault(case_of(item), len(cases))
        if item.get_closest_marker("check"):
            continue
        if other_build(item, number, asan) or item.path.stem in PROBES and item.get_closest_marker("no_asan"):
            out.add(item)
    return out
