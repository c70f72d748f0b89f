#!/usr/bin/python3
"""providers_table.py - the lists of providers in docs/SERVICES.md and docs/sandpiper-config.5, made from
src/data/config/providers.yaml.

    providers_table.py            writes them, between two marks in each file
    providers_table.py --check    writes nothing; exits 1 and says which is not what the YAML says

Needs Debian's python3-yaml.
"""
import os
import re
import sys

import yaml

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
APIS = {"chat_completions": "chat completions", "responses": "Responses", "workers_ai": "Workers AI's own"}


def listed(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def variables(row):
    """(those with the key, those with the place)"""
    places = re.findall(r"\{(\w+)\}", row["base_url"])
    places += [row[k] for k in ("url_variable", "host_variable") if k in row]
    return listed(row.get("key_variable")), places


def code(names):
    return ", ".join("`%s`" % n for n in names)


def environment(row):
    """What must be set, and what may be."""
    keys, places = variables(row)
    must = [] if row.get("local") else [" or ".join(code([k]) for k in keys)]
    must += [code([p]) for p in places if "{%s}" % p in row["base_url"]]
    may = [code([v]) for v in (keys if row.get("local") else []) + places
           if "{%s}" % v not in row["base_url"]]
    return ", and ".join(must) + ("; " if must and may else "") + (", ".join(may) + " if set" if may else "")


def models(row):
    """The default, and what takes its place."""
    names = listed(row.get("models", row.get("model")))
    if names and not any("*" in n for n in names):
        return ", then ".join(code([n]) for n in names)
    if names or row.get("local"):
        return "from its list"
    return "none: `-m`"


def markdown(rows):
    lines = ["| `--provider` | service | key and place in the environment | default model | asked by |",
             "|---|---|---|---|---|"]
    for name, row in rows.items():
        cells = ["`%s`" % name, row["title"] + (", on this machine" if row.get("local") else ""),
                 environment(row), models(row), APIS[row["api"]]]
        lines.append("| %s |" % " | ".join(cells))
    return lines


def manual(rows):
    """The first key variable is enough there; the page has two columns."""
    widest = [max(rows, key=len), max((", ".join(named(row)) for row in rows.values()), key=len)]
    lines = [".Bl -column \"%s\" \"%s\" -compact" % tuple(widest), ".It Em Name Ta Em Variables"]
    for name, row in rows.items():
        lines.append((".It %s Ta Ev %s" % (name, " , ".join(named(row)))) if named(row)
                     else ".It %s Ta" % name)
    return lines + [".El"]


def named(row):
    keys, places = variables(row)
    return ((places if "{" in row["base_url"] else []) + keys[:1]
            + (places if "{" not in row["base_url"] else []))


PLACES = [("docs/SERVICES.md", "<!-- providers, made by setup/providers_table.py -->",
           "<!-- end of providers -->", markdown),
          ("docs/sandpiper-config.5", ".\\\" providers, made by setup/providers_table.py",
           ".\\\" end of providers", manual)]


def main(words):
    if words not in ([], ["--check"]):
        sys.exit(__doc__)
    with open(os.path.join(TREE, "src", "data", "config", "providers.yaml"), encoding="utf-8") as f:
        rows = yaml.safe_load(f)
    stale = []
    for name, begin, end, make in PLACES:
        path = os.path.join(TREE, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        head, found, rest = text.partition(begin + "\n")
        old, closed, tail = rest.partition(end + "\n")
        if not found or not closed:
            sys.exit("%s: the marks of the list of providers are missing" % name)
        new = "\n".join(make(rows)) + "\n"
        if new == old:
            continue
        stale.append(name)
        if not words:
            with open(path, "w", encoding="utf-8") as f:
                f.write(head + found + new + closed + tail)
    if words and stale:
        sys.exit("%s: the list of providers is not that of src/data/config/providers.yaml; "
                 "run setup/providers_table.py" % ", ".join(stale))


main(sys.argv[1:])
