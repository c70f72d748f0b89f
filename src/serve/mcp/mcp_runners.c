/* mcp_runners.c - the callbacks of struct mcp_host, on the sandboxes of front/runners.h. */
#include "mcp/mcp_runners.h"

#include <string.h>

#include "base/error.h"
#include "front/runners.h"

_Static_assert(MCP_ID == RUNNERS_ID, "a handle is the id of a sandbox");

/* Returns the sandbox that a call is for, which may be a new one. NULL with err. */
static struct lease *lease_of(struct runners *rs, const struct mcp_invocation *q, struct error *err)
{
    enum runners_absent why;

    if (!q->sandbox)
        return runners_create(rs, q->client, q->conversation, err);
    if (!strcmp(q->sandbox, "new"))
        return runners_create(rs, q->client, NULL, err);
    struct lease *h = runners_find(rs, q->client, q->sandbox, &why);
    if (!h)
        error_set(err, ERROR_USAGE, 0, "%s\nLeave \"sandbox\" out, or pass \"new\" for a new one.",
                  why == RUNNERS_UNKNOWN ? "There is no sandbox with that handle."
                                         : "That sandbox has ended; its variables and files are gone.");
    return h;
}

static uint64_t ask(void *ctx, const struct mcp_invocation *q, char id[MCP_ID + 1], struct error *err)
{
    struct runners *rs = ctx;
    struct lease *h = lease_of(rs, q, err);
    struct runner *r = h ? lease_runner(rs, h, err) : NULL;

    if (!r)
        return 0;
    lease_set_spare(h, !q->sandbox && !q->named);
    memcpy(id, lease_id(h), MCP_ID + 1);
    return runner_ask(r, q->operation, q->arguments, -1, q->listener);
}

static void forget(void *ctx, const char *client, const char *id, uint64_t request)
{
    struct lease *h = runners_find(ctx, client, id, NULL);

    if (h && lease_living(h))
        runner_forget(lease_living(h), request);
}

static void drop(void *ctx, const char *client, const char *id)
{
    struct lease *h = runners_find(ctx, client, id, NULL);

    if (h)
        runners_stop(ctx, h);
}

static bool has(void *ctx, const char *client, const char *conversation)
{
    return runners_find_conversation(ctx, client, conversation) != NULL;
}

static void end(void *ctx, const char *client, const char *conversation)
{
    struct lease *h = runners_find_conversation(ctx, client, conversation);

    if (h)
        runners_stop(ctx, h);
}

struct mcp_host mcp_runners_host(struct runners *runners)
{
    return (struct mcp_host){
        .ctx = runners, .ask = ask, .forget = forget, .drop = drop, .has = has, .end = end};
}
