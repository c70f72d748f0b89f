/* replay.h - play the model's side of a recorded session back: the file that --record (or --trace) wrote
 * takes the place of the network. Each request must fit the recorded one: the same tools, the same turns. Ids
 * and the system prompt (it has a date) may differ.
 */
#ifndef LLM_REPLAY_H
#define LLM_REPLAY_H

#include <stdbool.h>

#include "llm/http.h"
#include "llm/llm.h"

struct error;
struct replay;

#define REPLAY_FILE_MAX (64u << 20)

/* NULL with err (ERROR_USAGE). */
struct replay *replay_open(const char *path, struct error *err);
void replay_close(struct replay *p); /* also NULL */
/* Which model it was, by which API, and whether it was asked in the dialect of blocks. The caller frees
 * *model. -1 with err. */
int replay_model(const char *path, char **model, enum llm_api *api, bool *blocks, struct error *err);
/* As http_post. ABORTED with err (ERROR_USAGE) where the run parts from the recording, or the recording is
 * over. */
enum http_end replay_post(struct replay *p, const struct http_request *q, struct http_reply *reply,
                          struct error *err);

#endif
