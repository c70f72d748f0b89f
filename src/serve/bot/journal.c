/* journal.c - files of JSON, each written whole, and the lines of what was answered. */
#include "bot/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"

#define FILE_MAX     (4u << 20)
#define ANSWERED_MAX (16u << 20)  /* bytes that are read of what was answered */
#define KEPT_LINES   10000        /* of what was answered; twice as many for a while */
#define KEPT_S       (30 * 86400) /* of a conversation in which nothing is said */

struct journal {
    char *dir;
    int lock, answered;  /* answered: the file, open for appending */
    struct json **lines; /* what it holds, the oldest first */
    size_t n, alloc;
};

static const char question_kind[] = "question";

static char *path_of(const struct journal *jl, const char *kind, const char *name)
{
    return xasprintf("%s/%s-%s.json", jl->dir, kind, name);
}

/* ---- what was answered ---- */

static void keep_line(struct journal *jl, struct json *line)
{
    if (jl->n == jl->alloc) {
        jl->alloc = jl->alloc ? 2 * jl->alloc : 64;
        jl->lines = xreallocarray(jl->lines, jl->alloc, sizeof *jl->lines);
    }
    jl->lines[jl->n++] = line;
}

/* A line that a killed process left unfinished is no JSON, and its question is still there. */
static int read_answered(struct journal *jl, const char *path, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(ANSWERED_MAX);
    struct error why = {0};

    if (file_read(path, ANSWERED_MAX, &text, &why) < 0 && why.code != ENOENT) {
        *err = why;
        return -1;
    }
    for (const char *line = buf_str(&text); *line; line += strcspn(line, "\n"), line += *line == '\n') {
        struct json *j = json_parse(line, strcspn(line, "\n"), 0, NULL, NULL);

        if (json_str(json_get(j, "id")))
            keep_line(jl, j);
        else
            json_free(j);
    }
    return 0;
}

static void forget_oldest_lines(struct journal *jl)
{
    size_t drop = jl->n > KEPT_LINES ? jl->n - KEPT_LINES : 0;

    for (size_t i = 0; i < drop; i++)
        json_free(jl->lines[i]);
    if (drop)
        memmove(jl->lines, jl->lines + drop, (jl->n -= drop) * sizeof *jl->lines);
}

/* The name between "KIND-" and ".json" as an owned string; NULL: it is another file. */
static char *name_in(const char *file, const char *kind)
{
    size_t k = strlen(kind), len = strlen(file);
    bool is = len > k + 6 && !strncmp(file, kind, k) && file[k] == '-' && !strcmp(file + len - 5, ".json");

    return is ? xmemdup0(file + k + 1, len - k - 6) : NULL;
}

static void forget_old_conversations(const struct journal *jl)
{
    autoclosedir DIR *d = opendir(jl->dir);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        autofree char *name = name_in(e->d_name, JOURNAL_CONVERSATION),
                      *path = xasprintf("%s/%s", jl->dir, e->d_name);
        struct stat st;

        if (name && stat(path, &st) == 0 && st.st_mtime < time(NULL) - KEPT_S)
            unlink(path);
    }
}

/* It is written anew, so that it stays short and ends with a line's end. */
static int write_answered(struct journal *jl, const char *path, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    forget_oldest_lines(jl);
    forget_old_conversations(jl);
    for (size_t i = 0; i < jl->n; i++)
        json_line(jl->lines[i], &text);
    if (file_write(path, buf_str(&text), text.len, err) < 0)
        return -1;
    fd_close(&jl->answered);
    jl->answered = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return jl->answered < 0 ? error_errno(err, "%s", path) : 0;
}

static int open_answered(struct journal *jl, struct error *err)
{
    autofree char *path = xasprintf("%s/answered", jl->dir);

    return read_answered(jl, path, err) < 0 ? -1 : write_answered(jl, path, err);
}

static int add_answered(struct journal *jl, const struct json *line, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    struct stat st;

    json_line(line, &text);
    if (fstat(jl->answered, &st) < 0)
        return error_errno(err, "%s/answered", jl->dir);
    if (fd_write_all(jl->answered, text.data, text.len) == 0 && fdatasync(jl->answered) == 0)
        return 0;
    error_errno(err, "%s/answered", jl->dir);
    if (ftruncate(jl->answered, st.st_size) < 0) /* half a line would spoil the next one */
        error_wrap(err, "and the line cannot be taken back");
    return -1;
}

int journal_answered(struct journal *jl, const struct json *line, struct error *err)
{
    const char *id = json_text(json_get(line, "id"));
    autofree char *path = path_of(jl, question_kind, id), *folder = journal_folder(jl, id);

    if (add_answered(jl, line, err) < 0)
        return -1;
    keep_line(jl, json_copy(line));
    unlink(path);
    file_remove_tree(folder);
    if (jl->n < 2 * KEPT_LINES)
        return 0;
    autofree char *answered = xasprintf("%s/answered", jl->dir);
    return write_answered(jl, answered, err);
}

bool journal_has_answered(const struct journal *jl, const char *id)
{
    for (size_t i = jl->n; i > 0; i--)
        if (!strcmp(json_text(json_get(jl->lines[i - 1], "id")), id))
            return true;
    return false;
}

