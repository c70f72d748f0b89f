/* lease_call.c - asks a sandbox for an operation, and forgets it when the client leaves. */
#include "front/lease_call.h"

#include <string.h>

#include "base/error.h"
#include "operations/operations.h"

void lease_call_begin(struct lease_call *c, struct runners *rs, const char *client, const struct lease *h)
{
    c->runners = rs;
    c->client = client;
    memcpy(c->sandbox, lease_id(h), sizeof c->sandbox);
}

struct lease *lease_call_sandbox(const struct lease_call *c)
{
    return *c->sandbox ? runners_find(c->runners, c->client, c->sandbox, NULL) : NULL;
}

void lease_call_end(const struct lease_call *c)
{
    struct lease *h = lease_call_sandbox(c);

    if (h)
        runners_stop(c->runners, h);
}

static void on_event(void *ctx, const struct json *event)
{
    const struct lease_call *c = ctx;

    c->listener.event(c->listener.ctx, event);
}

static void on_done(void *ctx, const struct json *result, const struct error *err)
{
    struct lease_call *c = ctx;

    c->number = 0;
    c->listener.done(c->listener.ctx, result, err);
}

int lease_call_ask(struct lease_call *c, const char *operation, const struct json *arguments,
                   const struct runner_listener *l, struct error *err)
{
    const struct operation *o = operation_find(operation); /* NULL: a question, "ask" */
    struct lease *h = lease_call_sandbox(c);

    if (!h)
        return error_set(err, ERROR_SANDBOX, 0, "the sandbox was ended meanwhile");
    if (o && operation_check(o, arguments, err) < 0)
        return -1;
    struct runner *r = lease_runner(c->runners, h, err);
    if (!r)
        return -1;
    if (runner_waits(r) >= CALL_WAITING_MAX)
        return error_set(err, ERROR_BUSY, 0, "too many requests are waiting for this sandbox");
    c->listener = *l;
    c->number = runner_ask(r, operation, arguments, -1,
                           &(struct runner_listener){c, l->event ? on_event : NULL, on_done});
    return 0;
}

void lease_call_leave(struct lease_call *c)
{
    struct lease *h = lease_call_sandbox(c);

    if (c->number && h && lease_living(h))
        runner_forget(lease_living(h), c->number);
    c->number = 0;
    if (c->made)
        lease_call_end(c);
}
