/* debug.h - shows as one JSON object what the program understands of one recorded answer of a service, for
 * bug reports and tests. It uses the same reader, error classes and retry policy as llm_ask, but no
 * transport.
 */
#ifndef LLM_DEBUG_H
#define LLM_DEBUG_H

#include <stddef.h>
#include <time.h>

#include "wire/reader.h"
#include "wire/types.h"

/* one byte more than the reader accepts, so that the reading can show that the body is too long */
#define DEBUG_BODY_MAX (READER_REPLY_MAX + 1)

struct debug_reply {
    int status;                 /* 0 means 200 */
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    enum dialect dialect; /* auto counts as native */
    struct llm_toolset tools;
    time_t now; /* the time from which a Retry-After date is measured */
};

/* Returns {"text", "reasoning", "refusal", "tool_calls":[{"id", "name", "arguments", "code", "runnable"}],
 * "finish_reason", "usage", "done", "truncated", "error":{"class", "message"}, "action", "retry":{"after_ms",
 * "without", "stream"}}, with null where a member does not apply. The caller frees it. The request is assumed
 * to have asked for a stream. A body that is gzip as a whole is unpacked first. */
char *debug_reply(const struct debug_reply *d, const char *body, size_t len);

#endif
