/* removal.h - remove a container by its name ("docker rm -f") and tell the result. */
#ifndef ENGINE_REMOVAL_H
#define ENGINE_REMOVAL_H

#include "process/child.h"

struct engine;

/* NULL: the client could not be started. It may take 10 s. */
struct child *removal_start(const struct engine *engine, const char *name, struct child_watch watch);

enum removal_end {
    REMOVAL_GONE,
    /* Worth another try. Docker may refuse because the container is just ending by itself, and in the same
     * moment stop removing it because of our request ("Could not kill running container", docker 20.10). */
    REMOVAL_REFUSED,
    REMOVAL_NOBODY, /* no daemon, or none that answers us: asking again changes nothing */
};
enum removal_end removal_end(const struct child *c);

#endif
