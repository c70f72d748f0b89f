/* past.c - see past.h. */
#include "runner/past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "runner/served.h"

#define ENDED_MAX 1000  /* ids of the past that are remembered */
#define ENDED_S   86400 /* and for so long */

/* Forget the first n, which are the oldest. */
static void forget(struct past *p, size_t n)
{
    for (size_t i = 0; i < n && p->noted; i++)
        served_remove(p->v[i].id);
    p->n -= n;
    if (n > 0)
        memmove(p->v, p->v + n, p->n * sizeof *p->v);
}

void past_add(struct past *p, const char *id, bool expired, int64_t at)
{
    if (p->n == ENDED_MAX)
        forget(p, 1);
    p->v = xreallocarray(p->v, p->n + 1, sizeof *p->v);
    struct ended *e = &p->v[p->n++];
    snprintf(e->id, sizeof e->id, "%s", id);
    e->expired = expired;
    e->at = at;
}

void past_forget_old(struct past *p)
{
    int64_t before = (int64_t)time(NULL) - ENDED_S;
    size_t n = 0;

    while (n < p->n && p->v[n].at < before)
        n++;
    forget(p, n);
}

static int by_time(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

void past_sort(struct past *p)
{
    if (p->n > 1)
        qsort(p->v, p->n, sizeof *p->v, by_time);
}

const struct ended *past_find(const struct past *p, const char *id)
{
    for (size_t i = p->n; i-- > 0;)
        if (!strcmp(p->v[i].id, id))
            return &p->v[i];
    return NULL;
}

void past_release(struct past *p)
{
    free(p->v);
    *p = (struct past){0};
}
