"""test_plain_words.py - messages that say what is wrong and what helps: a key that is not set, a runtime folder that is passed over, limits
of this machine that no other engine would change, and files that exec drops.
"""
import os
import resource

import pytest

from provider_rows import PLACES, ROWS, listed
from raw_server import RawServer

NEED_A_KEY = [name for name, row in ROWS.items() if listed(row.get("key_variable")) and not row.get("local")]


@pytest.mark.asan_once
@pytest.mark.parametrize("name", NEED_A_KEY)
@pytest.mark.parametrize("way", ["one", "script"])
def test_a_key_that_is_not_set(bare, name, way):
    """Said before any request: the proxy, which every one would go through, hears of none."""
    variable = listed(ROWS[name]["key_variable"])[0]
    with RawServer(lambda c, request: c.whole({}, 401)) as proxy:
        env = dict(PLACES, HTTPS_PROXY="http://127.0.0.1:%d" % proxy.port)
        args = ("--provider", name, "-m", "a-model")
        r = bare.run(*args, "go", env=env) if way == "one" else bare.run(*args, stdin="go\n", env=env)
    assert r.code == 2 and r.out == "" and proxy.connections == 0, r
    assert "%s is not set" % variable in r.err and "export %s=" % variable in r.err, r
    assert len(r.err.strip().splitlines()) == 2, r


def test_a_server_of_ones_own_needs_none(bare, serve):
    serve(bare, [{"answer": {"text": "no key"}}])
    r = bare.run("--provider", "groq", "-m", "a-model", "--base-url", bare.url, "go", env={"OPENAI_BASE_URL": None, "OPENAI_API_KEY": None})
    assert r.code == 0 and r.out == "no key\n", r


# -- the runtime folder

@pytest.mark.parametrize("args", [("ps",), ("rm", "work"), ("gc",), ("exec", "--sandbox-name", "work", "-c", "print(1)")])
def test_a_runtime_folder_that_is_passed_over(sandpiper, args):
    os.chmod(sandpiper.path("run"), 0o755)
    try:
        r = sandpiper.run(*args, env={"TMPDIR": sandpiper.path("tmp")})
    finally:
        os.chmod(sandpiper.path("run"), 0o700)
        if args[0] == "exec":
            sandpiper.run("rm", "work", env={"XDG_RUNTIME_DIR": None})
    assert r.err.count("is ignored") == 1 and sandpiper.path("run") in r.err and "chmod 700" in r.err, r
    assert "/tmp/sandpiper-%d" % os.getuid() in r.err, r


def test_one_that_is_in_order_is_no_news(sandpiper):
    assert "is ignored" not in sandpiper.run("ps").err
    os.chmod(sandpiper.path("run"), 0o755)
    try:                        # nothing that is kept is looked for there
        assert "is ignored" not in sandpiper.run("exec", "-c", "print(1)").err
    finally:
        os.chmod(sandpiper.path("run"), 0o700)


@pytest.mark.parametrize("name", [(), ("--sandbox-name", "work")])
def test_a_runtime_folder_that_cannot_be_used(sandpiper, name):
    """No engine can do without it, so no other one is advised. The socket of a sandbox without a name lies elsewhere then."""
    with open(sandpiper.path("run/sandpiper"), "w"):
        pass
    try:
        r = sandpiper.run("exec", *name, "-c", "print(1)")
    finally:
        os.unlink(sandpiper.path("run/sandpiper"))
    assert r.code == (125 if name else 0) and "another engine" not in r.err and "--sandbox" not in r.err, r
    assert sandpiper.path("run/sandpiper") in r.err and (name or "XDG_RUNTIME_DIR" in r.err), r


@pytest.mark.parametrize("files", range(8, 26, 2))
def test_too_many_open_files(sandpiper, files):
    """Wherever the descriptors end: it says so, and what to do is not to change the engine."""
    r = sandpiper.run("exec", "-c", "print(1)", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
    if r.code == 0:
        return
    assert r.code == 125, r
    assert "another engine" not in r.err and len(r.err.strip().splitlines()) <= 3, r
    assert "open files" in r.err.lower(), r


# -- exec

def test_exec_says_what_it_drops(sandpiper):
    """-q leaves out news, not losses."""
    code = "import os\nos.symlink('/etc/hostname', 'link')\nopen('kept.txt', 'w').write('x')\nprint('made')"
    loud, quiet = sandpiper.run("exec", "-c", code), sandpiper.run("-q", "exec", "-c", code)
    assert loud.code == quiet.code == 0 and loud.out == quiet.out == "made\n", (loud, quiet)
    dropped = [line for line in loud.err.splitlines() if "link" in line]
    assert dropped == [line for line in quiet.err.splitlines() if "link" in line], (loud, quiet)
    assert dropped and "kept.txt" not in quiet.err, (loud, quiet)
