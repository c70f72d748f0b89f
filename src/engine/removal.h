/* removal.h - "docker rm -f", "podman rm -f": the end of a container by its name, and what became of it.
 */
#ifndef ENGINE_REMOVAL_H
#define ENGINE_REMOVAL_H

#include "engine/job.h"

struct loop;

/* loop and done as for job_start. NULL: the client could not be started. It has 10 s. */
struct job *engine_rm(const char *engine, const char *name, struct loop *loop, job_fn *done, void *ctx);

enum engine_rm_end {
    RM_GONE,
    /* Worth another try: docker may refuse because the container was just then ending by itself, and at the
     * same moment leave off removing it because we asked ("Could not kill running container", docker 20.10).
     */
    RM_REFUSED,
    RM_NOBODY, /* no daemon, or none that answers us: asking again changes nothing */
};
enum engine_rm_end engine_rm_end(const struct job *j);

#endif
