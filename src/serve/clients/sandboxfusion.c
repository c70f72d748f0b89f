/* sandboxfusion.c - SandboxFusion's client: a program, or cells one after another, in a sandbox of their own,
 * with files that are put there before and fetched after. Its run_code has the path of ours; the form of
 * the token tells which is meant (ROUTE_BASIC). */
#include <string.h>

#include "base/mem.h"
#include "clients/client_call.h"

#define RUN_SECONDS 10 /* where the client names no limit */

static const char run_body[] =
    "{\"type\":\"object\",\"required\":[\"code\",\"language\"],"
    "\"properties\":{\"sandbox_id\":{\"type\":\"null\","
    "\"description\":\"with it the request is one of ours\"},\"code\":{\"type\":\"string\"},"
    "\"language\":{\"type\":\"string\"},\"run_timeout\":{\"type\":[\"number\","
    "\"null\"],\"exclusiveMinimum\":0,\"maximum\":86400},\"stdin\":{\"type\":[\"string\",\"null\"]},"
    "\"files\":{\"type\":[\"object\",\"null\"],\"maxProperties\":100,"
    "\"additionalProperties\":{\"type\":[\"string\",\"null\"]}},\"fetch_files\":{\"type\":[\"array\","
    "\"null\"],\"maxItems\":100,\"items\":{\"type\":\"string\"}}}}";

static const char jupyter_body[] =
    "{\"type\":\"object\",\"required\":[\"cells\"],\"properties\":{\"cells\":{\"type\":\"array\","
    "\"maxItems\":1000,\"items\":{\"type\":\"string\"}},\"kernel\":{\"enum\":[\"python3\",null]},"
    "\"cell_timeout\":{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":86400},"
    "\"total_timeout\":{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":86400},"
    "\"files\":{\"type\":[\"object\",\"null\"],\"maxProperties\":100,"
    "\"additionalProperties\":{\"type\":[\"string\",\"null\"]}},\"fetch_files\":{\"type\":[\"array\","
    "\"null\"],\"maxItems\":100,\"items\":{\"type\":\"string\"}}}}";

static struct json *fusion_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    (void)status;
    (void)code;
    return json_object_of({"status", json_string("SandboxError")}, {"message", json_string(detail)});
}

static void put_file(struct client_call *c, const char *name, const struct json *content, bool base64)
{
    client_step(c, "put_file",
                json_object_of({"name", json_string(name)},
                               {"content", json_str(content) ? json_copy(content) : json_string("")},
                               {"encoding", base64 ? json_string("base64") : NULL}));
}

static void put_files(struct client_call *c)
{
    for (const struct json *f = json_first(json_get(c->body, "files")); f; f = json_next(f))
        put_file(c, json_key(f), f, true);
}

static void fetch_files(struct client_call *c)
{
    for (const struct json *f = json_first(json_get(c->body, "fetch_files")); f; f = json_next(f))
        client_step(c, "get_file", json_object_of({"name", json_copy(f)}));
}

/* The files that could be fetched, by name. */
static struct json *fetched(const struct client_call *c)
{
    struct json *out = json_object();

    for (const struct json *k = json_first(c->kept); k; k = json_next(k)) {
        const struct json *file = json_at(k, 1);
        if (!strcmp(json_text(json_at(k, 0)), "get_file") && json_get(file, "content"))
            json_set(out, json_text(json_get(file, "name")), json_copy(json_get(file, "content")));
    }
    return out;
}

/* ---- cells ---- */

static struct json *fusion_value(const struct json *result)
{
    static const char *const kinds[] = {"text/html", "text/markdown", "text/latex", "image/png"};
    const struct json *data = json_get(result, "data");
    struct json *out = json_object_of({"text/plain", json_copy(json_get(result, "value"))});

    for (size_t i = 0; i < countof(kinds); i++)
        if (json_type(json_get(data, kinds[i])) != JSON_NULL)
            json_set(out, kinds[i], json_copy(json_get(data, kinds[i])));
    return out;
}

static struct json *display_of(const struct json *result)
{
    struct json *out = json_array();

