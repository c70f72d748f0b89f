/* server.h - the HTTP server: accepts, checks, finds the route, and sends what its handler answers. It runs
 * no code and asks no model: each sandbox has a process of its own (runner/runners.h).
 * Handlers are written against routes.h.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct argv;
struct error;
struct listen_address;
struct loop;
struct runners;
struct server;
struct tokens;

struct server_options { /* everything is borrowed until server_free */
    struct loop *loop;
    int fd; /* listens; taken */
    const struct listen_address *address;
    const struct tokens *tokens;
    const struct argv *hosts; /* more names that Host may have */
    struct runners *runners;
    const char *model; /* that questions go to; NULL: it is found when the first is asked */
    /* One line for each request: method, path, status, time. Untrusted: scrub it. NULL: nobody wants them. */
    void (*log)(void *ctx, const char *line);
    void *ctx;
};

/* With our own routes. ERROR_SYSTEM: libmicrohttpd is missing, or could not start. */
struct server *server_new(const struct server_options *o, struct error *err);
/* From now on new requests get 503; those under way go on. */
void server_drain(struct server *s);
bool server_busy(const struct server *s); /* is a request under way? */
/* Cuts what is still under way. */
void server_free(struct server *s);

#endif
