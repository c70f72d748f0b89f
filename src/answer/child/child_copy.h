/* child_copy.h - the operation "prepare" of a runner: the user's file makes what the rows of a batch begin
 * with.
 */
#ifndef CHILD_CHILD_COPY_H
#define CHILD_CHILD_COPY_H

#include "child/runner_child.h"

#define PREPARED_TEXT_MAX 8000 /* bytes of the code, and of what it gives, that a model is told */

/* A struct runner_extra's function, with the struct config as its context. {"name", "code"}: puts the files
 * of --add into /mnt/data and runs the code as a script of that name. The result is that of run_code; if its
 * status is ok, told says to a model what there is. */
runner_operation prepare_run;

#endif
