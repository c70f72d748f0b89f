/* prepare.c - runs the file of --prepare and keeps the live copy. */
#include "batch/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "front/runner.h"
#include "json/json.h"
#include "process/loop.h"
#include "process/signals.h"

#define CODE_MAX (1u << 20)

struct prepared {
    const struct batch_options *o;
    struct json *script; /* name and code, as "prepare" takes them */
    char *told;
    int copy; /* -1: there can be none */
    int64_t cells;
    /* while it is made */
    struct runner *runner;
    bool done;
    struct error err;
};

static void end_preparing(struct prepared *p, const struct error *err)
{
    if (err)
        p->err = *err;
    p->done = true;
}

static void on_copied(void *ctx, const struct json *result, const struct error *err)
{
    struct prepared *p = ctx;

    if (err && err->kind == ERROR_SANDBOX && err->code == ENOTSUP) {
        autofree char *line = xasprintf("--prepare: each row runs the file itself: %s", err->text);

        fd_close(&p->copy);
        p->o->notice(p->o->ctx, line);
        end_preparing(p, NULL);
        return;
    }
    p->cells = json_int(json_get(result, "cells"), 0);
    end_preparing(p, err);
}

/* A runner is given a descriptor for good. */
static int another_of(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void on_ran(void *ctx, const struct json *result, const struct error *err)
{
    struct prepared *p = ctx;
    const struct runner_listener l = {p, NULL, on_copied};
    const char *traceback = json_text(json_get(json_get(result, "error"), "traceback"));
    struct error failed;

    if (prepared_began(result, err, &failed) < 0) {
        if (*traceback)
            p->o->notice(p->o->ctx, traceback);
        end_preparing(p, &failed);
        return;
    }
    p->told = xstrdup(json_text(json_get(result, "told")));
    runner_ask(p->runner, "copy_out", NULL, another_of(p->copy), &l);
}

int prepared_began(const struct json *result, const struct error *failed, struct error *err)
{
    const struct json *why = json_get(result, "error");
    const char *status = json_text(json_get(result, "status"));

    if (failed) {
        *err = *failed;
        return -1;
    }
    if (!*status || !strcmp(status, "ok")) /* "": it went on from a copy */
        return 0;
    return error_set(err, ERROR_USAGE, 0, "--prepare: the file failed, so no row is asked: %.300s%s%.300s",
                     json_text(json_get(why, "name")), json_str(json_get(why, "text")) ? ": " : "",
                     json_text(json_get(why, "text")));
}

/* In a runner of its own, which ends with this. */
static int run_script(struct prepared *p, struct error *err)
{
    const struct runner_options ro = {.loop = p->o->loop, .starter = p->o->starter, .ctx = p};
    const struct runner_listener l = {p, NULL, on_ran};
    struct loop *loop = p->o->loop;

    p->runner = runner_start(&ro, err);
    if (!p->runner)
        return -1;
    runner_ask(p->runner, "prepare", p->script, -1, &l);
    runner_let_start(p->runner);
    while (!p->done && !loop_fatal(loop) && loop_interrupts(loop) == 0)
        loop_wait(loop, 1000);
    if (!p->done)
        error_set(&p->err, ERROR_CANCELLED, 0, "--prepare: interrupted");
    runner_free(steal(&p->runner));
    if (p->err.kind) {
        *err = p->err;
        return -1;
    }
    if (p->copy >= 0 && !fd_sealed(p->copy))
        return error_set(err, ERROR_SYSTEM, 0, "the live copy is not sealed");
    return 0;
}

struct prepared *prepare_new(const struct batch_options *o, struct error *err)
{
    struct buf code autorelease(buf_release) = BUF_INIT(CODE_MAX);
    const char *slash = strrchr(o->prepare, '/'), *name = slash ? slash + 1 : o->prepare;

    if (file_read(o->prepare, CODE_MAX, &code, err) < 0) {
        struct error why = *err;
        error_set(err, ERROR_USAGE, why.code, "--prepare: %s", why.text);
        return NULL;
    }
    if (!utf8_valid(buf_str(&code), code.len) || memchr(buf_str(&code), 0, code.len)) {
        error_set(err, ERROR_USAGE, 0, "--prepare: %.300s is no text in UTF-8", o->prepare);
        return NULL;
    }
    struct prepared *p = xcalloc(1, sizeof *p);
    *p = (struct prepared){.o = o, .copy = fd_sealable("live copy")};
    p->script = json_object_of({"name", json_string(name)},
                               {"code", json_string_n(buf_str(&code), code.len)});
    int rc = p->copy < 0 ? error_errno(err, "the live copy cannot be made") : run_script(p, err);
    if (rc == 0)
        return p;
    prepare_free(p);
    return NULL;
}

void prepare_free(struct prepared *p)
{
    if (!p)
        return;
    runner_free(p->runner);
    fd_close(&p->copy);
    json_free(p->script);
    free(p->told);
    free(p);
}

const char *prepared_told(const struct prepared *p)
{
    return p->told;
}

void prepared_begin(const struct prepared *p, struct runner *r, const struct runner_listener *l)
{
    autojson struct json *cells = json_object_of({"cells", json_integer(p->cells)});

    if (p->copy >= 0)
        runner_ask(r, "copy_in", cells, another_of(p->copy), l);
    else
        runner_ask(r, "prepare", p->script, -1, l);
}
