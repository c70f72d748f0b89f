/* receipt_read.c - reads a receipt, which may be anybody's. Members that are not known are passed over: a
 * later version may have more of them. What is known must be as it is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "json/json.h"
#include "receipt/receipt.h"

#define NAME_BYTES 1000
#define WORD_BYTES 1000 /* of a version, an engine, a model */

/* Where in the receipt something is wrong: "code[2]". at is empty in the outermost object. */
struct receipt_reader {
    struct error *err;
    char at[64];
};

/* member "": all of it */
static int wrong(const struct receipt_reader *r, const char *member, const char *what)
{
    return error_set(r->err, ERROR_USAGE, 0, "not a valid receipt: %s%s%s %s", r->at,
                     *r->at && *member ? "." : "", member, what);
}

/* A string of at most most bytes, or null where optional. Written to *out, which may have been set. */
static int receipt_text(const struct receipt_reader *r, const struct json *o, const char *key, size_t most,
                        bool optional, char **out)
{
    const struct json *j = json_get(o, key);
    const char *text = json_str(j);

    if (!text && optional && json_type(j) == JSON_NULL)
        return 0;
    if (!text)
        return wrong(r, key, optional ? "is neither a string nor null" : "is no string");
    if (strlen(text) > most)
        return wrong(r, key, "is too long");
    xreplace(out, xstrdup(text));
    return 0;
}

/* An integer from least to most. */
static int receipt_number(const struct receipt_reader *r, const struct json *o, const char *key,
                          int64_t least, int64_t most, int64_t *out)
{
    const struct json *j = json_get(o, key);

    if (json_type(j) != JSON_NUMBER)
        return wrong(r, key, "is no number");
    *out = json_int(j, least - 1);
    return *out < least || *out > most ? wrong(r, key, "is out of range") : 0;
}

static int receipt_bool(const struct receipt_reader *r, const struct json *o, const char *key, bool *out)
{
    const struct json *j = json_get(o, key);

    if (json_type(j) != JSON_BOOL)
        return wrong(r, key, "is neither true nor false");
    *out = json_bool(j, false);
    return 0;
}

static int receipt_time(const struct receipt_reader *r, const struct json *o, const char *key, int64_t *out)
{
    autofree char *text = NULL;
    struct tm tm = {0};

    if (receipt_text(r, o, key, 40, true, &text) < 0)
        return -1;
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : "";
    if (!end || *end)
        return wrong(r, key, "is no time such as 2026-11-27T03:36:00Z");
    *out = text ? (int64_t)timegm(&tm) : 0;
    return 0;
}

/* Each element of the list goes to fn, with where it stands in at. */
static int each(const struct receipt_reader *r, const struct json *o, const char *key, size_t most,
                int (*fn)(const struct receipt_reader *r, const struct json *o, void *ctx), void *ctx)
{
    const struct json *list = json_get(o, key);
    struct receipt_reader own = {.err = r->err};
    size_t i = 0;

    if (json_type(list) != JSON_ARRAY)
        return wrong(r, key, "is no list");
    if (json_size(list) > most)
        return wrong(r, key, "has too many elements");
    for (const struct json *e = json_first(list); e; e = json_next(e)) {
        snprintf(own.at, sizeof own.at, "%.24s%s%.16s[%zu]", r->at, *r->at ? "." : "", key, i++);
        if (json_type(e) != JSON_OBJECT)
            return wrong(&own, "", "is no object");
        if (fn(&own, e, ctx) < 0)
            return -1;
    }
    return 0;
}

/* ---- files */

static bool has_control(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            return true;
    return false;
}

/* A path that leads to no other place than below the folder it is taken from. */
static bool stays_below(const char *name)
{
    while (true) {
        size_t n = strcspn(name, "/");

        if (n == 0 || (n == 1 && *name == '.') || (n == 2 && !memcmp(name, "..", 2)))
            return false;
        if (!name[n])
            return true;
        name += n + 1;
    }
}

static bool is_digest(const char *s)
{
    return strlen(s) == SHA256_HEX - 1 && strspn(s, "0123456789abcdef") == SHA256_HEX - 1;
}

