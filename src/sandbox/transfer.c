/* transfer.c - requests to a sandbox other than cells: a file in, its profile, an image to decode, a new
 * worker, sys.argv, and the inventory of a named sandbox. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "base/utf8.h"
#include "sandbox/guest.h"
#include "sandbox/private.h"

#define PROFILE_MS    25000 /* the supervisor itself ends the helper after 20 s */
#define INVENTORY_MS  2000
#define GRACE_MS      2000
#define PIECE         (64u << 10)
#define PENDING_MAX   (1u << 20)
#define VARIABLES_MAX 200
#define FILES_MAX     80

/* The supervisor accepting our bytes is a sign of life, just like a frame from it. */
static void note_progress(struct sandbox *s, struct request *q)
{
    size_t pending = channel_pending(s->channel);

    if (pending != q->pending)
        q->progress_at = clock_ms();
    q->pending = pending;
}

/* Wait for the end of q. Ctrl-C, or idle_ms without a sign of life, asks the supervisor to stop, for which
 * it has GRACE_MS. 0, or -1 with err. */
static int finish(struct sandbox *s, struct request *q, struct error *err)
{
    bool cancelled = false, asked = false;
    int64_t until = 0;

    q->progress_at = clock_ms();
    while (!q->done && s->stage == STAGE_READY) {
        int64_t now = clock_ms();

        note_progress(s, q);
        cancelled |= loop_cancelled(s->loop);
        if (!asked)
            until = q->progress_at + q->idle_ms;
        if (!asked && (cancelled || now >= until)) {
            asked = true;
            channel_order(s->channel, TO_GUEST_INTERRUPT);
            until = now + (q->idle_ms < GRACE_MS ? q->idle_ms : GRACE_MS);
        } else if (now >= until) {
            break;
        }
        loop_wait(s->loop, (int)(until - now));
    }
    if (!q->done) {
        sandbox_break(s, "the supervisor in the sandbox did not answer");
        sandbox_start(s);
        return error_set(err, cancelled ? ERROR_CANCELLED : ERROR_SANDBOX, 0,
                         "%s: the sandbox was lost and is restarting (%s)", q->what, s->broken_why);
    }
    if (cancelled)
        return error_set(err, ERROR_CANCELLED, 0, "%s: interrupted", q->what);
    return 0;
}

/* ---- a file in */

struct upload {
    struct request request;
    struct sandbox *sandbox;
    int fd;
    uint64_t sent;
    bool ended, over;
    int read_errno;
    char piece[PIECE];
};

static void send_part(struct upload *u, enum to_guest type, const char *data, size_t len)
{
    channel_send(u->sandbox->channel,
                 &(struct frame_out){.type = type, .nonce = u->request.nonce, .body = {data, len}});
}

