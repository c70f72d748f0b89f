# sql.py - part of the worker, compiled when first needed: the language SQL, which is %%sql of a cell. duckdb
# runs it where it is installed, else sqlite3, in a database in memory that stays. Data frames of the session
# are tables, and what a query gives is a frame, where there is pandas.

import re

DATABASE = None


class Rows:
    """What a query gives where there is no pandas."""
    def __init__(self, names, rows):
        self.columns, self.rows = names, rows

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        lines = [[str(name) for name in self.columns]]
        lines += [['NULL' if v is None else str(v)[:200] for v in row] for row in self.rows[:60]]
        wide = [max(map(len, column)) for column in zip(*lines)]
        text = '\n'.join('  '.join(word.ljust(n) for word, n in zip(line, wide)).rstrip() for line in lines)
        return text + ('\n... %d rows in all' % len(self.rows) if len(self.rows) > 60 else '')


class Duck:
    def __init__(self, duckdb):
        # one thread: others would stand in the way of a snapshot, and there is one processor
        self.base = duckdb.connect(config={'threads': 1, 'autoinstall_known_extensions': False,
                                           'autoload_known_extensions': False})

    def run(self, text):
        # in a frame whose globals are those of the session: there it looks for frames
        self.base = eval('base.execute(text) and base', WORKER.namespace, {'base': self.base, 'text': text})
        if self.base.description is None:
            return None
        names = [column[0] for column in self.base.description]
        try:
            import pandas                       # noqa: F401 - it is what df() needs
        except ImportError:
            return Rows(names, self.base.fetchall())
        return self.base.df()


class Lite:
    def __init__(self):
        import sqlite3
        self.base = sqlite3.connect(':memory:', isolation_level=None)
        self.base.set_progress_handler(lambda: 0, 10000)       # so that an interrupt is heard
        self.ours = set()

    def frames(self, text):
        """Those that the text names are tables now."""
        pandas = sys.modules.get('pandas')
        if pandas is None:
            return
        known = {row[0].lower() for row in self.base.execute("SELECT name FROM sqlite_master")} - self.ours
        for name in set(re.findall(r'[A-Za-z_]\w*', text)):
            value = WORKER.namespace.get(name)
            if isinstance(value, pandas.DataFrame) and name.lower() not in known:
                value.to_sql(name, self.base, if_exists='replace', index=False)
                self.ours.add(name.lower())

    def run(self, text):
        import sqlite3
        self.frames(text)
        part, found = '', None
        try:
            for piece in re.split('(;)', text):
                part += piece
                if not piece.strip() or not sqlite3.complete_statement(part):
                    continue
                found, part = self.base.execute(part), ''
            if part.strip():
                found = self.base.execute(part)
            if found is None or found.description is None:
                return None
            names, rows = [column[0] for column in found.description], found.fetchall()
        except sqlite3.OperationalError as e:
            if str(e) == 'interrupted':
                raise KeyboardInterrupt from None
            raise
        try:
            import pandas
        except ImportError:
            return Rows(names, rows)
        return pandas.DataFrame(rows, columns=names)


def run_sql(text):
    global DATABASE
    if DATABASE is None:
        try:
            import duckdb
            DATABASE = Duck(duckdb)
        except ImportError:
            DATABASE = Lite()
    return DATABASE.run(text)
