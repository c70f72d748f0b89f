/* exchange.h - runs one exchange with the service: body, transfer, answer, and its retries. Private
 * to llm. */
#ifndef LLM_EXCHANGE_H
#define LLM_EXCHANGE_H

#include <stdbool.h>

#include "wire/reply.h"
#include "llm/http.h"
#include "llm/llm.h"
#include "llm/retry.h"
#include "wire/request.h"

/* What was learnt about one endpoint and model. The key is made of the base URL, model and API as they were
 * configured. */
struct learnt_of {
    char *key;
    struct llm_learnt learnt;
};

struct llm {
    struct llm_options o;      /* its strings are owned */
    struct llm_session s;      /* ca_cert and kept are owned; the files are opened by llm_new */
    char *url, *origin, *auth; /* auth is the whole header, or NULL */
    bool loopback;
    enum model_api configured; /* o.api differs where the model turned out to need another */
    struct loop *loop;
    struct trace *trace, *record; /* each may be NULL */
    struct replay *replay;        /* used instead of http, or NULL */
    struct http *http;            /* made at the first request, so that libcurl loads late */
    struct learnt_of **all;       /* one for each that was asked in this session */
    size_t n_all;
    struct llm_learnt *learnt; /* points into all, at the one that is asked now; so does key */
    const char *key;
};

/* One exchange with the service, with its retries. */
struct exchange {
    struct llm *m;
    const struct llm_request *q;
    const struct llm_listener *l;
    bool stream; /* the next try asks for a stream */
    struct retry retry;
    /* results beside the reply */
    bool structured; /* a call came as structured data, in the API's own shape */
    bool from_block; /* the call is a fenced block */
};

/* Works as llm_ask does, with m, q and l taken from x. Adds to r's usage and requests, and replaces the rest
 * of r. */
int exchange_run(struct exchange *x, struct llm_reply *r, struct error *err);

/* Remembers for a day by which API this model can call tools. */
void llm_keep_tools(struct llm *m);
/* Remembers for a day that the service no longer has this model. */
void llm_keep_gone(struct llm *m);
/* Uses another API from here on. -1 with err when its URL cannot be made. */
int llm_use_api(struct llm *m, enum model_api api, struct error *err);

void exchange_notice(const struct exchange *x, bool detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
