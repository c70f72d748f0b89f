/* layers.h - shared by the files that read the layers. Private to config. */
#ifndef CONFIG_LAYERS_H
#define CONFIG_LAYERS_H

#include <stdbool.h>

struct config;
struct error;
struct option;
struct setting;

/* c->file; must: it was named, so it has to be there */
int config_load_yaml(struct config *c, bool must, struct error *err);
int config_load_dotenv(struct config *c, struct error *err);

const char *config_expectation(const struct option *o); /* "a size such as 512m or 1g" */
/* "where: expected ..., found ...". Returns -1. */
int config_wrong(const struct setting *s, struct error *err);

/* A variable that a provider's entry names: for its key, its URL, or a part of its URL. */
bool providers_variable(const struct config *c, const char *name);
/* unread.c: a notice for each SANDPIPER_ variable of the environment that nothing reads. When all providers
 * are known. */
void config_tell_unread(struct config *c);

#endif
