#!/usr/bin/python3
"""weak_store.py - a program that believes its database of sessions, for the self-test. Its sessions have the tables of sandpiper's, as far as store.py
writes to them. In a question it saves a session; with --rerun it sends the model each file that is named there."""
import json
import os
import sqlite3
import sys
import urllib.request

WHERE = os.path.join(os.environ["XDG_STATE_HOME"], "sandpiper")
TABLES = """
CREATE TABLE session(n INTEGER PRIMARY KEY, id, begun, used, folder, title, model, sandbox, parent, writer);
CREATE TABLE turn(n INTEGER PRIMARY KEY, session, serial, place, question, role, text);
CREATE TABLE piece(n INTEGER PRIMARY KEY, turn);
CREATE TABLE file(n INTEGER PRIMARY KEY, session, kept, path, modified, size);
"""
ID = "0" * 16 + "weak"


def ask(text):
    body = {"model": "test-model", "max_tokens": 100, "messages": [{"role": "system", "content": "weak"}, {"role": "user", "content": text}]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as r:
        r.read()


def content(path):
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), errors="replace") as f:
            return f.read(1000)
    except OSError:
        return ""


def main(args):
    fresh = not os.path.exists(os.path.join(WHERE, "store/sessions.db"))
    for name in ("store", "sessions/weak/given"):
        os.makedirs(os.path.join(WHERE, name), exist_ok=True)
    db = sqlite3.connect(os.path.join(WHERE, "store/sessions.db"))
    if fresh:
        db.executescript(TABLES)
    if args[0] == "sessions":
        db.execute("SELECT count(*) FROM session").fetchone()
        print(json.dumps({"id": ID}))
        return
    if "--rerun" in args:
        for kept, path in db.execute("SELECT kept, path FROM file"):
            ask("its file: " + content(kept or path))
    ask(args[-1])
    if "--add" in args:
        ask("what its code printed")
    db.execute("SELECT count(*) FROM session").fetchone()
    db.execute("INSERT INTO session(id) VALUES (?)", (ID,))
    db.execute("INSERT INTO turn(session) VALUES (1)")
    if "--add" in args:
        db.execute("INSERT INTO file(session, path) VALUES (1, ?)", (args[args.index("--add") + 1],))
    db.commit()
    print("Fine.")


main(sys.argv[1:])
