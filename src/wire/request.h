/* request.h - the body of a request, for each API and each dialect. All JSON through base/json.h. */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/types.h"

/* What one request is like. */
struct request_shape {
    const struct llm_options *o;
    const struct llm_learnt *learnt;
    const char *origin; /* endpoint, model and API: turns that came from there get back what it gave */
    bool stream;
    int max_tokens; /* 0: not sent */
};

/* The body; the caller frees. *prompt is set to the bytes of text the model is to read, for estimates. */
char *request_body(const struct llm_request *q, const struct request_shape *s, size_t *prompt);

/* The effort to send: the nearest that the model knows to what was asked. NULL: none. */
const char *request_effort(const struct llm_options *o, const struct llm_learnt *learnt);

/* DESIGN 5, "A reply has a bound": how many tokens to ask for at most; 0: nothing is sent. */
int request_max_tokens(const struct llm_options *o, bool loopback, int context);

#define REQUEST_BYTES_PER_TOKEN 3.5

#endif
