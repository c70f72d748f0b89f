/* session.h - the folder of this session, mode 0700, and its id, new or that of an earlier session. */
#ifndef SAVED_SESSION_H
#define SAVED_SESSION_H

#include <stdbool.h>

#include "base/error.h"

struct config;

struct session {
    char id[40];
    char *dir; /* or NULL */
    /* Without dir: what is wrong with that disk, and what it means; one line for the user, or NULL. */
    char *dir_lost;
    char *out_dir; /* the folder of --out, created; or NULL */
    bool keep;     /* session_keep() was called */
    bool unsaved;  /* nothing of it stays (--no-save): session_keep() does nothing */
};
/* id: of an earlier session, whose folder goes on if it is still there; or NULL. Returns -1 if the folder
 * of --out cannot be made, or no descriptors are left; if only dir fails, the session goes on. */
int session_open(struct session *s, const struct config *c, const char *id, struct error *err);
/* Another session, which has nothing to do with the one before: a new id, and a folder with nothing in it.
 * *s may be all zero. As session_open(). */
int session_next(struct session *s, const struct config *c, struct error *err);
/* The same for the cache, if only that is lost; or NULL. The caller frees it. */
char *session_cache_lost(const struct session *s);
/* The folder of --out with all of its path, created if it is not there; NULL: it cannot be. */
char *session_out_dir(const char *dir, struct error *err);
/* The user was told of something in the folder: keep it, whatever happens to us. */
void session_keep(struct session *s);
void session_close(struct session *s); /* removes the folder unless it is kept */

#endif
