/* client_call.h - what the files for other people's clients share: dify.c, e2b.c, sandboxfusion.c,
 * agentcube.c, librechat.c. Each has the routes of one client beside their functions. A handler finds or
 * makes a sandbox, says what it is asked, and hands it over:
 *
 *     static void run(struct http_request *q)
 *     {
 *         static const struct client_shape shape = {.answer = answer_run};
 *         struct client_call *c = client_once(q, &shape);
 *
 *         if (!c)
 *             return;
 *         client_step(c, "run_code", json_object_of({"code", json_copy(json_get(c->body, "code"))}));
 *         client_go(c);
 *     }
 *
 * One whose token comes in a header of its own needs that header's name in server/admit.c too.
 */
#ifndef CLIENTS_CLIENT_CALL_H
#define CLIENTS_CLIENT_CALL_H

#include <stdbool.h>

#include "front/lease_call.h"
#include "json/json.h"
#include "server/routes.h"

struct client_call;

struct client_shape {
    /* Called once all steps are done. Answers the request (routes.h); c is freed by the caller. */
    void (*answer)(struct client_call *c);
    /* Returns what is kept of a step's result, which the caller frees; NULL: the result. */
    struct json *(*keep)(const char *operation, const struct json *arguments, const struct json *result);
    void (*event)(struct client_call *c, const struct json *event); /* as in runner_listener; or NULL */
    /* Ends a stream that event began, where the sandbox is lost; NULL only where event is. */
    void (*broken)(struct client_call *c, const char *detail);
    const char *may_fail; /* an operation whose errors leave its result out; or NULL */
    bool stops;           /* after such an error no further step is asked for */
    int gone;             /* the status for a sandbox that has expired; 0: 410 */
};

struct client_call {
    struct lease_call call;
    struct http_request *q;
    const struct client_shape *shape;
    struct json *body;      /* of the request; owned */
    bool once;              /* its sandbox ends with the answer */
    struct json *steps;     /* owned: [operation, arguments] of each */
    const struct json *now; /* the step under way, one of steps; NULL: none yet */
    struct json *kept;      /* owned: [operation, what is kept of its result] of each */
    size_t kept_bytes;      /* of all that is kept, as text */
};

/* Each returns a call for the request, or NULL where that was refused. It takes the body of the request. */
struct client_call *client_once(struct http_request *q,
                                const struct client_shape *shape); /* in a sandbox of its own */
/* In a new sandbox that stays; in that of an id. Where a sandbox has several interpreters
 * (runners_create_within), it is within outer, or is outer itself; NULL: there is no such thing. */
struct client_call *client_new(struct http_request *q, const struct client_shape *shape, const char *outer);
struct client_call *client_in(struct http_request *q, const struct client_shape *shape, const char *id,
                              const char *outer);

void client_step(struct client_call *c, const char *operation, struct json *arguments); /* takes arguments */
/* Asks for the steps in their order, answers, and frees c. */
void client_go(struct client_call *c);
void client_end(struct client_call *c); /* ends the sandbox and those within it, answers, and frees c */

/* Sends a line of a stream of JSON lines, which begins with the first of them. Takes line. */
void client_line(struct client_call *c, struct json *line);
/* What was kept of the first result of that operation; NULL: nothing. */
const struct json *client_kept(const struct client_call *c, const char *operation);

/* The content of a file in base64, where path is that of a result; NULL: it cannot be read, or is too
 * large. */
struct json *client_file(const struct json *path);
/* The same for a figure that is a PNG. NULL for any other file. */
struct json *client_png(const struct json *file);

void dify_routes(struct server *s);
void e2b_routes(struct server *s);
void fusion_routes(struct server *s);
void agentcube_routes(struct server *s);
void librechat_routes(struct server *s);

#endif
