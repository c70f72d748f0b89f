/* event_json.c - the event stream as JSON objects: the lines of --json, and what a server streams.
 *
 * Every object has "type", "v" (1; a change that breaks readers raises it) and "question" (from 1, 0 before
 * the first). Readers skip types and members they do not know. What does not apply is null. Text is not
 * scrubbed: it is data. With --agents, "agent" says which of them an object comes from.
 *
 *   session       model, provider, endpoint, sandbox (the engine that was asked for, or "auto"), session (id
 *                 or null), version (of sandpiper)
 *   sandbox       engine, image (null: it has none), runtime (null: the engine's own), python, name (null:
 *                 none); when it is up, and again when it was replaced
 *   text          reply (number in the question), text (a piece)
 *   tool_call     id, tool, cell (number in the session; 0: it will not run, or is no code), code (of
 *                 access_file: the path)
 *   tool_output   cell, stream ("stdout", "stderr"), text (a piece; at most 16 MiB a cell)
 *   tool_result   id, cell, status ("ok", "exception", "exit", "timeout", "interrupted", "memory", "output",
 *                 "died", "not_run"), value, data (the value as a MIME bundle: an object of "text/plain" and
 *                 what other forms it has, "image/png" in base64, "text/html", "image/svg+xml"; null: no
 *                 value),
 *                 error {name, text, traceback, hint}, exit_code, seconds, state_lost, state_restored,
 *                 notices (cell_json.h), output_bytes (all of it), output_path, model_text (what the model
 *                 is told)
 *   file          cell, name (in the sandbox), path (here), url (null: not uploaded), size, data (of a
 *                 figure: such a bundle with "image/png"; else null)
 *   network       state ("open", "refused", "done", "lost"), number (of the session's requests), method,
 *                 host, port, path (null: a tunnel), secret (the variable that is added; null: none),
 *                 why (it was refused, or cut short), status, sent, received (bytes, once it is over)
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
#include "conversation/event_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conversation/bundle.h"
#include "conversation/cell_json.h"
#include "json/json.h"

#define OUTPUT_MAX (16 * 1024 * 1024)

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
    struct json *o = json_object_of({"type", json_string(type)}, {"v", json_integer(1)},
                                    {"question", json_integer(e->question)});

    if (e->agent)
        json_set_str(o, "agent", e->agent);
    return o;
}

static int give(const struct event_json *j, struct json *o)
{
    return j->fn(j->ctx, o);
}

static struct json *tokens(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static struct json *dollars(double cost)
{
    return cost < 0 ? json_null() : json_number(cost);
}

static int give_session(struct event_json *j, const struct event *e)
{
    return give(j, json_set_all(object_new("session", e), {"session", json_string(e->session.id)},
                                {"model", json_string(e->session.model)},
                                {"provider", json_string(e->session.provider)},
                                {"endpoint", json_string(e->session.endpoint)},
                                {"sandbox", json_string(e->session.sandbox)},
                                {"version", json_string(e->session.version)}));
}

static int give_sandbox(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("sandbox", e), *mounts = json_array();

    for (size_t i = 0; i < e->sandbox.n_mounts; i++) {
        const struct event_mount *m = &e->sandbox.mounts[i];

        json_add(mounts, json_object_of({"path", json_string(m->path)}, {"inside", json_string(m->inside)},
                                        {"writable", json_boolean(m->write)}));
    }
    json_set_all(o, {"engine", json_string(e->sandbox.engine)}, {"image", json_string(e->sandbox.image)},
                 {"runtime", json_string(e->sandbox.runtime)}, {"python", json_string(e->sandbox.python)},
                 {"name", json_string(e->sandbox.name)}, {"mounts", mounts});
    return give(j, o);
}

static int give_text(struct event_json *j, const struct event *e)
{
    return give(j, json_set_all(object_new("text", e), {"reply", json_integer(e->text.reply)},
                                {"text", json_string_n(e->text.text, e->text.len)}));
}

static int give_call(struct event_json *j, const struct event *e)
{
    struct json *o = object_new("tool_call", e);

    memset(j->stream, 0, sizeof j->stream);
    j->output = 0;
    j->cell = e->call.cell;
    json_set_all(o, {"id", json_string(e->call.id)}, {"tool", json_string(e->call.tool)},
                 {"cell", json_integer(e->call.cell)}, {"code", json_string(e->call.code)});
    return give(j, o);
}

static int give_output(struct event_json *j, const struct event *e, int stream, struct json *text)
{
    return give(j, json_set_all(object_new("tool_output", e), {"cell", json_integer(j->cell)},
                                {"stream", json_string(stream ? "stderr" : "stdout")}, {"text", text}));
}

/* A piece may be cut anywhere, even inside a character. */
static int take_output(struct event_json *j, const struct event *e)
{
    int stream = e->output.stream == 2;
    size_t len = e->output.len, *held = &j->stream[stream].n;
    struct buf all autorelease(buf_release) = BUF_INIT(0);

    if (j->output >= OUTPUT_MAX)
        return 0;
    if (len > OUTPUT_MAX - j->output)
        len = OUTPUT_MAX - (size_t)j->output;
    j->output += len;
    buf_add(&all, j->stream[stream].part, *held);
    buf_add(&all, e->output.text, len);
    *held = utf8_unfinished(buf_str(&all), all.len);
    memcpy(j->stream[stream].part, buf_str(&all) + all.len - *held, *held);
    buf_cut(&all, all.len - *held);
    return all.len > 0 ? give_output(j, e, stream, json_string_n(all.data, all.len)) : 0;
}

