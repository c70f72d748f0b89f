/* llm.h - asks a model. One call gives one reply, whatever the service's API, its quirks and the model's
 * dialect.
 *
 * It hides the request body, the HTTP transfer with its retries, server-sent events, the reader of replies,
 * both dialects (native tool calls; blocks, fenced Python in the text) and the way it finds out which of them
 * a model uses. It blocks while it serves the loop's other descriptors, and returns within 200 ms of a
 * cancel. It prints nothing.
 */
#ifndef LLM_LLM_H
#define LLM_LLM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/conversation.h"
#include "wire/types.h"

struct error;
struct loop;
struct llm;

#define LLM_ADVICE 200

/* What stays the same for all models that are asked in one session. Strings are copied. 0 and NULL mean the
 * default, or none. */
struct llm_session {
    const char *ca_cert; /* a file of certificates to trust; NULL: what curl's variables say */
    int connect_ms;      /* 0: 10,000 */
    int idle_ms;         /* a request ends after this long without a byte; 0: 300,000 */
    int quiet_ms;        /* a request ends after this long without an event that has content; 0: 600,000 */
    int64_t deadline;    /* clock_ms() after which a request is given up with ERROR_LIMIT; 0: none */
    const char *agent;   /* the name of this agent in the trace, where there are several; or NULL; borrowed */
    const char *trace;   /* a file that receives every request and reply, without secrets */
    const char *record;  /* the same for replay; the file is emptied first */
    const char *replay;  /* a recorded file that stands in for the network; nothing is sent */
    const char *kept;    /* the file of facts about models (learnt.h); NULL: none are kept */
    /* Called when the service no longer has this model. True: ask the model in next instead (its strings may
     * be borrowed); the user gets a notice of it. False: the error stands, with advice as its second line
     * unless that is empty. When gone itself is NULL, it is always an error. */
    bool (*gone)(void *ctx, const char *model, struct llm_options *next, char advice[LLM_ADVICE]);
    void *gone_ctx;
    /* When set, receives the body instead of the service: nothing is sent, and llm_ask ends with
     * ERROR_CANCELLED. */
    void (*unsent)(void *ctx, const char *body);
    void *unsent_ctx;
};

/* Loads what every model needs (curl_load.h), for forks of this process. False: there is no libcurl. */
bool llm_preload(void);

/* Copies o, but for the strings in facts and service, which must outlive the result. NULL with err. */
struct llm *llm_new(const struct llm_options *o, const struct llm_session *s, struct loop *loop,
                    struct error *err);
void llm_free(struct llm *m);
/* Switches to another model in the middle of a session. */
int llm_reconfigure(struct llm *m, const struct llm_options *o, struct error *err);
void llm_set_deadline(struct llm *m, int64_t deadline);
/* Sets the window when it was learnt elsewhere in the middle of a session. */
void llm_set_context(struct llm *m, int context);
const char *llm_model(const struct llm *m);
bool llm_in_blocks(const struct llm *m); /* it writes its code as text and is offered no tools */
bool llm_sees(const struct llm *m);      /* images of the conversation are sent to it */
/* The number, from 0, of the first image of the conversation that it is sent (wire/request.h). */
size_t llm_first_image(const struct llm *m, const struct conversation *c);
const char *llm_origin(const struct llm *m); /* endpoint, model and API, for struct turn.origin */
/* True when short output of this model's code is the answer, so that it need not be asked for one. */
bool llm_output_answers(const struct llm *m);
/* Of the present model, as configured. */
const struct model_facts *llm_facts(const struct llm *m);
int llm_context(const struct llm *m); /* the window in tokens, as configured or learnt; 0: unknown */

/* Asks for the next reply. 0: r is filled, even when the connection was lost after text was shown;
 * r->truncated and r->cause tell of that. -1: err says why, and nothing usable came; r->text still holds what
 * was shown (perhaps ""), r->usage and r->requests what it cost. The error is ERROR_CANCELLED after an
 * interrupt, and ERROR_CONTEXT when the window is too small (llm_context() may know it by then). */
int llm_ask(struct llm *m, const struct llm_request *q, const struct llm_listener *l, struct llm_reply *r,
            struct error *err);

enum llm_place {
    LLM_NOBODY,    /* nothing listens there */
    LLM_SILENT,    /* something listens, but did not answer in time */
    LLM_UNTRUSTED, /* its certificate is not trusted, or is for another host */
    LLM_LOADING,   /* it answered 503, as llama.cpp does while it loads its model */
    LLM_OTHER,     /* it answered, but not with a list of models */
    LLM_NO_MODEL,  /* its list of models is empty */
    LLM_MODEL,
};

struct llm_search {
    const char *const *base_urls; /* in order of preference */
    size_t n;                     /* at most eight are looked at */
    const char *ca_cert;          /* as in llm_session */
    int connect_ms, answer_ms;
};

/* Looks for a local server: GET {base}/models at each URL in parallel. When nobody listens, it returns at
 * once. Of the lists that come within connect_ms, the first in the order of base_urls wins; after that the
 * first one that comes, until answer_ms (a server that is busy computing may be slow to list its models).
 * Returns the index, with the name of the server's first model that is not for embeddings in *model (the
 * caller frees it), or -1. places, unless NULL, has n elements and receives what was found at each URL. */
int llm_discover(const struct llm_search *what, struct loop *loop, char **model, enum llm_place *places);

#endif
