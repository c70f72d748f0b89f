/* custom_engine.h - engines that the user defines under "engines:" of config.yaml, each by the command that
 * starts its Python:
 *
 *     engines:
 *       gpubox:
 *         start: [ssh, gpubox, bwrap, --unshare-all, ..., python3, "{python}"]
 *
 * Nothing else can define one: no flag, no variable, no folder's .env. What is wrong is ERROR_USAGE with file
 * and line.
 */
#ifndef CONFIG_CUSTOM_ENGINE_H
#define CONFIG_CUSTOM_ENGINE_H

#include <stddef.h>

#include "base/argv.h"

struct config;
struct error;
struct ydoc;

#define CUSTOM_ENGINES_MAX      16
#define CUSTOM_ENGINE_NAME_MAX  30
#define CUSTOM_ENGINE_WORDS_MAX 256
/* What stands in braces in a word of start; engine/custom.c has the values. */
#define CUSTOM_ENGINE_PLACEHOLDERS "python|name|memory|cpus|pids|data_size|tmp_size"

struct custom_engine {
    char *name;        /* small letters, digits, - and _; owned */
    struct argv start; /* as written: with placeholders */
    int line;          /* of its name in config.yaml */
};

struct custom_engines {
    struct custom_engine *v;
    size_t n;
};

int custom_engines_read(struct custom_engines *all, const struct ydoc *map, struct error *err);
void custom_engines_release(struct custom_engines *all);

/* Is the engine that c asks for one that there is? To be called when all layers are read. */
int custom_engine_check_choice(const struct config *c, struct error *err);

#endif
