/* reasoning_items.h - what a service gives us to carry over to the next request, and that only it
 * understands: the output items of a Responses reply (reasoning with encrypted content, and the places of
 * calls and texts between them), OpenRouter's reasoning_details. Kept as JSON.
 *
 * OpenRouter streams a detail in fragments that share one type and index; they must be joined again before
 * they go back (langchain#36400).
 */
#ifndef WIRE_REASONING_ITEMS_H
#define WIRE_REASONING_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json;

/* Bytes of one reply. When there are more, none are carried over, because half of them is worth nothing. */
#define REASONING_ITEMS_MAX (4u << 20)
/* Members of one item, of which services have about ten. Each is looked for among the others. */
#define REASONING_MEMBERS_MAX 64

struct reasoning_items {
    struct json *list, *open; /* open: the detail that the next fragment may belong to */
    const char *key;          /* the name of its member that grows, a literal */
    struct buf text;
    size_t bytes;
    int64_t *place; /* for each item of list */
    size_t n_places;
    bool lost;
};

void reasoning_items_release(struct reasoning_items *k);
/* Keeps an output item of a Responses reply at its place among the others; -1: after the previous one. Items
 * may end in another order than they began. */
void reasoning_items_keep(struct reasoning_items *k, const struct json *item, int64_t place);
/* Adds an element of reasoning_details, whole or a fragment. */
void reasoning_items_add_detail(struct reasoning_items *k, const struct json *piece);
/* Returns all of it as JSON text, or NULL. The caller frees it. */
char *reasoning_items_text(struct reasoning_items *k);

#endif
