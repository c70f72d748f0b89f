/* transfer.c - what is asked of a sandbox beside cells: a file in, its profile, a fresh interpreter. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/utf8.h"
#include "sandbox/guest.h"
#include "sandbox/private.h"

#define ANSWER_MS        10000 /* for what takes the supervisor no time */
#define PROFILE_MS       25000 /* it ends the helper itself after 20 s */
#define GRACE_MS         2000
#define PIECE            (64u << 10)
#define PENDING_MAX      (1u << 20)
#define PROFILE_TEXT_MAX 4096

/* Wait for the end of q, at most ms after its last sign of life. Ctrl-C asks the supervisor to stop. 0, or -1
 * with err. */
static int finish(struct sandbox *s, struct request *q, int ms, const char *what, struct error *err)
{
    bool cancelled = false;
    int64_t until = clock_ms() + ms;

    while (!q->done && s->stage == STAGE_READY && clock_ms() < until) {
        if (!cancelled && loop_cancelled(s->loop)) {
            cancelled = true;
            channel_send(s->channel, 'I', NULL, NULL, 0, NULL, 0);
            if (until > clock_ms() + GRACE_MS)
                until = clock_ms() + GRACE_MS;
        }
        loop_wait(s->loop, (int)(until - clock_ms() > 0 ? until - clock_ms() : 0));
    }
    if (!q->done) {
        sandbox_break(s, "the supervisor in the sandbox did not answer");
        sandbox_start(s);
        return error_set(err, cancelled ? ERROR_CANCELLED : ERROR_SANDBOX, 0,
                         "%s: the sandbox was lost and is restarting (%s)", what, s->broken_why);
    }
    if (cancelled)
        return error_set(err, ERROR_CANCELLED, 0, "%s: interrupted", what);
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
    if (u->sent > (uint64_t)s->o.data_size) {
        u->over = u->ended = true;
        return;
    }
    channel_send(s->channel, 'D', u->request.nonce, u->piece, (size_t)n, NULL, 0);
}

/* Read the source and send it on, no faster than the channel takes it. Stops early when the supervisor has
 * said no, or takes nothing any more; a source may take its time. */
static void pump(struct sandbox *s, struct upload *u)
{
    size_t before = 0;
    int64_t taken_at = 0;

    while (!u->ended && !u->request.done && s->stage == STAGE_READY && !loop_cancelled(s->loop)) {
        size_t pending = channel_pending(s->channel);
        bool full = pending >= PENDING_MAX;

        if (pending != before)
            taken_at = clock_ms();
        before = pending;
        if (full && clock_ms() - taken_at >= ANSWER_MS) {
            sandbox_break(s, "the supervisor in the sandbox stopped reading");
            break;
        }
        if (full)
            loop_unwatch(s->loop, u->fd);
        else
            loop_watch(s->loop, u->fd, POLLIN, on_source, u);
        loop_wait(s->loop, full ? ANSWER_MS : -1);
    }
    loop_unwatch(s->loop, u->fd);
}

static int check_name(const char *name, struct error *err)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (name[i] == '/' || (unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return error_set(
                err, ERROR_USAGE, 0,
                "\"%s\" cannot be a file name in the sandbox: it contains a slash or a control character",
                name);
    if (len == 0 || len > 255 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !utf8_valid(name, len))
        return error_set(err, ERROR_USAGE, 0, "\"%s\" cannot be a file name in the sandbox", name);
    return 0;
}

static int too_big(struct sandbox *s, const char *name, const char *size, struct error *err)
{
    char limit[32];

    return error_set(err, ERROR_USAGE, 0, "%s is too large for the sandbox: %s; /mnt/data holds %s", name,
                     size, size_text(s->o.data_size, limit, sizeof limit));
}

static int put_end(struct sandbox *s, struct upload *u, const char *name, struct error *err)
{
    char size[64];
    int rc;

    if (s->stage == STAGE_READY && !u->request.done)
        channel_send(s->channel, u->over || u->read_errno || !u->ended ? 'A' : 'C', u->request.nonce, NULL, 0,
                     NULL, 0);
    rc = finish(s, &u->request, ANSWER_MS, name, err);
    if (u->over) {
        snprintf(size, sizeof size, "more than %" PRId64 " bytes", s->o.data_size);
        return too_big(s, name, size, err);
    }
    if (u->read_errno) {
        errno = u->read_errno;
        return error_errno(err, "reading %s", name);
    }
    if (rc < 0)
        return -1;
    if (u->request.error) {
        snprintf(size, sizeof size, "%" PRIu64 " bytes read, then", u->sent);
        return error_set(err, ERROR_USAGE, 0,
                         "%s could not be copied into the sandbox (%s: %s); /mnt/data holds %s", name, size,
                         u->request.error, size_text(s->o.data_size, (char[32]){0}, 32));
    }
    s->has_files = true;
    return 0;
}

int sandbox_put(struct sandbox *s, const char *name, int fd, uint64_t *size, struct error *err)
{
    struct upload *u;
    struct stat st;
    char text[64];
    int rc;

    if (check_name(name, err) < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > s->o.data_size) {
        snprintf(text, sizeof text, "%" PRId64 " bytes", (int64_t)st.st_size);
        return too_big(s, name, text, err);
    }
    if (sandbox_wait(s, err) < 0)
        return -1;
    u = xmalloc(sizeof *u);
    memset(u, 0, offsetof(struct upload, piece));
    u->sandbox = s;
    u->fd = fd;
    request_begin(s, &u->request, NULL);
    channel_send(s->channel, 'P', u->request.nonce, name, strlen(name), NULL, 0);
    pump(s, u);
    rc = put_end(s, u, name, err);
    if (rc == 0 && size)
        *size = u->sent;
    request_end(s, &u->request);
    free(u);
    return rc;
}

/* ---- profile and reset */

int sandbox_profile(struct sandbox *s, const char *name, struct buf *out, struct error *err)
{
    struct request q;
    struct buf head = {0};
    unsigned char size[4];
    const char *source = guest_profile();
    int rc;

    if (check_name(name, err) < 0 || sandbox_wait(s, err) < 0)
        return -1;
    put_u32(size, (uint32_t)strlen(name));
    buf_add(&head, size, sizeof size);
    buf_addstr(&head, name);
    request_begin(s, &q, NULL);
    channel_send(s->channel, 'F', q.nonce, head.data, head.len, source, strlen(source));
    rc = finish(s, &q, PROFILE_MS, name, err);
    if (rc == 0 && (q.error || !q.text)) /* the sandbox itself is well */
        rc = error_set(err, ERROR_SYSTEM, 0, "%s could not be examined in the sandbox: %s", name,
                       q.error ? q.error : "no answer");
    if (rc == 0)
        buf_add(out, q.text,
                strlen(q.text) < PROFILE_TEXT_MAX ? strlen(q.text)
                                                  : utf8_cut(q.text, strlen(q.text), PROFILE_TEXT_MAX));
    buf_release(&head);
    request_end(s, &q);
    return rc;
}

int sandbox_reset(struct sandbox *s, struct error *err)
{
    struct request q;
    int rc;

    if (sandbox_wait(s, err) < 0)
        return -1;
    request_begin(s, &q, NULL);
    channel_send(s->channel, 'S', q.nonce, NULL, 0, NULL, 0);
    rc = finish(s, &q, ANSWER_MS, "the new interpreter", err);
    request_end(s, &q);
    if (rc == 0) {
        s->touched = s->lost_state = false; /* asked for, so there is nothing to tell */
        free(steal(&s->last_value));
    }
    return rc;
}
