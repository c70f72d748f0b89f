/* debug.h - one recorded answer of a service, and what is understood of it, as one JSON object: for bug
 * reports and for tests. The same reader, error classes and retry policy as in llm_ask; no transport.
 */
#ifndef LLM_DEBUG_H
#define LLM_DEBUG_H

#include <stddef.h>
#include <time.h>

#include "llm/llm.h"

#define DEBUG_BODY_MAX \
    ((64u << 20) + 1) /* one byte more than is read: that it is too long is part of the reading */

struct debug_reply {
    int status;                 /* 0: 200 */
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    enum llm_dialect dialect; /* auto counts as native */
    struct llm_toolset tools;
    time_t now; /* a Retry-After that is a date is measured from here */
};

/* {"text", "reasoning", "refusal", "tool_calls":[{"id", "name", "arguments", "code", "runnable"}],
 * "finish_reason", "usage", "done", "truncated", "error":{"class", "message"}, "action",
 * "retry":{"after_ms", "without", "stream"}}; null where a member does not apply. The caller frees. The
 * request is taken to have asked for a stream. A body that is gzip as a whole is unpacked first. */
char *debug_reply(const struct debug_reply *d, const char *body, size_t len);

#endif
