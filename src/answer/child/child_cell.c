/* child_cell.c - the operations that run code or a command, or that concern the interpreter: run_code,
 * execute_command, info, reset, hold, again.
 */
#include <stdio.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file_type.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "child/child_private.h"
#include "conversation/bundle.h"
#include "sandbox/sandbox.h"

/* What a cell or a command has written so far. */
struct cell_output {
    struct runner_child *c;
    struct buf out[2], both;
    uint64_t bytes[2];
    char held[2][4]; /* the beginning of a character whose rest has not come yet */
    size_t n_held[2];
};

/* Returns how many bytes at the end are the beginning of a character. */
static size_t unfinished(const char *text, size_t len)
{
    for (size_t n = 1; n <= 3 && n <= len; n++) {
        unsigned char b = (unsigned char)text[len - n];

        if ((b & 0xc0) == 0xc0)
            return utf8_decode(text + len - n, n, &(uint32_t){0}) == 0 ? n : 0;
        if (b < 0x80)
            return 0;
    }
    return 0;
}

static void send_output(struct cell_output *k, int i, const char *text, size_t len)
{
    struct buf whole autorelease(buf_release) = BUF_INIT(0);

    buf_add(&whole, k->held[i], k->n_held[i]);
    buf_add(&whole, text, len);
    k->n_held[i] = unfinished(buf_str(&whole), whole.len);
    whole.len -= k->n_held[i];
    memcpy(k->held[i], buf_str(&whole) + whole.len, k->n_held[i]);
    if (whole.len == 0)
        return;
    runner_child_event(k->c, "output",
                       json_object_of({"stream", json_string(i ? "stderr" : "stdout")},
                                      {"text", json_string_n(whole.data, whole.len)}));
}

static void on_child_output(void *ctx, int stream, const char *text, size_t len)
{
    struct cell_output *k = ctx;
    int i = stream == 2;
    size_t room = CHILD_OUTPUT_MAX - k->out[i].len, fits = len < room ? len : room;

    k->bytes[i] += len;
    buf_add(&k->out[i], text, fits);
    buf_add(&k->both, text, fits);
    if (runner_child_wants_events(k->c) && fits)
        send_output(k, i, text, fits);
}

static void end_line(struct buf *b)
{
    if (b->len && buf_last(b) != '\n')
        buf_addch(b, '\n');
}

/* Adds how much of the output was left out of the result. */
static void tell_cut(struct cell_output *k)
{
    static const char *const names[] = {"stdout", "stderr"};

    for (int i = 0; i < 2; i++) {
        if (k->bytes[i] <= k->out[i].len)
            continue;
        autofree char *line = xasprintf("%s: %llu bytes, of which the first %zu are here", names[i],
                                        (unsigned long long)k->bytes[i], k->out[i].len);
        runner_child_notice(k->c, false, line);
        end_line(&k->both);
        buf_addf(&k->both, "[%s]\n", line);
    }
}

static void set_output(struct json *o, struct cell_output *k, const char *value)
{
    k->both.max = 0; /* what follows is always added */
    tell_cut(k);
    if (value)
        end_line(&k->both);
    buf_addstr(&k->both, value ? value : "");
    json_set_all(o, {"output", json_string_n(buf_str(&k->both), k->both.len)},
                 {"stdout", json_string_n(buf_str(&k->out[0]), k->out[0].len)},
                 {"stderr", json_string_n(buf_str(&k->out[1]), k->out[1].len)});
}

/* ---- how it ended ---- */

static const struct {
    const char *name; /* of the error, where there is no exception */
    int exit_code;
} ends[] = {
    [CELL_OK] = {"", 0},
    [CELL_EXCEPTION] = {"Exception", 1},
    [CELL_EXIT] = {"SystemExit", 0},
    [CELL_TIMEOUT] = {"Timeout", 124},
    [CELL_INTERRUPTED] = {"Interrupted", 130},
    [CELL_MEMORY] = {"OutOfMemory", 137},
    [CELL_OUTPUT] = {"TooMuchOutput", 137},
    [CELL_DIED] = {"Killed", 137},
    [CELL_NOT_RUN] = {"Killed", 137},
};

