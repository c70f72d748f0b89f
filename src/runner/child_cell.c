/* child_cell.c - the operations that run code or ask about the interpreter: run_code, info, reset, hold. */
#include <stdio.h>
#include <string.h>

#include "base/argv.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_type.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "runner/child_private.h"
#include "sandbox/sandbox.h"

#define RICH_MAX (4u << 20) /* bytes of one form of a value */

/* Collects what a cell or a command writes. */
struct capture {
    struct runner_child *c;
    struct buf out[2], both;
    uint64_t bytes[2];
    char held[2][4]; /* the beginning of a character whose rest has not come yet */
    size_t n_held[2];
};

static void capture_init(struct capture *k, struct runner_child *c)
{
    *k = (struct capture){.c = c,
                          .out = {BUF_INIT(CHILD_OUTPUT_MAX), BUF_INIT(CHILD_OUTPUT_MAX)},
                          .both = BUF_INIT(2 * CHILD_OUTPUT_MAX)};
}

static void capture_release(struct capture *k)
{
    buf_release(&k->out[0]);
    buf_release(&k->out[1]);
    buf_release(&k->both);
}

/* How many bytes at the end are the beginning of a character. */
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

static void send_output(struct capture *k, int i, const char *text, size_t len)
{
    struct buf whole autorelease(buf_release) = BUF_INIT(0);

    buf_add(&whole, k->held[i], k->n_held[i]);
    buf_add(&whole, text, len);
    k->n_held[i] = unfinished(buf_str(&whole), whole.len);
    whole.len -= k->n_held[i];
    memcpy(k->held[i], buf_str(&whole) + whole.len, k->n_held[i]);
    if (whole.len == 0)
        return;
    struct json *more = json_object();
    json_set_str(more, "stream", i ? "stderr" : "stdout");
    json_set(more, "text", json_string_n(whole.data, whole.len));
    runner_child_event(k->c, "output", more);
}

static void on_output(void *ctx, int stream, const char *text, size_t len)
{
    struct capture *k = ctx;
    int i = stream == 2;
    size_t room = CHILD_OUTPUT_MAX - k->out[i].len, fits = len < room ? len : room;

    k->bytes[i] += len;
    buf_add(&k->out[i], text, fits);
    buf_add(&k->both, text, fits);
    if (runner_child_wants_events(k->c) && fits)
        send_output(k, i, text, fits);
}

/* Add how much of the output was left out of the result. */
static void tell_cut(struct capture *k)
{
    static const char *const names[] = {"stdout", "stderr"};

    for (int i = 0; i < 2; i++) {
        if (k->bytes[i] <= k->out[i].len)
            continue;
        autofree char *line = xasprintf("%s: %llu bytes, of which the first %zu are here", names[i],
                                        (unsigned long long)k->bytes[i], k->out[i].len);
        runner_child_notice(k->c, false, line);
        buf_addf(&k->both, "%s[%s]\n", k->both.len && buf_last(&k->both) != '\n' ? "\n" : "", line);
    }
}

static void set_output(struct json *o, struct capture *k, const char *value)
{
    tell_cut(k);
    k->both.max = 0;
    if (value && k->both.len > 0 && buf_last(&k->both) != '\n')
        buf_addch(&k->both, '\n');
    buf_addstr(&k->both, value ? value : "");
    json_set(o, "output", json_string_n(buf_str(&k->both), k->both.len));
    json_set(o, "stdout", json_string_n(buf_str(&k->out[0]), k->out[0].len));
    json_set(o, "stderr", json_string_n(buf_str(&k->out[1]), k->out[1].len));
}

/* ---- how it ended ---- */

static const struct {
    const char *status;
    const char *name; /* of the error, where there is no exception */
    int exit_code;
} ends[] = {
    [CELL_OK] = {"ok", "", 0},
    [CELL_EXCEPTION] = {"exception", "Exception", 1},
    [CELL_EXIT] = {"exit", "SystemExit", 0},
    [CELL_TIMEOUT] = {"timeout", "Timeout", 124},
    [CELL_INTERRUPTED] = {"interrupted", "Interrupted", 130},
    [CELL_MEMORY] = {"memory", "OutOfMemory", 137},
    [CELL_DIED] = {"killed", "Killed", 137},
    [CELL_NOT_RUN] = {"killed", "Killed", 137},
};

