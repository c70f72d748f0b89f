/* past.c - keeps the answers of a chat, and the code behind them, for /raw, /copy, /code, /edit and /why. */
#include "term/past.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define KEPT_BYTES (16 * 1024 * 1024)

static void free_question(struct past_question *q)
{
    free(q->question);
    free(q->answer);
    free(q->code);
}

static size_t bytes_of(const struct past_question *q)
{
    return strlen(q->question) + (q->answer ? strlen(q->answer) : 0) + (q->code ? strlen(q->code) : 0);
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

void past_add(struct past *p, uint64_t serial, const char *question, const char *answer, const char *code)
{
    p->v = xreallocarray(p->v, p->n + 1, sizeof *p->v);
    p->v[p->n++] = (struct past_question){.serial = serial,
                                          .question = xstrdup(question ? question : ""),
                                          .answer = xstrdup(answer),
                                          .code = xstrdup(code)};
    forget_oldest(p);
}

static void free_past_run(struct past_run *r)
{
    free(r->code);
    free(r->output);
}

static void forget_oldest_runs(struct past *p)
{
    size_t bytes = 0, kept = 0;

    while (kept < p->n_runs) {
        const struct past_run *r = &p->runs[p->n_runs - kept - 1];

        bytes += strlen(r->code) + strlen(r->output);
        if (kept && bytes > KEPT_BYTES)
            break;
        kept++;
    }
    for (size_t i = 0; i < p->n_runs - kept; i++)
        free_past_run(&p->runs[i]);
    memmove(p->runs, p->runs + p->n_runs - kept, kept * sizeof *p->runs);
    p->n_runs = kept;
}

void past_ran(struct past *p, struct past_run r)
{
    unsigned before = 0;

    for (size_t i = p->n_runs; i > 0 && p->runs[i - 1].serial == r.serial; i--)
        before += p->runs[i - 1].number > 0;
    r.number = r.number ? before + 1 : 0;
    p->runs = xreallocarray(p->runs, p->n_runs + 1, sizeof *p->runs);
    p->runs[p->n_runs++] = r;
    forget_oldest_runs(p);
}

void past_undo(struct past *p, uint64_t serial)
{
    while (p->n_runs && p->runs[p->n_runs - 1].serial > serial)
        free_past_run(&p->runs[--p->n_runs]);
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

const char *past_output(const struct past *p, unsigned cell)
{
    size_t i = p->n_runs;

    while (i > 0 && p->runs[i - 1].cell != cell)
        i--;
    return i ? p->runs[i - 1].output : NULL;
}

const struct past_question *past_last(const struct past *p)
{
    return p->n ? &p->v[p->n - 1] : NULL;
}

void past_release(struct past *p)
{
    past_undo(p, 0);
    while (p->n_runs)
        free_past_run(&p->runs[--p->n_runs]);
    free(p->v);
    free(p->runs);
    *p = (struct past){0};
}
