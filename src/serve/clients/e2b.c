/* e2b.c - E2B's SDK, the code interpreter: code that runs in a sandbox and, within it, in more interpreters
 * ("contexts") with files of their own. A header names the sandbox; the first context is that itself, and is
 * called "default". What a sandbox is to this API is in e2b_sandboxes.c. */
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "clients/client_call.h"
#include "clients/e2b.h"

static const char context_body[] =
    "{\"type\":\"object\",\"properties\":{\"language\":{\"enum\":[\"python\",null]},"
    "\"cwd\":{\"enum\":[\"/mnt/data\",null]}}}";

static const char execute_body[] =
    "{\"type\":\"object\",\"required\":[\"code\"],\"properties\":{\"code\":{\"type\":\"string\"},"
    "\"language\":{\"enum\":[\"python\",\"bash\",\"javascript\",\"js\",\"typescript\",\"ts\",null]},"
    "\"context_id\":{\"type\":[\"string\",\"null\"]},"
    "\"env_vars\":{\"type\":[\"object\",\"null\"],\"propertyNames\":{\"pattern\":\"^[^=]+$\"},"
    "\"additionalProperties\":{\"type\":\"string\"}}}}";

struct json *e2b_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    (void)code;
    return json_object_of({"code", json_integer(status)}, {"message", json_string(detail)});
}

const char *e2b_sandbox(const struct http_request *q)
{
    const char *id = http_request_header(q, "E2b-Sandbox-Id");

    return id ? id : "";
}

struct lease *e2b_box(const struct http_request *q)
{
    return runners_find(http_request_runners(q), http_request_client(q), e2b_sandbox(q), NULL);
}

char *e2b_other_user(const struct http_request *q)
{
    const char *basic = http_request_header(q, "Authorization"), *name = http_request_query(q, "username");
    struct buf text autorelease(buf_release) = BUF_INIT(256);

    if (!name && basic && !strncasecmp(basic, "Basic ", 6)
        && base64_read(basic + 6, strlen(basic + 6), &text) == 0 && text.len > 0
        && buf_last(&text) == ':') { /* with a password, it is a token */
        text.data[text.len - 1] = '\0';
        name = text.data;
    }
    if (!name || !*name || !strcmp(name, "user"))
        return NULL;
    return xasprintf("there is no user \"%.40s\" in these sandboxes: all runs as one user, so leave it out",
                     name);
}

char *e2b_path(const char *path)
{
    static const char home[] = "/home/user";
    static const char data[] = "/mnt/data";

    if (*path == '~' && (!path[1] || path[1] == '/'))
        path += 1 + (path[1] == '/');
    if (!strncmp(path, home, sizeof home - 1) && (!path[sizeof home - 1] || path[sizeof home - 1] == '/'))
        path += sizeof home - 1 + (path[sizeof home - 1] == '/');
    else if (*path == '/')
        return xstrdup(path);
    return xasprintf("%s%s%s", data, *path ? "/" : "", path);
}

/* The sandbox that a context is. */
static const char *context_of(const struct http_request *q, const char *context)
{
    return context && *context && strcmp(context, "default") != 0 ? context : e2b_sandbox(q);
}

static struct json *context(const char *id)
{
    return json_object_of({"id", json_string(id)}, {"language", json_string("python")},
                          {"cwd", json_string("/mnt/data")});
}

static void answer_context(struct client_call *c)
{
    answer_json(c->q, 200, context(c->call.sandbox));
}

static void add_context(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_context, .gone = 502};

    struct client_call *c = client_new(q, &shape, e2b_sandbox(q));

    if (!c)
        return;
    client_step(c, "info", json_object()); /* which it has only once it is up */
    e2b_step_envs(c, e2b_facts(q));
    client_go(c);
}

struct contexts {
    const char *outer;
    struct json *list;
};

static void add_if_nested(void *ctx, struct lease *h)
{
    const struct contexts *x = ctx;

    if (lease_outer(h) && !strcmp(lease_outer(h), x->outer))
        json_add(x->list, context(lease_id(h)));
}

static void answer_contexts(struct client_call *c)
{
    struct contexts x = {c->call.sandbox, json_array_of(context("default"))};

    runners_each(c->call.runners, c->call.client, add_if_nested, &x);
    answer_json(c->q, 200, x.list);
}

static void contexts(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_contexts, .gone = 502};
    struct client_call *c = client_in(q, &shape, e2b_sandbox(q), NULL);

    if (c)
        client_go(c);
}

static void answer_end_context(struct client_call *c)
{
    answer_json(c->q, 204, NULL);
}

static void end_context(struct http_request *q)
{
    static const struct client_shape ends = {.answer = answer_end_context, .gone = 502};
    struct client_call *c = client_in(q, &ends, http_request_param(q, "context"), e2b_sandbox(q));

    if (c)
        client_end(c);
}

static void answer_restart(struct client_call *c)
{
    answer_json(c->q, 200, json_object());
}

static void e2b_restart(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_restart, .gone = 502};
    struct client_call *c = client_in(q, &shape, context_of(q, http_request_param(q, "context")),
                                      e2b_sandbox(q));

    if (!c)
        return;
    client_step(c, "reset", json_object());
    e2b_step_envs(c, e2b_facts(q));
    client_go(c);
}

