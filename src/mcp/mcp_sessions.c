/* mcp_sessions.c - the sessions of clients that began with initialize over HTTP. Each has a sandbox of its
 * own, but only from its first call on. The oldest session may be dropped; its client is then told to begin
 * again.
 */
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "mcp/mcp_private.h"

static void session_free(struct mcp_session *s)
{
    free(s->conversation);
    free(s->client);
    free(s);
}

static void drop(struct mcp *m, size_t i)
{
    struct mcp_sessions *s = &m->sessions;

    mcp_calls_end(m, s->v[i]);
    m->host.end(m->host.ctx, s->v[i]->conversation);
    session_free(s->v[i]);
    s->v[i] = s->v[--s->n];
}

static bool is_of(const struct mcp_session *s, const char *client)
{
    return client && s->client && !strcmp(s->client, client);
}

static size_t oldest(const struct mcp_sessions *s, const char *client)
{
    size_t at = 0;

    for (size_t i = 1; i < s->n; i++) {
        bool own = is_of(s->v[i], client), best_own = is_of(s->v[at], client);

        if (own != best_own ? own : s->v[i]->used < s->v[at]->used)
            at = i;
    }
    return at;
}

struct mcp_session *mcp_session_begin(struct mcp *m, const char *client)
{
    struct mcp_sessions *s = &m->sessions;
    struct mcp_session *new = xcalloc(1, sizeof *new);

    random_hex(new->id, MCP_ID);
    if (s->n == MCP_SESSIONS)
        drop(m, oldest(s, client));
    new->conversation = xasprintf("mcp-%s", new->id);
    new->client = xstrdup(client);
    new->level = MCP_SILENT;
    new->used = ++s->clock;
    s->v[s->n++] = new;
    return new;
}

struct mcp_session *mcp_session_find(struct mcp_sessions *s, const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->v[i]->id, id)) {
            s->v[i]->used = ++s->clock;
            return s->v[i];
        }
    return NULL;
}

bool mcp_end_session(struct mcp *m, const char *id)
{
    for (size_t i = 0; i < m->sessions.n; i++)
        if (!strcmp(m->sessions.v[i]->id, id)) {
            drop(m, i);
            return true;
        }
    return false;
}

void mcp_sessions_release(struct mcp_sessions *s)
{
    while (s->n > 0)
        session_free(s->v[--s->n]);
}
