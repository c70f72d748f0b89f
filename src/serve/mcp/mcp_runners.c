/* mcp_runners.c - the callbacks of struct mcp_host, on the sandboxes of front/runners.h. */
#include "mcp/mcp_runners.h"

#include <string.h>

#include "base/error.h"
#include "front/lease_call.h"

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

static int runners_ask(void *ctx, const struct mcp_invocation *q, struct lease_call *c, struct error *err)
{
    struct runners *rs = ctx;
    struct lease *h = lease_of(rs, q, err);

    if (!h)
        return -1;
    lease_call_begin(c, rs, q->client, h);
    c->made = q->sandbox && !strcmp(q->sandbox, "new");
    if (lease_call_ask(c, q->operation, q->arguments, q->listener, err) < 0)
        return -1;
    lease_set_spare(h, !q->sandbox && !q->named);
    return 0;
}

static void leave(void *ctx, struct lease_call *c)
{
    (void)ctx;
    lease_call_leave(c);
}

static bool has(void *ctx, const char *client, const char *conversation)
{
    return runners_find_conversation(ctx, client, conversation) != NULL;
}

static void runners_end_conversation(void *ctx, const char *client, const char *conversation)
{
    struct lease *h = runners_find_conversation(ctx, client, conversation);

    if (h)
        runners_stop(ctx, h);
}

struct mcp_host mcp_runners_host(struct runners *runners)
{
    return (struct mcp_host){
        .ctx = runners, .ask = runners_ask, .leave = leave, .has = has, .end = runners_end_conversation};
}