static void on_source(void *ctx, short revents)
{
    struct upload *u = ctx;
    struct sandbox *s = u->sandbox;
    ssize_t n;

    (void)revents;
    n = read(u->fd, u->piece, sizeof u->piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (n < 0)
        u->read_errno = errno;
    if (n <= 0) {
        u->ended = true;
        return;
    }
    u->sent += (uint64_t)n;
    if (u->sent > (uint64_t)s->o.run.data_size) {
        u->over = u->ended = true;
        return;
    }
    send_part(u, TO_GUEST_DATA, u->piece, (size_t)n);
    sandbox_tell_copied(s, PHASE_COPYING, (size_t)n);
}

/* Read the source and send it, no faster than the channel accepts it. Stops early when the supervisor has
 * refused it or accepts nothing any more. The source itself may be slow. */
static void pump(struct upload *u)
{
    struct sandbox *s = u->sandbox;
    struct request *q = &u->request;

    while (!u->ended && !q->done && s->stage == STAGE_READY && !loop_cancelled(s->loop)) {
        bool full = channel_pending(s->channel) >= PENDING_MAX;

        note_progress(s, q);
        if (full && clock_ms() - q->progress_at >= q->idle_ms) {
            sandbox_break(s, "the supervisor in the sandbox stopped reading");
            break;
        }
        if (full)
            loop_unwatch(s->loop, u->fd);
        else
            loop_watch(s->loop, u->fd, POLLIN, on_source, u);
        loop_wait(s->loop, full ? q->idle_ms : -1);
    }
    loop_unwatch(s->loop, u->fd);
}

/* A name, or a path of names below /mnt/data. */
static int check_name(const char *name, struct error *err)
{
    bool good = strlen(name) < PATH_MAX && utf8_valid(name, strlen(name));

    for (const char *at = name; good; at++) {
        size_t len = strcspn(at, "/");

        good = len > 0 && len <= 255 && !(len <= 2 && !strncmp(at, "..", len));
        for (size_t i = 0; i < len; i++)
            good &= (unsigned char)at[i] >= 0x20 && at[i] != 0x7f;
        at += len;
        if (!*at)
            break;
    }
    return good ? 0 : error_set(err, ERROR_USAGE, 0, "\"%s\" cannot be a file name in the sandbox", name);
}

/* more: "more than " if the end of the source was not reached, otherwise "". */
static int too_big(const struct upload *u, const char *more, int64_t size, struct error *err)
{
    int64_t limit = u->sandbox->o.run.data_size;

    return error_set(err, ERROR_USAGE, 0,
                     "%s is too large for the sandbox: %s%" PRId64 " bytes; /mnt/data holds %s",
                     u->request.what, more, size, size_text(limit, (char[32]){0}, 32));
}

/* The source has ended, or nothing more of it is wanted: wait for what the supervisor makes of that. */
static int upload_end(struct upload *u, struct error *err)
{
    struct sandbox *s = u->sandbox;
    bool whole = u->ended && !u->over && !u->read_errno;

    if (s->stage == STAGE_READY && !u->request.done)
        send_part(u, whole ? TO_GUEST_COMMIT : TO_GUEST_ABORT, NULL, 0);
    return finish(s, &u->request, err);
}

static int put_end(struct upload *u, struct error *err)
{
    struct sandbox *s = u->sandbox;
    int rc = upload_end(u, err);

    if (u->over)
        return too_big(u, "more than ", s->o.run.data_size, err);
    if (u->read_errno) {
        errno = u->read_errno;
        return error_errno(err, "reading %s", u->request.what);
    }
    if (rc < 0)
        return -1;
    if (u->request.error)
        return error_set(
            err, ERROR_USAGE, 0,
            "%s could not be copied into the sandbox (%" PRIu64 " bytes read, then: %s); /mnt/data holds %s",
            u->request.what, u->sent, u->request.error, size_text(s->o.run.data_size, (char[32]){0}, 32));
    s->has_files = true;
    return 0;
}

/* Told, since the copy may be a mixture: a regular file that others wrote to while it was read. */
static void tell_changed(const struct upload *u, const struct stat *before)
{
    const struct engine_options *o = &u->sandbox->o.run;
    struct stat st;

    if (!S_ISREG(before->st_mode) || fstat(u->fd, &st)
        || (st.st_size == before->st_size && st.st_mtim.tv_sec == before->st_mtim.tv_sec
            && st.st_mtim.tv_nsec == before->st_mtim.tv_nsec))
        return;
    autofree char *line = xasprintf("%s changed while it was copied; add it again for a whole copy",
                                    u->request.what);
    if (o->notice)
        o->notice(o->notice_ctx, false, line);
}

int64_t sandbox_put_file(struct sandbox *s, const char *name, int fd, struct error *err)
{
    struct upload *u = xmalloc(sizeof *u);
    struct stat st = {0};
    int rc = -1;

    memset(u, 0, offsetof(struct upload, piece));
    u->sandbox = s;
    u->request.what = name;
    u->fd = fd;
    if (check_name(name, err) < 0)
        goto out;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > s->o.run.data_size) {
        too_big(u, "", st.st_size, err);
        goto out;
    }
    if (sandbox_wait(s, err) < 0)
        goto out;
    if (!s->copying.done)
        sandbox_tell_phase(s, PHASE_COPYING);
    request_begin(s, &u->request, NULL);
    send_part(u, TO_GUEST_PUT, name, strlen(name));
    pump(u);
    rc = put_end(u, err);
    request_end(s, &u->request);
    if (rc == 0)
        tell_changed(u, &st);
out:;
    int64_t sent = rc < 0 ? -1 : (int64_t)u->sent;
    free(u);
    return sent;
}

