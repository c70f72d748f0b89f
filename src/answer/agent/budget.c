/* budget.c - counts what a question costs; the limits are explained in budget.h.
 *
 * RULE: A question has three repairs. The same failing code is not run twice, nor code with a known result a
 *     third time.
 */
#include "agent/budget.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/remedy.h"

#define FAILED_KEPT 64 /* failing codes remembered since the last success */
#define RAN_KEPT    16 /* the latest codes that ran */

void budget_init(struct budget *b, const struct budget_limits *max)
{
    memset(b, 0, sizeof *b);
    b->max = *max;
}

static void forget_failed(struct budget *b)
{
    for (size_t i = 0; i < b->n_failed; i++) {
        free(b->failed[i].code);
        free(b->failed[i].failure);
        free(b->failed[i].told);
    }
    free(b->failed);
    b->failed = NULL;
    b->n_failed = 0;
}

static void ran_release(struct ran_code *r)
{
    free(r->code);
    free(r->told);
}

void budget_release(struct budget *b)
{
    if (!b)
        return;
    forget_failed(b);
    for (size_t i = 0; i < b->n_ran; i++)
        ran_release(&b->ran[i]);
    free(b->ran);
    b->ran = NULL;
    b->n_ran = 0;
}

int budget_may_ask(const struct budget *b, struct error *err)
{
    if (b->requests >= b->max.requests)
        return error_set(err, ERROR_LIMIT, 0, "no answer after %u request%s to the model (%s)", b->requests,
                         b->requests == 1 ? "" : "s", remedy(REMEDY_MAX_ROUNDS, b->max.chat));
    if (b->max.tokens > 0 && b->tokens >= b->max.tokens)
        return error_set(err, ERROR_LIMIT, 0,
                         "no answer within %" PRId64 " tokens, %" PRId64 " were used (%s)", b->max.tokens,
                         b->tokens, remedy(REMEDY_MAX_TOKENS_TOTAL, b->max.chat));
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
    forget_failed(b); /* what failed before may work now, because variables have changed */
}

/* Code without trailing blanks and empty lines: a model that sends its code again often changes only those.
 */
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

void budget_failed(struct budget *b, const char *code, const char *failure, const char *told)
{
    b->round_failed = true;
    if (b->n_failed >= FAILED_KEPT)
        return;
    b->failed = xreallocarray(b->failed, b->n_failed + 1, sizeof *b->failed);
    b->failed[b->n_failed++] = (struct failed_code){plain_code(code), xstrdup(failure), xstrdup(told)};
}

const char *budget_failed_code(const struct budget *b, const char *code)
{
    autofree char *plain = plain_code(code);

    for (size_t i = 0; i < b->n_failed; i++)
        if (!strcmp(b->failed[i].code, plain))
            return b->failed[i].told;
    return NULL;
}

bool budget_failure_seen(const struct budget *b, const char *failure)
{
    for (size_t i = 0; i < b->n_failed; i++)
        if (!strcmp(b->failed[i].failure, failure))
            return true;
    return false;
}

void budget_failed_again(struct budget *b)
{
    b->round_failed = true;
}

static struct ran_code *find_ran(const struct budget *b, const char *plain)
{
    for (size_t i = 0; i < b->n_ran; i++)
        if (!strcmp(b->ran[i].code, plain))
            return &b->ran[i];
    return NULL;
}

/* New code means that the model is making progress, so earlier code may be worth running again. */
static void add_ran(struct budget *b, char *plain, const char *told)
{
    if (b->n_ran == RAN_KEPT) {
        ran_release(&b->ran[0]);
        memmove(b->ran, b->ran + 1, --b->n_ran * sizeof *b->ran);
    }
    for (size_t i = 0; i < b->n_ran; i++)
        b->ran[i].times = 0;
    b->ran = xreallocarray(b->ran, b->n_ran + 1, sizeof *b->ran);
    b->ran[b->n_ran++] = (struct ran_code){plain, xstrdup(told), 1};
    b->again = b->told_again = false;
}

void budget_ran(struct budget *b, const char *code, const char *told)
{
    autofree char *plain = plain_code(code);
    struct ran_code *r = find_ran(b, plain);

    if (!r) {
        add_ran(b, steal(&plain), told);
    } else if (strcmp(r->told, told)) {
        xreplace(&r->told, xstrdup(told));
        r->times = 1;
    } else {
        r->times++;
    }
}

const char *budget_known_result(const struct budget *b, const char *code)
{
    autofree char *plain = plain_code(code);
    const struct ran_code *r = find_ran(b, plain);

    return r && r->times >= 2 ? r->told : NULL;
}

void budget_skipped(struct budget *b)
{
    b->again = true;
}

int budget_bad_call(struct budget *b, const char *why, struct error *err)
{
    if (++b->malformed <= b->max.malformed)
        return 0;
    return error_set(err, ERROR_LIMIT, 0,
                     "the model sent %u broken tool calls in a row; the last one: %.300s\n"
                     "%s",
                     b->malformed, why, remedy(REMEDY_REPHRASE, b->max.chat));
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
    b->stuck = b->again && b->told_again;
    b->told_again |= b->again;
    b->again = false;
    if (b->failing > b->max.repairs
        || (b->failing && b->max.repair_tokens && b->tokens >= b->max.repair_tokens))
        b->no_more = true;
    return b->no_more && !before;
}
