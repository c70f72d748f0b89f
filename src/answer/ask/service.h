/* service.h - the model service that is asked: which model of it (model.c), and what it says of that model
 * itself (known.c). Both may ask servers.
 */
#ifndef ASK_SERVICE_H
#define ASK_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"
#include "config/endpoint.h"

struct config;
struct llm_model;
struct llm_models;
struct llm_models_query;
struct llm_options;
struct loop;
struct provider;

/* The service that a question goes to, for known.c and model.c. Everything is borrowed. */
struct service {
    struct config *config;
    struct endpoint *endpoint;
    struct loop *loop;
    bool chat; /* the user can change the model with /model */
};

/* known.c: what the service says of the model replaces what is built in, and yields to what the user
 * said. */
struct known_model {
    bool waits_for_prompt; /* set for a chat: a server on this machine is asked when the prompt stands */
    bool waits_for_window; /* the model is not in memory yet: call known_window() after its first reply */
    struct argv notices;   /* warnings, one line each; show and then drop them */
};
void known_apply(const struct service *s, struct llm_options *o, struct known_model *k);
/* Returns false if the user set the window. */
bool known_merge(const struct config *c, const struct llm_model *m, struct llm_options *o);
/* Returns 0 if the window is still unknown. */
int known_window(const struct endpoint *e, const char *model, struct known_model *k);
/* Is the model in the cached list? 1 or 0; -1: no list is cached. */
int known_listed(const struct endpoint *e, const char *model);
/* The names of the models, except those that cannot be printed as they are. */
void known_names(const struct endpoint *e, struct argv *out);
/* The model is gone: find the nearest name in the service's list. */
bool known_nearest(const struct service *s, const char *model, char *id, size_t size);
/* q points into e */
void models_query(const struct endpoint *e, int timeout_ms, int max_age_s, struct llm_models_query *q);

/* model.c: the model of an agent's definition, unless that is NULL or the user has named one. */
void model_prefer(struct endpoint *e, const char *model);
/* Decide on the model and the endpoint; may ask local servers for their lists. The caller owns
 * *model and *notice; notice gets one line if something was found that nobody named. */
int model_settle(const struct service *s, char **model, char **notice, struct error *err);

/* For commands that need an endpoint but no model: */
/* The one in the service's list that would be asked; NULL: none is known, or it is not in the list. Points
 * into m. */
const char *model_in_list(const struct endpoint *e, const struct llm_models *m);
#define LOCAL_MAX 16
struct local_place {
    const struct provider *provider;
    const char *url;
};
/* where to look for model servers on this machine */
size_t local_places(const struct config *c, struct local_place v[LOCAL_MAX]);
/* fetches the key and finds the server */
int endpoint_ready(struct endpoint *e, struct loop *loop, struct error *err);
/* The error that tells how to get a model. looked: "" or where the search was. */
int none_configured(const char *looked, struct error *err);

/* The service no longer has the model. Returns what to ask instead, from the provider's list, or NULL with
 * advice for the user (possibly empty). */
const char *model_after(const struct service *s, const char *model, char *advice, size_t size);

#endif
