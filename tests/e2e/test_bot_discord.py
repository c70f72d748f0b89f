"""test_bot_discord.py - `sandpiper bot discord` against a Discord of our own (discord_server.py), as strict as the real one, or worse."""
import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from clients import client
from conftest import HANG
from discord_server import BOT, DM, TOKEN, DiscordServer, behind_tls
from package_index import make_certificates
from test_network import Proxy, certificates         # noqa: F401 - a fixture


class Bot:
    def __init__(self, s, discord, *args, env=None):
        self.s = s
        self.log = s.path("work/log-%d" % len(s.children))
        with open(self.log, "wb") as f:
            self.process = s.start("bot", "discord", "--verbose", "--api-url", discord.url, *args, env={"DISCORD_TOKEN": TOKEN, **(env or {})}, stderr=f)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_until_it_says(self, text):
        deadline = time.monotonic() + HANG
        while text not in self.said():
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.05)

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


def test_over_tls(bot, discord, sandpiper, serve, tmp_path):
    """As with the real one, https and wss; and nothing is said to one whose certificate nobody vouches for."""
    make_certificates(tmp_path)
    serve(sandpiper, [run("6 * 7"), say("It is 42.")])
    with behind_tls(discord, tmp_path):
        stranger = bot(wait=False)
        stranger.wait_until_it_says("certificate")
        stranger.end()
        assert not discord.requests and not discord.identifies
        bot("--ca-cert", os.path.join(tmp_path, "ca.pem"))
        assert texts(discord.answers(discord.say("100", "what is 6 * 7?"))) == ["It is 42."]


def test_through_a_proxy(bot, discord, sandpiper, serve, certificates):         # noqa: F811
    """HTTPS_PROXY, for its API, its gateway and files, for a host that only the proxy can reach. The proxy does not see the token."""
    serve(sandpiper, [run("open('/mnt/data/a.txt').read()"), say("It says hello.")], lenient=True)
    with behind_tls(discord, certificates, "elsewhere.example", "other") as port, Proxy(port) as proxy:
        bot("--ca-cert", certificates / "ca.pem", env={"HTTPS_PROXY": proxy.url})
        assert texts(discord.answers(discord.say("100", "what is in it?", files=[("a.txt", b"hello")]))) == ["It says hello."]
        assert len(proxy.asked) >= 2 and all(a.startswith("CONNECT elsewhere.example:%d " % port) and TOKEN not in a for a in proxy.asked), proxy.asked


def test_settings_as_users_write_them(discord, sandpiper, serve):
    """In config.yaml and as variables, which are the stronger ones."""
    serve(sandpiper, [say("One."), say("Two.")])
    sandpiper.configure("bot:\n  api_url: %s\n  per_user: 1\n  per_server: 100\n" % discord.url)
    p = sandpiper.start("bot", "discord", env={"DISCORD_TOKEN": TOKEN, "SANDPIPER_BOT_PER_SERVER": "2"})
    discord.wait(discord.live)
    ask = lambda user: texts(discord.answers(discord.say("100", "go", user=user)))
    assert ask("501") == ["One."]
    assert ask("501")[0].startswith("You have 1 question in an hour, and it is used up")
    assert ask("502") == ["Two."]
    assert ask("503")[0].startswith("This server has 2 questions in an hour")
    p.send_signal(signal.SIGTERM)
    assert p.wait(HANG) == 0
    assert sandpiper.leftovers() == []


def test_direct_messages_are_one_conversation(bot, discord, sandpiper, serve):
    serve(sandpiper, [run("x = 5"), say("Kept."), say("Still 5.", roles="system user assistant tool assistant user")])
    bot()
    channel = discord.direct("501")
    first = discord.say(channel, "keep 5", user="501", mention=False)
    assert texts(discord.answers(first)) == ["Kept."]
    second = discord.say(channel, "what was it?", user="501", mention=False)
    (answer,) = discord.answers(second)
    assert answer["content"] == "Still 5." and answer["message_reference"]["message_id"] == second and answer["channel_id"] == channel
    assert not any("threads" in r for r in discord.requests)


