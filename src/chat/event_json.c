/* event_json.c - the event stream as JSON objects: the lines of --json, and what a server streams.
 *
 * Every object has "type", "v" (1; a change that breaks readers raises it) and "question" (from 1, 0 before
 * the first). Readers skip types and members they do not know. What does not apply is null. Text is not
 * scrubbed: it is data. With --agents, "agent" says which of them an object comes from.
 *
 *   session       model, provider, endpoint, engine ("" where none was named: the next tells), session (id or
 *                 null), version (of sandpiper)
 *   sandbox       engine, image (null: it has none), runtime (null: the engine's own), python, name (null:
 *                 none); when it is up, and again when it was replaced
 *   text          reply (number in the question), text (a piece)
 *   tool_call     id, tool, cell (number in the session; 0: it will not run, or is no code), code (of
 *                 access_file: the path)
 *   tool_output   cell, stream ("stdout", "stderr"), text (a piece; at most 16 MiB a cell)
 *   tool_result   id, cell, status ("ok", "exception", "exit", "timeout", "interrupted", "memory", "died",
 *                 "not_run"), value, data (the value as a MIME bundle: an object of "text/plain" and what
 *                 other forms it has, "image/png" in base64, "text/html", "image/svg+xml"; null: no value),
 *                 error, state_lost, state_restored, seconds, output_bytes (all of it), output_path,
 *                 model_text (what the model is told)
 *   file          cell, name (in the sandbox), path (here), url (null: not uploaded), bytes, data (of a
 *                 figure: such a bundle with "image/png"; else null)
 *   notice        level ("info", "warning", "error", "detail"), text
 *   usage         input_tokens, cached_tokens, output_tokens, reasoning_tokens (null: unknown), estimated,
 *                 cost (dollars; null: unknown), seconds: of one request
 *   done          status ("answered", "no_answer", "no_sandbox", "code_failed", "limit", "try_later",
 *                 "refused", "usage", "interrupted", "terminated"), exit_code (of this question), answer,
 *                 error, reasoning (where there is no answer), last_output, usage {input_tokens,
 *                 cached_tokens, output_tokens, reasoning_tokens, estimated, cost, requests, cells, seconds},
 *                 computed {runs, failed, seconds, memory_only, unsupported (numbers of the answer that are
 *                 in no output), verified ("agrees", "disagrees", "unclear", "failed"; null: --verify was not
 *                 given), second (the second answer)}
 *   session_end   exit_code
 */
#include "chat/event_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chat/bundle.h"
#include "json/json.h"

#define OUTPUT_MAX (16 * 1024 * 1024)
#define FORM_MAX   ((size_t)4 << 20) /* bytes of one form in a bundle: a larger one is only a file */

struct event_json {
    event_json_fn *fn;
    void *ctx;
    struct {
        char part[4]; /* an unfinished character at the end of the last piece */
        size_t n;
    } stream[2];
    unsigned cell;
    uint64_t output; /* bytes of this cell so far */
};

struct event_json *event_json_new(event_json_fn *fn, void *ctx)
{
    struct event_json *j = xcalloc(1, sizeof *j);

    j->fn = fn;
    j->ctx = ctx;
    return j;
}

void event_json_free(struct event_json *j)
{
    free(j);
}

static struct json *object_new(const char *type, const struct event *e)
{
    struct json *o = json_object();

    json_set_str(o, "type", type);
    json_set_int(o, "v", 1);
    json_set_int(o, "question", e->question);
    if (e->agent)
        json_set_str(o, "agent", e->agent);
    return o;
}

static int give(const struct event_json *j, struct json *o)
{
    return j->fn(j->ctx, o);
}

static void set_tokens(struct json *o, const char *key, int64_t n)
{
    if (n < 0)
        json_set(o, key, json_null());
    else
        json_set_int(o, key, n);
}

static void set_cost(struct json *o, double dollars)
{
    json_set(o, "cost", dollars < 0 ? json_null() : json_number(dollars));
}

static void set_seconds(struct json *o, double s)
{
    json_set(o, "seconds", json_number((double)(int64_t)(s * 1e6 + 0.5) / 1e6));
}

static int give_session(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("session", e);

    json_set_str(o, "session", e->session.id);
    json_set_str(o, "model", e->session.model);
    json_set_str(o, "provider", e->session.provider);
    json_set_str(o, "endpoint", e->session.endpoint);
    json_set_str(o, "engine", e->session.engine);
    json_set_str(o, "version", e->session.version);
    return give(j, o);
}

static int give_sandbox(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("sandbox", e), *mounts = json_array();

    json_set_str(o, "engine", e->sandbox.engine);
    json_set_str(o, "image", e->sandbox.image);
    json_set_str(o, "runtime", e->sandbox.runtime);
    json_set_str(o, "python", e->sandbox.python);
    json_set_str(o, "name", e->sandbox.name);
    for (size_t i = 0; i < e->sandbox.n_mounts; i++) {
        const struct event_mount *m = &e->sandbox.mounts[i];
        struct json *one = json_object();

        json_set_str(one, "path", m->path);
        json_set_str(one, "inside", m->inside);
        json_set_bool(one, "writable", m->write);
        json_add(mounts, one);
    }
    json_set(o, "mounts", mounts);
    return give(j, o);
}

