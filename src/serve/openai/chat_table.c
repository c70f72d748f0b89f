/* chat_table.c - finds, takes and puts the places, the oldest of the same client's making room. */
#include "openai/chat_table.h"

#include <string.h>

#include "base/mem.h"

struct chat_table {
    struct owned places;
    size_t max;
};

static struct chat_place *place_at(const struct owned_row *row)
{
    return (struct chat_place *)(uintptr_t)row;
}

static void drop_place(struct chat_table *t, struct owned_row *row)
{
    owned_take(&t->places, row);
    free(place_at(row));
}

static bool is_named(const struct owned_row *row, const void *name)
{
    const char *wanted = name;

    for (size_t k = 0; k < CHAT_NAMES; k++)
        if (*wanted && !strcmp(place_at(row)->names[k], wanted))
            return true;
    return false;
}

static bool is_any(const struct owned_row *row, const void *key)
{
    (void)row;
    (void)key;
    return true;
}

static int64_t as_added(const struct owned_row *row)
{
    (void)row;
    return 0;
}

struct chat_table *chat_table_new(size_t max)
{
    struct chat_table *t = xcalloc(1, sizeof *t);

    t->max = max;
    return t;
}

void chat_table_free(struct chat_table *t)
{
    struct owned_row *row;

    if (!t)
        return;
    while ((row = owned_find_of_all(&t->places, is_any, NULL)))
        drop_place(t, row);
    owned_release(&t->places);
    free(t);
}

bool chat_table_take(struct chat_table *t, const char *client, const char *name, struct chat_place *out)
{
    struct owned_row *row = owned_find(&t->places, client, is_named, name);

    if (!row)
        return false;
    *out = *place_at(row);
    drop_place(t, row);
    return true;
}

void chat_table_put(struct chat_table *t, const char *client, const struct chat_place *place)
{
    struct chat_place *copy = xmalloc(sizeof *copy);

    if (owned_count(&t->places, client) == t->max)
        drop_place(t, owned_oldest(&t->places, client, as_added));
    *copy = *place;
    owned_add(&t->places, client, &copy->row);
}
