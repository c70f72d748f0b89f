/* sandboxes.c - the routes for sandboxes: create_sandbox, run_code and so on. Each is a row that names the
 * runner's operation and the members of the body that are its arguments. The schemas of requests and
 * answers are made from the table of operations, so that they cannot differ from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "operations/operations.h"
#include "front/lease_call.h"
#include "server/media.h"
#include "server/parked.h"
#include "server/private.h"
#include "server/questions_private.h"
#include "server/sandboxes.h"

struct job;
typedef void shape_fn(struct job *j, const struct json *result);

struct sandbox_call {
    const char *operation; /* of the runner */
    shape_fn *shape;       /* answers; NULL: the result with files as links */
    bool reads;            /* a sandbox that may give way to another one still may, for it is as it was */
    struct {
        const char *argument, *member; /* where the body has another name than the operation */
    } names[2];
};

struct job {
    struct http_request *q;
    const struct sandbox_call *asks;
    struct lease_call call;
    bool recreated;
};

/* Copies the files of a result, with a link in place of the path. */
static struct json *files_with_links(const struct job *j, const struct json *files)
{
    static const char *const kept[] = {"name", "size", "type", "kind"};
    struct json *out = json_array();

    for (const struct json *f = json_first(files); f; f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));
        autofree char *url = sandbox_file_url(j->q, j->call.sandbox, name);
        struct json *one = json_object();

        json_copy_some(one, f, kept, countof(kept));
        json_set_str(one, "url", url);
        json_add(out, one);
    }
    return out;
}

static struct json *begin_answer(const struct job *j)
{
    return json_object_of({"sandbox_id", json_string(j->call.sandbox)},
                          {"recreated", j->recreated ? json_boolean(true) : NULL});
}

static void shape_result(struct job *j, const struct json *result)
{
    struct json *out = begin_answer(j);

    for (const struct json *m = json_first(result); m; m = json_next(m)) {
        const char *key = json_key(m);

        json_set(out, key, !strcmp(key, "files") ? files_with_links(j, m) : json_copy(m));
    }
    answer_json(j->q, 200, out);
}

static void shape_info(struct job *j, const struct json *result)
{
    struct lease *h = lease_call_sandbox(&j->call);

    struct json *notices = json_array();

    autofree char *warning = h ? lease_warning(h) : NULL;

    if (warning)
        json_add(notices, json_string(warning));
    answer_json(j->q, 200,
                json_set_all(begin_answer(j),
                             {"conversation_id", json_string(h ? lease_conversation(h) : NULL)},
                             {"info", json_copy(result)}, {"notices", notices}));
}

static void shape_link(struct job *j, const struct json *result)
{
    const char *name = json_text(json_get(result, "name"));
    autofree char *url = sandbox_file_url(j->q, j->call.sandbox, name);

    answer_json(j->q, 200,
                json_set_all(begin_answer(j), {"filename", json_string(name)},
                             {"download_url", json_string(url)},
                             {"size", json_integer(json_int(json_get(result, "size"), 0))}));
}

static void shape_file(struct job *j, const struct json *result)
{
    answer_file(j->q, json_text(json_get(result, "path")), http_request_param(j->q, "name"));
}

/* Something that is not a file counts as absent, and so does a part of a path that cannot be a name. */
static bool is_absent(const struct job *j, const struct error *err)
{
    return err->kind == ERROR_USAGE
           && (j->asks->shape == shape_file || (j->asks->shape == shape_link && err->code));
}

static void on_job_done(void *ctx, const struct json *result, const struct error *err)
{
    struct job *j = ctx;

    if (!result && j->call.made) /* who wanted it does not know its id */
        lease_call_end(&j->call);
    if (result)
        (j->asks->shape ? j->asks->shape : shape_result)(j, result);
    else if (is_absent(j, err))
        answer_error(j->q, 404, NULL, "%s", err->text);
    else
        answer_failure(j->q, err);
    free(j);
}

