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
    struct lease_call *call;
    int fd;
    char of[RUNNERS_ID + 1];
    struct runner_listener listener; /* of the call */
};

int lease_fork_file(const struct lease_fork *f)
{
    return f ? fcntl(f->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

void lease_fork_free(struct lease_fork *f)
{
    if (!f)
        return;
    fd_close(&f->fd);
    free(f);
}

static void on_fork_event(void *ctx, const struct json *event)
{
    const struct lease_fork *f = ctx;

    f->listener.event(f->listener.ctx, event);
}

/* The copy belongs to its sandbox alone from now on. */
static void end_fork(struct lease_fork *f, const struct json *result, const struct error *err)
{
    const struct runner_listener l = f->listener;

    if (err && *f->of) /* the new one is of no use */
        lease_call_end(f->call);
    f->call->fork = NULL;
    lease_fork_free(f);
    l.done(l.ctx, result, err);
}

static void on_gone_on(void *ctx, const struct json *result, const struct error *err)
{
    struct lease_fork *f = ctx;
    autojson struct json *of = json_object_of({"copy_of", json_string(f->of)});

    (void)result;
    end_fork(f, err ? NULL : of, err);
}

static struct runner_listener listen(struct lease_fork *f,
                                     void (*done)(void *, const struct json *, const struct error *))
{
    return (struct runner_listener){f, f->listener.event ? on_fork_event : NULL, done};
}

static void on_copied_out(void *ctx, const struct json *result, const struct error *err)
{
    struct lease_fork *f = ctx;
    struct lease_call *c = f->call;
    const struct queue_want w = {.client = c->client};
    const struct runner_listener l = listen(f, on_gone_on);
    autojson struct json *cells = json_object_of(
        {"cells", json_integer(json_int(json_get(result, "cells"), 0))});
    struct error why = {0};

    if (err) {
        end_fork(f, NULL, err);
        return;
    }
    memcpy(f->of, c->sandbox, sizeof f->of);
    c->sandbox[0] = '\0';
    c->made = true;
    c->spare = false;
    if (lease_call_make(c, c->runners, &w, &why) < 0 || lease_call_ask(c, "copy_in", cells, &l, &why) < 0)
        end_fork(f, NULL, &why);
}

int lease_fork_begin(struct lease_call *c, struct error *err)
{
    struct lease_fork *f = xcalloc(1, sizeof *f);

    *f = (struct lease_fork){.call = c, .fd = fd_sealable("live copy"), .listener = c->listener};
    const struct runner_listener l = listen(f, on_copied_out);
    c->fork = f;
    int rc = f->fd < 0 ? error_errno(err, "no memory file can be made for a live copy")
                       : lease_call_ask(c, "copy_out", NULL, &l, err);
    if (rc == 0)
        return 0;
    c->fork = NULL;
    c->listener = f->listener;
    lease_fork_free(f);
    return -1;
}
