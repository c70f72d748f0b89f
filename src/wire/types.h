/* types.h - what a request is made of, and what a reply is. Plain data without behaviour; strings are
 * borrowed unless it says otherwise. NULL, 0 and false mean "not set" unless it says otherwise.
 */
#ifndef WIRE_TYPES_H
#define WIRE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls/calls.h"
#include "calls/tool.h"
#include "chat/conversation.h"
#include "chat/prompts.h"

enum llm_api { LLM_CHAT_COMPLETIONS, LLM_RESPONSES, LLM_WORKERS_AI }; /* what is sent; see api.h */
enum llm_dialect { LLM_AUTO, LLM_NATIVE, LLM_BLOCKS };
enum llm_auth { LLM_BEARER, LLM_API_KEY_HEADER /* Azure classic: "api-key: KEY" */ };

/* How the effort is sent. */
enum llm_thinking {
    LLM_THINKING_EFFORT,    /* "reasoning_effort": ... */
    LLM_THINKING_NONE,      /* not at all */
    LLM_THINKING_TYPE,      /* "thinking": {"type": "enabled" or "disabled"} */
    LLM_THINKING_ADAPTIVE,  /* the same with "adaptive" or "disabled" */
    LLM_THINKING_ENABLE,    /* "enable_thinking": true or false */
    LLM_THINKING_ENABLED,   /* "reasoning": {"enabled": true or false} */
    LLM_THINKING_REASONING, /* "reasoning": {"effort": ...} */
};

/* Which reasoning goes back to the endpoint and model that it came from. */
enum llm_reasoning_back {
    LLM_BACK_CALLS,  /* that beside calls */
    LLM_BACK_ALWAYS, /* that of every reply */
    /* the same, and a blank where there was none: a message without is refused (DeepSeek V4) */
    LLM_BACK_REQUIRED,
    LLM_BACK_NEVER,
    /* what came as <think> in the text goes back so, until the question is answered */
    LLM_BACK_TEXT,
};

/* max_tokens, max_completion_tokens, neither */
enum max_tokens_field { MAX_TOKENS_OLD, MAX_TOKENS_NEW, MAX_TOKENS_NONE };

/* One model at one endpoint, as the user, the provider's entry and the model's profile have it. */
struct llm_options {
    /* where */
    const char *provider; /* its name, for messages */
    const char *base_url; /* normally ends in /v1; the API's path is put behind it (before a ?query) */
    const char *model;
    enum llm_api api;
    const char *api_key;  /* NULL: no credentials are sent */
    const char *key_name; /* the variable or source the key came from (or would come from), for messages */
    enum llm_auth auth;   /* how the key is sent */
    bool chat;            /* errors are read in the chat, which has commands of its own (base/remedy.h) */

    /* what is asked for */
    enum llm_dialect dialect;
    bool stream;
    int max_tokens;               /* what the user asked for; 0: the profile's */
    int profile_max_tokens;       /* the model profile's default; 0: 4096 */
    int context;                  /* window in tokens; 0: unknown, learnt from the server's error */
    double temperature;           /* < 0: not sent */
    const char *reasoning_effort; /* NULL: not sent */
    bool reasoning_summary; /* the user wants to see the reasoning: demand it where it is given on demand */

    /* what the model is like */
    const char *efforts; /* those that it knows, joined by |; another one is replaced by the nearest */
    enum llm_thinking thinking;
    enum llm_reasoning_back reasoning_back;
    bool no_reasoning;   /* it is known not to reason: nothing about it is asked for */
    bool output_answers; /* in blocks the output of its code is its answer */
    int repair_tokens;   /* a question that has cost so much gets no more repairs; 0: no limit */

    /* what the service is like */
    bool send_max_tokens;       /* send a limit; a loopback base_url is treated so in any case */
    bool max_completion_tokens; /* the name of max_tokens there */
    /* names of models are the user's own (Azure's deployments): another one in a reply is no news */
    bool any_model;
    bool signatures;  /* a call without Google's thought signature is refused: send the documented stand-in */
    const char *body; /* a JSON object: what else goes into every request */
};

/* What was learnt in this session about one endpoint and model. Only llm writes it. */
struct llm_learnt {
    int context; /* the window in tokens */
    enum llm_dialect dialect;
    bool native_seen;                                  /* it made a native call */
    enum llm_api api;                                  /* it is asked by this one */
    bool no_responses;                                 /* it names /v1/responses, but has none */
    bool no_stream, no_stream_options, no_temperature; /* refused; as the next two */
    bool no_encrypted, no_summary;                     /* of the Responses API */
    bool no_items;                                     /* it takes back no reasoning that it gave */
    size_t stale;           /* turns before this one have reasoning that it takes back no longer */
    bool thoughts_required; /* as LLM_BACK_REQUIRED */
    bool thoughts_unopened; /* its thoughts end with a tag and begin with none: text waits for that */
    bool effort_known;      /* effort stands for what was asked, which was refused or cannot be sent */
    const char *effort;     /* a literal, or NULL */
    enum max_tokens_field max_tokens_field;
    const char *kept;             /* the dialect that is kept for other sessions, a literal; or NULL */
    bool told_model, told_effort; /* the user knows that another model answers; that no effort is sent */
};

struct llm_request {
    const struct conversation *conversation; /* conversation_check() is run on it first */
    const struct prompts *prompts;           /* placeholders filled in; NULL texts are not used; or NULL */
    /* said before the conversation in blocks: questions, each with the block that answers it; NULL: none */
    const char *examples;
    struct llm_toolset tools;
    bool vary; /* the model repeated itself: where a low temperature is sent, send a higher one this once */
    /* the text of an unsure reply, which is in no conversation: whether its code is to be run. A call is
     * yes, all else no. NULL: an ordinary ask */
    const char *about;
};

struct llm_listener { /* all may be NULL */
    void *ctx;
    void (*text)(void *ctx, const char *text, size_t len); /* valid UTF-8, not scrubbed */
    void (*reasoning)(void *ctx, const char *text, size_t len);
    void (*unsaid)(void *ctx);    /* the text so far was reasoning; what comes now is the reply */
    void (*restarted)(void *ctx); /* a retry begins after some reasoning (never text) was passed on */
    void (*notice)(void *ctx, bool detail, const char *line); /* detail: only for --verbose */
};

enum llm_finish { LLM_FINISH_STOP, LLM_FINISH_LENGTH, LLM_FINISH_CALLS, LLM_FINISH_FILTER, LLM_FINISH_OTHER };

struct llm_usage {
    int64_t input, output, reasoning; /* tokens, summed over the requests of this ask; -1 unknown */
    bool estimated;
};

struct llm_reply { /* owns all that it points to */
    char *text; /* without a block that was taken as a call and without thoughts; never NULL after success */
    char *reasoning, *reasoning_field;
    char *reasoning_items; /* for struct turn.reasoning_items */
    char *model;           /* that says that it answered */
    bool refusal;          /* the text is the service's refusal */
    bool unsure; /* it shows code, and nobody knows whether this model means it to be run: ask about it */
    struct llm_call *calls;
    size_t n_calls;
    enum llm_finish finish;
    bool endless;   /* finish is LENGTH because more text came than is kept, not by the service's limit */
    bool truncated; /* text was shown, then the connection was lost: no calls, text is what came */
    char *cause;    /* of that */
    struct llm_usage usage;
    unsigned requests; /* requests that got a reply; what the budget counts */
    double seconds;
};

void llm_reply_release(struct llm_reply *r); /* also of a zeroed one */

#endif
