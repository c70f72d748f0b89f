#!/usr/bin/python3
"""source.py - what no source may contain: functions without bounds, shells, exit() away from main, typedef'd structs, a question which
engine it is, strcmp(a, b) == 0 or p == NULL, a struct or enum of one name in two files, a name at the top of two guest modules that means
two things, one of another module that is not said to be from there, a frame that C and the guest name differently; and what no committed file may contain: a package registry's host, a path of the
machine it was written on. Exit 1, with the places on stderr.
"""
import ast
import builtins
import glob
import os
import re
import subprocess
import symtable
import sys

from sizes import TOKEN, read

# An engine is a description (src/sandbox/engine/engines.h): only its own file, and container.c for docker and podman, may know which one it is.
# Elsewhere nothing compares an engine's name, points at one of them or looks into what is its own.
OF_ENGINES = r"src/sandbox/engine/(engines\.[ch]|(docker|podman|custom|inside|inside_apptainer)\.c|(bwrap|container)\w*\.[ch])"
BRACKETS = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
# Files, but for these; what stands in them as code, and whether its strings count; why it may not.
FORBIDDEN = [
    (r".*", None, r"(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|gets|system|popen|strtok|atoi|alloca)\s*\(", False, "banned function"),
    (r".*", None, r"typedef\s+(struct|union|enum)\s", False, "structs are not typedef-ed"),
    (r"src/.*", r"src/main/.*", r"(?<![\w.>])(exit|err|errx)\s*\(", False, "exit() outside src/main"),
    (r"src/.*", None, r"\b(str|mem)n?(case)?cmp" + BRACKETS + r"\s*==\s*0\b|==\s*NULL\b", False, "equal is !strcmp(a, b) here, a null pointer !p"),
    (r"src/.*", OF_ENGINES, r'\bengine_(docker|podman|bwrap|custom)\b|"(docker|podman|bwrap)"|\b(engine|e)(->|\.)own\b|engine(->|\.)container\b'
     r'|"engine/(bwrap|docker|podman)\.h"', True, "asks which engine it is; that belongs into a member of struct engine"),
]
# One of the hosts is a model service as well, at an address of its own.
NOT_COMMITTED = (r"pypi\.org|pythonhosted\.org|npmjs\.(org|com)|crates\.io|proxy\.golang\.org|(?<!router\.)huggingface\.co|hf\.co|rubygems\.org"
                 r"|conda\.anaconda|(?<![\w.*])/work/|/root/\.pyenv|/tmp/b-")

GUEST_ENTRY = {"profile"}       # what the frame PROFILE calls in the text that it brings (docs/sandbox-protocol.md)


