/* bwrap.h - what the two files for bubblewrap share: bwrap.c (start and end), bwrap_argv.c (its arguments
 * and errors). */
#ifndef ENGINE_BWRAP_H
#define ENGINE_BWRAP_H

#include "engine/engines.h"

void bwrap_vector(const struct engine_plan *p, struct argv *out);
enum engine_fault bwrap_explain(const struct engine_plan *p, const char *said, struct error *err);

#endif
