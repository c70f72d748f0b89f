# arrow.py - part of the worker, compiled when the code has imported pandas.io.parquet: read_parquet() without
# Arrow's threads where there is one processor. There they gain nothing, and they never end: beside them no
# snapshot can be made.


class Alone:
    """pyarrow as pandas sees it."""
    def __init__(self, of, **other):
        self.__dict__.update(of=of, **other)

    def __getattr__(self, name):
        return getattr(self.of, name)


def open_alone(parquet, source):
    try:
        return parquet.ParquetFile(source, pre_buffer=False, arrow_extensions_enabled=True)
    except TypeError:                           # before pyarrow 21
        return parquet.ParquetFile(source, pre_buffer=False)


def read_whole(parquet, source, columns=None, use_pandas_metadata=False, **how):
    """As pyarrow.parquet.read_table() reads one file where it has no module for datasets."""
    import os
    one = type(source) is not str or '=' not in source and os.path.isfile(source)
    if not one or any(value is not None for value in how.values()):
        return parquet.read_table(source, columns=columns, use_pandas_metadata=use_pandas_metadata, **how)
    table = open_alone(parquet, source).read(columns, use_threads=False,
                                             use_pandas_metadata=use_pandas_metadata)
    return Alone(table, to_pandas=lambda *args, **how: table.to_pandas(*args, **dict(how, use_threads=False)))


def read_alone(module):
    if posix.environ.get(b'OMP_NUM_THREADS') != b'1':
        return
    start = module.PyArrowImpl.__init__

    def init(self, *args, **how):
        start(self, *args, **how)
        parquet = self.api.parquet
        self.api = Alone(self.api, parquet=Alone(
            parquet, read_table=lambda *args, **how: read_whole(parquet, *args, **how)))
    module.PyArrowImpl.__init__ = init
