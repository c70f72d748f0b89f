# flood.py - part of the supervisor, compiled when code floods: wider pipes, so that 2 ms of output fit. Returns what one holds then.


def widen(pipes):
    try:
        import fcntl
        return min([fcntl.fcntl(fd, 1031, PIPE_SIZE) for fd in pipes] + [PIPE_SIZE])   # F_SETPIPE_SZ
    except Exception:
        return CHUNK
