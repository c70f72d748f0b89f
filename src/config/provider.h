/* provider.h - what is known of model services and models: data from YAML, built in and of the user. No decisions here (endpoint.h).
 */
#ifndef CONFIG_PROVIDER_H
#define CONFIG_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"

struct error;
struct ydoc;

#define KEY_VARIABLES 4

enum provider_api { PROVIDER_CHAT_COMPLETIONS, PROVIDER_RESPONSES, PROVIDER_WORKERS_AI };
#define PROVIDER_APIS "chat_completions|responses|workers_ai"  /* in the order of the enum */

struct provider {           /* strings are owned; NULL where not set */
    char *name, *title, *base_url, *other_url, *url_variable, *host_variable, *model, *api_key;
    char *key_variable[KEY_VARIABLES + 1];
    struct argv api_key_command;
    enum provider_api api;
    bool header_auth;       /* api-key: KEY */
    bool send_max_tokens, local, discover, allow_insecure;
    bool users;             /* config.yaml has a say in it */
    int key_line;           /* of api_key or api_key_command in config.yaml */
    int api_line;           /* of api in config.yaml */
    int url_line;           /* of base_url in config.yaml; 0: the built-in one */
};

struct providers {
    struct provider *v;
    size_t n;
};

enum profile_dialect { PROFILE_AUTO, PROFILE_NATIVE, PROFILE_BLOCKS };

struct profile {            /* of a model; has_... says whether the pattern speaks of it */
    char *pattern;
    enum profile_dialect dialect;
    int context, max_tokens;        /* 0: unknown */
    double temperature;             /* < 0: none */
    bool vision, reasoning;
    bool has_dialect, has_vision, has_reasoning;
};

struct profiles {
    struct profile *v;
    size_t n;
};

/* Add to, or change field by field, what is there. name is the file for messages; builtin: line numbers and owners are not kept. */
int providers_read(struct providers *p, const struct ydoc *map, const char *name, bool builtin, struct error *err);
int profiles_read(struct profiles *p, const struct ydoc *map, const char *name, struct error *err);
int providers_builtin(struct providers *p, struct error *err);
int profiles_builtin(struct profiles *p, struct error *err);
void providers_release(struct providers *p);
void profiles_release(struct profiles *p);

const struct provider *provider_find(const struct providers *p, const char *name);
const char *provider_nearest(const struct providers *p, const char *name);
/* Everything known of a model: fields from the first pattern that has each. pattern is NULL in it. */
struct profile profile_of(const struct profiles *p, const char *model);

/* A command as YAML has it: a list of words, or one string cut at blanks. No shell. */
int provider_read_command(const struct ydoc *y, const char *name, struct argv *out, struct error *err);

#endif
