"""guest_code.py - build step: the guest's parts compiled, so that the Python inside need not do it at
each start.

usage: /usr/bin/python3 -I guest_code.py OUT NAME.py...

OUT: what tells the Python that made it (importlib's magic number, the cache tag, a newline), then one
marshalled dict of name -> code, each marshalled too: most parts are never asked for. src/guest/boot.py takes
it only when all of that is its own; every other Python compiles the source, which is always sent too.
"""
import importlib.util
import marshal
import os
import sys

parts = {}
for path in sys.argv[2:]:
    name = os.path.basename(path)[:-3]
    with open(path, "rb") as f:
        parts[name] = marshal.dumps(compile(f.read(), "<sandpiper/%s>" % name, "exec", dont_inherit=True))
with open(sys.argv[1], "wb") as f:
    tag = (sys.implementation.cache_tag or "").encode()
    f.write(importlib.util.MAGIC_NUMBER + tag + b"\n" + marshal.dumps(parts))
