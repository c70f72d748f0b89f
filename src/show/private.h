/* private.h - shared by the files of src/show. Each call collects its bytes in one buffer and writes them
 * with one write. */
#ifndef SHOW_PRIVATE_H
#define SHOW_PRIVATE_H

#include "show/screen.h"
#include "show/show.h"

struct show {
    struct show_options o;
    struct screen screen;
    char *model;       /* of the session, for the status line */
    unsigned question; /* errors are of this one; 0: nobody counts */

    struct lines stream[2], thought; /* a cell's stdout and stderr; reasoning */
    struct lines_cut cut;
};

/* show_phase.c */
void show_phase(struct show *s, const struct event *e);

/* show_cell.c */
void show_cell_call(struct show *s, const struct event *e);
void show_cell_output(struct show *s, const struct event *e);
void show_cell_result(struct show *s, const struct event *e);

#endif