def test_files_go_in_and_come_back(bot, discord, sandpiper, serve):
    code = ("import os\nd = open('/mnt/data/a.csv').read()\nopen('b.txt', 'w').write(d.upper())\n"
            "with open('large.bin', 'wb') as f: f.truncate(11 << 20)\n"
            "for i in range(11): open('f%02d.txt' % i, 'w').write(str(i))\nd")
    serve(sandpiper, [run(code), say("Done.")], lenient=True)
    bot()
    q = discord.say("100", "in capitals", files=[("a.csv", b"x,y\n1,two\n")])
    first, second = discord.answers(q, 2)
    assert first["content"].startswith("Done.") and "large.bin (11 MiB) is too large" in first["content"]
    made = {a["filename"]: discord.files[a["id"]] for m in (first, second) for a in m["attachments"]}
    assert made.pop("b.txt") == b"X,Y\n1,TWO\n" and made == {"f%02d.txt" % i: str(i).encode() for i in range(11)}
    assert len(first["attachments"]) == 10


def staged(s, question):
    return glob.glob(s.path("state/sandpiper/bot/*/question-%s.files/*" % question))


def test_files_of_an_earlier_try_are_not_sent(bot, discord, sandpiper, serve):
    serve(sandpiper, [run("open('/mnt/data/new.txt', 'w').write('new')"), say("Done.")])
    bot()
    folder = sandpiper.path("state/sandpiper/bot/discord-%s/question-%d.files" % (BOT, discord.next_id + 1))
    os.mkdir(folder)
    with open(os.path.join(folder, "0"), "w") as f:
        f.write("of a process that was killed")
    (answer,) = discord.answers(discord.say("100", "make a file"))
    assert [(a["filename"], discord.files[a["id"]]) for a in answer["attachments"]] == [("new.txt", b"new")]


def test_a_file_that_is_gone_costs_no_answer(bot, discord, sandpiper, serve):
    def last(request):
        discord.broken = 1000       # until the file is taken away
        return say("Done.")
    serve(sandpiper, [run("open('/mnt/data/a.txt', 'w').write('a')"), last])
    bot()
    q = discord.say("100", "make a file")

    def another_refused():
        before = len(discord.refused)
        discord.wait(lambda: any(path.endswith("/messages") for path in discord.refused[before:]))
    another_refused()
    os.unlink(staged(sandpiper, q)[0])
    another_refused()       # it may have had the file; the next one has not
    discord.broken = 0
    (answer,) = discord.answers(q)
    assert answer["content"] == "Done." and not answer["attachments"]


def test_few_files_are_fetched_at_once(bot, discord, sandpiper, serve):
    """All of a file, and of those that go with it, are in memory: 24 MiB for each question."""
    serve(sandpiper, [say("Read.")] * 8, lenient=True)
    bot()
    discord.may_fetch.clear()
    asked = [discord.say("100", "read", user=str(600 + n), files=[("a.txt", b"a")]) for n in range(8)]
    discord.wait(lambda: discord.fetched >= 4 and all(q in discord.channels for q in asked))
    discord.may_fetch.set()
    for q in asked:
        assert texts(discord.answers(q)) == ["Read."]
    assert discord.fetched_at_once == 4


def test_files_that_are_too_large_or_lie_elsewhere(bot, discord, sandpiper, serve):
    serve(sandpiper, [])
    bot()
    q = discord.say("100", "look", files=[("big.bin", b"0" * (25 << 20))])
    assert texts(discord.answers(q)) == ["big.bin (25 MiB) is too large: the files of one question may have 24 MiB together."]
    with discord.lock:
        q = discord.new_id()
        m = discord.message(q, "100", {"id": "502", "username": "u", "discriminator": "0", "avatar": None}, "<@%s> look" % BOT,
                            mentions=[discord.bot_user()],
                            attachments=[{"id": "1", "filename": "x", "size": 5, "url": "http://127.0.0.1:1/attachments/1/x"}])
        discord.keep(m)
        discord.tell(m)
    assert texts(discord.answers(q)) == ["x could not be fetched. Send it again."]


