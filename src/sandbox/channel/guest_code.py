"""guest_code.py - build step: the guest's parts compiled, so that the Python inside need not do it at
each start.

usage: /usr/bin/python3 -I guest_code.py OUT NAME.py...

OUT: what tells the Python that made it (importlib's magic number, the cache tag, a newline), then the parts
as guest/boot.py reads them: b'm', size, name, newline, marshalled code. It takes them only when all of
that is its own; every other Python compiles the source, which is always sent too.
"""
import importlib.util
import marshal
import os
import sys

with open(sys.argv[1], "wb") as out:
    tag = (sys.implementation.cache_tag or "").encode()
    out.write(importlib.util.MAGIC_NUMBER + tag + b"\n")
    for path in sys.argv[2:]:
        name = os.path.basename(path)[:-3]
        with open(path, "rb") as f:
            code = compile(f.read(), "<python/%s>" % name, "exec", dont_inherit=True, optimize=2)
        data = name.encode() + b"\n" + marshal.dumps(code)
        out.write(b"m" + len(data).to_bytes(4, "little") + data)
