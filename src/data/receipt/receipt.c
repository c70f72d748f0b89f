/* receipt.c - the lists of a receipt, and the receipt as JSON. */
#include "receipt/receipt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "conversation/language.h"
#include "json/json.h"

/* Room for one more in a list of n elements of that size. Returns the new one, zeroed. */
static void *list_grow(void **list, size_t *n, size_t size)
{
    *list = xreallocarray(*list, *n + 1, size);
    return memset((char *)*list + (*n)++ * size, 0, size);
}

struct receipt_question *receipt_add_question(struct receipt *r)
{
    return list_grow((void **)&r->questions, &r->n_questions, sizeof *r->questions);
}

struct receipt_file *receipt_add_data(struct receipt *r)
{
    return list_grow((void **)&r->data, &r->n_data, sizeof *r->data);
}

struct receipt_piece *receipt_add_piece(struct receipt *r)
{
    return list_grow((void **)&r->pieces, &r->n_pieces, sizeof *r->pieces);
}

struct receipt_file *receipt_add_file(struct receipt_piece *p)
{
    return list_grow((void **)&p->files, &p->n_files, sizeof *p->files);
}

struct receipt_place *receipt_add_place(struct receipt *r)
{
    return list_grow((void **)&r->places, &r->n_places, sizeof *r->places);
}

static void release_files(struct receipt_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(files[i].name);
    free(files);
}

static void release_piece(struct receipt_piece *p)
{
    free(p->code);
    free(p->out[0]);
    free(p->out[1]);
    free(p->value);
    free(p->exception);
    release_files(p->files, p->n_files);
}

static void release_place(struct receipt_place *p)
{
    free(p->engine);
    free(p->image);
    free(p->runtime);
    free(p->python);
    free(p->sandpiper);
    argv_release(&p->packages);
    free(p->lock);
}

void receipt_release(struct receipt *r)
{
    for (size_t i = 0; i < r->n_questions; i++) {
        free(r->questions[i].text);
        free(r->questions[i].model);
        free(r->questions[i].service);
        free(r->questions[i].answer);
    }
    for (size_t i = 0; i < r->n_pieces; i++)
        release_piece(&r->pieces[i]);
    for (size_t i = 0; i < r->n_places; i++)
        release_place(&r->places[i]);
    release_files(r->data, r->n_data);
    free(r->questions);
    free(r->pieces);
    free(r->places);
    free(r->session);
    free(r->sandpiper);
    *r = (struct receipt){0};
}

static bool both(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool receipt_same_place(const struct receipt_place *a, const struct receipt_place *b)
{
    return both(a->engine, b->engine) && both(a->image, b->image) && both(a->runtime, b->runtime)
           && both(a->sandpiper, b->sandpiper) && both(a->lock, b->lock);
}

/* In place of another version, where another program imported one. */
static void add_package(struct receipt_place *p, const char *line, size_t n)
{
    autofree char *own = xmemdup0(line, n);
    size_t name = strcspn(own, " ");

    if (name == n)
        return;
    if (!strncmp(own, "python ", 7)) {
        xreplace(&p->python, xstrdup(own + 7));
        return;
    }
    for (size_t i = 0; i < p->packages.n; i++)
        if (!strncmp(p->packages.v[i], own, name + 1)) {
            xreplace(&p->packages.v[i], steal(&own));
            return;
        }
    if (p->packages.n < RECEIPT_PACKAGES)
        argv_push(&p->packages, own);
}

void receipt_add_packages(struct receipt_place *p, const char *lines)
{
    while (lines && *lines) {
        size_t n = strcspn(lines, "\n");

        add_package(p, lines, n);
        lines += n + (lines[n] == '\n');
    }
}

/* ---- as JSON */

/* "2026-11-27T03:36:00Z", or null */
static struct json *time_json(int64_t seconds)
{
    time_t when = (time_t)seconds;
    struct tm tm;
    char text[40];

    if (!seconds || !gmtime_r(&when, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
        return json_null();
    return json_string(text);
}

static struct json *question_json(const struct receipt_question *q)
{
    return json_object_of({"text", json_string(q->text)}, {"time", time_json(q->time)},
                          {"model", json_string(q->model)}, {"service", json_string(q->service)},
                          {"answer", json_string(q->answer)});
}

static const char *kind_name(enum file_kind kind)
{
    return kind == FILE_MADE ? "file" : kind == FILE_FIGURE || kind == FILE_FIGURE_FORM ? "figure" : "value";
}

static struct json *file_json(const struct receipt_file *f)
{
    return json_object_of({"name", json_string(f->name)}, {"size", json_integer(f->size)},
                          {"sha256", *f->sha256 ? json_string(f->sha256) : json_null()});
}

static struct json *piece_json(const struct receipt_piece *p)
{
    struct json *files = json_array();

    for (size_t i = 0; i < p->n_files; i++)
        json_add(files,
                 json_set_all(file_json(&p->files[i]), {"kind", json_string(kind_name(p->files[i].kind))}));
    struct json *o = json_object_of({"code", json_string(p->code)});

    if (!language_is_python(p->language))
        json_set_str(o, "language", p->language->tags[0]);
    return json_set_all(o, {"question", p->question ? json_integer((int64_t)p->question) : json_null()},
                        {"own", json_boolean(p->own)}, {"restart", json_boolean(p->restart)},
                        {"status", json_string(cell_status_name(p->status))},
                        {"exception", json_string(p->exception)}, {"stdout", json_string(p->out[0])},
                        {"stderr", json_string(p->out[1])}, {"value", json_string(p->value)},
                        {"files", files});
}

static struct json *place_json(const struct receipt_place *p)
{
    struct json *packages = json_object();

    for (size_t i = 0; i < p->packages.n; i++) {
        const char *line = p->packages.v[i];
        size_t n = strcspn(line, " ");
        autofree char *name = xmemdup0(line, n);

        json_set_str(packages, name, line[n] ? line + n + 1 : "");
    }
    struct json *o = json_object_of({"piece", json_integer((int64_t)p->piece)},
                                    {"engine", json_string(p->engine)}, {"image", json_string(p->image)},
                                    {"runtime", json_string(p->runtime)}, {"python", json_string(p->python)},
                                    {"packages", packages}, {"sandpiper", json_string(p->sandpiper)});

    if (p->lock)
        json_set_str(o, "lock", p->lock);
    return o;
}

struct json *receipt_json(const struct receipt *r)
{
    struct json *questions = json_array(), *data = json_array(), *code = json_array(), *places = json_array();

    for (size_t i = 0; i < r->n_questions; i++)
        json_add(questions, question_json(&r->questions[i]));
    for (size_t i = 0; i < r->n_data; i++)
        json_add(data,
                 json_set_all(file_json(&r->data[i]), {"piece", json_integer((int64_t)r->data[i].piece)}));
    for (size_t i = 0; i < r->n_pieces; i++)
        json_add(code, piece_json(&r->pieces[i]));
    for (size_t i = 0; i < r->n_places; i++)
        json_add(places, place_json(&r->places[i]));
    return json_object_of({"receipt", json_integer(RECEIPT_VERSION)}, {"made", time_json(r->made)},
                          {"sandpiper", json_string(r->sandpiper)}, {"session", json_string(r->session)},
                          {"questions", questions}, {"data", data}, {"code", code}, {"places", places});
}