/* ---- a run: a stream of lines ---- */

static void e2b_event(struct client_call *c, const struct json *event)
{
    struct timespec now;

    if (strcmp(json_text(json_get(event, "event")), "output") != 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    client_line(c,
                json_object_of({"type", json_copy(json_get(event, "stream"))},
                               {"text", json_copy(json_get(event, "text"))},
                               {"timestamp", json_integer((int64_t)now.tv_sec * 1000000000 + now.tv_nsec)}));
}

static struct json *error_line(const char *name, const char *value, const char *traceback)
{
    return json_object_of({"type", json_string("error")}, {"name", json_string(name)},
                          {"value", json_string(value)}, {"traceback", json_string(traceback)});
}

static void broken(struct client_call *c, const char *detail)
{
    client_line(c, error_line("SandboxError", detail, ""));
    stream_end(c->q);
}

static void send_value(struct client_call *c, const struct json *run)
{
    static const char *const kinds[][2] = {{"text/html", "html"},   {"text/markdown", "markdown"},
                                           {"text/latex", "latex"}, {"image/svg+xml", "svg"},
                                           {"image/png", "png"},    {"image/jpeg", "jpeg"}};
    struct json *line = json_object_of({"type", json_string("result")},
                                       {"is_main_result", json_boolean(true)},
                                       {"text", json_copy(json_get(run, "value"))});

    for (size_t i = 0; i < countof(kinds); i++)
        if (json_type(json_get(json_get(run, "data"), kinds[i][0])) != JSON_NULL)
            json_set(line, kinds[i][1], json_copy(json_get(json_get(run, "data"), kinds[i][0])));
    client_line(c, line);
}

static void send_error(struct client_call *c, const struct json *run)
{
    const struct json *error = json_get(run, "error");
    const char *status = json_text(json_get(run, "status")), *name = json_text(json_get(error, "name")),
               *text = json_text(json_get(error, "text"));
    autofree char *ended = xasprintf("the code was ended: %s", status);

    client_line(
        c, error_line(*name ? name : status, *text ? text : ended, json_text(json_get(error, "traceback"))));
}

static void e2b_answer_execute(struct client_call *c)
{
    const struct json *run = client_kept(c, "run_code");

    run = run ? run : client_kept(c, "run_with");
    for (const struct json *f = json_first(json_get(run, "files")); f; f = json_next(f)) {
        struct json *png = client_png(f);
        if (png)
            client_line(c, json_object_of({"type", json_string("result")},
                                          {"is_main_result", json_boolean(false)}, {"png", png}));
    }
    if (*json_text(json_get(run, "value")))
        send_value(c, run);
    if (strcmp(json_text(json_get(run, "status")), "ok") != 0)
        send_error(c, run);
    client_line(c, json_object_of({"type", json_string("end_of_execution")}));
    stream_end(c->q);
}

static void e2b_execute(struct http_request *q)
{
    static const struct client_shape shape = {
        .answer = e2b_answer_execute, .event = e2b_event, .broken = broken, .gone = 502};
    const char *id = context_of(q, json_str(json_get(http_request_body(q), "context_id")));
    const char *language = json_str(json_get(http_request_body(q), "language"));
    bool env = json_size(json_get(http_request_body(q), "env_vars")) > 0;

    if (env && language && strcmp(language, "python") != 0) {
        answer_error(q, 400, NULL, "envs: only Python has them here; set the variables in the code");
        return;
    }
    struct client_call *c = client_in(q, &shape, id, e2b_sandbox(q));
    if (!c)
        return;
    client_step(c, env ? "run_with" : "run_code",
                json_object_of({"code", json_copy(json_get(c->body, "code"))},
                               {"language", language ? json_string(language) : NULL},
                               {"env", env ? json_copy(json_get(c->body, "env_vars")) : NULL}));
    client_go(c);
}

static const struct route rows[] = {
    {"GET", "/contexts", "e2b_contexts", "The interpreters of a sandbox", .handle = contexts,
     .flags = ROUTE_HIDDEN, .failure = e2b_failure},
    {"POST", "/contexts", "e2b_context", "Another interpreter, with files of its own", .body = context_body,
     .handle = add_context, .flags = ROUTE_HIDDEN, .failure = e2b_failure},
    {"DELETE", "/contexts/{context}", "e2b_remove", "End an interpreter, but for the first one",
     .handle = end_context, .flags = ROUTE_HIDDEN, .failure = e2b_failure},
    {"POST", "/contexts/{context}/restart", "e2b_restart", "Start an interpreter afresh",
     .handle = e2b_restart, .flags = ROUTE_HIDDEN, .failure = e2b_failure},
    {"POST", "/execute", "e2b_execute", "Run code; its output as it comes", .body = execute_body,
     .handle = e2b_execute, .flags = ROUTE_HIDDEN, .failure = e2b_failure},
};

void e2b_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
    e2b_sandbox_routes(s);
    e2b_process_routes(s);
    e2b_file_routes(s);
}
