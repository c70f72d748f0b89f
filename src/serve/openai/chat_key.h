/* chat_key.h - the key of a conversation: a SHA-256, in hex, of everything that was said. chat_table.h
 * finds the sandbox at the end of a conversation by it. A text and a list of parts with that text have the
 * same key, whatever white space surrounds it and into however many messages a turn of the assistant is
 * cut. Pure.
 */
#ifndef OPENAI_CHAT_KEY_H
#define OPENAI_CHAT_KEY_H

#include <stddef.h>

#include "base/sha256.h"

struct json;

/* Sets key to that of an empty conversation. */
void chat_key_begin(char key[SHA256_HEX]);
/* Adds the entries from to n - 1 of a conversation (chat_item.h). A conversation may be added in several
 * calls, as long as no turn of the assistant is split between two of them. */
void chat_key_add(const struct json *list, size_t from, size_t n, char key[SHA256_HEX]);
/* calls: of the client's tools, with which it ended, as {id, ...}; or NULL. */
void chat_key_answer(const char *answer, const struct json *calls, char key[SHA256_HEX]);
/* Sets key to that of the answer with this id, which stands for the conversation up to it. */
void chat_key_id(const char *id, char key[SHA256_HEX]);

#endif
