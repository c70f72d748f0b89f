# protocol.py - names for what travels on the channel, and between supervisor and worker;
# docs/sandbox-protocol.md. channel/frame.h uses the same names for the frames. The first one,
# TO_GUEST_PARTS, is in boot.py.

VERSION = b'1'

# Frames from the program.
TO_GUEST_RUN, TO_GUEST_INTERRUPT, TO_GUEST_KILL, TO_GUEST_RESET = b'R', b'I', b'K', b'S'
TO_GUEST_PUT, TO_GUEST_DATA, TO_GUEST_COMMIT, TO_GUEST_ABORT = b'P', b'D', b'C', b'A'
TO_GUEST_PROFILE, TO_GUEST_ARGUMENTS, TO_GUEST_INVENTORY, TO_GUEST_KEEP = b'F', b'G', b'V', b'W'
TO_GUEST_PIXELS, TO_GUEST_TERMINAL, TO_GUEST_STDIN = b'M', b'T', b'N'
TO_GUEST_COMMAND, TO_GUEST_GET, TO_GUEST_LIST, TO_GUEST_PATH = b'E', b'Q', b'L', b'Y'
TO_GUEST_COPY, TO_GUEST_PROCESS, TO_GUEST_LANGUAGE = b'U', b'J', b'O'

# Frames to the program.
FROM_GUEST_HELLO, FROM_GUEST_STDOUT, FROM_GUEST_STDERR, FROM_GUEST_RESULT = b'H', b'O', b'E', b'R'
FROM_GUEST_FILE, FROM_GUEST_DATA, FROM_GUEST_FILE_END, FROM_GUEST_NOTE = b'F', b'D', b'G', b'N'
FROM_GUEST_END, FROM_GUEST_DEATH, FROM_GUEST_COPY, FROM_GUEST_PROCESS = b'Z', b'X', b'U', b'J'
TO_GUEST_HEARD = b'H'           # FROM_GUEST_HEARD is in boot.py

# Orders to the worker that are not a cell; they take the place of a cell's number.
ORDER_SNAPSHOT, ORDER_INVENTORY = b'\xff\xff\xff\xff', b'\xfe\xff\xff\xff'
ORDER_ARGUMENTS, ORDER_TERMINAL = b'\xfd\xff\xff\xff', b'\xfc\xff\xff\xff'
ORDER_EXAMINE, ORDER_STDIN = b'\xfb\xff\xff\xff', b'\xfa\xff\xff\xff'
ORDER_PATH, ORDER_COPY = b'\xf9\xff\xff\xff', b'\xf8\xff\xff\xff'
ORDER_RESUME = b'G'             # to a snapshot
SETTINGS = {TO_GUEST_TERMINAL: ORDER_TERMINAL, TO_GUEST_ARGUMENTS: ORDER_ARGUMENTS,
            TO_GUEST_STDIN: ORDER_STDIN, TO_GUEST_PATH: ORDER_PATH}

# Exit statuses of a worker; sandbox/run.c tells of them.
EXIT_GAVE_UP, EXIT_NOT_STARTED = 70, 71         # it cannot be put right; it never began

SHORT = 1 << 12                 # bytes of a short message; the first one of a cell has no more of its code

# Records from the worker.
RECORD_RESULT, RECORD_FIGURE, RECORD_FIGURE_DATA, RECORD_FIGURE_END = b'R', b'F', b'f', b'g'


def tlv(tag, data):
    return tag + len(data).to_bytes(4, 'little') + data


def failed(e):
    """A request failed by this OSError: its words, and its number."""
    return tlv(b'e', (e.strerror or '?').encode()) + tlv(b'n', b'%d' % (e.errno or 0))


def tagged(body):
    """The values in a body that the program made: pairs of tag and bytes."""
    while len(body) >= 5:
        size = int.from_bytes(body[1:5], 'little')
        yield body[:1], body[5:5 + size]
        body = body[5 + size:]