def test_long_answers(bot, discord, sandpiper, serve):
    block = "Look:\n\n```c\n" + "".join("print(%d)  # %s\n" % (i, "é" * 40) for i in range(80)) + "```\n\nThat is all."
    serve(sandpiper, [say(block), say("word " * 6000), say("😀" * 1500)])
    bot()
    q = discord.say("100", "code")
    pieces = texts(discord.answers(q, 3))
    assert all(p.count("```") == 2 for p in pieces) and pieces[1].startswith("```c\n") and pieces[-1].endswith("That is all.")
    lines = [line for p in pieces for line in p.split("\n") if line.startswith("print")]
    assert lines == block.split("\n")[3:83]
    q = discord.say("100", "many words")
    (answer,) = discord.answers(q)
    assert answer["attachments"], answer["content"]
    (file,) = answer["attachments"]
    assert file["filename"] == "answer.md" and discord.files[file["id"]].decode().split() == ["word"] * 6000
    assert answer["content"].endswith("(All of the answer is in answer.md.)")
    q = discord.say("100", "smile")
    assert "".join(texts(discord.answers(q, 2))) == "😀" * 1500


def test_an_answer_pings_nobody(bot, discord, sandpiper, serve):
    """The server that tests this is strict: DiscordServer.create_message."""
    serve(sandpiper, [say("@everyone <@500> <@&7> http://example.com/?secret")])
    bot()
    (answer,) = discord.answers(discord.say("100", "ping them"))
    assert answer["content"].startswith("@everyone") and answer["flags"] & 4


def test_replies_where_there_are_no_threads(bot, discord, sandpiper, serve):
    discord.threads = False
    serve(sandpiper, [run("x = 7"), say("Seven."), run("x"), say("Still seven."), say("New.", roles="system user")])
    bot()
    first = discord.say("100", "take 7")
    (answer,) = discord.answers(first)
    assert answer["channel_id"] == "100"
    second = discord.say("100", "and now?", mention=False, reply_to=answer["id"])
    (more,) = discord.answers(second)
    assert more["content"] == "Still seven."
    assert texts(discord.answers(discord.say("100", "something else"))) == ["New."]


def test_a_reply_to_somebody_else(bot, discord, sandpiper, serve):
    """The model is told of what, with its files, as far as Discord shows it."""
    model = serve(sandpiper, [run("open('a.csv').read()"), say("Two."), say("Which?"), say("Three.")])
    bot()
    theirs = discord.say("100", "look at <@501>", user="500", files=[("a.csv", b"1,2")], bot=True)    # by another bot, so it is not answered itself
    assert texts(discord.answers(discord.say("100", "count", user="501", reply_to=theirs))) == ["Two."]
    asked, told = (model.requests[i].messages[-1]["content"] for i in (0, 1))
    assert asked.endswith("This replies to a message of user500, whose files come with it:\nlook at <@501>\n\ncount") and "1,2" in str(told), (asked, told)
    unseen = discord.say("100", "1 2 3", user="500", mention=False)
    assert texts(discord.answers(discord.say("100", "count", user="501", reply_to=unseen))) == ["Which?"]
    assert "does not show to bots" in model.requests[2].messages[-1]["content"] and "1 2 3" not in json.dumps(model.requests[2].body)
    direct = discord.direct("501")
    theirs = discord.say(direct, "1 2 3", user="501", bot=True)
    assert texts(discord.answers(discord.say(direct, "", user="501", reply_to=theirs))) == ["Three."]
    assert "This replies to a message of user501:\n1 2 3" in model.requests[3].messages[-1]["content"]


def test_who_is_not_answered(bot, discord, sandpiper, serve):
    serve(sandpiper, [say("Yes.")])
    bot()
    ignored = [discord.say("100", "hello", mention=False), discord.say("100", "I am a bot", bot=True)]
    empty = discord.say("100", "")
    (hint,) = discord.answers(empty)
    assert hint["content"].startswith("Write your question behind the mention") and hint["channel_id"] == "100"
    silent = discord.say("100", "and this?", mention=False, reply_to=hint["id"], ping=False)
    assert discord.answers(silent)
    q = discord.say("100", "a question")
    assert texts(discord.answers(q)) == ["Yes."]
    assert not any(discord.answers_now(i) for i in ignored)


def test_limits(bot, discord, sandpiper, serve):
    serve(sandpiper, [say("One."), say("Two."), say("Three."), say("Of another server.")])
    bot("--per-user", "2", "--per-server", "3")
    for text in ("One.", "Two."):
        assert texts(discord.answers(discord.say("100", "go"))) == [text]
    (over,) = discord.answers(discord.say("100", "go"))
    assert re.match(r"You have 2 questions in an hour, and they are used up. Ask again in 60 minutes.", over["content"]), over
    quiet = discord.say("100", "go on!")
    assert texts(discord.answers(discord.say("100", "go", user="501"))) == ["Three."]
    (over,) = discord.answers(discord.say("100", "go", user="502"))
    assert over["content"].startswith("This server has 3 questions in an hour")
    assert texts(discord.answers(discord.say("101", "go", user="503"))) == ["Of another server."]
    assert not discord.answers_now(quiet)