/* Sends output and notices as they come, in the form of docs/events.schema.json. The answer repeats them. */
static void on_job_event(void *ctx, const struct json *event)
{
    const struct job *j = ctx;
    const struct json *stream = json_get(event, "stream"); /* NULL: a notice */
    const char *type = stream ? "tool_output" : "notice";
    autojson struct json *o = json_object_of(
        {"type", json_string(type)}, {"v", json_integer(1)}, {"question", json_integer(0)},
        {"cell", stream ? json_integer(0) : NULL}, {"stream", stream ? json_copy(stream) : NULL},
        {"level", stream ? NULL : json_string("info")}, {"text", json_copy(json_get(event, "text"))});

    stream_sse(j->q, type, o);
}

/* The client has left, so its request is cancelled. */
static void on_job_gone(void *ctx)
{
    struct job *j = ctx;

    lease_call_leave(&j->call);
    free(j);
}

/* What the body calls this argument. */
static const char *member_of(const struct sandbox_call *c, const char *argument)
{
    for (size_t i = 0; i < countof(c->names) && c->names[i].argument; i++)
        if (!strcmp(c->names[i].argument, argument))
            return c->names[i].member;
    return argument;
}

/* The arguments of the operation: the members of the body that it knows, which may be long. */
static struct json *operation_arguments(const struct sandbox_call *c, struct http_request *q)
{
    const struct operation *o = operation_find(c->operation);
    autojson struct json *body = http_request_take_body(q);
    struct json *out = json_object();

    for (const struct json *p = json_first(json_get(o->arguments, "properties")); p; p = json_next(p))
        json_move(out, json_key(p), body, member_of(c, json_key(p)));
    return out;
}

/* Its sandbox is there. */
static void on_job_given(void *ctx, struct lease *h, bool made)
{
    struct job *j = ctx;

    http_request_waits(j->q, false);
    j->call.made = made && !strcmp(j->asks->operation, "add_packages");
    if (made)
        http_request_made(j->q, h);
    if (http_request_wants_stream(j->q))
        stream_begin_events(j->q);
}

/* Asks h, or else the sandbox that w wants, and answers when it has. Takes arguments. */
static void ask_sandbox(const struct job *new, struct lease *h, const struct queue_want *w,
                        struct json *arguments)
{
    struct job *j = xcalloc(1, sizeof *j);
    struct http_request *q = new->q;
    autojson struct json *owned = arguments;
    const bool streams = http_request_wants_stream(q);
    const struct runner_listener l = {.ctx = j, .event = streams ? on_job_event : NULL, .done = on_job_done};
    struct error err = {0};

    *j = *new;
    j->call.given = on_job_given;
    j->call.given_ctx = j;
    j->call.spare = h && j->asks->reads && lease_spare(h);
    if (h)
        lease_call_begin(&j->call, http_request_runners(q), http_request_client(q), h);
    if ((!h && lease_call_make(&j->call, http_request_runners(q), w, &err) < 0)
        || lease_call_ask(&j->call, j->asks->operation, owned, &l, &err) < 0) {
        answer_failure(q, &err);
        free(j);
        return;
    }
    http_request_waits(q, j->call.place.rs != NULL);
    http_request_later(q, on_job_gone, j);
    if (h && streams)
        stream_begin_events(q);
}

struct lease *sandbox_of(struct http_request *q, const char *id, bool *recreate)
{
    enum runners_absent why;
    struct lease *h = runners_find(http_request_runners(q), http_request_client(q), id, &why);

    if (recreate)
        *recreate = !h && (why == RUNNERS_EXPIRED || why == RUNNERS_GAVE_WAY)
                    && json_bool(json_get(http_request_body(q), "recreate"), false);
    if (h || (recreate && *recreate))
        return h;
    if (why == RUNNERS_UNKNOWN)
        answer_error(q, 404, "SANDBOX_UNKNOWN", "there is no sandbox with this id");
    else
        answer_error(q, 410, "SANDBOX_EXPIRED", "this sandbox %s; create another one",
                     why == RUNNERS_EXPIRED    ? "was not used for too long, and has ended"
                     : why == RUNNERS_GAVE_WAY ? "gave way to another one, for all were in use"
                                               : "was stopped");
    return NULL;
}

