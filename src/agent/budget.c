/* budget.c - counting what a question costs; the rules are DESIGN section 5. */
#include "agent/budget.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#define FAILED_KEPT 64          /* failing codes remembered between two that succeed */

void budget_init(struct budget *b, const struct budget_limits *max)
{
    memset(b, 0, sizeof *b);
    b->max = *max;
}

static void forget_failed(struct budget *b)
{
    for (size_t i = 0; i < b->n_failed; i++) {
        free(b->failed[i].code);
        free(b->failed[i].why);
    }
    free(b->failed);
    b->failed = NULL;
    b->n_failed = 0;
}

void budget_release(struct budget *b)
{
    if (b)
        forget_failed(b);
}

int budget_may_ask(const struct budget *b, struct error *err)
{
    if (b->requests >= b->max.requests)
        return error_set(err, ERROR_LIMIT, 0, "no answer after %u request%s to the model (--max-rounds allows more)", b->requests,
                         b->requests == 1 ? "" : "s");
    if (b->max.tokens > 0 && b->tokens >= b->max.tokens)
        return error_set(err, ERROR_LIMIT, 0, "no answer within %" PRId64 " tokens, %" PRId64 " were used (--max-tokens-total allows more)",
                         b->max.tokens, b->tokens);
    return 0;
}

void budget_asked(struct budget *b, unsigned requests, int64_t tokens)
{
    b->requests += requests;
    b->tokens += tokens;
}

void budget_worked(struct budget *b)
{
    b->failing = 0;
    b->round_failed = false;
    forget_failed(b);           /* what failed before may work now: the variables are others */
}

/* Code without trailing blanks and empty lines: one that sends its code again often changes no more than that. */
static char *plain_code(const char *code)
{
    struct buf out = BUF_INIT(0);

    while (*code) {
        size_t len = strcspn(code, "\n"), end = len;

        while (end && isspace((unsigned char)code[end - 1]))
            end--;
        if (end) {
            buf_add(&out, code, end);
            buf_addch(&out, '\n');
        }
        code += len + (code[len] == '\n');
    }
    return buf_steal(&out, NULL);
}

void budget_broke(struct budget *b, const char *code, const char *why)
{
    b->round_failed = true;
    if (b->n_failed >= FAILED_KEPT)
        return;
    b->failed = xreallocarray(b->failed, b->n_failed + 1, sizeof *b->failed);
    b->failed[b->n_failed].code = plain_code(code);
    b->failed[b->n_failed].why = xstrdup(why);
    b->n_failed++;
}

const char *budget_same(const struct budget *b, const char *code)
{
    autofree char *plain = plain_code(code);

    for (size_t i = 0; i < b->n_failed; i++)
        if (!strcmp(b->failed[i].code, plain))
            return b->failed[i].why;
    return NULL;
}

void budget_same_again(struct budget *b)
{
    b->round_failed = true;
}

int budget_bad_call(struct budget *b, struct error *err)
{
    if (++b->malformed <= b->max.malformed)
        return 0;
    return error_set(err, ERROR_LIMIT, 0, "the model sent %u calls in a row that cannot be understood; another model may do better",
                     b->malformed);
}

void budget_good_call(struct budget *b)
{
    b->malformed = 0;
}

bool budget_round_end(struct budget *b)
{
    bool before = b->no_more;

    if (b->round_failed)
        b->failing++;
    b->round_failed = false;
    if (b->failing > b->max.repairs)
        b->no_more = true;
    return b->no_more && !before;
}
