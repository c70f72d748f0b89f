/* child_cell.c - the operations that run code or a command, or that concern the interpreter: run_code,
 * execute_command, info, reset, hold, again.
 */
#include <stdio.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "child/child_private.h"
#include "conversation/cell_json.h"
#include "conversation/language.h"
#include "sandbox/sandbox.h"

/* What a cell or a command has written so far. */
struct cell_output {
    struct runner_child *c;
    struct cell_text text;
    char held[2][4]; /* the beginning of a character whose rest has not come yet */
    size_t n_held[2];
};

static void send_output(struct cell_output *k, int i, const char *text, size_t len)
{
    struct buf whole autorelease(buf_release) = BUF_INIT(0);

    buf_add(&whole, k->held[i], k->n_held[i]);
    buf_add(&whole, text, len);
    k->n_held[i] = utf8_unfinished(buf_str(&whole), whole.len);
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
    size_t kept = cell_text_add(&k->text, stream, text, len);

    if (runner_child_wants_events(k->c) && kept)
        send_output(k, stream == 2, text, kept);
}

/* Says on stderr what ended the command, in a line of its own, as a shell would. */
static void tell_command_end(struct cell_output *k, const struct cell_result *r)
{
    autofree char *what = cell_what(r);
    const struct buf *stderr_text = &k->text.out[1];
    bool newline = stderr_text->len && buf_last(stderr_text) != '\n';

    if (!what || r->status == CELL_EXIT)
        return;
    autofree char *line = xasprintf("%s%s\n", newline ? "\n" : "", what);
    on_child_output(k, 2, line, strlen(line));
}

/* The notices of the result go the way of all others, so that those who listen have each at once. */
static struct json *all_notices(struct cell_output *k, const struct json *of_result)
{
    struct runner_child *c = k->c;

    if (c->lost)
        runner_child_notice(c, false, "the sandbox had ended: variables and files from before are gone");
    for (const struct json *line = json_first(of_result); line; line = json_next(line))
        runner_child_notice(c, false, json_text(line));
    for (int stream = 1; stream <= 2; stream++) {
        autofree char *cut = cell_text_cut(&k->text, stream);

        if (cut)
            runner_child_notice(c, false, cut);
    }
    return runner_child_notices(c);
}

static struct json *result_json(struct cell_output *k, const struct cell_result *r)
{
    struct json *o = json_object();

    cell_json(o, r);
    cell_json_files(o, r);
    for (size_t i = 0; i < r->n_files; i++)
        runner_child_delivered(k->c, r->files[i].name, r->files[i].path);
    cell_text_json(o, &k->text, r->value);
    json_set_all(o, {"state_lost", json_boolean(r->state_lost || k->c->lost)},
                 {"notices", all_notices(k, json_get(o, "notices"))});
    k->c->lost = false;
    return o;
}

/* ---- operations ---- */

/* Sets the time limit that the request asks for, in seconds, but at most what the configuration allows. */
static void set_time(struct sandbox *s, const struct json *arguments, int most_ms)
{
    double asked = json_double(json_get(arguments, "timeout"), 0) * 1000;

    if (asked > 0 && (most_ms <= 0 || asked < most_ms))
        sandbox_set_cell_time(s, asked < 1 ? 1 : (int)asked);
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
    struct cell_output k = {.c = c};
    const struct cell_listener l = {.ctx = &k, .output = on_child_output};
    struct cell_result r = {0};

    cell_text_init(&k.text);
    add_words(&words, command);
    set_time(s, arguments, most_ms);
    const char *language = json_text(json_get(arguments, "language"));
    const struct cell_code cell = {code, strlen(code), language_of_tag(language, strlen(language))};
    int rc = command ? sandbox_command(s, &words, &l, &r, err) : sandbox_run_code(s, &cell, &l, &r, err);
    sandbox_set_cell_time(s, most_ms);
    if (rc == 0 && command)
        tell_command_end(&k, &r);
    if (rc == 0)
        *result = result_json(&k, &r);
    cell_result_release(&r);
    cell_text_release(&k.text);
    return rc;
}

int child_run_code(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err)
{
    return run_cell(c, arguments, result, err);
}

/* Sets variables of the environment for one cell, whose values before that it keeps, or brings these back. */
static int set_environment(struct sandbox *s, const struct json *env, struct error *err)
{
    static const char back[] =
        "([e.pop(k, None) if v is None else e.__setitem__(k, v) for e in [__import__('os').environ] "
        "for k, v in __import__('os').__dict__.pop('_sandpiper_was', {}).items()], None)[1]";
    autofree char *values = env ? json_print(env) : NULL, /* which Python reads as its own */
        *set = env ? xasprintf("(lambda new, os: (setattr(os, '_sandpiper_was', {k: os.environ.get(k) "
                               "for k in new}), os.environ.update(new), None)[2])(%s, __import__('os'))",
                               values)
                   : NULL;
    const char *code = env ? set : back;
    struct cell_result r = {0};
    int rc = sandbox_run(s, code, strlen(code), NULL, &r, err);

    if (rc == 0 && env && r.status != CELL_OK)
        rc = error_set(err, ERROR_SANDBOX, 0, "the variables of the environment could not be set");
    cell_result_release(&r);
    return rc;
}

int child_run_with(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err)
{
    struct error later;

    if (set_environment(c->sandbox, json_get(arguments, "env"), err) < 0)
        return -1;
    int rc = run_cell(c, arguments, result, err);
    (void)set_environment(c->sandbox, NULL, &later);
    return rc;
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

/* The front has no more to ask of this sandbox, but of another one. */
int child_another(struct runner_child *c, const struct json *arguments, struct json **result,
                  struct error *err)
{
    (void)arguments;
    (void)err;
    c->another = true;
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
