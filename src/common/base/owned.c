/* owned.c - a list of clients, each with a list of its rows, the oldest first.
 *
 * RULE: A client finds, ends and pushes out only what is its own.
 */
#include "base/owned.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct owned_client {
    struct owned_client *next;
    char *name;
    struct owned_row *rows;
    size_t n;
};

static struct owned_client *find_client(const struct owned *t, const char *name)
{
    struct owned_client *c = t->clients;

    while (c && strcmp(c->name, name) != 0)
        c = c->next;
    return c;
}

static struct owned_client *add_client(struct owned *t, const char *name)
{
    struct owned_client *c = xcalloc(1, sizeof *c);

    c->name = xstrdup(name);
    c->next = t->clients;
    t->clients = c;
    return c;
}

void owned_release(struct owned *t)
{
    while (t->clients) {
        struct owned_client *c = t->clients;

        assert(!c->rows);
        t->clients = c->next;
        free(c->name);
        free(c);
    }
}

void owned_add(struct owned *t, const char *client, struct owned_row *row)
{
    struct owned_client *c = find_client(t, client);
    struct owned_row **last;

    if (!c)
        c = add_client(t, client);
    for (last = &c->rows; *last;)
        last = &(*last)->next;
    *last = row;
    *row = (struct owned_row){.client = c};
    c->n++;
    t->n++;
}

void owned_take(struct owned *t, struct owned_row *row)
{
    struct owned_client *c = row->client;
    struct owned_row **p = &c->rows;

    while (*p != row)
        p = &(*p)->next;
    *p = row->next;
    row->next = NULL;
    c->n--;
    t->n--;
}

const char *owned_by(const struct owned_row *row)
{
    return row->client->name;
}

/* The newest that fits. */
static struct owned_row *find_in(const struct owned_client *c,
                                 bool (*is)(const struct owned_row *row, const void *key), const void *key)
{
    struct owned_row *found = NULL;

    for (struct owned_row *row = c ? c->rows : NULL; row; row = row->next)
        if (is(row, key))
            found = row;
    return found;
}

struct owned_row *owned_find(const struct owned *t, const char *client,
                             bool (*is)(const struct owned_row *row, const void *key), const void *key)
{
    return find_in(find_client(t, client), is, key);
}

struct owned_row *owned_find_of_all(const struct owned *t,
                                    bool (*is)(const struct owned_row *row, const void *key), const void *key)
{
    struct owned_row *found = NULL;

    for (const struct owned_client *c = t->clients; c && !found; c = c->next)
        found = find_in(c, is, key);
    return found;
}

size_t owned_count(const struct owned *t, const char *client)
{
    const struct owned_client *c = find_client(t, client);

    return c ? c->n : 0;
}

struct owned_row *owned_oldest(const struct owned *t, const char *client,
                               int64_t (*age)(const struct owned_row *row))
{
    const struct owned_client *c = find_client(t, client);
    struct owned_row *oldest = NULL;
    int64_t lowest = OWNED_STAYS;

    for (struct owned_row *row = c ? c->rows : NULL; row; row = row->next) {
        int64_t its = age(row);

        if (its < lowest) {
            lowest = its;
            oldest = row;
        }
    }
    return oldest;
}

static void each_in(const struct owned_client *c, void (*fn)(void *ctx, struct owned_row *row), void *ctx)
{
    for (struct owned_row *row = c ? c->rows : NULL; row; row = row->next)
        fn(ctx, row);
}

void owned_each(const struct owned *t, const char *client, void (*fn)(void *ctx, struct owned_row *row),
                void *ctx)
{
    each_in(find_client(t, client), fn, ctx);
}

void owned_each_of_all(const struct owned *t, void (*fn)(void *ctx, struct owned_row *row), void *ctx)
{
    for (const struct owned_client *c = t->clients; c; c = c->next)
        each_in(c, fn, ctx);
}
