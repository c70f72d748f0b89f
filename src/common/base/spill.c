/* spill.c - keeps bytes in memory or, when they are many, in a file without a name. */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"

static int write_at(int fd, size_t at, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += (size_t)n;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Returns a file without a name. -1 with errno, of the first place. */
static int nameless(void)
{
    struct newfile f autorelease(newfile_release) = NEWFILE_INIT;
    autofree char *folder = xdg_path(XDG_STATE, NULL);

    if (folder && file_mkdirs(folder, 0700, NULL) == 0 && newfile_open(&f, folder, 0600) == 0)
        return fd_steal(&f.fd);
    int code = folder ? errno : ENOENT, fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    errno = code;
    return fd;
}

/* Moves what is in memory to a file. */
static int move_to_disk(struct spill *s)
{
    autoclose int fd = nameless();

    if (fd < 0 || write_at(fd, 0, buf_str(&s->memory), s->memory.len) < 0)
        return -1;
    s->fd = fd_steal(&fd);
    buf_release(&s->memory);
    return 0;
}

/* -1 with errno: the disk does not take it, and nothing was appended. */
static int append(struct spill *s, const char *data, size_t len)
{
    if (s->fd < 0 && s->len + len > SPILL_MEMORY && move_to_disk(s) < 0)
        return -1;
    if (s->fd < 0)
        buf_add(&s->memory, data, len);
    else if (write_at(s->fd, s->len, data, len) < 0)
        return -1;
    s->len += len;
    return 0;
}

int spill_add(struct spill *s, const void *data, size_t len, struct error *err)
{
    if (s->max > 0 && len > s->max - s->len)
        return error_set(err, ERROR_LIMIT, 0, "more than %zu bytes", s->max);
    if (append(s, data, len) < 0)
        return error_set(err, ERROR_SYSTEM, errno,
                         "more than %u KiB wait on the disk, below XDG_STATE_HOME, which %s\n%s",
                         SPILL_MEMORY >> 10, disk_trouble(errno), disk_remedy(errno));
    return 0;
}

void spill_keep(struct spill *s, const void *data, size_t len)
{
    if (append(s, data, len) == 0)
        return;
    (void)spill_load(s, NULL);
    buf_add(&s->memory, data, len);
    s->len = s->memory.len;
}

int spill_load(struct spill *s, struct error *err)
{
    if (s->fd < 0)
        return 0;
    char *room = buf_space(&s->memory, s->len);
    size_t n = spill_read(s, 0, room, s->len);
    if (n < s->len) {
        buf_release(&s->memory);
        return error_set(err, ERROR_SYSTEM, EIO, "what waited on the disk cannot be read back");
    }
    s->memory.len = n;
    buf_end(&s->memory);
    fd_close(&s->fd);
    return 0;
}

size_t spill_read(const struct spill *s, size_t at, char *out, size_t max)
{
    size_t left = at < s->len ? s->len - at : 0, want = max < left ? max : left, have = 0;

    if (s->fd < 0 && want > 0)
        memcpy(out, s->memory.data + at, want);
    while (s->fd >= 0 && have < want) {
        ssize_t n = pread(s->fd, out + have, want - have, (off_t)(at + have));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return have;
        have += (size_t)n;
    }
    return want;
}

struct spill spill_copy(const struct spill *s)
{
    struct spill copy = SPILL_INIT(s->max);

    if (s->fd >= 0)
        copy.fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    if (copy.fd < 0) {
        copy.memory.len = spill_read(s, 0, buf_space(&copy.memory, s->len), s->len);
        buf_end(&copy.memory);
    }
    copy.len = copy.fd < 0 ? copy.memory.len : s->len;
    return copy;
}

void spill_drop(struct spill *s, size_t n)
{
    struct spill rest = SPILL_INIT(s->max);
    char piece[16384];

    for (size_t at = n, got; (got = spill_read(s, at, piece, sizeof piece)) > 0; at += got)
        spill_keep(&rest, piece, got);
    spill_release(s);
    *s = rest;
}

int spill_take_fd(struct spill *s)
{
    int fd = fd_steal(&s->fd);

    spill_release(s);
    return fd;
}

void spill_release(struct spill *s)
{
    buf_release(&s->memory);
    fd_close(&s->fd);
    s->len = 0;
}
