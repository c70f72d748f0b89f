/* binding.c - the pairs of places, of a key and of a URL, that go together. Any combination not listed here
 * gets no key.
 */
#include "config/binding.h"

bool binding_allows(const struct binding *b, enum key_origin key)
{
    switch (b->url) {
    case URL_ENTRY: /* an entry binds its URL to the variable it names, and to the key in the entry */
        return key == KEY_VARIABLE_ENV || key == KEY_VARIABLE_DOTENV || key == KEY_ENTRY_FILE
               || (key == KEY_OPTION_FILE && b->provider_from_file);
    case URL_VARIABLE: /* variables of one source bind each other; .env only within itself */
        return (key == KEY_VARIABLE_ENV && b->url_from == SOURCE_ENV)
               || (key == KEY_VARIABLE_DOTENV && b->url_from == SOURCE_DOTENV);
    /* The key given for it, or the key of the provider named beside it; never one from .env. */
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
