/* chat_table.h - remembers which sandbox belongs to the end of which conversation. A client sends its whole
 * conversation with every request; the part up to the last answer (chat_key.h) names the place, and so does
 * that answer's id. A place is taken out while its question is asked, and put back under the next names. So
 * two requests that continue from the same place never share an interpreter: the second one gets a new one.
 * A client has at most so many places; its oldest one is dropped first.
 */
#ifndef OPENAI_CHAT_TABLE_H
#define OPENAI_CHAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/owned.h"
#include "base/sha256.h"

struct chat_table;

enum { CHAT_SAID, CHAT_ID, CHAT_NAMES };

struct chat_place {
    struct owned_row row;
    char sandbox[64];                   /* the id of the sandbox */
    char turn[64];                      /* how far its conversation has come, from the result of ask */
    char names[CHAT_NAMES][SHA256_HEX]; /* the place is found by either; "": it has no such name */
};

struct chat_table *chat_table_new(size_t max); /* places of one client */
void chat_table_free(struct chat_table *t);
/* Takes out the client's place with that name. False: it has none. */
bool chat_table_take(struct chat_table *t, const char *client, const char *name, struct chat_place *out)
    __attribute__((nonnull));
/* Adds a copy. */
void chat_table_put(struct chat_table *t, const char *client, const struct chat_place *place)
    __attribute__((nonnull));

#endif
