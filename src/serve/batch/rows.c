/* rows.c - finds where each row begins, and makes the question of one. */
#include "batch/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/fnv.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "batch/csv.h"
#include "conversation/conversation.h"
#include "conversation/task.h"
#include "json/json.h"

struct rows {
    struct buf text;
    const char *path, *what_is_asked; /* borrowed */
    struct argv columns;              /* of a CSV; none: JSON lines */
    char separator;
    size_t *at; /* where each row begins */
    size_t n, alloc;
};

void rows_row_release(struct row *r)
{
    free(r->id);
    json_free(r->ask);
    argv_release(&r->files);
    *r = (struct row){0};
}

uint64_t row_key(const char *id, const char *sha256, int64_t epoch)
{
    char number[32];

    snprintf(number, sizeof number, "%lld", (long long)epoch);
    return fnv1a(fnv1a(fnv1a(fnv1a(FNV_START, id), "\n"), sha256), number);
}

/* ---- the question ---- */

/* The value of a column or member as text, or NULL. The caller frees. */
static char *value_of(const struct json *o, const char *name, size_t len)
{
    autofree char *key = xmemdup0(name, len);
    const struct json *value = json_get(o, key);

    if (json_type(value) == JSON_STRING)
        return xstrdup(json_str(value));
    return json_type(value) == JSON_NUMBER || json_type(value) == JSON_BOOL ? json_print(value) : NULL;
}

static int fill_template(const char *template, const struct json *o, struct buf *out, struct error *err)
{
    for (const char *p = template; *p; p++) {
        if (*p != '{' || p[1] == '{') {
            buf_addch(out, *p);
            p += (*p == '{' || *p == '}') && p[1] == *p;
            continue;
        }
        size_t len = strcspn(p + 1, "}");
        autofree char *value = p[1 + len] ? value_of(o, p + 1, len) : NULL;
        if (!value)
            return error_set(err, ERROR_USAGE, 0,
                             "--template: there is no \"%.*s\" here\n"
                             "Write {NAME} with the name of a column; {{ stands for {",
                             (int)(len < 60 ? len : 60), p + 1);
        buf_addstr(out, value);
        p += len + 1;
    }
    return 0;
}

/* ---- OpenAI's batch lines ---- */

/* The text of a message: a string, or parts that are all text. */
static int message_text(const struct json *content, struct buf *out)
{
    if (json_str(content))
        return buf_addstr(out, json_str(content)) ? 0 : -1;
    if (json_type(content) != JSON_ARRAY)
        return -1;
    for (const struct json *part = json_first(content); part; part = json_next(part)) {
        const char *text = json_str(json_get(part, "text"));

        if (!text || !buf_addstr(out, text))
            return -1;
    }
    return 0;
}

/* One message goes to where it belongs. -1: it is none that can be asked. */
static int read_message(const struct json *m, bool last, struct json *ask, struct json *history,
                        struct buf *system)
{
    struct buf text autorelease(buf_release) = BUF_INIT(QUESTION_MAX);
    const char *role = json_text(json_get(m, "role"));
    bool user = !strcmp(role, "user");

    if (message_text(json_get(m, "content"), &text) < 0 || last != (last && user))
        return -1;
    if (last)
        json_set_str(ask, "input", buf_str(&text));
    else if (!strcmp(role, "system") || !strcmp(role, "developer"))
        buf_addf(system, "%s%s", system->len ? "\n\n" : "", buf_str(&text));
    else if (user || !strcmp(role, "assistant"))
        json_add(history, json_object_of({"role", json_string(role)}, {"text", json_string(buf_str(&text))}));
    else
        return -1;
    return 0;
}

/* The last message is the question, those before it are the conversation so far. */
static int read_messages(const struct json *messages, struct json *ask)
{
    struct buf system autorelease(buf_release) = BUF_INIT(QUESTION_MAX);
    struct json *history = json_array();
    int status = json_size(messages) ? 0 : -1;

    for (const struct json *m = json_first(messages); m && status == 0; m = json_next(m))
        status = read_message(m, !json_next(m), ask, history, &system);
    if (system.len)
        json_set_str(ask, "system", buf_str(&system));
    if (json_size(history))
        json_set(ask, "history", history);
    else
        json_free(history);
    return status;
}

