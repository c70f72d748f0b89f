/* binding.h - the rule that binds a key to a base URL: a key is sent only to a URL set in the same place. A
 * pure function, kept separate so that it can be read and tested completely.
 *
 * It stops a .env in somebody's repository that sets OPENAI_BASE_URL to collect the OPENAI_API_KEY of the
 * environment, and a --base-url that is tried while the key of another service is exported.
 */
#ifndef CONFIG_BINDING_H
#define CONFIG_BINDING_H

#include <stdbool.h>

#include "config/source.h"

enum url_origin {
    URL_ENTRY, /* a provider entry's own text, built in or of config.yaml */
    /* a provider's, but made from variables: OPENAI_BASE_URL, OLLAMA_HOST, {CLOUDFLARE_ACCOUNT_ID} */
    URL_VARIABLE,
    URL_OPTION, /* --base-url, SANDPIPER_BASE_URL, base_url at the top of config.yaml */
};

enum key_origin {
    KEY_OPTION_ENV,      /* SANDPIPER_API_KEY of the environment */
    KEY_OPTION_FILE,     /* api_key or api_key_command at the top of config.yaml */
    KEY_VARIABLE_ENV,    /* the variable that the provider's entry names, of the environment */
    KEY_VARIABLE_DOTENV, /* the same, of .env */
    KEY_ENTRY_FILE,      /* api_key or api_key_command in the provider's entry in config.yaml */
    KEY_ORIGINS
};

struct binding {
    enum url_origin url;
    /* VARIABLE: the least trusted place of all its variables. OPTION: its layer */
    enum source_kind url_from;
    bool provider_beside;    /* OPTION: a provider was named in the same layer */
    bool provider_from_file; /* ENTRY: it is config.yaml that names the provider */
};

bool binding_allows(const struct binding *b, enum key_origin key);

#endif
