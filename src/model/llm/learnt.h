/* learnt.h - remembers for a day what was found out about a model at an endpoint. The facts are in a small
 * file in the cache folder, which may be deleted at any time.
 *
 * A fact is a short word under a name ("dialect": "blocks"); the caller checks that it knows the word. A bad
 * file is never an error: nothing is known then, and the next fact that is stored writes the file afresh. A
 * disk that takes no data is not an error either.
 */
#ifndef LLM_LEARNT_H
#define LLM_LEARNT_H

/* path is the file; NULL means that nothing is known and nothing is kept. origin names the endpoint, model
 * and API (llm_origin). */
/* Returns NULL when the fact is not known or is too old. The caller frees it. */
char *learnt_load(const char *path, const char *origin, const char *fact);
void learnt_store(const char *path, const char *origin, const char *fact, const char *value);

#endif
