/* listen.h - the address on which the server listens. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct error;

struct listen_address {
    bool local;     /* it is a unix socket, at path */
    bool loopback;  /* only this machine reaches it: a unix socket, 127.x.y.z or ::1 */
    bool wildcard;  /* 0.0.0.0 or :: */
    char path[108]; /* "": it is not our file, or not a unix socket */
    struct sockaddr_storage addr;
    socklen_t len;
    unsigned port; /* 0: any free one, until it is open */
};

/* Reads "127.0.0.1:8000", "localhost:8000", "[::1]:8000", "0.0.0.0:8000", ":8000" or "8000" (both on
 * 127.0.0.1), or "unix:PATH". No name but localhost is accepted. 0, or -1 with ERROR_USAGE. */
int listen_parse(const char *text, struct listen_address *out, struct error *err);

/* Returns a descriptor that listens, does not block and is closed on exec. A unix socket has mode 0600, and
 * replaces only a socket at that path on which nobody listens. a->port becomes the real port. -1 with
 * ERROR_SYSTEM. */
int listen_open(struct listen_address *a, struct error *err);
/* Removes the unix socket's file, once nobody listens on it. */
void listen_remove(const struct listen_address *a);

/* Returns the descriptor of the one socket that systemd passed (LISTEN_FDS, sd_listen_fds(3)), and fills in
 * *a. -1: none was passed; -2 with err: something else was. The variables are removed from the environment.
 */
int listen_inherited(struct listen_address *a, struct error *err);

/* Returns the address for people, as "http://127.0.0.1:8000" or "unix:/run/...". The caller frees it. */
char *listen_show(const struct listen_address *a);

#endif
