"""Other people's clients, unchanged, from PyPI: tests/clients/NAME.txt lists what the environment NAME has. A machine that has no index
skips these tests; where SANDPIPER_TEST_ENGINES=required (CI) a client that cannot be installed is a failure."""

import functools
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INSTALL = HERE.parent / "clients" / "install.sh"
PLACE = HERE.parent.parent / "build" / "clients"


@functools.cache
def _install(name):
    done = subprocess.run([INSTALL, name], capture_output=True, text=True, timeout=600)
    return "" if done.returncode == 0 else done.stderr[-2000:] or f"exit {done.returncode}"


def client(name, program="python"):
    """The path of a program of that environment, which is installed if it is not there."""
    wrong = _install(name)
    if wrong:
        if os.environ.get("SANDPIPER_TEST_ENGINES") == "required":
            pytest.fail(f"tests/clients/install.sh {name}: {wrong}")
        pytest.skip(f"tests/clients/install.sh {name}: {wrong}")
    return str(PLACE / name / "bin" / program)
