"""test_posture.py - tests/probes in each place: what code in the sandbox can and cannot do (posture.py), what the sandbox shows of itself
(surface.py), and what two of them are to each other (pair.py)."""
import pytest

from conftest import BWRAP_USER, PLACES, make_sandpiper, need_engine
from probes import pair, posture, surface
from probes.cell import BROKEN, NOT_RUN


@pytest.fixture(params=PLACES)
def there(request):
    need_engine(request.param)
    yield from make_sandpiper(request.param)


def check(findings):
    bad = [repr(f) for f in findings if f.verdict in (BROKEN, NOT_RUN)]
    assert findings and not bad, "\n".join(bad)


def test_posture(there):
    seen, r = posture.see(there)
    assert r.code == 0 and seen, r
    check(posture.judge_rows(there.place, seen))
    assert there.place != BWRAP_USER or "memory is limited per process" in r.err


def test_surface(there):
    check(surface.run_group(there))


def test_two_at_once_and_a_death(there):
    check(pair.run_group(there))
