/* call.c - the requests that wait for a sandbox: their progress is reported, the client may cancel them, and
 * each is answered once.
 *
 * RULE: A call of MCP without a handle gets the sandbox of its conversation or session, never another
 *     token's.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "mcp/mcp_private.h"
#include "front/lease_call.h"

#define CALLS_MAX    256        /* under way, of one client */
#define PROGRESS_MAX (4u << 20) /* bytes of live output that one call passes on. Its result has the rest. */

struct mcp_call {
    struct owned_row row; /* the first member: in mcp.calls */
    struct mcp_link *link;
    struct json *id, *token;    /* the request's id, and its progressToken or NULL */
    struct mcp_request request; /* as it came, with the id above and without params */
    struct lease_call call;
    bool apart;        /* as in mcp_answer */
    uint64_t progress; /* bytes of live output so far */
    char *about;
    mcp_shape *shape;
};

static void call_free(struct mcp_call *c)
{
    json_free(c->id);
    json_free(c->token);
    free(c->about);
    free(c);
}

static struct mcp_call *call_at(const struct owned_row *row)
{
    return (struct mcp_call *)(uintptr_t)row;
}

static void tell_progress(struct mcp_call *c, const char *text)
{
    c->progress += strlen(text);
    mcp_notify(c->link, "notifications/progress",
               json_object_of({"progressToken", json_copy(c->token)},
                              {"progress", json_integer((int64_t)c->progress)},
                              {"message", json_string(text)}));
}

static void tell_notice(struct mcp_call *c, const char *text)
{
    mcp_notify(c->link, "notifications/message",
               json_object_of({"level", json_string("notice")}, {"logger", json_string("sandpiper")},
                              {"data", json_string(text)}));
}

/* The lowest level of log message that the client wants. */
static int level(const struct mcp_request *q)
{
    return q->revision->modern || !q->link->session ? q->level : q->link->session->level;
}

static void on_call_event(void *ctx, const struct json *event)
{
    struct mcp_call *c = ctx;
    const char *kind = json_text(json_get(event, "event")), *text = json_text(json_get(event, "text"));

    if (!*text)
        return;
    if (!strcmp(kind, "output") && c->token && c->progress < PROGRESS_MAX)
        tell_progress(c, text);
    else if (!strcmp(kind, "notice") && level(&c->request) <= MCP_NOTICE)
        tell_notice(c, text);
}

static void on_call_done(void *ctx, const struct json *result, const struct error *err)
{
    struct mcp_call *c = ctx;

    c->request.made = c->call.made ? c->call.sandbox : NULL;
    const struct mcp_answer a = {.request = &c->request,
                                 .sandbox = c->call.sandbox,
                                 .apart = c->apart,
                                 .about = c->about,
                                 .result = err ? NULL : result,
                                 .err = err};

    owned_take(&c->link->mcp->calls, &c->row);
    c->shape(&a);
    call_free(c);
}

/* Returns a copy of the token under which the client wants to hear of the progress, or NULL. */
static struct json *token_of(const struct mcp_request *q)
{
    const struct json *t = json_get(json_get(q->params, "_meta"), "progressToken");

    return json_type(t) == JSON_STRING || json_type(t) == JSON_NUMBER ? json_copy(t) : NULL;
}

/* A service that opens a session for each call, or none at all, may name its chat instead, and so may the
 * user, in a header. That name is somebody else's text, so only its hash is kept. */
char *mcp_conversation_of(const struct mcp_request *q, bool *named)
{
    const struct mcp_link *l = q->link;
    const char *chat = json_str(json_get(json_get(q->params, "_meta"), "openai/session")),
               *name = l->o.headers && l->o.headers->named && *l->o.headers->named ? l->o.headers->named
                                                                                   : NULL;

    *named = name || chat || l->session || l->brought;
    if (name || (chat && l->o.headers)) {
        char hash[SHA256_HEX];

        sha256_hex(name ? name : chat, strlen(name ? name : chat), hash);
        return xasprintf("mcp-%s-%s", name ? "named" : "chat", hash);
    }
    return l->session ? xstrdup(l->session->conversation) : xasprintf("mcp-%s", l->self);
}

