/* model.h - what is known of a model and of the service that it is asked at. The configuration fills these
 * structs, from YAML (config/profile.h, config/provider.h) and the user's options; requests are made by them
 * (wire), and the agent looks at them. Plain data, held by value: the strings stay the configuration's, which
 * outlives everything that asks a model. NULL, 0 and false mean "not known" or "not so".
 */
#ifndef CONVERSATION_MODEL_H
#define CONVERSATION_MODEL_H

#include <stdbool.h>

#include "conversation/usage.h"

/* The words for each enum in YAML and options, in its order. */
#define MODEL_APIS     "chat_completions|responses|workers_ai"
#define DIALECTS       "auto|native|blocks"
#define THINKINGS      "effort|none|type|adaptive|enable_thinking|enabled|reasoning"
#define REASONING_BACK "calls|always|required|never|text"

#define EFFORTS "none|minimal|low|medium|high|xhigh|max"

/* The API in which requests are sent (wire/api.h). */
enum model_api { API_CHAT_COMPLETIONS, API_RESPONSES, API_WORKERS_AI };

/* How the model asks for code to be run: by tool calls, or as fenced blocks in its text. AUTO: it is found
 * out. */
enum dialect { DIALECT_AUTO, DIALECT_NATIVE, DIALECT_BLOCKS };

/* How the service wants to be told the effort, that is how long to think. */
enum thinking {
    THINKING_EFFORT,    /* "reasoning_effort": ... */
    THINKING_NONE,      /* it is not sent */
    THINKING_TYPE,      /* "thinking": {"type": "enabled" or "disabled"} */
    THINKING_ADAPTIVE,  /* the same with "adaptive" or "disabled" */
    THINKING_ENABLE,    /* "enable_thinking": true or false */
    THINKING_ENABLED,   /* "reasoning": {"enabled": true or false} */
    THINKING_REASONING, /* "reasoning": {"effort": ...} */
};

/* Which reasoning goes back to the endpoint and model that it came from. */
enum reasoning_back {
    BACK_CALLS,  /* reasoning that came with calls */
    BACK_ALWAYS, /* the reasoning of every reply */
    /* the same, with a blank where there was none: a message without it is refused (DeepSeek V4) */
    BACK_REQUIRED,
    BACK_NEVER,
    /* Reasoning that came as <think> in the text goes back in that form until the question is answered. */
    BACK_TEXT,
};

struct model_facts {
    enum dialect dialect;
    int context;         /* its window in tokens; 0: unknown until the server's error tells it */
    int max_tokens;      /* of a reply, where the user asks for no other limit; 0: unknown */
    double temperature;  /* < 0: none is sent */
    bool no_temperature; /* it refuses any */
    bool vision;         /* it sees: images of the conversation are sent */
    bool no_reasoning;   /* it is known not to reason, so requests say nothing about reasoning */
    const char *efforts; /* those that it knows, of EFFORTS or "default", joined by |; the nearest is sent */
    enum thinking thinking;
    const char *thinking_off; /* with THINKING_TYPE and ADAPTIVE: what it calls "disabled"; or NULL */
    enum reasoning_back reasoning_back;
    struct price price;
    int repair_tokens;       /* a question that has cost this many tokens gets no more repairs; 0: no limit */
    bool output_answers;     /* in blocks: what its code prints is the answer, where that is one short line */
    const char *vllm_parser; /* what vLLM calls the parser of its tool calls */
    /* the day on which the service takes it away, YYYY-MM-DD; what the service names instead */
    const char *ends, *replaced_by;
};

struct service_facts {
    bool send_max_tokens;       /* send a limit; a loopback base URL gets one in any case */
    bool max_completion_tokens; /* max_tokens has this name there */
    bool signatures;            /* it refuses a call without Google's thought signature */
    bool own_names;             /* models are called as the user named them there (Azure's deployments) */
    bool result_images;         /* images of a result go with it, not into a user message behind it */
    const char *body;           /* a JSON object: what else goes into every request */
};

#endif
