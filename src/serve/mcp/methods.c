/* methods.c - the table of methods, and those that are answered at once. */
#include <string.h>

#include "base/mem.h"
#include "mcp/mcp_private.h"

#define HOUR_MS 3600000

static struct json *capabilities(bool modern)
{
    return json_object_of({"tools", json_object()}, {"resources", json_object()}, {"prompts", json_object()},
                          {"logging", modern ? NULL : json_object()});
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
    mcp_result(q, json_object_of({"supportedVersions", mcp_revision_names()},
                                 {"capabilities", capabilities(true)},
                                 {"instructions", json_string(instructions(q->link->mcp))}));
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
        l->session = mcp_session_begin(l->mcp, l->o.client);
        answer.session_begun = l->session->id;
    }
    l->session->revision = r;
    mcp_result(&answer,
               json_object_of({"protocolVersion", json_string(r->name)},
                              {"capabilities", capabilities(false)}, {"serverInfo", mcp_server_info()},
                              {"instructions", json_string(instructions(l->mcp))}));
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
    mcp_result(q, json_object_of({"prompts", json_array()}));
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
        if (!strcmp(methods[i].name, name))
            return &methods[i];
    return NULL;
}
