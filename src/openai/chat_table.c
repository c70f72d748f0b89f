/* chat_table.c - see chat_table.h. An array, the oldest first: it is small, and a request costs far more. */
#include "openai/chat_table.h"

#include <string.h>

#include "base/mem.h"

struct chat_table {
    size_t n, max;
    struct chat_place v[];
};

struct chat_table *chat_table_new(size_t max)
{
    struct chat_table *t = xcalloc(1, sizeof *t + max * sizeof *t->v);

    t->max = max;
    return t;
}

void chat_table_free(struct chat_table *t)
{
    free(t);
}

static void take_at(struct chat_table *t, size_t i, struct chat_place *out)
{
    *out = t->v[i];
    memmove(&t->v[i], &t->v[i + 1], (--t->n - i) * sizeof *t->v);
}

static bool is_named(const struct chat_place *place, const char *name)
{
    for (size_t k = 0; k < CHAT_NAMES; k++)
        if (*name && !strcmp(place->names[k], name))
            return true;
    return false;
}

bool chat_table_take(struct chat_table *t, const char *name, struct chat_place *out)
{
    for (size_t i = t->n; i-- > 0;)
        if (is_named(&t->v[i], name)) {
            take_at(t, i, out);
            return true;
        }
    return false;
}

const struct chat_place *chat_table_at(const struct chat_table *t, size_t i)
{
    return i < t->n ? &t->v[i] : NULL;
}

void chat_table_put(struct chat_table *t, const struct chat_place *place)
{
    struct chat_place gone;

    if (!t->max)
        return;
    if (t->n == t->max)
        take_at(t, 0, &gone);
    t->v[t->n++] = *place;
}
