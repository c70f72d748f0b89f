# mounted.py - what is mounted below the folder for --mount, told with the greeting: the program compares it
# with what it opened, before any code runs.


def letters(path):
    """"rwx": what the code, which has our uid, may do with the folder itself; "-" for what not."""
    ways = ((posix.R_OK, b'r'), (posix.W_OK, b'w'), (posix.X_OK, b'x'))
    return b''.join(letter if posix.access(path, way) else b'-' for way, letter in ways)


def find_mounts():
    """A field for each: "DEV INO MODE ACCESS NAME". What is mounted in one of them is there too: NAME/..."""
    top, fields = OPTIONS['mounts'].encode() + b'/', b''
    with open('/proc/self/mountinfo', 'rb') as f:
        places = [line.split(b' ')[4] for line in f]
    for place in places:
        if place.startswith(top):
            st = posix.stat(place)
            writable = not posix.statvfs(place).f_flag & posix.ST_RDONLY
            fields += tlv(b'm', b'%d %d %s %s %s' % (st.st_dev, st.st_ino, b'w' if writable else b'r',
                                                     letters(place), place[len(top):]))
    return fields