# ------------------------------------------------------------------------------------------------------------------ the gateway

def first(act):
    """Called in place of the agreement to a WebSocket."""
    act.first = True
    return act


def garbage(data):
    def act(d, ws, session):
        ws.raw(data)
    return act


@first
def no_websocket(d, ws, key):
    ws.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")


@first
def wrong_accept(d, ws, key):
    ws.raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n")
    time.sleep(0.2)


def cut_in_a_frame(d, ws, session):
    ws.raw(b"\x81\x7e\x10\x00" + b"{" * 100)
    d.cut(ws)


BROKEN = {
    "no websocket": no_websocket,
    "wrong accept": wrong_accept,
    "cut in a frame": cut_in_a_frame,
    "huge frame": garbage(b"\x81\x7f\x00\x00\x00\x10\x00\x00\x00\x00"),
    "endless pieces": garbage(b"\x01\x7e\xff\xff" + b"x" * 65535 + (b"\x00\x7e\xff\xff" + b"x" * 65535) * 80),
    "masked frame": garbage(b"\x81\x82abcd{}"),
    "no json": garbage(b"\x81\x05hello"),
    "deep json": garbage(b"\x81\x7e\x27\x10" + b"[" * 10000),
    "an extension": garbage(b"\xc1\x02{}"),
    "op 7": lambda d, ws, session: ws.send({"op": 7, "d": None}),
    "op 9, resumable": lambda d, ws, session: ws.send({"op": 9, "d": True}),
    "closed without a code": garbage(b"\x88\x00"),
    "closed with 4000": garbage(b"\x88\x02\x0f\xa0"),
    "closed with 4009": garbage(b"\x88\x02\x0f\xa9"),
}


@pytest.mark.parametrize("how", sorted(BROKEN))
def test_a_connection_that_breaks_is_made_again(how, bot, discord, sandpiper, serve):
    """And what was said meanwhile is answered, once."""
    discord.identify_seconds = 0
    discord.script = [BROKEN[how]]
    serve(sandpiper, [say("Here.")])
    b = bot(wait=False)
    discord.wait(lambda: discord.connections >= 2 and discord.live() and len(discord.identifies) + len(discord.resumes) >= 1)
    q = discord.say("100", "are you there?")
    assert texts(discord.answers(q)) == ["Here."]
    assert discord.connections == 2 and b.process.poll() is None, b.said()


def test_what_was_said_while_the_connection_was_lost(bot, discord, sandpiper, serve):
    serve(sandpiper, [say("First."), say("Second.")])
    bot()
    assert texts(discord.answers(discord.say("100", "one"))) == ["First."]
    with discord.lock:
        discord.drop_all()
        q = discord.say("100", "two")
    assert texts(discord.answers(q)) == ["Second."]
    assert len(discord.identifies) == 1 and len(discord.resumes) == 1
    time.sleep(0.5)
    assert len(discord.answers_now(q)) == 1


@first
def no_answer(d, ws, key):
    d.cut(ws)


@pytest.mark.slow(20)
def test_a_network_that_is_gone_for_a_while(bot, discord, sandpiper, serve):
    """Connections that fail say nothing about the session: what was said meanwhile is answered."""
    serve(sandpiper, [say("First."), say("Second.")])
    bot()
    assert texts(discord.answers(discord.say("100", "one"))) == ["First."]
    with discord.lock:
        discord.script = [no_answer] * 5
        discord.drop_all()
        q = discord.say("100", "two")
    assert texts(discord.answers(q, timeout=90)) == ["Second."]
    assert len(discord.identifies) == 1 and len(discord.resumes) == 1


