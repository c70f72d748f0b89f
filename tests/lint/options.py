#!/usr/bin/python3
"""options.py - each option of serve and mcp has a check in tests/e2e/test_options.py. Exit 1, with the missing ones on stderr."""
import ast
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "e2e", "test_options.py")
sys.path.insert(0, os.path.dirname(TESTS))

from option_rows import OF, rows  # noqa: E402


def checked(tree):
    """(front, option) of each @option(name, value, fronts...)."""
    for node in ast.walk(tree):
        for call in getattr(node, "decorator_list", []):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "option":
                for front in OF if len(call.args) > 2 else ["serve"]:
                    yield front, call.args[0].value


def main():
    with open(TESTS) as f:
        tree = ast.parse(f.read())
    told = set(checked(tree))
    bad = ["src/data/config/option.c: --%s: tests/e2e/test_options.py has no check of it with sandpiper %s" % (name, front)
           for front in OF for name in rows(front) if (front, name) not in told]
    bad += ["tests/e2e/test_options.py: sandpiper %s has no option --%s" % (front, name) for front, name in sorted(told) if name not in rows(front)]
    print("".join(line + "\n" for line in bad), end="", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
