/* describe.c - describes the routes as an OpenAPI 3.1 document, from the rows by which requests are
 * checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "server/private.h"

static struct json *parsed_schema(const char *text)
{
    struct error err = {0};
    struct json *out = json_parse(text, strlen(text), 0, NULL, &err);

    return out ? out : json_object();
}

/* Makes {"application/json": {"schema": ...}}. Takes schema. */
static struct json *content(const char *type, struct json *schema)
{
    return json_object_of({type, json_object_of({"schema", schema})});
}

static struct json *answer_schema(const char *description, const char *type, struct json *schema)
{
    return json_object_of({"description", json_string(description)}, {"content", content(type, schema)});
}

static bool is_text(const char *type)
{
    return strncmp(type, "application/json", 16) != 0;
}

/* Does the route need a sandbox that exists? */
static bool names_sandbox(const struct route *r)
{
    return strchr(r->path, '{') || (r->body && strstr(r->body, "\"sandbox_id\""));
}

enum when { ALWAYS, TOKEN, BODY, SANDBOX, ALSO }; /* ALSO: only where the route says so */

static bool applies(enum when when, const struct route *r, const char *status)
{
    const bool is[] = {
        [ALWAYS] = true,
        [TOKEN] = !(r->flags & ROUTE_PUBLIC) || r->flags & ROUTE_SIGNED,
        [BODY] = r->body || r->flags & ROUTE_RAW,
        [SANDBOX] = names_sandbox(r),
        [ALSO] = false,
    };

    return is[when] || (r->also && strstr(r->also, status));
}

static const struct {
    const char *status, *means;
    enum when when;
    const char *header, *header_means;
} refusals[] = {
    {"400", "Not a request that can be read", ALWAYS, NULL, NULL},
    {"401", "No token, or an unknown one", TOKEN, "WWW-Authenticate", "Bearer"},
    {"403", "Not meant for this server, sent by a page of another site, or not allowed here", ALWAYS, NULL,
     NULL},
    {"404", "There is no such sandbox or file", SANDBOX, NULL, NULL},
    {"408", "The request did not arrive in time", BODY, NULL, NULL},
    {"409", "A folder is where a file should be, or the other way round", ALSO, NULL, NULL},
    {"410", "The sandbox has ended: code SANDBOX_EXPIRED", SANDBOX, NULL, NULL},
    {"413", "The body is too large", BODY, NULL, NULL},
    {"415", "The body is not application/json", BODY, NULL, NULL},
    {"422", "A field is missing or wrong", BODY, NULL, NULL},
    {"429", "Too much at once, of this token or in all", TOKEN, "Retry-After", "Seconds"},
    {"502", "The model service, or the host of a file, failed", ALSO, NULL, NULL},
    {"503", "The sandbox could not be started, or the server is shutting down", TOKEN, "Retry-After",
     "Seconds"},
    {"507", "There is no room for it in the sandbox", ALSO, NULL, NULL},
};

static struct json *headers(const char *name, const char *means)
{
    struct json *one = json_object_of({"schema", json_object_of({"type", json_string("string")})},
                                      {"required", json_boolean(true)}, {"description", json_string(means)});

    return json_object_of({name, one});
}

/* The members of an answer, or of its request, that another request can use. OpenAPI calls this a link. */
static const struct {
    const char *from, *to; /* operations; to NULL: every operation whose body names a sandbox */
    const char *with;
} links[] = {
    {"create_sandbox", NULL, "{\"requestBody\": {\"sandbox_id\": \"$response.body#/sandbox_id\"}}"},
    {"write_file", "download_file",
     "{\"requestBody\": {\"sandbox_id\": \"$response.body#/sandbox_id\", \"filename\": "
     "\"$request.body#/filename\"}}"},
    {"write_file", "get_file",
     "{\"parameters\": {\"id\": \"$response.body#/sandbox_id\", \"name\": \"$request.body#/filename\"}}"},
    {"ask", "ask", "{\"requestBody\": {\"session\": \"$response.body#/session\"}}"},
};

static void add_link(struct json *out, const char *to, const char *with)
{
    struct json *one = parsed_schema(with);

    json_set_str(one, "operationId", to);
    json_set(out, to, one);
}

static struct json *links_of(const struct server *s, const struct route *from)
{
    struct json *out = json_object();