static int64_t put_whole_folder(struct sandbox *s, const char *name, int fd, struct error *err)
{
    int64_t size = check_name(name, err) < 0 ? -1 : sandbox_put_folder(s, name, fd, err);

    if (size >= 0)
        put_back_keep(s, name, fd);
    return size;
}

int64_t sandbox_put(struct sandbox *s, const char *name, int fd, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return put_whole_folder(s, name, fd, err);
    s->copying = (struct copying){.total = S_ISREG(st.st_mode) ? st.st_size : 0};
    int64_t size = sandbox_put_file(s, name, fd, err);
    s->copying = (struct copying){0};
    if (size >= 0)
        put_back_keep(s, name, fd);
    return size;
}

/* ---- an image */

struct decoding {
    struct upload upload; /* must be the first member, and the request its first */
    const struct pixels_ask *ask;
    struct pixels *out; /* or */
    struct buf *png;    /* at most so many bytes: */
    size_t most;
    size_t got, size; /* bytes of the pixels or of the PNG; size 0: not announced yet */
};

static const char *announce(struct decoding *d, const struct frame *f)
{
    const char *p = f->data;
    size_t left = f->len;
    int64_t width = 0, height = 0, size = 0;
    struct tagged t;

    while (tagged_next(&p, &left, &t) > 0) {
        if (t.tag == 'w')
            width = tagged_int(&t);
        else if (t.tag == 'h')
            height = tagged_int(&t);
        else if (t.tag == 's')
            size = tagged_int(&t);
    }
    if (d->size || width < 1 || height < 1 || width > d->ask->width || height > d->ask->height
        || (d->png && (size < 1 || size > (int64_t)d->most)))
        return "it sent an image of another size than it was asked for";
    if (d->png) {
        d->size = (size_t)size;
        return NULL;
    }
    d->size = (size_t)width * (size_t)height * 3;
    *d->out = (struct pixels){(unsigned)width, (unsigned)height, xmalloc(d->size)};
    return NULL;
}

static const char *on_pixels(struct request *q, const struct frame *f)
{
    struct decoding *d = (struct decoding *)q;

    if (f->type == FROM_GUEST_FILE)
        return announce(d, f);
    if (f->type == FROM_GUEST_FILE_END)
        return NULL;
    if (f->type != FROM_GUEST_DATA || f->len > d->size - d->got)
        return "it sent more of an image than it had announced";
    if (d->png)
        buf_add(d->png, f->data, f->len);
    else
        memcpy(d->out->rgb + d->got, f->data, f->len);
    d->got += f->len;
    return NULL;
}

/* Send the image, wait for the pixels. */
static int decode(struct decoding *d, struct error *err)
{
    struct upload *u = &d->upload;
    struct sandbox *s = u->sandbox;
    struct request *q = &u->request;
    struct buf body autorelease(buf_release) = BUF_INIT(0);

    request_begin(s, q, on_pixels);
    tagged_add_int(&body, 'w', d->ask->width);
    tagged_add_int(&body, 'h', d->ask->height);
    tagged_add_int(&body, 'b', d->ask->background);
    if (d->png)
        tagged_add_int(&body, 'p', (int64_t)d->most);
    send_part(u, TO_GUEST_PIXELS, body.data, body.len);
    pump(u);
    if (upload_end(u, err) < 0)
        return -1;
    sandbox_note_death(s, q, "while an image was decoded");
    sandbox_count_kills(s);
    if (u->over)
        return error_set(err, ERROR_USAGE, 0, "%s is too large to show: more than %s", q->what,
                         size_text(s->o.run.data_size, (char[32]){0}, 32));
    if (u->read_errno) {
        errno = u->read_errno;
        return error_errno(err, "reading %s", q->what);
    }
    if (q->error || d->got < d->size || d->size == 0)
        return error_set(err, ERROR_SYSTEM, 0, "%s could not be decoded: %s", q->what,
                         q->error ? q->error : "the sandbox sent only a part of it");
    return 0;
}