static int give_text(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("text", e);

    json_set_int(o, "reply", e->text.reply);
    json_set(o, "text", json_string_n(e->text.text, e->text.len));
    return give(j, o);
}

static int give_call(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("tool_call", e);

    memset(j->stream, 0, sizeof j->stream);
    j->output = 0;
    j->cell = e->call.cell;
    json_set_str(o, "id", e->call.id);
    json_set_str(o, "tool", e->call.tool);
    json_set_int(o, "cell", e->call.cell);
    json_set_str(o, "code", e->call.code);
    return give(j, o);
}

static int give_output(struct event_json *j, const struct event *e, int stream, struct json *text)
{
    struct json *o = object_new("tool_output", e);

    json_set_int(o, "cell", j->cell);
    json_set_str(o, "stream", stream ? "stderr" : "stdout");
    json_set(o, "text", text);
    return give(j, o);
}

/* Number of bytes at the end of s that begin a character whose rest may still come. */
static size_t unfinished(const char *s, size_t len)
{
    uint32_t cp;

    for (size_t n = 1; n <= 3 && n <= len; n++)
        if (utf8_decode(s + len - n, n, &cp) == 0)
            return n;
    return 0;
}

/* A piece may be cut anywhere, even inside a character. */
static int take_output(struct event_json *j, const struct event *e)
{
    int stream = e->output.stream == 2, r = 0;
    size_t len = e->output.len;
    struct buf all = BUF_INIT(0);

    if (j->output >= OUTPUT_MAX)
        return 0;
    if (len > OUTPUT_MAX - j->output)
        len = OUTPUT_MAX - (size_t)j->output;
    j->output += len;
    buf_add(&all, j->stream[stream].part, j->stream[stream].n);
    buf_add(&all, e->output.text, len);
    j->stream[stream].n = unfinished(buf_str(&all), all.len);
    memcpy(j->stream[stream].part, buf_str(&all) + all.len - j->stream[stream].n, j->stream[stream].n);
    all.len -= j->stream[stream].n;
    if (all.len > 0)
        r = give_output(j, e, stream, json_string_n(all.data, all.len));
    buf_release(&all);
    return r;
}

static const char *cell_status_name(enum cell_status s)
{
    static const char *const names[] = {
        [CELL_OK] = "ok",           [CELL_EXCEPTION] = "exception",     [CELL_EXIT] = "exit",
        [CELL_TIMEOUT] = "timeout", [CELL_INTERRUPTED] = "interrupted", [CELL_MEMORY] = "memory",
        [CELL_DIED] = "died",       [CELL_NOT_RUN] = "not_run",
    };

    return names[s];
}

static struct json *value_bundle(const struct cell_result *r)
{
    struct json *bundle;

    if (!r->value)
        return json_null();
    bundle = json_object();
    json_set_str(bundle, "text/plain", r->value);
    for (size_t i = 0; i < r->n_files; i++)
        if (bundle_of_value(r->files[i].kind))
            bundle_add(bundle, r->files[i].kind, r->files[i].path, FORM_MAX);
    return bundle;
}

static int give_result(struct event_json *j, const struct event *e)
{
    const struct cell_result *r = e->result.r;
    autofree char *error = cell_error(r);
    struct json *o;

    for (int i = 0; i < 2; i++)
        if (j->stream[i].n > 0 && give_output(j, e, i, json_string_n(j->stream[i].part, j->stream[i].n)) < 0)
            return -1;
    memset(j->stream, 0, sizeof j->stream);
    o = object_new("tool_result", e);
    json_set_str(o, "id", e->result.id);
    json_set_int(o, "cell", e->result.cell);
    json_set_str(o, "status", cell_status_name(r->status));
    json_set_str(o, "value", r->value);
    json_set(o, "data", value_bundle(r));
    json_set_str(o, "error", error);
    json_set_bool(o, "state_lost", r->state_lost);
    json_set_bool(o, "state_restored", r->state_restored);
    set_seconds(o, r->seconds);
    json_set_int(o, "output_bytes", (int64_t)(r->out_bytes + r->err_bytes));
    json_set_str(o, "output_path", r->output_path);
    json_set_str(o, "model_text", e->result.model_text);
    return give(j, o);
}

static struct json *figure_bundle(const struct event *e)
{
    struct json *bundle = json_object();

    if (bundle_add(bundle, e->file.kind, e->file.path, FORM_MAX))
        return bundle;
    json_free(bundle);
    return json_null();
}

static int give_file(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("file", e);

    json_set_int(o, "cell", e->file.cell);
    json_set_str(o, "name", e->file.name);
    json_set_str(o, "path", e->file.path);
    json_set_str(o, "url", e->file.url);
    json_set_int(o, "bytes", (int64_t)e->file.size);
    json_set(o, "data", e->file.kind == FILE_FIGURE ? figure_bundle(e) : json_null());
    return give(j, o);
}