    for (size_t i = 0; i < countof(links); i++) {
        if (strcmp(links[i].from, from->operation) != 0)
            continue;
        if (links[i].to)
            add_link(out, links[i].to, links[i].with);
        for (size_t t = 0; t < s->n_tables && !links[i].to; t++)
            for (size_t k = 0; k < s->tables[t].n; k++) {
                const struct route *r = &s->tables[t].rows[k];

                if (r->body && !(r->flags & ROUTE_HIDDEN) && names_sandbox(r))
                    add_link(out, r->operation, links[i].with);
            }
    }
    return out;
}

/* A stream of named events, each with a JSON object. OpenAPI 3.1 has no word for what is in one, so x-events
 * has the schema of each name. */
static struct json *events_of(const struct route *r)
{
    struct json *out = parsed_schema(
        "{\"schema\": {\"type\": \"string\", \"description\": \"Server-sent events: each has a name and a "
        "JSON object, and x-events has the schema for each name. The last one is answer or error. Ignore "
        "names that you do not know.\"}}");
    struct json *events = parsed_schema("{\"tool_output\": {\"$ref\": \"#/components/schemas/OutputEvent\"}, "
                                        "\"notice\": {\"$ref\": \"#/components/schemas/NoticeEvent\"}, "
                                        "\"error\": {\"$ref\": \"#/components/schemas/ErrorEvent\"}}");

    json_set(events, "answer", parsed_schema(r->result ? r->result : "{\"type\": \"object\"}"));
    json_set(out, "x-events", events);
    return out;
}

static struct json *done(const struct server *s, const struct route *r)
{
    const char *type = r->type ? r->type : "application/json";
    struct json *out = answer_schema("Done", type,
                                     parsed_schema(r->result       ? r->result
                                                   : is_text(type) ? "{\"type\": \"string\"}"
                                                                   : "{\"type\": \"object\"}"));

    json_set(out, "links", links_of(s, r));
    if (r->stream) {
        struct json *types = json_copy(json_get(out, "content"));

        json_set(types, r->stream, events_of(r));
        json_set(out, "content", types);
    }
    return out;
}

static struct json *answers(const struct server *s, const struct route *r)
{
    struct json *out = json_object();

    json_set(out, "200", done(s, r));
    for (size_t i = 0; i < countof(refusals); i++) {
        if (!applies(refusals[i].when, r, refusals[i].status))
            continue;
        struct json *one = answer_schema(refusals[i].means, "application/json",
                                         parsed_schema(r->failure
                                                           ? "{\"type\": \"object\"}"
                                                           : "{\"$ref\": \"#/components/schemas/Error\"}"));
        if (refusals[i].header)
            json_set(one, "headers", headers(refusals[i].header, refusals[i].header_means));
        json_set(out, refusals[i].status, one);
    }
    return out;
}

static const char *meaning_of(const char *parameter)
{
    static const char *const meanings[][2] = {{"id", "The id of the sandbox"},
                                              {"name", "The name of the file, or its path below /mnt/data"}};

    for (size_t i = 0; i < countof(meanings); i++)
        if (!strcmp(meanings[i][0], parameter))
            return meanings[i][1];
    return NULL;
}

/* Describes the parts of the path that stand in braces. */
static struct json *parameters(const struct route *r)
{
    struct json *out = json_array();

    for (const char *at = strchr(r->path, '{'); at; at = strchr(at + 1, '{')) {
        autofree char *name = xmemdup0(at + 1, strcspn(at + 1, ".}"));

        json_add(out, json_object_of({"name", json_string(name)}, {"in", json_string("path")},
                                     {"required", json_boolean(true)},
                                     {"description", json_string(meaning_of(name))},
                                     {"schema", parsed_schema("{\"type\": \"string\", \"minLength\": 1}")}));
    }
    return out;
}

static struct json *request_body(const struct route *r)
{
    struct json *schema = parsed_schema(r->body ? r->body : "{\"type\": \"object\"}");
    bool required = json_size(json_get(schema, "required")) > 0;

    return json_object_of({"required", json_boolean(required)},
                          {"content", content("application/json", schema)});
}

static struct json *operation(const struct server *s, const struct route *r)
{
    const char *security = r->flags & ROUTE_SIGNED ? "[{\"token\": []}, {\"link\": []}]" : "[]";

