/* private.h - what the files of this room share. */
#ifndef SAVED_PRIVATE_H
#define SAVED_PRIVATE_H

#include "saved/saved.h"

/* saved_copies.c: that session has become one of two by a fork. More than KEPT_COPIES_MAX: the oldest is
 * forgotten. */
void saved_branch(struct saved *s, const char *id);
/* Go on from the copy that was kept of s->from. False: there is none that does. */
bool saved_go_on(struct saved *s, struct sandbox *sandbox);
/* saved_line.c: what is said of a session that goes on. copy: the id of the copy of it that does; or NULL.
 * The caller frees. */
char *saved_line(const struct store_found *from, const char *copy);
/* saved_rerun.c: run the code that made the variables of a session again. Returns what to tell the user;
 * *model is what the model is told. NULL with err: interrupted, or no sandbox. The caller frees both.
 */
char *saved_rerun(struct saved *s, struct sandbox *sandbox, char **model, struct error *err);
/* The sandbox has the files that the code of a session made: they are not copied out again unchanged. */
void saved_tell_made(struct saved *s, struct sandbox *sandbox);
/* Put the files of a session back in which no code ran. *user is what saved_rerun returns; both stay as
 * they are if it has no files. */
int saved_put_files(struct saved *s, struct sandbox *sandbox, char **user, char **model, struct error *err);

#endif
