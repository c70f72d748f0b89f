"""The code of src/data/file_profile, called directly, with Debian's python3 and its pandas; through the sandbox it is the same."""
import importlib.util
import pathlib
import re
import types

import pytest

SOURCES = sorted(str(path) for path in (pathlib.Path(__file__).resolve().parents[2] / 'src/data/file_profile').glob('*.py'))   # one text for the sandbox
pandas_here = importlib.util.find_spec('pandas') is not None


def load():
    module = types.ModuleType('profile_under_test')
    for path in SOURCES:
        exec(compile(pathlib.Path(path).read_text(), path, 'exec'), module.__dict__)
    return module


prof = load()


def make(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def said(tmp_path, name, content):
    text = prof.profile(make(tmp_path, name, content))
    assert len(text.encode()) <= 4096
    text = text.partition(prof.MARK)[0]
    assert len(text) <= 1500 and len(text.encode()) <= 4096
    assert all(c in '\n\u200c\u200d' or c.isprintable() for c in text)
    return text


def frame(text):
    """Run the lines a profile gives for reading, as a model would."""
    pytest.importorskip('pandas')
    space = {}
    exec(code_of(text), space)
    return space


def code_of(text):
    """The lines of code that a profile begins with, as code_length() of agent/facts.c finds them."""
    code = []
    for line in text.split('\n'):
        if not re.match(r'import |for | |[^\W\d]\w* = |[^\W\d]\w*\[', line):
            break
        code.append(line)
    return '\n'.join(code)


def first_frame(text):
    """The first frame that the lines of a profile make; None: they make none."""
    import pandas
    space = {}
    exec(code_of(text), space)
    return next((value for value in space.values() if isinstance(value, pandas.DataFrame)), None)
