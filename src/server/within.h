/* within.h - sandboxes within another one, for APIs where a sandbox has several interpreters: each has
 * variables and files of its own, all count as used when one of them is, and the outer one's end ends them.
 * They count as sandboxes. Which one is within which is in the name of its conversation, so that it outlives
 * us.
 */
#ifndef SERVER_WITHIN_H
#define SERVER_WITHIN_H

#include <stdbool.h>

struct error;
struct held;
struct json;
struct runners;

/* Is it within the sandbox of that id, or that one itself? */
bool within_is(const struct held *h, const char *id);
/* A new one; outer "": within none. NULL with err, as runners_create(). */
struct held *within_create(struct runners *rs, const char *client, const char *outer, struct error *err);
/* Count all of them as used. The ids of those within outer, oldest first; the caller frees. */
struct json *within_use(struct runners *rs, const char *client, const char *outer);
/* End it and those within it. */
void within_stop(struct runners *rs, struct held *h);

#endif
