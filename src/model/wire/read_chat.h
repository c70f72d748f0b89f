/* read_chat.h - reads chat completions: choices with a delta or a message. Part of the reader. */
#ifndef WIRE_READ_CHAT_H
#define WIRE_READ_CHAT_H

#include <stdbool.h>

struct json;
struct reader;

/* Reads a chunk of a stream, or a whole answer. True when there was a list of choices, even an empty one. */
bool read_chat(struct reader *r, const struct json *o);
/* Reads a message by itself, as Ollama's own API sends it. */
void read_chat_message(struct reader *r, const struct json *message);

#endif
