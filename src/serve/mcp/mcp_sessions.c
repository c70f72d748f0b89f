/* mcp_sessions.c - the sessions of clients that began with initialize over HTTP. Each has a sandbox of its
 * own, but only from its first call on. A client's oldest session may be dropped for a new one of its own; it
 * is then told to begin again.
 */
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "mcp/mcp_private.h"

static struct mcp_session *session_at(const struct owned_row *row)
{
    return (struct mcp_session *)(uintptr_t)row;
}

static void session_free(struct mcp *m, struct mcp_session *s)
{
    owned_take(&m->sessions, &s->row);
    free(s->conversation);
    free(s);
}

static void drop_session(struct mcp *m, struct mcp_session *s)
{
    mcp_calls_end(m, s);
    m->host.end(m->host.ctx, owned_by(&s->row), s->conversation);
    session_free(m, s);
}

static int64_t last_use(const struct owned_row *row)
{
    return (int64_t)session_at(row)->used;
}

static bool is_session(const struct owned_row *row, const void *id)
{
    return !strcmp(session_at(row)->id, id);
}

static bool is_any(const struct owned_row *row, const void *key)
{
    (void)row;
    (void)key;
    return true;
}

struct mcp_session *mcp_session_begin(struct mcp *m, const char *client)
{
    struct mcp_session *new = xcalloc(1, sizeof *new);

    random_hex(new->id, MCP_ID);
    if (owned_count(&m->sessions, client) == MCP_SESSIONS)
        drop_session(m, session_at(owned_oldest(&m->sessions, client, last_use)));
    new->conversation = xasprintf("mcp-%s", new->id);
    new->level = MCP_SILENT;
    new->used = ++m->messages;
    owned_add(&m->sessions, client, &new->row);
    return new;
}

struct mcp_session *mcp_session_find(struct mcp *m, const char *client, const char *id)
{
    struct owned_row *row = owned_find(&m->sessions, client, is_session, id);

    if (!row)
        return NULL;
    session_at(row)->used = ++m->messages;
    return session_at(row);
}

bool mcp_end_session(struct mcp *m, const char *client, const char *id)
{
    struct owned_row *row = owned_find(&m->sessions, client, is_session, id);

    if (row)
        drop_session(m, session_at(row));
    return row != NULL;
}

void mcp_sessions_release(struct mcp *m)
{
    struct owned_row *row;

    while ((row = owned_find_of_all(&m->sessions, is_any, NULL)))
        session_free(m, session_at(row));
    owned_release(&m->sessions);
}