static int read_openai(const struct json *o, struct row *r, struct error *err)
{
    const struct json *body = json_get(o, "body"), *input = json_get(body, "input");
    const char *url = json_text(json_get(o, "url"));
    int status = -1;

    r->ask = json_object();
    if (!strcmp(url, "/v1/chat/completions"))
        status = read_messages(json_get(body, "messages"), r->ask);
    else if (!strcmp(url, "/v1/responses") && json_type(input) == JSON_ARRAY)
        status = read_messages(input, r->ask);
    else if (!strcmp(url, "/v1/responses") && json_str(input))
        status = (json_set_str(r->ask, "input", json_str(input)), 0);
    if (status < 0)
        return error_set(
            err, ERROR_USAGE, 0,
            "only text messages for /v1/chat/completions or /v1/responses can be asked, the last of "
            "them the user's");
    if (json_str(json_get(body, "instructions")))
        json_set_str(r->ask, "system", json_str(json_get(body, "instructions")));
    if (json_str(json_get(body, "model")))
        json_set_str(r->ask, "model", json_str(json_get(body, "model")));
    r->id = value_of(o, "custom_id", strlen("custom_id"));
    r->responses = !strcmp(url, "/v1/responses");
    return 0;
}

/* ---- one row ---- */

static int read_task(const struct rows *rs, const char *text, size_t len, const struct json *o, struct row *r,
                     struct error *err)
{
    static const char *const beside[] = {"system", "model"};
    struct buf question autorelease(buf_release) = BUF_INIT(QUESTION_MAX);
    autojson struct json *filled = NULL;
    struct task t autorelease(task_release) = {0};

    if (rs->what_is_asked) {
        if (fill_template(rs->what_is_asked, o, &question, err) < 0)
            return -1;
        filled = json_copy(o);
        json_drop(filled, "Question");
        json_set_str(filled, "question", buf_str(&question));
    }
    autofree char *again = filled ? json_print(filled) : NULL;
    if (task_read("the row", again ? again : text, again ? strlen(again) : len, &t, err) < 0)
        return -1;
    r->ask = json_object_of({"input", json_string(t.question)});
    for (size_t i = 0; i < countof(beside); i++) {
        const char *value = json_str(json_get(o, beside[i]));

        if (value && *value)
            json_set_str(r->ask, beside[i], value);
    }
    r->id = json_type(t.id) == JSON_STRING ? xstrdup(json_str(t.id)) : t.id ? json_print(t.id) : NULL;
    r->files = t.files;
    t.files = (struct argv)ARGV_INIT;
    return 0;
}

/* A record of a CSV as the object that a JSON line would be. */
static struct json *record_object(const struct rows *rs, const char *at, struct error *err)
{
    struct argv fields autorelease(argv_release) = ARGV_INIT;
    const char *end = rs->text.data + rs->text.len;

    if (csv_next(&at, end, rs->separator, &fields) < 0)
        return error_null(err, ERROR_USAGE, 0, "a quoted field does not end");
    if (fields.n > rs->columns.n)
        return error_null(err, ERROR_USAGE, 0, "it has %zu fields, the header has %zu", fields.n,
                          rs->columns.n);
    struct json *o = json_object();
    for (size_t i = 0; i < rs->columns.n; i++)
        json_set_str(o, rs->columns.v[i], i < fields.n ? fields.v[i] : "");
    return o;
}

static int read_row(const struct rows *rs, size_t i, struct row *r, struct error *err)
{
    const char *at = rs->text.data + rs->at[i];
    size_t len = (size_t)(rs->text.data + rs->text.len - at);
    const char *end = memchr(at, '\n', len);

    *r = (struct row){0};
    len = end ? (size_t)(end - at) : len;
    autojson struct json *o = rs->columns.n ? record_object(rs, at, err) : json_parse(at, len, 0, NULL, err);
    if (!o)
        return -1;
    autofree char *text = rs->columns.n ? json_print(o) : xmemdup0(at, len);
    bool openai = json_type(json_get(o, "body")) == JSON_OBJECT;
    int status = openai ? read_openai(o, r, err) : read_task(rs, text, strlen(text), o, r, err);
    if (status == 0) {
        autojson struct json *files = json_array();

        for (size_t k = 0; k < r->files.n; k++)
            json_add(files, json_string(r->files.v[k]));
        autojson struct json *all = json_array_of(json_copy(r->ask), json_copy(files));
        autofree char *canonical = json_print(all);
        sha256_hex(canonical, strlen(canonical), r->sha256);
        if (!r->id || !*r->id)
            xreplace(&r->id, xasprintf("%zu", i + 1));
    } else {
        rows_row_release(r);
    }
    return status;
}

void rows_read(const struct rows *rs, size_t i, struct row *r)
{
    read_row(rs, i, r, NULL);
}

size_t rows_count(const struct rows *rs)
{
    return rs->n;
}

