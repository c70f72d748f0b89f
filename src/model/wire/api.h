/* api.h - the APIs in which a request can be sent. APIs differ only in their rows of the table: the URL to
 * ask and how to write the body. The row does not decide how the answer is read, because the reader
 * recognises its shape from the body.
 */
#ifndef WIRE_API_H
#define WIRE_API_H

#include <stdbool.h>

#include "wire/types.h"

struct error;
struct json;
struct request_out;

struct api {
    const char *path; /* appended to the base URL; NULL: url makes the whole URL */
    char *(*url)(const char *base, const char *model, struct error *err);
    bool bounded; /* without max_tokens the service cuts a reply short */
    /* each model has parameters of its own: an effort goes only to one that is known to take it */
    bool own_parameters;
    void (*write)(struct request_out *o);
};

const struct api *api_of(enum model_api a);
/* Makes the URL to ask. The caller frees it; NULL with err (ERROR_USAGE). */
char *api_url(enum model_api a, const char *base, const char *model, struct error *err);
/* Makes the URL for Cloudflare's own API. base may be the account's URL, the one of its chat completions
 * (.../ai/v1), .../ai, .../ai/run, or a gateway's .../workers-ai. The caller frees it; NULL with err
 * (ERROR_USAGE). */
char *workers_ai_url(const char *base, const char *model, struct error *err);
/* Returns the model's name from such a URL, or NULL when there is none. The caller frees it. */
char *workers_ai_model(const char *url);
/* Tells for which API a body was written. */
enum model_api api_of_body(const struct json *body);

#endif