static int read_file(const struct receipt_reader *r, const struct json *o, struct receipt_file *f)
{
    autofree char *digest = NULL;

    if (receipt_text(r, o, "name", NAME_BYTES, false, &f->name) < 0
        || receipt_number(r, o, "size", 0, INT64_C(1) << 50, &f->size) < 0
        || receipt_text(r, o, "sha256", WORD_BYTES, true, &digest) < 0)
        return -1;
    if (!stays_below(f->name) || has_control(f->name))
        return wrong(r, "name", "is no name of a file below /mnt/data");
    if (digest && !is_digest(digest))
        return wrong(r, "sha256", "is not 64 hexadecimal digits");
    if (digest)
        memcpy(f->sha256, digest, SHA256_HEX);
    return 0;
}

static int read_made(const struct receipt_reader *r, const struct json *o, void *piece)
{
    static const struct {
        const char *name;
        enum file_kind kind;
    } kinds[] = {{"file", FILE_MADE}, {"figure", FILE_FIGURE}, {"value", FILE_VALUE_PNG}};
    struct receipt_file *f = receipt_add_file(piece);
    const char *kind = json_text(json_get(o, "kind"));

    for (size_t i = 0; i < countof(kinds); i++)
        if (!strcmp(kinds[i].name, kind)) {
            f->kind = kinds[i].kind;
            return read_file(r, o, f);
        }
    return wrong(r, "kind", "is none of file, figure and value");
}

static int read_data(const struct receipt_reader *r, const struct json *o, void *receipt)
{
    struct receipt *all = receipt;
    struct receipt_file *f = receipt_add_data(all);
    int64_t piece;

    if (read_file(r, o, f) < 0 || receipt_number(r, o, "piece", 1, RECEIPT_PIECES + 1, &piece) < 0)
        return -1;
    f->piece = (size_t)piece;
    return 0;
}

/* ---- the rest */

static int read_question(const struct receipt_reader *r, const struct json *o, void *receipt)
{
    struct receipt_question *q = receipt_add_question(receipt);

    return receipt_text(r, o, "text", RECEIPT_BYTES, false, &q->text) < 0
                   || receipt_time(r, o, "time", &q->time) < 0
                   || receipt_text(r, o, "model", WORD_BYTES, true, &q->model) < 0
                   || receipt_text(r, o, "service", WORD_BYTES, true, &q->service) < 0
                   || receipt_text(r, o, "answer", RECEIPT_BYTES, true, &q->answer) < 0
               ? -1
               : 0;
}

static int read_status(const struct receipt_reader *r, const struct json *o, enum cell_status *out)
{
    const char *status = json_text(json_get(o, "status"));

    for (int s = CELL_OK; s <= CELL_OUTPUT; s++)
        if (s != CELL_INTERRUPTED && s != CELL_NOT_RUN
            && !strcmp(status, cell_status_name((enum cell_status)s))) {
            *out = (enum cell_status)s;
            return 0;
        }
    return wrong(r, "status", "is none that code can have");
}

/* It may be left out: Python. */
static int read_language(const struct receipt_reader *r, const struct json *o, const struct language **out)
{
    const struct json *name = json_get(o, "language");

    if (!name)
        return 0;
    if (!json_str(name) || !(*out = language_of_tag(json_str(name), strlen(json_str(name)))))
        return wrong(r, "language", "is none that this sandpiper runs");
    return 0;
}

static int read_piece(const struct receipt_reader *r, const struct json *o, void *receipt)
{
    struct receipt *all = receipt;
    struct receipt_piece *p = receipt_add_piece(all);
    int64_t question = 0;

    if (json_type(json_get(o, "question")) != JSON_NULL
        && receipt_number(r, o, "question", 1, (int64_t)all->n_questions, &question) < 0)
        return -1;
    p->question = (size_t)question;
    return receipt_text(r, o, "code", RECEIPT_CODE_BYTES, false, &p->code) < 0
                   || read_language(r, o, &p->language) < 0 || receipt_bool(r, o, "own", &p->own) < 0
                   || receipt_bool(r, o, "restart", &p->restart) < 0 || read_status(r, o, &p->status) < 0
                   || receipt_text(r, o, "exception", RECEIPT_BYTES, true, &p->exception) < 0
                   || receipt_text(r, o, "stdout", RECEIPT_BYTES, false, &p->out[0]) < 0
                   || receipt_text(r, o, "stderr", RECEIPT_BYTES, false, &p->out[1]) < 0
                   || receipt_text(r, o, "value", RECEIPT_BYTES, true, &p->value) < 0
                   || each(r, o, "files", RECEIPT_FILES, read_made, p) < 0
               ? -1
               : 0;
}

