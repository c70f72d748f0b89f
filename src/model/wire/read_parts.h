/* read_parts.h - the parts of the reader: one for the shape of each API's answers, and what they share.
 */
#ifndef WIRE_READ_PARTS_H
#define WIRE_READ_PARTS_H

#include <stdbool.h>

struct json;
struct reader;

/* Shared by all, in read_parts.c: passing text or reasoning to the sink, content in all its shapes, calls,
 * the finish, usage. Each takes a field as it came, and ignores it when it is absent or of a wrong type. */
void read_text(struct reader *r, const char *s); /* s may be NULL */
/* field is the name under which the reasoning goes back to the service, a literal; or NULL. */
void read_reasoning(struct reader *r, const char *s, const char *field);
/* Reads a string, or a list of parts: text, thoughts, refusals. */
void read_content(struct reader *r, const struct json *content);
void read_tool_calls(struct reader *r, const struct json *calls); /* an array, or one call */
void read_finish(struct reader *r, const struct json *reason);
void read_usage(struct reader *r, const struct json *usage);

/* Chat completions, in read_chat.c. Reads a chunk of a stream, or a whole answer. True when there was a
 * list of choices, even an empty one. */
bool read_chat(struct reader *r, const struct json *o);
/* Reads a message by itself, as Ollama's own API sends it. */
void read_chat_message(struct reader *r, const struct json *message);

/* The Responses API, in read_responses.c: a list of items, whole or as the events of a stream. */
bool read_responses_is_event(const struct json *o);
void read_responses_event(struct reader *r, const struct json *o);
void read_responses_document(struct reader *r, const struct json *o); /* an object with "output" */

/* Cloudflare's own API, in read_workers_ai.c. Reads the object that holds the text and the calls. False: o
 * is not such an object. */
bool read_workers_ai(struct reader *r, const struct json *o);
/* Returns what the envelope holds, or o itself when there is no envelope. NULL: o was read completely, or
 * is a failure. */
const struct json *read_workers_ai_result(struct reader *r, const struct json *o);

#endif
