# value_hints.py - part of the worker, compiled with hints.py when code took a value for one of another type:
# what the value is, and the expression that makes the other one of it.
#
# NOTHING, columns_of, failed_first, innermost, looked_up, nodes_on, variables: from hints.py
# clip, safe_str: from explain.py

import re

SPANS = re.compile(r'(\d+(\.\d+)?\s*(days?|d|hours?|hr|h|minutes?|min|m|seconds?|sec|s)\s*)+')
NUMBER = re.compile(r'([^\d+-]*)([+-]?\d[\d.,]*?)([^\d.,][^\d]*)?')
SIGNED = {',': re.compile(r'[+-]?\d{1,3}(,\d{3})+(\.\d+)?'),
          '.': re.compile(r'[+-]?\d{1,3}(\.\d{3})+(,\d+)?')}


def source_of(node):
    """The text of an expression; '' before Python 3.9."""
    import ast
    return clip(ast.unparse(node), 80) if hasattr(ast, 'unparse') else ''


def replacements(text):
    """[(what, by what)]: what makes a number of a text such as '1,800 EUR'; None: it has none."""
    m = NUMBER.fullmatch(text.strip())
    if not m:
        return None
    before, number, after = m.groups()
    changes = [(part, '') for part in (before, after) if part]
    if SIGNED[','].fullmatch(number):
        changes.append((',', ''))
    elif SIGNED['.'].fullmatch(number) and ',' in number:
        changes += [('.', ''), (',', '.')]
    elif re.fullmatch(r'[+-]?\d+,\d+', number):
        changes.append((',', '.'))
    elif not re.fullmatch(r'[+-]?\d+(\.\d+)?', number):
        return None
    return changes


def as_number(text, source):
    changes = replacements(text) if source else None
    return '' if changes is None else 'float(%s%s)' % (source,
                                                       ''.join('.replace(%r, %r)' % c for c in changes))


def column_as(text, source):
    """The expression that makes durations, dates or numbers of a column of such texts."""
    text = text.strip() if source else ''
    if re.fullmatch(r'\d?\d:\d\d', text):
        return "pd.to_timedelta(%s + ':00')" % source
    if re.fullmatch(r'\d+:\d\d:\d\d(\.\d+)?', text) or SPANS.fullmatch(text):
        return 'pd.to_timedelta(%s)' % source
    if re.search(r'\d[-/. ]\w+[-/. ]\d', text):
        return 'pd.to_datetime(%s)' % source
    changes = replacements(text)
    return '' if changes is None else '%s%s.astype(float)' % (
        source, ''.join('.str.replace(%r, %r, regex=False)' % c for c in changes))


def column_at(node, frame):
    """The pandas column that an expression names, or None."""
    value = looked_up(node, frame)[1]
    if value is NOTHING and isinstance(node, (_ast.Subscript, _ast.Attribute)):
        owner = looked_up(node.value, frame)[1]
        key = getattr(node, 'attr', None)
        if key is None:
            index = node.slice.value if type(node.slice).__name__ == 'Index' else node.slice
            key = getattr(index, 'value', None)
        columns = columns_of(owner) if owner is not NOTHING else None
        value = owner[key] if columns and type(key) in (str, int) and key in columns else NOTHING
    return value if type(value).__name__ == 'Series' and type(value).__module__.startswith('pandas') else None


def examples(column):
    return column.dropna()[:3].tolist()


def wrong_accessor(worker, e, tb):
    """df['x'].str where there are numbers, or .dt where there is text."""
    name = 'str' if '.str accessor' in safe_str(e) else 'dt'
    for node in failed_first(nodes_on(worker, tb.tb_frame, tb.tb_lineno, _ast.Attribute), tb):
        column, source = column_at(node.value, tb.tb_frame), source_of(node.value)
        if node.attr != name or column is None or not source:
            continue
        shown = examples(column)
        if not shown or type(shown[0]) is not str:
            return '%s holds %s, not %s: %s' % (source, column.dtype, 'text' if name == 'str' else 'dates',
                                                clip(', '.join(map(str, shown)), 80))
        other = column_as(shown[0], source)
        return '%s holds text: %s%s' % (source, clip(', '.join(map(repr, shown)), 80),
                                        '; a column of another type: ' + other if other else '')
    return None


def no_number(worker, e, tb):
    """int(), float() or .astype() of a text with more than a number in it."""
    text = re.search(r"""(?:float|base 10|parse string)[: ]*(['"])(.*?)\1""", safe_str(e), re.S)
    for node in nodes_on(worker, tb.tb_frame, tb.tb_lineno, _ast.Call) if text else ():
        made = getattr(node.func, 'id', getattr(node.func, 'attr', ''))
        if made in ('int', 'float') and len(node.args) == 1:
            other = as_number(text[2], source_of(node.args[0]))
        elif made == 'astype':
            other = column_as(text[2], source_of(node.func.value))
        elif made == 'to_numeric' and node.args:
            other = column_as(text[2], source_of(node.args[0]))
        else:
            continue
        return other and 'a number in place of %r: %s' % (clip(text[2], 40), other)
    return None


def text_operand(worker, e, tb):
    """Text was compared with a number, or added to one."""
    frame = tb.tb_frame
    for kind in (_ast.Compare, _ast.BinOp, _ast.AugAssign):
        for node in failed_first(nodes_on(worker, frame, tb.tb_lineno, kind), tb):
            sides = [getattr(node, field, None) for field in ('left', 'right', 'value')]
            for side in filter(None, sides + getattr(node, 'comparators', [])):
                said = text_said(side, looked_up(side, frame)[1])
                if said:
                    return said
    for node in nodes_on(worker, frame, tb.tb_lineno, _ast.Call):   # sum(r['x'] for r in data)
        for part in node.args[:1] if getattr(node.func, 'id', '') in ('sum', 'max', 'min') else ():
            items = looked_up(part.generators[0].iter, frame)[1] if hasattr(part, 'generators') else None
            for item in items[:100] if type(items) is list else ():
                key = getattr(getattr(part.elt, 'slice', None), 'value', None)
                if type(item) is dict and type(key) is str and type(item.get(key)) is str:
                    return text_said(part.elt, item[key])
    return None


def text_said(node, value):
    if type(value) is not str:
        return None
    other = as_number(value, source_of(node))
    return other and '%s is the text %r; as a number: %s' % (source_of(node), clip(value, 40), other)


def some_have(key, name, value, scopes):
    """A key that this object of a list lacks, but others have."""
    for path, items, depth in variables(scopes):
        if type(items) is list and any(v is value for v in items[:10000]):
            have = sum(type(v) is dict and key in v for v in items[:10000])
            if have and name.isidentifier():
                return '%r is in %d of the %d objects of %s; %s.get(%r, 0) is 0 where it is missing' % (
                    key, have, len(items[:10000]), path, name, key)
    return ''


def wrong_type(worker, e, frames):
    tb = innermost(e, frames)
    if tb is None:
        return None
    if isinstance(e, AttributeError):
        return wrong_accessor(worker, e, tb)
    return (text_operand if isinstance(e, TypeError) else no_number)(worker, e, tb)
