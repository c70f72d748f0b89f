/* results.c - keeps which rows have a line, as a table of hashes. */
#include "batch/results.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "batch/openai_line.h"
#include "batch/rows.h"
#include "json/json.h"

struct known { /* of open addressing; key 0: empty */
    uint64_t key;
    size_t line; /* the number of its latest line, from 1 */
    bool answered;
    bool by_id; /* that line was written by another program */
};

struct results {
    const char *path; /* borrowed */
    int fd;
    bool made; /* by results_open() */
    bool dirty;
    struct known *v;
    size_t n, size; /* size: a power of two */
    size_t lines;
};

static struct known *slot_of(const struct results *l, uint64_t key)
{
    size_t i = key & (l->size - 1);

    while (l->v[i].key && l->v[i].key != key)
        i = (i + 1) & (l->size - 1);
    return &l->v[i];
}

static void note_row(struct results *l, uint64_t key, bool answered, bool by_id)
{
    key += !key;
    if (2 * (l->n + 1) > l->size) {
        struct results old = *l;

        l->size = l->size ? 2 * l->size : 1024;
        l->v = xcalloc(l->size, sizeof *l->v);
        for (size_t i = 0; i < old.size; i++)
            if (old.v[i].key)
                *slot_of(l, old.v[i].key) = old.v[i];
        free(old.v);
    }
    struct known *k = slot_of(l, key);
    l->n += !k->key;
    *k = (struct known){key, l->lines, answered, by_id};
}

/* What is known of the row with that key; or NULL. */
static const struct known *known_row(const struct results *l, uint64_t key)
{
    const struct known *k = l->size ? slot_of(l, key + !key) : NULL;

    return k && k->key ? k : NULL;
}

/* The next line is of that row. sha256 "": another program wrote it. */
static void note_next(struct results *l, const char *id, const char *sha256, int64_t epoch, bool answered)
{
    uint64_t by_id = row_key(id, "", 1);

    l->lines++;
    note_row(l, row_key(id, sha256, epoch), answered, !*sha256);
    if (*sha256 && epoch == 1 && known_row(l, by_id))
        note_row(l, by_id, answered, false); /* ours is the later one */
}

bool results_has(const struct results *l, const char *id, const char *sha256, int64_t epoch, bool with_answer)
{
    const struct known *own = known_row(l, row_key(id, sha256, epoch)),
                       *other = epoch == 1 ? known_row(l, row_key(id, "", 1)) : NULL;
    const struct known *k = own ? own : other && other->by_id ? other : NULL;

    return k && (k->answered || !with_answer);
}

bool results_answered(const struct json *line)
{
    static const char *const answered[] = {"answered", "code_failed", "undelivered", "settled"};

    for (size_t i = 0; i < countof(answered); i++)
        if (!strcmp(json_text(json_get(line, "status")), answered[i]))
            return true;
    return false;
}

/* Reads the lines of an open file. A last one without its end of line may have been cut, and is only read if
 * it is a whole one. Returns where the last whole line ends, or -1 with err. */
static off_t each_line(FILE *f, const char *path, results_fn *fn, void *ctx, struct error *err)
{
    static const char beginning[] = "{\"id\":"; /* of what may be removed */
    autofree char *line = NULL;
    size_t size = 0, number = 0;
    off_t end = 0;

    for (ssize_t n; (n = getline(&line, &size, f)) > 0; end += n) {
        autojson struct json *parsed = json_parse(line, (size_t)n, 0, NULL, NULL);

        if (!parsed && line[n - 1] != '\n' && !strncmp(line, beginning, strlen(beginning)))
            break;
        autojson struct json *j = parsed ? openai_line_read(steal(&parsed)) : NULL;
        number++;
        if (!j || !json_str(json_get(j, "status")) || !json_str(json_get(j, "id")))
            return error_set(err, ERROR_USAGE, 0,
                             "%s, line %zu: this is not the result of a batch\nName another file with -o",
                             path, number);
        fn(ctx, j);
    }
    if (ferror(f)) /* a folder, or a bad disk: nothing behind it may be cut off */
        return error_set(err, ERROR_USAGE, errno, "cannot read %s: %s", path, strerror(errno));
    return end;
}

