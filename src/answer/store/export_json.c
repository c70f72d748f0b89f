/* export_json.c - a session as one JSON object with everything that is saved of it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conversation/cell_json.h"
#include "json/json.h"
#include "store/export.h"

struct json_export {
    struct buf *out;
    struct json *session, *questions, *question, *items; /* session owns the others once they are done */
};

static void *json_begin(struct buf *out, const char *sessions)
{
    struct json_export *s = xmalloc(sizeof *s);

    (void)sessions;
    *s = (struct json_export){.out = out};
    return s;
}

/* What is saved of a result, as far as it is needed here: all strings stay the item's. */
static struct cell_result saved_result(const struct item *i)
{
    bool known = i->status >= 0;

    return (struct cell_result){.status = known ? (enum cell_status)i->status : CELL_DIED,
                                .value = (char *)i->value,
                                .exception = (char *)i->exception,
                                .traceback = (char *)i->traceback,
                                .what = known ? (char *)i->what : (char *)export_trouble(i),
                                .exit_code = known ? i->exit_code : 137,
                                .state_lost = i->lost,
                                .seconds = i->seconds};
}

static void add_cell_files(struct json *cell, const struct item *i)
{
    struct cell_file *files = xcalloc(i->n_files + 1, sizeof *files);

    for (size_t k = 0; k < i->n_files; k++)
        files[k] = (struct cell_file){.name = i->files[k].name,
                                      .path = i->files[k].path,
                                      .size = (uint64_t)i->files[k].size,
                                      .kind = i->files[k].kind};
    cell_json_files(cell, &(struct cell_result){.files = files, .n_files = i->n_files});
    free(files);
}

/* As --json and a server have it. Of a value there is its text; its other forms are files. */
static struct json *cell_object(const struct item *i)
{
    const struct cell_result r = saved_result(i);
    struct json *o = json_object_of({"type", json_string("cell")}, {"cell", json_integer(i->number)},
                                    {"own", json_boolean(i->own)}, {"code", json_string(i->code)});
    struct cell_text text;

    if (*i->language)
        json_set_str(o, "language", i->language);
    cell_text_init(&text);
    for (size_t k = 0; k < i->n_outputs; k++)
        cell_text_add(&text, i->outputs[k].stream, i->outputs[k].text, strlen(i->outputs[k].text));
    cell_json(o, &r);
    cell_text_json(o, &text, i->value);
    add_cell_files(o, i);
    json_drop(o, "state_restored"); /* these are not saved */
    json_drop(o, "notices");
    cell_text_release(&text);
    return o;
}

struct json *session_json(const struct session_row *r)
{
    return json_object_of({"id", json_string(r->id)}, {"title", json_string(r->title)},
                          {"folder", json_string(r->folder)}, {"model", json_string(r->model)},
                          {"copy_of", json_string(r->parent)}, {"begun", json_integer(r->begun)},
                          {"used", json_integer(r->used)});
}

/* The user's own code may come before the first question. */
static void open_question(struct json_export *s, int64_t number, const char *text, int64_t time)
{
    s->items = json_array();
    s->question = json_object_of({"question", json_integer(number)}, {"text", json_string(text)},
                                 {"time", time ? json_integer(time) : json_null()});
}

static void close_question(struct json_export *s)
{
    if (!s->question)
        return;
    json_set(s->question, "items", steal(&s->items));
    json_add(s->questions, steal(&s->question));
}

static void json_item(void *ctx, const struct item *i)
{
    struct json_export *s = ctx;

    if (i->kind == ITEM_SESSION) {
        s->session = session_json(i->session);
        s->questions = json_array();
        return;
    }
    if (i->kind == ITEM_QUESTION) {
        close_question(s);
        open_question(s, i->number, i->text, i->time);
        return;
    }
    if (!s->question)
        open_question(s, 0, NULL, 0);
    if (i->kind == ITEM_CELL)
        json_add(s->items, cell_object(i));
    else if (i->kind == ITEM_TEXT)
        json_add(s->items, json_object_of({"type", json_string(i->answer ? "answer" : "text")},
                                          {"text", json_string(i->text)}));
    else
        json_set_str(s->question, "error", i->text);
}

static void json_end(void *ctx)
{
    struct json_export *s = ctx;

    if (s->session) {
        close_question(s);
        json_set(s->session, "questions", s->questions);
        json_line(s->session, s->out);
        json_free(s->session);
    }
    free(s);
}

const struct export_format export_json = {"json", true, json_begin, json_item, json_end};
