/* openai_line.h - lines of results as OpenAI's batches have them: {id, custom_id, response: {status_code,
 * request_id, body}, error}. Ours have the member "sandpiper" too: what the body has no place for. Those of
 * other programs (vLLM leaves status_code out) are read as well.
 */
#ifndef BATCH_OPENAI_LINE_H
#define BATCH_OPENAI_LINE_H

#include "openai/shape.h"

struct json;

/* The line of results.h in that form; shape is that of the body. The caller frees. */
struct json *openai_line(const struct json *line, const struct openai_shape *shape);
/* Takes a line of either form and returns it as results.h has it. A line that no sandpiper wrote has no
 * "sha256" then. */
struct json *openai_line_read(struct json *line);

#endif
