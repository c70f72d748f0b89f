/* cell_json.c - writes the result of code or of a command into a JSON object. */
#include "conversation/cell_json.h"

#include <string.h>

#include "base/file_type.h"
#include "base/mem.h"
#include "conversation/bundle.h"
#include "json/json.h"

struct json *seconds_json(double seconds)
{
    return json_number((double)(int64_t)(seconds * 1e6 + 0.5) / 1e6);
}

/* ---- how it ended ---- */

/* The name of an error that is no exception of the code's. */
static const char *error_name(const struct cell_result *r)
{
    static const char *const names[] = {
        [CELL_EXCEPTION] = "Exception", [CELL_EXIT] = "SystemExit",
        [CELL_TIMEOUT] = "Timeout",     [CELL_INTERRUPTED] = "Interrupted",
        [CELL_MEMORY] = "OutOfMemory",  [CELL_OUTPUT] = "TooMuchOutput",
        [CELL_DIED] = "Killed",         [CELL_NOT_RUN] = "NotStarted",
    };

    return names[r->status];
}

/* "KeyError: 'x'" is split into the name and the rest. What became of the variables is told by the notices.
 */
static struct json *error_json(const struct cell_result *r)
{
    if (cell_succeeded(r) || (r->status == CELL_EXIT && !r->what))
        return json_null();
    bool raised = r->status == CELL_EXCEPTION && r->exception;
    const char *name = raised ? r->exception : error_name(r), *colon = raised ? strstr(name, ": ") : NULL;
    const char *text = colon ? colon + 2 : raised ? "" : r->what ? r->what : cell_status_name(r->status);

    return json_object_of({"name", json_string_n(name, colon ? (size_t)(colon - name) : strlen(name))},
                          {"text", json_string(text)},
                          {"traceback", json_string(r->traceback ? r->traceback : "")},
                          {"hint", json_string(r->hint)});
}

static struct json *notices_json(const struct cell_result *r)
{
    const char *const lines[] = {cell_succeeded(r) ? NULL : r->left, r->before, r->files_note};
    struct json *notices = json_array();

    for (size_t i = 0; i < countof(lines); i++)
        if (lines[i])
            json_add(notices, json_string(lines[i]));
    return notices;
}

void cell_json(struct json *o, const struct cell_result *r)
{
    json_set_all(o, {"status", json_string(cell_status_name(r->status))}, {"value", json_string(r->value)},
                 {"data", bundle_of_result(r)}, {"error", error_json(r)},
                 {"exit_code", json_integer(cell_exit_code(r))}, {"seconds", seconds_json(r->seconds)},
                 {"state_lost", json_boolean(r->state_lost)},
                 {"state_restored", json_boolean(r->state_restored)}, {"notices", notices_json(r)});
}

void cell_json_files(struct json *o, const struct cell_result *r)
{
    const struct json *data = json_get(o, "data");
    struct json *files = json_array();

    for (size_t i = 0; i < r->n_files; i++) {
        const struct cell_file *f = &r->files[i];

        if (bundle_of_value(f->kind) && json_get(data, bundle_type(f->kind)))
            continue;
        json_add(files,
                 json_object_of({"name", json_string(f->name)}, {"size", json_integer((int64_t)f->size)},
                                {"type", json_string(file_type(f->name))},
                                {"kind", json_string(f->kind == FILE_MADE ? "file" : "figure")},
                                {"path", json_string(f->path)}));
    }
    json_set(o, "files", files);
}

/* ---- what it wrote ---- */

void cell_text_init(struct cell_text *t)
{
    *t = (struct cell_text){.out = {BUF_INIT(CELL_TEXT_MAX), BUF_INIT(CELL_TEXT_MAX)}, .both = BUF_INIT(0)};
}

void cell_text_release(struct cell_text *t)
{
    buf_release(&t->out[0]);
    buf_release(&t->out[1]);
    buf_release(&t->both);
}

size_t cell_text_add(struct cell_text *t, int stream, const char *text, size_t len)
{
    int i = stream == 2;
    size_t room = CELL_TEXT_MAX - t->out[i].len, kept = len < room ? len : room;

    t->bytes[i] += len;
    buf_add(&t->out[i], text, kept);
    buf_add(&t->both, text, kept);
    return kept;
}

char *cell_text_cut(const struct cell_text *t, int stream)
{
    int i = stream == 2;

    return t->bytes[i] <= t->out[i].len
               ? NULL
               : xasprintf("%s: %llu bytes, of which the first %zu are here", i ? "stderr" : "stdout",
                           (unsigned long long)t->bytes[i], t->out[i].len);
}

static void end_line(struct buf *b)
{
    if (b->len && buf_last(b) != '\n')
        buf_addch(b, '\n');
}

void cell_text_json(struct json *o, struct cell_text *t, const char *value)
{
    for (int stream = 1; stream <= 2; stream++) {
        autofree char *cut = cell_text_cut(t, stream);

        if (!cut)
            continue;
        end_line(&t->both);
        buf_addf(&t->both, "[%s]\n", cut);
    }
    if (value)
        end_line(&t->both);
    buf_addstr(&t->both, value ? value : "");
    json_set_all(o, {"output", json_string_n(buf_str(&t->both), t->both.len)},
                 {"stdout", json_string_n(buf_str(&t->out[0]), t->out[0].len)},
                 {"stderr", json_string_n(buf_str(&t->out[1]), t->out[1].len)});
}
