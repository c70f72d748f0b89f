"""test_conversations.py - every file in conversations/ is one conversation: how the program is called, what the model service expects and
answers, and what must come out. engines: all (each in turn), one (the quickest), none (no sandbox is needed).
"""
import glob
import os

import pytest
import yaml

from conftest import ENGINES, HERE, make_sandpiper, need_engine
from model_server import listed, match

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)      # each worker reads them all


def load():
    out = []
    for path in sorted(glob.glob(os.path.join(HERE, "conversations", "*.yaml"))):
        name = os.path.splitext(os.path.basename(path))[0]
        with open(path) as f:
            for k, doc in enumerate(yaml.load_all(f, LOADER)):
                if not doc:
                    continue
                for engine in {"all": ENGINES, "one": ["bwrap"], "none": [None]}[doc.get("engines", "one")]:
                    title = doc.get("name", str(k)).replace(" ", "-")
                    out.append(pytest.param(doc, engine, id="-".join(filter(None, [name, title, engine]))))
    return out


@pytest.mark.slow(3)
@pytest.mark.parametrize("doc, engine", load())
def test_conversation(doc, engine, serve):
    if engine:
        need_engine(engine)
    for program in make_sandpiper(engine):
        play(doc, program, serve)


def play(doc, program, serve):
    unknown = set(doc) - {"name", "why", "engines", "model", "key", "run", "exchanges", "expect", "files", "config"}
    assert not unknown, "unknown keys in the conversation: %s" % unknown
    for name, content in (doc.get("files") or {}).items():
        program.write(name, content)
    if doc.get("config"):
        program.configure(doc["config"])
    if "key" in doc:
        program.key = doc["key"]
    server = serve(program, doc.get("exchanges") or [], model=doc.get("model"))
    run = doc.get("run") or {}
    expect = doc.get("expect") or {}
    r = program.run(*[str(a) for a in listed(run.get("args"))], stdin=run.get("stdin"), env=run.get("env"))
    problems = list(filter(None, [server.verdict(expect.get("complete", True))]))
    match("exit code", expect.get("exit", 0), r.code, problems)
    for name, got in (("stdout", r.out), ("stderr", r.err)):
        if name in expect:
            match(name, expect[name], got, problems)
    if "connections" in expect:
        match("connections", expect["connections"], server.connections, problems)
    if "at_least" in expect and r.seconds < expect["at_least"]:
        problems.append("it took %.2f s, at least %s were to be waited" % (r.seconds, expect["at_least"]))
    if "at_most" in expect and r.seconds > expect["at_most"]:
        problems.append("it took %.2f s, at most %s were allowed" % (r.seconds, expect["at_most"]))
    if problems:
        pytest.fail("\n".join(problems) + "\n%r" % r, pytrace=False)
