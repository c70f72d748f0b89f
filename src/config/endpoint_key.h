/* endpoint_key.h - what the choice of an endpoint shares with that of its key. Inside src/config only. */
#ifndef CONFIG_ENDPOINT_KEY_H
#define CONFIG_ENDPOINT_KEY_H

#include <stdbool.h>

struct config;
struct endpoint;
struct error;
struct provider;
struct source;

/* A provider's variable: of the environment first, then of .env; or of one of them alone. */
const char *endpoint_variable(const struct config *c, const char *name, bool env, bool dotenv,
                              struct source *from);
const char *endpoint_key_variable(const struct config *c, const struct provider *p, bool env, bool dotenv,
                                  struct source *from);
/* The URL is chosen: which key may go there, if there is one. */
int endpoint_choose_key(struct config *c, struct endpoint *e, struct error *err);

#endif
