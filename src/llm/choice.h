/* choice.h - the fields of a chunk or an answer: choices, delta or message, content in its shapes, usage; the Workers AI and
 * Responses shapes beside them. Part of the reader.
 */
#ifndef LLM_CHOICE_H
#define LLM_CHOICE_H

struct json;
struct reader;

void choice_read(struct reader *r, const struct json *chunk);              /* an event of a stream */
void choice_read_document(struct reader *r, const struct json *document);  /* a whole answer */

#endif