    for (const struct json *f = json_first(json_get(result, "files")); f; f = json_next(f)) {
        struct json *png = client_png(f);
        if (png)
            json_add(out, json_object_of({"image/png", png}));
    }
    if (*json_text(json_get(result, "value")))
        json_add(out, fusion_value(result));
    return out;
}

static struct json *errors_of(const struct json *result)
{
    const struct json *error = json_get(result, "error"), *name = json_get(error, "name");

    if (!strcmp(json_text(json_get(result, "status")), "ok"))
        return json_array();
    return json_array_of(
        json_object_of({"ename", json_copy(json_truthy(name) ? name : json_get(result, "status"))},
                       {"evalue", json_string(json_text(json_get(error, "text")))},
                       {"traceback", json_array_of(json_copy(json_get(error, "traceback")))}));
}

static struct json *keep_part(const char *operation, const struct json *arguments, const struct json *result)
{
    if (!strcmp(operation, "get_file"))
        return json_object_of({"name", json_copy(json_get(arguments, "name"))},
                              {"content", client_file(json_get(result, "path"))});
    if (strcmp(operation, "run_code") != 0)
        return json_copy(result);
    return json_object_of(
        {"ended", json_copy(json_get(result, "status"))},
        {"cell", json_object_of({"stdout", json_copy(json_get(result, "stdout"))},
                                {"stderr", json_copy(json_get(result, "stderr"))},
                                {"display", display_of(result)}, {"error", errors_of(result)})});
}

static void answer_jupyter(struct client_call *c)
{
    autojson struct json *cells = json_array();
    bool late = false;

    for (const struct json *k = json_first(c->kept); k; k = json_next(k))
        if (!strcmp(json_text(json_at(k, 0)), "run_code")) {
            json_add(cells, json_copy(json_get(json_at(k, 1), "cell")));
            late |= !strcmp(json_text(json_get(json_at(k, 1), "ended")), "timeout");
        }
    answer_json(
        c->q, 200,
        json_object_of(
            {"status", json_string(late ? "Failed" : "Success")}, {"message", json_string("")},
            {"driver", json_object_of({"status", json_string(late ? "TimeLimitExceeded" : "Finished")},
                                      {"return_code", late ? NULL : json_integer(0)})},
            {"cells", late ? json_array() : steal(&cells)}, {"executor_pod_name", json_null()},
            {"files", late ? json_object() : fetched(c)}));
}

static void run_jupyter(struct http_request *q)
{
    static const struct client_shape shape = {
        .answer = answer_jupyter, .keep = keep_part, .may_fail = "get_file"};
    struct client_call *c = client_once(q, &shape);

    if (!c)
        return;
    const struct json *limit = json_get(c->body, "cell_timeout");
    if (!json_truthy(limit))
        limit = json_get(c->body, "total_timeout");
    put_files(c);
    for (const struct json *cell = json_first(json_get(c->body, "cells")); cell; cell = json_next(cell))
        client_step(c, "run_code",
                    json_object_of({"code", json_copy(cell)},
                                   {"timeout", json_truthy(limit) ? json_copy(limit) : NULL}));
    fetch_files(c);
    client_go(c);
}

/* ---- a program ---- */

/* A cell's result as a program would tell it: its value is printed, and what it failed with. */
static struct json *as_program(const struct json *cell)
{
    const struct json *error = json_get(cell, "error"), *trace = json_get(error, "traceback");
    const char *status = json_text(json_get(cell, "status")), *value = json_text(json_get(cell, "value")),
               *why = json_text(json_truthy(trace) ? trace : json_get(error, "text"));
    autofree char *out = xasprintf("%s%s%s", json_text(json_get(cell, "stdout")), value, *value ? "\n" : ""),
                  *err = xasprintf("%s%s%s", json_text(json_get(cell, "stderr")), why, *why ? "\n" : "");
    int code = !strcmp(status, "ok") ? 0 : !strcmp(status, "timeout") ? 124 : 1;

    return json_object_of({"exit_code", json_integer(code)}, {"stdout", json_string(out)},
                          {"stderr", json_string(err)}, {"seconds", json_copy(json_get(cell, "seconds"))});
}

