/* read_workers_ai.h - Cloudflare's own API as an answer: text and calls lie at the top, and of a whole answer
 * in an envelope. Part of the reader.
 */
#ifndef WIRE_READ_WORKERS_AI_H
#define WIRE_READ_WORKERS_AI_H

#include <stdbool.h>

struct json;
struct reader;

/* The object that holds the text and the calls. False: o is none. */
bool read_workers_ai(struct reader *r, const struct json *o);
/* What the envelope holds; o itself where there is none. NULL: it was read as a whole, or is a failure. */
const struct json *read_workers_ai_result(struct reader *r, const struct json *o);

#endif