static int give_result(struct event_json *j, const struct event *e)
{
    const struct cell_result *r = e->result.r;

    for (int i = 0; i < 2; i++)
        if (j->stream[i].n > 0 && give_output(j, e, i, json_string_n(j->stream[i].part, j->stream[i].n)) < 0)
            return -1;
    memset(j->stream, 0, sizeof j->stream);
    struct json *o = object_new("tool_result", e);
    json_set_all(o, {"id", json_string(e->result.id)}, {"cell", json_integer(e->result.cell)});
    cell_json(o, r);
    json_set_all(o, {"output_bytes", json_integer((int64_t)(r->out_bytes + r->err_bytes))},
                 {"output_path", json_string(r->output_path)},
                 {"model_text", json_string(e->result.model_text)});
    return give(j, o);
}

static struct json *figure_bundle(const struct event *e)
{
    struct json *bundle = json_object();

    if (bundle_add_path(bundle, e->file.kind, e->file.path))
        return bundle;
    json_free(bundle);
    return json_null();
}

static int give_file(struct event_json *j, const struct event *e)
{
    return give(j,
                json_set_all(object_new("file", e), {"cell", json_integer(e->file.cell)},
                             {"name", json_string(e->file.name)}, {"path", json_string(e->file.path)},
                             {"url", json_string(e->file.url)}, {"size", json_integer((int64_t)e->file.size)},
                             {"data", e->file.kind == FILE_FIGURE ? figure_bundle(e) : json_null()}));
}

static int give_notice(struct event_json *j, const struct event *e)
{
    static const char *const levels[] = {
        [NOTICE_INFO] = "info",
        [NOTICE_WARNING] = "warning",
        [NOTICE_ERROR] = "error",
        [NOTICE_DETAIL] = "detail",
    };
    return give(j, json_set_all(object_new("notice", e), {"level", json_string(levels[e->notice.level])},
                                {"text", json_string(e->notice.text)}));
}

