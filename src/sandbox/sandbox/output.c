/* output.c - keep head, tail and counts of a cell's output, in constant memory however much is written. */
#include "sandbox/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Shorter output is shown in full and needs no file (and no session folder). Less than the head, so that
 * the head still has all of it when a copy begins. */
#define SHORT_BYTES (8u << 10)
#define SHORT_LINES 100
#define MARK_ROOM   96 /* for the line that counts what was left out */

void output_init(struct output *o)
{
    *o = (struct output){.file = NEWFILE_INIT};
}

void output_release(struct output *o)
{
    newfile_release(&o->file);
    free(o->head);
    free(o->tail);
    free(o->dir);
    free(o->name);
    free(o->path);
    output_init(o);
}

void output_begin(struct output *o, const char *dir, unsigned cell, struct ledger *ledger)
{
    newfile_release(&o->file);
    free(o->dir);
    free(o->name);
    free(steal(&o->path));
    o->dir = xstrdup(dir);
    o->name = xasprintf("cell-%u.txt", cell);
    o->head_len = o->tail_len = o->tail_at = 0;
    o->bytes = o->lines = o->cell_disk = 0;
    o->disk_errno = 0;
    o->copying = o->cut = false;
    o->ledger = ledger;
    if (!o->head) {
        o->head = xmalloc(OUTPUT_HALF);
        o->tail = xmalloc(OUTPUT_HALF);
    }
}

/* The copy is a convenience: if it cannot be written, the cell goes on without it. */
static void copy_to_disk(struct output *o, const char *data, size_t len)
{
    uint64_t left = OUTPUT_DISK_CELL - o->cell_disk, room;

    if (!o->dir || o->disk_errno)
        return;
    room = ledger_take(o->ledger, len < left ? len : left);
    o->cut |= room < len;
    len = (size_t)room;
    if (len == 0)
        return;
    if ((o->file.fd < 0 && newfile_open(&o->file, o->dir, 0600) < 0)
        || fd_write_all(o->file.fd, data, len) < 0) {
        o->disk_errno = errno;
        newfile_release(&o->file); /* half a copy would be mistaken for a whole one */
        return;
    }
    o->cell_disk += len;
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
        copy_to_disk(o, o->head, o->head_len); /* everything so far */
    }
    if (o->copying)
        copy_to_disk(o, data, len);
    o->bytes += len;
    o->lines += lines;
    memcpy(o->head + o->head_len, data, n);
    o->head_len += n;
    data += n;
    len -= n;
    if (len > OUTPUT_HALF) { /* only its last part can be in the tail */
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

/* Replace a file of that name: a new sandbox counts its cells from one again. */
static int name_output(struct output *o)
{
    int rc = newfile_name(&o->file, o->name);

    if (rc < 0 && errno == EEXIST && unlinkat(o->file.dir, o->name, 0) == 0)
        rc = newfile_name(&o->file, o->name);
    return rc;
}

void output_end(struct output *o)
{
    if (o->file.fd >= 0 && name_output(o) < 0)
        o->disk_errno = errno;
    else if (o->file.fd >= 0)
        o->path = xasprintf("%s/%s", o->dir, o->name);
    newfile_release(&o->file);
}

/* The character at s: its length in *step; returns its length once made valid. */
static size_t unit(const char *s, size_t len, size_t *step)
{
    uint32_t cp;
    int n = utf8_decode(s, len, &cp);

    *step = n > 0 ? (size_t)n : 1;
    return n <= 0 || cp == 0 ? 3 : (size_t)n;
}

/* How much of s, from its front, fits into max bytes once made valid. */
static size_t fit_front(const char *s, size_t len, size_t max)
{
    size_t at = 0, size = 0, step;

    while (at < len && (size += unit(s + at, len - at, &step)) <= max)
        at += step;
    return at;
}

/* Where to begin in s, at the start of a character, so that the rest fits into max bytes once made valid. */
static size_t fit_back(const char *s, size_t len, size_t max)
{
    size_t at = 0, size = 0, step;

    while (at < len && at < 4 && ((unsigned char)s[at] & 0xc0) == 0x80)
        at++; /* the ring may begin in the middle of a character */
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
    struct buf all autorelease(buf_release) = {0}, text autorelease(buf_release) = {0};
    size_t head, tail, tail_from, start = (o->tail_at + OUTPUT_HALF - o->tail_len) % OUTPUT_HALF;

    if (!o->head || o->bytes == 0)
        return;
    buf_add(&all, o->head, o->head_len);
    if (o->tail_len) {
        size_t first = OUTPUT_HALF - start < o->tail_len ? OUTPUT_HALF - start : o->tail_len;

        buf_add(&all, o->tail + start, first);
        buf_add(&all, o->tail, o->tail_len - first);
    }
    /* all is head and tail. If nothing between them was dropped, it is the whole output. */
    if (o->bytes == all.len && fit_front(all.data, all.len, max) == all.len) {
        utf8_repair(out, all.data, all.len);
    } else {
        size_t room = max > MARK_ROOM ? max - MARK_ROOM : 0,
               most = o->bytes == all.len ? all.len / 2 : o->head_len;
        uint64_t shown, lines;

        head = fit_front(all.data, most, room / 2);
        tail_from = most + fit_back(all.data + most, all.len - most, room - room / 2);
        tail = all.len - tail_from;
        shown = head + tail;
        lines = count_lines(all.data, head) + count_lines(all.data + tail_from, tail);
        utf8_repair(&text, all.data, head);
        buf_addf(&text, "\n[... %" PRIu64 " bytes (%" PRIu64 " lines) left out ...]\n", o->bytes - shown,
                 o->lines - lines);
        utf8_repair(&text, all.data + tail_from, tail);
        if (text.len > max)
            text.len = utf8_cut(text.data, text.len, max);
        buf_add(out, text.data, text.len);
    }
}