/* ---- all of them ---- */

static void note_row_at(struct rows *rs, const char *at)
{
    if (rs->n == rs->alloc) {
        rs->alloc = rs->alloc ? 2 * rs->alloc : 64;
        rs->at = xreallocarray(rs->at, rs->alloc, sizeof *rs->at);
    }
    rs->at[rs->n++] = (size_t)(at - rs->text.data);
}

static int find_records(struct rows *rs, const char *at, const char *end, struct error *err)
{
    rs->separator = csv_separator(at, (size_t)(end - at) < 4096 ? strcspn(at, "\n") : 4096);
    if (csv_next(&at, end, rs->separator, &rs->columns) < 0)
        return error_set(err, ERROR_USAGE, 0, "%s: the header is not that of a CSV", rs->path);
    while (at < end) {
        struct argv fields autorelease(argv_release) = ARGV_INIT;
        const char *from = at;

        int r = csv_next(&at, end, rs->separator, &fields);
        if (r < 0)
            return error_set(err, ERROR_USAGE, 0, "%s: a quoted field in row %zu does not end", rs->path,
                             rs->n + 1);
        if (r > 0)
            note_row_at(rs, from);
    }
    return 0;
}

static void find_lines(struct rows *rs, const char *at, const char *end)
{
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));

        next = next ? next + 1 : end;
        if ((size_t)strspn(at, " \t\r\n") < (size_t)(next - at))
            note_row_at(rs, at);
        at = next;
    }
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int read_ids(const struct rows *rs, uint64_t *ids, struct error *err)
{
    struct error why = {0};

    for (size_t i = 0; i < rs->n; i++) {
        struct row r autorelease(rows_row_release) = {0};

        if (read_row(rs, i, &r, &why) < 0)
            return error_set(
                err, ERROR_USAGE, 0, "%s, row %zu: %s%s", rs->path, i + 1, why.text,
                rs->what_is_asked || !rs->columns.n
                    ? ""
                    : "\n--template makes one of the columns: --template \"How old is {NAME}?\"");
        ids[i] = fnv1a(FNV_START, r.id);
    }
    return 0;
}

/* Reads each row once. */
static int check_rows(const struct rows *rs, struct error *err)
{
    uint64_t *ids = xcalloc(rs->n, sizeof *ids);
    int status = read_ids(rs, ids, err);
    bool twice = false;

    if (status == 0)
        qsort(ids, rs->n, sizeof *ids, compare_ids);
    for (size_t i = 0; i + 1 < rs->n && status == 0; i++)
        twice |= ids[i] == ids[i + 1];
    free(ids);
    return !twice ? status
                  : error_set(err, ERROR_USAGE, 0,
                              "%s: two rows have the same id\n"
                              "Give each an id of its own, or leave the ids out: rows are then counted",
                              rs->path);
}

static int read_rows_text(struct rows *rs, struct error *err)
{
    autoclose int fd = strcmp(rs->path, "-") ? open(rs->path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : dup(0);

    if (fd < 0)
        return error_set(err, ERROR_USAGE, errno, "cannot read %s: %s", rs->path, strerror(errno));
    if (file_read_open(fd, rs->path, ROWS_BYTES_MAX, &rs->text, err) == 0)
        return 0;
    err->kind = ERROR_USAGE; /* a folder, too */
    return -1;
}

struct rows *rows_open(const char *path, const char *what_is_asked, struct error *err)
{
    struct rows *rs = xcalloc(1, sizeof *rs);

    *rs = (struct rows){.path = path, .what_is_asked = what_is_asked, .text = BUF_INIT(0)};
    int status = read_rows_text(rs, err);
    if (status == 0) {
        const char *at = buf_str(&rs->text), *end = at + rs->text.len;

        at += rs->text.len >= 3 && !memcmp(at, "\xef\xbb\xbf", 3) ? 3 : 0;
        if (task_is(at, (size_t)(end - at)))
            find_lines(rs, at, end);
        else
            status = find_records(rs, at, end, err);
    }
    if (status == 0 && rs->n == 0)
        status = error_set(err, ERROR_USAGE, 0,
                           "%s has no questions\nIt must be a CSV with a header, or a JSON object a line",
                           path);
    if (status == 0)
        status = check_rows(rs, err);
    if (status == 0)
        return rs;
    rows_free(rs);
    return NULL;
}

void rows_free(struct rows *rs)
{
    if (!rs)
        return;
    buf_release(&rs->text);
    argv_release(&rs->columns);
    free(rs->at);
    free(rs);
}
