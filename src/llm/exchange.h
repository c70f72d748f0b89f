/* exchange.h - one question put to the service: body, transfer, answer, and the retries of WIRE 6. Private to
 * src/llm. */
#ifndef LLM_EXCHANGE_H
#define LLM_EXCHANGE_H

#include <stdbool.h>

#include "wire/reply.h"
#include "llm/http.h"
#include "llm/llm.h"
#include "wire/request.h"

/* What was learnt in this session about one endpoint and model. */
struct learnt {
    char *key;   /* base URL, model and API as they were configured */
    int context; /* the window in tokens, 0 unknown */
    enum llm_dialect dialect;
    bool native_seen;  /* it made a native call */
    enum llm_api api;  /* it is asked by this one */
    bool no_responses; /* it names /v1/responses, but has none */
    bool no_stream, no_stream_options, no_temperature, no_encrypted, no_summary;
    bool no_items;          /* it takes back no items at all */
    size_t stale;           /* turns before this one have items that it takes back no longer */
    bool thoughts_required; /* as LLM_BACK_REQUIRED */
    /* its thoughts end with a tag and begin with none: text waits for that */
    bool thoughts_unopened;
    /* effort stands for what was asked, which was refused or cannot be sent */
    bool effort_known;
    const char *effort; /* a literal, or NULL */
    enum max_tokens_field max_tokens_field;
    const char *kept; /* the dialect that is kept for other sessions, a literal; or NULL */
    /* the user knows that another model answers; that no effort is sent */
    bool told_model, told_effort;
};

struct llm {
    struct llm_options o;      /* strings owned */
    char *url, *origin, *auth; /* auth: the whole header, or NULL */
    bool loopback;
    struct loop *loop;
    struct trace *trace, *record; /* or NULL */
    struct replay *replay;        /* in the place of http, or NULL */
    struct http *http;            /* made at the first request, so that libcurl loads late */
    struct learnt learnt;         /* about the endpoint and model that are asked now */
    struct learnt *others;        /* about those that were asked before in this session */
    size_t n_others;
    char *kept_file; /* of learnt.h, or NULL */
};

struct exchange {
    const struct llm_request *q;
    const struct llm_listener *l;
    const char *nudged_text; /* see request.h */
    /* results beside the reply */
    bool structured; /* a call came as the API has them */
    bool from_block; /* the call is a fenced block */
};

/* As llm_ask, for one request with its retries. usage and requests of r are added to, the rest is replaced.
 */
int exchange_run(struct llm *m, struct exchange *x, struct llm_reply *r, struct error *err);

/* Keep for a day where this model calls tools. */
void llm_keep_tools(struct llm *m);
/* Keep for a day that the service has this model no longer. */
void llm_keep_gone(struct llm *m);
/* Ask by another API from here on. -1 with err: the URL cannot be made. */
int llm_use_api(struct llm *m, enum llm_api api, struct error *err);

void exchange_notice(const struct llm_listener *l, bool detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
