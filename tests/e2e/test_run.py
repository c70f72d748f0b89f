"""test_run.py - what tests/run.sh makes of tests that fail: those that pass alone are flakes, which it names, and more than two fail the run; and
which words of a sanitizer are no finding."""
import os
import shutil
import subprocess

import pytest

from program import TREE, sanitizers_say

pytestmark = [pytest.mark.no_asan, pytest.mark.slow(20)]

MAKEFILE = """unit:
\t@tests/unit/run.sh tests/unit/steady tests/unit/{unit}
%:
\t@:
"""
NOTES = '''import os
def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true")
def pytest_runtest_logreport(report):
    if report.failed and os.environ.get("PYTEST_XDIST_WORKER") is None:
        with open(os.environ["SANDPIPER_TEST_NOTES"], "a") as f:
            f.write("FAILED\\t%s\\tit did\\n" % report.nodeid)
'''
# Fails the first time, or each time.
UNIT = {"steady": "exit 0", "flaky": "[ -e $0.ran ] || { touch $0.ran; exit 1; }", "wrong": "exit 1"}
E2E = {"flaky": "    if not os.path.exists(%r):\n        open(%r, 'w').close()\n        assert False\n", "wrong": "    assert False\n"}


def run(tmp_path, kinds, unit="steady", **env):
    """A tree that has run.sh and such tests: (exit code, its summary)."""
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    for name in ("tests/run.sh", "tests/unit/run.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.join(TREE, name), tmp_path / name)
    write("setup/packages.sh", "#!/bin/sh\n")
    write("Makefile", MAKEFILE.format(unit=unit))
    for name, text in UNIT.items():
        write("tests/unit/" + name, "#!/bin/sh\n" + text + "\n")
    write("tests/e2e/conftest.py", NOTES)
    tests = "".join("def test_%d():\n%s\n" % (i, E2E[kind].replace("%r", repr(str(tmp_path / ("ran%d" % i))))) for i, kind in enumerate(kinds))
    write("tests/e2e/test_x.py", "import os\n\ndef test_good():\n    pass\n\n" + tests)
    env = dict({k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SANDPIPER"))}, SANDPIPER_TEST_JOBS="2", **env)
    r = subprocess.run([str(tmp_path / "tests/run.sh"), "quick"], capture_output=True, text=True, timeout=120, env=env)
    return r.returncode, r.stdout[r.stdout.index("== summary"):]


def test_two_flakes_are_named(tmp_path):
    code, summary = run(tmp_path, ["flaky"], "flaky")
    assert code == 0 and summary.endswith("all passed\n"), summary
    assert "passed alone: 2\n    tests/unit/flaky\n    tests/e2e/test_x.py::test_0\n" in summary or \
        "passed alone: 2\n    tests/e2e/test_x.py::test_0\n    tests/unit/flaky\n" in summary, summary


def test_three_are_too_many(tmp_path):
    code, summary = run(tmp_path, ["flaky"] * 3)
    assert code == 1 and "passed alone: 3\n" in summary and summary.endswith("failed: more than 2 flakes\n"), summary


def test_what_fails_alone_has_failed(tmp_path):
    code, summary = run(tmp_path, ["wrong", "flaky"])
    assert code == 1 and "FAILED tests/e2e/test_x.py::test_0" in summary, summary
    assert "passed alone: 1\n    tests/e2e/test_x.py::test_1\n" in summary, summary


def test_a_unit_that_fails_alone(tmp_path):
    code, summary = run(tmp_path, [], "wrong")
    assert code == 1 and "FAILED tests/unit/wrong" in summary and "passed alone" not in summary, summary


def test_two_runs_are_counted_together(tmp_path):
    """As CI does: make test and make check."""
    (tmp_path / "flakes").write_text("tests/e2e/one\ntests/e2e/two\n")
    code, summary = run(tmp_path, ["flaky"], SANDPIPER_TEST_FLAKES=str(tmp_path / "flakes"))
    assert code == 1 and "passed alone: 3\n" in summary, summary


def test_a_leak_check_that_was_killed_is_no_finding(tmp_path):
    said = tmp_path / "asan.7"
    said.write_text("Running thread 7 was not suspended. False leaks are possible.\n==9==Unable to get registers from thread 7.\n")
    assert not sanitizers_say(said)
    said.write_text("Running thread 7 was not suspended. False leaks are possible.\n==7==ERROR: LeakSanitizer: detected memory leaks\n")
    assert sanitizers_say(said) == "==7==ERROR: LeakSanitizer: detected memory leaks\n"
