/* describe.c - the routes as an OpenAPI 3.1 document, from the rows that requests are checked with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "server/private.h"

static struct json *parsed(const char *text)
{
    struct error err = {0};
    struct json *out = json_parse(text, strlen(text), 0, NULL, &err);

    return out ? out : json_object();
}

/* {"application/json": {"schema": ...}}; takes schema. */
static struct json *content(const char *type, struct json *schema)
{
    struct json *out = json_object(), *one = json_object();

    json_set(one, "schema", schema);
    json_set(out, type, one);
    return out;
}

static struct json *answer(const char *description, const char *type, struct json *schema)
{
    struct json *out = json_object();

    json_set_str(out, "description", description);
    json_set(out, "content", content(type, schema));
    return out;
}

static bool is_text(const char *type)
{
    return strncmp(type, "application/json", 16) != 0;
}

static struct json *answers(const struct route *r)
{
    static const struct {
        const char *status, *means;
        bool token, body, sandbox;
    } refusals[] = {
        {"400", "Not a request that can be read", false, false, false},
        {"401", "No token, or an unknown one", true, false, false},
        {"403", "Not meant for this server, or sent by a page of another site", false, false, false},
        {"404", "There is no such sandbox or file", true, false, true},
        {"410", "The sandbox has ended: code SANDBOX_EXPIRED", true, false, true},
        {"413", "The body is too large", false, true, false},
        {"415", "The body is not application/json", false, true, false},
        {"422", "A field is missing or wrong", false, true, false},
        {"429", "Too much at once: see Retry-After", true, false, false},
        {"503", "The sandbox could not be started, or the server is shutting down", true, false, false},
    };
    const char *type = r->type ? r->type : "application/json";
    struct json *out = json_object();

    json_set(out, "200",
             answer("Done", type,
                    parsed(r->result       ? r->result
                           : is_text(type) ? "{\"type\": \"string\"}"
                                           : "{\"type\": \"object\"}")));
    for (size_t i = 0; i < countof(refusals); i++)
        if ((!refusals[i].token || !(r->flags & ROUTE_PUBLIC) || strchr(r->path, '{'))
            && (!refusals[i].body || r->body || r->flags & ROUTE_RAW)
            && (!refusals[i].sandbox || strchr(r->path, '{') || (r->body && strstr(r->body, "sandbox_id"))))
            json_set(out, refusals[i].status,
                     answer(refusals[i].means, "application/json",
                            parsed(r->failure ? "{\"type\": \"object\"}"
                                              : "{\"$ref\": \"#/components/schemas/Error\"}")));
    return out;
}

/* The parts in braces. */
static struct json *parameters(const struct route *r)
{
    struct json *out = json_array();

    for (const char *at = strchr(r->path, '{'); at; at = strchr(at + 1, '{')) {
        struct json *one = json_object();
        autofree char *name = xmemdup0(at + 1, strcspn(at + 1, ".}"));

        json_set_str(one, "name", name);
        json_set_str(one, "in", "path");
        json_set_bool(one, "required", true);
        json_set(one, "schema", parsed("{\"type\": \"string\", \"minLength\": 1}"));
        json_add(out, one);
    }
    return out;
}

static struct json *operation(const struct route *r)
{
    struct json *out = json_object();

    json_set_str(out, "operationId", r->operation);
    json_set_str(out, "summary", r->summary);
    if (strchr(r->path, '{'))
        json_set(out, "parameters", parameters(r));
    if (r->body || r->flags & ROUTE_RAW) {
        struct json *body = json_object();

        struct json *schema = parsed(r->body ? r->body : "{\"type\": \"object\"}");

        json_set_bool(body, "required", json_size(json_get(schema, "required")) > 0);
        json_set(body, "content", content("application/json", schema));
        json_set(out, "requestBody", body);
    }
    json_set(out, "responses", answers(r));
    if (r->flags & ROUTE_PUBLIC)
        json_set(out, "security", json_array());
    return out;
}

/* As OpenAPI writes paths: "/files/{id}/{name...}" without the dots. */
static char *path_of(const struct route *r)
{
    const char *dots = strstr(r->path, "...}");

    return dots ? xasprintf("%.*s}", (int)(dots - r->path), r->path) : xstrdup(r->path);
}

static void add(struct json *paths, const struct route *r)
{
    autofree char *path = path_of(r);
    autofree char *method = xstrdup(r->method);
    const struct json *there = json_get(paths, path);
    struct json *item = there ? json_copy(there) : json_object();

    for (char *c = method; *c; c++)
        *c = (char)(*c | 0x20);
    if (!json_get(item, method))
        json_set(item, method, operation(r));
    json_set(paths, path, item);
}

struct json *describe_routes(const struct server *s)
{
    struct json *out = parsed("{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"sandpiper\", "
                              "\"description\": \"Sandboxes that run Python: "
                              "variables and files stay, there is no network, and what it does cannot hurt. "
                              "Code that fails is a 200 with its "
                              "error in the body; every other error is an object with code and detail.\"}, "
                              "\"security\": [{\"token\": []}], "
                              "\"components\": {\"securitySchemes\": {\"token\": {\"type\": \"http\", "
                              "\"scheme\": \"bearer\"}}, \"schemas\": "
                              "{\"Error\": {\"type\": \"object\", \"properties\": {\"code\": {\"type\": "
                              "\"string\"}, \"detail\": {\"type\": "
                              "\"string\"}}, \"required\": [\"code\", \"detail\"]}}}}");
    struct json *paths = json_object(), *info = json_copy(json_get(out, "info"));

    json_set_str(info, "version", VERSION);
    json_set(out, "info", info);
    for (size_t t = 0; t < s->n_tables; t++)
        for (size_t i = 0; i < s->tables[t].n; i++)
            if (!(s->tables[t].rows[i].flags & ROUTE_HIDDEN))
                add(paths, &s->tables[t].rows[i]);
    json_set(out, "paths", paths);
    return out;
}
