/* reasoning_items.h - what a service gives to be carried over to the next request, and that only it
 * understands: the output items of a Responses reply (reasoning with encrypted content, and where its calls
 * and texts stood between), OpenRouter's reasoning_details. Kept as JSON.
 *
 * OpenRouter streams a detail in fragments of one type and index; sent back they must be whole again
 * (langchain#36400).
 */
#ifndef WIRE_REASONING_ITEMS_H
#define WIRE_REASONING_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json;

#define REASONING_ITEMS_MAX \
    (4u << 20) /* of one reply; more is not carried over at all: half of it is worth nothing \
                */

struct reasoning_items {
    struct json *list, *open; /* open: the detail that the next fragment may belong to */
    const char *key;          /* its member that grows, a literal */
    struct buf text;
    size_t bytes;
    int64_t *place; /* of each in list */
    size_t n_places;
    bool lost;
};

void reasoning_items_release(struct reasoning_items *k);
/* An output item of a Responses reply, and its place among them; -1: behind the one before. They may end in
 * another order. */
void reasoning_items_keep(struct reasoning_items *k, const struct json *item, int64_t place);
/* An element of reasoning_details, whole or a fragment. */
void reasoning_items_add_detail(struct reasoning_items *k, const struct json *piece);
/* All of it as JSON text, or NULL. The caller frees. */
char *reasoning_items_text(struct reasoning_items *k);

#endif
