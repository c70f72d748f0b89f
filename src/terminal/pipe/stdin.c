/* stdin.c - is stdin data for the question? There is one function for each kind of descriptor.
 *
 * RULE: What stdin is (data, questions, nothing, another's) is decided here, before anything is started.
 */
#include "pipe/stdin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/size.h"
#include "pipe/holders.h"
#include "process/slow_read.h"
#include "show/show.h"
#include "sniff/sniff.h"

#define HEAD_MAX 65536 /* bytes read to find the kind of the data */
#define FIRST_MS 200   /* a pipe that is silent for so many ms is examined */
/* ms until the user is told what we wait for; then the writers are examined again, at this interval */
#define LINE_MS 1000

static void say_of_stdin(const struct stdin_rules *r, enum notice_level level, const char *line)
{
    r->say(r->ctx, level, line);
}

static int too_big(const struct stdin_rules *r, uint64_t size, bool whole, struct error *err)
{
    return error_set(err, ERROR_USAGE, 0,
                     "stdin is too large: %s%s bytes, /mnt/data in the sandbox holds %s.\n"
                     "Send less data, or raise --data-size",
                     whole ? "" : "more than ", count_text(size).text, count_text(r->max).text);
}

/* A file that disappears with us. It is on disk, not in memory, since it may have 256 MiB. */
static int temporary_file(struct error *err)
{
    const char *dirs[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    int fd;

    for (size_t i = 0; i < countof(dirs); i++)
        if (dirs[i] && *dirs[i] && (fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) >= 0)
            return fd;
    fd = memfd_create("stdin", MFD_CLOEXEC);
    return fd >= 0 ? fd : error_errno(err, "no folder to keep the data of stdin in");
}

/* Who could write. Looking takes a while: if data came or the pipe was closed meanwhile, that counts, not who
 * is left afterwards. */
static enum holder holders_now(const struct stdin_rules *r)
{
    enum holder h = holders_find(r->fd);
    struct pollfd p = {.fd = r->fd, .events = POLLIN};

    return h != HOLDER_OTHER && poll(&p, 1, 0) > 0 ? HOLDER_OTHER : h;
}

struct spool {
    const struct stdin_rules *r;
    int64_t line_at;   /* when to tell the user that we wait; 0: already told */
    bool other_writer; /* a writer that is not an ancestor was seen */
};

/* Nothing came for a while. True if the writer is gone and only a parent keeps the pipe open: this is the
 * end. */
static bool only_parents_left(struct spool *s, uint64_t size)
{
    enum holder h = holders_now(s->r);
    char line[160];

    if (h == HOLDER_OTHER) {
        s->other_writer = true;
    } else if (h == HOLDER_ANCESTORS && s->other_writer) {
        say_of_stdin(
            s->r, NOTICE_WARNING,
            "the program that wrote to stdin has ended, but a parent keeps it open; continuing with what "
            "came");
        return true;
    }
    if (s->line_at) {
        snprintf(line, sizeof line, "waiting for the end of stdin (%s bytes so far); Ctrl-C stops",
                 count_text(size).text);
        say_of_stdin(s->r, NOTICE_INFO, line);
        s->line_at = 0;
    }
    return false;
}

static struct slow_reader reader(const struct stdin_rules *r, int64_t until)
{
    return (struct slow_reader){.fd = r->fd, .name = "stdin", .loop = r->loop, .until = until};
}

/* Read fd to its end into file. Returns 0, or -1 with err. */
static int spool_copy(struct spool *s, int file, uint64_t *size, struct error *err)
{
    autofree char *buf = xmalloc(65536);

    for (;;) {
        const struct slow_reader in = reader(s->r, clock_ms() + LINE_MS);
        ssize_t n = slow_read(&in, buf, 65536, err);

        if (n == SLOW_TIMEOUT) {
            if (only_parents_left(s, *size))
                return 0;
            continue;
        }
        if (n <= 0)
            return (int)n;
        *size += (uint64_t)n;
        if (*size > s->r->max) {
            int whole = 0;

            *size += slow_count_rest(&in, &whole);
            return too_big(s->r, *size, whole, err);
        }
        if (fd_write_all(file, buf, (size_t)n) < 0)
            return error_errno(err, "cannot keep the data of stdin in a temporary file");
    }
}

static int spool(struct spool *s, struct stdin_data *d, struct error *err)
{
    autoclose int file = temporary_file(err);

    if (file < 0 || spool_copy(s, file, &d->size, err) < 0)
        return -1;
    if (lseek(file, 0, SEEK_SET) < 0)
        return error_errno(err, "the temporary file for stdin");
    d->any = true;
    d->fd = file;
    file = -1; /* it is d's now */
    return 0;
}

static int take_regular(const struct stdin_rules *r, const struct stat *st, struct stdin_data *d,
                        struct error *err)
{
    struct spool s = {.r = r};
    off_t at = lseek(r->fd, 0, SEEK_CUR);
    uint64_t left = at >= 0 && st->st_size > at ? (uint64_t)(st->st_size - at) : 0;

    if (at != 0 && r->mode != STDIN_DATA) {
        say_of_stdin(
            r, NOTICE_WARNING,
            "stdin was not read: the calling script is reading that file too (--stdin data reads it anyway)");
        return 0;
    }
    if (left > r->max)
        return too_big(r, left, true, err);
    if (at != 0 || !left) /* files in /proc report a size of 0 although they have content */
        return spool(&s, d, err);
    d->fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 3);
    if (d->fd < 0)
        return error_errno(err, "stdin");
    d->size = left;
    d->any = true;
    return 0;
}

