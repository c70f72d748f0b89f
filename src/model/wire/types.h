/* types.h - what requests and replies are made of. Plain data without behaviour. Unless a comment says
 * otherwise, strings are borrowed, and NULL, 0 and false mean "not set".
 */
#ifndef WIRE_TYPES_H
#define WIRE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls/calls.h"
#include "calls/tool.h"
#include "conversation/conversation.h"
#include "conversation/model.h"
#include "conversation/phase.h"
#include "conversation/prompts.h"
#include "conversation/usage.h"

/* max_tokens, max_completion_tokens, neither */
enum max_tokens_field { MAX_TOKENS_OLD, MAX_TOKENS_NEW, MAX_TOKENS_NONE };

/* One model at one endpoint, as described by the user, the provider's entry and the model's profile. */
struct llm_options {
    /* where */
    const char *provider; /* its name, for messages */
    const char *base_url; /* normally ends in /v1; the API's path is appended to it (before a ?query) */
    const char *model;
    enum model_api api;
    const char *api_key; /* NULL: no credentials are sent */
    /* the variable or source that the key came from, or would come from; for messages */
    const char *key_name;
    bool key_header; /* the key is sent as "api-key: KEY" (Azure classic) */
    bool chat;       /* errors are read in the chat, which has its own commands (base/remedy.h) */

    /* what is asked for */
    bool stream;
    int max_tokens;               /* of a reply; 0: facts.max_tokens, or 4096 */
    const char *reasoning_effort; /* NULL: not sent */
    /* the user wants to see the reasoning: ask for it where a service sends it only on demand */
    bool reasoning_summary;

    struct model_facts facts; /* what the user says of the model goes before its profile */
    struct service_facts service;
};

/* What was learnt in this session about one endpoint and model. Only llm writes it. */
struct llm_learnt {
    char *key;   /* which: under this it is kept (llm/learnt.h) */
    int context; /* the window in tokens */
    enum dialect dialect;
    bool native_seen;   /* the model made a native call */
    enum model_api api; /* the API by which it is asked */
    /* the service names /v1/responses, but does not have it */
    bool no_responses;
    bool gone;        /* the service no longer has the model */
    bool tools_found; /* how this model calls tools was found out, and no good reply has confirmed it yet */
    bool no_stream, no_stream_options, no_temperature; /* refused by the service, as are the next two */
    bool no_encrypted, no_summary;                     /* fields of the Responses API */
    bool no_images;         /* the service refuses them, whatever the profile says */
    bool few_images;        /* it refused many of them in one request */
    bool no_items;          /* the service refuses reasoning that it gave itself */
    size_t stale;           /* the service no longer takes back the reasoning of turns before this one */
    bool thoughts_required; /* as BACK_REQUIRED */
    bool thoughts_unopened; /* its thoughts end with a tag but begin with none, so text waits for that tag */
    bool effort_known;      /* effort replaces what was asked, which was refused or cannot be sent */
    const char *effort;     /* a literal, or NULL */
    enum max_tokens_field max_tokens_field;
    const char *kept; /* the dialect that is remembered for other sessions, a literal; or NULL */
    /* the user was told that another model answers, or that what they asked for is not sent */
    bool told_model, told_effort, told_temperature;
};

struct llm_request {
    const struct conversation *conversation; /* llm_ask runs conversation_check() on it first */
    /* with placeholders filled in; NULL texts are not used; may be NULL as a whole */
    const struct prompts *prompts;
    /* blocks dialect: questions before the conversation, each with the block that answers it; NULL: none */
    const char *examples;
    struct llm_toolset tools;
    bool vary; /* the model repeated itself: where a low temperature is sent, send a higher one this once */
    /* The text of a reply that is not in the conversation, such as an unsure one: asks the model whether its
     * code is to be run. A call means yes, anything else no. NULL: an ordinary request. */
    const char *about;
    /* What is said to that text in place of the question whether code is to be run; or NULL. The reply is an
     * ordinary one then. */
    const char *objection;
};

struct llm_listener { /* any of them may be NULL */
    void *ctx;
    void (*text)(void *ctx, const char *text, size_t len); /* valid UTF-8, not scrubbed */
    void (*reasoning)(void *ctx, const char *text, size_t len);
    void (*retracted)(void *ctx); /* the text so far was reasoning; the reply begins now */
    void (*restarted)(void *ctx); /* a retry begins after some reasoning (never text) was passed on */
    void (*notice)(void *ctx, bool detail, const char *line); /* detail: only for --verbose */
    /* what is waited for: ASKING, LOADING, RETRYING, CODING, or WRITING where the text is held back */
    void (*phase)(void *ctx, const struct phase_now *now);
};

enum llm_finish { LLM_FINISH_STOP, LLM_FINISH_LENGTH, LLM_FINISH_CALLS, LLM_FINISH_FILTER, LLM_FINISH_OTHER };

struct llm_usage {
    /* tokens, summed over the requests of this llm_ask; -1: unknown */
    int64_t input, output, reasoning, cached;
    bool estimated;
};
#define LLM_USAGE_UNKNOWN     \
    {                         \
        -1, -1, -1, -1, false \
    }

struct llm_reply { /* owns everything it points to */
    char *text; /* without thoughts and without a block that was taken as a call; never NULL after success */
    char *reasoning, *reasoning_field;
    char *reasoning_items; /* for struct turn.reasoning_items */
    char *model;           /* the model that says that it answered */
    bool refusal;          /* the text is the service's refusal */
    bool unsure; /* it shows code, and nobody knows whether this model means it to be run: ask about it */
    struct llm_call *calls;
    size_t n_calls;
    enum llm_finish finish;
    /* finish is LENGTH because more text came than is kept, not because of the service's limit */
    bool endless;
    bool truncated; /* the connection was lost after text was shown: no calls, and text is what came */
    char *cause;    /* why it is truncated */
    struct llm_usage usage;
    bool streamed;     /* it came as a stream of events, not as one document */
    unsigned requests; /* requests that got a reply, which is what the budget counts */
    double seconds;
};

void llm_reply_release(struct llm_reply *r); /* a zeroed one is fine too */

#endif
