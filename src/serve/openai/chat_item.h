/* chat_item.h - one entry of a conversation as OpenAI's clients send it: a message, or in Responses also an
 * item of another type. A conversation is a list of entries, or one string, which is a message of the user.
 * Pure; everything that is returned points into the request.
 */
#ifndef OPENAI_CHAT_ITEM_H
#define OPENAI_CHAT_ITEM_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct json;

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_OTHER };

extern const char chat_own_tools[]; /* why a client's tools are refused */

/* These two walk the entries; NULL: there is no (further) one. */
const struct json *chat_first(const struct json *list);
const struct json *chat_next(const struct json *list, const struct json *item);
enum chat_role chat_role(const struct json *item);
const struct json *chat_content(const struct json *item); /* a string, or a list of parts */
/* Is it something that another service did and that means nothing here? Such an entry is ignored. */
bool chat_skipped(const struct json *item);
/* Returns why the entry is refused; NULL: it is a message. */
const char *chat_refused(const struct json *item);

/* Appends the text as a paragraph, without the white space around it. Blank text adds nothing. */
void chat_paragraph(struct buf *out, const char *text);

#endif