static int give_network(struct event_json *j, const struct event *e)
{
    const struct network_request *r = &e->network;

    return give(j,
                json_set_all(object_new("network", e), {"state", json_string(network_state_name(r->state))},
                             {"number", json_integer(r->number)}, {"method", json_string(r->method)},
                             {"host", json_string(r->host)}, {"port", json_integer(r->port)},
                             {"path", json_string(r->path)}, {"secret", json_string(r->secret)},
                             {"why", json_string(r->why)}, {"status", json_integer(r->status)},
                             {"sent", json_integer(r->sent)}, {"received", json_integer(r->received)}));
}

static struct json *set_usage(struct json *o, const struct usage *u)
{
    return json_set_all(o, {"input_tokens", tokens(u->input)}, {"cached_tokens", tokens(u->cached)},
                        {"output_tokens", tokens(u->output)}, {"reasoning_tokens", tokens(u->reasoning)},
                        {"estimated", json_boolean(u->estimated)}, {"cost", dollars(u->cost)});
}

static int give_usage(struct event_json *j, const struct event *e)
{
    return give(j, json_set_all(set_usage(object_new("usage", e), &e->usage),
                                {"seconds", seconds_json(e->usage.seconds)}));
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
        [QUESTION_CALLS] = "calls",
    };

    return names[s];
}

struct json *event_json_usage(const struct event *e)
{
    return json_set_all(set_usage(json_object(), &e->done.usage),
                        {"requests", json_integer(e->done.usage.requests)},
                        {"cells", json_integer(e->done.cells)}, {"seconds", seconds_json(e->done.seconds)});
}

struct json *event_json_computed(const struct computation *c)
{
    static const char *const verified[] = {
        [VERIFIED_NONE] = NULL,         [VERIFIED_AGREES] = "agrees", [VERIFIED_DISAGREES] = "disagrees",
        [VERIFIED_UNCLEAR] = "unclear", [VERIFIED_FAILED] = "failed",
    };
    struct json *numbers = json_array();

    for (size_t i = 0; i < c->n_unsupported; i++)
        json_add(numbers, json_string(c->unsupported[i]));
    return json_object_of({"runs", json_integer(c->runs)}, {"failed", json_integer(c->failed)},
                          {"seconds", seconds_json(c->seconds)},
                          {"memory_only", json_boolean(c->memory_only)}, {"unsupported", numbers},
                          {"verified", json_string(verified[c->verified])},
                          {"second", json_string(c->second)});
}

static int give_done(struct event_json *j, const struct event *e)
{
    return give(
        j, json_set_all(object_new("done", e), {"status", json_string(event_json_status(e->done.status))},
                        {"exit_code", json_integer(question_exit_code(e->done.status))},
                        {"answer", json_string(e->done.answer && *e->done.answer ? e->done.answer : NULL)},
                        {"error", json_string(e->done.error)}, {"reasoning", json_string(e->done.reasoning)},
                        {"last_output", json_string(e->done.last_output)}, {"usage", event_json_usage(e)},
                        {"computed", event_json_computed(&e->done.computed)}));
}

static int give_session_end(struct event_json *j, const struct event *e)
{
    return give(
        j, json_set_all(object_new("session_end", e), {"exit_code", json_integer(e->session_end.exit_code)}));
}

int event_json(struct event_json *j, const struct event *e)
{
    static int (*const gives[EVENT_SESSION_END + 1])(struct event_json *, const struct event *) = {
        [EVENT_SESSION] = give_session,    [EVENT_SANDBOX] = give_sandbox,
        [EVENT_TEXT] = give_text,          [EVENT_TOOL_CALL] = give_call,
        [EVENT_TOOL_OUTPUT] = take_output, [EVENT_TOOL_RESULT] = give_result,
        [EVENT_FILE] = give_file,          [EVENT_NETWORK] = give_network,
        [EVENT_NOTICE] = give_notice,      [EVENT_USAGE] = give_usage,
        [EVENT_DONE] = give_done,          [EVENT_SESSION_END] = give_session_end,
    };

    return gives[e->type] ? gives[e->type](j, e) : 0; /* the other types have no object */
}
