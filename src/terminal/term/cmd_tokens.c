/* cmd_tokens.c - /tokens: what this session has cost so far, and how full the model's window is. */
#include "agent/agent.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/size.h"
#include "show/show.h"
#include "term/private.h"

void slash_tokens(struct term *t)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    const struct usage *u = agent_usage(t->agent);
    int context = agent_context(t->agent);

    usage_text(u, &out);
    buf_addf(&out, "\nThe conversation has about %s tokens",
             count_text(agent_conversation_tokens(t->agent)).text);
    if (context > 0)
        buf_addf(&out, " of the %s that fit into the model's window", count_text(context).text);
    buf_addstr(&out, ".\n");
    term_print(t, out.data, out.len);
}
