/* question.c - the limits of one question: how it begins and ends, its deadline, and the status that an error
 * ends it with.
 */
#include <signal.h>
#include <stdlib.h>

#include "agent/private.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/remedy.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/out.h"

/* The question has run out of time: stop whatever is waiting, as Ctrl-C would. */
static void on_time_limit(void *ctx)
{
    struct agent *a = ctx;

    a->qn->late = true;
    loop_interrupt(a->loop);
    out_hurry(true);
}

bool agent_out_of_time(const struct agent *a)
{
    return a->qn && a->qn->late && loop_interrupts(a->loop) <= 1 && !loop_fatal(a->loop);
}

void question_init(struct agent *a, struct question *qn)
{
    struct budget_limits max = {
        .requests = a->o.max_requests,
        .calls = a->o.max_calls,
        .malformed = a->o.max_malformed,
        .repairs = a->o.max_repairs,
        .tokens = a->o.max_tokens_total,
        .repair_tokens = llm_facts(a->llm)->repair_tokens,
        .chat = a->o.chat,
    };

    *qn = (struct question){.number = ++a->number, .began = clock_ms(), .usage = USAGE_NONE};
    budget_init(&qn->budget, &max);
    a->qn = qn;
    out_hurry(false);
    if (a->o.max_ms > 0) {
        qn->deadline = qn->began + a->o.max_ms;
        loop_deadline(a->loop, qn->deadline, on_time_limit, a);
        llm_set_deadline(a->llm, qn->deadline);
    }
}

void question_release(struct agent *a, struct question *qn)
{
    if (qn->deadline) {
        loop_timer_stop(a->loop, a);
        llm_set_deadline(a->llm, 0);
        /* Clear our own interrupt so that it does not end the next question; keep a signal from the user. */
        if (agent_out_of_time(a))
            loop_arm(a->loop);
    }
    budget_release(&qn->budget);
    prompts_release(&qn->texts);
    free(qn->answer);
    free(qn->last_text);
    free(qn->thought);
    free(qn->good);
    free(qn->undelivered);
    free(qn->undelivered_name);
    free(qn->objected);
    free(qn->objection);
    free(qn->second);
    a->qn = NULL;
}

enum question_status question_failed(const struct agent *a, struct error *err)
{
    if (agent_out_of_time(a))
        error_set(err, ERROR_LIMIT, 0, "no answer within %g s (%s)", (double)a->o.max_ms / 1000,
                  remedy(REMEDY_MAX_TIME, a->o.chat));
    switch (err->kind) {
    case ERROR_USAGE:
        return QUESTION_USAGE;
    case ERROR_AUTH:
        return QUESTION_REFUSED;
    case ERROR_BUSY:
        return QUESTION_TRY_LATER;
    case ERROR_SANDBOX:
        return QUESTION_NO_SANDBOX;
    case ERROR_LIMIT:
    case ERROR_CONTEXT:
        return QUESTION_LIMIT;
    case ERROR_CANCELLED:
        if (!loop_fatal(a->loop))
            return QUESTION_INTERRUPTED;
        error_set(err, ERROR_CANCELLED, 0, loop_fatal(a->loop) == SIGHUP ? "hung up" : "terminated");
        return QUESTION_TERMINATED;
    default:
        return QUESTION_NO_ANSWER;
    }
}
