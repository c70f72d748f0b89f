#!/usr/bin/python3
"""messages.py - print every sentence that the program can say, with file and line, to be read in one go (make messages).

They are the string literals with words in src/**/*.[ch] (adjacent ones joined, %s as it stands) and in src/sandbox/guest and src/data/file_profile, but for what
is no sentence: statements of SQL and Python, headers, lists of names, what others say and we look for, and short pieces. Exit 1, with the place on
stderr, where any of them uses wording that was weeded out once: a native reader stumbles over it.
"""
import ast
import glob
import re
import sys

TOKEN = re.compile(r'''/\*.*?\*/|//[^\n]*|'(?:[^'\\\n]|\\.)*'|"((?:[^"\\\n]|\\.)*)"''', re.S)
BETWEEN = re.compile(r"\s*(?:PRI[a-z]+[0-9A-Z]*)?\s*$")     # two literals with this between them are one message
PROSE = re.compile(r'[A-Za-z]{2,}[,;:.]? +[%A-Za-z("]')
SENTENCE = re.compile(r"(?s).*\b[A-Za-z]{2,}\b.*\b[A-Za-z]{2,}\b.*(?:\b[A-Za-z]{2,}\b|%|[.?!]$).*")        # what is shorter is a piece of one
NO_SENTENCE = [re.compile(p) for p in (
    r"(?s)\s*[(,]? ?(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|ATTACH|VACUUM)\b.*", r"(?s).*\b(?:FROM|WHERE|JOIN|VALUES|ORDER BY|INTO|COALESCE)\b.*",
    r"(?s)\s*(?:import|from|with open|for|def|return|try:|if|data =|df =)[ (].*[=(].*", r"[A-Z][A-Za-z-]+: ?[a-z*]+[/;,].*", r"[a-z]+/[a-z+-]+; .*",
    r" ?(?:[a-z-]+ )+", r"\s*[-\w/*.{}%]+(?:[|, ]+[-\w/*.{}%]+)?\s*", r"(?s)\s*(?:[<{]|\[\S* ?for |\[\w+\.\w+\().*", r"https?://\S+.*")]
# What services, clients of engines, models and files say: it is looked for, not said.
OF_OTHERS = ("src/model/wire/failure_class.c", "src/model/calls/text_forms.c", "src/sandbox/engine/client.c", "src/data/sniff/")
ESCAPE = {"n": "\n", "t": "\t"}
WEEDED_OUT = [re.compile(p) for p in (
    r"\b(?:is|are) not taken\b", r"\bpassed over\b", r"\bno (?:valid )?(?:JSON|YAML|HTTP|UTF-8)\b", r"\bdaemon does not run\b",
    r"\bpark(?:ed)?\b", r"\bmeans nothing\b", r"\bfurther words\b", r"\b(?:this|it) is no\b", r"\bin force\b", r"\bwhat mends\b",
    r"\bsandbox(?:es)? with a name\b", r"\bleave --\S+ out\b", r"\bmay be made\b", r"\bnobody (?:is|was)\b")]


def unescape(s):
    s = re.sub(r"\\x[0-9a-fA-F]{1,2}|\\[0-7]{2,3}", "?", s)
    return re.sub(r"\\(.)", lambda m: ESCAPE.get(m[1], m[1]), s)


def literals_of_c(text):
    """[line, string] of each."""
    out, end = [], None
    for m in TOKEN.finditer(text):
        start = text.rfind("\n", 0, m.start()) + 1
        if m[1] is None or re.match(r"\s*#\s*include", text[start:m.start()]):
            continue
        if out and BETWEEN.match(text[end:m.start()]):
            out[-1][1] += unescape(m[1])
        else:
            out.append([text.count("\n", 0, m.start()) + 1, unescape(m[1])])
        end = m.end()
    return out


def literals_of_python(text):
    tree = ast.parse(text)
    documentation = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, (ast.Module, ast.FunctionDef, ast.ClassDef))
                     and n.body and isinstance(n.body[0], ast.Expr)}
    return sorted([n.lineno, n.value] for n in ast.walk(tree)
                  if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in documentation)


def is_sentence(path, said):
    return (PROSE.search(said) and SENTENCE.fullmatch(said) and not path.startswith(OF_OTHERS)
            and not any(p.fullmatch(said.strip("\n")) for p in NO_SENTENCE))


def main():
    bad = 0
    for path in sorted(glob.glob("src/**/*.[ch]", recursive=True)) + sorted(glob.glob("src/sandbox/guest/*.py") + glob.glob("src/data/file_profile/*.py")):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for line, said in (literals_of_python if path.endswith(".py") else literals_of_c)(text):
            if is_sentence(path, said):
                print("%s:%d: %s" % (path, line, said.strip("\n").replace("\n", "\n    ")))
            for pattern in WEEDED_OUT:
                if pattern.search(said):
                    print('%s:%d: "%s" in a message: say it in plain words' % (path, line, pattern.search(said)[0]), file=sys.stderr)
                    bad = 1
    return bad


sys.exit(main())
