"""test_probes.py - the hostile cells of tests/probes, a session for each group, and none of them BROKEN. In bwrap alone; `make check` runs the
same rows on every engine and as every user (`make probe`). Limits that posture_inside.py fills up (L01, L06 to L12, L24) and group I are
test_posture.py's."""
import pytest

from probes import rows, server, session, soak, store
from probes.cell import BROKEN, NOT_RUN

pytestmark = pytest.mark.no_asan


@pytest.mark.slow(20)
@pytest.mark.parametrize("group", session.GROUPS)
def test_probes(sandpiper, group):
    bad = [repr(f) for f in session.run_group(sandpiper, group) if f.verdict in (BROKEN, NOT_RUN)]
    assert not bad, "\n".join(bad)


@pytest.mark.slow(20)
def test_rows_of_a_batch(sandpiper):
    bad = [repr(f) for f in rows.run_group(sandpiper) if f.verdict in (BROKEN, NOT_RUN)]
    assert not bad, "\n".join(bad)


@pytest.mark.slow(30)
def test_hostile_clients(sandpiper):
    bad = [repr(f) for f in server.run_group(sandpiper) if f.verdict in (BROKEN, NOT_RUN)]
    assert not bad, "\n".join(bad)


@pytest.mark.slow(10)
def test_hostile_database(sandpiper):
    found = store.run_group(sandpiper)
    bad = [repr(f) for f in found if f.verdict in (BROKEN, NOT_RUN)]
    assert found and not bad, "\n".join(bad)


@pytest.mark.check
def test_two_hundred_clients_beside_the_attacks():
    """tests/probes/soak.py for a quarter of a minute; by itself it takes two."""
    seen = soak.soak(15)
    assert soak.holds(seen), seen
