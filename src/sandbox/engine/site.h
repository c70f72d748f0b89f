/* site.h - what all sandboxes of one program share on an engine: an allocation of a cluster, a connection
 * to another machine. A recipe's open makes it, its close gives it up.
 *
 * It is held by a process of its own, the site's, which the first start makes. Each start joins it over a
 * socket and stays connected until its sandbox has ended. The site is given up when nobody is connected
 * and its owner has ended, however that was, or nobody has been connected for a minute. The owner is the
 * program; where a program has many runners, it is their starter, and they find the site by SANDPIPER_SITE
 * in their environment.
 *
 * What the commands print is untrusted: a fact is a short word without a leading dash. /
 */
#ifndef ENGINE_SITE_H
#define ENGINE_SITE_H

#include <stdbool.h>

#include "base/argv.h"

struct engine_recipe;
struct error;
struct loop;
struct text_vars;
struct site; /* our connection to one */

struct site_listener {
    void *ctx;
    void (*waits)(void *ctx, const char *state);        /* what is waited for has changed: one line */
    void (*ready)(void *ctx, const struct argv *facts); /* "NAME=VALUE"; they stay until site_leave() */
    void (*failed)(void *ctx, const struct error *err);
};

/* Make the engine's site that of all processes started from now on: sets SANDPIPER_SITE. Nothing is opened
 * yet. */
int site_share(const struct engine_recipe *r, struct error *err);

/* Join it, and make it if need be. vars: the values of placeholders. The listener is called from the loop,
 * ready or failed once. NULL with err. */
struct site *site_join(struct loop *loop, const struct engine_recipe *r, const struct text_vars *vars,
                       const struct site_listener *l, struct error *err);
void site_leave(struct site *s);
int site_descriptor(const struct site *s);     /* while a process has it open, the site stays */
const char *site_folder(const struct site *s); /* the working directory of all commands */

#endif
