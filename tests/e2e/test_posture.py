"""test_posture.py - tests/probes: what code in the sandbox can and cannot do (posture.py), what the sandbox shows of itself (surface.py), and
what two of them are to each other (pair.py). In bwrap alone; `make check` runs the same rows on every engine and as every user (`make probe`)."""
import pytest

from probes import pair, posture, surface
from probes.cell import BROKEN, NOT_RUN

pytestmark = pytest.mark.no_asan


def check(findings):
    bad = [repr(f) for f in findings if f.verdict in (BROKEN, NOT_RUN)]
    assert findings and not bad, "\n".join(bad)


@pytest.mark.slow(3)
def test_posture(sandpiper):
    seen, r = posture.see(sandpiper)
    assert r.code == 0 and seen, r
    check(posture.judge_rows(sandpiper.place, seen))


def test_surface(sandpiper):
    check(surface.run_group(sandpiper))


@pytest.mark.slow(3)
def test_two_at_once_and_a_death(sandpiper):
    check(pair.run_group(sandpiper))
