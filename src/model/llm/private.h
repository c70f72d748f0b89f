/* private.h - what the files of llm share: the model that is asked, and one exchange with its service. They
 * call each other in one direction only: exchange.c, adapt.c, llm.c, learnt.c.
 */
#ifndef LLM_PRIVATE_H
#define LLM_PRIVATE_H

#include <stdbool.h>

#include "llm/learnt.h"
#include "llm/llm.h"
#include "llm/retry.h"

struct llm {
    struct llm_options o;      /* its strings are owned, but for those of facts and service */
    struct llm_session s;      /* ca_cert and kept are owned; the files are opened by llm_new */
    char *url, *origin, *auth; /* auth is the whole header, or NULL */
    bool loopback;
    enum model_api configured; /* o.api differs where the model turned out to need another */
    struct loop *loop;
    struct trace *trace, *record; /* each may be NULL */
    struct replay *replay;        /* used instead of http, or NULL */
    struct http *http;            /* made at the first request, so that libcurl loads late */
    struct learnt_all all;        /* of each that was asked in this session */
    struct llm_learnt *learnt;    /* points into all, at the one that is asked now */
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

/* llm.c */
/* Uses another API from here on. -1 with err when its URL cannot be made. */
int llm_use_api(struct llm *m, enum model_api api, struct error *err);
void exchange_notice(const struct exchange *x, bool detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