const char *journal_conversation_of(const struct journal *jl, const char *posted)
{
    for (size_t i = jl->n; i > 0; i--)
        for (const struct json *p = json_first(json_get(jl->lines[i - 1], "posted")); p; p = json_next(p))
            if (!strcmp(json_text(p), posted))
                return json_str(json_get(jl->lines[i - 1], "conversation"));
    return NULL;
}

void journal_since(const struct journal *jl, int64_t when, void (*fn)(void *ctx, const struct json *line),
                   void *ctx)
{
    for (size_t i = jl->n; i > 0 && json_int(json_get(jl->lines[i - 1], "at"), 0) >= when; i--)
        fn(ctx, jl->lines[i - 1]);
}

/* ---- files ---- */

/* *out NULL: it holds no JSON. */
static int read_json_file(const char *path, struct json **out, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(FILE_MAX);

    *out = NULL;
    if (file_read(path, FILE_MAX, &text, err) < 0)
        return -1;
    *out = json_parse(buf_str(&text), text.len, 0, NULL, NULL);
    return 0;
}

struct json *journal_read(const struct journal *jl, const char *kind, const char *name)
{
    autofree char *path = path_of(jl, kind, name);
    struct json *j;

    (void)read_json_file(path, &j, NULL);
    return j;
}

/* What could not be read again is not written: the file stays as it is. */
static char *fitting_text(const struct json *j, struct error *err)
{
    char *text = json_print(j);

    if (strlen(text) <= FILE_MAX)
        return text;
    free(text);
    return error_null(err, ERROR_LIMIT, 0, "it is longer than %u MiB", FILE_MAX >> 20);
}

int journal_write(const struct journal *jl, const char *kind, const char *name, const struct json *j,
                  struct error *err)
{
    autofree char *path = path_of(jl, kind, name), *text = fitting_text(j, err);

    return text ? file_write_soon(path, text, strlen(text), err) : -1;
}

int journal_question(struct journal *jl, const char *id, const struct json *question, struct error *err)
{
    autofree char *path = path_of(jl, question_kind, id), *text = fitting_text(question, err);

    return text ? file_write(path, text, strlen(text), err) : -1;
}

char *journal_folder(const struct journal *jl, const char *id)
{
    return xasprintf("%s/%s-%s.files", jl->dir, question_kind, id);
}

static int compare_journal_ids(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t m = strlen(x), n = strlen(y);

    return m != n ? (m < n ? -1 : 1) : strcmp(x, y); /* ids grow with time */
}

/* One that cannot be read is not one that is not there. */
struct json *journal_questions(struct journal *jl, struct error *err)
{
    autojson struct json *out = json_array();
    struct argv ids autorelease(argv_release) = ARGV_INIT;
    autoclosedir DIR *d = opendir(jl->dir);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        autofree char *id = name_in(e->d_name, question_kind);

        if (id)
            argv_push(&ids, id);
    }
    if (ids.n)
        qsort(ids.v, ids.n, sizeof *ids.v, compare_journal_ids);
    for (size_t i = 0; i < ids.n; i++) {
        autofree char *path = path_of(jl, question_kind, ids.v[i]), *folder = journal_folder(jl, ids.v[i]);
        autojson struct json *qn = NULL;

        if (read_json_file(path, &qn, err) < 0)
            return NULL;
        if (!strcmp(json_text(json_get(qn, "id")), ids.v[i]) && !journal_has_answered(jl, ids.v[i])) {
            json_add(out, steal(&qn));
            continue;
        }
        unlink(path);
        file_remove_tree(folder);
    }
    return steal(&out);
}

/* ---- the folder ---- */

static int lock_journal(struct journal *jl, struct error *err)
{
    autofree char *path = xasprintf("%s/lock", jl->dir);

    jl->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (jl->lock < 0)
        return error_errno(err, "%s", path);
    if (flock(jl->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK ? error_set(
               err, ERROR_USAGE, 0,
               "another process runs this bot already (%s is locked), and two would answer twice\n"
               "End that one first.",
               path)
                                : error_errno(err, "%s", path);
}

struct journal *journal_open(const char *service, const char *account, struct error *err)
{
    struct journal *jl = xcalloc(1, sizeof *jl);
    autofree char *state = xdg_path(XDG_STATE, "bot");

    jl->lock = jl->answered = -1;
    jl->dir = state ? xasprintf("%s/%s-%s", state, service, account) : NULL;
    if (!state)
        error_set(err, ERROR_SYSTEM, 0, "there is no home folder, so nothing can be kept of what was asked");
    if (!state || file_mkdirs(jl->dir, 0700, err) < 0 || lock_journal(jl, err) < 0
        || open_answered(jl, err) < 0) {
        journal_close(jl);
        return NULL;
    }
    return jl;
}

void journal_close(struct journal *jl)
{
    if (!jl)
        return;
    for (size_t i = 0; i < jl->n; i++)
        json_free(jl->lines[i]);
    free(jl->lines);
    fd_close(&jl->answered);
    fd_close(&jl->lock);
    free(jl->dir);
    free(jl);
}
