/* event.c - what an event means: the end of a text, exit codes of questions and scripts. */
#include "chat/event.h"

/* The kind of a reply is told when it has been weighed; its text may be whole long before. */
bool event_ends_text(const struct event *e)
{
    return e->type == EVENT_REPLY_END || e->type == EVENT_DONE
           || (e->type == EVENT_PHASE && (e->phase.phase == PHASE_ASKING || e->phase.phase == PHASE_CODING));
}

int question_exit_code(enum question_status s)
{
    switch (s) {
    case QUESTION_ANSWERED:
        return 0;
    case QUESTION_NO_ANSWER:
    case QUESTION_UNDELIVERED:
        return 1;
    case QUESTION_USAGE:
        return 2;
    case QUESTION_NO_SANDBOX:
        return 3;
    case QUESTION_CODE_FAILED:
        return 4;
    case QUESTION_LIMIT:
        return 5;
    case QUESTION_UNVERIFIED:
        return 6;
    case QUESTION_TRY_LATER:
        return 75;
    case QUESTION_REFUSED:
        return 77;
    case QUESTION_INTERRUPTED:
        return 130;
    case QUESTION_TERMINATED:
        return 143;
    }
    return 1;
}

bool question_has_answer(enum question_status s)
{
    return s == QUESTION_ANSWERED || s == QUESTION_CODE_FAILED || s == QUESTION_UNDELIVERED
           || s == QUESTION_UNVERIFIED;
}

/* The rank of a code: one that ends a script at once ranks above one that does not. */
static int rank(int code)
{
    static const int order[] = {0, 4, 6, 1, 5, 75, 77, 3, 2, 141, 130, 143};
    for (int i = 0; i < (int)(sizeof(order) / sizeof(order[0])); i++) {
        if (order[i] == code)
            return i;
    }
    return 3; /* unknown codes rank like 1 */
}

int exit_code_worse(int a, int b)
{
    return rank(b) > rank(a) ? b : a;
}
