/* event.c - what an event means: the end of a text, exit codes of questions and scripts. */
#include "conversation/event.h"

#include "base/mem.h"

/* The kind of a reply is told when it has been weighed; its text may be whole long before. */
bool event_ends_text(const struct event *e)
{
    return e->type == EVENT_REPLY_END || e->type == EVENT_DONE
           || (e->type == EVENT_PHASE && (e->phase.phase == PHASE_ASKING || e->phase.phase == PHASE_CODING));
}

int question_exit_code(enum question_status s)
{
    static const int codes[] = {
        [QUESTION_ANSWERED] = 0,     [QUESTION_CALLS] = 0,    [QUESTION_NO_ANSWER] = 1,
        [QUESTION_UNDELIVERED] = 1,  [QUESTION_USAGE] = 2,    [QUESTION_NO_SANDBOX] = 3,
        [QUESTION_CODE_FAILED] = 4,  [QUESTION_LIMIT] = 5,    [QUESTION_UNVERIFIED] = 6,
        [QUESTION_TRY_LATER] = 75,   [QUESTION_REFUSED] = 77, [QUESTION_INTERRUPTED] = 130,
        [QUESTION_TERMINATED] = 143,
    };

    return codes[s];
}

bool question_has_answer(enum question_status s)
{
    return s == QUESTION_ANSWERED || s == QUESTION_CODE_FAILED || s == QUESTION_UNDELIVERED
           || s == QUESTION_UNVERIFIED || s == QUESTION_CALLS;
}

/* The rank of a code: one that ends a script at once ranks above one that does not. */
static int rank(int code)
{
    static const int order[] = {0, 4, 6, 1, 5, 75, 77, 3, 2, 141, 130, 143};
    for (int i = 0; i < (int)countof(order); i++)
        if (order[i] == code)
            return i;
    return 3; /* unknown codes rank like 1 */
}

int exit_code_worse(int a, int b)
{
    return rank(b) > rank(a) ? b : a;
}
