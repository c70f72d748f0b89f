/* adapt.h - changes how a session makes its requests after a service refused one: it drops or renames a
 * field, switches to the other API, or moves to the next model of the list. Private to llm.
 */
#ifndef LLM_ADAPT_H
#define LLM_ADAPT_H

#include <stdbool.h>

struct error;
struct exchange;
struct failure;
struct llm_reply;

/* Drops or changes the parameter that f names. Returns 0 when the request is worth another try, 1 when the
 * parameter was not sent or had already been changed, -1 with err. */
int adapt(struct exchange *x, const struct failure *f, struct error *err);
/* When a refusal may result from an earlier change, or from images, says so in f. */
void adapt_failure(const struct exchange *x, struct failure *f);
/* Call this when the service no longer has the model. True: from here on another model is asked. False: f has
 * the advice for the user. */
bool adapt_next_model(const struct exchange *x, struct failure *f);
/* Tells the user once that the effort or temperature sent is not the one they asked for. */
void adapt_tell_unsent(const struct exchange *x);
/* Tells the user once that the model that answers is not the one they asked for. */
void adapt_tell_model(const struct exchange *x, const struct llm_reply *r);

#endif
