"""The containment probes: what hostile code tries in a real sandbox, each with what must come of it. One table for pytest (tests/e2e/test_probes.py,
test_posture.py) and for `make probe` (probe.py). The standard library alone.

  cell.py       a probe, and what the program told of a cell
  limits.py, protocol.py, files.py, mounts.py, network.py, languages.py    the hostile cells; session.py runs a table of them
  posture.py    what one program in the sandbox saw (posture_inside.py tries), row by row
  surface.py    the posture diff: all that a bare sandbox shows, from inside (surface_inside.py) and from outside
  pair.py       two sandboxes at once, and the program's death by SIGKILL
  server.py     hostile clients of the server (bystander.py is one that does nothing wrong)
  store.py      a database of sessions that somebody else has written
  soak.py       two minutes of two hundred clients beside those attacks
  weak_server.py    the server of the self-test
  weak_store.py     a program that believes such a database, for the self-test
  weak.py       the self-test: places where probes must come out BROKEN
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "e2e"))       # program.py, model_server.py, rootless.py
