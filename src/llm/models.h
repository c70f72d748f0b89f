/* models.h - what a service says of its models: GET /models in the shapes that services use, kept for a day.
 *
 * Everything in a list is hostile: bytes, models and names have caps, reading is linear, and what is shown
 * of it must be scrubbed. Names from outside that hold a control character are left out.
 */
#ifndef LLM_MODELS_H
#define LLM_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "llm/llm.h"

#define MODELS_BYTES (4u << 20) /* of a list; OpenRouter's has somewhat over one MiB */
/* of what nobody asked for: whatever listens here may cost 150 ms at most */
#define MODELS_BYTES_LOCAL  (256u << 10)
#define MODELS_MAX          10000
#define MODELS_ID_MAX       200   /* bytes of a name */
#define MODELS_KEPT_S       86400 /* how long a list is believed */
#define MODELS_SMALL_WINDOW 16384 /* tokens: with less an agent forgets the beginning of its work */
#define MODELS_WARN_DAYS    60    /* before a model ends */

enum llm_server {
    LLM_SERVER_OTHER,
    LLM_SERVER_OLLAMA,
    LLM_SERVER_LLAMA_CPP,
    LLM_SERVER_LM_STUDIO,
    LLM_SERVER_VLLM,
};

struct llm_model {
    char *id;
    int context, max_output;                        /* tokens; 0: not told */
    int tools;                                      /* it takes tools: 1, 0; -1: not told */
    double price_input, price_cached, price_output; /* dollars a million tokens; < 0: not told */
    char ends[11];                                  /* YYYY-MM-DD, or "" */
    char *replaced_by;                              /* or NULL */
    /* not in memory yet, so nobody knows the window that it will get (Ollama, LM Studio); context is 0 */
    bool unloaded;
    enum llm_server server; /* who runs it, as far as llm_models_ask_local() could tell */
};

struct llm_models {
    struct llm_model *v;
    size_t n;
    enum llm_server server; /* as far as the list or its address tells */
};

struct llm_models_query {
    const char *base_url, *api_key; /* api_key NULL: none is sent */
    const char *ca_cert;            /* as in llm_options */
    const char *key_name;           /* for messages, or NULL */
    enum llm_auth auth;
    int timeout_ms; /* for all of it */
    int max_age_s;  /* a list that was kept no longer ago is taken instead; 0: ask anew */
};

/* Read a list, whatever its shape. 0, also when it is empty; -1 with err (ERROR_PROTOCOL) when it is none. */
int llm_models_parse(const char *text, size_t len, struct llm_models *out, struct error *err);
void llm_models_release(struct llm_models *m); /* also of a zeroed one */
void llm_model_release(struct llm_model *m);

/* Exact; Ollama's ":latest" may be left out. */
const struct llm_model *llm_models_find(const struct llm_models *m, const char *id);
/* For a model that is gone: the one that it says replaces it, else the likeliest of the same family; NULL
 * when none is near. */
const struct llm_model *llm_models_nearest(const struct llm_models *m, const char *id);

/* The kept list if it is fresh, else GET, which is then kept. A server on this machine is asked for the
 * windows too. out is to be released after a failure as well. */
int llm_models_get(const struct llm_models_query *q, struct loop *loop, struct llm_models *out,
                   struct error *err);
/* What was kept, no older than max_age_s; never asks. -1: nothing. */
int llm_models_cached(const char *base_url, int max_age_s, struct llm_models *out);
/* Ask a local server about one model within q->timeout_ms: above all the window that it really has now.
 * -1: it said nothing. */
int llm_models_ask_local(const struct llm_models_query *q, const char *id, struct loop *loop,
                         struct llm_model *out);

/* Whole days from now until the model ends, < 0 after that; false when no end is told. */
bool llm_model_days_left(const struct llm_model *m, time_t now, int *days);
/* Is this the first time today (UTC) that this is asked about that model there? Remembered beside the kept
 * list. */
bool llm_models_first_today(const char *base_url, const char *id, time_t now);

#endif