    return json_object_of({"operationId", json_string(r->operation)}, {"summary", json_string(r->summary)},
                          {"parameters", strchr(r->path, '{') ? parameters(r) : NULL},
                          {"requestBody", r->body || r->flags & ROUTE_RAW ? request_body(r) : NULL},
                          {"responses", answers(s, r)},
                          {"security", r->flags & ROUTE_PUBLIC ? parsed_schema(security) : NULL},
                          {"x-other-api", r->flags & ROUTE_HIDDEN ? json_boolean(true) : NULL});
}

/* Returns the path as OpenAPI writes it: "/files/{id}/{name...}" without the dots. */
static char *openapi_path(const struct route *r)
{
    const char *dots = strstr(r->path, "...}");

    return dots ? xasprintf("%.*s}", (int)(dots - r->path), r->path) : xstrdup(r->path);
}

static void add_route(const struct server *s, struct json *paths, const struct route *r)
{
    autofree char *path = openapi_path(r);
    autofree char *method = xstrdup(r->method);
    const struct json *there = json_get(paths, path);
    struct json *item = there ? json_copy(there) : json_object();

    for (char *c = method; *c; c++)
        *c = (char)(*c | 0x20);
    if (!json_get(item, method))
        json_set(item, method, operation(s, r));
    json_set(paths, path, item);
}

/* The events of a stream, as docs/events.schema.json has them. */
#define EVENT(name, more, required)                                                                 \
    "\"" name "\": {\"type\": \"object\", \"properties\": {\"type\": {\"type\": \"string\"}, " more \
    "}, \"required\": [" required "]}"
#define EVENT_SCHEMAS                                                                                        \
    EVENT("OutputEvent",                                                                                     \
          "\"v\": {\"type\": \"integer\"}, \"question\": {\"type\": \"integer\"}, \"cell\": {\"type\": "     \
          "\"integer\"}, \"stream\": {\"type\": \"string\", \"enum\": [\"stdout\", \"stderr\"]}, \"text\": " \
          "{\"type\": \"string\"}",                                                                          \
          "\"type\", \"stream\", \"text\"")                                                                  \
    ", " EVENT("NoticeEvent",                                                                                \
               "\"v\": {\"type\": \"integer\"}, \"question\": {\"type\": \"integer\"}, \"level\": "          \
               "{\"type\": \"string\"}, \"text\": {\"type\": \"string\"}",                                   \
               "\"type\", \"level\", \"text\"") ", "                                                         \
                                                "\"ErrorEvent\": {\"type\": \"object\", \"properties\": "    \
                                                "{\"status\": {\"type\": \"integer\"}, \"code\": "           \
                                                "{\"type\": \"string\"}, \"detail\": {\"type\": "            \
                                                "\"string\"}}, \"required\": [\"status\", \"code\", "        \
                                                "\"detail\"]}"

/* The parts of the page itself are no API. */
static bool is_described(const struct route *r, bool all)
{
    return !(r->flags & ROUTE_HIDDEN)
           || (all && strncmp(r->path, "/docs/", 6) != 0 && strcmp(r->path, "/redoc") != 0);
}

struct json *describe_routes(const struct server *s, const char *base, bool all)
{
    struct json *out = parsed_schema(
        "{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"sandpiper\", "
        "\"description\": \"Sandboxes that run Python: "
        "variables and files are kept, and code has no network and cannot reach this machine. "
        "Code that fails is a 200 with its "
        "error in the body; every other error is an object with code and detail.\"}, "
        "\"security\": [{\"token\": []}], "
        "\"components\": {\"securitySchemes\": {\"token\": {\"type\": \"http\", "
        "\"scheme\": \"bearer\"}, \"link\": {\"type\": \"apiKey\", \"in\": "
        "\"query\", \"name\": \"key\", \"description\": \"In the links that answers hold\"}}, \"schemas\": "
        "{\"Error\": {\"type\": \"object\", \"properties\": {\"code\": {\"type\": "
        "\"string\"}, \"detail\": {\"type\": "
        "\"string\"}}, \"required\": [\"code\", \"detail\"]}, " EVENT_SCHEMAS "}}}");
    struct json *paths = json_object(), *info = json_copy(json_get(out, "info"));

    json_set_str(info, "version", VERSION);
    json_set(out, "info", info);
    json_set(out, "servers", json_array_of(json_object_of({"url", json_string(base)})));
    for (size_t t = 0; t < s->n_tables; t++)
        for (size_t i = 0; i < s->tables[t].n; i++)
            if (is_described(&s->tables[t].rows[i], all))
                add_route(s, paths, &s->tables[t].rows[i]);
    json_set(out, "paths", paths);
    return out;
}