static int read_packages(const struct receipt_reader *r, const struct json *packages, struct argv *out)
{
    if (json_type(packages) != JSON_OBJECT)
        return wrong(r, "packages", "is no object");
    if (json_size(packages) > RECEIPT_PACKAGES)
        return wrong(r, "packages", "has too many members");
    for (const struct json *p = json_first(packages); p; p = json_next(p)) {
        const char *name = json_key(p), *version = json_str(p);

        if (!version || strlen(version) > WORD_BYTES || strlen(name) > WORD_BYTES || !*name
            || strchr(name, ' '))
            return wrong(r, "packages", "has a member that is no package with its version");
        argv_pushf(out, "%s %s", name, version);
    }
    return 0;
}

static int read_place(const struct receipt_reader *r, const struct json *o, void *receipt)
{
    struct receipt_place *p = receipt_add_place(receipt);
    int64_t piece;

    if (receipt_number(r, o, "piece", 1, RECEIPT_PIECES, &piece) < 0
        || receipt_text(r, o, "engine", WORD_BYTES, true, &p->engine) < 0
        || receipt_text(r, o, "image", WORD_BYTES, true, &p->image) < 0
        || receipt_text(r, o, "runtime", WORD_BYTES, true, &p->runtime) < 0
        || receipt_text(r, o, "python", WORD_BYTES, true, &p->python) < 0
        || receipt_text(r, o, "sandpiper", WORD_BYTES, true, &p->sandpiper) < 0)
        return -1;
    p->piece = (size_t)piece;
    if (json_get(o, "lock") && receipt_text(r, o, "lock", RECEIPT_LOCK, true, &p->lock) < 0)
        return -1;
    return read_packages(r, json_get(o, "packages"), &p->packages);
}

int receipt_read(const char *text, size_t len, struct receipt *out, struct error *err)
{
    struct error why = {0};
    const struct receipt_reader r = {.err = err};
    int64_t version;

    if (len > RECEIPT_BYTES)
        return error_set(err, ERROR_USAGE, 0, "not a valid receipt: it is larger than %u MiB",
                         RECEIPT_BYTES >> 20);
    autojson struct json *o = json_parse(text, len, JSON_LONG, NULL, &why);
    if (!o)
        return error_set(err, ERROR_USAGE, 0, "not a valid receipt: %s", why.text);
    if (json_type(o) != JSON_OBJECT || !json_get(o, "receipt"))
        return error_set(
            err, ERROR_USAGE, 0,
            "not a receipt of sandpiper\nsandpiper receipt > FILE makes one of the last session.");
    if (receipt_number(&r, o, "receipt", 1, INT64_C(1) << 50, &version) < 0)
        return -1;
    if (version > RECEIPT_VERSION)
        return error_set(err, ERROR_USAGE, 0,
                         "this receipt has version %lld of its format, which is newer than this sandpiper\n"
                         "Run it again with a newer one.",
                         (long long)version);
    return receipt_time(&r, o, "made", &out->made) < 0
                   || receipt_text(&r, o, "sandpiper", WORD_BYTES, false, &out->sandpiper) < 0
                   || receipt_text(&r, o, "session", WORD_BYTES, false, &out->session) < 0
                   || each(&r, o, "questions", RECEIPT_QUESTIONS, read_question, out) < 0
                   || each(&r, o, "data", RECEIPT_DATA, read_data, out) < 0
                   || each(&r, o, "code", RECEIPT_PIECES, read_piece, out) < 0
                   || each(&r, o, "places", RECEIPT_PLACES, read_place, out) < 0
               ? -1
               : 0;
}
