/* types.h - what a request is made of and what a reply is: options of an endpoint and its model, tools,
 * prompts, the reply. Plain data; strings are borrowed unless it says otherwise.
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
/* How the effort is sent: reasoning_effort; not at all; "thinking": {"type": "enabled" or "disabled"}, or
 * "adaptive" or "disabled"; "enable_thinking": true or false; "reasoning": {"enabled": true or false};
 * "reasoning": {"effort": ...}. */
enum llm_thinking {
    LLM_THINKING_EFFORT,
    LLM_THINKING_NONE,
    LLM_THINKING_TYPE,
    LLM_THINKING_ADAPTIVE,
    LLM_THINKING_ENABLE,
    LLM_THINKING_ENABLED,
    LLM_THINKING_REASONING,
};
/* Which of its thoughts go back to the endpoint and model that had them (chat completions). */
enum llm_reasoning_back {
    LLM_BACK_CALLS,  /* those beside calls */
    LLM_BACK_ALWAYS, /* those of every reply */
    /* the same, and a blank where there were none, for a message without is refused (DeepSeek V4) */
    LLM_BACK_REQUIRED,
    LLM_BACK_NEVER,
    /* what came as <think> in the text goes back so, until the question is answered */
    LLM_BACK_TEXT,
};
enum llm_auth { LLM_BEARER, LLM_API_KEY_HEADER /* Azure classic: "api-key: KEY" */ };

#define LLM_ADVICE 200

struct llm_options {      /* strings are copied */
    const char *provider; /* its name, for messages */
    const char *base_url; /* normally ends in /v1; the API's path is put behind it (before a ?query) */
    const char *model;
    const char *api_key; /* NULL: no credentials are sent */
    const char *ca_cert; /* a file of certificates to trust; NULL: as curl's variables have it */
    /* the variable or source the key came from (or would come from), for messages */
    const char *key_name;
    enum llm_auth auth;
    enum llm_api api;
    enum llm_dialect dialect;
    bool stream;
    /* the provider's entry says so; a loopback base_url is treated so in any case */
    bool send_max_tokens;
    int max_tokens;               /* what the user asked for; 0: the profile's */
    int profile_max_tokens;       /* the model profile's default; 0: 4096 */
    int context;                  /* window in tokens; 0: unknown, learnt from the server's error */
    double temperature;           /* < 0: not sent */
    bool output_answers;          /* the profile says that in blocks the output of its code is its answer */
    const char *reasoning_effort; /* NULL: not sent */
    /* those that the model knows, joined by |; NULL: unknown. Another one is replaced by the nearest */
    const char *efforts;
    enum llm_thinking thinking;
    enum llm_reasoning_back reasoning_back;
    bool max_completion_tokens; /* the name of max_tokens there */
    /* its names of models are the user's own (Azure's deployments): another one in a reply is no news */
    bool any_model;
    /* a call without Google's thought signature is refused: one that has none gets the documented stand-in */
    bool signatures;
    const char *body; /* a JSON object: what else goes into every request; or NULL */
    /* the user wants to see the reasoning: where it is only given on demand, it is demanded */
    bool reasoning_summary;
    /* errors are read in the chat, which has commands of its own (base/remedy.h) */
    bool chat;
    bool no_reasoning; /* the model is known not to reason: nothing about it is asked for */
    int connect_ms;    /* 0: 10,000 */
    int idle_ms;       /* no byte for so long ends a request; 0: 300,000 */
    int quiet_ms;      /* bytes that complete no event with content for so long end it; 0: 600,000 */
    int64_t deadline;  /* clock_ms() after which a request is given up with ERROR_LIMIT; 0: none */
    /* file that gets every request and reply, without secrets; of llm_new only, as the next two; NULL: none
     */
    const char *trace;
    const char *record; /* the same, from an empty file: for replay */
    const char *replay; /* a recorded file in the place of the network; nothing is sent */
    /* The service has this model no longer. True: next is what to ask instead (its strings may be borrowed),
     * after a line in said about it. False: it stays an error, with advice as its second line where that is
     * not empty. NULL: always an error. */
    bool (*gone)(void *ctx, const char *model, struct llm_options *next, char advice[LLM_ADVICE]);
    void *gone_ctx;
    /* file of what is found out about models (learnt.h); of llm_new only; NULL: nothing is kept */
    const char *kept;
    /* or NULL; set: it is given the body, nothing is sent, llm_ask ends with ERROR_CANCELLED */
    void (*unsent)(void *ctx, const char *body);
    void *unsent_ctx;
};

struct llm_request {
    const struct conversation *conversation; /* conversation_check() is run on it first */
    const struct prompts *prompts;           /* placeholders filled in; NULL texts are not used; or NULL */
    /* said before the conversation in blocks: questions, each with the block that answers it; NULL: none */
    const char *examples;
    struct llm_toolset tools;
    /* the model repeated itself: where a low temperature is sent, send a higher one this once */
    bool vary;
    /* the text of an unsure reply: whether its code is to be run. A call is yes, all else no. NULL: an
     * ordinary ask */
    const char *about;
};

struct llm_listener { /* all may be NULL */
    void *ctx;
    void (*text)(void *ctx, const char *text, size_t len); /* valid UTF-8, not scrubbed */
    void (*reasoning)(void *ctx, const char *text, size_t len);
    /* the text so far was reasoning; what comes now is the reply */
    void (*unsaid)(void *ctx);
    /* a retry begins after some reasoning (never text) was passed on */
    void (*restarted)(void *ctx);
    /* waits, retries, downgrades; detail: only for --verbose */
    void (*notice)(void *ctx, bool detail, const char *line);
};

enum llm_finish { LLM_FINISH_STOP, LLM_FINISH_LENGTH, LLM_FINISH_CALLS, LLM_FINISH_FILTER, LLM_FINISH_OTHER };

struct llm_usage {
    int64_t input, output, reasoning; /* tokens, summed over the requests of this ask; -1 unknown */
    bool estimated;
};

struct llm_reply {
    /* without the block that was taken as a call and without <think> parts; never NULL after success */
    char *text;
    char *reasoning, *reasoning_field; /* or NULL */
    char *reasoning_items;             /* for struct turn.reasoning_items, or NULL */
    char *model;                       /* that says that it answered, or NULL */
    bool refusal;                      /* the text is the service's refusal */
    /* it shows code, and whether this model means such code to be run is not known: ask about it */
    bool unsure;
    struct llm_call *calls;
    size_t n_calls;
    enum llm_finish finish;
    /* finish is LENGTH because more text came than is kept of a reply, not by the service's limit */
    bool endless;
    /* text was shown, then the connection was lost: no calls, text is what came */
    bool truncated;
    char *cause; /* of that; else NULL */
    struct llm_usage usage;
    unsigned requests; /* requests that got a reply; what the budget counts */
    double seconds;
};

void llm_reply_release(struct llm_reply *r); /* also of a zeroed one */

#endif
