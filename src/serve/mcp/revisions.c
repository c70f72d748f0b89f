/* revisions.c - the tables of the protocol's revisions and of the levels of log messages. */
#include <string.h>

#include "base/mem.h"
#include "mcp/mcp_private.h"

const struct mcp_revision mcp_revisions[] = {
    {"2026-07-28", true, true},   {"2025-11-25", false, true},  {"2025-06-18", false, true},
    {"2025-03-26", false, false}, {"2024-11-05", false, false}, {NULL, false, false},
};

const struct mcp_revision *mcp_revision_find(const char *name)
{
    for (const struct mcp_revision *r = mcp_revisions; name && r->name; r++)
        if (!strcmp(r->name, name))
            return r;
    return NULL;
}

struct json *mcp_revision_names(void)
{
    struct json *all = json_array();

    for (const struct mcp_revision *r = mcp_revisions; r->name; r++)
        json_add(all, json_string(r->name));
    return all;
}

const struct mcp_revision *mcp_revision_handshake(void)
{
    const struct mcp_revision *r = mcp_revisions;

    while (r->modern)
        r++;
    return r;
}

int mcp_level_of(const char *name)
{
    static const struct {
        const char *name;
        enum mcp_level level;
    } levels[] = {
        {"debug", MCP_DEBUG}, {"info", MCP_INFO},      {"notice", MCP_NOTICE}, {"warning", MCP_WARNING},
        {"error", MCP_ERROR}, {"critical", MCP_ERROR}, {"alert", MCP_ERROR},   {"emergency", MCP_ERROR},
    };

    for (size_t i = 0; name && i < countof(levels); i++)
        if (!strcmp(levels[i].name, name))
            return (int)levels[i].level;
    return -1;
}
