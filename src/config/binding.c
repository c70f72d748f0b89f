/* binding.c - see binding.h. Anything that is not named here goes without a key. */
#include "config/binding.h"

bool binding_allows(const struct binding *b, enum key_origin key)
{
    switch (b->url) {
    case URL_ENTRY: /* an entry binds its URL to the variable it names, and to the key beside it */
        return key == KEY_VARIABLE_ENV || key == KEY_VARIABLE_DOTENV || key == KEY_ENTRY_FILE
               || (key == KEY_OPTION_FILE && b->provider_from_file);
    case URL_VARIABLE: /* variables of one place bind each other; .env only within itself */
        return (key == KEY_VARIABLE_ENV && b->url_from == SOURCE_ENV)
               || (key == KEY_VARIABLE_DOTENV && b->url_from == SOURCE_DOTENV);
    /* the key made for it, or that of the provider named beside it; never one of .env */
    case URL_OPTION:
        if (b->url_from == SOURCE_DOTENV || b->url_from == SOURCE_DEFAULT)
            return false;
        if (key == KEY_OPTION_ENV)
            return b->url_from == SOURCE_FLAG || b->url_from == SOURCE_ENV;
        if (key == KEY_OPTION_FILE)
            return b->url_from == SOURCE_FILE;
        return b->provider_beside && (key == KEY_VARIABLE_ENV || key == KEY_ENTRY_FILE);
    }
    return false;
}
