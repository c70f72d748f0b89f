/* exchange.h - one question put to the service: body, transfer, answer, and the retries of WIRE 6. Private to
 * src/llm. */
#ifndef LLM_EXCHANGE_H
#define LLM_EXCHANGE_H

#include <stdbool.h>

#include "wire/reply.h"
#include "llm/http.h"
#include "llm/llm.h"
#include "llm/retry.h"
#include "wire/request.h"

/* What was learnt about an endpoint and model, and which: base URL, model and API as they were configured. */
struct learnt_of {
    char *key;
    struct llm_learnt learnt;
};

struct llm {
    struct llm_options o;      /* strings owned */
    struct llm_session s;      /* ca_cert and kept owned; the files are opened */
    char *url, *origin, *auth; /* auth: the whole header, or NULL */
    bool loopback;
    enum llm_api configured; /* o.api is another one where the model was found to need it */
    struct loop *loop;
    struct trace *trace, *record; /* or NULL */
    struct replay *replay;        /* in the place of http, or NULL */
    struct http *http;            /* made at the first request, so that libcurl loads late */
    struct learnt_of **all;       /* all that were asked in this session */
    size_t n_all;
    struct llm_learnt *learnt; /* of the one that is asked now, in all; with key */
    const char *key;
};

/* One question put to the service, with its retries. */
struct exchange {
    struct llm *m;
    const struct llm_request *q;
    const struct llm_listener *l;
    bool stream; /* the next try asks for one */
    struct retry retry;
    /* results beside the reply */
    bool structured; /* a call came as the API has them */
    bool from_block; /* the call is a fenced block */
};

/* As llm_ask, with m, q and l set. usage and requests of r are added to, the rest is replaced. */
int exchange_run(struct exchange *x, struct llm_reply *r, struct error *err);

/* Keep for a day where this model calls tools. */
void llm_keep_tools(struct llm *m);
/* Keep for a day that the service has this model no longer. */
void llm_keep_gone(struct llm *m);
/* Ask by another API from here on. -1 with err: the URL cannot be made. */
int llm_use_api(struct llm *m, enum llm_api api, struct error *err);

void exchange_notice(const struct exchange *x, bool detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