/* A pipe or socket was silent for a while. 1: it is worth waiting for; 0: leave it alone. */
static int worth_waiting(const struct stdin_rules *r)
{
    enum holder h = r->mode == STDIN_DATA ? HOLDER_OTHER : holders_now(r);

    if (h != HOLDER_OTHER)
        say_of_stdin(r, NOTICE_WARNING,
                     "no data on stdin; continuing without it (--stdin data waits for it)");
    return h == HOLDER_OTHER;
}

static int take_stream(const struct stdin_rules *r, struct stdin_data *d, struct error *err)
{
    struct spool s = {.r = r, .line_at = 1};
    int64_t start = clock_ms();
    struct slow_reader in = reader(r, start + FIRST_MS);
    int ready = slow_wait(&in, err);

    while (ready == SLOW_TIMEOUT) {
        if (!worth_waiting(r))
            return 0;
        s.other_writer = r->mode != STDIN_DATA;
        if (s.line_at && clock_ms() - start >= LINE_MS) {
            say_of_stdin(r, NOTICE_INFO,
                         "waiting for stdin; Ctrl-C stops, --stdin ignore continues without it");
            s.line_at = 0;
        }
        /* Examine it every second: the writer may end while a parent keeps its end open. */
        in.until = (s.line_at ? start : clock_ms()) + LINE_MS;
        ready = slow_wait(&in, err);
    }
    if (ready < 0 || spool(&s, d, err) < 0)
        return -1;
    if (d->size && r->mode != STDIN_DATA && holders_parent_reads(r->fd))
        say_of_stdin(
            r, NOTICE_INFO,
            "all of stdin was read; if the calling script reads it too, as in a loop, use --stdin ignore");
    return 0;
}

static int take_stdin(const struct stdin_rules *r, struct stdin_data *d, struct error *err)
{
    struct spool s = {.r = r, .line_at = 1};
    bool asked = r->mode == STDIN_DATA;
    struct stat st;

    if (fstat(r->fd, &st) < 0)
        return asked ? error_errno(err, "--stdin data") : 0;
    if ((fcntl(r->fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
        return asked ? error_set(err, ERROR_USAGE, 0, "--stdin data, but stdin is open for writing only") : 0;
    if (S_ISREG(st.st_mode))
        return take_regular(r, &st, d, err);
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
        return take_stream(r, d, err);
    if (S_ISDIR(st.st_mode)) {
        if (asked)
            return error_set(err, ERROR_USAGE, EISDIR, "--stdin data, but stdin is a directory");
        say_of_stdin(r, NOTICE_WARNING, "stdin is a directory; not read");
        return 0;
    }
    return asked ? spool(&s, d, err) : 0; /* a device such as a terminal or /dev/null */
}

int stdin_take(const struct stdin_rules *r, struct stdin_data *d, struct error *err)
{
    *d = (struct stdin_data){.fd = -1};
    if (r->mode == STDIN_IGNORE || (r->closed && r->mode != STDIN_DATA))
        return 0;
    if (r->closed)
        return error_set(err, ERROR_USAGE, 0, "--stdin data, but stdin is closed");
    if (take_stdin(r, d, err) < 0)
        return -1;
    if (d->any && !d->size && r->mode != STDIN_DATA) {
        say_of_stdin(r, NOTICE_WARNING, "stdin was empty: there is no data");
        stdin_data_release(d);
    }
    return 0;
}

char *stdin_data_name(const struct stdin_data *d)
{
    autofree char *head = xmalloc(HEAD_MAX + 1);
    /* This is our own file, or one that nobody has read from. */
    ssize_t n = pread(d->fd, head, HEAD_MAX, 0);
    const char *kind = "";

    if (n > 0) {
        head[n] = '\0';
        kind = sniff_content(head, (size_t)n, (uint64_t)n >= d->size);
    }
    return xasprintf("stdin%s%s", *kind ? "." : "", kind);
}

void stdin_data_release(struct stdin_data *d)
{
    if (!d)
        return;
    fd_close(&d->fd);
    d->any = false;
}

enum stdin_mode stdin_mode_named(const char *word)
{
    static const struct {
        const char *word;
        enum stdin_mode mode;
    } modes[] = {
        {"data", STDIN_DATA},
        {"ignore", STDIN_IGNORE},
        {"script", STDIN_SCRIPT},
    };

    for (size_t i = 0; i < countof(modes); i++)
        if (!strcmp(word, modes[i].word))
            return modes[i].mode;
    return STDIN_AUTO;
}
