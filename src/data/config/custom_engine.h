/* custom_engine.h - engines that are data (engines.yaml says what each member is): those that are built
 * in, and what the user defines or changes under "engines:" of config.yaml:
 *
 *     engines:
 *       ssh: {with: {host: gpubox}}
 *       big: {like: slurm, with: {partition: big, time: 8h}}
 *       own: {start: [ssh, gpubox, bwrap, --unshare-all, ..., python3, "{python}"]}
 *
 * Nothing else can define one: no flag, no variable, no folder's .env. What is wrong is ERROR_USAGE with
 * file and line. /
 */
#ifndef CONFIG_CUSTOM_ENGINE_H
#define CONFIG_CUSTOM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"

struct buf;
struct config;
struct error;
struct ydoc;

#define CUSTOM_ENGINES_MAX      16
#define CUSTOM_ENGINE_NAME_MAX  30
#define CUSTOM_ENGINE_WORDS_MAX 256
/* What stands in braces in a word of a command, besides settings and facts; engine/custom.c has the
 * values. */
#define CUSTOM_ENGINE_PLACEHOLDERS \
    "python|inside|name|memory|memory_mb|memory_per_cpu|cpus|cpus_whole|pids|data_size|tmp_size"

struct engine_setting {
    char *name;
    struct argv value; /* one word, or those of a list */
    bool list;
};

struct engine_meaning { /* of a line on stderr */
    char *says, *means, *remedy;
};

struct custom_engine {
    char *name;    /* small letters, digits, - and _; owned */
    int line;      /* of its name in config.yaml; 0: it is built in, and not changed there */
    char *written; /* as it stands in config.yaml, in JSON; or NULL */
    char *about, *queue, *like;
    int64_t queue_ms;
    /* the commands as written, and once they are settled without a setting in them */
    struct argv open, state, close, before, start, after;
    struct argv env, gives, must;
    struct engine_setting *settings;
    size_t n_settings;
    struct engine_meaning *failures;
    size_t n_failures;
};

struct custom_engines {
    struct custom_engine *v;
    size_t n;
};

int custom_engines_read(struct custom_engines *all, const struct ydoc *map, struct error *err);
void custom_engines_release(struct custom_engines *all);
/* The first word of a setting; NULL: it has no value. */
const char *custom_engine_setting(const struct custom_engine *e, const char *name);

/* Is the engine that c asks for one that there is, and complete? Adds it where it is built in, and puts the
 * settings into the commands of all. To be called when all layers are read. */
int custom_engines_settle(struct config *c, struct error *err);
/* Is --image, or its variable, for that engine, as its setting of that name? */
bool custom_engine_takes_image(const struct config *c);

void builtin_engines_names(struct argv *out);
/* For help: each with its settings. */
void builtin_engines_help(struct buf *out);

#endif
