"""provider_rows.py - the rows of src/data/config/providers.yaml as the tests of providers use them, and a program pointed at the mock of one."""
import os
import re
from urllib.parse import urlsplit

import yaml

from conftest import TREE
from services import all_services

with open(os.path.join(TREE, "src", "data", "config", "providers.yaml"), encoding="utf-8") as f:
    ROWS = yaml.safe_load(f)
SERVICES = all_services()
PLACES = {"CLOUDFLARE_ACCOUNT_ID": "acct", "AWS_REGION": "eu-west-1", "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com"}
UNNAMED = {"azure": "gpt-6-luna"}       # a provider without a default model: what the test asks for


def listed(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def models_of(row):
    return listed(row.get("models", row.get("model")))


def filled(url):
    """A URL of a row with its variables."""
    return re.sub(r"\{(\w+)\}", lambda m: PLACES[m.group(1)], url)


def entry(name, port):
    """Lines of config.yaml that lead this provider to the mock, with the path that its own URL has."""
    url = ROWS[name]["base_url"]
    return "" if url.startswith("{") else "  %s: {base_url: \"http://127.0.0.1:%d%s\"}\n" % (name, port, urlsplit(url).path)


def point(program, name, server, more=""):
    """The provider of that name is the mock; the environment that the program needs."""
    program.url = None
    own = entry(name, server.port)
    program.configure(("providers:\n" + own if own else "") + more)
    keys = listed(ROWS[name].get("key_variable"))
    env = {n: v for n, v in PLACES.items() if "{%s}" % n in ROWS[name]["base_url"]}
    if ROWS[name]["base_url"].startswith("{"):
        env[re.match(r"\{(\w+)\}", ROWS[name]["base_url"]).group(1)] = "http://127.0.0.1:%d" % server.port
    if keys:
        env[keys[0]] = server.profile.key
    return env


def mock(name, **more):
    return SERVICES[name](key="key-of-" + name, **more)


def words(name):
    """What the command line says beside the question."""
    return ["--provider", name] + (["-m", UNNAMED[name]] if name in UNNAMED else [])
