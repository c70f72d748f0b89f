"""discord_server.py - Discord's REST API and gateway on loopback, as strict as its public documentation says that they are: tokens, intents,
identify and its limits, heartbeats, sequences and resume, close codes; buckets with their headers, the global limit, 429; 2,000 characters,
10 MiB a file, 10 files, multipart with payload_json, message references, nonces. It can be bad on purpose too: see the methods under "bad".

    with DiscordServer() as d:
        q = d.say("100", "what is 6 * 7?")          # by a user, mentioning the bot
        (answer,) = d.answers(q)                    # waits for it
        d.check()                                   # what a real Discord would have refused is a problem

What is not documented is not here. test_bot_discord.py connects discord.py to it, unchanged, so that it is known to speak as Discord does.
"""
import asyncio
import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import socket
import socketserver
import ssl
import struct
import threading
import time
import zlib
from urllib.parse import parse_qs, urlsplit

TOKEN = "MTAwMDAwMDAwMDAwMDAwMDAw.GabcdE.not-a-real-token-0123456789"
BOT = "100000000000000000"
GUILD_TEXT, DM, THREAD = 0, 1, 11
GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
PRIVILEGED = 1 << 1 | 1 << 8 | MESSAGE_CONTENT
KNOWN_INTENTS = (1 << 22) - 1 | 1 << 24 | 1 << 25
FILE_MAX, FILES_MAX, TEXT_MAX = 10 << 20, 10, 2000
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MESSAGE_FIELDS = {"content", "nonce", "enforce_nonce", "tts", "embeds", "allowed_mentions", "message_reference", "components", "sticker_ids",
                  "attachments", "flags", "poll"}


def utf16(text):
    return len(text.encode("utf-16-le")) // 2


class Closed(Exception):
    pass


# ------------------------------------------------------------------------------------------------------------------ WebSocket

class Socket:
    """The server's side of a WebSocket, by hand, so that it can also break the rules."""

    def __init__(self, sock, rest=b""):
        self.sock, self.rest, self.lock = sock, rest, threading.Lock()
        self.zlib = None            # the stream, where the client asked for one

    def read(self, n):
        while len(self.rest) < n:
            more = self.sock.recv(65536)
            if not more:
                raise Closed("the client hung up")
            self.rest += more
        out, self.rest = self.rest[:n], self.rest[n:]
        return out

    def receive(self):
        """(opcode, bytes) of a frame; the client must mask it."""
        a, b = self.read(2)
        n = b & 127
        if n > 125:
            n = struct.unpack(">H" if n == 126 else ">Q", self.read(2 if n == 126 else 8))[0]
        assert b & 128, "a client's frame must be masked"
        assert a & 0x70 == 0, "an extension that was not agreed on"
        mask = self.read(4)
        return a & 15, bytes(c ^ mask[i % 4] for i, c in enumerate(self.read(n)))

    def raw(self, data):
        with self.lock:
            try:
                self.sock.sendall(data)
            except OSError:
                raise Closed("the client is gone")

    @staticmethod
    def frame(data, opcode=1, fin=True):
        n = len(data)
        head = bytes([fin << 7 | opcode]) + (bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 65536 else b"\x7f" + struct.pack(">Q", n))
        return head + data

    def send(self, value):
        data = json.dumps(value).encode()
        if self.zlib:
            with self.lock:
                data = self.zlib.compress(data) + self.zlib.flush(zlib.Z_SYNC_FLUSH)
        self.raw(self.frame(data, 2 if self.zlib else 1))

    def close(self, code, text=""):
        try:
            self.raw(self.frame(struct.pack(">H", code) + text.encode(), 8))
            self.sock.settimeout(2)
            while self.sock.recv(65536):
                pass
        except (OSError, Closed):
            pass
        raise Closed("closed with %d" % code)


class Session:
    def __init__(self, id, intents):
        self.id, self.intents, self.seq, self.events, self.connection, self.valid = id, intents, 0, [], None, True


# ------------------------------------------------------------------------------------------------------------------ the server

