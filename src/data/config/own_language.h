/* own_language.h - languages of the user's own, under "languages:" of config.yaml: each piece of code runs as
 * a program of its own, from a file.
 *
 *     languages:
 *       r: {run: [Rscript, "{file}"], ends: [R, r], about: R 4.3 with dplyr}
 *
 * Nothing else can define one: no flag, no variable, no folder's .env. What is wrong is ERROR_USAGE with file
 * and line.
 */
#ifndef CONFIG_OWN_LANGUAGE_H
#define CONFIG_OWN_LANGUAGE_H

#include <stddef.h>

#include "base/argv.h"

struct error;
struct ydoc;

#define OWN_LANGUAGES_MAX 16

struct own_language {
    char *name;            /* small letters, digits, - and _; owned */
    char *about;           /* for the model; or NULL */
    struct argv run, ends; /* the command; how names of its files end */
};

struct own_languages {
    struct own_language *v;
    size_t n;
};

int own_languages_read(struct own_languages *all, const struct ydoc *map, struct error *err);
void own_languages_release(struct own_languages *all);

#endif
