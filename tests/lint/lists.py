#!/usr/bin/python3
"""lists.py - a list that is a table in one room and text in another, which cannot reach it: engines (engine/engines.c) and formats of an export
(store/export.c). Exit 1, with the places that say something else on stderr.
"""
import os
import re
import sys

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(os.path.join(TREE, path), encoding="utf-8") as f:
        return f.read()


def table(path, start, prefix):
    """The names behind the pointers of a table, in its order."""
    body = re.search(re.escape(start) + r"\[\] = \{([^}]*)\}", read(path)).group(1)
    return re.findall("&" + prefix + r"(\w+)", body)


def either(words, dot=""):
    return ", ".join(dot + w for w in words[:-1]) + " or " + dot + words[-1]


def man(words):
    return "".join(".Cm %s ,\n" % w for w in words[:-2]) + ".Cm %s\nor\n.Cm %s .\n" % tuple(words[-2:])


def main():
    engines = table("src/sandbox/engine/engines.c", "all", "engine_")
    formats = table("src/answer/store/export.c", "formats", "export_")
    wanted = [("src/data/config/option.h", '"auto|%s"' % "|".join(engines)),
              ("src/data/config/option.c", "auto, %s or your own" % ", ".join(engines)),
              ("src/data/config/option.c", '"%s|openai"' % "|".join(formats)),
              ("src/data/config/option.c", "sessions export: " + either(formats)),
              ("src/terminal/term/cmd_saved.c", "{%s, NULL}" % ", ".join('"%s"' % f for f in formats)),
              ("src/terminal/term/cmd_saved.c", either(formats)),
              ("src/terminal/term/cmd_saved.c", either(formats, ".")),
              ("docs/sandpiper-commands.1", man(formats)),
              ("docs/sandpiper-commands.1", either(formats, "."))]
    bad = ["%s: this is to be there, as the table has it: %s" % (path, text.strip()) for path, text in wanted if text not in read(path)]
    print("".join(line + "\n" for line in bad), end="", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
