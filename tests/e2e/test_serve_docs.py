"""test_serve_docs.py - /docs is a page to work with: every route, tried with a token, copied as curl, and nothing from elsewhere."""
import base64
import json
import pathlib
import re
import subprocess

import pytest

from browser import Browser
from openai_server import call, done, start         # noqa: F401 (start is a fixture)
from serving import Server


def test_what_the_page_is_made_of(sandpiper):
    """All of it comes from here, without a token; no script stands in the page itself; the routes of other people's APIs are there, too."""
    server = Server(sandpiper)
    r = server.open("/docs", Authorization=None)
    page, policy = r.read().decode(), r.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "connect-src 'self'" in policy, policy
    parts = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sorted(parts) == ["docs/page.css", "docs/page.js", "openapi.json"] and not re.search(r"<script>|<style>|\son\w+=|style=", page), parts
    for name, type in (("page.css", "text/css"), ("page.js", "text/javascript")):
        r = server.open("/docs/" + name, Authorization=None)
        text = r.read().decode()
        assert r.status == 200 and r.headers["Content-Type"].startswith(type) and r.headers["X-Content-Type-Options"] == "nosniff"
        assert "http://" not in text and "https://" not in text
    every, few = server.ask("/docs/routes.json", Authorization=None), server.ask("/openapi.json", Authorization=None)
    assert {"/v1/chat/completions", "/v1/responses", "/v1/models", "/mcp", "/ask", "/run_code"} <= set(every["paths"])
    assert "/mcp" not in few["paths"] and not any(p.startswith("/docs/") for p in every["paths"])
    assert [o.get("x-other-api") for p in ("/ask", "/mcp") for o in list(every["paths"][p].values())[:1]] == [None, True]
    r = server.open("/redoc", Authorization=None)
    assert (r.status, r.headers["Location"]) == (308, "docs")
    assert server.close() == 0


FILL = """(() => { const one = document.getElementById(%s); one.open = true; return new Promise(done => setTimeout(() => {
  const body = one.querySelector("textarea");
  if (%s !== null) body.value = JSON.stringify({...JSON.parse(body.value), ...%s});
  [...one.querySelectorAll("button")].find(b => b.textContent === %s).click();
  done(true);
}, 50)) })()"""


@pytest.mark.slow(20)
@pytest.mark.no_asan
def test_in_a_browser(start, sandpiper, tmp_path):
    """Tried with a token; what is copied as curl does the same in a shell; the browser refuses and misses nothing."""
    server, _ = start(call("6 * 7"), done("It is 42."))
    b = Browser(tmp_path / "profile")

    def press(route, button, change=None):
        b.evaluate(FILL % (json.dumps(route), json.dumps(change), json.dumps(change), json.dumps(button)))

    def answer(route, has):
        return b.wait("(t => t.includes(%s) && t)(document.querySelector('#%s pre').textContent)" % (json.dumps(has), route))
    try:
        b.call("Page.navigate", url=server.url + "/redoc")
        b.wait("document.readyState === 'complete' && document.getElementById('run_code') && true")
        assert b.evaluate("location.pathname") == "/docs"
        assert b.evaluate("document.querySelectorAll('details').length") == sum(
            len(methods) for methods in server.ask("/docs/routes.json")["paths"].values())
        press("create_sandbox", "Send")
        answer("create_sandbox", "401")
        b.evaluate("document.getElementById('token').value = %s" % json.dumps(server.token))
        press("create_sandbox", "Send")
        box = json.loads(answer("create_sandbox", '"sandbox_id"').split("\n\n", 1)[1])["sandbox_id"]
        press("run_code", "Send")          # of the sandbox that was made before
        assert '"output": "42\\n"' in answer("run_code", '"output"')
        press("create_chat_completion", "Send")
        assert "It is 42." in answer("create_chat_completion", '"choices"')
        press("mcp", "Send")
        assert "200" in answer("mcp", "protocolVersion")[:5]
        press("run_code", "Copy as curl", {"code": "print('a', \"b\", '$HOME')"})
        curl = answer("run_code", "curl ")
        assert server.token not in curl and "$TOKEN" in curl
        r = subprocess.run(["sh", "-c", curl], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "TOKEN": server.token})
        assert json.loads(r.stdout)["output"] == "a b $HOME\n" and box in curl, r
        b.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")      # each can be shown
        b.wait("[...document.querySelectorAll('details')].every(d => d.querySelector('button'))")
        b.evaluate("document.querySelectorAll('details').forEach(d => { d.open = %s.includes(d.id) })" % json.dumps(["run_code", "mcp"]))
        shot = pathlib.Path(tmp_path / "docs.png")
        shot.write_bytes(base64.b64decode(b.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]))
        assert shot.stat().st_size > 20000
        assert {e["request"]["url"].startswith((server.url, "about:")) for e in b.events("Network.requestWillBeSent")} == {True}
        wrong = [e["entry"]["text"] for e in b.events("Log.entryAdded") if e["entry"]["level"] == "error"]
        wrong = [text for text in wrong if "401" not in text and "favicon" not in text and "404" not in text]
        assert not wrong and not b.events("Runtime.exceptionThrown"), wrong
    finally:
        b.close()
