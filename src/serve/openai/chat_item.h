/* chat_item.h - one entry of a conversation as OpenAI's clients send it: a message, or in Responses also an
 * item of another type, such as a call of one of the client's own tools and its result. A conversation is a
 * list of entries, or one string, which is a message of the user. Pure; everything that is returned points
 * into the request.
 */
#ifndef OPENAI_CHAT_ITEM_H
#define OPENAI_CHAT_ITEM_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct json;

/* CHAT_RESULT: of a call of the client's tools. Such a call is the assistant's. */
enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_RESULT, CHAT_OTHER };

extern const char chat_old_tools[]; /* why the oldest form of tools is refused */

/* These two walk the entries; NULL: there is no (further) one. */
const struct json *chat_first(const struct json *list);
const struct json *chat_next(const struct json *list, const struct json *item);
enum chat_role chat_role(const struct json *item);
const struct json *chat_content(const struct json *item); /* a string, or a list of parts */
/* Is it something that another service did and that means nothing here? Such an entry is ignored. */
bool chat_skipped(const struct json *item);
/* Returns why the entry is refused; NULL: it is a message. */
const char *chat_refused(const struct json *item);

struct chat_call {
    const char *id, *name, *arguments; /* never NULL; arguments: JSON as text */
};
/* The i-th call of an entry of the assistant's, from 0. False: there is none. */
bool chat_call_at(const struct json *item, size_t i, struct chat_call *out);
const char *chat_result_id(const struct json *item); /* which call an entry is the result of; or "" */

/* Appends the text as a paragraph, without the white space around it. Blank text adds nothing. */
void chat_paragraph(struct buf *out, const char *text);

#endif