/* Split "KeyError: 'x'" into the name and the rest. What became of the variables stands in the notices. */
static struct json *error_of(const struct cell_result *r)
{
    if (cell_succeeded(r))
        return json_null();
    struct json *o = json_object();
    bool raised = r->status == CELL_EXCEPTION && r->exception;
    const char *colon = raised ? strstr(r->exception, ": ") : NULL, *what = raised ? NULL : r->what;

    if (raised && colon)
        json_set(o, "name", json_string_n(r->exception, (size_t)(colon - r->exception)));
    else
        json_set_str(o, "name", raised ? r->exception : ends[r->status].name);
    json_set_str(o, "text", colon ? colon + 2 : what ? what : raised ? "" : ends[r->status].status);
    json_set_str(o, "traceback", r->traceback ? r->traceback : "");
    json_set_str(o, "hint", r->hint);
    return o;
}

/* ---- files ---- */

static const char *form_of(const struct cell_file *f)
{
    return f->kind == FILE_VALUE_PNG    ? "image/png"
           : f->kind == FILE_VALUE_HTML ? "text/html"
           : f->kind == FILE_VALUE_SVG  ? "image/svg+xml"
                                        : NULL;
}

/* Put a form of the value into the bundle. False: it is too big, or cannot be read. */
static bool add_form(struct json **bundle, const struct cell_file *f, const char *type, const char *value)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(RICH_MAX),
                     text autorelease(buf_release) = BUF_INIT(0);

    if (file_read(f->path, RICH_MAX, &bytes, NULL) < 0)
        return false;
    if (f->kind == FILE_VALUE_PNG)
        base64_add(&text, (const unsigned char *)buf_str(&bytes), bytes.len);
    else
        buf_add(&text, buf_str(&bytes), bytes.len);
    if (!*bundle) {
        *bundle = json_object();
        json_set_str(*bundle, "text/plain", value ? value : "");
    }
    json_set(*bundle, type, json_string_n(buf_str(&text), text.len));
    return true;
}

static void set_files(struct json *o, struct runner_child *c, const struct cell_result *r, bool rich)
{
    struct json *files = json_array(), *bundle = NULL;

    for (size_t i = 0; i < r->n_files; i++) {
        const struct cell_file *f = &r->files[i];
        const char *form = form_of(f);

        runner_child_delivered(c, f->name, f->path);
        if (form && add_form(&bundle, f, form, r->value))
            continue;
        struct json *one = json_object();
        json_set_str(one, "name", f->name);
        json_set_int(one, "size", (int64_t)f->size);
        json_set_str(one, "type", file_type(f->name));
        json_set_str(one, "kind", f->kind == FILE_MADE ? "file" : "figure");
        json_set_str(one, "path", f->path);
        json_add(files, one);
    }
    json_set(o, "files", files);
    if (rich)
        json_set(o, "rich", bundle ? bundle : json_null());
}

/* ---- operations ---- */

/* Set the time limit that the request asks for, in seconds, but at most what the configuration allows. */
static void set_time(struct sandbox *s, const struct json *arguments, int most_ms)
{
    double asked = json_double(json_get(arguments, "timeout"), 0) * 1000;

    if (asked > 0 && (most_ms <= 0 || asked < most_ms))
        sandbox_set_cell_time(s, asked < 1 ? 1 : (int)asked);
}

static struct json *cell_to_json(struct capture *k, const struct cell_result *r)
{
    struct json *o = json_object();

    if (k->c->lost)
        runner_child_notice(k->c, false, "the sandbox had ended: variables and files from before are gone");
    if (r->before)
        runner_child_notice(k->c, false, r->before);
    if (r->left && !cell_succeeded(r))
        runner_child_notice(k->c, false, r->left);
    if (r->files_note)
        runner_child_notice(k->c, false, r->files_note);
    json_set_str(o, "status", ends[r->status].status);
    set_output(o, k, r->value);
    json_set_str(o, "value", r->value);
    json_set(o, "error", error_of(r));
    json_set_int(o, "exit_code", r->status == CELL_EXIT ? r->exit_code : ends[r->status].exit_code);
    set_files(o, k->c, r, true);
    json_set(o, "duration_ms", json_number((double)(int64_t)(r->seconds * 1e6) / 1000));
    json_set_bool(o, "state_lost", r->state_lost || k->c->lost);
    k->c->lost = false;
    json_set(o, "notices", runner_child_notices(k->c));
    return o;
}

