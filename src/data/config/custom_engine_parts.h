/* custom_engine_parts.h - what the files for engines that are data share: custom_engine.c,
 * engine_settle.c. */
#ifndef CONFIG_CUSTOM_ENGINE_PARTS_H
#define CONFIG_CUSTOM_ENGINE_PARTS_H

#include "config/custom_engine.h"

#define ENGINE_COMMANDS 6
struct argv *engine_command(const struct custom_engine *e, size_t i);

struct custom_engine *custom_engine_find(const struct custom_engines *all, const char *name);
struct engine_setting *engine_setting_find(const struct custom_engine *e, const char *name, size_t len);
int builtin_engines_read(struct custom_engines *all, struct error *err);

#endif