static struct json *keep_program(const char *operation, const struct json *arguments,
                                 const struct json *result)
{
    return !strcmp(operation, "run_code") ? as_program(result) : keep_part(operation, arguments, result);
}

static void fusion_answer_run(struct client_call *c)
{
    const struct json *cell = client_kept(c, "run_code"),
                      *run = cell ? cell : client_kept(c, "execute_command"),
                      *exit_code = json_get(run, "exit_code");
    bool late = json_int(exit_code, 0) == 124; /* as timeout(1) says */
    struct json *ran = json_object_of({"status", json_string(late ? "TimeLimitExceeded" : "Finished")},
                                      {"execution_time", json_copy(json_get(run, "seconds"))},
                                      {"return_code", late ? json_null() : json_copy(exit_code)},
                                      {"stdout", json_copy(json_get(run, "stdout"))},
                                      {"stderr", json_copy(json_get(run, "stderr"))});

    answer_json(c->q, 200,
                json_object_of({"status", json_string(json_truthy(exit_code) ? "Failed" : "Success")},
                               {"message", json_string("")}, {"compile_result", json_null()},
                               {"run_result", ran}, {"executor_pod_name", json_null()},
                               {"files", fetched(c)}));
}

/* A file and the command that runs it, or no command: code in a language of ours. */
static const struct language {
    const char *name, *file, *command;
} languages[] = {
    {"bash", "main.sh", "bash main.sh"},
    {"nodejs", "main.js", "node main.js"},
    {"pytest", "test_main.py", "python3 -m pytest test_main.py"},
    {"python", "main.py", "python3 main.py"},
    {.name = "sql"},
};

/* NULL: the request was refused. */
static const struct language *language_of(struct http_request *q)
{
    const char *name = json_text(json_get(http_request_body(q), "language"));

    for (size_t i = 0; i < countof(languages); i++)
        if (!strcmp(languages[i].name, name))
            return &languages[i];
    answer_error(q, 422, NULL, "programs in %.40s do not run here, only python, pytest, bash, nodejs and sql",
                 name);
    return NULL;
}

static bool takes_stdin(struct http_request *q, const struct language *l)
{
    if (l->command || !json_truthy(json_get(http_request_body(q), "stdin")))
        return true;
    answer_error(q, 422, NULL, "stdin: code in %s reads none; send the data in files", l->name);
    return false;
}

static void fusion_run_code(struct http_request *q)
{
    static const struct client_shape shape = {
        .answer = fusion_answer_run, .keep = keep_program, .may_fail = "get_file"};
    const struct language *l = language_of(q);
    struct client_call *c = l && takes_stdin(q, l) ? client_once(q, &shape) : NULL;

    if (!c)
        return;
    const struct json *input = json_get(c->body, "stdin"), *limit = json_get(c->body, "run_timeout");
    struct json *seconds = json_truthy(limit) ? json_copy(limit) : json_integer(RUN_SECONDS);
    put_files(c);
    if (l->command) {
        autofree char *command = xasprintf("%s%s", l->command, json_truthy(input) ? " < stdin" : "");
        put_file(c, l->file, json_get(c->body, "code"), false);
        if (json_truthy(input))
            put_file(c, "stdin", input, false);
        client_step(c, "execute_command",
                    json_object_of({"command", json_string(command)}, {"timeout", seconds}));
    } else {
        client_step(c, "run_code",
                    json_object_of({"code", json_copy(json_get(c->body, "code"))},
                                   {"language", json_string(l->name)}, {"timeout", seconds}));
    }
    fetch_files(c);
    client_go(c);
}

static const struct route rows[] = {
    {"POST", "/run_code", "fusion_run_code", "Run a program in a sandbox of its own", .body = run_body,
     .handle = fusion_run_code, .flags = ROUTE_HIDDEN | ROUTE_BASIC, .failure = fusion_failure},
    {"POST", "/run_jupyter", "fusion_run_jupyter", "Run cells one after another in a sandbox of their own",
     .body = jupyter_body, .handle = run_jupyter, .flags = ROUTE_HIDDEN | ROUTE_BASIC,
     .failure = fusion_failure},
};

void fusion_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