static int give_notice(struct event_json *j, const struct event *e)
{
    static const char *const levels[] = {
        [NOTICE_INFO] = "info",
        [NOTICE_WARNING] = "warning",
        [NOTICE_ERROR] = "error",
        [NOTICE_DETAIL] = "detail",
    };
    struct json *o = object_new("notice", e);

    json_set_str(o, "level", levels[e->notice.level]);
    json_set_str(o, "text", e->notice.text);
    return give(j, o);
}

static int give_usage(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("usage", e);

    set_tokens(o, "input_tokens", e->usage.input);
    set_tokens(o, "cached_tokens", e->usage.cached);
    set_tokens(o, "output_tokens", e->usage.output);
    set_tokens(o, "reasoning_tokens", e->usage.reasoning);
    json_set_bool(o, "estimated", e->usage.estimated);
    set_cost(o, e->usage.cost);
    set_seconds(o, e->usage.seconds);
    return give(j, o);
}

const char *event_json_status(enum question_status s)
{
    static const char *const names[] = {
        [QUESTION_ANSWERED] = "answered",
        [QUESTION_NO_ANSWER] = "no_answer",
        [QUESTION_NO_SANDBOX] = "no_sandbox",
        [QUESTION_CODE_FAILED] = "code_failed",
        [QUESTION_LIMIT] = "limit",
        [QUESTION_TRY_LATER] = "try_later",
        [QUESTION_REFUSED] = "refused",
        [QUESTION_USAGE] = "usage",
        [QUESTION_INTERRUPTED] = "interrupted",
        [QUESTION_TERMINATED] = "terminated",
        [QUESTION_UNDELIVERED] = "undelivered",
        [QUESTION_UNVERIFIED] = "unverified",
    };

    return names[s];
}

struct json *event_json_usage(const struct event *e)
{
    struct json *usage = json_object();

    set_tokens(usage, "input_tokens", e->done.input);
    set_tokens(usage, "cached_tokens", e->done.cached);
    set_tokens(usage, "output_tokens", e->done.output);
    set_tokens(usage, "reasoning_tokens", e->done.thinking);
    json_set_bool(usage, "estimated", e->done.estimated);
    set_cost(usage, e->done.cost);
    json_set_int(usage, "requests", e->done.requests);
    json_set_int(usage, "cells", e->done.cells);
    set_seconds(usage, e->done.seconds);
    return usage;
}

struct json *event_json_computed(const struct computed *c)
{
    static const char *const verified[] = {
        [VERIFIED_NONE] = NULL,         [VERIFIED_AGREES] = "agrees", [VERIFIED_DISAGREES] = "disagrees",
        [VERIFIED_UNCLEAR] = "unclear", [VERIFIED_FAILED] = "failed",
    };
    struct json *o = json_object(), *numbers = json_array();

    for (size_t i = 0; i < c->n_unsupported; i++)
        json_add(numbers, json_string_n(c->unsupported[i], strlen(c->unsupported[i])));
    json_set_int(o, "runs", c->runs);
    json_set_int(o, "failed", c->failed);
    set_seconds(o, c->seconds);
    json_set_bool(o, "memory_only", c->memory_only);
    json_set(o, "unsupported", numbers);
    json_set_str(o, "verified", verified[c->verified]);
    json_set_str(o, "second", c->second);
    return o;
}

static int give_done(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("done", e);

    json_set_str(o, "status", event_json_status(e->done.status));
    json_set_int(o, "exit_code", question_exit_code(e->done.status));
    json_set_str(o, "answer", e->done.answer && *e->done.answer ? e->done.answer : NULL);
    json_set_str(o, "error", e->done.error);
    json_set_str(o, "reasoning", e->done.reasoning);
    json_set_str(o, "last_output", e->done.last_output);
    json_set(o, "usage", event_json_usage(e));
    json_set(o, "computed", event_json_computed(&e->done.computed));
    return give(j, o);
}

static int give_session_end(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("session_end", e);

    json_set_int(o, "exit_code", e->session_end.exit_code);
    return give(j, o);
}

int event_json(struct event_json *j, const struct event *e)
{
    switch (e->type) {
    case EVENT_SESSION:
        return give_session(j, e);
    case EVENT_SANDBOX:
        return give_sandbox(j, e);
    case EVENT_TEXT:
        return give_text(j, e);
    case EVENT_TOOL_CALL:
        return give_call(j, e);
    case EVENT_TOOL_OUTPUT:
        return take_output(j, e);
    case EVENT_TOOL_RESULT:
        return give_result(j, e);
    case EVENT_FILE:
        return give_file(j, e);
    case EVENT_NOTICE:
        return give_notice(j, e);
    case EVENT_USAGE:
        return give_usage(j, e);
    case EVENT_DONE:
        return give_done(j, e);
    case EVENT_SESSION_END:
        return give_session_end(j, e);
    case EVENT_ADDED:
    case EVENT_QUESTION:
    case EVENT_RESET:
    case EVENT_PHASE:
    case EVENT_REASONING:
    case EVENT_REPLY_END:
        return 0;
    }
    return 0;
}