static struct decoding *decoding_new(struct sandbox *s, const char *name, int fd,
                                     const struct pixels_ask *ask)
{
    struct decoding *d = xmalloc(sizeof *d);

    memset(&d->upload, 0, offsetof(struct upload, piece));
    d->upload.sandbox = s;
    d->upload.fd = fd;
    d->upload.request.what = name;
    d->upload.request.idle_ms = PROFILE_MS;
    d->ask = ask;
    d->out = NULL;
    d->png = NULL;
    d->got = d->size = d->most = 0;
    assert(ask->width > 0 && ask->width <= PIXELS_WIDTH_MAX && ask->height > 0
           && ask->height <= PIXELS_HEIGHT_MAX);
    return d;
}

/* Frees d. */
static int decoding_run(struct decoding *d, struct error *err)
{
    struct sandbox *s = d->upload.sandbox;
    int rc = sandbox_wait(s, err) == 0 ? decode(d, err) : -1;

    request_end(s, &d->upload.request);
    free(d);
    return rc;
}

int sandbox_pixels(struct sandbox *s, const char *name, int fd, const struct pixels_ask *ask,
                   struct pixels *out, struct error *err)
{
    struct decoding *d = decoding_new(s, name, fd, ask);

    d->out = out;
    *out = (struct pixels){0};
    int rc = decoding_run(d, err);
    if (rc < 0)
        pixels_release(out);
    return rc;
}

int sandbox_picture(struct sandbox *s, const char *name, int fd, const struct picture_ask *ask,
                    struct buf *out, struct error *err)
{
    const struct pixels_ask size = {ask->edge, ask->edge, 0xffffff};
    struct decoding *d = decoding_new(s, name, fd, &size);

    d->png = out;
    d->most = ask->most;
    return decoding_run(d, err);
}

/* ---- requests of one frame */

/* Send it and wait for its end. The caller then reads q and ends it. */
static int ask(struct sandbox *s, struct request *q, struct frame_out f, struct error *err)
{
    request_begin(s, q, NULL);
    f.nonce = q->nonce;
    channel_send(s->channel, &f);
    return finish(s, q, err);
}

int sandbox_help(struct sandbox *s, const struct helper *h, struct buf *out, struct error *err)
{
    struct request q = {.what = h->name, .idle_ms = PROFILE_MS};
    struct buf head autorelease(buf_release) = BUF_INIT(0);
    unsigned char size[4];

    if (sandbox_wait(s, err) < 0)
        return -1;
    put_u32(size, (uint32_t)strlen(h->name));
    buf_add(&head, size, sizeof size);
    buf_addstr(&head, h->name);
    int rc = ask(s, &q,
                 (struct frame_out){.type = TO_GUEST_PROFILE,
                                    .head = {head.data, head.len},
                                    .body = {h->source, strlen(h->source)}},
                 err);
    sandbox_count_kills(s);
    if (rc == 0 && (q.error || !q.text)) /* the sandbox itself is fine */
        rc = error_set(err, ERROR_SYSTEM, 0, "%s could not be examined in the sandbox: %s", h->name,
                       q.error ? q.error : "no answer");
    if (rc == 0)
        buf_addstr(out, q.text); /* at most REQUEST_TEXT_MAX */
    request_end(s, &q);
    return rc;
}

int sandbox_profile(struct sandbox *s, const char *name, bool rows, struct buf *out, struct error *err)
{
    autofree char *source = xasprintf("%s\nROWS = %s\n", guest_profile(), rows ? "True" : "False");

    return check_name(name, err) < 0
               ? -1
               : sandbox_help(s, &(struct helper){.name = name, .source = source}, out, err);
}

