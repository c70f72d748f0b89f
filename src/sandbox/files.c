/* files.c - deliver files made by hostile code into a folder of the user's. */
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

#define NAME_MOST 200
#define TRIES 10000

char *file_safe_name(const char *name)
{
    struct buf b = {0};
    char *clean;
    size_t ext;

    while (name[0] == '.' && name[1] == '/')
        name += 2;
    clean = scrub_line(name, SCRUB_TERMINAL);
    /* Hidden files configure programs and a leading dash is an option to them: neither may come from a sandbox. */
    if (clean[0] == '.' || clean[0] == '-')
        buf_addch(&b, '_');
    buf_addstr(&b, clean);
    free(clean);
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

void delivery_init(struct delivery *d)
{
    *d = (struct delivery){.dir = -1, .fd = -1};
}

void delivery_release(struct delivery *d)
{
    if (d->fd >= 0 && d->name)
        unlinkat(d->dir, d->name, 0);
    fd_close(&d->fd);
    fd_close(&d->dir);
    free(d->folder);
    free(d->name);
    delivery_init(d);
}

static void fail(struct delivery *d, const char *what)
{
    snprintf(d->why, sizeof d->why, "%s: %s", what, strerror(errno));
}

/* name, name-1, name-2 ... before the extension, whichever is not taken; never an existing file, never through a link. */
static int create(struct delivery *d, const char *safe)
{
    const char *dot = strrchr(safe, '.');
    size_t stem = dot && dot != safe ? (size_t)(dot - safe) : strlen(safe);

    for (int i = 0; i < TRIES; i++) {
        char *name = i ? xasprintf("%.*s-%d%s", (int)stem, safe, i, safe + stem) : xstrdup(safe);
        int fd = openat(d->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

        if (fd >= 0) {
            d->name = name;
            return fd;
        }
        free(name);
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

void delivery_begin(struct delivery *d, const char *folder, const char *name, uint64_t size)
{
    struct error err;
    autofree char *safe = file_safe_name(name);

    delivery_release(d);
    d->size = size;
    d->folder = xstrdup(folder);
    if (file_mkdirs(folder, 0755, &err) < 0) {
        snprintf(d->why, sizeof d->why, "%.*s", (int)sizeof d->why - 1, err.text);
        return;
    }
    d->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dir < 0) {
        fail(d, "cannot open the folder");
        return;
    }
    d->fd = create(d, safe);
    if (d->fd < 0)
        fail(d, "cannot be made");
}

bool delivery_add(struct delivery *d, const char *data, size_t len)
{
    if (len > d->size - d->got)
        return false;
    d->got += len;
    if (d->fd >= 0 && fd_write_all(d->fd, data, len) < 0) {
        autofree char *what = xasprintf("cannot be written to %.200s", d->folder);

        fail(d, what);
        unlinkat(d->dir, d->name, 0);
        fd_close(&d->fd);
    }
    return true;
}

char *delivery_end(struct delivery *d)
{
    char *path = NULL;

    if (d->fd >= 0) {
        fd_close(&d->fd);                   /* whole: release must not remove it */
        path = xasprintf("%s/%s", d->folder, d->name);
    }
    return path;
}