/* Describes the error: "KeyError: 'x'" is split into the name and the rest. What became of the variables is
 * told by the notices. */
static struct json *error_of(const struct cell_result *r)
{
    if (cell_succeeded(r))
        return json_null();
    bool raised = r->status == CELL_EXCEPTION && r->exception;
    const char *name = raised ? r->exception : ends[r->status].name,
               *colon = raised ? strstr(name, ": ") : NULL;
    const char *text = colon ? colon + 2 : raised ? "" : r->what ? r->what : cell_status_name(r->status);

    return json_object_of({"name", json_string_n(name, colon ? (size_t)(colon - name) : strlen(name))},
                          {"text", json_string(text)},
                          {"traceback", json_string(r->traceback ? r->traceback : "")},
                          {"hint", json_string(r->hint)});
}

/* ---- files ---- */

static void set_files(struct json *o, struct runner_child *c, const struct cell_result *r,
                      const struct json *data)
{
    struct json *files = json_array();

    for (size_t i = 0; i < r->n_files; i++) {
        const struct cell_file *f = &r->files[i];
        const char *type = bundle_of_value(f->kind) ? bundle_type(f->kind) : NULL;

        runner_child_delivered(c, f->name, f->path);
        if (type && json_get(data, type))
            continue;
        json_add(files,
                 json_object_of({"name", json_string(f->name)}, {"size", json_integer((int64_t)f->size)},
                                {"type", json_string(file_type(f->name))},
                                {"kind", json_string(f->kind == FILE_MADE ? "file" : "figure")},
                                {"path", json_string(f->path)}));
    }
    json_set(o, "files", files);
}

/* ---- operations ---- */

/* Sets the time limit that the request asks for, in seconds, but at most what the configuration allows. */
static void set_time(struct sandbox *s, const struct json *arguments, int most_ms)
{
    double asked = json_double(json_get(arguments, "timeout"), 0) * 1000;

    if (asked > 0 && (most_ms <= 0 || asked < most_ms))
        sandbox_set_cell_time(s, asked < 1 ? 1 : (int)asked);
}

static struct json *duration_of(const struct cell_result *r)
{
    return json_number((double)(int64_t)(r->seconds * 1e6) / 1000);
}

static struct json *cell_to_json(struct cell_output *k, const struct cell_result *r)
{
    const char *const notices[] = {
        k->c->lost ? "the sandbox had ended: variables and files from before are gone" : NULL, r->before,
        cell_succeeded(r) ? NULL : r->left, r->files_note};
    struct json *o = json_object_of({"status", json_string(cell_status_name(r->status))});

    for (size_t i = 0; i < countof(notices); i++)
        if (notices[i])
            runner_child_notice(k->c, false, notices[i]);
    set_output(o, k, r->value);
    json_set_all(
        o, {"value", json_string(r->value)}, {"error", error_of(r)},
        {"exit_code", json_integer(r->status == CELL_EXIT ? r->exit_code : ends[r->status].exit_code)});
    struct json *data = bundle_of_result(r);
    set_files(o, k->c, r, data);
    json_set_all(o, {"data", data}, {"duration_ms", duration_of(r)},
                 {"state_lost", json_boolean(r->state_lost || k->c->lost)},
                 {"notices", runner_child_notices(k->c)});
    k->c->lost = false;
    return o;
}

/* Says on stderr what ended the command, in a line of its own, as a shell would. */
static void tell_command_end(struct cell_output *k, const struct cell_result *r)
{
    autofree char *what = cell_what(r);
    bool newline = k->out[1].len && buf_last(&k->out[1]) != '\n';

    if (!what || r->status == CELL_EXIT)
        return;
    autofree char *line = xasprintf("%s%s\n", newline ? "\n" : "", what);
    on_child_output(k, 2, line, strlen(line));
}

static struct json *command_to_json(struct cell_output *k, const struct cell_result *r)
{
    struct json *o = json_object();

