"""event_schema.py - holds every line of --json that a test prints to docs/events.schema.json. A reader skips members that it does not know, so
the schema leaves it open what else there is; here everything must be named in it."""
import json
import os

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = os.path.join(TREE, "docs", "events.schema.json")

with open(PATH, encoding="utf-8") as f:
    SCHEMA = json.load(f)


def closed(node):
    """The same, with no members but those that are named."""
    if isinstance(node, list):
        return [closed(n) for n in node]
    if not isinstance(node, dict):
        return node
    out = {k: closed(v) for k, v in node.items()}
    return dict(out, additionalProperties=False) if "properties" in node else out


_validators = {}


def validator(kind):
    import jsonschema           # which "make probe" has no need of
    if kind not in _validators:
        assert kind in SCHEMA["$defs"], "the schema has no event %r" % kind
        _validators[kind] = jsonschema.Draft202012Validator(closed(dict(SCHEMA["$defs"][kind], **{"$defs": SCHEMA["$defs"]})))
    return _validators[kind]


def check(out):
    """Lines of other commands (models, ps), which are no events, have no "v"; a line that was cut by a test is that test's business."""
    for line in out.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "v" in event:
            problem = next(validator(event.get("type")).iter_errors(event), None)
            assert problem is None, "%s is not as docs/events.schema.json has it: %s" % (line[:300], problem.message)
