/* owned.h - a table whose rows belong to clients. Nobody finds, counts or evicts a row without saying for
 * which client, and then gets only rows of that client: so no client can reach, end or push out what is
 * another's. Only the two functions named ..._of_all look at all rows.
 * The table does not own its rows. A row begins with a struct owned_row, which belongs to the table while
 * the row is in it. A client's name is any text, never NULL; a program with one client calls it "". */
#ifndef BASE_OWNED_H
#define BASE_OWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owned_client;

struct owned_row {
    struct owned_row *next;
    struct owned_client *client;
};

struct owned {
    struct owned_client *clients; /* each has a list of its rows; kept until owned_release() */
    size_t n;                     /* rows of all clients */
};

/* All must have been taken out. */
void owned_release(struct owned *t);

/* Adds a row, which is in no table, as the newest of this client. */
void owned_add(struct owned *t, const char *client, struct owned_row *row) __attribute__((nonnull));
void owned_take(struct owned *t, struct owned_row *row) __attribute__((nonnull)); /* takes it out */
const char *owned_by(const struct owned_row *row) __attribute__((nonnull));       /* its client */

/* Returns the client's newest row for which is(row, key) holds, or NULL. */
struct owned_row *owned_find(const struct owned *t, const char *client,
                             bool (*is)(const struct owned_row *row, const void *key), const void *key)
    __attribute__((nonnull(1, 2, 3)));
size_t owned_count(const struct owned *t, const char *client) __attribute__((nonnull));
/* Returns the row of this client that is to go first when there is no room: the one with the lowest age(),
 * and of equal ones that which was added first. Rows whose age is OWNED_STAYS are left out. NULL: there is
 * none. */
#define OWNED_STAYS INT64_MAX
struct owned_row *owned_oldest(const struct owned *t, const char *client,
                               int64_t (*age)(const struct owned_row *row)) __attribute__((nonnull));

/* Calls fn for each of the client's rows, in the order in which they were added. fn takes out no row. */
void owned_each(const struct owned *t, const char *client, void (*fn)(void *ctx, struct owned_row *row),
                void *ctx) __attribute__((nonnull(1, 2, 3)));

/* These look at the rows of all clients, so no answer to a client may come from them. They are for timers,
 * figures, and the end of the program. */
void owned_each_of_all(const struct owned *t, void (*fn)(void *ctx, struct owned_row *row), void *ctx)
    __attribute__((nonnull(1, 2)));
struct owned_row *owned_find_of_all(const struct owned *t,
                                    bool (*is)(const struct owned_row *row, const void *key), const void *key)
    __attribute__((nonnull(1, 2)));

#endif
