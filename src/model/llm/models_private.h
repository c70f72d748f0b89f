/* models_private.h - what the files behind models.h share. */
#ifndef LLM_MODELS_PRIVATE_H
#define LLM_MODELS_PRIVATE_H

#include "llm/models.h"

struct json;

/* In models_read.c: reads one entry of a list from any service. False: not a model that we can use. */
bool models_read_entry(const struct json *entry, struct llm_model *out);
/* Adds a model of which nothing else is known yet to the end. NULL when the list is full. */
struct llm_model *models_add(struct llm_models *m, const char *id);
struct llm_model models_unknown(void);
bool models_id_good(const char *id);

/* In models_kept.c. */
void models_keep(const char *base_url, const struct llm_models *m);

#endif
