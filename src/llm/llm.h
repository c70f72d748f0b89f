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

#define LLM_ADVICE 200

/* What stays the same for all models that are asked in one session. Strings are copied; 0 and NULL: the
 * default, or none. */
struct llm_session {
    const char *ca_cert; /* a file of certificates to trust; NULL: as curl's variables have it */
    int connect_ms;      /* 0: 10,000 */
    int idle_ms;         /* no byte for so long ends a request; 0: 300,000 */
    int quiet_ms;        /* bytes that complete no event with content for so long end it; 0: 600,000 */
    int64_t deadline;    /* clock_ms() after which a request is given up with ERROR_LIMIT; 0: none */
    const char *trace;   /* file that gets every request and reply, without secrets */
    const char *record;  /* the same, from an empty file: for replay */
    const char *replay;  /* a recorded file in the place of the network; nothing is sent */
    const char *kept;    /* file of what is found out about models (learnt.h); NULL: nothing is kept */
    /* The service has this model no longer. True: next is what to ask instead (its strings may be borrowed),
     * after a line in said about it. False: it stays an error, with advice as its second line where that is
     * not empty. NULL: always an error. */
    bool (*gone)(void *ctx, const char *model, struct llm_options *next, char advice[LLM_ADVICE]);
    void *gone_ctx;
    /* or NULL; set: it is given the body, nothing is sent, llm_ask ends with ERROR_CANCELLED */
    void (*unsent)(void *ctx, const char *body);
    void *unsent_ctx;
};

/* o is copied. NULL with err. */
struct llm *llm_new(const struct llm_options *o, const struct llm_session *s, struct loop *loop,
                    struct error *err);
void llm_free(struct llm *m);
/* within the last day the service said that it has this model no longer; kept: as in llm_session */
bool llm_is_gone(const struct llm_options *o, const char *kept);
/* another model in the middle of a session */
int llm_reconfigure(struct llm *m, const struct llm_options *o, struct error *err);
void llm_set_deadline(struct llm *m, int64_t deadline);
/* the window, learnt elsewhere in the middle of a session */
void llm_set_context(struct llm *m, int context);
const char *llm_model(const struct llm *m);
const char *llm_origin(const struct llm *m); /* endpoint, model and API, for struct turn.origin */
/* short output of its code is the answer: it need not be asked for one */
bool llm_output_answers(const struct llm *m);
int llm_context(const struct llm *m); /* the window as configured or learnt; 0 unknown */

/* Ask for the next reply. 0: r is filled (also when the connection was lost after text was shown:
 * r->truncated and r->cause). -1: err says why and nothing usable came; r->text still holds what was shown
 * (maybe ""), r->usage and r->requests what it cost. ERROR_CANCELLED after an interrupt, ERROR_CONTEXT
 * when the window is too small (llm_context() may have been learnt by then). */
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

struct llm_search {
    const char *const *base_urls; /* in the order in which they are wanted */
    size_t n;                     /* eight are looked at */
    const char *ca_cert;          /* as in llm_session */
    int connect_ms, answer_ms;
};

/* Look for a local server: GET {base}/models at each URL in parallel. Nobody listens: told at once. Somebody
 * does: a list within connect_ms is taken in the order of base_urls; after that the first that comes, until
 * answer_ms (a server that is computing may be slow to say what it has). Returns the index, with the name of
 * its first model that is not for embeddings in *model (caller frees), or -1. places: what each was found to
 * be (n of them), or NULL. */
int llm_discover(const struct llm_search *what, struct loop *loop, char **model, enum llm_place *places);

#endif
