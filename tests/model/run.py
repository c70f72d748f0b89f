#!/usr/bin/python3
"""run.py - ask a fixed set of questions of whatever model is configured, through the real program and its real sandbox, and count the right
answers. "make test-model" runs it; it needs a model, so CI does not.

  run.py [--set questions|second|tuning|FILE] [--data FOLDER] [--only ID,ID] [--limit SECONDS] [--log FILE] [-- OPTIONS OF SANDPIPER]

An answer is right when it ends with the exact value: its last number, or for a word its last sentence. A value that stands elsewhere in it
is counted beside that. The twenties of questions.json and second.json are the measure: nothing is ever tuned on them; for that there is
tuning.json, or a file of your own with its data in FOLDER. second.json needs a sandbox with openpyxl, which the image has: -- --sandbox docker.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("SANDPIPER_BIN", os.path.join(HERE, "..", "..", "build", "sandpiper"))


def numbers(text):
    """Every number in a text as a float: 1548136, 1,548,136, 183.60, 6 584.05, -3.5 and the rest."""
    out = []
    for m in re.finditer(r"(?<![\w.,])-?\d{1,3}(?:[,\u202f\u00a0 ]\d{3})+(?:\.\d+)?(?![\d])|(?<![\w])-?\d+(?:\.\d+)?", text):
        out.append(float(re.sub(r"[,\u202f\u00a0 ]", "", m.group())))
    return out


def last_sentence(text):
    """What stands behind the last end of a sentence; a point within a number ends none."""
    parts = [p for p in re.split(r"(?<=[.!?:])\s+|\n", text.strip()) if re.search(r"\w", p)]
    return parts[-1] if parts else ""


def ends_right(answer, wanted):
    """The last number of the answer is the value; of words and dates the last sentence has them."""
    if re.fullmatch(r"-?\d+(\.\d+)?", wanted):
        return any(abs(n - float(wanted)) < 1e-9 for n in numbers(answer)[-1:])
    return is_right(last_sentence(answer), wanted)


def is_right(answer, wanted):
    """The exact value: a number with that value, or those words (a date also as 15 March 2024)."""
    if re.fullmatch(r"-?\d+(\.\d+)?", wanted):
        return any(abs(n - float(wanted)) < 1e-9 for n in numbers(answer))
    if re.fullmatch(r"\d{4}-\d\d-\d\d", wanted):
        year, month, day = wanted.split("-")
        name = time.strftime("%B", time.strptime(month, "%m"))
        d = r"0?%d(?:st|nd|rd|th)?" % int(day)
        return bool(re.search(r"%s|\b%s\s+(?:of\s+)?%s,?\s+%s\b|\b%s\s+%s,?\s+%s\b" % (wanted, d, name, year, name, d, year), answer, re.I))
    return bool(re.search(r"(?<!\w)%s(?!\w)" % re.escape(wanted), answer, re.I))


def ask(question, folder, args):
    """One question: (events, stderr, seconds). A program of its own each time, as a user would call it."""
    argv = [PROGRAM, "--json"] + args.options
    for name in question.get("add", []):
        argv += ["--add", name]
    stdin = open(os.path.join(folder, question["stdin"]), "rb") if "stdin" in question else subprocess.DEVNULL
    begin = time.monotonic()
    p = subprocess.Popen(argv + ["-p", question["question"]], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    try:
        out, err = p.communicate(timeout=args.limit)
    except subprocess.TimeoutExpired:
        p.terminate()
        try:
            out, err = p.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
    if stdin is not subprocess.DEVNULL:
        stdin.close()
    events = []
    for line in out.decode("utf-8", "replace").splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            err += b"\nno JSON: " + line.encode()
    return events, err.decode("utf-8", "replace"), time.monotonic() - begin, p.returncode


def tokens(done):
    usage = done.get("usage") or {}
    return [max(0, usage.get(k) or 0) for k in ("input_tokens", "output_tokens")]


def report(question, right, somewhere, done, seconds, code):
    spent = tokens(done)
    answer = " ".join((done.get("answer") or "").split())
    print("%s %-8s %5d + %-4d %6.1f s  exit %-3s %s" % (question["id"], "right" if right else "not last" if somewhere else "WRONG", spent[0], spent[1], seconds, code,
                                                      answer if right else "%s  (wanted %s)" % (answer[:160], question["answer"])), flush=True)


def main():
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    p = argparse.ArgumentParser(description="ask the model questions with known answers")
    p.add_argument("--set", default="questions", help="questions, second, tuning, or a file")
    p.add_argument("--data", help="a folder with the files of the set; default: what data.py makes")
    p.add_argument("--only", default="")
    p.add_argument("--limit", type=float, default=120)
    p.add_argument("--log")
    args = p.parse_args(own)
    args.options = options
    path = args.set if os.path.sep in args.set else os.path.join(HERE, args.set + ".json")
    with open(path, encoding="utf-8") as f:
        asked = [q for q in json.load(f) if not args.only or q["id"] in args.only.split(",")]
    log = open(args.log, "w", encoding="utf-8") if args.log else None
    right, anywhere, spent, total, kinds = 0, 0, [0, 0], 0.0, {}
    with tempfile.TemporaryDirectory(prefix="sandpiper-questions") as made:
        folder = args.data or made
        if not args.data:
            subprocess.run([sys.executable, os.path.join(HERE, "data.py"), folder], check=True)
        for i, question in enumerate(asked):
            for _ in range(5):      # a busy server may miss the moment in which it is looked for
                events, err, seconds, code = ask(question, folder, args)
                if code != 2 or events:
                    break
                time.sleep(3)
            session = next((e for e in events if e.get("type") == "session"), {})
            done = next((e for e in events if e.get("type") == "done"), {})
            if i == 0:
                print("model %s at %s" % (session.get("model"), session.get("endpoint")))
            ok, somewhere = (judge(done.get("answer") or "", question["answer"]) for judge in (ends_right, is_right))
            report(question, ok, somewhere, done, seconds, code)
            if log:
                log.write(json.dumps({"id": question["id"], "right": ok, "events": events, "stderr": err}, ensure_ascii=False) + "\n")
                log.flush()
            if code in (2, 77) or not events:
                sys.exit("the program could not ask (exit %s):\n%s" % (code, err.strip()))
            right, anywhere, total = right + ok, anywhere + somewhere, total + seconds
            spent = [a + b for a, b in zip(spent, tokens(done))]
            kind = kinds.setdefault(question["kind"], [0, 0])
            kind[0], kind[1] = kind[0] + ok, kind[1] + 1
    n = max(1, len(asked))
    print("%d of %d right (%d with the value anywhere; %s); %d + %d tokens and %.1f s a question, %.0f s in all" % (
        right, len(asked), anywhere, ", ".join("%s %d of %d" % (k, a, b) for k, (a, b) in kinds.items()), spent[0] / n, spent[1] / n, total / n, total))
    return 0


if __name__ == "__main__":
    sys.exit(main())
