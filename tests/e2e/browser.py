"""browser.py - a page in a real browser: Chromium without a window, spoken to over two pipes (its DevTools protocol)."""
import itertools
import json
import os
import shutil
import subprocess

import pytest


class Browser:
    def __init__(self, folder):
        program = shutil.which("chromium")
        if not program:
            (pytest.fail if os.environ.get("SANDPIPER_TEST_ENGINES") == "required" else pytest.skip)("there is no chromium (apt-get install chromium)")
        to_it, self.write = os.pipe()
        self.read, from_it = os.pipe()
        # It wants them as 3 and 4. It may be root in CI, where its own sandbox does not start.
        script = 'exec 3<&%d 4>&%d; exec "$@"' % (to_it, from_it)
        self.process = subprocess.Popen(["bash", "-c", script, "bash", program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                         "--remote-debugging-pipe", "--user-data-dir=%s" % folder, "--window-size=1000,1400", "about:blank"],
                                        pass_fds=(to_it, from_it), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.numbers, self.rest, self.session, self.seen = itertools.count(1), b"", None, []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(domain + ".enable")

    def call(self, method, **params):
        number = next(self.numbers)
        os.write(self.write, json.dumps({"id": number, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                piece = os.read(self.read, 1 << 20)
                assert piece, "the browser has ended"
                self.rest += piece
            text, self.rest = self.rest.split(b"\0", 1)
            message = json.loads(text)
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.seen.append(message)

    def evaluate(self, script):
        """What the script comes to, once its promise is kept."""
        got = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")

    def wait(self, script):
        """Until the expression is true."""
        return self.evaluate("new Promise(done => { const look = () => { const v = %s; v ? done(v) : setTimeout(look, 20) }; look() })" % script)

    def events(self, method):
        return [m["params"] for m in self.seen if m.get("method") == method]

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        os.close(self.read)
        os.close(self.write)
