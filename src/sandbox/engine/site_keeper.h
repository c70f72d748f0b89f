/* site_keeper.h - the process that holds a site (site.h), and its messages to those that have joined it: each
 * a line that begins with one of these letters.
 */
#ifndef ENGINE_SITE_KEEPER_H
#define ENGINE_SITE_KEEPER_H

#include "base/argv.h"

struct engine_recipe;
struct run_dir;

enum {
    SITE_WAITS = 'w',  /* what it is waiting for */
    SITE_FACT = 'f',   /* NAME=VALUE */
    SITE_READY = 'r',  /* after the facts */
    SITE_FAILED = 'e', /* what was wrong, a tab, what to do */
};

struct site_commands {
    struct argv open, state, close; /* filled but for facts */
};

struct site_job {
    const struct engine_recipe *recipe;
    struct site_commands commands;
    const struct run_dir *dir; /* of the site; the socket is in it */
    const char *owner;         /* owner.h; the site ends with it */
    int listener;
    int lock; /* run_dir_hold(), while it holds the site */
};

int site_keeper_main(void *job); /* a child_options.body */

#endif
