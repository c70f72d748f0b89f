/* lease_fork.c - asks one sandbox to write a live copy, and a new one of the same client to go on from it. */
#include "front/lease_fork.h"

#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "front/lease_call.h"
#include "json/json.h"

struct lease_fork {
    struct lease_call *call;         /* of the sandbox that is copied, until the end */
    struct lease_call to;            /* of the new one */
    int fd;                          /* of the copy; -1: there is none yet */
    struct runner_listener listener; /* of the call */
};

int lease_fork_file(const struct lease_fork *f)
{
    return f && f->fd >= 0 ? fcntl(f->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

void lease_fork_free(struct lease_fork *f)
{
    if (!f)
        return;
    f->to.fork = NULL;
    lease_call_leave(&f->to);
    fd_close(&f->fd);
    free(f);
}

static void on_fork_event(void *ctx, const struct json *event)
{
    const struct lease_fork *f = ctx;

    f->listener.event(f->listener.ctx, event);
}

static struct runner_listener fork_listener(struct lease_fork *f,
                                            void (*done)(void *, const struct json *, const struct error *))
{
    return (struct runner_listener){f, f->listener.event ? on_fork_event : NULL, done};
}

static void fail_fork(struct lease_fork *f, const struct error *err)
{
    const struct runner_listener l = f->listener;

    f->call->fork = NULL;
    lease_fork_free(f);
    l.done(l.ctx, NULL, err);
}

/* The call goes over to the new sandbox, of which the client knows with the answer. */
static void on_gone_on(void *ctx, const struct json *result, const struct error *err)
{
    struct lease_fork *f = ctx;
    struct lease_call *c = f->call;
    const struct runner_listener l = f->listener;
    struct lease *h = lease_call_sandbox(&f->to);
    struct error gone = {0};

    (void)result;
    if (err || !h) {
        error_set(&gone, ERROR_SANDBOX, 0, "the copy was ended meanwhile");
        fail_fork(f, err ? err : &gone);
        return;
    }
    autojson struct json *of = json_object_of({"copy_of", json_string(c->sandbox)});
    memcpy(c->sandbox, f->to.sandbox, sizeof c->sandbox);
    c->made = true;
    c->spare = f->to.made = false;
    c->fork = NULL;
    lease_fork_free(f);
    if (c->given)
        c->given(c->given_ctx, h, true);
    l.done(l.ctx, of, NULL);
}

static void on_copied_out(void *ctx, const struct json *result, const struct error *err)
{
    struct lease_fork *f = ctx;
    const struct runner_listener l = fork_listener(f, on_gone_on);
    autojson struct json *cells = json_object_of({"cells", json_copy(json_get(result, "cells"))});
    struct error why = {0};

    f->to.fork = f; /* for the descriptor */
    if (err || lease_call_ask(&f->to, "copy_in", cells, &l, &why) < 0)
        fail_fork(f, err ? err : &why);
}

/* The new one has its place and is up. Not before is a copy written: while nobody goes on from it, nobody's
 * limit holds its memory once the first sandbox has ended. */
static void on_place_taken(void *ctx, const struct json *result, const struct error *err)
{
    struct lease_fork *f = ctx;
    const struct runner_listener l = fork_listener(f, on_copied_out);
    struct error why = {0};

    (void)result;
    if (!err && (f->fd = fd_sealable("live copy")) < 0)
        error_errno(&why, "no memory file can be made for a live copy");
    if (err || why.kind || lease_call_ask(f->call, "copy_out", NULL, &l, &why) < 0)
        fail_fork(f, err ? err : &why);
}

int lease_fork_begin(struct lease_call *c, struct error *err)
{
    struct lease_fork *f = xcalloc(1, sizeof *f);
    struct lease *h = lease_call_sandbox(c);
    const struct queue_want w = {.client = c->client};

    *f = (struct lease_fork){.call = c, .to.made = true, .fd = -1, .listener = c->listener};
    const struct runner_listener l = fork_listener(f, on_place_taken);
    if (h)
        lease_use(h); /* so it does not give way to its copy */
    if (lease_call_make(&f->to, c->runners, &w, err) < 0
        || lease_call_ask(&f->to, "info", NULL, &l, err) < 0) {
        lease_fork_free(f);
        return -1;
    }
    c->fork = f;
    return 0;
}
