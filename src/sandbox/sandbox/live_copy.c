/* live_copy.c - a live copy of the interpreter, written into a memory file or taken from one
 * (guest/live_copy.py).
 *
 * RULE: A live copy is sealed before anybody goes on from it, and what it holds is read in a sandbox alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "sandbox/private.h"

#define COPY_MS 60000 /* without a word: a gigabyte is written in about a second */

struct copy_request {
    struct request request; /* must be the first member */
    int fd;
    bool sent;
};

static const char *on_wanted(struct request *q, const struct frame *f)
{
    struct copy_request *c = (struct copy_request *)q;

    if (f->type != FROM_GUEST_COPY || c->sent)
        return "it sent a frame of the wrong kind";
    c->sent = true;
    return channel_send_fd(q->sandbox->channel, c->fd) < 0 ? "it takes no descriptor" : NULL;
}

/* why: the worker's own words, or what the code made it say. */
static int tell_no_copy(const char *why, struct error *err)
{
    autofree char *line = scrub_line(why, SCRUB_TERMINAL);

    return error_set(err, ERROR_SANDBOX, ENOTSUP, "there can be no live copy of this interpreter: %.200s",
                     line);
}

static int ask_for_copy(struct sandbox *s, int fd, const struct buf *how, struct error *err)
{
    struct copy_request c = {.request = {.what = "the live copy", .idle_ms = COPY_MS, .frame = on_wanted},
                             .fd = fd};
    int rc = request_ask(s, &c.request,
                         (struct frame_out){.type = TO_GUEST_COPY, .body = {how->data, how->len}}, err);

    if (rc == 0 && c.request.wait_status >= 0)
        rc = error_set(err, ERROR_SANDBOX, ENOTSUP,
                       "there can be no live copy of this interpreter: Python died (wait status %d)",
                       (int)c.request.wait_status);
    else if (rc == 0 && c.request.error)
        rc = tell_no_copy(c.request.error, err);
    if (c.request.wait_status >= 0)
        sandbox_note_death(s, &c.request, "while it was copied");
    request_end(&c.request);
    return rc;
}

int sandbox_copy_out(struct sandbox *s, int fd, struct error *err)
{
    struct buf how autorelease(buf_release) = BUF_INIT(0);

    buf_addstr(&how, "w");
    if (sandbox_wait(s, err) < 0)
        return -1;
    /* What is written counts as memory of the sandbox, and so does what was written before, as long as
     * somebody has it. Where there is no room a worker would be killed; now it sees the end of the file. */
    if (ftruncate(fd, (off_t)engine_room_for_files(s->run)) < 0)
        return error_errno(err, "the file of the live copy has no size");
    if (ask_for_copy(s, fd, &how, err) < 0)
        return -1;
    return fd_seal(fd) < 0 ? tell_no_copy("the code goes on writing to it", err) : 0;
}

int sandbox_copy_in(struct sandbox *s, int fd, unsigned cells, struct error *err)
{
    struct buf how autorelease(buf_release) = BUF_INIT(0);
    autofree char *path = xasprintf("/proc/self/fd/%d", fd);
    autoclose int readable = open(path, O_RDONLY | O_CLOEXEC);
    unsigned char number[4];

    put_u32(number, cells);
    buf_addstr(&how, "r");
    buf_add(&how, number, sizeof number);
    if (!fd_sealed(fd))
        return error_set(err, ERROR_SYSTEM, 0, "the live copy is not sealed");
    if (sandbox_wait(s, err) < 0 || ask_for_copy(s, readable < 0 ? fd : readable, &how, err) < 0)
        return -1;
    s->cells = cells;
    s->touched = s->has_files = true;
    return 0;
}
