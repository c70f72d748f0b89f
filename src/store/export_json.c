/* export_json.c - a session as one JSON object with everything that is saved of it. */
#include "json/json.h"
#include "base/mem.h"
#include "store/export.h"

struct json_export {
    struct buf *out;
    struct json *session, *questions, *question, *items; /* session owns the others once they are done */
};

static void *begin(struct buf *out)
{
    struct json_export *s = xmalloc(sizeof *s);

    *s = (struct json_export){.out = out};
    return s;
}

static struct json *cell_object(const struct item *i)
{
    struct json *o = json_object(), *outputs = json_array(), *files = json_array();

    json_set_str(o, "type", "cell");
    json_set_int(o, "cell", i->number);
    json_set_bool(o, "own", i->own);
    json_set_str(o, "code", i->code);
    json_set_bool(o, "ok", !export_trouble(i));
    for (size_t k = 0; k < i->n_outputs; k++) {
        struct json *part = json_object();

        json_set_str(part, "stream", i->outputs[k].stream == 2 ? "stderr" : "stdout");
        json_set_str(part, "text", i->outputs[k].text);
        json_add(outputs, part);
    }
    json_set(o, "output", outputs);
    json_set_str(o, "value", i->value);
    json_set_str(o, "exception", i->exception);
    json_set_str(o, "traceback", i->traceback);
    json_set_str(o, "what", i->what);
    for (size_t k = 0; k < i->n_files; k++) {
        struct json *file = json_object();

        json_set_str(file, "name", i->files[k].name);
        json_set_str(file, "path", i->files[k].path);
        json_set_int(file, "size", i->files[k].size);
        json_set_bool(file, "figure", i->files[k].kind == FILE_FIGURE || i->files[k].kind == FILE_VALUE_PNG);
        json_add(files, file);
    }
    json_set(o, "files", files);
    return o;
}

struct json *session_json(const struct session_row *r)
{
    struct json *o = json_object();

    json_set_str(o, "id", r->id);
    json_set_str(o, "title", r->title);
    json_set_str(o, "folder", r->folder);
    json_set_str(o, "model", r->model);
    json_set_str(o, "copy_of", r->parent);
    json_set_int(o, "begun", r->begun);
    json_set_int(o, "used", r->used);
    return o;
}

/* The user's own code may come before the first question. */
static void open_question(struct json_export *s, int64_t number, const char *text, int64_t time)
{
    s->question = json_object();
    s->items = json_array();
    json_set_int(s->question, "question", number);
    json_set_str(s->question, "text", text);
    json_set(s->question, "time", time ? json_integer(time) : json_null());
}

static void close_question(struct json_export *s)
{
    if (!s->question)
        return;
    json_set(s->question, "items", steal(&s->items));
    json_add(s->questions, steal(&s->question));
}

static void item(void *ctx, const struct item *i)
{
    struct json_export *s = ctx;
    struct json *o;

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
    if (i->kind == ITEM_CELL) {
        json_add(s->items, cell_object(i));
    } else if (i->kind == ITEM_TEXT) {
        o = json_object();
        json_set_str(o, "type", i->answer ? "answer" : "text");
        json_set_str(o, "text", i->text);
        json_add(s->items, o);
    } else {
        json_set_str(s->question, "error", i->text);
    }
}

static void end(void *ctx)
{
    struct json_export *s = ctx;

    if (s->session) {
        close_question(s);
        json_set(s->session, "questions", s->questions);
        autofree char *text = json_print(s->session);
        buf_addf(s->out, "%s\n", text);
        json_free(s->session);
    }
    free(s);
}

const struct export_format export_json = {"json", begin, item, end};
