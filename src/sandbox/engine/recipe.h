/* recipe.h - an engine as data: the commands that start a Python somewhere, make what it needs and clean
 * up behind it. Those that are built in (config/engines.yaml) and those of the user's config.yaml have the
 * same form; docs/sandpiper-config.5 describes each member. Plain data, borrowed for good. /
 */
#ifndef ENGINE_RECIPE_H
#define ENGINE_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"

struct child;
struct child_options;
struct error;
struct text_vars;

struct engine_failure {
    const char *says;   /* a part of what a command wrote to stderr */
    const char *means;  /* in our words; NULL: what it wrote */
    const char *remedy; /* what to do */
};

struct engine_recipe {
    const char *name;
    /* Commands, with placeholders (custom.c). n 0: there is none. open, state and close are for all sandboxes
     * of a program together, the others for each. */
    struct argv open;  /* makes what they share, and holds it as long as its stdin is open, or ends at once */
    struct argv state; /* prints in a line what open is waiting for */
    struct argv close; /* gives it up */
    struct argv before;  /* makes what one sandbox needs */
    struct argv start;   /* connects stdin and stdout to Python there */
    struct argv after;   /* removes what before has made */
    struct argv env;     /* variables of ours that they get besides: NAME, or NAME* */
    struct argv gives;   /* names of facts that open and before print as NAME=VALUE, and that others use */
    int64_t queue_ms;    /* how long open, and each start, may wait */
    const char *walls;   /* built there by {inside}: auto, bwrap, apptainer */
    const char *image;   /* for Apptainer; NULL: none */
    const char *program; /* sandpiper there, which is then not sent; NULL: it is sent */
    const struct engine_failure *failures;
    size_t n_failures;
};

/* A command's words, with the placeholders filled of which the value is known. facts: "NAME=VALUE", or
 * NULL. */
void recipe_fill(const struct argv *words, const struct text_vars *vars, const struct argv *facts,
                 struct argv *out);
/* Take those that gives names from what a command has printed, which is untrusted: a fact is a word of up
 * to 200 characters that mean nothing to a shell, without a leading dash. False: one is missing so far. */
bool recipe_facts(const struct argv *gives, const char *text, struct argv *facts);
/* Start one of its commands (client.h), with the variables that it wants. */
struct child *recipe_start(const struct engine_recipe *r, struct child_options o, struct error *err);
/* The line of its stderr that tells most: one that the recipe explains, or one of ours, else as client.h
 * has it. The caller frees. */
char *recipe_complaint(const struct engine_recipe *r, const struct child *c);
/* What such a line means, ERROR_SANDBOX. */
void recipe_explain(const struct engine_recipe *r, const char *said, struct error *err);

#endif