def test_a_flood_holds_nothing_up(bot, discord, sandpiper, serve):
    """A gateway that sends faster than it is read: the bot still hears a signal."""
    flooded, sent = threading.Event(), []

    def flood(d, ws, session):
        ws.raw(b"\x01\x01{")
        for mib in range(64):
            ws.raw(b"\x00\x00" * (1 << 19))
            flooded.set()
            sent.append(mib)
    discord.script = [flood]
    serve(sandpiper, [])
    b = bot(wait=False)
    assert flooded.wait(HANG)
    assert b.end() == 0, b.said()
    assert len(sent) < 64


def test_a_session_of_another_api_is_not_gone_on_with(bot, discord, sandpiper, serve):
    """Its gateway would be given the token."""
    serve(sandpiper, [say("Here."), say("There.")])
    first = bot()
    discord.answers(discord.say("100", "one"))
    first.end()
    with DiscordServer() as other:
        b = Bot(sandpiper, other)
        other.next_id += 1000           # or its messages are known already
        other.wait(other.live)
        assert texts(other.answers(other.say("100", "two"))) == ["There."]
        assert b.end() == 0
        other.check()
    assert discord.connections == 1 and not discord.resumes


def test_an_invalid_session_means_a_new_one(bot, discord, sandpiper, serve):
    discord.identify_seconds = 0.5
    serve(sandpiper, [say("Here.")])
    bot()
    for s in discord.live():
        s.valid = False
    discord.drop_all()
    discord.wait(lambda: len(discord.identifies) == 2 and discord.live())
    assert texts(discord.answers(discord.say("100", "are you there?"))) == ["Here."]
    assert len(discord.resumes) == 1


def test_heartbeats(sandpiper, serve):
    with DiscordServer(heartbeat_ms=1000) as d:
        serve(sandpiper, [])
        b = Bot(sandpiper, d)
        d.wait(lambda: d.beats >= 3)
        assert d.connections == 1
        d.no_ack = True
        d.wait(lambda: d.resumes)
        d.no_ack = False
        for s in d.live():
            s.connection.send({"op": 1, "d": None})
        assert b.end() == 0
        d.check()


@pytest.mark.parametrize("code, status, words", [(4004, 77, "Discord refuses the token"), (4010, 2, "refuses the shard"), (4011, 2, "too many servers"),
                                                 (4012, 2, "no longer has this version"), (4013, 2, "does not know the intents"),
                                                 (4014, 2, "does not allow this bot the intents")])
def test_closes_that_are_final(code, status, words, sandpiper, serve):
    with DiscordServer() as d:
        serve(sandpiper, [])
        d.script = [lambda d, ws, session: ws.close(code)]
        b = Bot(sandpiper, d)
        assert b.process.wait(HANG) == status and words in b.said() and TOKEN not in b.said(), b.said()
        assert d.connections == 1


def test_the_least_intents(bot, discord, sandpiper, serve):
    serve(sandpiper, [])
    bot()
    assert discord.identifies == [1 << 9 | 1 << 12]


def test_no_session_is_left_to_be_started(sandpiper, serve):
    with DiscordServer(starts=0) as d:
        serve(sandpiper, [])
        b = Bot(sandpiper, d)
        b.wait_until_it_says("allows no more new sessions")
        assert d.connections == 0
        assert b.end() == 0


# ------------------------------------------------------------------------------------------------------------------ REST

def test_rate_limits(sandpiper, serve):
    """Two messages in two seconds in one channel, and answers of three messages; nothing is sent that Discord would have refused."""
    with DiscordServer(message_limit=(2, 2.0)) as d:
        serve(sandpiper, [lambda r: say(("word " * 900 + "\n") * 1)] * 3, lenient=True)
        b = Bot(sandpiper, d)
        d.wait(d.live)
        channel = d.direct("501")
        asked = [d.say(channel, "go %d" % i, user="501", mention=False) for i in range(3)]
        for q in asked:
            assert " ".join(texts(d.answers(q, 3))).split() == ["word"] * 900
        assert b.end() == 0
        d.check()
        assert d.limited == 0


def test_a_storm_of_429_and_failures(bot, discord, sandpiper, serve):
    serve(sandpiper, [say("Through.")])
    b = bot()
    discord.storm = [("user", 0.2), ("shared", 0.3), ("global", 0.4), ("user", 0.1), ("global", 0.2), ("user", 0.2)]
    discord.broken, discord.lost = 1, 1
    q = discord.say("100", "are you there?")
    assert texts(discord.answers(q)) == ["Through."]
    time.sleep(0.5)
    assert len(discord.answers_now(q)) == 1 and not discord.storm and "limit for all requests" in b.said()


