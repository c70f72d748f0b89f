/* api.h - the APIs that can be sent. A row of the table is all that tells one from another: where it is asked
 * and how its body is written. What comes back is not chosen by it: the reader tells the shape from the body.
 */
#ifndef WIRE_API_H
#define WIRE_API_H

#include <stdbool.h>

#include "wire/types.h"

struct error;
struct json;
struct request_out;
struct request_shape;

struct api {
    const char *name; /* as "api:" of a provider has it */
    const char *path; /* behind the base URL; NULL: url makes the whole of it */
    char *(*url)(const char *base, const char *model, struct error *err);
    bool bounded; /* without max_tokens the service cuts a reply short */
    void (*write)(struct request_out *o);
};

const struct api *api_of(enum llm_api a);
/* The URL that is asked. The caller frees; NULL with err (ERROR_USAGE). */
char *api_url(enum llm_api a, const char *base, const char *model, struct error *err);
/* Cloudflare's own. base may be the account's URL, the one of its chat completions (.../ai/v1), .../ai,
 * .../ai/run, or a gateway's .../workers-ai. The caller frees; NULL with err (ERROR_USAGE). */
char *workers_ai_url(const char *base, const char *model, struct error *err);
/* The model's name out of such a URL; NULL when there is none. The caller frees. */
char *workers_ai_model(const char *url);
/* Which API a body was written for. */
enum llm_api api_of_body(const struct json *body);

#endif