class Http(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class DiscordServer:
    def __init__(self, heartbeat_ms=41250, message_limit=(5, 5.0), per_second=50, threads=True, starts=1000, identify_seconds=5.0):
        self.heartbeat_ms, self.message_limit, self.per_second, self.threads = heartbeat_ms, message_limit, per_second, threads
        self.identify_seconds = identify_seconds
        self.starts, self.last_identify = starts, 0
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.next_id = 1100000000000000000
        self.channels = {"100": {"type": GUILD_TEXT, "guild": "900", "messages": []}, "101": {"type": GUILD_TEXT, "guild": "901", "messages": []}}
        self.messages, self.files, self.nonces = {}, {}, {}
        self.sessions, self.connections, self.identifies, self.resumes, self.beats = {}, 0, [], [], 0
        self.closes = []                    # (code) of connections that we closed
        self.problems, self.requests, self.limited = [], [], 0
        self.buckets, self.seconds = {}, {}
        self.storm, self.broken, self.refused, self.lost, self.delay = [], 0, [], 0, 0
        self.script = []                    # functions of (server, socket, session) that are called at the beginning of a connection
        self.no_ack = False
        self.other_limit = 20, 5.0
        self.fetched, self.fetched_at_once, self.may_fetch = 0, 0, threading.Event()        # files that are being fetched
        self.may_fetch.set()
        self.history = True                 # may the bot read the history of a channel?

    def __enter__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            server_version, sys_version = "fake", ""

            def log_message(self, *args):
                pass

            def do_GET(self):
                outer.serve(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        self.http = Http(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.root = "http://127.0.0.1:%d" % self.port
        self.url = self.root + "/api/v10"
        self.gateway_url = "ws://127.0.0.1:%d/" % self.port
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *exc):
        with self.lock:
            sessions = list(self.sessions.values())
        for s in sessions:
            if s.connection:
                self.cut(s.connection)
        self.http.shutdown()
        self.http.server_close()

    def problem(self, text):
        with self.lock:
            self.problems.append(text)

    def check(self):
        assert not self.problems, "Discord would have refused:\n" + "\n".join(self.problems)

    def new_id(self):
        with self.lock:
            self.next_id += 1
            return str(self.next_id)

    @staticmethod
    def cut(ws):
        try:
            ws.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    # -------------------------------------------------------------------------------------------------------------- what a test does

    def say(self, channel, text, user="500", mention=True, reply_to=None, files=(), bot=False, ping=None):
        """A user writes a message. Returns its id."""
        with self.lock:
            c = self.channels[channel]
            id = self.new_id()
            mentions = [self.bot_user()] if mention else []
            replied = self.messages.get(reply_to)
            if replied and replied["author"]["id"] == BOT and ping is not False and not mentions:
                mentions = [self.bot_user()]
            attachments = []
            for name, data in files:
                key = self.new_id()
                self.files[key] = data
                attachments.append({"id": key, "filename": name, "size": len(data), "url": "%s/attachments/%s/%s" % (self.root, key, name),
                                    "proxy_url": "%s/attachments/%s/%s" % (self.root, key, name), "content_type": "application/octet-stream"})
            content = ("<@%s> " % BOT if mention and c["type"] != DM else "") + text
            m = self.message(id, channel, {"id": user, "username": "user%s" % user, "discriminator": "0", "avatar": None, "global_name": None, "bot": bot},
                             content, mentions=mentions, attachments=attachments)
            if replied:
                m.update(type=19, message_reference={"message_id": reply_to, "channel_id": channel}, referenced_message=self.plain(reply_to))
            self.keep(m)
            self.tell(m)
            return id

    def direct(self, user):
        """The channel of direct messages with a user."""
        with self.lock:
            return next((k for k, c in self.channels.items() if c["type"] == DM and c["user"] == user), None) or self.add_channel(DM, user=user)

    def add_channel(self, type, **more):
        id = self.new_id()
        self.channels[id] = {"type": type, "guild": None, "messages": [], **more}
        return id

    def answers_now(self, question):
        """What the bot wrote in answer to that message: replies to it, or what it wrote in its thread without a reference."""
        with self.lock:
            ours = [m for m in self.messages.values() if m["author"]["id"] == BOT]
            replies = [m for m in ours if m.get("message_reference", {}).get("message_id") == question]
            return replies + [m for m in ours if m["channel_id"] == question and "message_reference" not in m]

    def answers(self, question, n=1, timeout=60):
        with self.lock:
            if not self.changed.wait_for(lambda: len(self.answers_now(question)) >= n, timeout):
                raise AssertionError("%d of %d answers to %s came; problems: %s; last requests: %s"
                                     % (len(self.answers_now(question)), n, question, self.problems, self.requests[-8:]))
            return self.answers_now(question)

    def wait(self, what, timeout=60):
        with self.lock:
            if not self.changed.wait_for(what, timeout):        # what is asked whenever something has happened here
                raise AssertionError("it did not come within %d s; identifies %s, resumes %s, closes %s, problems %s, requests %s"
                                     % (timeout, self.identifies, self.resumes, self.closes, self.problems, self.requests[-8:]))

    def live(self):
        """The sessions that have a connection."""
        with self.lock:
            return [s for s in self.sessions.values() if s.connection]

    # -------------------------------------------------------------------------------------------------------------- messages

    @staticmethod
    def bot_user():
        return {"id": BOT, "username": "sandy", "discriminator": "0", "avatar": None, "global_name": None, "bot": True}

    @staticmethod
    def message(id, channel, author, content, **more):
        return {"id": id, "channel_id": channel, "author": author, "content": content, "timestamp": "2026-11-27T12:00:00.000000+00:00",
                "edited_timestamp": None, "tts": False, "mention_everyone": False, "mentions": [], "mention_roles": [], "attachments": [],
                "embeds": [], "pinned": False, "type": 0, "flags": 0, "components": [], **more}

    def plain(self, id):
        """What Discord shows of a message that another one refers to."""
        return {k: v for k, v in self.messages[id].items() if k != "referenced_message"}

    def keep(self, m):
        with self.lock:
            self.messages[m["id"]] = m
            self.channels[m["channel_id"]]["messages"].append(m["id"])
            self.changed.notify_all()

    def tell(self, m):
        """MESSAGE_CREATE for each session that may hear it, without its content where that is privileged."""
        with self.lock:
            c = self.channels[m["channel_id"]]
            for s in self.sessions.values():
                if not s.valid or not s.intents & (DIRECT_MESSAGES if c["type"] == DM else GUILD_MESSAGES):
                    continue
                out = dict(m)
                if c["type"] != DM:
                    out.update(guild_id=c["guild"], member={"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": False, "mute": False, "flags": 0})
                if out.get("referenced_message"):
                    out["referenced_message"] = dict(out["referenced_message"])
                for one in (out, out.get("referenced_message")):
                    about = not one or c["type"] == DM or one["author"]["id"] == BOT or any(u["id"] == BOT for u in one["mentions"])
                    if not about and not s.intents & MESSAGE_CONTENT:
                        one.update(content="", embeds=[], attachments=[], components=[])
                self.dispatch(s, "MESSAGE_CREATE", out)

    def dispatch(self, s, type, data):
        with self.lock:
            s.seq += 1
            event = {"op": 0, "t": type, "s": s.seq, "d": data}
            s.events.append(event)
            if s.connection:
                try:
                    s.connection.send(event)
                except Closed:
                    s.connection = None

    # -------------------------------------------------------------------------------------------------------------- REST

    def serve(self, h):
        path = urlsplit(h.path)
        if h.headers.get("Upgrade", "").lower() == "websocket":
            return self.gateway(h)
        body = h.rfile.read(int(h.headers.get("Content-Length") or 0))
        if path.path.startswith("/attachments/"):
            key = path.path.split("/")[2]
            with self.lock:
                self.fetched += 1
                self.fetched_at_once = max(self.fetched_at_once, self.fetched)
                self.changed.notify_all()
            self.may_fetch.wait()
            with self.lock:
                self.fetched -= 1
            if h.headers.get("Authorization"):
                self.problem("the token went to the files' server")
            return self.send(h, 200 if key in self.files else 404, self.files.get(key, b""))
        if not path.path.startswith("/api/v10/"):
            return self.send(h, 404, {"message": "404: Not Found", "code": 0})
        path_in = path.path[len("/api/v10"):]
        with self.lock:
            self.requests.append("%s %s" % (h.command, path_in))
        if self.delay:
            time.sleep(self.delay)
        if h.headers.get("Authorization") != "Bot " + TOKEN:
            return self.send(h, 401, {"message": "401: Unauthorized", "code": 0})
        if not re.match(r"DiscordBot \(", h.headers.get("User-Agent", "")):
            self.problem("User-Agent is %r" % h.headers.get("User-Agent"))
        with self.lock:
            if self.lost:
                self.lost -= 1
                h.close_connection = True
                h.connection.shutdown(socket.SHUT_RDWR)
                return None
            if self.broken:
                self.broken -= 1
                self.refused.append(path_in)
                self.changed.notify_all()
                return self.send(h, 502, b"<html>bad gateway</html>", kind="text/html")
        headers, refused = self.limit(h.command, path_in)
        if refused:
            return self.send(h, 429, refused, headers)
        status, value = self.route(h.command, path_in, parse_qs(path.query), h.headers.get("Content-Type", ""), body)
        return self.send(h, status, value, headers)

    def send(self, h, status, value, headers=(), kind="application/json"):
        data = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        try:
            h.send_response(status)
            for k, v in dict(headers).items():
                h.send_header(k, v)
            if status != 204:
                h.send_header("Content-Type", kind)
            h.send_header("Content-Length", str(len(data)))
            h.end_headers()
            h.wfile.write(data)
        except OSError:
            h.close_connection = True

    def limit(self, method, path):
        """(headers, what a 429 says or None)."""
        now = time.monotonic()
        with self.lock:
            if self.storm:
                kind, seconds = self.storm.pop(0)
                self.limited += 1
                return ({"Retry-After": str(int(seconds + 1)), "X-RateLimit-Scope": kind, **({"X-RateLimit-Global": "true"} if kind == "global" else {})},
                        {"message": "You are being rate limited.", "retry_after": seconds, "global": kind == "global"})
            second = int(now)
            self.seconds[second] = self.seconds.get(second, 0) + 1
            if self.seconds[second] > self.per_second:
                self.problem("more than %d requests in a second" % self.per_second)
                return ({"Retry-After": "1", "X-RateLimit-Global": "true"}, {"message": "You are being rate limited.", "retry_after": 1.0, "global": True})
            parts = path.split("/")
            name = "%s /%s" % (method, "/".join([parts[1]] + [":id" if p.isdigit() else p for p in parts[2:]]))
            most, window = self.message_limit if name == "POST /channels/:id/messages" else self.other_limit
            bucket = (name, parts[2] if len(parts) > 2 and parts[1] in ("channels", "guilds") else "")
            until, used = self.buckets.get(bucket, (0, 0))
            if now >= until:
                until, used = now + window, 0
            used += 1
            self.buckets[bucket] = until, used
            headers = {"X-RateLimit-Limit": str(most), "X-RateLimit-Remaining": str(max(0, most - used)), "X-RateLimit-Reset": "%.3f" % (time.time() + until - now),
                       "X-RateLimit-Reset-After": "%.3f" % (until - now), "X-RateLimit-Bucket": hashlib.md5(name.encode()).hexdigest()}
            if used <= most:
                return headers, None
            self.problem("%s: more requests than the bucket %s has" % (path, bucket))
            return dict(headers, **{"Retry-After": str(int(until - now + 1)), "X-RateLimit-Scope": "user"}), {
                "message": "You are being rate limited.", "retry_after": round(until - now, 3), "global": False}

    def route(self, method, path, query, kind, body):
        parts = path.strip("/").split("/")
        if method == "GET" and path == "/users/@me":
            return 200, self.bot_user()
        if method == "GET" and path == "/gateway":
            return 200, {"url": self.gateway_url}
        if method == "GET" and path == "/gateway/bot":
            with self.lock:
                return 200, {"url": self.gateway_url, "shards": 1,
                             "session_start_limit": {"total": 1000, "remaining": self.starts, "reset_after": 1000, "max_concurrency": 1}}
        if method == "GET" and path in ("/oauth2/applications/@me", "/applications/@me"):
            return 200, {"id": BOT, "name": "sandy", "flags": 0, "description": "", "icon": None, "bot_public": True, "bot_require_code_grant": False,
                         "verify_key": "", "rpc_origins": [], "team": None, "owner": self.bot_user()}
        if parts[0] != "channels" or len(parts) < 2:
            return 404, {"message": "404: Not Found", "code": 0}
        c = self.channels.get(parts[1])
        if not c:
            return 404, {"message": "Unknown Channel", "code": 10003}
        if method == "GET" and len(parts) == 2:
            return 200, self.channel_object(parts[1])
        if method == "POST" and parts[2:] == ["typing"]:
            return 204, None
        if method == "POST" and parts[2:] == ["messages"]:
            return self.create_message(parts[1], kind, body)
        if method == "GET" and parts[2:] == ["messages"]:
            return self.list_messages(c, query)
        if method == "POST" and len(parts) == 5 and parts[2] == "messages" and parts[4] == "threads":
            return self.create_thread(parts[1], parts[3], body)
        return 404, {"message": "404: Not Found", "code": 0}

    def channel_object(self, id):
        c = self.channels[id]
        out = {"id": id, "type": c["type"], "last_message_id": None}
        if c["type"] == DM:
            return dict(out, recipients=[{"id": c["user"], "username": "user", "discriminator": "0", "avatar": None, "global_name": None}])
        out.update(guild_id=c["guild"], name=c.get("name", "general"), position=0, permission_overwrites=[], parent_id=c.get("parent"), nsfw=False)
        if c["type"] == THREAD:
            out.update(owner_id=BOT, message_count=0, member_count=1, rate_limit_per_user=0,
                       thread_metadata={"archived": False, "auto_archive_duration": 1440, "archive_timestamp": "2026-11-27T12:00:00+00:00", "locked": False})
        return out

    def list_messages(self, c, query):
        if not self.history:
            return 403, {"message": "Missing Access", "code": 50001}
        after, limit = int(query.get("after", ["0"])[0]), int(query.get("limit", ["50"])[0])
        with self.lock:
            ids = sorted((i for i in c["messages"] if int(i) > after), key=int)[:limit]
            return 200, [self.messages[i] for i in reversed(ids)]

    def create_thread(self, channel, message, body):
        with self.lock:
            c = self.channels[channel]
            if not self.threads:
                return 403, {"message": "Missing Permissions", "code": 50013}
            if c["type"] != GUILD_TEXT:
                return 400, {"message": "Cannot execute action on this channel type", "code": 50024}
            if message not in c["messages"]:
                return 404, {"message": "Unknown Message", "code": 10008}
            name = json.loads(body).get("name", "")
            if not 1 <= utf16(name) <= 100:
                self.problem("the name of a thread has %d characters" % utf16(name))
                return 400, {"message": "Invalid Form Body", "code": 50035}
            if message in self.channels:
                return 400, {"message": "A thread has already been created for this message", "code": 160004}
            self.channels[message] = {"type": THREAD, "guild": c["guild"], "messages": [], "parent": channel, "name": name}
            return 201, self.channel_object(message)

    def parse(self, kind, body):
        """(payload, [(name, bytes)]); None: no such form."""
        if kind.startswith("application/json"):
            return json.loads(body), []
        boundary = re.fullmatch(r'multipart/form-data; boundary="?([^"]+)"?', kind)
        if not boundary:
            self.problem("Content-Type %r" % kind)
            return None, []
        payload, files = {}, {}
        parts = body.split(b"--" + boundary[1].encode())
        if parts[0] or not parts[-1].startswith(b"--"):
            self.problem("the multipart body has no right beginning or end")
        for part in parts[1:-1]:
            head, _, data = part.partition(b"\r\n\r\n")
            assert data.endswith(b"\r\n")
            name = re.search(rb'name="([^"]*)"', head)[1].decode()
            if name == "payload_json":
                payload = json.loads(data)
            else:
                files[re.fullmatch(r"files\[(\d+)\]", name)[1]] = (re.search(rb'filename="([^"]*)"', head)[1].decode(), data[:-2])
        for a in payload.get("attachments", []):
            if str(a["id"]) not in files:
                self.problem("attachment %s has no part" % a)
        return payload, list(files.values())

    def create_message(self, channel, kind, body):
        payload, files = self.parse(kind, body)
        if payload is None:
            return 400, {"message": "Invalid Form Body", "code": 50035}
        text, nonce = payload.get("content") or "", payload.get("nonce")
        wrong = [w for w, bad in [
            ("unknown fields %s" % (set(payload) - MESSAGE_FIELDS), set(payload) - MESSAGE_FIELDS),
            ("content has %d characters" % utf16(text), utf16(text) > TEXT_MAX),
            ("nonce has more than 25 characters", nonce and len(str(nonce)) > 25),
            ("more than %d files" % FILES_MAX, len(files) > FILES_MAX)] if bad]
        if wrong:
            self.problem("a message: %s" % wrong)
            return 400, {"message": "Invalid Form Body", "code": 50035}
        if any(len(data) > FILE_MAX for _, data in files) or len(body) > 25 << 20:
            self.problem("a file is too large")
            return 413, {"message": "Request entity too large", "code": 40005}
        if not text.strip() and not files:
            self.problem("an empty message")
            return 400, {"message": "Cannot send an empty message", "code": 50006}
        if payload.get("allowed_mentions", {}).get("parse") != [] or payload["allowed_mentions"].get("replied_user"):
            self.problem("the message could ping somebody: %s" % payload.get("allowed_mentions"))
        if nonce and payload.get("enforce_nonce"):
            with self.lock:
                if (channel, nonce) in self.nonces:
                    return 200, self.messages[self.nonces[channel, nonce]]
        with self.lock:
            id = self.new_id()
            attachments = []
            for name, data in files:
                key = self.new_id()
                self.files[key] = data
                attachments.append({"id": key, "filename": name, "size": len(data), "url": "%s/attachments/%s/%s" % (self.root, key, name), "proxy_url": ""})
            m = self.message(id, channel, self.bot_user(), text, attachments=attachments, flags=payload.get("flags", 0))
            if nonce:
                m["nonce"] = nonce
            reference = payload.get("message_reference")
            if reference:
                to = str(reference["message_id"])           # a number is taken too
                if to in self.channels[channel]["messages"]:
                    m.update(type=19, message_reference={"message_id": to, "channel_id": channel}, referenced_message=self.plain(to))
                elif reference.get("fail_if_not_exists", True):
                    return 400, {"message": "Invalid Form Body", "code": 50035}
            if nonce:
                self.nonces[channel, nonce] = id
            self.keep(m)
            self.tell(m)
            return 200, m

    # -------------------------------------------------------------------------------------------------------------- the gateway

    def gateway(self, h):
        h.close_connection = True
        key = h.headers["Sec-WebSocket-Key"]
        query = parse_qs(urlsplit(h.path).query)
        if query.get("v") != ["10"] or query.get("encoding") != ["json"] or h.headers["Sec-WebSocket-Version"] != "13" or len(base64.b64decode(key)) != 16:
            self.problem("a wrong way to the gateway: %s %s" % (h.path, dict(h.headers)))
        ws = Socket(h.connection)
        with self.lock:
            self.connections += 1
            act = self.script.pop(0) if self.script else None
        accept = base64.b64encode(hashlib.sha1(key.encode() + MAGIC).digest()).decode()
        try:
            if act and getattr(act, "first", False):
                act(self, ws, key)
                act = None
            ws.raw(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept).encode())
            h.connection.settimeout(max(self.heartbeat_ms / 1000 * 2, 5))
            if query.get("compress") == ["zlib-stream"]:
                ws.zlib = zlib.compressobj()
            ws.send({"op": 10, "d": {"heartbeat_interval": self.heartbeat_ms}, "s": None, "t": None})
            self.converse(ws, act)
        except (Closed, OSError) as e:
            with self.lock:
                self.closes.append(str(e))
        finally:
            with self.lock:
                for s in self.sessions.values():
                    if s.connection is ws:
                        s.connection = None
                self.changed.notify_all()
            try:
                h.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def converse(self, ws, act):
        session, began, sent = None, time.monotonic(), 0
        while True:
            try:
                opcode, data = ws.receive()
            except socket.timeout:
                ws.close(4009, "Session timed out.")
            if opcode == 8:
                raise Closed("the client closed with %s" % (struct.unpack(">H", data[:2])[0] if len(data) > 1 else "no code"))
            if opcode in (9, 10):
                continue
            sent = sent + 1 if time.monotonic() - began < 60 else 1
            began = began if sent > 1 else time.monotonic()
            if sent > 120:
                self.problem("more than 120 payloads in a minute")
                ws.close(4008, "You are being rate limited.")
            try:
                payload = json.loads(data)
                op, d = payload["op"], payload.get("d")
            except (ValueError, KeyError):
                self.problem("no payload: %r" % data[:80])
                ws.close(4002, "Error while decoding payload.")
            if len(data) > 4096:
                ws.close(4002, "Error while decoding payload.")
            if op == 1:
                self.beat(ws, session, d)
            elif op == 2 and session:
                self.problem("it identified twice")
                ws.close(4005, "Already authenticated.")
            elif op == 2:
                session = self.identify(ws, d)
            elif op == 6:
                session = self.resume(ws, d)
            elif op == 3 and session or op == 4 and session or op == 8 and session:
                pass
            elif not session:
                ws.close(4003, "Not authenticated.")
            else:
                self.problem("opcode %r" % op)
                ws.close(4001, "Unknown opcode.")
            if session and act:
                todo, act = act, None
                todo(self, ws, session)

    def beat(self, ws, session, d):
        with self.lock:
            self.beats += 1
            last = session.seq if session else None
            # Events may be on their way, so it may be behind, but never ahead.
            if d is not None and (last is None or not isinstance(d, int) or d > last):
                self.problem("a heartbeat with the sequence %r, the last is %r" % (d, last))
            self.changed.notify_all()
        if not self.no_ack:
            ws.send({"op": 11, "d": None, "s": None, "t": None})

    def identify(self, ws, d):
        intents = d.get("intents")
        with self.lock:
            now = time.monotonic()
            soon = now - self.last_identify < self.identify_seconds
            self.identifies.append(intents)
            self.changed.notify_all()
        if not isinstance(intents, int) or intents & ~KNOWN_INTENTS:
            ws.close(4013, "Invalid intent(s).")
        if d.get("token") != TOKEN:
            ws.close(4004, "Authentication failed.")
        if intents & PRIVILEGED:
            ws.close(4014, "Disallowed intent(s).")
        if not all(isinstance(d.get("properties", {}).get(k), str) for k in ("os", "browser", "device")):
            self.problem("identify without properties: %s" % d.get("properties"))
        with self.lock:
            if soon or self.starts < 1:
                ws.send({"op": 9, "d": False, "s": None, "t": None})
                return None
            self.last_identify = now
            self.starts -= 1
            s = Session(hashlib.md5(self.new_id().encode()).hexdigest(), intents)
            self.sessions[s.id] = s
            s.connection = ws
            self.dispatch(s, "READY", {"v": 10, "user": dict(self.bot_user(), verified=True, mfa_enabled=False, email=None, flags=0), "guilds": [],
                                       "session_id": s.id, "resume_gateway_url": self.gateway_url, "session_type": "normal", "private_channels": [],
                                       "relationships": [], "user_settings": {}, "application": {"id": BOT, "flags": 0}})
            self.changed.notify_all()
            return s

    def resume(self, ws, d):
        with self.lock:
            self.resumes.append((d.get("session_id"), d.get("seq")))
            self.changed.notify_all()
            s = self.sessions.get(d.get("session_id"))
            if d.get("token") != TOKEN:
                ws.close(4004, "Authentication failed.")
            if not s or not s.valid:
                ws.send({"op": 9, "d": False, "s": None, "t": None})
                return None
            if not isinstance(d.get("seq"), int) or d["seq"] > s.seq:
                ws.close(4007, "Invalid seq.")
            if s.connection and s.connection is not ws:
                self.cut(s.connection)
            s.connection = ws
            for event in [e for e in s.events if e["s"] > d["seq"]]:
                ws.send(event)
            self.dispatch(s, "RESUMED", {})
            return s

    # -------------------------------------------------------------------------------------------------------------- bad

    def drop_all(self):
        """All connections break, as when a network fails."""
        for s in self.live():
            self.cut(s.connection)

    def tell_all(self, value):
        for s in self.live():
            s.connection.send(value)

    def close_all(self, code):
        for s in self.live():
            try:
                s.connection.raw(Socket.frame(struct.pack(">H", code), 8))
            except Closed:
                pass


# ------------------------------------------------------------------------------------------------------------------ TLS

@contextlib.contextmanager
def behind_tls(discord, folder, host="127.0.0.1", name="server"):
    """Discord's addresses are https and wss meanwhile, with server.pem of that folder (package_index.make_certificates). Gives its port on loopback.
    One thread: a TLS connection must not be read and written by two."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key"))
    loop = asyncio.new_event_loop()

    async def pump(reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def carry(reader, writer):
        inside, out = await asyncio.open_connection("127.0.0.1", discord.port)
        await asyncio.gather(pump(reader, out), pump(inside, writer))

    front = loop.run_until_complete(asyncio.start_server(carry, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    plain = discord.root, discord.url, discord.gateway_url
    port = front.sockets[0].getsockname()[1]
    address = "%s:%d" % (host, port)
    discord.root, discord.url, discord.gateway_url = "https://" + address, "https://%s/api/v10" % address, "wss://%s/" % address
    try:
        yield port
    finally:
        discord.root, discord.url, discord.gateway_url = plain
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()
