/* lease_call.c - asks a sandbox for an operation, and forgets it when the client leaves. */
#include "front/lease_call.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "front/lease_fork.h"
#include "json/json.h"
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

static int ask_now(struct lease_call *c, const char *operation, const struct json *arguments,
                   struct error *err)
{
    struct lease *h = lease_call_sandbox(c);

    if (!strcmp(operation, "fork"))
        return lease_fork_begin(c, err);
    if (!h)
        return error_set(err, ERROR_SANDBOX, 0, "the sandbox was ended meanwhile");
    struct runner *r = lease_runner(c->runners, h, err);
    if (!r)
        return -1;
    if (runner_waits(r) >= CALL_WAITING_MAX)
        return error_set(err, ERROR_BUSY, 0, "too many requests are waiting for this sandbox");
    c->number = runner_ask(r, operation, arguments, lease_fork_file(c->fork),
                           &(struct runner_listener){c, c->listener.event ? on_event : NULL, on_done});
    if (c->spare)
        lease_set_spare(h, true);
    return 0;
}

/* ---- a sandbox that comes later ---- */

static void take_sandbox(struct lease_call *c, struct lease *h, bool made)
{
    memcpy(c->sandbox, lease_id(h), sizeof c->sandbox);
    if (c->given)
        c->given(c->given_ctx, h, made);
}

/* Its turn has come, or it has waited long enough. */
static void on_place(void *ctx, struct lease *h, bool made, const struct error *failed)
{
    struct lease_call *c = ctx;
    const char *operation = steal(&c->operation);
    struct spill text autorelease(spill_release) = c->arguments;
    autojson struct json *arguments = NULL;
    struct error err = {0};

    c->arguments = (struct spill)SPILL_INIT(0);
    if (h)
        take_sandbox(c, h, made);
    else
        err = *failed;
    if (!operation)
        return;
    if (h && spill_load(&text, &err) == 0)
        arguments = json_parse(buf_str(&text.memory), text.len, JSON_LONG, NULL, &err);
    if (!arguments || ask_now(c, operation, arguments, &err) < 0)
        c->listener.done(c->listener.ctx, NULL, &err);
}

int lease_call_make(struct lease_call *c, struct runners *rs, const struct queue_want *w, struct error *err)
{
    struct error why = {0};
    bool made;

    c->runners = rs;
    c->client = w->client;
    c->place.end = on_place;
    c->place.ctx = c;
    struct lease *h = queue_take(rs, &c->place, w, &made, &why);
    if (h)
        take_sandbox(c, h, made);
    if (why.kind && err)
        *err = why;
    return why.kind ? -1 : 0;
}

/* Keeps what is asked until there is a sandbox. */
static void keep_asked(struct lease_call *c, const char *operation, const struct json *arguments)
{
    autofree char *text = arguments ? json_print(arguments) : xstrdup("{}");

    c->operation = operation;
    c->arguments = (struct spill)SPILL_INIT(0);
    spill_keep(&c->arguments, text, strlen(text));
}

int lease_call_ask(struct lease_call *c, const char *operation, const struct json *arguments,
                   const struct runner_listener *l, struct error *err)
{
    const struct operation *o = operation_find(operation); /* NULL: a question, "ask" */

    if (o && operation_check(o, arguments, err) < 0) {
        queue_leave(&c->place);
        return -1;
    }
    c->listener = *l;
    if (!c->place.rs)
        return ask_now(c, operation, arguments, err);
    keep_asked(c, operation, arguments);
    return 0;
}

void lease_call_leave(struct lease_call *c)
{
    struct lease *h = lease_call_sandbox(c);

    queue_leave(&c->place);
    if (steal(&c->operation))
        spill_release(&c->arguments);
    if (c->number && h && lease_living(h))
        runner_forget(lease_living(h), c->number);
    c->number = 0;
    lease_fork_free(steal(&c->fork));
    if (c->made)
        lease_call_end(c);
}