int child_run_code(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err)
{
    const char *code = json_text(json_get(arguments, "code"));
    struct sandbox *s = c->sandbox;
    int most_ms = sandbox_options(s)->cell_ms;
    struct capture k;
    struct cell_result r = {0};

    capture_init(&k, c);
    set_time(s, arguments, most_ms);
    int rc = sandbox_run(s, code, strlen(code), &(struct cell_listener){.ctx = &k, .output = on_output}, &r,
                         err);
    sandbox_set_cell_time(s, most_ms);
    if (rc == 0)
        *result = cell_to_json(&k, &r);
    cell_result_release(&r);
    capture_release(&k);
    return rc;
}

/* Say on stderr what ended the command, in a line of its own, as a shell would. */
static void tell_command_end(struct capture *k, const struct cell_result *r)
{
    autofree char *what = cell_what(r);
    bool newline = k->out[1].len > 0 && k->out[1].data[k->out[1].len - 1] != '\n';

    if (!what || r->status == CELL_EXIT)
        return;
    autofree char *line = xasprintf("%s%s\n", newline ? "\n" : "", what);
    on_output(k, 2, line, strlen(line));
}

static struct json *command_to_json(struct capture *k, const struct cell_result *r)
{
    struct json *o = json_object();

    tell_command_end(k, r);
    set_output(o, k, NULL);
    json_set_int(o, "exit_code",
                 r->status == CELL_EXIT || r->status == CELL_NOT_RUN ? r->exit_code
                                                                     : ends[r->status].exit_code);
    json_set(o, "duration_ms", json_number((double)(int64_t)(r->seconds * 1e6) / 1000));
    set_files(o, k->c, r, false);
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

int child_execute(struct runner_child *c, const struct json *arguments, struct json **result,
                  struct error *err)
{
    struct argv words autorelease(argv_release) = ARGV_INIT;
    struct sandbox *s = c->sandbox;
    int most_ms = sandbox_options(s)->cell_ms;
    struct capture k;
    struct cell_result r = {0};

    add_words(&words, json_get(arguments, "command"));
    capture_init(&k, c);
    set_time(s, arguments, most_ms);
    int rc = sandbox_command(s, &words, &(struct cell_listener){.ctx = &k, .output = on_output}, &r, err);
    sandbox_set_cell_time(s, most_ms);
    if (rc == 0)
        *result = command_to_json(&k, &r);
    cell_result_release(&r);
    capture_release(&k);
    return rc;
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
    struct json *j = *result = json_object();
    json_set_str(j, "engine", sandbox_engine(s));
    json_set_str(j, "image", sandbox_image(s));
    json_set_str(j, "python", sandbox_python(s));
    json_set_str(j, "packages", packages ? packages : "");
    json_set_int(j, "memory", o->run.memory);
    json_set(j, "cpus", json_number(o->run.cpus));
    json_set_int(j, "pids", o->run.pids);
    json_set_int(j, "data_size", o->run.data_size);
    json_set(j, "timeout", json_number(o->cell_ms / 1000.0));
    json_set_int(j, "cells", sandbox_cells(s));
    json_set_str(j, "variables", buf_str(&variables));
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

/* A sandbox that waited in a pool has a client now: set how long it is to outlive us. */
int child_hold(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err)
{
    int64_t ms = json_int(json_get(arguments, "idle_ms"), 0);

    (void)err;
    if (ms > 0)
        sandbox_set_idle(c->sandbox, ms);
    *result = json_object();
    return 0;
}

/* A runner before us had this sandbox: see whether it is still there. */
int child_again(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err)
{
    (void)arguments;
    if (sandbox_wait(c->sandbox, err) < 0)
        return -1;
    c->lost = !sandbox_continued(c->sandbox);
    *result = json_object();
    return 0;
}
