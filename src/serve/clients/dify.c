/* dify.c - Dify's code node: each run of a script has a sandbox of its own. The answer's status is 200, and
 * its code 0, whatever the script did. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "clients/client_call.h"

static const char run_body[] =
    "{\"type\":\"object\",\"required\":[\"language\",\"code\"],"
    "\"properties\":{\"language\":{\"type\":\"string\"},\"code\":{\"type\":\"string\"},"
    "\"preload\":{\"type\":[\"string\",\"null\"]}}}";

static struct json *dify_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    (void)code;
    return json_object_of({"code", json_integer(status)}, {"message", json_string(detail)},
                          {"data", json_null()});
}

static struct json *success(struct json *data)
{
    return json_object_of({"code", json_integer(0)}, {"message", json_string("success")}, {"data", data});
}

/* What the script failed with, "" where it did not. */
static struct json *error_of(const struct json *run)
{
    const char *status = json_text(json_get(run, "status")), *text = json_text(json_get(run, "stderr"));
    const struct json *error = json_get(run, "error"), *exit_code = json_get(run, "exit_code");
    bool exits = !strcmp(status, "exit");

    if (!strcmp(status, "ok") || (exits && !json_truthy(exit_code)))
        return json_string("");
    if (!exits)
        text = json_text(json_get(error, json_truthy(json_get(error, "traceback")) ? "traceback" : "text"));
    if (*text)
        return json_string(text);
    autofree char *why = exits ? xasprintf("exit status %lld", (long long)json_int(exit_code, 0))
                               : xasprintf("error: %s", status);
    return json_string(why);
}

static void dify_answer_run(struct client_call *c)
{
    const struct json *run = client_kept(c, "run_code");

    answer_json(
        c->q, 200,
        success(json_object_of({"stdout", json_copy(json_get(run, "stdout"))}, {"error", error_of(run)})));
}

static void dify_run(struct http_request *q)
{
    static const struct client_shape shape = {.answer = dify_answer_run};
    struct buf code autorelease(buf_release) = BUF_INIT(0);

    const char *language = json_text(json_get(http_request_body(q), "language"));

    if (strcmp(language, "python3") != 0 && strcmp(language, "nodejs") != 0) {
        answer_json(q, 200,
                    json_object_of({"code", json_integer(-400)},
                                   {"message", json_string("only python3 and nodejs run here")},
                                   {"data", json_null()}));
        return;
    }
    struct client_call *c = client_once(q, &shape);
    if (!c)
        return;
    buf_addstr(&code, json_text(json_get(c->body, "preload")));
    if (code.len && buf_last(&code) != '\n')
        buf_addch(&code, '\n');
    buf_addstr(&code, json_text(json_get(c->body, "code")));
    client_step(c, "run_code",
                json_object_of({"code", json_string_n(buf_str(&code), code.len)},
                               {"language", json_string(language)}));
    client_go(c);
}

static void dependencies(struct http_request *q)
{
    answer_json(q, 200, success(json_object_of({"dependencies", json_array()})));
}

static const struct route rows[] = {
    {"POST", "/v1/sandbox/run", "dify_run", "Run a script in a sandbox of its own", .body = run_body,
     .handle = dify_run, .flags = ROUTE_HIDDEN, .failure = dify_failure},
    {"GET", "/v1/sandbox/dependencies", "dify_dependencies",
     "Packages that can be chosen: none, all are there", .handle = dependencies, .flags = ROUTE_HIDDEN,
     .failure = dify_failure},
};

void dify_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
