/* adapt.h - what is changed about the requests of a session when a service refuses one: a field is left out
 * or gets its other name, the other API is asked, the next model of the list. Private to src/llm.
 */
#ifndef LLM_ADAPT_H
#define LLM_ADAPT_H

#include <stdbool.h>

#include "llm/exchange.h"

/* f says which parameter: ask again without it. 0: it is worth another try; 1: it was not sent, or was
 * changed already; -1: err. */
int adapt(struct exchange *x, const struct failure *f, struct error *err);
/* A refusal may be the consequence of an earlier change: f then says so. */
void adapt_failure(const struct llm *m, struct failure *f);
/* The service has the model no longer. True: another one is asked from here on. False: f has the advice for
 * the user. */
bool adapt_next_model(const struct exchange *x, struct failure *f);
/* Tell once that the effort which the user asked for is not what is sent. */
void adapt_tell_effort(const struct exchange *x);
/* Tell once that another model answers than was asked. */
void adapt_told_model(const struct exchange *x, const struct llm_reply *r);

#endif