def guest_names(tree):
    """Each name that a module defines at its top, with the code that does."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, ast.dump(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n.id for target in targets for n in ast.walk(target)
                     if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            for name in names:
                yield name, ast.dump(node.value) if len(names) == 1 and node.value else ast.dump(node)


def two_meanings():
    """Modules of the guest share namespaces, and so do those of src/data/file_profile: where a name stands in two of them, both must say the same."""
    bad, first = [], {}
    for path in sorted(glob.glob("src/sandbox/guest/*.py") + glob.glob("src/data/file_profile/*.py")):
        for name, code in guest_names(ast.parse(read(path), path)):
            other, meaning = first.setdefault(name, (path, code))
            if other != path and meaning != code and name not in GUEST_ENTRY:
                bad.append("%s: %s means something else in %s" % (path, name, other))
    return bad


EVERYWHERE = {"boot.py", "protocol.py", "supervisor.py", "worker.py"}      # whose names a part has: its first line says of which process it is


def free_names(path):
    """Names that a module uses and does not define."""
    def walk(table):
        for s in table.get_symbols():
            if s.is_referenced() and (s.is_global() or table.get_type() == "module") and not (s.is_assigned() or s.is_imported()):
                yield s.get_name()
        for child in table.get_children():
            yield from walk(child)
    return set(walk(symtable.symtable(read(path), path, "exec")))


def borrowed():
    """Parts of the guest share a namespace: each says where a name of another part comes from ("# noqa: from X.py"), truly."""
    bad, defined = [], {}
    paths = sorted(glob.glob("src/sandbox/guest/*.py"))
    for path in paths:
        tree = ast.parse(read(path), path)
        defined[os.path.basename(path)] = ({name for name, _ in guest_names(tree)}
                                           | {a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
                                           | {n.target.id for n in tree.body if isinstance(n, ast.AugAssign)}
                                           | {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names})
    for path in paths:
        own, said = os.path.basename(path), set()
        if not read(path).startswith("# %s - " % own):
            bad.append("%s: does not begin with its name and what it does" % path)
        for number, line in enumerate(read(path).splitlines(), 1):
            code, _, comment = line.partition("#")
            for source in re.findall(r"\bfrom (\w+\.py)", comment):    # a line of its own names them: "# a, b: from X.py"
                names = set(re.findall(r"\w+", code if code.strip() else comment)) & defined.get(source, set())
                said |= names
                if not names:
                    bad.append("%s:%d: %s defines no name of this line" % (path, number, source))
        for name in sorted(free_names(path) - said - defined[own] - set(dir(builtins))):
            homes = [other for other in defined if name in defined[other]]
            if homes and not EVERYWHERE & set(homes):
                bad.append("%s: %s is not said to be from %s" % (path, name, " or ".join(homes)))
    return bad


def frame_types():
    """frame.h and the guest say the same of each frame and of a worker's exit statuses, and no two of one direction share a byte."""
    ours = dict(re.findall(r"\b((?:TO|FROM)_GUEST_\w+) = '(.)'", read("src/sandbox/channel/frame.h")))
    ours.update(re.findall(r"\bGUEST_(EXIT_\w+) = (\d+)", read("src/sandbox/channel/frame.h")))
    theirs = {}
    for names, values in re.findall(r"^(EXIT_\w+(?:, EXIT_\w+)*) = (\d+(?:, \d+)*)", read("src/sandbox/guest/protocol.py"), re.M):
        theirs.update(zip(names.split(", "), values.split(", ")))
    for path in ("src/sandbox/guest/protocol.py", "src/sandbox/guest/boot.py"):
        for names, values in re.findall(r"^((?:TO|FROM)_GUEST_\w+(?:, \w+)*) = (b'.'(?:, b'.')*)", read(path), re.M):
            theirs.update(zip(names.split(", "), re.findall(r"b'(.)'", values)))
    bad = ["src/sandbox/channel/frame.h: %s is %s, in src/sandbox/guest %s" % (name, ours.get(name), theirs.get(name))
           for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    for way in ("TO_", "FROM_"):
        used = [c for name, c in ours.items() if name.startswith(way)]
        bad += ["src/sandbox/channel/frame.h: two frames %sGUEST are %s" % (way, c) for c in sorted({c for c in used if used.count(c) > 1})]
    return bad if ours else ["src/sandbox/channel/frame.h: no types of frames were found"]


def code_of(text, strings):
    """The same, line for line, without comments; strings are empty where they do not count."""
    def kept(m):
        if m[0][0] == "/":
            return re.sub(r"[^\n]", " ", m[0])
        return m[0] if strings else m[0][0] * 2
    return TOKEN.sub(kept, text)


def main():
    bad, tags = two_meanings() + borrowed() + frame_types(), {}
    for path in sorted(glob.glob("src/**/*.[ch]", recursive=True) + glob.glob("tests/unit/*/*.c") + glob.glob("tests/fuzz/*.c")):
        text = read(path)
        code = {strings: code_of(text, strings) for strings in (False, True)}
        for files, but, pattern, strings, why in FORBIDDEN:
            if re.fullmatch(files, path) and not (but and re.fullmatch(but, path)):
                found = re.search(pattern, code[strings])
                if found:
                    bad.append("%s:%d: %s: %s" % (path, code[strings].count("\n", 0, found.start()) + 1, why, found[0]))
        for tag in re.findall(r"^(?:struct|enum|union) (\w+) \{", code[False], re.M) if path.startswith("src/") else ():
            if tags.setdefault(tag, path) != path:
                bad.append("%s: %s has a struct, enum or union %s too" % (path, tags[tag], tag))
    listed = subprocess.run(["git", "grep", "-nIP", NOT_COMMITTED, "--", ".", ":!tests/lint/source.py"], stdout=subprocess.PIPE, text=True)
    if listed.returncode == 0:          # 128: this is no checkout
        bad += [line + ": a registry's host or a path of one machine" for line in listed.stdout.splitlines()]
    print("".join(line + "\n" for line in bad), end="", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
