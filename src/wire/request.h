/* request.h - the body of a request, for each API and each dialect. All JSON through base/json.h. */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/types.h"

/* max_tokens, max_completion_tokens, neither */
enum max_tokens_field { MAX_TOKENS_OLD, MAX_TOKENS_NEW, MAX_TOKENS_NONE };

/* what this request is like: options, what was learnt, what was downgraded */
struct request_shape {
    const struct llm_options *o;
    const char *origin;
    enum llm_reasoning_back reasoning_back;
    const char *effort; /* to be sent, or NULL */
    /* turns before this one are sent without the items that the service gave with them */
    size_t stale;
    bool blocks; /* dialect of calling */
    bool stream, stream_options, temperature;
    /* the service refused what it had given: reasoning stays out of the history */
    bool no_items;
    bool no_encrypted, no_summary; /* Responses: these are not asked for */
    enum max_tokens_field max_tokens_field;
    int max_tokens; /* 0: not sent */
    /* a reply that is answered by the nudge, neither being in the conversation; or NULL */
    const char *nudged_text;
};

/* The body; the caller frees. *prompt is set to the bytes of text the model is to read, for estimates. */
char *request_body(const struct llm_request *q, const struct request_shape *s, size_t *prompt);

/* DESIGN 5, "A reply has a bound": how many tokens to ask for at most; 0: nothing is sent. */
int request_max_tokens(const struct llm_options *o, bool loopback, int context);

#define REQUEST_BYTES_PER_TOKEN 3.5

#endif
