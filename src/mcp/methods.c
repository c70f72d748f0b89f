/* methods.c - the table of methods, and those that are answered at once. */
#include <string.h>

#include "base/mem.h"
#include "mcp/mcp_private.h"

#define HOUR_MS 3600000

/* What the server can do is the same for everybody. */
static struct json *capabilities(bool modern)
{
    struct json *c = json_object();

    json_set(c, "tools", json_object());
    json_set(c, "resources", json_object());
    json_set(c, "prompts", json_object());
    if (!modern)
        json_set(c, "logging", json_object());
    return c;
}

static const char *instructions(const struct mcp *m)
{
    return m->separate
               ? "Python in a locked-down sandbox without network. Variables and files in /mnt/data stay "
                 "in the sandbox that a result names; pass it as \"sandbox\" in later calls to go on there."
               : "Python in a locked-down sandbox without network. Variables and files in /mnt/data stay "
                 "between calls.";
}

static void discover(const struct mcp_request *q)
{
    struct json *r = json_object(), *versions = json_array();

    for (const struct mcp_revision *v = mcp_revisions; v->name; v++)
        json_add(versions, json_string(v->name));
    json_set(r, "supportedVersions", versions);
    json_set(r, "capabilities", capabilities(true));
    json_set_str(r, "instructions", instructions(q->link->mcp));
    mcp_result(q, r);
}

static void initialize(const struct mcp_request *q)
{
    const char *asked = json_str(json_get(q->params, "protocolVersion"));
    const struct mcp_revision *r = mcp_revision_find(asked);
    struct mcp_request answer = *q;
    struct mcp_link *l = q->link;

    if (!asked) {
        mcp_fail(q, MCP_INVALID_PARAMS, NULL, "protocolVersion must be a string");
        return;
    }
    if (!r || r->modern)
        r = mcp_revision_handshake(); /* the client decides whether it can speak that */
    if (!l->session) {
        l->session = mcp_session_begin(l->mcp);
        answer.handed_out = l->session->id;
    }
    l->session->revision = r;

    struct json *result = json_object(), *server = json_object();
    json_set_str(result, "protocolVersion", r->name);
    json_set(result, "capabilities", capabilities(false));
    json_set_str(server, "name", "sandpiper");
    json_set_str(server, "version", VERSION);
    json_set(result, "serverInfo", server);
    json_set_str(result, "instructions", instructions(l->mcp));
    mcp_result(&answer, result);
}

static void ping(const struct mcp_request *q)
{
    mcp_result(q, json_object());
}

static void set_level(const struct mcp_request *q)
{
    int level = mcp_level_of(json_str(json_get(q->params, "level")));

    if (level < 0) {
        mcp_fail(q, MCP_INVALID_PARAMS, NULL,
                 "level must be one of debug, info, notice, warning, error, critical, "
                 "alert, emergency");
        return;
    }
    if (q->link->session)
        q->link->session->level = level;
    mcp_result(q, json_object());
}

/* We have no prompts, but clients ask for them, and some take an error for a broken server. */
static void prompts_list(const struct mcp_request *q)
{
    struct json *r = json_object();

    json_set(r, "prompts", json_array());
    mcp_result(q, r);
}

static const struct mcp_method methods[] = {
    {"initialize", .handshake = true, .serve = initialize},
    {"ping", .handshake = true, .serve = ping},
    {"logging/setLevel", .handshake = true, .serve = set_level},
    {"server/discover", .modern = true, .serve = discover, .ttl_ms = HOUR_MS, .scope = "public"},
    {"tools/list", .modern = true, .handshake = true, .serve = mcp_tools_list, .ttl_ms = HOUR_MS,
     .scope = "public"},
    {"tools/call", .modern = true, .handshake = true, .named_by = "name", .serve = mcp_tools_call},
    {"resources/list", .modern = true, .handshake = true, .serve = mcp_resources_list, .scope = "private"},
    {"resources/templates/list", .modern = true, .handshake = true, .serve = mcp_templates_list,
     .ttl_ms = HOUR_MS, .scope = "public"},
    {"resources/read", .modern = true, .handshake = true, .named_by = "uri", .serve = mcp_resources_read,
     .scope = "private"},
    {"prompts/list", .modern = true, .handshake = true, .serve = prompts_list, .ttl_ms = HOUR_MS,
     .scope = "public"},
};

const struct mcp_method *mcp_method_find(const char *name)
{
    for (size_t i = 0; i < countof(methods); i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}
