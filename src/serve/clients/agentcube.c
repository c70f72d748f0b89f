/* agentcube.c - AgentCube's SDK: a session is a sandbox, which a header names in each request. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "clients/client_call.h"

#define INVOCATIONS "/v1/namespaces/{namespace}/code-interpreters/{name}/invocations/api/"

static const char create_body[] = "{\"type\":\"object\"}";

static const char execute_body[] =
    "{\"type\":\"object\",\"required\":[\"command\"],\"properties\":{\"command\":{\"type\":\"array\","
    "\"minItems\":1,\"maxItems\":1000,\"items\":{\"type\":\"string\"}},\"timeout\":{\"type\":[\"string\","
    "\"number\",\"null\"]}}}";

static const char put_body[] =
    "{\"type\":\"object\",\"required\":[\"path\",\"content\"],"
    "\"properties\":{\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1000},"
    "\"content\":{\"type\":\"string\"}}}";

static struct json *agentcube_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    (void)code;
    return json_object_of({"error", json_string(detail)}, {"code", json_integer(status)});
}

static struct client_call *in_session(struct http_request *q, const struct client_shape *shape)
{
    return client_in(q, shape, http_request_header(q, "X-Agentcube-Session-Id"), NULL);
}

static void agentcube_answer_create(struct client_call *c)
{
    answer_json(c->q, 200, json_object_of({"sessionId", json_string(c->call.sandbox)}));
}

static void agentcube_create(struct http_request *q)
{
    static const struct client_shape shape = {.answer = agentcube_answer_create};
    struct client_call *c = client_new(q, &shape, NULL);

    if (!c)
        return;
    client_step(c, "info", json_object());
    client_go(c);
}

static void agentcube_answer_end(struct client_call *c)
{
    answer_json(c->q, 200, json_object_of({"message", json_string("deleted")}));
}

static void agentcube_end(struct http_request *q)
{
    static const struct client_shape shape = {.answer = agentcube_answer_end};
    struct client_call *c = client_in(q, &shape, http_request_param(q, "id"), NULL);

    if (c)
        client_end(c);
}

/* A time as Go writes it: "5s", "250ms", "2m", or a number of seconds. NULL: it is neither. */
static struct json *timeout_seconds(const struct json *value)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 0.001}, {"m", 60}, {"h", 3600}};
    const char *text = json_str(value);
    char *unit = NULL;
    double number = text ? strtod(text, &unit) : json_double(value, -1);

    for (size_t i = 0; i < countof(units); i++)
        if (isfinite(number) && number >= 0 && !strcmp(unit ? unit : "", units[i].unit))
            return json_number(number * units[i].seconds);
    return NULL;
}

static void agentcube_answer_execute(struct client_call *c)
{
    static const char *const kept[] = {"stdout", "stderr", "exit_code"};
    const struct json *run = client_kept(c, "execute_command");
    struct json *out = json_object();

    json_copy_some(out, run, kept, countof(kept));
    json_set(out, "duration", json_copy(json_get(run, "seconds")));
    answer_json(c->q, 200, out);
}

static void agentcube_execute(struct http_request *q)
{
    static const struct client_shape shape = {.answer = agentcube_answer_execute};
    struct client_call *c = in_session(q, &shape);

    if (!c)
        return;
    client_step(c, "execute_command",
                json_object_of({"command", json_copy(json_get(c->body, "command"))},
                               {"timeout", timeout_seconds(json_get(c->body, "timeout"))}));
    client_go(c);
}

static void answer_put(struct client_call *c)
{
    const struct json *file = client_kept(c, "put_file");

    answer_json(c->q, 200,
                json_object_of({"path", json_copy(json_get(file, "name"))},
                               {"size", json_copy(json_get(file, "size"))}, {"mode", json_string("0644")}));
}

static void agentcube_put(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_put};
    struct client_call *c = in_session(q, &shape);

    if (!c)
        return;
    client_step(c, "put_file",
                json_object_of({"name", json_copy(json_get(c->body, "path"))},
                               {"content", json_copy(json_get(c->body, "content"))},
                               {"encoding", json_string("base64")}));
    client_go(c);
}

static void answer_list(struct client_call *c)
{
    struct json *files = json_array();

    for (const struct json *f = json_first(json_get(client_kept(c, "list_files"), "files")); f;
         f = json_next(f))
        json_add(files, json_object_of({"name", json_copy(json_get(f, "name"))},
                                       {"size", json_copy(json_get(f, "size"))},
                                       {"mode", json_string("0644")}, {"is_dir", json_boolean(false)}));
    answer_json(c->q, 200, json_object_of({"files", files}));
}

static void agentcube_list(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_list};
    struct client_call *c = in_session(q, &shape);

    if (!c)
        return;
    client_step(c, "list_files", json_object());
    client_go(c);
}

static void answer_get(struct client_call *c)
{
    const struct json *file = client_kept(c, "get_file");

    answer_file(c->q, json_text(json_get(file, "path")), json_text(json_get(file, "name")));
}

static void agentcube_get(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_get};
    struct client_call *c = in_session(q, &shape);

    if (!c)
        return;
    client_step(c, "get_file", json_object_of({"name", json_string(http_request_param(q, "path"))}));
    client_go(c);
}

static const struct route rows[] = {
    {"POST", "/v1/code-interpreter", "agentcube_create", "Make a session", .body = create_body,
     .handle = agentcube_create, .flags = ROUTE_HIDDEN, .failure = agentcube_failure},
    {"DELETE", "/v1/code-interpreter/sessions/{id}", "agentcube_delete", "End a session",
     .handle = agentcube_end, .flags = ROUTE_HIDDEN, .failure = agentcube_failure},
    {"POST", INVOCATIONS "execute", "agentcube_execute", "Run a command", .body = execute_body,
     .handle = agentcube_execute, .flags = ROUTE_HIDDEN, .failure = agentcube_failure},
    {"POST", INVOCATIONS "files", "agentcube_put", "Write a file", .body = put_body, .handle = agentcube_put,
     .flags = ROUTE_HIDDEN, .failure = agentcube_failure},
    {"GET", INVOCATIONS "files", "agentcube_list", "List the files", .handle = agentcube_list,
     .flags = ROUTE_HIDDEN, .failure = agentcube_failure},
    {"GET", INVOCATIONS "files/{path...}", "agentcube_get", "Read a file", .handle = agentcube_get,
     .flags = ROUTE_HIDDEN, .failure = agentcube_failure},
};

void agentcube_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
