/* put_file.c - sends a file into the sandbox in pieces, as fast as the channel takes them. */
#include "sandbox/put_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/utf8.h"
#include "process/loop.h"
#include "process/signals.h"

#define PENDING_MAX (1u << 20)
#define PUT_PIECE   (64u << 10) /* bytes read at once */

void put_send(struct put *u, enum to_guest type, const char *data, size_t len)
{
    channel_send(u->request.sandbox->channel,
                 &(struct frame_out){.type = type, .nonce = u->request.nonce, .body = {data, len}});
}

static void on_source(void *ctx)
{
    struct put *u = ctx;
    struct sandbox *s = u->request.sandbox;
    char piece[PUT_PIECE];
    ssize_t n = read(u->fd, piece, sizeof piece);

    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (n < 0)
        u->read_errno = errno;
    u->sent += n > 0 ? (uint64_t)n : 0;
    u->over = u->sent > (uint64_t)s->o.run.data_size;
    u->ended = n <= 0 || u->over;
    if (u->ended)
        return;
    put_send(u, TO_GUEST_DATA, piece, (size_t)n);
    sandbox_tell_copied(s, PHASE_COPYING, (size_t)n);
}

void put_pump(struct put *u)
{
    struct request *q = &u->request;
    struct sandbox *s = q->sandbox;

    while (!u->ended && !q->done && s->stage == STAGE_READY && !loop_cancelled(s->loop)) {
        bool full = channel_pending(s->channel) >= PENDING_MAX;

        request_progress(q);
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

int sandbox_check_name(const char *name, struct error *err)
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

int put_finish(struct put *u, struct error *err)
{
    bool whole = u->ended && !u->over && !u->read_errno;

    if (u->request.sandbox->stage == STAGE_READY && !u->request.done)
        put_send(u, whole ? TO_GUEST_COMMIT : TO_GUEST_ABORT, NULL, 0);
    return request_finish(&u->request, err);
}

static int put_end(struct put *u, struct error *err)
{
    struct sandbox *s = u->request.sandbox;
    int rc = put_finish(u, err);
    int code = u->request.error_code;
    /* what a client can change: the name, or what else lies there */
    bool told = code == EISDIR || code == ENOTDIR || code == ENOSPC;

    if (u->over)
        return sandbox_too_large(u->request.what, "more than ", s->o.run.data_size, s->o.run.data_size, err);
    if (u->read_errno) {
        errno = u->read_errno;
        return error_errno(err, "cannot read %s", u->request.what);
    }
    if (rc < 0)
        return -1;
    if (u->request.error)
        return error_set(err, ERROR_USAGE, told ? code : 0,
                         "%s could not be copied into the sandbox (%" PRIu64
                         " bytes read, then: %s); /mnt/data holds %s",
                         u->request.what, u->sent, u->request.error, size_text(s->o.run.data_size).text);
    s->has_files = true;
    return 0;
}

/* Tell of a regular file that others wrote to while it was read, since the copy may then be a mixture. */
static void tell_changed(const struct put *u, const struct stat *before)
{
    struct stat st;

    if (S_ISREG(before->st_mode) && fstat(u->fd, &st) == 0
        && (st.st_size != before->st_size || st.st_mtim.tv_sec != before->st_mtim.tv_sec
            || st.st_mtim.tv_nsec != before->st_mtim.tv_nsec))
        engine_notice(&u->request.sandbox->o.run, false,
                      "%s changed while it was copied; add it again for a whole copy", u->request.what);
}

int sandbox_put_package(struct sandbox *s, const char *name, int fd, struct error *err)
{
    autofree char *body = xasprintf("%c%s", 0, name);
    struct put u = {.request = {.what = name}, .fd = fd};

    if (sandbox_check_name(name, err) < 0)
        return -1;
    request_begin(s, &u.request);
    body[0] = '\0'; /* no file of the user's begins so */
    put_send(&u, TO_GUEST_PUT, body, strlen(name) + 1);
    put_pump(&u);
    int rc = put_end(&u, err);
    request_end(&u.request);
    return rc;
}

int64_t sandbox_put_file(struct sandbox *s, const char *name, int fd, struct error *err)
{
    struct put u = {.request = {.what = name}, .fd = fd};
    struct stat st = {0};

    if (sandbox_check_name(name, err) < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > s->o.run.data_size)
        return sandbox_too_large(name, "", st.st_size, s->o.run.data_size, err);
    if (sandbox_wait(s, err) < 0)
        return -1;
    if (!s->copying.done)
        sandbox_tell_phase(s, PHASE_COPYING);
    request_begin(s, &u.request);
    put_send(&u, TO_GUEST_PUT, name, strlen(name));
    put_pump(&u);
    int rc = put_end(&u, err);
    request_end(&u.request);
    if (rc < 0)
        return -1;
    tell_changed(&u, &st);
    return (int64_t)u.sent;
}

int64_t sandbox_put(struct sandbox *s, const char *name, int fd, struct error *err)
{
    struct stat st = {0};
    int64_t size;

    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        size = sandbox_check_name(name, err) < 0 ? -1 : sandbox_put_folder(s, name, fd, err);
    } else {
        s->copying = (struct copy_progress){.total = S_ISREG(st.st_mode) ? st.st_size : 0};
        size = sandbox_put_file(s, name, fd, err);
        s->copying = (struct copy_progress){0};
    }
    if (size >= 0)
        put_back_keep(s, name, fd);
    return size;
}

int64_t sandbox_put_each(struct sandbox *s, const struct put_ask *ask, struct error *err)
{
    s->each = ask;
    int64_t size = sandbox_put(s, ask->name, ask->fd, err);
    s->each = NULL;
    return size;
}
