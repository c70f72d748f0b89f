/* sandboxes.h - what other routes need of the sandboxes' own. */
#ifndef SERVER_SANDBOXES_H
#define SERVER_SANDBOXES_H

#include <stdbool.h>

struct held;
struct visit;

/* file_link.c: a link to a file of a sandbox, by its name in /mnt/data or that of a figure. It works without
 * a token, until the server ends. The caller frees. */
char *sandbox_file_url(const struct visit *q, const char *id, const char *name);
/* Is q's a link to that file which was made here? */
bool file_link_good(const struct visit *q, const char *id, const char *name);

/* The sandbox of that id. Answers 404 or 410 and returns NULL if there is none; where it has expired and
 * the body says "recreate": true, a new one, with *recreated. */
struct held *sandbox_of(struct visit *q, const char *id, bool *recreated);

#endif
