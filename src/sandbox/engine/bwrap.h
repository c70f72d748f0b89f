/* bwrap.h - what the files for bubblewrap share: bwrap.c (start and end on this machine), inside.c (on
 * another one), bwrap_argv.c (its arguments and errors), bwrap_limits.c (what is set before it runs). */
#ifndef ENGINE_BWRAP_H
#define ENGINE_BWRAP_H

#include "engine/engines.h"

struct cgroup;
struct engine_options;

void bwrap_vector(const struct engine_plan *p, struct argv *out);
/* The same up to the program that runs within these walls. p->channel is not used. */
void bwrap_walls(const struct engine_plan *p, struct argv *out);
enum engine_fault bwrap_explain(const struct engine_plan *p, const char *said, struct error *err);

/* A uid that nothing on this host uses. It sets the sandbox apart from all others of this host, so that their
 * code can neither signal it nor count against its limits. */
unsigned bwrap_pick_uid(void);

struct bwrap_setup {
    const struct engine_options *o;
    unsigned uid;               /* 0: keep our own */
    bool staged;                /* the folders to be mounted are bound in another place first */
    bool limit_memory;          /* per process, where no control group limits the whole sandbox */
    const struct cgroup *group; /* to join; NULL: that is done later, or there is none */
};
int bwrap_set_limits(void *setup); /* a child_options.setup */

#endif
