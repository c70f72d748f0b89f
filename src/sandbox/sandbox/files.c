/* files.c - deliver files made by hostile code into a folder of the user. */
#include "sandbox/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "sandbox/ledger.h"

#define NAME_MOST 200
#define TRIES     10000

char *file_safe_name(const char *name)
{
    struct buf b = {0};
    size_t ext;

    while (name[0] == '.' && name[1] == '/')
        name += 2;
    autofree char *clean = scrub_line(name, SCRUB_TERMINAL);
    /* Hidden files configure programs, and programs take a leading dash for an option: neither may come
     * from a sandbox. */
    if (clean[0] == '.' || clean[0] == '-')
        buf_addch(&b, '_');
    buf_addstr(&b, clean);
    for (size_t i = 0; i < b.len; i++)
        if (b.data[i] == '/' || b.data[i] == '\\')
            b.data[i] = '-';
    if (b.len > NAME_MOST) {
        const char *dot = strrchr(b.data, '.');
        autofree char *tail = NULL;

        ext = dot && b.len - (size_t)(dot - b.data) <= 16 ? b.len - (size_t)(dot - b.data) : 0;
        tail = xmemdup0(b.data + b.len - ext, ext);
        b.len = utf8_cut(b.data, b.len, NAME_MOST - ext);
        buf_addstr(&b, tail);
    }
    if (b.len == 0)
        buf_addstr(&b, "file");
    return buf_steal(&b, NULL);
}

void delivery_init(struct delivery *d, struct ledger *l, const char *folder)
{
    *d = (struct delivery){.ledger = l, .folder = folder, .file = NEWFILE_INIT, .same = -1};
}

static void stop_writing(struct delivery *d)
{
    newfile_release(&d->file);
    if (d->taken)
        ledger_unreserve(d->ledger, d->size);
    d->taken = false;
}

void delivery_release(struct delivery *d)
{
    stop_writing(d);
    fd_close(&d->same);
    free(d->name);
    free(d->safe);
    free(d->before);
    delivery_init(d, d->ledger, d->folder);
}

static void delivery_fail(struct delivery *d, const char *what)
{
    snprintf(d->why, sizeof d->why, "%s: %s", what, strerror(errno));
    stop_writing(d);
}

static void start_writing(struct delivery *d)
{
    struct error err;

    if (!d->folder) {
        snprintf(d->why, sizeof d->why, "this session has no folder");
        return;
    }
    d->over = !ledger_reserve(d->ledger, d->size);
    if (d->over)
        return;
    d->taken = true;
    if (file_mkdirs(d->folder, 0755, &err) < 0) {
        snprintf(d->why, sizeof d->why, "%.*s", (int)sizeof d->why - 1, err.text);
        stop_writing(d);
    } else if (newfile_open(&d->file, d->folder, 0644) < 0) {
        delivery_fail(d, d->file.dir < 0 ? "cannot open the folder" : "cannot be created");
    }
}

void delivery_begin(struct delivery *d, const char *name, const char *safe, uint64_t size)
{
    const char *before = NULL;

    delivery_release(d);
    d->name = xstrdup(name);
    d->safe = xstrdup(safe);
    d->size = size;
    d->same = ledger_open(d->ledger, name, size, &before);
    d->before = xstrdup(before);
    if (d->same < 0)
        start_writing(d);
}

static void write_on(struct delivery *d, const char *data, size_t len)
{
    if (d->file.fd >= 0 && fd_write_all(d->file.fd, data, len) < 0) {
        autofree char *what = xasprintf("cannot be written to %.200s", d->folder);

        delivery_fail(d, what);
    }
}

static bool is_same(const struct delivery *d, const char *data, size_t len)
{
    char piece[16384];

    for (size_t at = 0; at < len;) {
        size_t want = len - at < sizeof piece ? len - at : sizeof piece;
        ssize_t n = pread(d->same, piece, want, (off_t)(d->got + at));

        if (n <= 0 || memcmp(piece, data + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* From here on it differs from the earlier copy: write it anew, and take what was received so far from
 * that copy. */
static void write_anew(struct delivery *d)
{
    char piece[65536];
    autoclose int same = d->same;
    ssize_t n;

    d->same = -1;
    start_writing(d);
    for (uint64_t at = 0; at < d->got && d->file.fd >= 0; at += (uint64_t)n) {
        size_t want = d->got - at < sizeof piece ? (size_t)(d->got - at) : sizeof piece;

        n = pread(same, piece, want, (off_t)at);
        if (n <= 0) {
            errno = n < 0 ? errno : EIO; /* the earlier copy has just been shortened */
            delivery_fail(d, "its earlier copy cannot be read");
            return;
        }
        write_on(d, piece, (size_t)n);
    }
}

bool delivery_add(struct delivery *d, const char *data, size_t len)
{
    if (len > d->size - d->got)
        return false;
    if (d->same >= 0 && !is_same(d, data, len))
        write_anew(d);
    if (d->same < 0)
        write_on(d, data, len);
    d->got += len;
    return true;
}

/* Use name, name-1, name-2 ... (before the extension), the first that is free; never an existing file,
 * never through a link. */
static char *name_delivery(struct delivery *d)
{
    const char *dot = strrchr(d->safe, '.');
    size_t stem = dot && dot != d->safe ? (size_t)(dot - d->safe) : strlen(d->safe);

    for (int i = 0; i < TRIES; i++) {
        autofree char *name = i ? xasprintf("%.*s-%d%s", (int)stem, d->safe, i, d->safe + stem)
                                : xstrdup(d->safe);

        if (newfile_name(&d->file, name) == 0)
            return xasprintf("%s/%s", d->folder, name);
        if (errno != EEXIST)
            break;
    }
    delivery_fail(d, "cannot be created");
    return NULL;
}

char *delivery_end(struct delivery *d)
{
    if (d->same >= 0 && d->got < d->size)
        write_anew(d); /* the file shrank while it was read inside */
    if (d->same >= 0)
        return steal(&d->before);
    char *path = d->file.fd >= 0 ? name_delivery(d) : NULL;
    if (path) {
        ledger_note(d->ledger, d->name, path, d->file.fd);
        d->taken = false; /* it stays on the ledger */
    }
    return path;
}
