"""test_place.py - where history, lists and answers are kept: no link of another user leads there, and root leaves another's home alone."""
import os
import shutil

import pytest

from chat_keys import PLAIN, leave, said

OTHER = 12345
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


def talk(program, text="a secret question", **env):
    """One question in a chat; everything that was shown."""
    p = program.chat(env=dict(PLAIN, **env))
    p.expect("> ")
    shown = p.before
    p.send(text + "\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)
    return shown


def history(program):
    os.makedirs(program.path("state/sandpiper"), exist_ok=True)
    return program.path("state/sandpiper/history")


def everything_below(folder):
    return [os.path.join(at, name) for at, folders, files in os.walk(folder) for name in folders + files]


@root_only
@pytest.mark.parametrize("there", [True, False])
def test_another_users_link_is_not_followed(bare, serve, there):
    """At its end: neither a file that is there nor one that would be made."""
    serve(bare, [said("a secret question")])
    target = bare.write("target", "mine\n") if there else os.path.join(bare.work, "target")
    os.symlink(target, history(bare))
    os.lchown(history(bare), OTHER, OTHER)
    shown = talk(bare)
    assert "no history is kept" in shown and "link of another user (uid 12345)" in " ".join(shown.split()), shown
    assert open(target).read() == "mine\n" if there else not os.path.exists(target)


@root_only
def test_another_users_link_on_the_way_is_not_followed(bare, serve):
    serve(bare, [said("a secret question"), said("q")])
    shutil.rmtree(bare.path("cache"))
    for name in ("evil", "shelf"):
        os.mkdir(bare.path("work/" + name))
    for name, target in (("cache", "evil"), ("shelf/state", "evil")):
        at = bare.path(name if name == "cache" else "work/" + name)
        os.symlink(bare.path("work/" + target), at)
        os.lchown(at, OTHER, OTHER)
    talk(bare)
    assert everything_below(bare.path("work/evil")) == []
    r = bare.run("q", env={"XDG_STATE_HOME": bare.path("work/shelf/state")})
    assert r.code == 0 and r.out == "Heard.\n" and "uid 12345" in r.err and "XDG_STATE_HOME" in r.err, r
    assert everything_below(bare.path("work/evil")) == []


def test_nothing_is_made_behind_a_link_that_leads_nowhere(bare, serve):
    serve(bare, [said("a secret question")])
    target = os.path.join(bare.work, "not-there")
    os.symlink(target, history(bare))
    assert "no history is kept" in talk(bare)
    assert not os.path.exists(target)


def test_ones_own_links_go_on_working(bare, serve):
    """State on another disk, and the history in a folder of settings."""
    serve(bare, [said("a secret question"), said("second one")])
    shutil.rmtree(bare.path("state"))
    os.mkdir(os.path.join(bare.work, "disk"))
    os.symlink("work/disk", bare.path("state"))
    assert "history" not in talk(bare)
    kept = os.path.join(bare.work, "disk/sandpiper/history")
    assert open(kept).read() == "a secret question\n"
    os.rename(kept, os.path.join(bare.work, "my-history"))
    os.symlink(os.path.join(bare.work, "my-history"), kept)
    assert "history" not in talk(bare, "second one")
    assert open(os.path.join(bare.work, "my-history")).read() == "a secret question\nsecond one\n"


@root_only
def test_root_leaves_another_users_folders_alone(bare, serve, tmp_path):
    """As sudo -E leaves them: what root made there would be in the user's way, and what he makes there leads root anywhere."""
    serve(bare, [said("a secret question")])
    home, target = tmp_path / "home", tmp_path / "target"
    (home / ".local/state/sandpiper").mkdir(parents=True)
    target.write_text("mine\n")
    os.symlink(target, home / ".local/state/sandpiper/history")
    for path in [str(home), *everything_below(home)]:
        os.lchown(path, OTHER, OTHER)
    before = everything_below(home)
    xdg = {"CONFIG": ".config", "CACHE": ".cache", "STATE": ".local/state", "DATA": ".local/share"}
    talk(bare, **{"XDG_%s_HOME" % k: str(home / v) for k, v in xdg.items()})
    assert target.read_text() == "mine\n" and sorted(everything_below(home)) == sorted(before)
    assert open(bare.path("home/.local/state/sandpiper/history")).read() == "a secret question\n"
