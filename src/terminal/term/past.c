/* past.c - keeps the answers of a chat, and the code behind them, for /raw, /copy, /code and /edit. */
#include "term/past.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define KEPT_BYTES (16 * 1024 * 1024)

static void free_question(struct past_question *q)
{
    free(q->answer);
    free(q->code);
}

static size_t bytes_of(const struct past_question *q)
{
    return (q->answer ? strlen(q->answer) : 0) + (q->code ? strlen(q->code) : 0);
}

/* But for the last, which may be as long as it is. */
static void forget_oldest(struct past *p)
{
    size_t bytes = 0, kept = 0;

    while (kept < p->n && ((bytes += bytes_of(&p->v[p->n - kept - 1])) <= KEPT_BYTES || !kept))
        kept++;
    for (size_t i = 0; i < p->n - kept; i++)
        free_question(&p->v[i]);
    memmove(p->v, p->v + p->n - kept, kept * sizeof *p->v);
    p->n = kept;
}

void past_add(struct past *p, uint64_t serial, const char *answer, const char *code)
{
    p->v = xreallocarray(p->v, p->n + 1, sizeof *p->v);
    p->v[p->n++] = (struct past_question){.serial = serial, .answer = xstrdup(answer), .code = xstrdup(code)};
    forget_oldest(p);
}

void past_undo(struct past *p, uint64_t serial)
{
    while (p->n && p->v[p->n - 1].serial > serial)
        free_question(&p->v[--p->n]);
}

const char *past_answer(const struct past *p)
{
    size_t i = p->n;

    while (i > 0 && !p->v[i - 1].answer)
        i--;
    return i ? p->v[i - 1].answer : NULL;
}

const char *past_code(const struct past *p)
{
    size_t i = p->n;

    while (i > 0 && !p->v[i - 1].code)
        i--;
    return i ? p->v[i - 1].code : NULL;
}

void past_release(struct past *p)
{
    past_undo(p, 0);
    free(p->v);
    *p = (struct past){0};
}
