/* within.h - sandboxes within another one, for APIs where a sandbox has several interpreters. Each is a
 * sandbox with variables and files of its own. All count as used when one of them is used, and they end
 * with the outer one. The name of its conversation tells within which one a sandbox is, so that the next
 * server knows it too.
 */
#ifndef SERVER_WITHIN_H
#define SERVER_WITHIN_H

#include <stdbool.h>

struct error;
struct lease;
struct json;
struct runners;

/* Is h within the sandbox with that id, or that sandbox itself? */
bool within_is(const struct lease *h, const char *id);
/* Makes a new sandbox within outer; "": within none. NULL with err, as runners_create(). */
struct lease *within_create(struct runners *rs, const char *client, const char *outer, struct error *err);
/* Counts outer and those within it as used. Returns the ids of those within it, oldest first. The caller
 * frees them. */
struct json *within_use(struct runners *rs, const char *client, const char *outer);
/* Ends h and those within it. */
void within_stop(struct runners *rs, struct lease *h);

#endif
