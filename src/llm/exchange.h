/* exchange.h - one question put to the service: body, transfer, answer, and the retries of WIRE 6. Private to src/llm; llm.c puts
 * exchanges together to a reply (the nudge makes two).
 */
#ifndef LLM_EXCHANGE_H
#define LLM_EXCHANGE_H

#include <stdbool.h>

#include "llm/answer.h"
#include "llm/http.h"
#include "llm/llm.h"
#include "llm/request.h"

struct llm {
    struct llm_options o;               /* strings owned */
    char *url, *origin, *auth;          /* auth: the whole header, or NULL */
    bool loopback;
    struct loop *loop;
    struct trace *trace, *record;       /* or NULL */
    struct replay *replay;              /* in the place of http, or NULL */
    struct http *http;                  /* made at the first request, so that libcurl loads late */
    /* learnt in this session about this endpoint and model */
    int context;
    enum llm_dialect dialect;
    bool native_seen;                   /* it made a native call */
    bool no_stream, no_stream_options, no_reasoning_effort, no_temperature, no_items, no_encrypted, no_summary;
    bool empty_thoughts;
    bool thoughts_unopened;             /* its thoughts end with a tag and begin with none: text waits for that */
    enum max_tokens_field max_tokens_field;
    struct learnt *others;              /* the same about those that were asked before in this session */
    size_t n_others;
};

struct exchange {
    const struct llm_request *q;
    const struct llm_listener *l;
    const char *nudged_text;            /* see request.h */
    /* results beside the reply */
    bool structured;                    /* a call came as the API has them */
    bool from_block;                    /* the call is a fenced block */
};

/* As llm_ask, for one request with its retries. usage and requests of r are added to, the rest is replaced. */
int exchange_run(struct llm *m, struct exchange *x, struct llm_reply *r, struct error *err);

void exchange_notice(const struct llm_listener *l, bool detail, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
