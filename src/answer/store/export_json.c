/* export_json.c - a session as one JSON object with everything that is saved of it. */
#include "json/json.h"
#include "base/mem.h"
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

static struct json *cell_object(const struct item *i)
{
    struct json *outputs = json_array(), *files = json_array();

    for (size_t k = 0; k < i->n_outputs; k++)
        json_add(outputs,
                 json_object_of({"stream", json_string(i->outputs[k].stream == 2 ? "stderr" : "stdout")},
                                {"text", json_string(i->outputs[k].text)}));
    for (size_t k = 0; k < i->n_files; k++) {
        const struct item_file *f = &i->files[k];

        json_add(files, json_object_of(
                            {"name", json_string(f->name)}, {"path", json_string(f->path)},
                            {"size", json_integer(f->size)},
                            {"figure", json_boolean(f->kind == FILE_FIGURE || f->kind == FILE_VALUE_PNG)}));
    }
    return json_object_of(
        {"type", json_string("cell")}, {"cell", json_integer(i->number)}, {"own", json_boolean(i->own)},
        {"code", json_string(i->code)}, {"ok", json_boolean(!export_trouble(i))}, {"output", outputs},
        {"value", json_string(i->value)}, {"exception", json_string(i->exception)},
        {"traceback", json_string(i->traceback)}, {"what", json_string(i->what)}, {"files", files});
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
