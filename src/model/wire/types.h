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
#include "conversation/phase.h"
#include "conversation/prompts.h"
#include "conversation/usage.h"

/* the API in which requests are sent; see api.h */
enum llm_api { LLM_CHAT_COMPLETIONS, LLM_RESPONSES, LLM_WORKERS_AI };
enum llm_dialect { LLM_AUTO, LLM_NATIVE, LLM_BLOCKS };
enum llm_auth { LLM_BEARER, LLM_API_KEY_HEADER /* Azure classic: "api-key: KEY" */ };

/* How the effort is sent. */
enum llm_thinking {
    LLM_THINKING_EFFORT,    /* "reasoning_effort": ... */
    LLM_THINKING_NONE,      /* it is not sent */
    LLM_THINKING_TYPE,      /* "thinking": {"type": "enabled" or "disabled"} */
    LLM_THINKING_ADAPTIVE,  /* the same with "adaptive" or "disabled" */
    LLM_THINKING_ENABLE,    /* "enable_thinking": true or false */
    LLM_THINKING_ENABLED,   /* "reasoning": {"enabled": true or false} */
    LLM_THINKING_REASONING, /* "reasoning": {"effort": ...} */
};

/* Which reasoning goes back to the endpoint and model that it came from. */
enum llm_reasoning_back {
    LLM_BACK_CALLS,  /* reasoning that came with calls */
    LLM_BACK_ALWAYS, /* the reasoning of every reply */
    /* the same, with a blank where there was none: a message without it is refused (DeepSeek V4) */
    LLM_BACK_REQUIRED,
    LLM_BACK_NEVER,
    /* Reasoning that came as <think> in the text goes back in that form until the question is answered. */
    LLM_BACK_TEXT,
};

/* max_tokens, max_completion_tokens, neither */
enum max_tokens_field { MAX_TOKENS_OLD, MAX_TOKENS_NEW, MAX_TOKENS_NONE };

/* One model at one endpoint, as described by the user, the provider's entry and the model's profile. */
struct llm_options {
    /* where */
    const char *provider; /* its name, for messages */
    const char *base_url; /* normally ends in /v1; the API's path is appended to it (before a ?query) */
    const char *model;
    enum llm_api api;
    const char *api_key; /* NULL: no credentials are sent */
    /* the variable or source that the key came from, or would come from; for messages */
    const char *key_name;
    enum llm_auth auth; /* how the key is sent */
    bool chat;          /* errors are read in the chat, which has its own commands (base/remedy.h) */

    /* what is asked for */
    enum llm_dialect dialect;
    bool stream;
    int max_tokens;               /* what the user asked for; 0: the profile's value */
    int profile_max_tokens;       /* the default of the model's profile; 0: 4096 */
    int context;                  /* window in tokens; 0: unknown until the server's error tells it */
    double temperature;           /* < 0: not sent */
    const char *reasoning_effort; /* NULL: not sent */
    /* the user wants to see the reasoning: ask for it where a service sends it only on demand */
    bool reasoning_summary;

    /* what the model is like */
    const char *efforts; /* the efforts that it knows, joined by |; any other is replaced by the nearest */
    const char *vllm_parser; /* what vLLM calls the parser of its tool calls */
    enum llm_thinking thinking;
    const char *thinking_off; /* what LLM_THINKING_TYPE and ADAPTIVE send for "disabled"; or NULL */
    enum llm_reasoning_back reasoning_back;
    bool no_temperature; /* it refuses any */
    bool vision;         /* it sees: images of the conversation are sent */
    bool no_reasoning;   /* it is known not to reason, so requests say nothing about reasoning */
    struct price price;  /* not known unless it says so */
    bool output_answers; /* in the blocks dialect the output of its code is its answer */
    int repair_tokens;   /* a question that has cost this many tokens gets no more repairs; 0: no limit */

    /* what the service is like */
    bool send_max_tokens;       /* send a limit; a loopback base_url gets one in any case */
    bool max_completion_tokens; /* max_tokens has this name there */
    bool own_names;  /* its names are the user's own, so a reply that names another is not worth a notice */
    bool signatures; /* it refuses a call without Google's thought signature: send the documented stand-in */
    bool result_images; /* images of a result go with it, not into a user message behind it */
    const char *body;   /* a JSON object with further members for every request */
};

/* What was learnt in this session about one endpoint and model. Only llm writes it. */
struct llm_learnt {
    int context; /* the window in tokens */
    enum llm_dialect dialect;
    bool native_seen; /* the model made a native call */
    enum llm_api api; /* the API by which it is asked */
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
    bool thoughts_required; /* as LLM_BACK_REQUIRED */
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
    /* The text of an unsure reply, which is not in the conversation: asks the model whether its code is to be
     * run. A call means yes, anything else no. NULL: an ordinary request. */
    const char *about;
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
