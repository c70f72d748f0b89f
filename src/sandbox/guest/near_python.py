# near_python.py - part of the worker, compiled at the first code that does not compile: models, and people
# who paste, wrap Python in what is no Python. What is mechanical is undone, with as few repairs as make it
# compile. Lines keep their numbers. Notebook commands (%time, !ls, len?) are no repair: they become calls of
# notebook.py, as IPython's input transformer has it, which is used where it is installed.

import itertools
import re

TRIED_MOST = 1 << 20            # characters of all that is tried
STRING = r'''("""|\'\'\')(?:\\.|[^\\])*?(?:\%d|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\''''
STRINGS = re.compile('(?s)' + STRING % 1 + r'|\#[^\n]*')
ODD_SPACES = {**dict.fromkeys((0xa0, *range(0x2000, 0x200b), 0x202f, 0x205f, 0x3000), ' '),
              **dict.fromkeys((0xad, 0x200b, 0x200c, 0x200d, 0x2060, 0xfeff))}
QUOTED = re.compile('(?s)' + STRING % 1 + r'|\#[^\n]*|[“„]([^“”\n]*)[”“]|[‘‚]([^‘’\n]*)[’‘]')
SIGNS = {**dict.fromkeys(map(ord, '“”„‟″〝〞'), '"'), **dict.fromkeys(map(ord, '‘’‚‛′'), "'"),
         **dict.fromkeys(map(ord, '−–—'), '-'), **{c: c - 0xfee0 for c in range(0xff01, 0xff5f)}}
ENTITIES = {'lt': '<', 'gt': '>', 'amp': '&', 'quot': '"', 'apos': "'", '#34': '"', '#39': "'", '#x27': "'",
            'nbsp': ' '}
PYTHON = ('python', 'py', 'python3', 'ipython', 'ipython3', 'tool_code')
FENCE = re.compile(r'[ \t]*(```+|~~~+)[ \t]*([\w.+-]*)[^`\n]*')
CLASSIC, CONTINUED = re.compile(r'[ \t]*>>>( |$)'), re.compile(r'[ \t]*\.\.\.( |$)')
NUMBERED = re.compile(r'[ \t]*In ?\[ ?[\d*]* ?\]: ?'), re.compile(r'[ \t]*\.\.\.+:( |$)|[ \t]*\.\.\.( |$)')


def outside_strings(change, text):
    """Change what is neither in a string nor in a comment."""
    parts, at = [], 0
    for m in STRINGS.finditer(text):
        parts += [change(text[at:m.start()]), m[0]]
        at = m.end()
    return ''.join(parts + [change(text[at:])])


def without_fence(text):
    """What is inside of fences; what an answer says around them becomes empty lines, and other languages
    where there is Python."""
    bare = text.strip()
    if '\n' not in bare:
        m = re.fullmatch(r'(`+)(?:(?:python3?|py)\b)?(.*)\1', bare)
        return m[2].strip() if m else text
    lines = text.split('\n')
    fences = [FENCE.fullmatch(line.rstrip()) for line in lines]
    found = [m for m in fences if m]
    tagged_so = any(m[2].lower() in PYTHON for m in found)
    inside = wanted = len(found) % 2 == 1 and not found[0][2]   # only the end of one is there
    for i, m in enumerate(fences):
        if m:
            inside = not inside
            wanted = inside and (not tagged_so or m[2].lower() in PYTHON)
        if m or not wanted:
            lines[i] = ''
    return '\n'.join(lines) if found else text


def without_prompts(text):
    """Of a session: what was typed. What it printed becomes empty lines."""
    lines = text.split('\n')
    first = next((line for line in lines if line.strip()), '')
    for prompt, more in (CLASSIC, CONTINUED), NUMBERED:
        if prompt.match(first):
            break
    else:
        return text
    session = sum(bool(prompt.match(line)) for line in lines) > 1 or prompt is CLASSIC
    for i, line in enumerate(lines):
        m = prompt.match(line) or more.match(line)
        lines[i] = line[m.end():] if m else '' if session else line     # or one prompt, before a whole cell
    return '\n'.join(lines)


def unescape(text):
    return re.sub(r'\\([nrt\\"\'])', lambda m: {'n': '\n', 'r': '', 't': '\t'}.get(m[1], m[1]), text)


def without_indent(text):
    """As IPython does it: what its first line has is taken from all. Or the first line alone has none."""
    import textwrap
    dedented = textwrap.dedent(text)
    if dedented == text:
        first, end, rest = text.partition('\n')
        dedented = first + end + textwrap.dedent(rest)
    return dedented


def blanks(text):
    return text.translate(ODD_SPACES)


def signs(text):
    return text.translate(SIGNS)


def signs_in_code(text):
    """What stands between two curly quotes is a string too."""
    def plain(m):
        inner, quote = (m[2], '"') if m[2] is not None else (m[3], "'")
        return m[0] if inner is None else quote + inner.replace(quote, '\\' + quote) + quote
    return outside_strings(signs, QUOTED.sub(plain, text))


def entities(text):
    return re.sub('&(%s);' % '|'.join(ENTITIES), lambda m: ENTITIES[m[1]], text)


def in_code(change):
    return lambda text: outside_strings(change, text)


# What is told, and what is done, in the order in which it is done. Of two ways, the one that leaves strings
# alone comes first.
ESCAPED = r'with line ends for its literal \n'
BLANK = 'with blanks for its no-break and zero-width spaces'
SIGN = 'with plain quotes and signs for its typographic ones'
REPAIRS = (('without the Markdown fence around it', without_fence),
           (ESCAPED, in_code(unescape)), (ESCAPED, unescape),
           ('with characters for its HTML entities', entities), (BLANK, in_code(blanks)), (BLANK, blanks),
           ('without its prompts and what they printed', without_prompts),
           ('without its indent', without_indent),
           (SIGN, signs_in_code), (SIGN, signs))


