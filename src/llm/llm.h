/* llm.h - ask a model. One call is one reply, whatever the service's API, its quirks and the dialect of
 * calling.
 *
 * Hidden behind it: request body, HTTP transfer and retries, server-sent events, the reader of replies, both
 * dialects (native tool calls; blocks, fenced python in the text) and how it is found out which a model
 * speaks. It blocks, serving the loop's other descriptors meanwhile, and ends within 200 ms of a cancel.
 * Prints nothing.
 */
#ifndef LLM_LLM_H
#define LLM_LLM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chat/conversation.h"
#include "wire/types.h"

struct error;
struct loop;
struct llm;

struct llm *llm_new(const struct llm_options *o, struct loop *loop, struct error *err);
void llm_free(struct llm *m);
/* within the last day the service said that it has this model no longer (o->kept) */
bool llm_is_gone(const struct llm_options *o);
/* another model in the middle of a session */
int llm_reconfigure(struct llm *m, const struct llm_options *o, struct error *err);
void llm_set_deadline(struct llm *m, int64_t deadline);
/* the window, learnt elsewhere in the middle of a session */
void llm_set_context(struct llm *m, int context);
const char *llm_model(const struct llm *m);
const char *llm_origin(const struct llm *m); /* endpoint, model and API, for struct turn.origin */
/* short output of its code is the answer: it need not be asked for one */
bool llm_output_answers(const struct llm *m);
/* failing code is no longer mended once a question has cost so many tokens; 0: no limit */
int llm_repair_tokens(const struct llm *m);
int llm_context(const struct llm *m); /* the window as configured or learnt; 0 unknown */

/* Ask for the next reply. 0: r is filled (also when the connection was lost after text was shown:
 * r->truncated and r->cause). -1: err says why and nothing usable came; r->text still holds what was shown
 * (maybe ""), r->usage and r->requests what it cost. ERROR_CANCELLED after an interrupt, ERROR_LIMIT with
 * "context" in the text when the window is too small (r is untouched by then and llm_context() may have been
 * learnt). */
int llm_ask(struct llm *m, const struct llm_request *q, const struct llm_listener *l, struct llm_reply *r,
            struct error *err);

enum llm_place {
    LLM_NOBODY,    /* nothing listens there */
    LLM_SILENT,    /* something does, and gave no answer in time */
    LLM_UNTRUSTED, /* its certificate is not trusted, or not for it */
    LLM_OTHER,     /* it answered, but with no list of models */
    LLM_NO_MODEL,  /* with an empty one */
    LLM_MODEL,
};

/* Look for a local server: GET {base}/models at each URL in parallel. Nobody listens: told at once. Somebody
 * does: a list within connect_ms is taken in the order of base_urls; after that the first that comes, until
 * answer_ms (a server that is computing may be slow to say what it has). Returns the index, with the name of
 * its first model that is not for embeddings in *model (caller frees), or -1. places: what each was found to
 * be (n of them), or NULL. ca_cert: as in llm_options. */
int llm_discover(const char *const *base_urls, size_t n, const char *ca_cert, int connect_ms, int answer_ms,
                 struct loop *loop, char **model, enum llm_place *places);

#endif
