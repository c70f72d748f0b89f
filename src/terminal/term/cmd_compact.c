/* cmd_compact.c - /compact: the conversation becomes the model's summary of it. */
#include "agent/agent.h"
#include "base/error.h"
#include "process/loop.h"
#include "show/show.h"
#include "term/private.h"

void slash_compact(struct term *t)
{
    long long before = (long long)agent_conversation_tokens(t->agent);
    struct error err = {0};

    loop_arm(t->loop);
    show_asking(t->show, NULL);
    int status = agent_compact(t->agent, &err);
    show_status(t->show, NULL);
    if (status < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO,
                  "Conversation summarised: about %lld tokens instead of %lld. Variables are kept.",
                  (long long)agent_conversation_tokens(t->agent), before);
}
