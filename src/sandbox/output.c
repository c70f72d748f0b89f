/* output.c - keep head, tail and counts of a cell's output. Constant memory whatever is written. */
#include "sandbox/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"

/* What is shorter is shown and told whole, so no file is made for it (and no session's folder kept). Less than the head, which has it. */
#define SHORT_BYTES (8u << 10)
#define SHORT_LINES 100
#define MARK_ROOM 96                        /* the line that counts what was left out */

void output_init(struct output *o)
{
    *o = (struct output){.fd = -1};
}

void output_release(struct output *o)
{
    fd_close(&o->fd);
    free(o->head);
    free(o->tail);
    free(o->path);
    output_init(o);
}

void output_begin(struct output *o, const char *dir, unsigned cell, uint64_t *session_disk)
{
    fd_close(&o->fd);
    free(o->path);
    o->path = dir ? xasprintf("%s/cell-%u.txt", dir, cell) : NULL;
    o->head_len = o->tail_len = o->tail_at = 0;
    o->bytes = o->lines = o->cell_disk = 0;
    o->disk_errno = 0;
    o->copying = false;
    o->session_disk = session_disk;
    if (!o->head) {
        o->head = xmalloc(OUTPUT_HALF);
        o->tail = xmalloc(OUTPUT_HALF);
    }
}

/* The copy is a convenience: where it cannot be written the cell goes on without it. */
static void copy(struct output *o, const char *data, size_t len)
{
    uint64_t left = OUTPUT_DISK_CELL - o->cell_disk;

    if (!o->path)
        return;
    if (OUTPUT_DISK_SESSION - *o->session_disk < left)
        left = OUTPUT_DISK_SESSION - *o->session_disk;
    if (len > left)
        len = (size_t)left;
    if (len == 0)
        return;
    if (o->fd < 0)
        o->fd = open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (o->fd < 0 || fd_write_all(o->fd, data, len) < 0) {
        o->disk_errno = errno;
        fd_close(&o->fd);
        unlink(o->path);                    /* half a copy would be taken for all of it */
        free(o->path);
        o->path = NULL;
        o->cell_disk = OUTPUT_DISK_CELL;    /* no further try in this cell */
        return;
    }
    o->cell_disk += len;
    *o->session_disk += len;
}

static uint64_t count_lines(const char *data, size_t len)
{
    uint64_t n = 0;

    for (const char *end = data + len; len && (data = memchr(data, '\n', (size_t)(end - data))); data++)
        n++;
    return n;
}

void output_add(struct output *o, const char *data, size_t len)
{
    size_t n = OUTPUT_HALF - o->head_len < len ? OUTPUT_HALF - o->head_len : len;
    uint64_t lines = count_lines(data, len);

    if (!o->copying && (o->bytes + len > SHORT_BYTES || o->lines + lines > SHORT_LINES)) {
        o->copying = true;
        copy(o, o->head, o->head_len);      /* all there was so far */
    }
    if (o->copying)
        copy(o, data, len);
    o->bytes += len;
    o->lines += lines;
    memcpy(o->head + o->head_len, data, n);
    o->head_len += n;
    data += n;
    len -= n;
    if (len > OUTPUT_HALF) {                /* only its end can be in the tail */
        data += len - OUTPUT_HALF;
        len = OUTPUT_HALF;
    }
    while (len > 0) {
        n = OUTPUT_HALF - o->tail_at < len ? OUTPUT_HALF - o->tail_at : len;
        memcpy(o->tail + o->tail_at, data, n);
        o->tail_at = (o->tail_at + n) % OUTPUT_HALF;
        o->tail_len = o->tail_len + n < OUTPUT_HALF ? o->tail_len + n : OUTPUT_HALF;
        data += n;
        len -= n;
    }
}

void output_end(struct output *o)
{
    fd_close(&o->fd);
    if (!o->copying) {
        free(o->path);
        o->path = NULL;
    }
}

/* The unit of text at s: its length in *step, and how many bytes it has once repaired. */
static size_t unit(const char *s, size_t len, size_t *step)
{
    uint32_t cp;
    int n = utf8_decode(s, len, &cp);

    *step = n > 0 ? (size_t)n : 1;
    return n <= 0 || cp == 0 ? 3 : (size_t)n;
}

/* How much of s, taken from its front, fits max bytes once repaired. */
static size_t fit_front(const char *s, size_t len, size_t max)
{
    size_t at = 0, size = 0, step;

    while (at < len && (size += unit(s + at, len - at, &step)) <= max)
        at += step;
    return at;
}

/* Where to begin in s so that the rest fits max bytes once repaired; at a character. */
static size_t fit_back(const char *s, size_t len, size_t max)
{
    size_t at = 0, size = 0, step;

    while (at < len && at < 4 && ((unsigned char)s[at] & 0xc0) == 0x80)
        at++;                               /* the ring may begin in the middle of a character */
    for (size_t i = at; i < len; i += step)
        size += unit(s + i, len - i, &step);
    while (at < len && size > max) {
        size -= unit(s + at, len - at, &step);
        at += step;
    }
    return at;
}

void output_text(const struct output *o, size_t max, struct buf *out)
{
    struct buf all = {0}, text = {0};
    size_t head, tail, tail_from, start = (o->tail_at + OUTPUT_HALF - o->tail_len) % OUTPUT_HALF;

    if (!o->head || o->bytes == 0)
        return;
    buf_add(&all, o->head, o->head_len);
    if (o->tail_len) {
        size_t first = OUTPUT_HALF - start < o->tail_len ? OUTPUT_HALF - start : o->tail_len;

        buf_add(&all, o->tail + start, first);
        buf_add(&all, o->tail, o->tail_len - first);
    }
    /* all is head and tail; when nothing fell out between them it is everything, in one piece. */
    if (o->bytes == all.len && fit_front(all.data, all.len, max) == all.len) {
        utf8_repair(out, all.data, all.len);
    } else {
        size_t room = max > MARK_ROOM ? max - MARK_ROOM : 0, most = o->bytes == all.len ? all.len / 2 : o->head_len;
        uint64_t shown, lines;

        head = fit_front(all.data, most, room / 2);
        tail_from = most + fit_back(all.data + most, all.len - most, room - room / 2);
        tail = all.len - tail_from;
        shown = head + tail;
        lines = count_lines(all.data, head) + count_lines(all.data + tail_from, tail);
        utf8_repair(&text, all.data, head);
        buf_addf(&text, "\n[... %" PRIu64 " bytes (%" PRIu64 " lines) left out ...]\n", o->bytes - shown, o->lines - lines);
        utf8_repair(&text, all.data + tail_from, tail);
        if (text.len > max)
            text.len = utf8_cut(text.data, text.len, max);
        buf_add(out, text.data, text.len);
    }
    buf_release(&all);
    buf_release(&text);
}
