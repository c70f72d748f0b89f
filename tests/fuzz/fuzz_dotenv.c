/* fuzz_dotenv.c - a .env of somebody else: names keep to their form, nothing is expanded, no name is there
 * twice, and of all variables only those that a folder may set get into the configuration.
 */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

#include "base/error.h"
#include "base/utf8.h"
#include "config/config.h"
#include "config/dotenv.h"
#include "config/endpoint.h"

static void check_entries(const struct dotenv *d, const char *text, size_t size)
{
    size_t total = 0;

    for (size_t i = 0; i < d->n; i++) {
        const struct dotenv_entry *e = &d->v[i];
        check(isalpha((unsigned char)e->name[0]) || e->name[0] == '_');
        for (const char *p = e->name; *p; p++)
            check(isalnum((unsigned char)*p) || *p == '_');
        check(e->line >= 1);
        check(memmem(text, size, e->name, strlen(e->name)) != NULL);
        total += strlen(e->value);
        for (size_t k = 0; k < i && i < 50; k++)
            check(strcmp(d->v[k].name, e->name) != 0);
    }
    check(total <= size); /* nothing grows: nothing was expanded */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    static char secret[] = "OPENAI_API_KEY=key-of-the-environment", *env[] = {secret, NULL};
    struct error e = {0};
    struct dotenv d;
    struct config c = {.env = env};
    struct endpoint end = {0};

    if (dotenv_parse(&d, text, size, &e) == 0)
        check_entries(&d, text, size);
    else
        check(e.kind == ERROR_USAGE);
    dotenv_release(&d);

    check(providers_builtin(&c.providers, NULL) == 0);
    if (config_apply_dotenv(&c, text, size, &e) == 0) {
        check(!c.system && !c.base_url && !c.api_key && !c.sandbox && !c.image && !c.config_path
              && !c.allow_insecure && !c.front.verbose);
        check(!c.choice[SOURCE_ENV].model.value && !c.choice[SOURCE_FLAG].provider.value);
        if (endpoint_choose(&c, &end, &e) == 0 && end.found && end.key
            && strcmp(end.key, "key-of-the-environment") == 0)
            check(strcmp(end.base_url, "https://api.openai.com/v1") == 0); /* never to a URL of .env */
        for (size_t i = 0; i < c.notices.n; i++)
            check(utf8_valid(c.notices.v[i], strlen(c.notices.v[i])));
    }
    endpoint_release(&end);
    config_release(&c);
    free(text);
    return 0;
}
