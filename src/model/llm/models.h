/* models.h - what a service says of its models: GET /models in the shapes that services use, kept for a day.
 *
 * Everything in a list is hostile: the size of the body, the number of models and the length of names have
 * caps, reading is linear, and whatever is shown must be scrubbed. Models whose names hold a control
 * character are left out.
 */
#ifndef LLM_MODELS_H
#define LLM_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct error;
struct loop;

#define MODELS_BYTES (4u << 20) /* of one list; OpenRouter's has somewhat over 1 MiB */
/* The cap for a list that the user did not ask for: whatever listens on this machine may cost 150 ms at most.
 */
#define MODELS_BYTES_LOCAL  (256u << 10)
#define MODELS_MAX          10000
#define MODELS_ID_MAX       200   /* bytes of a name */
#define MODELS_KEPT_S       86400 /* seconds for which a list is believed */
#define MODELS_SMALL_WINDOW 16384 /* tokens; with fewer an agent forgets how its work began */
#define MODELS_WARN_DAYS    60    /* days before a model ends when a warning begins */

enum llm_server {
    LLM_SERVER_OTHER,
    LLM_SERVER_OLLAMA,
    LLM_SERVER_LLAMA_CPP,
    LLM_SERVER_LM_STUDIO,
    LLM_SERVER_VLLM,
};

struct llm_model {
    char *id;
    int context, max_output;                        /* tokens; 0: not stated */
    int tools;                                      /* whether it takes tools: 1 yes, 0 no, -1 not stated */
    double price_input, price_cached, price_output; /* dollars per million tokens; < 0: not stated */
    char ends[11];                                  /* YYYY-MM-DD, or "" */
    char *replaced_by;                              /* or NULL */
    /* It is not in memory yet, so nobody knows the window that it will get (Ollama, LM Studio); context is
     * then 0. */
    bool unloaded;
    enum llm_server server; /* which program serves it, as far as llm_models_ask_local() could tell */
};

struct llm_models {
    struct llm_model *v;
    size_t n;
    enum llm_server server; /* as far as the list or its address tells */
};

struct llm_models_query {
    const char *base_url, *api_key; /* api_key NULL: no key is sent */
    const char *ca_cert;            /* as in llm_session */
    const char *key_name;           /* for messages, or NULL */
    bool key_header;                /* as in llm_options */
    int timeout_ms;                 /* for everything together */
    int max_age_s;                  /* a kept list no older than this is used instead; 0: always ask */
};

/* Reads a list in any of the known shapes. 0, also for an empty list; -1 with err (ERROR_PROTOCOL) when it is
 * not a list of models. */
int llm_models_parse(const char *text, size_t len, struct llm_models *out, struct error *err);
void llm_models_release(struct llm_models *m); /* a zeroed one is fine too */
void llm_model_release(struct llm_model *m);

/* The first that is not for embeddings, if there is one: LM Studio always lists such a model, which cannot
 * chat. NULL: the list is empty. */
const char *llm_models_first(const struct llm_models *m);
/* Finds a model by its exact name; Ollama's ":latest" may be left out. */
const struct llm_model *llm_models_find(const struct llm_models *m, const char *id);
/* For a model that is gone: the one that its entry names as its replacement, else the most similar one of the
 * same family, NULL when there is none. */
const struct llm_model *llm_models_nearest(const struct llm_models *m, const char *id);

/* Takes the kept list if it is fresh, else asks with GET and keeps the answer. A server on this machine is
 * asked for the windows too. The caller releases out, after a failure as well. */
int llm_models_get(const struct llm_models_query *q, struct loop *loop, struct llm_models *out,
                   struct error *err);
/* Takes the kept list if it is no older than max_age_s, and never asks. -1: there is none. */
int llm_models_cached(const char *base_url, int max_age_s, struct llm_models *out);
/* Asks a local server about one model within q->timeout_ms, above all for the window that it really has now.
 * -1: the server said nothing. */
int llm_models_ask_local(const struct llm_models_query *q, const char *id, struct loop *loop,
                         struct llm_model *out);

/* Sets *days to the whole days from now until the model ends, < 0 after its end. False when no end is stated.
 */
bool llm_model_days_left(const struct llm_model *m, time_t now, int *days);
/* True when this is the first call of today (UTC) for that model at that URL. This is remembered beside the
 * kept list. */
bool llm_models_first_today(const char *base_url, const char *id, time_t now);

#endif
