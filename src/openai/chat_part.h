/* chat_part.h - one part of a message's content: text, or a file (an image, a document) as a data: URL. Pure.
 */
#ifndef OPENAI_CHAT_PART_H
#define OPENAI_CHAT_PART_H

#include <stddef.h>

struct json;

const char *chat_part_text(const struct json *part); /* NULL: it is no text */
/* {name, content, encoding: "base64"} for the sandbox. NULL with *why, if more can be said than that this
 * kind is not known. The name is the sender's, or made of type and number; it may be any text, and not
 * unique. */
struct json *chat_part_file(const struct json *part, size_t number, const char **why);
const char *chat_part_data(const struct json *part); /* the URL or data of a file; NULL: it is none */

#endif
