#!/usr/bin/python3
"""sizes.py - an alarm, not a law: prints what in src/ has grown larger than is usual here (a room, a file of C or Python, a function, how many
functions have many parameters). Look whether there are two things in it; if it is one, it stays as it is. Nothing is split for a figure.

Exit 1 only for words: the glossary of docs/ARCHITECTURE.md must stay short, and functions must be found by their names. No two files of a room
have functions of one name, and of those that share theirs with a file of another room there may only become fewer. sizes.py --list prints the
figures, the functions with many parameters, and the names that are shared.
"""
import glob
import os
import re
import sys

# Usual: at most so many lines, and so many functions with PARAMETERS or more.
ROOM, FILE, FUNCTION = 5000, 520, 60
PARAMETERS, MANY_PARAMETERS = 5, 56
TERMS = 20                                  # of the glossary: a limit
SHARED = 465
TABLES = {"src/common/base/utf8_width.c", "src/sandbox/limits/seccomp_table.c"}    # data, a row a line

TOKEN = re.compile(r'''/\*.*?\*/|//[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"''', re.S)
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
# As clang-format leaves it: what begins in the first column and ends in a brace that stands there alone.
DEFINITION = re.compile(r"^(?:[A-Za-z_][^;{}#]*?)\b(\w+)(\([^;{}]*\))\n\{\n(.*?)^\}$", re.M | re.S)


def blank(text):
    """The same without comments, strings and attributes, line for line."""
    for pattern in TOKEN, ATTRIBUTE:
        text = pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return text


def parameters(text):
    """text: from the parenthesis; what stands in parentheses in it (a callback's own, an attribute's) does not count."""
    inner = text[1:-1]
    while re.search(r"\([^()]*\)", inner):
        inner = re.sub(r"\([^()]*\)", "", inner)
    return inner.count(",") + 1


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def shared_names(names, listed):
    """names: {name: [file, ...]}. Returns what is wrong with them; listed: print them too."""
    shared = {name: files for name, files in names.items() if len(files) > 1}
    n = sum(len(files) for files in shared.values())
    wrong = ["%s: functions of the same name, in one room: %s" % (name, ", ".join(files)) for name, files in sorted(shared.items())
             if len({os.path.dirname(f) for f in files}) < len(files)]
    if n > SHARED:
        wrong.append("%d functions share their names with those of other files (up to %d: SHARED in sizes.py): sizes.py --list" % (n, SHARED))
    elif n < SHARED:
        wrong.append("%d functions share their names, fewer than ever: let SHARED in tests/lint/sizes.py say so" % n)
    if listed:
        print("\n".join("%s: %s" % (name, ", ".join(files)) for name, files in sorted(shared.items(), key=lambda x: -len(x[1]))))
    return wrong


def main():
    large, many, longest, rooms, statements, names = [], [], (0, ""), {}, 0, {}
    for path in sorted(glob.glob("src/**/*.[ch]", recursive=True) + glob.glob("src/**/*.py", recursive=True)):
        text = read(path)
        lines = text.count("\n")
        rooms[os.path.dirname(path)] = rooms.get(os.path.dirname(path), 0) + lines
        if lines > FILE and path not in TABLES:
            large.append("%s: %d lines (usual: up to %d)" % (path, lines, FILE))
        if path.endswith(".py"):
            continue
        statements += text.count(";") if "utf8_width" not in path else 0
        if path.endswith(".h"):
            continue
        code = blank(text)
        for m in DEFINITION.finditer(code):
            length, place = code.count("\n", m.start(), m.end()) + 1, "%s: %s" % (path, m[1])
            longest = max(longest, (length, place))
            names.setdefault(m[1], []).append(path)
            if length > FUNCTION:
                large.append("%s: %d lines (usual: up to %d)" % (place, length, FUNCTION))
            if parameters(m[2]) >= PARAMETERS:
                many.append("%d %s" % (parameters(m[2]), place))
    large += ["%s: %d lines (usual: up to %d)" % (r, n, ROOM) for r, n in rooms.items() if n > ROOM]
    if len(many) > MANY_PARAMETERS:
        large.append("%d functions have %d or more parameters (usual: up to %d): sizes.py --list" % (len(many), PARAMETERS, MANY_PARAMETERS))
    print("".join("larger than usual: %s\n" % one for one in large), end="")
    glossary = read("docs/ARCHITECTURE.md").partition("## Glossary")[2].partition("\n## ")[0]
    terms = ", ".join(re.findall(r"^\| (?!term |-)([^|]+) \|", glossary, re.M)).split(", ")
    if sys.argv[1:] == ["--list"]:
        print("\n".join(many))
        print("%d functions with %d or more parameters, the longest of all has %d lines (%s), %d statements; rooms: %s"
              % (len(many), PARAMETERS, *longest, statements, ", ".join("%s %d" % (r[4:], n) for r, n in sorted(rooms.items(), key=lambda x: -x[1])[:5])))
    wrong = shared_names(names, sys.argv[1:] == ["--list"])
    if "cell" not in terms or len(terms) > TERMS:
        wrong.append("docs/ARCHITECTURE.md: %d terms in the glossary, more than %d: use the field's words" % (len(terms), TERMS))
    print("".join("%s\n" % one for one in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
