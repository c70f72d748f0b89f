/* unread.c - variables of the environment that look like ours, and are not: most likely misspelled. */
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/scrub.h"
#include "config/config.h"
#include "config/layers.h"

#define PREFIX "SANDPIPER_"
#define TOLD   4 /* at most */

/* SANDPIPER_TEST_... and SANDPIPER_BIN are for the tests. */
static bool is_read(const struct config *c, const char *name)
{
    return option_by_env(name) || providers_variable(c, name) || !strcmp(name, PREFIX "BIN")
           || !strncmp(name, PREFIX "TEST_", strlen(PREFIX "TEST_"));
}

static const char *nearest_variable(const char *name)
{
    struct nearest near = {.word = name + strlen(PREFIX), .len = strlen(name) - strlen(PREFIX)};

    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].env && !strncmp(option_table[i].env, PREFIX, strlen(PREFIX)))
            nearest_offer(&near, option_table[i].env + strlen(PREFIX));
    return nearest_found(&near);
}

void config_tell_unread(struct config *c)
{
    size_t told = 0;

    for (char *const *e = c->env; e && *e && told < TOLD; e++) {
        autofree char *name = xmemdup0(*e, strcspn(*e, "="));

        if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || is_read(c, name))
            continue;
        const char *near = nearest_variable(name);
        autofree char *shown = scrub_line(name, SCRUB_TERMINAL);

        argv_pushf(&c->notices, "nothing reads the variable %.60s%s%s%s", shown,
                   near ? "; did you mean " PREFIX : "", near ? near : "", near ? "?" : "");
        told++;
    }
}
