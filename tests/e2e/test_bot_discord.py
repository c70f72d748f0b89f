"""test_bot_discord.py - `sandpiper bot discord` against a Discord of our own (discord_server.py), as strict as the real one, or worse."""
import contextlib
import glob
import json
import os
import re
import signal
import time

import pytest

from conftest import HANG
from discord_server import BOT, DM, TOKEN, DiscordServer


class Bot:
    def __init__(self, s, discord, *args, env=None):
        self.s = s
        self.log = s.path("work/log-%d" % len(s.children))
        with open(self.log, "wb") as f:
            self.process = s.start("bot", "discord", "--verbose", "--api-url", discord.url, *args, env={"DISCORD_TOKEN": TOKEN, **(env or {})}, stderr=f)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG)

    def kill(self):
        self.process.kill()
        self.process.wait(HANG)


@pytest.fixture
def discord():
    with DiscordServer() as d:
        yield d
        d.check()


@pytest.fixture
def bot(sandpiper, discord):
    """bot(*options) starts it and waits for its connection. In the end nothing is left."""
    made = []

    def begin(*args, wait=True, **more):
        made.append(Bot(sandpiper, discord, *args, **more))
        if wait:
            n = len(made)
            discord.wait(lambda: discord.live() or made[n - 1].process.poll() is not None)
            assert made[n - 1].process.poll() is None, made[n - 1].said()
        return made[-1]
    yield begin
    for b in made:
        assert b.end() in (0, -signal.SIGKILL, *getattr(b, "codes", ())), b.said()
        assert TOKEN not in b.said()
    assert sandpiper.leftovers() == []


def texts(answers):
    return [m["content"] for m in answers]


def run(code):
    return {"answer": {"calls": [{"code": code}]}}


def say(text, **expect):
    return {"expect": expect, "answer": {"text": text}} if expect else {"answer": {"text": text}}


# ------------------------------------------------------------------------------------------------------------------ questions

def test_a_mention_begins_a_thread_that_is_a_conversation(bot, discord, sandpiper, serve):
    serve(sandpiper, [run("x = 6 * 7\nx"), say("It is 42."), run("x + 1"), say("It is 43.")])
    bot()
    q = discord.say("100", "what is 6 * 7?\nplease")
    assert texts(discord.answers(q)) == ["It is 42."]
    assert discord.channels[q]["name"] == "what is 6 * 7?"
    more = discord.say(q, "and one more?")
    (answer,) = discord.answers(more)
    assert answer["content"] == "It is 43." and answer["channel_id"] == q and answer["flags"] == 4
    assert any("/typing" in r for r in discord.requests)
