/* learnt.h - what was found out about models at endpoints. A session has one struct llm_learnt for each model
 * that it asked. What other sessions need not find out again is kept for a day in a small file in the cache
 * folder, which may be deleted at any time. exchange.c and adapt.c find things out: they write them into the
 * struct, and have them kept here.
 *
 * In the file a fact is a short word under a name ("dialect": "blocks"); the caller checks that it knows the
 * word. A bad file is never an error: nothing is known then, and the next fact that is stored writes the file
 * afresh. A disk that takes no data is not an error either.
 */
#ifndef LLM_LEARNT_H
#define LLM_LEARNT_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/types.h"

/* In each of these path is the file; NULL means that nothing is known and nothing is kept. */

struct learnt_all {
    struct llm_learnt **v;
    size_t n;
};

/* What the user or the profile says of the model, else what was learnt earlier in this session, else what
 * another session kept. Belongs to all. */
struct llm_learnt *learnt_about(struct learnt_all *all, const struct llm_options *o, const char *path);
void learnt_release(struct learnt_all *all);
/* The endpoint, model and API, as they are shown; also struct turn.origin. The caller frees it. */
char *learnt_key(const struct llm_options *o);

/* The service said within the last day that it no longer has this model. */
bool learnt_is_gone(const struct llm_options *o, const char *path);
/* The endpoint has no Responses API, by which alone this model calls tools while it thinks: from here on it
 * is told not to think, or, if it knows no effort none, asked to write code in blocks. */
void learnt_without_responses(struct llm_learnt *k, const struct model_facts *f);

/* Each keeps one fact for other sessions: how the model calls, unless it need not be found out; by which API
 * it can call tools; that the service no longer has it. */
void learnt_keep_dialect(const char *path, const struct llm_options *o, struct llm_learnt *k);
void learnt_keep_tools(const char *path, const struct llm_learnt *k);
void learnt_keep_gone(const char *path, struct llm_learnt *k);

/* One fact in the file, under such a key. NULL when it is not known or is too old. The caller frees it. */
char *learnt_load(const char *path, const char *key, const char *fact);
void learnt_store(const char *path, const char *key, const char *fact, const char *value);

#endif
