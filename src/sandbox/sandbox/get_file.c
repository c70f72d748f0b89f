/* get_file.c - asks the supervisor for a file (sandbox_get), or for the list of all (sandbox_each_file). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "sandbox/private.h"

#define GET_MS   10000
#define LIST_MAX (4u << 20) /* bytes of names */

struct get_request {
    struct request request; /* must be the first member */
    int fd, write_errno;
    int64_t size, got, most; /* size -1: not announced yet */
};

/* A sparse file may be larger than the folder that it is in. */
static bool too_large(const struct get_request *g)
{
    return g->size > g->most;
}

static const char *announce_getting(struct get_request *g, const struct frame *f)
{
    struct tagged_value t = tagged_in(f->data, f->len);

    if (g->size >= 0)
        return "it began a file inside a file";
    while (tagged_next(&t) > 0)
        if (t.tag == 's')
            g->size = tagged_int(&t);
    if (too_large(g))
        channel_order(g->request.sandbox->channel, TO_GUEST_INTERRUPT);
    return g->size < 0 ? "it sent a malformed file" : NULL;
}

static const char *on_part(struct request *q, const struct frame *f)
{
    struct get_request *g = (struct get_request *)q;

    if (f->type == FROM_GUEST_FILE)
        return announce_getting(g, f);
    if (f->type == FROM_GUEST_FILE_END)
        return NULL;
    if (f->type != FROM_GUEST_DATA || (int64_t)f->len > g->size - g->got)
        return "it sent more of a file than it had announced";
    g->got += (int64_t)f->len;
    if (!too_large(g) && !g->write_errno && fd_write_all(g->fd, f->data, f->len) < 0)
        g->write_errno = errno;
    return NULL;
}

static int outcome(const struct get_request *g, struct error *err)
{
    const struct request *q = &g->request;

    if (g->write_errno) {
        errno = g->write_errno;
        return error_errno(err, "cannot copy %s out of the sandbox", q->what);
    }
    if (q->error)
        return error_set(err, ERROR_USAGE, q->error_code == ENOENT ? ENOENT : EINVAL,
                         "%s cannot be read in the sandbox: %s", q->what, q->error);
    if (too_large(g))
        return error_set(err, ERROR_USAGE, EFBIG,
                         "%s has %" PRId64
                         " bytes, more than can be copied out of the sandbox; /mnt/data holds %s",
                         q->what, g->size, size_text(q->sandbox->o.run.data_size).text);
    if (q->files_cut || g->size < 0 || g->got < g->size)
        return error_set(err, ERROR_SANDBOX, 0, "%s: only a part of it was copied out of the sandbox",
                         q->what);
    return 0;
}

int64_t sandbox_get(struct sandbox *s, const char *name, int fd, struct error *err)
{
    struct get_request g = {
        .request = {.what = name, .idle_ms = GET_MS, .frame = on_part, .when = "while a file was copied"},
        .fd = fd,
        .size = -1,
        .most = s->o.run.data_size + (1 << 20)};

    if (sandbox_check_name(name, err) < 0 || sandbox_wait(s, err) < 0)
        return -1;
    struct frame_out f = {.type = TO_GUEST_GET, .body = {name, strlen(name)}};
    int rc = request_ask(s, &g.request, f, err) < 0 ? -1 : outcome(&g, err);
    request_end(&g.request);
    return rc < 0 ? -1 : g.size;
}

/* ---- the list ---- */

struct file_listing {
    struct request request; /* must be the first member */
    struct buf text;
};

static const char *on_names(struct request *q, const struct frame *f)
{
    struct file_listing *l = (struct file_listing *)q;

    if (f->type != FROM_GUEST_DATA || !buf_add(&l->text, f->data, f->len))
        return "it sent a list of files that is too long";
    return NULL;
}

/* "SIZE NAME", each ended by a NUL. */
static void read_list(const struct buf *text, sandbox_file_fn *fn, void *ctx)
{
    const char *at = buf_str(text), *end = at + text->len;

    while (at < end) {
        char *name;
        long long size = strtoll(at, &name, 10);

        if (*name == ' ' && size >= 0) {
            autofree char *shown = scrub_line(name + 1, SCRUB_TERMINAL);
            fn(ctx, shown, size);
        }
        at += strlen(at) + 1;
    }
}

int64_t sandbox_each_file(struct sandbox *s, sandbox_file_fn *fn, void *ctx, struct error *err)
{
    struct file_listing l = {.request = {.what = "the list of files",
                                         .idle_ms = GET_MS,
                                         .frame = on_names,
                                         .when = "when it was asked for its files"},
                             .text = BUF_INIT(LIST_MAX)};

    if (sandbox_wait(s, err) < 0)
        return -1;
    int rc = request_ask(s, &l.request, (struct frame_out){.type = TO_GUEST_LIST}, err);
    if (rc == 0)
        read_list(&l.text, fn, ctx);
    request_end(&l.request);
    buf_release(&l.text);
    return rc < 0 ? -1 : l.request.lost_unnamed;
}
