/* chat_item.h - one entry of a conversation as OpenAI's clients send it: a message, or (in Responses) an item
 * that is none. A conversation is a list of them, or one text, which is a message of the user's. Pure.
 */
#ifndef OPENAI_CHAT_ITEM_H
#define OPENAI_CHAT_ITEM_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct json;

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_OTHER };

extern const char chat_own_tools[]; /* why a client's tools are refused */

const struct json *chat_first(const struct json *list);
const struct json *chat_next(const struct json *list, const struct json *item);
enum chat_role chat_role(const struct json *item);
const struct json *chat_content(const struct json *item); /* a string, or a list of parts */
/* What another service did by itself, and says nothing to anybody else: it is passed over. */
bool chat_skipped(const struct json *item);
/* Why it is refused; NULL: it is a message. */
const char *chat_refused(const struct json *item);

/* Appends a paragraph without the blanks around it; nothing if there is nothing else in it. */
void chat_paragraph(struct buf *out, const char *text);

#endif
