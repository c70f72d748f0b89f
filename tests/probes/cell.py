"""cell.py - a probe, what came of it, and what the program told of the cell it was: the words that the tables judge with."""

KIB, MIB = 1 << 10, 1 << 20
MARK = "@mark@"         # in a probe's code: a word of this session alone, to be found by from outside
# No control group (podman: in the v1 hierarchy): docs/SECURITY.md says that this is weaker.
NOT_FOR_USER = ("bwrap-user", "podman-rootless")

NAMED = ("limits", "protocol", "files", "mounts", "hosts", "cell", "server")     # groups whose probes do not name what they are about
HELD, BROKEN, NOT_RUN, WEAKER = "HELD", "BROKEN", "NOT RUN", "WEAKER"


class Probe:
    """holds(cell) is what must come of the code. weaker: places where docs/SECURITY.md promises less. places: where it can be tried; None: in all.
    language: None is Python."""
    def __init__(self, id_, title, code, holds, weaker=(), places=None, language=None):
        self.id, self.title, self.code, self.holds, self.weaker, self.places, self.language = id_, title, code, holds, weaker, places, language


class Finding:
    """What came of one probe in one place. seen: what was seen, for BROKEN and with -v; or why it was not run."""
    def __init__(self, place, group, probe, verdict, seen=""):
        self.place, self.group, self.id, self.verdict, self.seen = place, group, probe.id, verdict, seen
        self.title = "%s: %s" % (group, probe.title) if group in NAMED else probe.title

    def __repr__(self):
        return "%s %s: %s: %s" % (self.verdict, self.id, self.title, self.seen)


def judge(place, group, probe, holds, seen):
    """holds: a function without arguments. One that fails for want of what it judges has judged nothing."""
    try:
        return Finding(place, group, probe, HELD if holds() else BROKEN, seen)
    except Exception as e:      # whatever it is, it is no verdict
        return Finding(place, group, probe, NOT_RUN, "%s: %s; seen: %s" % (type(e).__name__, e, seen))


class Cell:
    """What the program told of one cell."""
    limit = 2       # seconds that code may run: session.LIMITS

    def __init__(self, call):
        self.code, self.out, self.files, self.notices = call["code"], "", [], []

    def finish(self, result):
        for key in ("status", "value", "state_lost", "state_restored", "seconds", "output_bytes", "model_text"):
            setattr(self, key, result[key])
        error = result["error"]
        self.error = "" if not error else error["traceback"] if self.status == "exception" else "; ".join([error["text"], *result["notices"]])

    def __repr__(self):
        return "%s value=%r error=%r lost=%s %.2f s, %d bytes: %r, files %s, told %r" % (
            self.status, self.value, self.error[-300:], self.state_lost, self.seconds, self.output_bytes, self.out[:200],
            [f["name"][:40] for f in self.files], self.model_text[-300:])


def ok(c):
    return c.status == "ok"


def ok_out(text):
    return lambda c: c.status == "ok" and c.out == text


def number(low, high):
    return lambda c: c.status == "ok" and low <= float(c.out) <= high


def out_of_memory(c):
    return c.status == "memory" or (c.status == "exception" and "MemoryError" in c.error)


def soon(c):
    """A cell that its limit of time ended, with what a busy machine takes for that."""
    return c.seconds < c.limit + 6


def timed_out(killed=None):
    return lambda c: c.status == "timeout" and "%d s" % c.limit in c.error and soon(c) and killed in (None, c.state_restored)


def died(word):
    return lambda c: c.status == "died" and word in c.error and c.state_restored and not c.state_lost and c.seconds < 2


def told(status, *any_of):
    return lambda c: c.status == status and any(words in c.model_text for words in any_of)


def read(file):
    with open(file["path"], "rb") as f:
        return f.read()