int sandbox_reset(struct sandbox *s, struct error *err)
{
    struct request q = {.what = "the new interpreter"};

    if (sandbox_wait(s, err) < 0)
        return -1;
    int rc = ask(s, &q, (struct frame_out){.type = TO_GUEST_RESET}, err);
    request_end(s, &q);
    if (rc == 0) {
        s->touched = s->lost_state = false; /* the user asked for it, so there is no loss to report */
        free(steal(&s->last_value));
    }
    return rc;
}

int sandbox_set_arguments(struct sandbox *s, char *const *argv, size_t n, struct error *err)
{
    struct request q = {.what = "the arguments"};
    struct buf words autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < n; i++)
        buf_add(&words, argv[i], strlen(argv[i]) + 1);
    if (words.len > SANDBOX_CODE_MAX)
        return error_set(err, ERROR_USAGE, 0, "the arguments are too long: %zu bytes, the limit is %u",
                         words.len, SANDBOX_CODE_MAX);
    if (sandbox_wait(s, err) < 0)
        return -1;
    int rc = ask(s, &q, (struct frame_out){.type = TO_GUEST_ARGUMENTS, .body = {words.data, words.len}}, err);
    if (rc == 0)
        sandbox_note_death(s, &q, "when it was given the arguments");
    if (rc == 0 && (q.error || q.wait_status >= 0))
        rc = error_set(err, ERROR_SANDBOX, 0, "the arguments could not be passed: %.300s",
                       q.error ? q.error : "the interpreter ended");
    request_end(s, &q);
    return rc;
}

/* Append one line of at most max bytes, cut between two entries, without control characters. */
static void add_list(struct buf *out, const char *before, const char *list, size_t max)
{
    autofree char *clean = scrub_line(list, SCRUB_TERMINAL);
    size_t n = strlen(clean);

    if (n == 0)
        return;
    buf_addf(out, "%s%s ", out->len ? "; " : "", before);
    if (n > max) {
        n = utf8_cut(clean, n, max);
        while (n > 0 && clean[n] != ',')
            n--;
        buf_add(out, clean, n ? n : utf8_cut(clean, strlen(clean), max));
        buf_addstr(out, n ? ", ..." : "...");
    } else {
        buf_add(out, clean, n);
    }
}

int sandbox_list_files(struct sandbox *s, struct buf *out, struct error *err)
{
    struct request q = {.what = "the list of files", .idle_ms = INVENTORY_MS};

    if (sandbox_wait(s, err) < 0)
        return -1;
    int rc = ask(s, &q, (struct frame_out){.type = TO_GUEST_INVENTORY}, err);
    if (rc == 0) {
        const char *files = q.text ? strchr(q.text, '\n') : NULL;

        sandbox_note_death(s, &q, "when it was asked for its files");
        buf_addstr(out, files ? files + 1 : "");
    }
    request_end(s, &q);
    return rc;
}

void sandbox_inventory(struct sandbox *s, struct buf *out)
{
    struct request q = {.what = "the inventory", .idle_ms = INVENTORY_MS};
    struct error err = {0};

    if (!s->o.run.name)
        return;
    sandbox_start(s);
    if (!s->taken || sandbox_wait(s, &err) < 0)
        return;
    if (ask(s, &q, (struct frame_out){.type = TO_GUEST_INVENTORY}, &err) == 0) {
        char *files = q.text ? strchr(q.text, '\n') : NULL;

        sandbox_note_death(s, &q, "when it was asked for its contents");
        if (files)
            *files++ = '\0';
        add_list(out, "variables", q.text ? q.text : "", VARIABLES_MAX);
        add_list(out, "files in /mnt/data:", files ? files : "", FILES_MAX);
    }
    request_end(s, &q);
}

void sandbox_delivered(struct sandbox *s, const char *name, const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        ledger_note(&s->ledger, name, path, fd);
}
