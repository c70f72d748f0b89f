/* learnt.h - what was found out about a model at an endpoint, kept for a day: a small file in the cache
 * folder, never needed.
 *
 * A fact is a short word under a name ("dialect": "blocks"); whoever asks checks that it is one it knows.
 * What is wrong with the file is never an error: then nothing is known, and the next fact that is stored
 * makes it anew. Nor is a disk that takes nothing.
 */
#ifndef LLM_LEARNT_H
#define LLM_LEARNT_H

/* path: the file, NULL: nothing is known and nothing is kept. origin: which endpoint, model and API
 * (llm_origin). */
/* the caller frees; NULL: not known, or not any more */
char *learnt_load(const char *path, const char *origin, const char *fact);
void learnt_store(const char *path, const char *origin, const char *fact, const char *value);

#endif