def repaired(text):
    """(text, what was done) with one repair, then with two and so on; each text once."""
    seen, budget = {text}, TRIED_MOST
    if all(change(text) == text for _, change in REPAIRS):
        return
    for count in range(1, 5):
        for chosen in itertools.combinations(REPAIRS, count):
            new = text
            for _, change in chosen:
                new = change(new)
            done = [words for words, _ in chosen]
            if new not in seen and len(set(done)) == count:
                seen.add(new)
                budget -= len(new)
                if budget < 0:
                    return
                yield new, done


# ---- notebook commands

SCAN = re.compile('(?s)' + STRING % 1 + r'|\#[^\n]*|\\\n|[()\[\]{}]|\n')
HELP = re.compile(r'%{0,2}(?!\d)[\w*]+(?:\.\w+|\[-?\d+\])*')
BARE = re.compile(r'(?m)^([ \t]*)(?=(?:pip3?|conda) install )')
ASSIGNED = re.compile(r'([\w.,*\[\]\'" \t]+?)=\s*([!%].*)')


TRANSFORMER = []                # once it was looked for


def method_call(method, *words):
    return 'get_ipython().%s(%s)' % (method, ', '.join(map(repr, words)))


def as_call(line):
    """Python for a line that is a notebook command, or None."""
    bare = line.strip()
    pad = line[:len(line) - len(line.lstrip())]
    if bare[:2] == '!!' and bare[2:]:
        return pad + method_call('getoutput', bare[2:].strip())
    if bare[:1] == '!' and bare[1:]:
        return pad + method_call('system', bare[1:].strip())
    asked = bare.rstrip(';').strip('?').strip()
    if '?' in (bare[:1], bare.rstrip(';')[-1:]) and HELP.fullmatch(asked):
        return pad + method_call('run_line_magic', 'pinfo2' if '??' in bare else 'pinfo', asked)
    if re.match(r'%{1,2}[A-Za-z_]', bare):
        name, _, rest = bare.lstrip('%').partition(' ')
        return pad + method_call('run_line_magic', name, rest.strip())
    m = ASSIGNED.fullmatch(bare)
    if m and m[2][0] == '!':
        return '%s%s= %s' % (pad, m[1], method_call('getoutput', m[2].lstrip('!').strip()))
    if m and re.match('%[A-Za-z_]', m[2]):
        name, _, rest = m[2][1:].partition(' ')
        return '%s%s= %s' % (pad, m[1], method_call('run_line_magic', name, rest.strip()))
    return None


def statement_end(text, at):
    """Where the statement that begins here ends: behind strings, brackets and continued lines."""
    depth = 0
    for m in SCAN.finditer(text, at):
        if m[0] in '([{':
            depth += 1
        elif m[0] in ')]}':
            depth = max(0, depth - 1)
        elif m[0] == '\n' and not depth:
            return m.end()
    return len(text)


def without_commands(text):
    """A command is one line, or several where the lines before the last end in a backslash."""
    start = len(text) - len(text.lstrip())
    if text[start:start + 2] == '%%':
        line, _, body = text[start:].partition('\n')
        name, _, rest = line[2:].strip().partition(' ')
        return method_call('run_cell_magic', name, rest.strip(), body)
    done, at = [], 0
    while at < len(text):
        line = re.compile(r'(?:[^\n]*\\\n)*[^\n]*\n?').match(text, at)[0]
        command = as_call(line.replace('\\\n', ' ').rstrip('\n'))
        if command is None:
            line = text[at:statement_end(text, at)]
            done.append(line)
        else:
            done.append(command + '\n' * line.count('\n'))
        at += len(line)
    return ''.join(done)


def commands_as_calls(text):
    text = BARE.sub(r'\1%', text)
    if not re.search(r'(?m)^[^#\n]*[!%?]', text):
        return text
    if not TRANSFORMER:
        TRANSFORMER.append(find_transformer() or without_commands)
    try:
        return TRANSFORMER[0](text)
    except Exception:                           # it is not finished, for instance
        return text


def find_transformer():
    """IPython's, where it is installed. That file of it needs nothing else of it, which would take half a
    second."""
    try:
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec, spec_from_file_location
        folder = PathFinder.find_spec('IPython').submodule_search_locations[0]
        spec = spec_from_file_location('inputtransformer2', folder + '/core/inputtransformer2.py')
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.TransformerManager().transform_cell
    except Exception:
        return None


def compiled(text, name):
    """A tree, or None."""
    try:
        return compile(text, name, 'exec', ONLY_AST | TOP_AWAIT, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def repair(worker, code, name, e):
    """The tree and the text of code that does not compile for the reason e, which is raised again if nothing
    helps."""
    if type(code) is not str:
        raise e
    for text, done in itertools.chain([(code, [])], repaired(code)):
        if not text.strip():
            continue                            # nothing is left of it
        tree = compiled(text, name) if done else None
        if tree is None:
            other = commands_as_calls(text)
            tree = compiled(other, name) if other != text else None
        if tree is not None:
            break
    else:
        raise e
    worker.sources[name] = text
    if 'linecache' in worker.modules:
        worker.remember(name, worker.modules['linecache'])
    if done:
        print('[not valid Python as it came; it ran %s]' % ', '.join(done), file=worker.stderr)
    return tree, text
