/* items.h - what a service gives to be carried over to the next request, and that only it understands: the output items of a Responses
 * reply (reasoning with encrypted content, and where its calls and texts stood between), OpenRouter's reasoning_details. Kept as JSON.
 *
 * OpenRouter streams a detail in fragments of one type and index; sent back they must be whole again (langchain#36400).
 */
#ifndef LLM_ITEMS_H
#define LLM_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct json;

#define ITEMS_MAX (4u << 20)    /* of one reply; more is not carried over at all: half of it is worth nothing */

struct items {
    struct json *list, *open;   /* open: the detail that the next fragment may belong to */
    const char *key;            /* its member that grows, a literal */
    struct buf text;
    size_t bytes;
    bool lost;
};

void items_release(struct items *k);
/* An output item of a Responses reply. */
void items_keep(struct items *k, const struct json *item);
/* An element of reasoning_details, whole or a fragment. */
void items_piece(struct items *k, const struct json *piece);
/* All of it as JSON text, or NULL. The caller frees. */
char *items_text(struct items *k);

#endif
