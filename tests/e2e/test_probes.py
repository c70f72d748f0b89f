"""test_probes.py - the hostile cells of tests/probes, a session for each group and place, and none of them BROKEN. Limits that
posture_inside.py fills up (L01, L06 to L12, L24) and group I are test_posture.py's."""
import pytest

from conftest import PLACES, make_sandpiper, need_engine
from probes import session
from probes.cell import BROKEN, NOT_RUN


@pytest.fixture(params=PLACES)
def there(request):
    need_engine(request.param)
    yield from make_sandpiper(request.param)


@pytest.mark.parametrize("group", session.GROUPS)
def test_probes(there, group):
    bad = [repr(f) for f in session.run_group(there, group) if f.verdict in (BROKEN, NOT_RUN)]
    assert not bad, "\n".join(bad)