static void on_call(struct http_request *q)
{
    const struct sandbox_call *c = http_request_route(q)->data;
    const struct json *body = http_request_body(q);
    const struct queue_want w = {.client = http_request_client(q)};
    struct job j = {.q = q, .asks = c};
    struct lease *h = sandbox_of(q, json_text(json_get(body, "sandbox_id")), &j.recreated);

    if (h || j.recreated)
        ask_sandbox(&j, h, &w, operation_arguments(c, q));
}

static const struct sandbox_call with = {"add_packages", shape_info, false, {{0}}};

static void on_create(struct http_request *q)
{
    bool more = json_get(http_request_body(q), "with") != NULL;
    /* a copy, since the arguments are taken out of the body */
    autofree char *conversation = xstrdup(json_str(json_get(http_request_body(q), "conversation_id")));
    const struct queue_want w = {.client = http_request_client(q),
                                 .conversation = conversation && *conversation ? conversation : NULL};
    struct job j = {.q = q, .asks = more ? &with : http_request_route(q)->data};

    ask_sandbox(&j, NULL, &w, more ? operation_arguments(&with, q) : json_object());
}

static void on_stop(struct http_request *q)
{
    const struct json *id = json_get(http_request_body(q), "sandbox_id");
    struct lease *h = sandbox_of(q, json_text(id), NULL);

    if (!h)
        return;
    parked_forget(q->s->parked, http_request_client(q), json_text(id));
    runners_stop(http_request_runners(q), h);
    answer_json(q, 200, json_object_of({"sandbox_id", json_copy(id)}, {"stopped", json_boolean(true)}));
}

static void add_one(void *ctx, struct lease *h)
{
    json_add(ctx, json_object_of({"sandbox_id", json_string(lease_id(h))},
                                 {"conversation_id", json_string(lease_conversation(h))},
                                 {"created", json_integer(lease_created(h))},
                                 {"idle_seconds", json_integer(lease_idle_ms(h) / 1000)},
                                 {"busy", json_boolean(lease_idle_ms(h) == 0)}));
}

static void on_list(struct http_request *q)
{
    struct json *list = json_array();

    runners_each(http_request_runners(q), http_request_client(q), add_one, list);
    answer_json(q, 200, json_object_of({"sandboxes", list}));
}

static void on_file(struct http_request *q)
{
    const char *id = http_request_param(q, "id"), *name = http_request_param(q, "name");
    struct job j = {.q = q, .asks = http_request_route(q)->data};

    if (!file_link_good(q, id, name) && !http_request_has_token(q)) {
        answer_header(q, "WWW-Authenticate", "Bearer");
        answer_error(q, 401, NULL, "this needs a token, or the whole link");
        return;
    }
    struct lease *h = sandbox_of(q, id, NULL);
    if (h)
        ask_sandbox(&j, h, NULL, json_object_of({"name", json_string(name)}));
}

static const struct sandbox_call create = {"info", shape_info, false, {{0}}},
                                 info = {"info", shape_info, true, {{0}}},
                                 code = {"run_code", NULL, false, {{0}}},
                                 command = {"execute_command", NULL, false, {{0}}},
                                 put = {"put_file", NULL, false, {{"name", "filename"}}},
                                 fetch = {"fetch_file",
                                          NULL,
                                          false,
                                          {{"name", "remote_filename"}, {"url", "file_url"}}},
                                 get = {"get_file", shape_link, true, {{"name", "filename"}}},
                                 list = {"list_files", NULL, true, {{0}}},
                                 reset = {"reset", NULL, false, {{0}}}, copy = {"fork", NULL, false, {{0}}},
                                 file = {"get_file", shape_file, true, {{0}}};

#define ID      "{\"type\": \"string\", \"maxLength\": 64, \"description\": \"From create_sandbox\"}"
#define OBJECT  "{\"type\": \"object\", \"properties\": "
#define NO_MORE "\"additionalProperties\": false}"
#define ONLY_ID OBJECT "{\"sandbox_id\": " ID "}, \"required\": [\"sandbox_id\"], " NO_MORE

