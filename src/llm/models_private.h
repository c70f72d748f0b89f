/* models_private.h - what the files of models.h share. */
#ifndef LLM_MODELS_PRIVATE_H
#define LLM_MODELS_PRIVATE_H

#include "llm/models.h"

struct json;

/* models_read.c: one entry of a list, whatever the service. False: it is none for us. */
bool models_read_entry(const struct json *entry, struct llm_model *out);
/* A new one at the end, nothing known of it yet; NULL at the cap. */
struct llm_model *models_add(struct llm_models *m, const char *id);
struct llm_model models_unknown(void);
bool models_id_good(const char *id);

/* models_kept.c */
void models_keep(const char *base_url, const struct llm_models *m);

#endif
