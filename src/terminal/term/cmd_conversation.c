/* cmd_conversation.c - /clear, /retry, /exit: the conversation itself. */
#include "agent/agent.h"
#include "base/error.h"
#include "process/loop.h"
#include "show/show.h"
#include "term/private.h"

void slash_clear(struct term *t)
{
    agent_clear(t->agent);
    term_say(t, NOTICE_INFO, "Conversation cleared. Variables are kept.");
}

void slash_retry(struct term *t)
{
    struct error err = {0};

    if (!agent_can_retry(t->agent)) {
        term_say(t, NOTICE_INFO,
                 !agent_question_number(t->agent) ? "Nothing to retry: no question was asked yet."
                 : question_has_answer(t->last)
                     ? "Nothing to retry: the last question was answered."
                     : "Nothing to retry: part of an answer was given. Ask the question again.");
        return;
    }
    loop_arm(t->loop);
    show_asking(t->show, NULL);
    term_after_question(t, agent_retry(t->agent, &err));
}

void slash_exit(struct term *t)
{
    t->leaving = true;
}
