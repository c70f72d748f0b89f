/* request.h - makes the body of a request, for each API and dialect. All JSON goes through json/json.h. */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/types.h"

/* Properties of one request besides the conversation. */
struct request_shape {
    const struct llm_options *o;
    const struct llm_learnt *learnt;
    /* endpoint, model and API; turns that came from there get back what the service gave */
    const char *origin;
    bool stream;
    int max_tokens; /* 0: not sent */
};

/* Returns the body; the caller frees it. Sets *prompt to the bytes of text that the model will read, for
 * estimates. */
char *request_body(const struct llm_request *q, const struct request_shape *s, size_t *prompt);

/* A request carries at most so many images, the newest of the conversation. */
#define REQUEST_IMAGES     8
#define REQUEST_IMAGES_FEW 4 /* where the service refused more */

/* The number, from 0, of the first image of the conversation that is sent. When there are too many, as many
 * as half of those that fit are left out at once, and then none for a while: each time the requests no longer
 * begin with what was sent before. It depends on the number of images alone, so that a session that is
 * continued sends what it sent. */
size_t request_first_image(const struct conversation *c, const struct llm_learnt *learnt);
/* How many images a request of this conversation carries. */
size_t request_count_images(const struct conversation *c, const struct request_shape *s);

/* Returns the effort to send, the value nearest to what was asked that the model knows. NULL: none. */
const char *request_effort(const struct llm_options *o, const struct llm_learnt *learnt);
/* False where an effort other than none does nothing but switch reasoning on. */
bool request_has_levels(const struct llm_options *o);

/* Every reply has a bound: returns how many tokens to ask for at most; 0: no limit is sent. */
int request_max_tokens(const struct llm_options *o, bool loopback, int context);

#define REQUEST_BYTES_PER_TOKEN 3.5

#endif
