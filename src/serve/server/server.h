/* server.h - the HTTP server: it accepts requests, checks them, finds the route, and sends what its handler
 * answers. It runs no code and asks no model, because each sandbox has a process of its own
 * (front/runners.h). Handlers use routes.h.
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
    int fd; /* the listening socket, which is ours from now on */
    const struct listen_address *address;
    const struct tokens *tokens;
    const struct argv *hosts;   /* further names that Host may have */
    const struct argv *proxies; /* who says by which address the client came (guard_proxy) */
    /* Our URL for clients, without a slash at the end: for links and /openapi.json. NULL: the address that
     * the client used. */
    const char *public_url;
    struct runners *runners;
    const struct argv *packages;  /* that clients may add, for models to read */
    const struct argv *languages; /* those besides Python that models read of over MCP */
    const char *model; /* the model that questions go to; NULL: it is found when the first one is asked */
    /* Receives one line for each request: method, path, status, time. It is untrusted, so scrub it. May be
     * NULL. */
    void (*log)(void *ctx, const char *line);
    bool log_json; /* the line is an object of JSON, with the time */
    void *ctx;
};

/* Makes the server with its own routes, to which more can be added (routes.h). NULL with ERROR_SYSTEM:
 * libmicrohttpd is missing, or could not start. */
struct server *server_new(const struct server_options *o, struct error *err);
/* From now on new requests get a 503. Those under way are finished. */
void server_drain(struct server *s);
bool server_busy(const struct server *s); /* is a request under way? */
/* Cuts the connections of requests that are still under way. s may be NULL. */
void server_free(struct server *s);

#endif
