"""test_fetch.py - fetch_file, by which upload_file gets a file from a URL: what is fetched and what never is, with a public internet of our own.
Which addresses are public, and all spellings of those that are not, are in tests/unit/fetch."""
import os
import subprocess

import pytest

from program import BIN
from public_internet import place
from runner_child import Runner


@pytest.fixture
def internet(sandpiper):
    """A runner in a network where 93.184.216.34 is public; and what the server there was asked."""
    if os.geteuid() != 0:
        pytest.skip("a network of one's own needs root here")
    prefix, seen, ca = place(sandpiper)
    sandpiper.argv = lambda args: [*prefix, BIN, *args]
    runner = Runner(sandpiper, "--fetch-urls", "--ca-cert", ca, "--data-size", "32m", env={"SEEN": seen})
    yield runner, lambda: open(seen).read().splitlines() if os.path.exists(seen) else []
    runner.close()


def test_a_file_is_fetched(internet):
    runner, seen = internet
    assert runner.ask("fetch_file", name="in/t.csv", url="https://93.184.216.34/file") == {"name": "in/t.csv", "size": 8}
    assert runner.ask("fetch_file", name="t.csv", url="https://good.example/file") == {"name": "t.csv", "size": 8}
    assert runner.ask("run_code", code="open('in/t.csv').read() + open('t.csv').read()")["value"] == repr("a,b\n1,2\n" * 2)
    assert seen() == ["93.184.216.34 /file"] * 2


@pytest.mark.parametrize("url,said", [
    ("https://good.example/redirect", "good.example redirects to another URL (302), which is not followed"),
    ("https://good.example/nothing", "good.example answered 404 instead of sending the file"),
    ("https://good.example/endless", "good.example sent more than 32 MiB"),
    ("https://good.example/packed", "good.example sent more than 32 MiB"),
    ("https://inside.example/secret", "inside.example is not on the public internet"),
    ("https://127.0.0.1/secret", "127.0.0.1 is not on the public internet"),
    ("https://nowhere.example/file", "cannot reach nowhere.example: unknown host"),
    ("https://93.184.216.34:444/file", "cannot reach 93.184.216.34:444 (connection refused)"),
])
def test_what_is_not_fetched(internet, url, said):
    runner, seen = internet
    assert runner.refused("fetch_file", name="x", url=url)["text"].startswith(said)
    assert not [line for line in seen() if "secret" in line or line.startswith("127.")]
    assert runner.ask("list_files")["files"] == []


def test_a_name_that_leads_elsewhere_the_second_time(internet):
    """The address is asked of where the connection is made, so the order of what a name gives does not matter."""
    runner, seen = internet
    runner.ask("fetch_file", name="a", url="https://both.example/file")
    assert not [line for line in seen() if line.startswith("127.")]


def test_off_by_default(sandpiper):
    runner = Runner(sandpiper)
    assert "serve --fetch-urls allows it" in runner.refused("fetch_file", name="x", url="https://good.example/")["text"]
    runner.close()
