/* budget.h - what a question may still cost. Budgets are separate because the faults are: requests, calls in
 * a reply, calls that cannot be understood, code that fails, code that is sent again and again, empty
 * answers, tokens. Pure counting; knows no model and no sandbox.
 */
#ifndef AGENT_BUDGET_H
#define AGENT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct budget_limits {
    unsigned requests, calls, malformed, repairs;
    int64_t tokens;        /* 0: no limit */
    int64_t repair_tokens; /* once so many are used, code that fails is no longer mended; 0: no limit */
    bool chat;             /* errors are read in the chat (base/remedy.h) */
};

struct failed_code {
    char *code, *why;
};
struct ran_code {
    char *code, *told;
    unsigned times;
};

struct budget {
    struct budget_limits max;
    unsigned requests;
    int64_t tokens;
    unsigned malformed;         /* in a row */
    unsigned failing;           /* replies in a row that ended in failing code; the first is no repair */
    bool round_failed;          /* of the present reply */
    bool no_more;               /* the repairs are used up: no code runs any more */
    unsigned further;           /* replies with calls after that */
    bool nudged;                /* the one nudge after an empty answer */
    struct failed_code *failed; /* since the last cell that succeeded */
    size_t n_failed;
    /* what ran, with what it gave and how often that came since code ran that had not run before */
    struct ran_code *ran;
    size_t n_ran;
    bool again;      /* of the present reply: code was not run because its result is known */
    bool told_again; /* an earlier reply had such code, and the model was told */
    bool stuck;      /* so had the present one: it will go on like that */
};

void budget_init(struct budget *b, const struct budget_limits *max);
void budget_release(struct budget *b);

/* -1 with ERROR_LIMIT naming the limit */
int budget_may_ask(const struct budget *b, struct error *err);
void budget_asked(struct budget *b, unsigned requests, int64_t tokens);

void budget_worked(struct budget *b); /* a cell succeeded */
/* a cell failed; why is kept for budget_same() */
void budget_broke(struct budget *b, const char *code, const char *why);
/* why this very code failed before, or NULL */
const char *budget_same(const struct budget *b, const char *code);
bool budget_same_error(const struct budget *b, const char *why); /* other code failed so before */
/* it was sent again: counts as a repair */
void budget_same_again(struct budget *b);

/* A cell ran; told: what the model was told of it. Code that gave the same twice, with no new code since,
 * would give it a third time: budget_again() is what that was, else NULL. budget_known() counts a call that
 * was answered so. */
void budget_ran(struct budget *b, const char *code, const char *told);
const char *budget_again(const struct budget *b, const char *code);
void budget_known(struct budget *b);

/* -1: too many in a row; why: what was wrong with this one */
int budget_bad_call(struct budget *b, const char *why, struct error *err);
void budget_good_call(struct budget *b);

/* All calls of a reply are done. true: with this round the repairs are used up, the model must be told. */
bool budget_round_end(struct budget *b);

#endif
