"""test_fetch.py - serve --fetch-urls, with which upload_file gets a file from a URL: what is fetched and what never is, with a public internet of our own.
Which addresses are public, and all spellings of those that are not, are in tests/unit/fetch."""
import pytest

from public_internet import place
from serve_raw import Server
from test_openapi import tools_of


class Box:
    """A sandbox of the server."""

    def __init__(self, server):
        self.server, self.id = server, server.good("/create_sandbox")["sandbox_id"]

    def fetch(self, name, url):
        return self.server.post("/upload_file", sandbox_id=self.id, remote_filename=name, file_url=url)

    def good(self, path, **more):
        return self.server.good(path, sandbox_id=self.id, **more)


@pytest.fixture
def internet(sandpiper):
    """A sandbox of a server in a network where 93.184.216.34 is public; and what the server there was asked."""
    ca, asked = place(sandpiper)
    # a unix socket, since no address leads into that network
    server = Server(sandpiper, "--fetch-urls", "--ca-cert", ca, "--data-size", "32m", listen="unix:" + sandpiper.path("sock"))
    yield Box(server), asked
    assert server.close() == 0


def test_a_file_is_fetched(internet):
    box, seen = internet
    assert box.fetch("in/t.csv", "https://93.184.216.34/file").json == {"sandbox_id": box.id, "name": "in/t.csv", "size": 8}
    assert box.fetch("t.csv", "https://good.example/file").json == {"sandbox_id": box.id, "name": "t.csv", "size": 8}
    assert box.good("/run_code", code="open('in/t.csv').read() + open('t.csv').read()")["value"] == repr("a,b\n1,2\n" * 2)
    assert seen() == ["93.184.216.34 /file"] * 2


def test_a_run_of_an_agent(internet):
    """An agent whose builder has read /openapi.json as Dify does, from the first call to the last: it knows the tools by their ids and the flat parameters
    that the document gives them, and what an answer says it passes on."""
    box, _ = internet
    tools = tools_of(box.server.ask("GET", "/openapi.json").json)

    def use(tool, **parameters):
        method, url, names, required = tools[tool]
        assert set(required) - set(parameters) <= {"remote_filename"} and set(parameters) <= {*names, "remote_path"} and method == "post"
        return box.server.good("/" + url.partition("//")[2].partition("/")[2], **parameters)
    mine = use("create_sandbox", conversation_id="of an agent")["sandbox_id"]
    use("upload_file", sandbox_id=mine, remote_path="/mnt/data/t.csv", file_url="https://good.example/file")
    ran = use("run_code", sandbox_id=mine, code="text = open('/mnt/data/t.csv').read()\nopen('/mnt/data/r.csv', 'w').write(text * 2)\n'/mnt/data/r.csv'")
    got = use("download_file", sandbox_id=mine, filename=ran["value"].strip("'"))
    link = "/" + got["download_url"].partition("//")[2].partition("/")[2]
    assert box.server.ask("GET", link, token=None).body == b"a,b\n1,2\n" * 2 and got["size"] == 16
    assert use("stop_sandbox", sandbox_id=mine)["stopped"] is True
    assert mine not in [b["sandbox_id"] for b in use("list_sandboxes")["sandboxes"]]


@pytest.mark.slow(3)
@pytest.mark.parametrize("url,said", [
    ("https://good.example/redirect", "good.example redirects to another URL (302), which is not followed"),
    ("https://good.example/nothing", "good.example answered 404 instead of sending the file"),
    ("https://good.example/endless", "good.example sent more than 32 MiB"),
    ("https://good.example/packed", "good.example sent more than 32 MiB"),
    ("https://127.0.0.1/secret", "127.0.0.1 is not known on the public internet"),
    ("https://93.184.216.34:444/file", "cannot reach 93.184.216.34:444 (connection refused)"),
])
def test_what_is_not_fetched(internet, url, said):
    box, seen = internet
    refused = box.fetch("x", url)
    assert refused.status in (422, 502) and refused.json["detail"].startswith(said), refused.body
    assert not [line for line in seen() if "secret" in line or line.startswith("127.")]
    assert box.good("/list_files")["files"] == []


def test_no_oracle_of_inner_names(internet):
    """A name of the inner network and one that nobody knows get the same answer, so that a client does not learn which ones there are."""
    box, seen = internet
    answers = [box.fetch("x", "https://%s.example%s/secret" % (name, port)) for port in ("", ":444") for name in ("inside", "nowhere")]
    for inside, nowhere in (answers[:2], answers[2:]):
        assert (inside.status, inside.body.replace(b"inside", b"nowhere")) == (nowhere.status, nowhere.body), (inside.body, nowhere.body)
        assert inside.status == 422 and b"is not known on the public internet" in inside.body
    assert seen() == []


def test_a_name_that_leads_elsewhere_the_second_time(internet):
    """The address is asked of where the connection is made, so the order of what a name gives does not matter."""
    box, seen = internet
    box.fetch("a", "https://both.example/file")
    assert not [line for line in seen() if line.startswith("127.")]


def test_off_by_default(sandpiper):
    server = Server(sandpiper)
    refused = Box(server).fetch("x", "https://good.example/")
    assert refused.status == 403 and "serve --fetch-urls allows it" in refused.json["detail"], refused.body
    assert server.close() == 0
