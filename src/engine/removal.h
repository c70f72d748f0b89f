/* removal.h - the end of a container by its name ("docker rm -f"), and what became of it. */
#ifndef ENGINE_REMOVAL_H
#define ENGINE_REMOVAL_H

#include "engine/job.h"

struct engine;

/* NULL: the client could not be started. It has 10 s. */
struct job *removal_start(const struct engine *engine, const char *name, struct job_watch watch);

enum removal_end {
    REMOVAL_GONE,
    /* Worth another try: docker may refuse because the container was just then ending by itself, and at the
     * same moment leave off removing it because we asked ("Could not kill running container", docker 20.10).
     */
    REMOVAL_REFUSED,
    REMOVAL_NOBODY, /* no daemon, or none that answers us: asking again changes nothing */
};
enum removal_end removal_end(const struct job *j);

#endif
