/* computed.c - where an answer comes from: the runs of its question, and which of its numbers no run, nor
 * anything else that the model was given, can account for. */
#include <string.h>

#include "agent/private.h"
#include "agent/small_model.h"

/* All that the model was given in this conversation, and its own code: a number that code begins with was not
 * computed, but can be seen there. */
static void add_sources(const struct agent *a, struct provenance *p, bool *ran)
{
    for (size_t i = 0; i < a->c->n; i++) {
        const struct turn *t = &a->c->v[i];

        if (t->role != TURN_ASSISTANT)
            provenance_source(p, t->text + t->heard); /* another agent's words are no source */
        for (size_t k = 0; k < t->n_calls; k++)
            provenance_source(p, t->calls[k].arguments);
        *ran |= t->role == TURN_RESULT && t->result == RESULT_OK;
    }
}

bool computed_worth_checking(const struct question *qn)
{
    return qn->cells || strpbrk(qn->answer, "0123456789");
}

struct computation computed_make(const struct agent *a, const struct question *qn, struct provenance *p)
{
    bool ran = false, answered = !text_is_blank(qn->answer);

    if (answered) {
        add_sources(a, p, &ran);
        provenance_check(p, qn->answer);
    }
    return (struct computation){
        .runs = qn->cells,
        .failed = qn->failed,
        .seconds = qn->run_seconds,
        .memory_only = answered && !qn->cells && !ran && !a->data,
        .unsupported = (const char *const *)p->unsupported.v,
        .n_unsupported = p->unsupported.n,
        .verified = qn->verified,
        .second = qn->second,
        .again = answered && !qn->verified && computed_worth_checking(qn) ? small_model_again(a) : NULL,
    };
}
