"""test_e2b.py - E2B's SDK, unchanged (tests/clients/shapes.txt), against `sandpiper serve`: sandboxes, files, commands, and what is refused.
tests/e2e/test_other_clients.py has the code that it runs."""
import json
import subprocess
import textwrap

import pytest

from clients import client
from serving import Server

pytestmark = pytest.mark.slow(10)


@pytest.fixture
def server(sandpiper):
    s = Server(sandpiper)
    yield s
    assert s.close() == 0


BEGIN = """
import json, sys, time
from e2b_code_interpreter import Sandbox
def tell(*x): print(json.dumps(x), flush=True)
def refused(f, *words, **named):
    try: return f(*words, **named) and "done"
    except Exception as e: return [type(e).__name__, str(e)]
"""


def e2b(server, program):
    """What a user's program tells: a list for each call of tell()."""
    env = dict(PATH="/usr/bin:/bin", HOME="/nonexistent", NO_PROXY="*", E2B_API_URL=server.url, E2B_SANDBOX_URL=server.url,
               E2B_API_KEY=server.token)
    r = subprocess.run([client("shapes"), "-I", "-c", BEGIN + textwrap.dedent(program)], env=env, capture_output=True, text=True, timeout=240)
    assert r.returncode == 0, r.stderr[-3000:]
    return [json.loads(line) for line in r.stdout.splitlines() if line.startswith("[")]


def test_sandboxes(server):
    """Made with all that a user sets, listed, found again by its id, given more time, and ended."""
    told = e2b(server, """
        from datetime import datetime, timezone
        def left(s): return (s.get_info().end_at - datetime.now(timezone.utc)).total_seconds()
        a = Sandbox.create(timeout=100, metadata={"user": "ann & bob", "app": "x"}, envs={"WHO": "wörld", "N": "1"})
        b = Sandbox.create(metadata={"app": "y"})
        tell(a.run_code("import os; os.environ['WHO'] + os.environ['N']").text, b.run_code("os.environ['WHO']").error.name)
        i = a.get_info()
        tell(i.sandbox_id == a.sandbox_id, i.metadata, i.state.value, i.cpu_count >= 1, i.memory_mb > 0, 60 < left(a) <= 101)
        def listed(**q): return [x.sandbox_id for x in Sandbox.list(**q).next_items()]
        from e2b import SandboxQuery, SandboxState
        tell(listed() == [a.sandbox_id, b.sandbox_id], listed(query=SandboxQuery(metadata={"user": "ann & bob"})) == [a.sandbox_id],
             listed(query=SandboxQuery(metadata={"app": "z"})), listed(query=SandboxQuery(state=[SandboxState.PAUSED])))
        pages = Sandbox.list(limit=1)
        first, more = pages.next_items(), pages.has_next
        tell(len(first), more, len(pages.next_items()), pages.has_next)
        a.set_timeout(1000)
        again = Sandbox.connect(a.sandbox_id, timeout=20)         # which does not end it earlier
        tell(900 < left(a) <= 1001, again.run_code("os.environ['N']").text, a.is_running())
        context = a.create_code_context()
        tell(a.run_code("import os; os.environ['WHO']", context=context).text)
        a.restart_code_context("default")
        tell(a.run_code("import os; os.environ['WHO']").text)
        tell(a.kill(), a.kill(), a.is_running(), refused(a.get_info)[0], refused(Sandbox.connect, a.sandbox_id)[0], refused(a.set_timeout, 5)[0])
        tell(listed() == [b.sandbox_id], b.get_metrics())
        b.set_timeout(0)
        while b.is_running(): time.sleep(0.05)
        tell(refused(b.run_code, "1")[0])
        """)
    assert told[0] == ["'wörld1'", "NameError"]
    assert told[1] == [True, {"user": "ann & bob", "app": "x"}, "running", True, True, True]
    assert told[2] == [True, True, [], []]
    assert told[3] == [1, True, 1, False]
    assert told[4] == [True, "'1'", True]
    assert told[5] == told[6] == ["'wörld'"]
    gone = "SandboxNotFoundException"
    assert told[7] == [True, False, False, gone, gone, gone]
    assert told[8] == [True, []]
    assert told[9][0] in ("TimeoutException", "SandboxNotRunningException", "NotFoundException")


def test_what_there_is_not(server):
    """One sentence says so, which the SDK shows."""
    told = e2b(server, """
        tell(refused(Sandbox.create, "my-template"), refused(Sandbox.create, network={"allow_out": ["1.1.1.1"]}),
             refused(Sandbox.create, lifecycle={"on_timeout": "pause"}), refused(Sandbox.create, envs={"A": "x" * 20000}),
             refused(Sandbox.create, timeout=90000))
        tell(len(Sandbox.list().next_items()))
        """)
    template, network, pause, much, long = told[0]
    assert template[0] == "SandboxException" or template[0].endswith("Exception") and "there are no templates here" in template[1]
    assert "no network" in network[1] and "does not pause by itself" in pause[1]
    assert "16384 bytes" in much[1] and "timeout: must be at most 86400" in long[1]
    assert told[1] == [0]
