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
        parts, found = self.base.extract_statements(text), None
        try:
            for part in parts:
                # in a frame whose globals are those of the session: there it looks for frames
                found = eval('__sp_base.execute(__sp_part)', WORKER.namespace,
                             {'__sp_base': self.base, '__sp_part': part})
        except RuntimeError as e:
            if 'interrupted' in str(e).lower():
                raise KeyboardInterrupt from None
            raise
        columns = found and found.description
        kinds = [kind.name for kind in parts[-1].expected_result_type] if columns else ()
        # what changes rows gives their number, and what changes the state that it went well
        if not columns or kinds != ['QUERY_RESULT'] and columns[0][0] in ('Count', 'Success'):
            return None
        try:
            import pandas                       # noqa: F401 - it is what df() needs
        except ImportError:
            return Rows([column[0] for column in columns], found.fetchall())
        frame = found.df()
        for name, kind, *_ in columns:          # a sum of integers, which df() makes fractions of
            if str(kind) == 'HUGEINT' and name in frame and (frame[name].abs() < 1 << 53).all():
                frame[name] = frame[name].astype('int64')
        return frame


class Lite:
    def __init__(self):
        import sqlite3
        self.base = sqlite3.connect(':memory:', isolation_level=None)
        self.base.set_progress_handler(lambda: 0, 10000)       # so that an interrupt is heard

    def frames(self, text):
        """Those that the text or a view names are tables now, until the query is over. Their names."""
        pandas, made = sys.modules.get('pandas'), []
        if pandas is None:
            return made
        there = self.base.execute('SELECT lower(name), type, sql FROM sqlite_master UNION ALL '
                                  'SELECT lower(name), type, sql FROM sqlite_temp_master').fetchall()
        text += ' ' + ' '.join(sql for _, kind, sql in there if kind == 'view')
        known = {name for name, _, _ in there}
        for name in set(re.findall(r'[A-Za-z_]\w*', text)):
            value = WORKER.namespace.get(name)
            if isinstance(value, pandas.DataFrame) and name.lower() not in known:
                known.add(name.lower())
                made.append(name)
                value.to_sql(name, self.base, index=False)
        return made

    def run(self, text):
        import sqlite3
        part, found, made = '', None, []
        try:
            made = self.frames(text)
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
        finally:
            if found is not None:
                found.close()
            for name in made:
                self.base.execute('DROP TABLE IF EXISTS "%s"' % name)
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