void mcp_ask(const struct mcp_request *q, const char *sandbox, const char *operation,
             const struct json *arguments, const char *about, mcp_shape *shape)
{
    struct mcp *m = q->link->mcp;
    struct mcp_call *c = xcalloc(1, sizeof *c);
    struct json *token = token_of(q);
    bool named;
    autofree char *conversation = mcp_conversation_of(q, &named);
    const struct runner_listener listener = {
        .ctx = c, .event = token || level(q) <= MCP_NOTICE ? on_call_event : NULL, .done = on_call_done};
    const struct mcp_invocation invocation = {
        .sandbox = sandbox,
        .conversation = conversation,
        .named = named,
        .client = q->link->o.client,
        .operation = operation,
        .arguments = arguments,
        .listener = &listener,
    };
    struct error err = {0};

    if (owned_count(&m->calls, q->link->o.client) >= CALLS_MAX)
        error_set(&err, ERROR_BUSY, 0, "%u calls are in progress already; wait for some of them to finish",
                  CALLS_MAX);
    else
        m->host.ask(m->host.ctx, &invocation, &c->call, &err);
    if (err.kind != ERROR_NONE) {
        const struct mcp_answer a = {.request = q, .sandbox = "", .about = about, .err = &err};

        json_free(token);
        free(c);
        shape(&a);
        return;
    }
    c->link = q->link;
    c->id = json_copy(q->id);
    c->token = token;
    c->request = *q;
    c->request.id = c->id;
    c->request.params = NULL;
    c->apart = !sandbox && !named;
    c->about = xstrdup(about);
    c->shape = shape;
    owned_add(&m->calls, q->link->o.client, &c->row);
}

struct call_key {
    const struct mcp_link *link;
    const struct json *id;
};

static bool is_call(const struct owned_row *row, const void *key)
{
    const struct call_key *k = key;
    const struct mcp_call *c = call_at(row);

    return (c->link == k->link || (k->link->session && c->link->session == k->link->session))
           && json_same(c->id, k->id);
}

/* A cancel comes on another POST than the call; the session says whose call it is. */
static struct mcp_call *find_call(const struct mcp_link *l, const struct json *id)
{
    struct owned_row *row = owned_find(&l->mcp->calls, l->o.client, is_call, &(struct call_key){l, id});

    return row ? call_at(row) : NULL;
}

bool mcp_in_use(const struct mcp_link *l, const struct json *id)
{
    return find_call(l, id) != NULL;
}

static void drop_call(struct mcp_call *c)
{
    const struct mcp_host *host = &c->link->mcp->host;

    host->leave(host->ctx, &c->call);
    owned_take(&c->link->mcp->calls, &c->row);
    call_free(c);
}

/* A cancelled call is not answered, but its POST has to end. */
static void cancel(struct mcp_call *c)
{
    struct mcp_link *l = c->link;

    drop_call(c);
    if (l->o.headers)
        mcp_nothing(l, 202);
}

void mcp_cancel(struct mcp_link *l, const struct json *id)
{
    struct mcp_call *c = find_call(l, id);

    if (c)
        cancel(c);
}

static bool is_of_session(const struct owned_row *row, const void *session)
{
    return call_at(row)->link->session == session;
}

void mcp_calls_end(struct mcp *m, const struct mcp_session *s)
{
    struct owned_row *row;

    while ((row = owned_find(&m->calls, owned_by(&s->row), is_of_session, s))) {
        call_at(row)->link->session = NULL;
        cancel(call_at(row));
    }
}

static bool is_of_link(const struct owned_row *row, const void *link)
{
    return call_at(row)->link == link;
}

void mcp_calls_drop(struct mcp_link *l)
{
    struct owned_row *row;

    while ((row = owned_find(&l->mcp->calls, l->o.client, is_of_link, l)))
        drop_call(call_at(row));
}
