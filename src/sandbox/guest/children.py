# children.py - part of the worker, compiled when the code imports what starts Python anew for a child (spawn
# and forkserver of multiprocessing): such a child imports the main module, and cells are in no file. So it is
# sent what that module has: the functions and classes of all cells, and the variables that they use.

# What the child runs first, with what was given. A function that cannot be made there is missing there.
REBUILD = '''
import importlib, linecache, marshal, pickle, sys, types
main = types.ModuleType('__mp_main__')
names = main.__dict__
sys.path = given['path']
sys.modules['__main__'] = sys.modules['__mp_main__'] = main
for name, text in given['sources']:
    linecache.cache[name] = len(text), None, text.splitlines(True), name
known = {}
def load_values(of_main):
    for name, data in given['values']:
        if (b'__main__' in data) == of_main:
            try:
                known[name] = pickle.loads(data)
            except Exception:
                pass
    names.update(known)     # also over what a line has assigned beside what it was run for
for name, module in given['modules']:
    try:
        names[name] = importlib.import_module(module)
    except Exception:
        pass
load_values(False)
for code in given['code']:
    try:
        exec(marshal.loads(code), names)
    except Exception:
        pass
load_values(True)
'''


class Main:
    """Unpickled in the child, it makes the module."""
    def __init__(self, given):
        self.given = given

    def __reduce__(self):
        return exec, (REBUILD, {'given': self.given})


def send_main(worker, spawn):
    """spawn: the module of multiprocessing, or of loky, which sends functions by value itself."""
    prepare = spawn.get_preparation_data

    def get_preparation_data(name, *args, **how):
        data = prepare(name, *args, **how)
        data.pop('init_main_from_path', None)
        data.pop('init_main_from_name', None)
        if spawn.__name__ == 'multiprocessing.spawn':
            data['main'] = Main(main_module(worker, data['sys_path']))
        return data
    spawn.get_preparation_data = get_preparation_data


def statements(worker):
    """[(name of the source, statement)]: what defines or assigns a name at the top of a cell, also below if
    and with; a source that is not Python was one that did not run."""
    found = []
    for name, text in worker.sources.items():
        tree = source_tree(worker, name, text)
        todo = list(reversed(tree.body)) if tree else []
        while todo:
            node = todo.pop()
            if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Assign,
                                 _ast.AnnAssign)):
                found.append((name, node))
                continue
            for field in 'finalbody', 'orelse', 'handlers', 'body':
                inner = getattr(node, field, None)
                todo += reversed(inner) if isinstance(inner, list) else ()
    return found


PARSED = {}                     # name of a source -> (text, tree)


def source_tree(worker, name, text):
    if PARSED.get(name, ('',))[0] is not text:
        need('near_python')
        # compiled, commands_as_calls: from near_python.py
        PARSED[name] = text, compiled(text, name) or compiled(commands_as_calls(text), name)
    return PARSED[name][1]


def names_used(code):
    """Those that are looked up while it runs, and attributes, but no parameters."""
    return set(code.co_names).union(*(names_used(c) for c in code.co_consts if type(c) is type(code)))


def names_bound(node):
    """By an assignment."""
    if isinstance(node, (_ast.Assign, _ast.Tuple, _ast.List)):
        return {name for part in getattr(node, 'targets', None) or node.elts for name in names_bound(part)}
    return names_bound(node.target) if isinstance(node, _ast.AnnAssign) else {getattr(node, 'id', '')}


def main_module(worker, path):
    """What REBUILD is given. A value that cannot be pickled is made there by the line that assigns it, as it
    is where a main module is imported: a lock, or a queue, is another one."""
    import marshal
    from multiprocessing import reduction
    need_ast()
    found, assigned, defined = [], {}, set()
    for name, node in statements(worker):
        if hasattr(node, 'name'):
            defined.add(node.name)
        else:
            assigned.update(dict.fromkeys(names_bound(node), len(found)))
        code = compile(_ast.Module([node], []), name, 'exec', TOP_AWAIT, True)
        found.append([name, code, hasattr(node, 'name')])       # the last: whether it is sent
    values, modules, seen = [], [], defined | {'__name__', '__builtins__'}
    todo = [name for _, code, sent in found if sent for name in names_used(code)]
    while todo:
        name = todo.pop()
        if name in seen or name not in worker.namespace:
            continue
        seen.add(name)
        value = worker.namespace[name]
        if isinstance(value, type(sys)):
            modules.append((name, value.__name__))
            continue
        try:
            values.append((name, bytes(reduction.ForkingPickler.dumps(value))))
        except Exception:
            if name in assigned:
                found[assigned[name]][2] = True
                todo += names_used(found[assigned[name]][1])
    sent = [(name, code) for name, code, sent in found if sent]
    return {'path': path, 'modules': modules, 'values': values, 'code': [marshal.dumps(c) for _, c in sent],
            'sources': [(name, worker.sources[name]) for name in dict.fromkeys(name for name, _ in sent)]}
