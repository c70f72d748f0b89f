/* listen.h - where the server listens, and which names in Host mean it. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct argv;
struct error;

struct listen_address {
    bool local;    /* a unix socket: path */
    bool loopback; /* this machine alone: a unix socket, 127.x.y.z or ::1 */
    bool wildcard; /* 0.0.0.0 or :: */
    char path[108];
    struct sockaddr_storage addr;
    socklen_t len;
    unsigned port; /* as asked for: 0 is any free one */
};

/* "127.0.0.1:8000", "localhost:8000", "[::1]:8000", "0.0.0.0:8000", ":8000", "8000" (both on 127.0.0.1),
 * "unix:PATH". No name but localhost is looked up. ERROR_USAGE. */
int listen_parse(const char *text, struct listen_address *out, struct error *err);

/* Open it: a descriptor that listens, does not block and is closed on exec. A unix socket is mode 0600; a
 * dead one at that path is replaced, nothing else is. a->port becomes the real one. -1 with ERROR_SYSTEM. */
int listen_open(struct listen_address *a, struct error *err);
/* Remove the unix socket's file, if it is still the one that we made. */
void listen_remove(const struct listen_address *a);

/* The socket that systemd passed (LISTEN_FDS, sd_listen_fds(3)), which may be one only: its descriptor,
 * with a filled in; -1: none; -2 with err: something else was passed. The variables are removed. */
int listen_inherited(struct listen_address *a, struct error *err);

/* "http://127.0.0.1:8000", "unix:/run/...": for people. The caller frees. */
char *listen_show(const struct listen_address *a);

#endif
