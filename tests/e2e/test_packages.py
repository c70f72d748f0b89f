"""What the guest says of the packages inside (src/sandbox/guest/installed.py), from names of metadata alone."""
import os
import posix

import pytest

pytestmark = pytest.mark.no_asan

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def found(folder, wanted):
    with open(os.path.join(TREE, "src", "sandbox", "guest", "installed.py"), encoding="utf-8") as f:
        source = f.read()
    place = {"sys": type("sys", (), {"path": [str(folder)]}), "posix": posix, "OPTIONS": {"packages": wanted}}
    exec(source, place)                         # noqa: S102 - our own
    return place["find_packages"]()


def test_versions_keep_their_digits_and_names_are_those_of_pypi(tmp_path):
    folder = tmp_path / "dist-packages"
    for name in ("pandas-2.egg-info", "scipy-1.10.egg-info", "numpy-1.24.2-py3.11.egg-info", "Pillow-9.4.dist-info",
                 "scikit_learn-1.2.1.dist-info", "numpydoc-9.9.dist-info", ".egg-info", "six.py"):
        (folder / name).mkdir(parents=True)
    assert found(folder, "numpy,pandas,scipy,scikit-learn,pillow,sympy") == "numpy 1.24, pandas 2, scipy 1.10, scikit-learn 1.2, pillow 9.4"
    assert found(folder, "") == ""
