/* budget.h - what a question may still cost. Budgets are separate because the faults are: requests, calls in a reply, calls
 * that cannot be understood, code that fails, empty answers, tokens. Pure counting; knows no model and no sandbox.
 */
#ifndef AGENT_BUDGET_H
#define AGENT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct budget_limits {
    unsigned requests, calls, malformed, repairs;
    int64_t tokens;                 /* 0: no limit */
};

struct failed_code { char *code, *why; };

struct budget {
    struct budget_limits max;
    unsigned requests;
    int64_t tokens;
    unsigned malformed;             /* in a row */
    unsigned failing;               /* replies in a row that ended in failing code; the first is no repair */
    bool round_failed;              /* of the present reply */
    bool no_more;                   /* the repairs are used up: no code runs any more */
    unsigned further;               /* replies with calls after that */
    bool nudged;                    /* the one nudge after an empty answer */
    struct failed_code *failed;     /* since the last cell that succeeded */
    size_t n_failed;
};

void budget_init(struct budget *b, const struct budget_limits *max);
void budget_release(struct budget *b);

int budget_may_ask(const struct budget *b, struct error *err);         /* -1 with ERROR_LIMIT naming the limit */
void budget_asked(struct budget *b, unsigned requests, int64_t tokens);

void budget_worked(struct budget *b);                                  /* a cell succeeded */
void budget_broke(struct budget *b, const char *code, const char *why);    /* a cell failed; why is kept for budget_same() */
const char *budget_same(const struct budget *b, const char *code);    /* why this very code failed before, or NULL */
void budget_same_again(struct budget *b);                              /* it was sent again: counts as a repair */
int budget_bad_call(struct budget *b, struct error *err);              /* -1: too many in a row */
void budget_good_call(struct budget *b);

/* All calls of a reply are done. true: with this round the repairs are used up, the model must be told. */
bool budget_round_end(struct budget *b);

#endif
