#!/usr/bin/python3
"""documents.py - what the documents and the heads of files say of the tree is so: each file, and each function or name in a file (FILE:NAME),
of docs/ARCHITECTURE.md and CONTRIBUTING.md exists; the head of a source file begins with what the file does; each RULE in it is well-formed.
Exit 1, with the places on stderr. documents.py --rules (make rules) prints the rules.
"""
import glob
import os
import re
import sys

from sizes import read

DOCUMENTS = ("docs/ARCHITECTURE.md", "CONTRIBUTING.md")
KEPT = "## The rules that a newcomer must not break"         # in docs/ARCHITECTURE.md: the rules that have no RULE
KEPT_MOST, RULE_LEAST, RULE_LINES = 8, 20, 3
MADE = ("build/",)                                  # by the Makefile
# With a folder, or source of ours: a name alone may be a file of the user's (config.yaml).
PLACE = re.compile(r"(?<![\w./<*~$-])(\w[\w.*-]*/(?:[\w.*-]+/)*[\w*-]+\.(?:c|h|py|yaml|json|sh|md|html|txt|1)|\w+\.(?:c|h|py))(?::(\w+))?(?![\w/])")
HEAD = {".py": re.compile(r"(?:#.*\n)+|\"\"\"(?:.|\n)*?\"\"\""), ".c": re.compile(r"/\*(?:.|\n)*?\*/"), ".h": re.compile(r"/\*(?:.|\n)*?\*/")}
RULE = re.compile(r"^(?: \*|#) RULE: (.*(?:\n(?: \*|#)     \S.*)*)$", re.M)
# A name at the top of a file, or a member of a class: what begins in the first column.
DEFINED = {".py": r"^\s*(?:def|class) %s\b|^%s\b.*=|^    %s = ", ".c": r"^(?![ \t/*]).*\b%s\b(?:[(\[{]| = | \{|$)", ".yaml": r"^\s*[\"']?%s\b"}
ANYWHERE = r"\b%s\b"


def of_text(text):
    """A rule without the beginnings of its lines."""
    return re.sub(r"\n(?: \*|#) +", " ", text)


def files_of(name):
    """A path as the documents have it: from the top, from src, from a wing, or the name of a file alone in src."""
    pattern = re.sub(r"\bNAME\b", "*", name)
    if pattern.startswith(MADE):
        return [name]
    found = [path for place in ("", "src/", "src/*/") for path in glob.glob(place + pattern)]
    return found or ([] if "/" in pattern else glob.glob("src/**/" + pattern, recursive=True) + glob.glob("*/" + pattern) + glob.glob("tests/*/" + pattern))


def has_name(path, name):
    pattern = DEFINED.get(os.path.splitext(path)[1], ANYWHERE)
    return re.search(pattern.replace("%s", re.escape(name)), read(path), re.M)


def wrong_places(document):
    for number, line in enumerate(read(document).splitlines(), 1):
        for m in PLACE.finditer(line):
            found = files_of(m[1])
            if not found:
                yield "%s:%d: there is no file %s" % (document, number, m[1])
            elif m[2] and not any(has_name(path, m[2]) for path in found):
                yield "%s:%d: %s has no %s" % (document, number, found[0], m[2])


def kept_rules():
    """(place, rule) of each that docs/ARCHITECTURE.md has."""
    table = read("docs/ARCHITECTURE.md").partition(KEPT)[2].partition("\n## ")[0]
    return [(place, rule) for rule, place in re.findall(r"^\| (?!rule |-)([^|]+) \| ([^|]+) \|$", table, re.M)]


def sources():
    for pattern in ("*.c", "*.h", "*.py"):
        yield from sorted(glob.glob("src/**/" + pattern, recursive=True))


def rules():
    """(path, rule, what is wrong with it or None) of each RULE in src."""
    for path in sources():
        text = read(path)
        head = HEAD[os.path.splitext(path)[1]].match(text)
        inside = RULE.findall(head[0]) if head else []
        for rule in inside:
            one = of_text(rule)
            yield path, one, ("it is not a sentence that ends in a full stop" if not one.endswith(".") or not one[0].isupper()
                              else "it has fewer than %d letters" % RULE_LEAST if len(one) < RULE_LEAST
                              else "it has more than %d lines" % RULE_LINES if rule.count("\n") >= RULE_LINES else None)
        if len(re.findall(r"\bRULE:", text)) > len(inside):
            yield path, "", "a RULE stands in the head of its file, as \" * RULE: Sentence.\" (\"# RULE: \"), and goes on four blanks further in"


def heads():
    for path in sources():
        name, text = os.path.basename(path), read(path)
        if not re.match(r"(?:#!.*\n)?(?:/\*|#|\"\"\") ?%s - (?!see )" % re.escape(name), text):
            yield "%s: its head is no \"%s - what it does\"" % (path, name)


def main():
    every = list(rules())
    if sys.argv[1:] == ["--rules"]:
        kept = [(files_of(PLACE.search(place)[1])[0], rule) for place, rule in kept_rules()]
        print("\n".join("%s: %s" % line for line in kept + [(path, rule) for path, rule, _ in every]))
        return 0
    bad = [line for document in DOCUMENTS for line in wrong_places(document)]
    bad += ["%s: RULE: %s" % (path, wrong) for path, _, wrong in every if wrong] + list(heads())
    said = [rule for _, rule, _ in every if rule]
    bad += ["%s: this RULE stands in another file as well" % path for path, rule, _ in every if rule and said.count(rule) > 1]
    if not 0 < len(kept_rules()) <= KEPT_MOST:
        bad.append("docs/ARCHITECTURE.md: %d rules in \"%s\": at most %d, the others are a RULE in the file that holds them"
                   % (len(kept_rules()), KEPT[3:], KEPT_MOST))
    print("".join(line + "\n" for line in bad), end="", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
