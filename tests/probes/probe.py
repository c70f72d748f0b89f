#!/usr/bin/python3
"""probe.py - `make probe`: the containment probes on every engine here, one line each, for users and for bug reports. No pytest, no model.

  HELD     what was tried came to nothing        BROKEN   it did not: report it (docs/SECURITY.md)
  WEAKER   docs/SECURITY.md promises less here   NOT RUN  it could not be tried

Arguments: -v shows what each probe saw; --self-test runs some where they must come out BROKEN; posture, surface, pair, rows, limits, protocol, files,
mounts, hosts, shell, sql, javascript, program, server, store: these groups of them alone.
Environment: SANDPIPER_BIN, the program; SANDPIPER_IMAGE, its image; ENGINE="docker bwrap", these alone.
Exit status: 0 nothing BROKEN and nothing NOT RUN, 1 something BROKEN, 2 used wrongly, 3 something NOT RUN, or no engine, or not one that ENGINE names.
"""
import os
import shutil
import signal
import sys
import threading
import time

if __name__ == "__main__":
    sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from probes import head, pair, posture, rows, server, session, store, surface, weak  # noqa: E402
from probes.cell import BROKEN, HELD, NOT_RUN, WEAKER, Finding, Probe, judge  # noqa: E402
from program import BIN, ENGINES, PLACES, Sandpiper, engine_of, why_not  # noqa: E402

GROUPS = [("posture", posture.ROWS, posture.run_group), ("surface", surface.ROWS, surface.run_group), ("pair", pair.ROWS, pair.run_group),
    ("rows", rows.ROWS, rows.run_group)] + [
    (name, table, lambda there, name=name: session.run_group(there, name)) for name, table in session.GROUPS.items()] + [
    ("server", server.ROWS, server.run_group), ("store", store.ROWS, store.run_group)]
LEFT = Probe("LEFT", "end: nothing is left, no process, container, mount, control group or file", None, None)
AT_ONCE = 5             # places: most probes wait
SHOWN = 300             # bytes of what a broken probe saw; -v: all


class Report:
    """Prints, and counts what it printed."""
    def __init__(self, verbose):
        self.verbose, self.lock = verbose, threading.Lock()
        self.counts = dict.fromkeys((HELD, BROKEN, WEAKER, NOT_RUN), 0)

    def add(self, findings):
        with self.lock:
            for f in findings:
                self.counts[f.verdict] += 1
                print(self.line(f), flush=True)

    def line(self, f):
        seen = " ".join(str(f.seen).split())
        if not self.verbose:
            seen = "" if f.verdict in (HELD, WEAKER) else seen if len(seen) <= SHOWN else seen[:SHOWN] + "... (-v shows all)"
        # what hostile code made is shown, never obeyed
        seen = "".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in seen)
        return "%-8s %-15s %s (%s)%s" % (f.verdict, f.place, f.title, f.id, ": " + seen if seen else "")

    def last_line(self, seconds):
        c = self.counts
        return "%d held, %d broken, %d weaker as documented, %d not run, in %.0f s" % (c[HELD], c[BROKEN], c[WEAKER], c[NOT_RUN], seconds)

    def status(self):
        return 1 if self.counts[BROKEN] else 3 if self.counts[NOT_RUN] or not self.counts[HELD] else 0


def named():
    return os.environ.get("ENGINE", "").replace(",", " ").split()


def chosen():
    """{place: why it cannot be probed, or None}, as ENGINE says; None: ENGINE names something else."""
    names = named()
    places = PLACES if os.geteuid() == 0 else ENGINES
    if set(names) - set(PLACES):
        return None
    return {p: why_not(p) for p in places if not names or p in names or engine_of(p) in names}


def missed(places):
    """What was asked for by name and is not here: that is no success."""
    return [n for n in named() if all(why for p, why in places.items() if n in (p, engine_of(p)))]


def attempt_group(there, name, table, run):
    """Whatever goes wrong on the way is no verdict. What could not be tried is tried once more, beside the rest of its group."""
    def attempt():
        try:
            return run(there)
        except Exception as e:
            return [Finding(there.place, name, row, NOT_RUN, "%s: %s" % (type(e).__name__, e)) for row in table
                    if there.place in (getattr(row, "places", None) or [there.place])]
    found = attempt()
    if all(f.verdict != NOT_RUN for f in found):
        return found
    again = {f.id: f for f in attempt()}
    return [again.get(f.id, f) if f.verdict == NOT_RUN or again.get(f.id, f).verdict == BROKEN else f for f in found]


def probe_place(place, report, groups):
    there = Sandpiper(place)
    try:
        for name, table, run in groups:
            report.add(attempt_group(there, name, table, run))
    finally:
        left = there.finish()
        report.add([judge(there.place, "end", LEFT, lambda: not left, "; ".join(left))])
        shutil.rmtree(there.dir, ignore_errors=True)


def probe_all(places, report, groups):
    """AT_ONCE of them at a time."""
    waiting, lock = list(places), threading.Lock()

    def work():
        while True:
            with lock:
                if not waiting:
                    return
                place = waiting.pop(0)
            probe_place(place, report, groups)
    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def self_test(report):
    """Each of these must be BROKEN there, or the probe cannot fail."""
    if weak.why_not():
        print(weak.why_not())
        return 3
    bad = 0
    for f in weak.run_all():
        fine = f.verdict == BROKEN
        bad += not fine
        print("%s  %s" % ("fails as it must  " if fine else "CANNOT FAIL       ", report.line(f)), flush=True)
    print("self-test: %s" % ("%d probes cannot fail" % bad if bad else "every probe that was tried here can fail"))
    return 1 if bad else 0


def main(args):
    groups = [g for g in GROUPS if g[0] in args] or GROUPS
    if set(args) - {"-v", "--verbose", "--self-test", *(g[0] for g in GROUPS)}:
        print(__doc__, end="", file=sys.stderr)
        return 2
    begin, report = time.monotonic(), Report("-v" in args or "--verbose" in args or bool(os.environ.get("V")))
    if not os.access(BIN, os.X_OK):
        print("no program at %s: run make, or set SANDPIPER_BIN" % BIN, file=sys.stderr)
        return 2
    if "--self-test" in args:
        return self_test(report)
    places = chosen()
    if places is None:
        print("ENGINE: known are %s" % ", ".join(PLACES), file=sys.stderr)
        return 2
    print("\n".join(head.lines()))
    if os.geteuid() != 0:
        print("not here: %s (the descriptors of the supervisor: root alone can see them)" % " ".join(surface.FOR_ROOT))
    for place, why in places.items():
        if why:
            print("not here: %s (%s)" % (place, " ".join(why.split())))
    probe_all([p for p, why in places.items() if not why], report, groups)
    print(report.last_line(time.monotonic() - begin))
    return report.status() or (3 if missed(places) else 0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
