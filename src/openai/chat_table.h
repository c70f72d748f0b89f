/* chat_table.h - which sandbox stands at the end of which conversation. A client sends its whole
 * conversation with every request; what it said up to the last answer names the place (chat_key.h), and so
 * does that answer's id. A place is taken out while its question is asked and put back under the next names,
 * so two that ask from the same place never share an interpreter: the second gets none, and begins with a
 * clean one. Bounded; the oldest place goes first.
 */
#ifndef OPENAI_CHAT_TABLE_H
#define OPENAI_CHAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct chat_table;

enum { CHAT_SAID, CHAT_ID, CHAT_NAMES };

struct chat_place {
    char sandbox[64];                   /* its id */
    char turn[64];                      /* where its conversation stands (the result of ask) */
    char names[CHAT_NAMES][SHA256_HEX]; /* either is enough; "": it has no such name */
};

struct chat_table *chat_table_new(size_t max);
void chat_table_free(struct chat_table *t);
/* False: there is no such place. name: one of its names. */
bool chat_table_take(struct chat_table *t, const char *name, struct chat_place *out);
/* Takes out the one that nobody has gone on from for the longest time. */
bool chat_table_take_oldest(struct chat_table *t, struct chat_place *out);
void chat_table_put(struct chat_table *t, const struct chat_place *place);

#endif
