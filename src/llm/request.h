/* request.h - the body of a request, for each API and each dialect. All JSON through base/json.h. */
#ifndef LLM_REQUEST_H
#define LLM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "llm/llm.h"

enum max_tokens_field { MAX_TOKENS_OLD, MAX_TOKENS_NEW, MAX_TOKENS_NONE };     /* max_tokens, max_completion_tokens, neither */

struct request_shape {                  /* what this request is like: options, what was learnt, what was downgraded */
    const struct llm_options *o;
    const char *origin;
    enum llm_reasoning_back reasoning_back;
    const char *effort;                 /* to be sent, or NULL */
    size_t stale;                       /* turns before this one are sent without the items that the service gave with them */
    bool blocks;                        /* dialect of calling */
    bool stream, stream_options, temperature;
    bool no_items;                      /* the service refused what it had given: reasoning stays out of the history */
    bool no_encrypted, no_summary;      /* Responses: these are not asked for */
    enum max_tokens_field max_tokens_field;
    int max_tokens;                     /* 0: not sent */
    const char *nudged_text;            /* a reply that is answered by the nudge, neither being in the conversation; or NULL */
};

/* The body; the caller frees. *prompt is set to the bytes of text the model is to read, for estimates. */
char *request_body(const struct llm_request *q, const struct request_shape *s, size_t *prompt);

/* DESIGN 5, "A reply has a bound": how many tokens to ask for at most; 0: nothing is sent. */
int request_max_tokens(const struct llm_options *o, bool loopback, int context);

#define REQUEST_BYTES_PER_TOKEN 3.5

#endif
