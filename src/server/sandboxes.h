/* sandboxes.h - what other routes need of the sandboxes' own. */
#ifndef SERVER_SANDBOXES_H
#define SERVER_SANDBOXES_H

struct visit;

/* A link to a file of a sandbox, by its name in /mnt/data or that of a figure. It works without a token, until
 * the server ends. The caller frees. */
char *sandbox_file_url(const struct visit *q, const char *id, const char *name);

#endif
