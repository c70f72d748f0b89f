/* host_files.h - the folders of this machine that an agent may look at: those that the user named, and those
 * that the user allows when asked, once each. Only regular files and folders beneath them, by names that do
 * not begin with a dot; links are never followed (base/beneath.h). The model decides on every path, and a
 * file that it has read may have told it which.
 */
#ifndef AGENT_HOST_FILES_H
#define AGENT_HOST_FILES_H

#include <stdbool.h>

struct buf;
struct error;
struct host_files;

enum host_answer { HOST_NOBODY, HOST_INTERRUPTED, HOST_DENIED, HOST_ALLOWED };

/* ask: may this folder be looked at? HOST_NOBODY: there is nobody to ask. Or NULL. */
struct host_files *host_files_new(enum host_answer (*ask)(void *ctx, const char *folder), void *ctx);
void host_files_free(struct host_files *h);
/* Allow a folder; "~/" is the user's home. ERROR_USAGE: it cannot be opened, or is the root folder. */
int host_files_allow(struct host_files *h, const char *path, struct error *err);

struct host_found {
    int fd; /* for reading; the caller's */
    bool folder;
    char *path; /* absolute; the caller frees */
};
/* path: absolute, below "~/", or beneath one of the allowed folders. May ask. ERROR_SYSTEM: it is refused or
 * is not there, in words for model and user; ERROR_CANCELLED: interrupted while it asked. */
int host_files_open(struct host_files *h, const char *path, struct host_found *out, struct error *err);

/* Append what is in a folder, "a.csv (12 kB), old/": names are scrubbed, hidden ones and links are left out.
 */
void host_files_list(int folder, struct buf *out);
/* Append the allowed folders, with what is in them; at most about 4 KiB. */
void host_files_describe(const struct host_files *h, struct buf *out);

#endif
