# network.py - part of the supervisor where the user allows the code some hosts: a socket that listens on this
# sandbox's own loopback is sent to the program with the greeting, and whoever connects to it is accepted by
# the proxy outside. We keep no copy: when the proxy is gone, so is the socket, and a connection is refused at
# once.


def send_listener(self):
    """Send what is queued, which is the greeting, and the socket with its first byte. Without the socket,
    where code of an earlier program holds the port."""
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, self.fd_out)
    try:
        sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        sock.bind(('127.0.0.1', int(OPTIONS['net'])))
        sock.listen(64)
        rights = sock.fileno().to_bytes(4, sys.byteorder)
        sent = channel.sendmsg([bytes(self.outbox)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
        del self.outbox[:sent]
    except OSError:
        pass                                    # what is queued goes without it
    finally:
        channel.detach()
        sock.close()


Supervisor.send_listener = send_listener        # noqa: from supervisor.py
