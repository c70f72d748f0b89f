/* read_workers_ai.h - reads the answers of Cloudflare's own API: text and calls are at the top level, and a
 * whole answer has an envelope around them. Part of the reader.
 */
#ifndef WIRE_READ_WORKERS_AI_H
#define WIRE_READ_WORKERS_AI_H

#include <stdbool.h>

struct json;
struct reader;

/* Reads the object that holds the text and the calls. False: o is not such an object. */
bool read_workers_ai(struct reader *r, const struct json *o);
/* Returns what the envelope holds, or o itself when there is no envelope. NULL: o was read completely, or is
 * a failure. */
const struct json *read_workers_ai_result(struct reader *r, const struct json *o);

#endif