static void note_line(void *ctx, const struct json *line)
{
    note_next(ctx, json_text(json_get(line, "id")), json_text(json_get(line, "sha256")),
              json_int(json_get(line, "epoch"), 1), results_answered(line));
}

/* So that the next line begins one. */
static int end_last_line(const struct results *l, off_t end)
{
    char last = '\n';

    if (end > 0 && pread(l->fd, &last, 1, end - 1) < 0)
        return -1;
    return last == '\n' ? 0 : fd_write_all(l->fd, "\n", 1);
}

static int read_results(struct results *l, struct error *err)
{
    int copy = dup(l->fd);
    FILE *f = copy < 0 ? NULL : fdopen(copy, "r");

    if (!f) {
        fd_close(&copy);
        return error_errno(err, "%s", l->path);
    }
    off_t end = each_line(f, l->path, note_line, l, err);
    fclose(f);
    if (end < 0)
        return -1;
    if ((lseek(l->fd, 0, SEEK_END) != end && ftruncate(l->fd, end) < 0) || end_last_line(l, end) < 0)
        return error_errno(err, "%s", l->path);
    return 0;
}

struct results *results_open(const char *path, struct error *err)
{
    struct results *l = xcalloc(1, sizeof *l);
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;

    l->path = path;
    l->fd = open(path, flags | O_EXCL, 0600);
    l->made = l->fd >= 0;
    if (!l->made)
        l->fd = open(path, flags, 0600);
    int status = 0;
    if (l->fd < 0)
        status = error_set(err, ERROR_USAGE, errno, "cannot write %s: %s", path, strerror(errno));
    else if (flock(l->fd, LOCK_EX | LOCK_NB) < 0)
        status = error_set(err, ERROR_USAGE, 0, "%s: another batch is writing to it", path);
    else
        status = read_results(l, err);
    if (status == 0)
        return l;
    results_free(l);
    return NULL;
}

void results_free(struct results *l)
{
    if (!l)
        return;
    fd_close(&l->fd);
    free(l->v);
    free(l);
}

void results_give_up(struct results *l)
{
    if (l && l->made && lseek(l->fd, 0, SEEK_END) == 0)
        unlink(l->path);
    results_free(l);
}

int results_add(struct results *l, const struct json *line, const struct openai_shape *shape,
                struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    autojson struct json *other = shape ? openai_line(line, shape) : NULL;

    json_line(other ? other : line, &text);
    if (fd_write_all(l->fd, text.data, text.len) < 0)
        return error_errno(err, "%s", l->path);
    l->dirty = true;
    return 0;
}

int results_sync(struct results *l, struct error *err)
{
    if (l->dirty && fdatasync(l->fd) < 0 && errno != EINVAL && errno != EROFS)
        return error_errno(err, "%s", l->path);
    l->dirty = false;
    return 0;
}

struct chosen_lines {
    struct results known;
    size_t line;
    results_fn *fn;
    void *ctx;
};

static void give_if_last(void *ctx, const struct json *line)
{
    struct chosen_lines *c = ctx;
    const char *sha256 = json_text(json_get(line, "sha256"));
    const struct known *k = known_row(
        &c->known, row_key(json_text(json_get(line, "id")), sha256, json_int(json_get(line, "epoch"), 1)));

    if (k->line == ++c->line)
        c->fn(c->ctx, line);
}

int results_each(const char *path, results_fn *fn, void *ctx, struct error *err)
{
    struct chosen_lines c = {.fn = fn, .ctx = ctx};
    FILE *f = fopen(path, "re");

    if (!f)
        return error_set(err, ERROR_USAGE, errno, "cannot read %s: %s", path, strerror(errno));
    int status = each_line(f, path, note_line, &c.known, err) < 0 ? -1 : 0;
    if (status == 0 && c.known.n) {
        rewind(f);
        status = each_line(f, path, give_if_last, &c, err) < 0 ? -1 : 0;
    }
    free(c.known.v);
    fclose(f);
    return status;
}