def test_a_channel_that_is_gone(bot, discord, sandpiper, serve):
    """The answer cannot be posted, and the bot goes on."""
    serve(sandpiper, [lambda r: discord.channels.pop("77", None) and None or say("Lost."), say("Here.")])
    b = bot()
    discord.channels["77"] = {"type": DM, "guild": None, "messages": [], "user": "509"}
    discord.say("77", "hello", user="509", mention=False)
    b.wait_until_it_says("the answer cannot be posted: Unknown Channel (404)")
    assert texts(discord.answers(discord.say("100", "still there?"))) == ["Here."]


# ------------------------------------------------------------------------------------------------------------------ restarts

def sequence_kept(s):
    """The sequence from which the next process would go on."""
    for path in glob.glob(s.path("state/sandpiper/bot/*/service-*.json")):
        with open(path) as f:
            return json.load(f)["seq"]
    return -1


def asked_of(request):
    return [m["content"] for m in request.messages if m["role"] == "user"][-1]


@pytest.mark.slow(40)
def test_twenty_users_and_kill_9_in_the_middle(bot, discord, sandpiper, serve):
    """No message is lost, and none is answered twice. The questions come while it runs, while it is dead, and while it runs again."""
    discord.identify_seconds = 0
    discord.other_limit = 60, 5.0       # what the killed process has used of a bucket is not known to the next one

    numbers = []                        # of what the model is asked

    def answer(request):
        numbers.append(int(re.search(r"question (\d+)", asked_of(request))[1]))
        time.sleep(1)
        return say("Answer to %s" % re.search(r"question (\d+)", asked_of(request))[1])

    serve(sandpiper, [answer] * 200, lenient=True, complete=False)
    b = bot("--max-sandboxes", "4")
    asked = {}

    def ask(n, at):
        for i in range(n):
            asked[discord.say("100", "question %d" % (at + i), user=str(600 + at + i))] = at + i
    ask(20, 0)
    discord.wait(lambda: sum(1 for q in asked if discord.answers_now(q)) >= 4, 120)
    while sequence_kept(sandpiper) < 21:        # from here on Discord does not tell of these questions again
        time.sleep(0.02)
    before = [n for q, n in asked.items() if discord.answers_now(q)]
    b.kill()
    discord.wait(lambda: not discord.live())
    assert len(before) < 20
    ask(3, 20)
    began = time.monotonic()
    b = bot("--max-sandboxes", "4")
    ask(3, 23)
    for q, n in asked.items():
        assert texts(discord.answers(q, timeout=120)) == ["Answer to %d" % n]
    print("answered %.1f s after the second start" % (time.monotonic() - began))
    time.sleep(1)
    assert all(len(discord.answers_now(q)) == 1 for q in asked)
    assert not [n for n in before if numbers.count(n) != 1], "what was answered is asked once"
    assert len(discord.identifies) == 1 and discord.resumes, "the second process goes on with the session of the first"


@pytest.mark.parametrize("history", [True, False])
def test_killed_while_it_posts(history, bot, discord, sandpiper, serve):
    """Three messages are one answer. Discord has taken one of them, of which the process that is killed does not know."""
    serve(sandpiper, [say("word " * 900)], lenient=True)
    discord.history = history
    b = bot()
    channel = discord.direct("501")
    create = discord.create_message

    def slow(*args):
        out = create(*args)
        discord.create_message = create
        b.kill()
        return out
    discord.create_message = slow
    q = discord.say(channel, "go", user="501", mention=False)
    discord.wait(lambda: discord.answers_now(q))
    discord.wait(lambda: not discord.live())
    if history:
        discord.nonces.clear()          # it was minutes ago
    bot()
    assert " ".join(texts(discord.answers(q, 3))).split() == ["word"] * 900
    time.sleep(0.5)
    assert len(discord.answers_now(q)) == 3


def test_a_conversation_goes_on_after_a_restart(bot, discord, sandpiper, serve):
    serve(sandpiper, [run("x = 3"), say("Three."), say("It was three.", roles="system user assistant user")], lenient=True)
    b = bot()
    q = discord.say("100", "take three")
    discord.answers(q)
    assert b.end() == 0
    bot()
    assert texts(discord.answers(discord.say(q, "what was it?"))) == ["It was three."]