/* The rows whose body or result is missing here get them from the operation. */
static struct route rows[] = {
    {"POST", "/create_sandbox", "create_sandbox", "Create a sandbox, or find that of the conversation",
     .handle = on_create, .data = &create, .also = "403 502"},
    {"POST", "/get_sandbox_info", "get_sandbox_info", "Engine, packages, limits, variables",
     .handle = on_call, .data = &info},
    {"POST", "/add_packages", "add_packages", "Let code import packages that the server allows",
     .handle = on_call, .data = &with, .also = "403 502"},
    {"POST", "/run_code", "run_code", "Run Python; variables and files stay", .handle = on_call,
     .data = &code, .stream = "text/event-stream"},
    {"POST", "/execute_command", "execute_command", "Run a shell command beside the interpreter",
     .handle = on_call, .data = &command, .stream = "text/event-stream"},
    {"POST", "/write_file", "write_file", "Write a file into /mnt/data", .handle = on_call, .data = &put,
     .body_max = JSON_BYTES, .also = "409 507"},
    {"POST", "/upload_file", "upload_file", "Fetch a file from an https URL into /mnt/data",
     .handle = on_call, .data = &fetch, .other_name = {"remote_path", "remote_filename"},
     .also = "409 502 507"},
    {"POST", "/download_file", "download_file", "A link to a file", .handle = on_call, .data = &get,
     .result = OBJECT "{\"sandbox_id\": {\"type\": \"string\"}, \"filename\": {\"type\": \"string\"}, "
                      "\"download_url\": {\"type\": \"string\"}, \"size\": {\"type\": \"integer\"}}, "
                      "\"required\": [\"sandbox_id\", \"filename\", \"download_url\", \"size\"]}"},
    {"POST", "/list_files", "list_files", "The files in /mnt/data", .handle = on_call, .data = &list},
    {"POST", "/reset_sandbox", "reset_sandbox", "Restart Python; files are kept", .handle = on_call,
     .data = &reset},
    {"POST", "/fork_sandbox", "fork_sandbox", "A new sandbox that goes on from a live copy of another",
     .handle = on_call, .data = &copy, .also = "409"},
    {"POST", "/stop_sandbox", "stop_sandbox", "End a sandbox", .handle = on_stop, .flags = ROUTE_AT_ONCE,
     .body = ONLY_ID,
     .result = OBJECT "{\"sandbox_id\": {\"type\": \"string\"}, \"stopped\": {\"type\": \"boolean\"}}, "
                      "\"required\": [\"sandbox_id\", \"stopped\"]}"},
    {"POST", "/list_sandboxes", "list_sandboxes", "List the sandboxes", .handle = on_list,
     .flags = ROUTE_AT_ONCE, .body = OBJECT "{}, " NO_MORE,
     .result = OBJECT
     "{\"sandboxes\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"properties\": {"
     "\"sandbox_id\": {\"type\": \"string\"}, \"conversation_id\": {\"type\": [\"string\", "
     "\"null\"]}, \"created\": {\"type\": \"integer\"}, \"idle_seconds\": {\"type\": "
     "\"integer\"}, \"busy\": {\"type\": \"boolean\"}}, \"required\": [\"sandbox_id\", "
     "\"conversation_id\", \"created\", \"idle_seconds\", \"busy\"]}}}, \"required\": [\"sandboxes\"]}"},
    {"GET", "/files/{id}/{name...}", "get_file", "A file of a sandbox", .handle = on_file, .data = &file,
     .flags = ROUTE_PUBLIC | ROUTE_SIGNED, .type = "application/octet-stream"},
    {"GET", "/v1/containers/{id}/files/{name}/content", "get_container_file",
     "A file of a sandbox, as OpenAI's clients ask for it", .handle = on_file, .data = &file,
     .flags = ROUTE_HIDDEN, .type = "application/octet-stream", .failure = openai_failure},
    {"GET", "/download/{id}/{name...}", "librechat_download", "A file of a sandbox, as LibreChat asks for it",
     .handle = on_file, .data = &file, .flags = ROUTE_HIDDEN, .type = "application/octet-stream"},
};

static struct json *parsed_body(const char *text)
{
    struct error err = {0};

    return json_parse(text, strlen(text), 0, NULL, &err);
}

