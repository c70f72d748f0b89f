/* discord_rest.h - Discord's REST API: requests in order, within its rate limits (each bucket's, the global
 * one, 429 with retry_after), tried again where that may help. It has the token, in one header.
 */
#ifndef BOT_DISCORD_REST_H
#define BOT_DISCORD_REST_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct json;
struct loop;
struct rest;
struct transfers;

struct rest_options { /* borrowed */
    struct loop *loop;
    struct transfers *transfers;
    const char *url, *token;
    void (*log)(const char *line);
    /* The token is refused. Called once. */
    void (*refused)(void *ctx);
    void *ctx;
};

struct rest *rest_new(const struct rest_options *o);
void rest_free(struct rest *r); /* drops what is under way */

struct rest_call {
    const char *method, *path; /* below the URL of the API */
    struct json *body;         /* given away; NULL: none */
    const struct json
        *files; /* [{"name", "path", or "content"}], which go with the body; NULL or empty: none; borrowed */
    bool optional; /* one try, and not if it would have to wait for long */
    /* status 0: no answer came after all tries, and why says so. answer: NULL where it is no JSON. */
    void (*done)(void *ctx, int status, const struct json *answer, const char *why);
    void *ctx;
};
/* Requests of one bucket are answered in the order in which they were sent. done is never called from inside.
 * optional ones may have done NULL. */
void rest_send(struct rest *r, const struct rest_call *c);
void rest_drop(struct rest *r, const void *ctx); /* all requests with this ctx, without an answer */

/* The route of a request, as Discord counts: the ids in the path are left out, but for the first channel's,
 * server's or webhook's. The caller frees. */
char *rest_route(const char *method, const char *path);

#endif
