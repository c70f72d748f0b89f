/* history.c - keeps what was typed on disk. */
#include "term/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/scrub.h"

#define ENTRIES        1000
#define ENTRY_MAX      (64 * 1024) /* longer entries (pastes) are kept only for this session */
#define FILE_MAX_BYTES (16 * 1024 * 1024)

static void escape_line(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\n')
            buf_addstr(out, "\\n");
        else if (*s == '\\')
            buf_addstr(out, "\\\\");
        else
            buf_addch(out, *s);
    }
}

/* Anything else that could write to the file must not reach the terminal through readline. */
static char *unescape(const char *s, size_t len)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0), clean = BUF_INIT(0);

    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\\' && i + 1 < len) {
            i++;
            buf_addch(&out, s[i] == 'n' ? '\n' : s[i]);
        } else {
            buf_addch(&out, s[i]);
        }
    }
    scrub_text(buf_str(&out), out.len, SCRUB_PIPE, &clean);
    return buf_steal(&clean, NULL);
}

/* Add to the new file what another chat has appended to the old one since it was read up to there. */
static void carry_over(const struct history *h, int old, off_t from)
{
    struct buf more autorelease(buf_release) = BUF_INIT(FILE_MAX_BYTES);
    autoclose int fd = place_open(h->path, O_WRONLY | O_APPEND, NULL);

    if (fd >= 0 && lseek(old, from, SEEK_SET) == from && fd_read_all(old, FILE_MAX_BYTES, &more) == 0)
        (void)!fd_write_all(fd, more.data, more.len);
}

/* Give the file's last entries to readline. One that is kept is rewritten with only those once it is past its
 * limits. */
static int load_lines(struct history *h, int fd, const char *path, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(FILE_MAX_BYTES);
    struct stat st = {0};
    size_t lines = 0, skip, at = 0;
    int r = 0;

    if (fstat(fd, &st) == 0 && (st.st_mode & 022))
        return error_set(err, ERROR_SYSTEM, 0, "%s is writable by other users", path);
    off_t from = st.st_size > FILE_MAX_BYTES ? st.st_size - FILE_MAX_BYTES : 0;
    if (lseek(fd, from, SEEK_SET) < 0 /* it may grow meanwhile */
        || (fd_read_all(fd, FILE_MAX_BYTES, &text) < 0 && errno != EFBIG))
        return error_errno(err, "%s", path);
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    /* the first line is only the end of one where the file was cut */
    for (skip = lines > ENTRIES ? lines - ENTRIES : from > 0 && lines > 0; skip > 0; skip--)
        at = (size_t)((const char *)memchr(text.data + at, '\n', text.len - at) - text.data) + 1;
    if (h->path && (from > 0 || lines > ENTRIES + ENTRIES / 10)) {
        r = place_write(h->path, text.data + at, text.len - at, err);
        if (r == 0)
            carry_over(h, fd, from + (off_t)text.len);
    }
    while (r == 0 && at < text.len) {
        const char *nl = memchr(text.data + at, '\n', text.len - at);
        size_t n = nl ? (size_t)(nl - text.data) - at : text.len - at;
        autofree char *entry = unescape(text.data + at, n);

        if (*entry) {
            add_history(entry);
            xreplace(&h->last, xstrdup(entry));
        }
        at += n + 1;
    }
    return r;
}

int history_open(struct history *h, const char *path, bool keep, struct error *err)
{
    struct error why = {0};
    struct stat st;

    memset(h, 0, sizeof *h);
    using_history();
    stifle_history(ENTRIES);
    if (!path)
        return 0;
    autoclose int fd = place_open(path, keep ? O_RDWR | O_CREAT : O_RDONLY, &why);
    if (fd < 0 && !keep && why.code == ENOENT)
        return 0;
    if (fd < 0) {
        *err = why;
        return -1;
    }
    if (keep && fstat(fd, &st) == 0 && (st.st_mode & 077))
        fchmod(fd, 0600); /* nobody else may read what was asked */
    h->path = keep ? xstrdup(path) : NULL;
    if (load_lines(h, fd, path, err) < 0) {
        history_release(h);
        return -1;
    }
    return 0;
}

void history_forget(const char *mark)
{
    for (int i = history_length - 1; i >= 0; i--) {
        HIST_ENTRY *entry = history_get(history_base + i);

        if (entry && strstr(entry->line, mark))
            free(free_history_entry(remove_history(i)));
    }
}

void history_append(struct history *h, const char *typed, const char *text)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    if (!*typed || (h->last && !strcmp(h->last, typed)))
        return;
    add_history(typed);
    xreplace(&h->last, xstrdup(typed));
    if (!h->path || strlen(text) > ENTRY_MAX)
        return;
    escape_line(&line, text);
    buf_addch(&line, '\n');
    autoclose int fd = place_open(h->path, O_WRONLY | O_APPEND | O_CREAT, NULL);
    if (fd >= 0) /* a full disk is not reported: the line itself is not lost */
        (void)!fd_write_all(fd, line.data, line.len);
}

void history_release(struct history *h)
{
    if (!h)
        return;
    free(h->path);
    free(h->last);
    memset(h, 0, sizeof *h);
}
