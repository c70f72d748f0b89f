"""elsewhere.py - another machine, as far as the network goes: a network namespace with a pair of virtual cables to this one, and names of its own. It is the
namespace of one process that dies with this one, and what is only in it (the cable, the mount of /etc/hosts) goes with it, however a test ends."""
import json
import os
import shutil
import socket
import subprocess

import pytest

# One request, made there: what came back, as JSON.
ASK = """
import json, sys, urllib.error, urllib.request
q = json.load(sys.stdin)
try:
    r = urllib.request.urlopen(urllib.request.Request(q["url"], q["body"] and q["body"].encode(), q["headers"]), timeout=q["timeout"])
except urllib.error.HTTPError as e:
    r = e
except urllib.error.URLError as e:
    r = None
    print(json.dumps([0, str(e.reason)]))
if r is not None:
    print(json.dumps([r.status, r.read().decode()]))
"""
HANG = 120


def refuse(why):
    (pytest.fail if os.environ.get("SANDPIPER_TEST_ENGINES") == "required" else pytest.skip)("no network namespace can be made here: " + why)


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, **more)


class Elsewhere:
    def __init__(self, folder, *names):
        """names: those of this machine, seen from there."""
        missing = [p for p in ("ip", "nsenter", "setpriv", "unshare") if not shutil.which(p)]
        if os.geteuid() != 0 or missing:
            refuse("there is no program " + missing[0] if missing else "it needs root")
        hosts = os.path.join(folder, "hosts")
        open(hosts, "w").close()
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "sh", "-c",
                                         'mount --bind "$1" /etc/hosts && ip link set lo up && echo made && exec sleep infinity', "sh", hosts],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.prefix = ["nsenter", "--target", str(self.process.pid), "--net", "--mount"]
        try:
            said = self.process.stdout.readline() or self.process.stderr.read()
            if said != "made\n":
                raise OSError(said)
            # The kernel names this end: a name of ours may be another test's, or of one that has ended and whose cable is still being taken away.
            self.good("ip", "link", "add", "type", "veth", "peer", "name", "eth0", "netns", str(self.process.pid))
            number = json.loads(self.good(*self.prefix, "ip", "-json", "link", "show", "eth0"))[0]["link_index"]     # of this end, and no other has it
            at = number % (1 << 15) * 4             # of 198.18.0.0/15, which is nobody's: for measuring networks
            self.here, there = ("198.%d.%d.%d" % (18 + (at >> 16), at >> 8 & 255, (at & 255) + i) for i in (1, 2))
            self.cable = socket.if_indextoname(number)
            self.good("ip", "address", "add", self.here + "/30", "dev", self.cable)
            self.good("ip", "link", "set", self.cable, "up")
            self.good(*self.prefix, "ip", "address", "add", there + "/30", "dev", "eth0")
            self.good(*self.prefix, "ip", "link", "set", "eth0", "up")
        except OSError as e:
            self.close()
            refuse(str(e).strip())
        with open(hosts, "w") as f:
            f.write("".join("%s %s\n" % (self.here, name) for name in names) + "127.0.0.1 localhost\n")

    @staticmethod
    def good(*argv):
        done = run(*argv)
        if done.returncode != 0:
            raise OSError("%s: %s" % (" ".join(argv), done.stderr.strip()))
        return done.stdout

    def ask(self, url, body=None, **headers):
        """The status, 0 where nobody answered, and what came: JSON, or text."""
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if body is not None:
            headers["Content-Type"] = "application/json"
        q = {"url": url, "body": None if body is None else json.dumps(body), "headers": headers, "timeout": HANG}
        done = run(*self.prefix, "/usr/bin/python3", "-I", "-c", ASK, input=json.dumps(q), env={"PATH": "/usr/bin:/bin"}, timeout=2 * HANG)
        assert done.returncode == 0, done.stderr
        status, text = json.loads(done.stdout)
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
