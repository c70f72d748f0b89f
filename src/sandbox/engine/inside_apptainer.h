/* inside_apptainer.h - the words that build walls with Apptainer, on a machine that has no bwrap. */
#ifndef ENGINE_INSIDE_APPTAINER_H
#define ENGINE_INSIDE_APPTAINER_H

struct argv;
struct error;

struct inside_profile {
    char *dir, *file; /* of the filter of system calls, as Apptainer reads it; NULL: not made */
};

/* Adds Apptainer's words up to the program. What is written for it stays until inside_apptainer_done(). */
int inside_apptainer(struct inside_profile *p, const char *program, const char *image, struct argv *out,
                     struct error *err);
void inside_apptainer_done(struct inside_profile *p);

#endif