/* The schema of a route's body: the arguments of the operation, and the id of the sandbox. */
static char *body_of(const struct sandbox_call *c, const struct operation *o)
{
    autojson struct json *out = parsed_body(c == &put ? "{" SCHEMA_BASE64 "}" : "{}");
    struct json *properties = json_object_of({"sandbox_id", parsed_body(ID)}),
                *required = json_array_of(json_string("sandbox_id"));

    for (const struct json *p = json_first(json_get(o->arguments, "properties")); p; p = json_next(p))
        json_set(properties, member_of(c, json_key(p)), json_copy(p));
    for (const struct json *r = json_first(json_get(o->arguments, "required")); r; r = json_next(r))
        json_add(required, json_string(member_of(c, json_text(r))));
    json_set(properties, "recreate",
             parsed_body(
                 "{\"type\": \"boolean\", \"default\": false, \"description\": \"If the sandbox has expired, "
                 "continue in a new one\"}"));
    if (c == &put) /* a runner can take it from a descriptor; here it stands in the body or nowhere */
        json_add(required, json_string("content"));
    json_set_all(out, {"type", json_string("object")}, {"properties", properties}, {"required", required},
                 {"additionalProperties", json_boolean(false)});
    return json_print(out);
}

#define FILES                                                                                             \
    "{\"type\": \"array\", \"items\": " OBJECT "{\"name\": {\"type\": \"string\"}, \"size\": {\"type\": " \
    "\"integer\"}, \"type\": {\"type\": \"string\"}, \"kind\": {\"type\": \"string\", \"enum\": "         \
    "[\"file\", \"figure\"]}, \"url\": {\"type\": \"string\"}}, \"required\": [\"name\", \"size\", "      \
    "\"url\"]}}"

/* As shape_info makes it. */
static struct json *info_of(const struct operation *o)
{
    struct json *members = json_object_of(
        {"conversation_id", parsed_body("{\"type\": [\"string\", \"null\"]}")},
        {"info", json_copy(o->result)},
        {"notices", parsed_body("{\"type\": \"array\", \"items\": {\"type\": \"string\"}}")});

    return json_object_of({"required", parsed_body("[\"conversation_id\", \"info\", \"notices\"]")},
                          {"properties", members});
}

/* As begin_answer and the shape of the call make it. */
static char *schema_of_result(const struct sandbox_call *c, const struct operation *o)
{
    autojson struct json *result = c->shape == shape_info ? info_of(o) : json_copy(o->result);
    struct json *properties = json_object_of({"sandbox_id", parsed_body("{\"type\": \"string\"}")},
                                             {"recreated", parsed_body("{\"type\": \"boolean\"}")}),
                *required = json_array_of(json_string("sandbox_id"));

    for (const struct json *p = json_first(json_get(result, "properties")); p; p = json_next(p))
        json_set(properties, json_key(p), !strcmp(json_key(p), "files") ? parsed_body(FILES) : json_copy(p));
    for (const struct json *r = json_first(json_get(result, "required")); r; r = json_next(r))
        json_add(required, json_copy(r));
    autojson struct json *out = json_object_of({"type", json_string("object")}, {"properties", properties},
                                               {"required", required});
    return json_print(out);
}

/* A conversation, and what is added to its sandbox at once. */
static char *create_body(void)
{
    struct json *properties = parsed_body(
        "{\"conversation_id\": {\"anyOf\": [{\"type\": \"string\", \"maxLength\": 256}, {\"type\": "
        "\"null\"}], \"description\": \"The same id finds the same sandbox\"}}");

    json_copy_all(properties, json_get(operation_find(with.operation)->arguments, "properties"));
    autojson struct json *out = json_object_of({"type", json_string("object")}, {"properties", properties},
                                               {"additionalProperties", json_boolean(false)});
    return json_print(out);
}

/* What the rows point to is made once and kept, because the rows are static. */
void sandbox_routes(struct server *s)
{
    size_t n = 0;

    for (size_t i = 0; i < countof(rows); i++) {
        const struct sandbox_call *c = rows[i].data;
        const struct operation *o = c ? operation_find(c->operation) : NULL;

        if (o && c != &file && !rows[i].body)
            rows[i].body = c == &create ? create_body() : body_of(c, o);
        if (o && c != &file && !rows[i].result)
            rows[i].result = schema_of_result(c, o);
        if (!c || o) /* an operation that this runner does not have gets no route */
            rows[n++] = rows[i];
    }
    server_routes(s, rows, n);
}
