/* chat_part.h - one part of a message's content: text, or a file (an image, a document) as a data: URL. Pure.
 */
#ifndef OPENAI_CHAT_PART_H
#define OPENAI_CHAT_PART_H

#include <stddef.h>

struct json;

const char *chat_part_text(const struct json *part); /* NULL: the part is not text */
/* Makes {name, content, encoding: "base64"} for the sandbox; the caller frees it. The name is the sender's,
 * or made of the type and number; it may be any text, and need not be unique. NULL: the part is not a file,
 * or *why says why it is refused; *why is NULL when the kind of part is unknown. */
struct json *chat_part_file(const struct json *part, size_t number, const char **why);
const char *chat_part_data(const struct json *part); /* the URL or data of a file; NULL: it is not a file */

#endif