    tell_command_end(k, r);
    set_output(o, k, NULL);
    bool own = r->status == CELL_EXIT || r->status == CELL_NOT_RUN;
    json_set_all(o, {"exit_code", json_integer(own ? r->exit_code : ends[r->status].exit_code)},
                 {"duration_ms", duration_of(r)});
    set_files(o, k->c, r, NULL);
    json_free(runner_child_notices(k->c));
    return o;
}

static void add_words(struct argv *words, const struct json *command)
{
    if (json_str(command))
        argv_pushl(words, "/bin/sh", "-c", json_str(command), NULL);
    for (const struct json *w = json_first(command); w; w = json_next(w))
        argv_push(words, json_text(w));
}

/* Runs the command, or the code when there is no command. */
static int run_cell(struct runner_child *c, const struct json *arguments, struct json **result,
                    struct error *err)
{
    const struct json *command = json_get(arguments, "command");
    const char *code = json_text(json_get(arguments, "code"));
    struct argv words autorelease(argv_release) = ARGV_INIT;
    struct sandbox *s = c->sandbox;
    int most_ms = sandbox_options(s)->cell_ms;
    struct cell_output k = {.c = c,
                            .out = {BUF_INIT(CHILD_OUTPUT_MAX), BUF_INIT(CHILD_OUTPUT_MAX)},
                            .both = BUF_INIT(2 * CHILD_OUTPUT_MAX)};
    const struct cell_listener l = {.ctx = &k, .output = on_child_output};
    struct cell_result r = {0};

    add_words(&words, command);
    set_time(s, arguments, most_ms);
    int rc = command ? sandbox_command(s, &words, &l, &r, err)
                     : sandbox_run(s, code, strlen(code), &l, &r, err);
    sandbox_set_cell_time(s, most_ms);
    if (rc == 0)
        *result = command ? command_to_json(&k, &r) : cell_to_json(&k, &r);
    cell_result_release(&r);
    buf_release(&k.out[0]);
    buf_release(&k.out[1]);
    buf_release(&k.both);
    return rc;
}

int child_run_code(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err)
{
    return run_cell(c, arguments, result, err);
}

int child_execute(struct runner_child *c, const struct json *arguments, struct json **result,
                  struct error *err)
{
    return run_cell(c, arguments, result, err);
}

int child_info(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err)
{
    struct sandbox *s = c->sandbox;
    struct buf variables autorelease(buf_release) = BUF_INIT(0);

    (void)arguments;
    if (sandbox_list_variables(s, &variables, err) < 0)
        return -1;
    const struct sandbox_options *o = sandbox_options(s);
    const char *packages = sandbox_packages(s, err);
    *result = json_object_of(
        {"engine", json_string(sandbox_engine(s))}, {"image", json_string(sandbox_image(s))},
        {"python", json_string(sandbox_python(s))}, {"packages", json_string(packages ? packages : "")},
        {"memory", json_integer(o->run.memory)}, {"cpus", json_number(o->run.cpus)},
        {"pids", json_integer(o->run.pids)}, {"data_size", json_integer(o->run.data_size)},
        {"timeout", json_number(o->cell_ms / 1000.0)}, {"cells", json_integer(sandbox_cells(s))},
        {"variables", json_string(buf_str(&variables))});
    return 0;
}

int child_reset(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err)
{
    (void)arguments;
    if (sandbox_reset(c->sandbox, err) < 0)
        return -1;
    *result = json_object();
    return 0;
}

/* A sandbox that waited in a pool has a client now, so this sets how long it is to outlive us. */
int child_hold(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err)
{
    int64_t ms = json_int(json_get(arguments, "idle_ms"), 0);

    (void)err;
    if (ms > 0)
        sandbox_set_idle(c->sandbox, ms);
    *result = json_object();
    return 0;
}

/* An earlier runner had this sandbox. This finds out whether it is still there. */
int child_again(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err)
{
    (void)arguments;
    if (sandbox_wait(c->sandbox, err) < 0)
        return -1;
    c->lost = !sandbox_continued(c->sandbox);
    *result = json_object();
    return 0;
}
