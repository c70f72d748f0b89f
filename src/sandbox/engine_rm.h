/* engine_rm.h - "docker rm -f", "podman rm -f": the end of a container by its name, and whether it is one.
 */
#ifndef SANDBOX_ENGINE_RM_H
#define SANDBOX_ENGINE_RM_H

#include <stdbool.h>

#include "sandbox/job.h"

struct loop;

/* loop and done as for job_start. NULL: the client could not be started. It has 10 s. */
struct job *engine_rm(const char *engine, const char *name, struct loop *loop, job_fn *done, void *ctx);
/* Is the container gone, or on its way? If not it is worth another try: docker may refuse because the container was just then ending by itself,
 * and at the same moment leave off removing it because we asked ("Could not kill running container", docker 20.10). */
bool engine_rm_ok(const struct job *j);

#endif
