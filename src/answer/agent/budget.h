/* budget.h - what a question may still cost. There is one budget for each kind of fault: requests, calls in a
 * reply, calls that cannot be understood, code that fails, code that is sent again and again, empty answers,
 * tokens. This is pure counting; it knows no model and no sandbox.
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
    int64_t repair_tokens; /* once this many are used, failing code is not repaired; 0: no limit */
    bool chat;             /* errors are shown in the chat (base/remedy.h) */
};

struct failed_code {
    char *code, *failure, *told;
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
    unsigned failing;           /* replies in a row that ended in failing code; the first is not a repair */
    bool round_failed;          /* of the present reply */
    bool no_more;               /* the repairs are used up: no more code runs */
    unsigned further;           /* replies with calls after that */
    bool asked_for_answer;      /* after an empty reply, which is done once */
    struct failed_code *failed; /* since the last cell that succeeded */
    size_t n_failed;
    /* code that ran, its result, and how often that result came since new code last ran */
    struct ran_code *ran;
    size_t n_ran;
    bool again;      /* in the present reply, code was skipped because its result is known */
    bool told_again; /* that happened in an earlier reply, and the model was told */
    bool stuck;      /* it happened in the present reply too: the model will not stop by itself */
};

void budget_init(struct budget *b, const struct budget_limits *max);
void budget_release(struct budget *b);

/* Returns -1 with ERROR_LIMIT, which names the limit. */
int budget_may_ask(const struct budget *b, struct error *err);
void budget_asked(struct budget *b, unsigned requests, int64_t tokens);

void budget_worked(struct budget *b); /* a cell succeeded */
/* A cell failed: with which exception or cause, and what the model was told of it. */
void budget_failed(struct budget *b, const char *code, const char *failure, const char *told);
/* What the model was told when this same code failed before, or NULL. */
const char *budget_failed_code(const struct budget *b, const char *code);
bool budget_failure_seen(const struct budget *b, const char *failure); /* other code failed so before */
/* The same failing code was sent again, which counts as a repair. */
void budget_failed_again(struct budget *b);

/* A cell ran, and the model was given told. */
void budget_ran(struct budget *b, const char *code, const char *told);
/* The result of code that gave it twice with no new code in between, so that it would only give it a third
 * time; otherwise NULL. */
const char *budget_known_result(const struct budget *b, const char *code);
/* A call was answered with such a result instead of being run. */
void budget_skipped(struct budget *b);
/* Count a call that cannot be understood; why says what was wrong. Returns -1 when there were too many in a
 * row. */
int budget_bad_call(struct budget *b, const char *why, struct error *err);
void budget_good_call(struct budget *b);

/* Call when all calls of a reply are done. True: this round used up the repairs, and the model must be told.
 */
bool budget_round_end(struct budget *b);

#endif
