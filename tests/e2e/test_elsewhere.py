"""test_elsewhere.py - files that code makes where nothing is kept: in /tmp, after chdir. Each is named once, to the user and to the model
(src/sandbox/guest/elsewhere.py). What is in the home folder is kept."""
import os

import pytest

from mcp_stdio import Mcp, text

ONE = "%s is not kept: write to /mnt/data"


@pytest.mark.parametrize("code, path", [("open('/tmp/result.csv', 'w').write('a')", "/tmp/result.csv"),
                                        ("import os\nos.chdir('/tmp')\nopen('rel.csv', 'w').write('a')", "/tmp/rel.csv"),
                                        ("f = open('/tmp/open.csv', 'w'); f.write('a')", "/tmp/open.csv"),
                                        ("import os\nos.makedirs('/tmp/a/b')\nopen('/tmp/a/b/c', 'w').write('a')", "/tmp/a/b/c"),
                                        ("open('/dev/shm/x', 'w').write('a')", "/dev/shm/x"),
                                        ("!cp /etc/localtime /tmp/time || echo x > /tmp/time", "/tmp/time")])
def test_it_is_named(sandpiper, code, path):
    r = sandpiper.run("exec", "-", stdin=code)
    assert r.code == 0 and ONE % path in r.err and r.err.count("\n") == 1, r


def test_the_model_and_the_user_are_told(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "open('/tmp/result.csv', 'w').write('a')"}]}},
                         {"expect": {"last": {"content": {"contains": [ONE % "/tmp/result.csv"]}}}, "answer": {"text": "Saved."}}])
    r = sandpiper_on.run("go")
    assert r.code == 0 and ONE % "/tmp/result.csv" in r.err, r


def test_once_each_and_nothing_else(sandpiper):
    m = Mcp(sandpiper)
    says = lambda code: text(m.code(code + "\nNone")).strip()    # noqa: E731
    assert says("open('/tmp/a', 'w').write('a')") == ONE % "/tmp/a"
    assert says("open('/tmp/a', 'w').write('b')") == "(no output)" == says("x = 1")
    assert says("import os; os.mkdir('/tmp/d')") == "(no output)"
    assert says("open('/tmp/d/e', 'w').write('a')") == ONE % "/tmp/d/e"
    assert says("os.remove('/tmp/a'); open('/tmp/a', 'w').write('b')") == ONE % "/tmp/a"
    assert says("for c in 'zyxwvut': open('/tmp/' + c, 'w').write('a')") == "/tmp/t, /tmp/u, /tmp/v, /tmp/w, /tmp/x and 2 more are not kept: write to /mnt/data"
    # what comes and goes, what is hidden or somebody else's, what libraries keep for themselves
    assert says("open('/tmp/gone', 'w').write('a'); os.remove('/tmp/gone')") == "(no output)"
    assert says("import tempfile; tempfile._RandomNameSequence.__next__ = lambda _: 'a1b2c3d4'; f = tempfile.NamedTemporaryFile(delete=False); f.write(b'a'); f.close(); open('/tmp/.hidden', 'w').write('a')") == "(no output)"
    assert says("import multiprocessing as mp\nwith mp.Pool(2) as p: p.map(abs, [1])\ns = mp.Semaphore()") == "(no output)"
    assert says("import matplotlib.pyplot as plt; plt.plot([1]); plt.close()") == "(no output)"
    assert says("os.symlink('/etc/fonts', '/tmp/link')") == "(no output)"
    assert m.close() == (0, "")


def test_the_home_folder_is_kept(sandpiper_on):
    r = sandpiper_on.run("exec", "--out", "out", "-", stdin="import os\nopen(os.path.expanduser('~/home.csv'), 'w').write('a')")
    assert r.code == 0 and "not kept" not in r.err and os.listdir(os.path.join(sandpiper_on.work, "out")) == ["home.csv"], r


def test_names_of_the_codes_own(sandpiper):
    r = sandpiper.run("exec", "-", stdin=r"for n in '\x1b[31m', 'a\nb', 'x' * 255: open('/tmp/' + n, 'w').write('a')")
    assert r.code == 0 and "\x1b" not in r.err and "are not kept: write to /mnt/data" in r.err and r.err.count("\n") == 1, r
