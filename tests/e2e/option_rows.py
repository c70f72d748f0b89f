"""option_rows.py - the table of options as its source has it (src/data/config/option.c), for the tests of every option and for `make lint`."""
import os
import re

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "data", "config", "option.c")
OF = {"serve": "FOR_SERVE", "mcp": "FOR_MCP"}


def names():
    """{"FOR_...": the commands that it stands for, as bits}, as src/data/config/option.h has them."""
    found = {}
    with open(TABLE[:-1] + "h") as f:
        for name, value in re.findall(r"\b(FOR_\w+) = ([^,}/]+)", f.read()):
            found[name] = eval(value, {}, found)        # of our own header: names, |, << and -
    return found


class Row:
    def __init__(self, flag, key, env, type, text):
        self.flag, self.key, self.env, self.type = flag, key, env, type
        self.takes = ".arg = " in text
        self.choices = (re.search(r'\.choices = "([a-z|]+)"', text) or [None, ""])[1].split("|")
        self.commands = set(re.search(r"\.commands = ([A-Z_ |\n]+)", text)[1].replace("|", " ").split())

    def of(self, command, names):
        return any(names[name] & names[command] for name in self.commands)

    def ways(self):
        """How a user may set it."""
        return ["option"] + ["variable"] * bool(self.env) + ["file"] * bool(self.key)


def rows(front):
    """{flag: row} of the options of serve or mcp."""
    with open(TABLE) as f:
        table = f.read().partition("option_table[] = {")[2].partition("\n};")[0]
    found, bits = {}, names()
    for text in re.split(r"\n    (?=\{)", table):
        m = re.match(r'\{"([a-z-]+)", (?:\'.\'|0), (?:"([a-z_.]+)"|NULL), (?:"([A-Z_]+)"|NULL), (OPTION_\w+),', " ".join(text.split()))
        if m and Row(*m.groups(), text).of(OF[front], bits):
            found[m[1]] = Row(*m.groups(), text)
    assert len(found) > 10, "%s has another form than these patterns" % TABLE
    return found
