/* replay.h - plays back the model's side of a recorded session: the file that --record (or --trace) wrote
 * stands in for the network. Each request must match the recorded one, with the same tools and the same
 * turns. Ids and the system prompt (which holds a date) may differ.
 */
#ifndef LLM_REPLAY_H
#define LLM_REPLAY_H

#include <stdbool.h>

#include "conversation/model.h"
#include "llm/http.h"

struct error;
struct replay;

#define REPLAY_FILE_MAX (64u << 20)

/* NULL with err (ERROR_USAGE). */
struct replay *replay_open(const char *path, struct error *err);
void replay_close(struct replay *p); /* NULL is fine too */
/* What was recorded. */
struct replay_head {
    char *model; /* the caller frees */
    enum model_api api;
    bool blocks; /* in the blocks dialect */
};
/* -1 with err. */
int replay_model(const char *path, struct replay_head *r, struct error *err);
/* Works as http_post does. ABORTED with err (ERROR_USAGE) when the run differs from the recording, or the
 * recording has ended. */
enum http_end replay_post(struct replay *p, const struct http_transfer *q, struct http_reply *reply,
                          struct error *err);

#endif
