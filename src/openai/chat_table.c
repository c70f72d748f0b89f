/* chat_table.c - see chat_table.h. An array, the oldest first: it is small, and a request costs far more. */
#include "openai/chat_table.h"

#include <string.h>

#include "base/mem.h"

struct entry {
    char key[SHA256_HEX];
    struct chat_place place;
};

struct chat_table {
    size_t n, max;
    struct entry v[];
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
    *out = t->v[i].place;
    memmove(&t->v[i], &t->v[i + 1], (--t->n - i) * sizeof *t->v);
}

bool chat_table_take(struct chat_table *t, const char key[SHA256_HEX], struct chat_place *out)
{
    for (size_t i = t->n; i-- > 0;)
        if (strcmp(t->v[i].key, key) == 0) {
            take_at(t, i, out);
            return true;
        }
    return false;
}

bool chat_table_take_oldest(struct chat_table *t, struct chat_place *out)
{
    if (!t->n)
        return false;
    take_at(t, 0, out);
    return true;
}

void chat_table_put(struct chat_table *t, const char key[SHA256_HEX], const struct chat_place *place)
{
    struct chat_place gone;

    if (!t->max)
        return;
    if (t->n == t->max)
        take_at(t, 0, &gone);
    struct entry *e = &t->v[t->n++];
    memcpy(e->key, key, SHA256_HEX);
    e->place = *place;
}
