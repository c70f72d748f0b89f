/* inside_apptainer.h - Apptainer as walls, on a machine that has no bwrap. What its options do not give is
 * added: from root the code gets a uid that nobody has, and its folders have the sizes asked for, where we
 * may mount. Nothing is written to the disk. */
#ifndef ENGINE_INSIDE_APPTAINER_H
#define ENGINE_INSIDE_APPTAINER_H

#include <stdbool.h>

struct argv;
struct bwrap_setup;
struct error;

struct apptainer {
    const char *program, *image;
    struct bwrap_setup *limits; /* their uid is 0: Apptainer sets it */
    unsigned uid;               /* of the code, where we are root; else 0 */
    int filter;                 /* the filter of system calls, as Apptainer reads it; -1: not made */
    bool folders;               /* we may mount its folders */
};

/* Fills in the rest, program, image and limits being set. The caller closes the filter. */
int apptainer_prepare(struct apptainer *a, struct error *err);
/* Adds Apptainer's words up to the program. */
void apptainer_words(const struct apptainer *a, struct argv *out);
int apptainer_set_limits(void *apptainer); /* a child_options.setup */

#endif