def test_a_second_process_is_refused(bot, discord, sandpiper, serve):
    serve(sandpiper, [])
    bot()
    other = bot(wait=False)
    other.codes = (2,)
    assert other.process.wait(HANG) == 2 and "another process runs this bot already" in other.said(), other.said()


# ------------------------------------------------------------------------------------------------------------------ the token

def environ_of(pid):
    with contextlib.suppress(OSError):
        with open("/proc/%s/environ" % pid, "rb") as f, open("/proc/%s/cmdline" % pid, "rb") as g:
            return f.read() + g.read()
    return b""


@pytest.mark.no_asan
def test_the_token_is_in_one_process(bot, discord, sandpiper, serve):
    """Not in the environment or the words of any process, nor in what is written; and code does not see it."""
    seen = []

    def look(request):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if sandpiper.dir.encode() in environ_of(pid) or pid == str(b.process.pid):
                seen.append(TOKEN.encode() in environ_of(pid))
        return run("import os\nstr(dict(os.environ)) + open('/proc/self/environ').read()")

    server = serve(sandpiper, [look, say("Looked.")], lenient=True)
    b = bot()
    discord.answers(discord.say("100", "look around"))
    assert len(seen) >= 2 and not any(seen)
    assert TOKEN not in json.dumps([r.messages for r in server.requests])
    for path in glob.glob(sandpiper.path("**"), recursive=True):
        if os.path.isfile(path):
            with contextlib.suppress(OSError):
                with open(path, "rb") as f:
                    assert TOKEN.encode() not in f.read(), path
    assert memory_has(b.process.pid, TOKEN.encode())
    others = [p for p in sandpiper.processes_of() if p != b.process.pid] if hasattr(sandpiper, "processes_of") else children_of(b.process.pid)
    assert others and not any(memory_has(p, TOKEN.encode()) for p in others)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def memory_has(pid, text):
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb") as mem:
        for line in maps:
            if " rw" not in line[:60] or "[v" in line:
                continue
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            with contextlib.suppress(OSError, ValueError):
                mem.seek(begin)
                if text in mem.read(end - begin):
                    return True
    return False


@pytest.mark.parametrize("args, env, words", [
    (["bot"], TOKEN, "bot needs one service: sandpiper bot discord"),
    (["bot", "irc"], TOKEN, 'bot knows no service "irc"; there is: discord'),
    (["bot", "discord"], None, "DISCORD_TOKEN is not set"),
    (["bot", "discord"], "two words", "a token has no blanks"),
    (["bot", "discord", "--api-url", "http://example.com/api"], TOKEN, "the token would go to another machine over http://"),
    (["bot", "discord", "--per-user", "x"], TOKEN, "--per-user"),
])
def test_wrong_input(args, env, words, sandpiper, serve):
    serve(sandpiper, [])
    r = sandpiper.run(*args, env={"DISCORD_TOKEN": env})
    assert r.code == 2 and words in r.err and TOKEN not in r.err and r.err.count("\n") <= 2, r


def test_a_token_that_is_refused(sandpiper, serve):
    with DiscordServer() as d:
        serve(sandpiper, [])
        r = sandpiper.run("bot", "discord", "--api-url", d.url, env={"DISCORD_TOKEN": "wrong"})
        assert r.code == 77 and "Discord refuses the token (401)" in r.err and d.connections == 0, r


@pytest.mark.client("discord/discord.py", "the server that the tests of `sandpiper bot discord` run against: it takes that for Discord")
def test_discord_py_takes_our_server_for_discord(discord):
    """So what the bot is tested against is no invention of ours."""
    program = client("discord")
    p = subprocess.Popen([program, os.path.join(os.path.dirname(__file__), "discord_client.py"), discord.root, discord.gateway_url, TOKEN],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        discord.wait(lambda: discord.live() or p.poll() is not None)
        q = discord.say(discord.direct("501"), "ping", user="501", mention=False)
        out, err = p.communicate(timeout=HANG)
    finally:
        p.kill()
    assert {"heard ping", "sent True a.txt"} <= set(out.split("\n")), (out, err)
    reply, file = discord.answers(q) + [m for m in discord.messages.values() if m["attachments"]]
    assert reply["content"] == "you said **ping**" and discord.files[file["attachments"][0]["id"]] == b"hello"
