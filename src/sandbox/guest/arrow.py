# arrow.py - part of the worker, compiled when the code has imported pyarrow.parquet or converts something of
# Arrow's to pandas: lets Arrow do both without threads where there is one processor. There they gain nothing,
# and they never end: beside them no snapshot can be made. Whoever asks for threads by name gets them.


def one_processor():
    return posix.environ.get(b'OMP_NUM_THREADS') == b'1'


def set_default(function, name, value):
    """Change what a parameter of a Python function is when it is not given."""
    if name in (function.__kwdefaults__ or ()):
        function.__kwdefaults__[name] = value
        return
    code, defaults = function.__code__, list(function.__defaults__)
    defaults[code.co_varnames.index(name) - code.co_argcount] = value
    function.__defaults__ = tuple(defaults)


def open_alone(parquet, source):
    try:
        return parquet.ParquetFile(source, arrow_extensions_enabled=True)   # as read_table() has it
    except TypeError:                           # before pyarrow 21
        return parquet.ParquetFile(source)


def read_alone(parquet):
    """parquet: the module that defines read_table()."""
    if not one_processor():
        return
    read_table = parquet.read_table

    def read_file(source, *, columns=None, use_pandas_metadata=False, **how):
        """As read_table() reads one file where it has no module for datasets, which would start threads."""
        import os
        one = type(source) is not str or '=' not in source and os.path.isfile(source)
        if not one or any(value is not None for value in how.values()):
            return read_table(source, columns=columns, use_pandas_metadata=use_pandas_metadata, **how)
        return open_alone(parquet, source).read(columns, use_pandas_metadata=use_pandas_metadata)
    parquet.read_table = read_file
    set_default(parquet.ParquetFile.__init__, 'pre_buffer', False)
    for name in ('read', 'read_row_group', 'read_row_groups', 'iter_batches'):
        set_default(getattr(parquet.ParquetFile, name), 'use_threads', False)


def convert_alone(module):
    """module: pyarrow.pandas_compat. Every to_pandas() of a table ends there."""
    if not one_processor():
        return
    convert = module.table_to_dataframe
    module.table_to_dataframe = lambda options, *args, **how: convert(dict(options, use_threads=False), *args,
                                                                      **how)
