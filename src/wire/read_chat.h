/* read_chat.h - the fields of a chunk or an answer: choices, delta or message, content in its shapes, usage;
 * the Workers AI shape beside them; Responses are responses.h. Part of the reader.
 */
#ifndef WIRE_READ_CHAT_H
#define WIRE_READ_CHAT_H

struct json;
struct reader;

void choice_read(struct reader *r, const struct json *chunk);             /* an event of a stream */
void choice_read_document(struct reader *r, const struct json *document); /* a whole answer */

/* For the other shapes: a piece of text, of reasoning (field: the name it goes back under, a literal, or
 * NULL), a usage object. */
void choice_text(struct reader *r, const char *s);
void choice_reasoning(struct reader *r, const char *s, const char *field);
void choice_usage(struct reader *r, const struct json *u);

#endif
