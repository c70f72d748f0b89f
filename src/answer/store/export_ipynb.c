/* export_ipynb.c - a session as a Jupyter notebook (nbformat 4.5): questions and answers are Markdown cells,
 * code has its outputs, and figures that are still on disk are inside.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json/json.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/beneath.h"
#include "conversation/bundle.h"
#include "store/export.h"

#define FIGURE_MAX ((size_t)16 << 20)

struct ipynb {
    struct buf *out;
    const char *sessions;
    char *own; /* the folder of the session's files; or NULL */
    struct json *cells;
    unsigned n, executed;
};

static void *ipynb_begin(struct buf *out, const char *sessions)
{
    struct ipynb *s = xmalloc(sizeof *s);

    *s = (struct ipynb){.out = out, .cells = json_array(), .sessions = sessions};
    return s;
}

/* nbformat wants an id of letters, digits, - and _ for each cell. */
static struct json *new_cell(struct ipynb *s, const char *type, const char *source)
{
    char id[32];

    snprintf(id, sizeof id, "cell-%u", ++s->n);
    return json_object_of({"cell_type", json_string(type)}, {"id", json_string(id)},
                          {"metadata", json_object()}, {"source", json_string(source)});
}

static void ipynb_text(struct ipynb *s, const char *before, const char *text)
{
    autofree char *source = xasprintf("%s%s", before, text);

    json_add(s->cells, new_cell(s, "markdown", source));
}

static struct json *stream(const char *name, const char *text)
{
    return json_object_of({"output_type", json_string("stream")}, {"name", json_string(name)},
                          {"text", json_string(text)});
}

/* An output with data. number: that of the cell, for the type that has one; or 0. */
static void add_data(struct json *outputs, const char *type, unsigned number, struct json *data)
{
    json_add(outputs, json_object_of({"output_type", json_string(type)},
                                     {"execution_count", number ? json_integer(number) : NULL},
                                     {"data", data}, {"metadata", json_object()}));
}

/* Of the file as it was made: the database may name any. */
static bool ipynb_file(const struct ipynb *s, struct json *data, const struct item_file *f)
{
    const struct noted_file noted = {f->path, f->size, f->modified};
    autoclose int fd = noted_open(s->own, &noted, NULL);

    return fd >= 0 && bundle_add(data, f->kind, fd, FIGURE_MAX);
}

static void add_figure(const struct ipynb *s, struct json *outputs, const struct item_file *f)
{
    struct json *data = json_object();

    if (!ipynb_file(s, data, f)) {
        autofree char *line = xasprintf("figure: %s (no longer there)\n", f->path ? f->path : "");

        json_free(data);
        json_add(outputs, stream("stderr", line));
        return;
    }
    add_data(outputs, "display_data", 0, data);
}

static void add_error(struct json *outputs, const struct item *i)
{
    const char *trouble = export_trouble(i), *text = i->exception ? i->exception : trouble;

    if (!trouble)
        return;
    size_t name = strcspn(text, ":");
    autofree char *ename = xmemdup0(text, i->exception ? name : 0);
    const char *value = i->exception && text[name] ? text + name + 1 + (text[name + 1] == ' ') : text;
    json_add(outputs, json_object_of({"output_type", json_string("error")},
                                     {"ename", json_string(*ename ? ename : "Stopped")},
                                     {"evalue", json_string(value)},
                                     {"traceback", json_array_of(json_string(trouble))}));
}

static void ipynb_cell(struct ipynb *s, const struct item *i)
{
    /* a magic of notebooks has the same name */
    autofree char *code = *i->language ? xasprintf("%%%%%s\n%s", i->language, i->code) : xstrdup(i->code);
    struct json *cell = new_cell(s, "code", code), *outputs = json_array();

    s->executed++;
    json_set_int(cell, "execution_count", s->executed);
    for (size_t k = 0; k < i->n_outputs; k++)
        json_add(outputs, stream(i->outputs[k].stream == 2 ? "stderr" : "stdout", i->outputs[k].text));
    for (size_t k = 0; k < i->n_files; k++) {
        const struct item_file *f = &i->files[k];

        if (f->kind == FILE_FIGURE) {
            add_figure(s, outputs, f);
        } else if (!bundle_of_value(f->kind)) {
            autofree char *line = xasprintf("file: %s\n", f->path ? f->path : "");
            json_add(outputs, stream("stdout", line));
        }
    }
    if (i->value) {
        struct json *data = json_object_of({"text/plain", json_string(i->value)});

        for (size_t k = 0; k < i->n_files; k++)
            if (bundle_of_value(i->files[k].kind))
                ipynb_file(s, data, &i->files[k]);
        add_data(outputs, "execute_result", s->executed, data);
    }
    add_error(outputs, i);
    json_set(cell, "outputs", outputs);
    json_add(s->cells, cell);
}

static void ipynb_item(void *ctx, const struct item *i)
{
    struct ipynb *s = ctx;

    switch (i->kind) {
    case ITEM_SESSION:
        s->own = s->sessions ? session_folder(s->sessions, i->session->id) : NULL;
        ipynb_text(s, "# ", i->session->title ? i->session->title : "(no title)");
        break;
    case ITEM_QUESTION:
        ipynb_text(s, "**Question:** ", i->text ? i->text : "");
        break;
    case ITEM_TEXT:
        ipynb_text(s, "", i->text);
        break;
    case ITEM_CELL:
        ipynb_cell(s, i);
        break;
    case ITEM_END:
        if (i->text && *i->text)
            ipynb_text(s, "", i->text);
        break;
    }
}

static void ipynb_end(void *ctx)
{
    struct ipynb *s = ctx;
    struct json *kernel = json_object_of({"name", json_string("python3")},
                                         {"display_name", json_string("Python 3")},
                                         {"language", json_string("python")});
    struct json *language = json_object_of({"name", json_string("python")});
    autojson struct json *book = json_object_of(
        {"cells", s->cells},
        {"metadata", json_object_of({"kernelspec", kernel}, {"language_info", language})},
        {"nbformat", json_integer(4)}, {"nbformat_minor", json_integer(5)});
    json_line(book, s->out);
    free(s->own);
    free(s);
}

const struct export_format export_ipynb = {"ipynb", true, ipynb_begin, ipynb_item, ipynb_end};
