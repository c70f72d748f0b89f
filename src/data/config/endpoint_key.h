/* endpoint_key.h - what the choice of an endpoint shares with that of its key. Inside config only. */
#ifndef CONFIG_ENDPOINT_KEY_H
#define CONFIG_ENDPOINT_KEY_H

#include <stdbool.h>

struct config;
struct endpoint;
struct error;
struct provider;
struct source;

/* Where a provider's variable is looked for. */
enum variable_place { IN_ENVIRONMENT = 1, IN_DOTENV = 2, ANYWHERE = 3 };

/* Its value, of the environment first; NULL: not set there. from: where it was found. */
const char *endpoint_variable(const struct config *c, const char *name, enum variable_place in,
                              struct source *from);
/* The first of the variables that hold its key. */
const char *endpoint_key_variable(const struct config *c, const struct provider *p, enum variable_place in,
                                  struct source *from);
/* The URL is chosen: which key may go there, if there is one. */
int endpoint_choose_key(struct config *c, struct endpoint *e, struct error *err);

#endif
