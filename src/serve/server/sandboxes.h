/* sandboxes.h - what other routes use of those for sandboxes. */
#ifndef SERVER_SANDBOXES_H
#define SERVER_SANDBOXES_H

#include <stdbool.h>

struct lease;
struct http_request;

/* In file_link.c. Returns a link to a file of a sandbox, by its name in /mnt/data or the name of a figure.
 * The link works without a token until the server ends. The caller frees it. */
char *sandbox_file_url(const struct http_request *q, const char *id, const char *name);
/* Did the request come by such a link to that file? If so, it is now on behalf of the client whose link it
 * is. */
bool file_link_good(struct http_request *q, const char *id, const char *name);

/* Returns the sandbox with that id. If it has expired and the body says "recreate": true, *recreate is set,
 * for which the caller makes another one; recreate may be NULL. Otherwise NULL: there is none, and the
 * request was answered with 404 or 410. */
struct lease *sandbox_of(struct http_request *q, const char *id, bool *recreate);

#endif
