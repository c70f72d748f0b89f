/* chat_key.h - the name of a conversation: a digest of what was said, by which the sandbox is found that
 * stands at its end (chat_table.h). The same for a text and for parts with that text, whatever blanks
 * surround it, and however what the assistant said in one turn is cut into messages. A key holds the name of
 * all that was added so far. Pure.
 */
#ifndef OPENAI_CHAT_KEY_H
#define OPENAI_CHAT_KEY_H

#include <stddef.h>

#include "base/sha256.h"

struct json;

/* Nothing was said. Conversations of different owners are never the same. */
void chat_key_begin(const char *owner, char key[SHA256_HEX]);
/* The entries of a conversation (chat_item.h) behind the first from, up to the n-th. It may be added in
 * parts, but for what the assistant says in one turn. */
void chat_key_add(const struct json *list, size_t from, size_t n, char key[SHA256_HEX]);
void chat_key_answer(const char *answer, char key[SHA256_HEX]);
/* Of the answer with this id, instead of what was said. */
void chat_key_id(const char *owner, const char *id, char key[SHA256_HEX]);

#endif
