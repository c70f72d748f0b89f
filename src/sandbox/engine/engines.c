/* engines.c - the table: the engines built in, the user's behind them, and the order that auto tries. */
#include "engine/engines.h"

#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "engine/recipe.h"
#include "engine/site.h"

static const struct engine *const all[] = {&engine_docker, &engine_podman, &engine_bwrap};

/* The order in which auto tries them. For an ordinary user rootless comes first: code that escapes from it is
 * only an ordinary user. For root, podman comes after docker, which more people have set up.
 */
static const struct engine *const auto_for_user[] = {&engine_podman, &engine_docker, &engine_bwrap};
static const struct engine *const auto_for_root[] = {&engine_docker, &engine_podman, &engine_bwrap};

_Static_assert(countof(auto_for_user) == countof(auto_for_root), "auto tries the same engines for both");

/* Filled once, before anything is started. */
static struct engine custom[17];
static char digest[countof(custom)][SHA256_HEX];
static size_t customs;

/* A digest of all that it starts: what was learnt of another recipe does not apply to it. */
static void recipe_digest(const struct engine_recipe *r, char out[SHA256_HEX])
{
    const struct argv *const commands[] = {&r->open, &r->before, &r->start};
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < countof(commands); i++) {
        argv_quote(commands[i], &line);
        buf_addch(&line, '\n');
    }
    sha256_hex(line.data, line.len, out);
}

void engines_define(const struct engine_recipe *recipe)
{
    size_t i = 0;

    while (i < customs && strcmp(custom[i].name, recipe->name) != 0)
        i++;
    if (i == countof(custom))
        return;
    recipe_digest(recipe, digest[i]);
    custom[i] = engine_custom;
    custom[i].name = recipe->name;
    custom[i].client = *recipe->start.v[0] != '{' ? recipe->start.v[0]
                       : recipe->program          ? recipe->program
                                                  : "/usr/bin/python3";
    custom[i].identity = digest[i];
    custom[i].env = &recipe->env;
    if (!recipe->after.n)
        custom[i].remove = NULL;
    custom[i].own = recipe;
    customs += i == customs;
}

int engines_share(const char *name, struct error *err)
{
    const struct engine *e = engines_find(name);
    const struct engine_recipe *r = e && e->custom ? e->own : NULL;

    return r && r->open.n ? site_share(r, err) : 0;
}

const char *engines_client(const struct engine *e)
{
    return e->client ? e->client : e->name;
}

const struct engine *engines_find(const char *name)
{
    const struct engine *e = NULL;

    for (size_t i = 0; name && (e = engines_at(i)) != NULL && strcmp(e->name, name) != 0; i++)
        ;
    return name ? e : NULL;
}

const struct engine *engines_at(size_t i)
{
    return i < countof(all) ? all[i] : i - countof(all) < customs ? &custom[i - countof(all)] : NULL;
}

const struct engine *engines_auto(size_t i)
{
    return i >= countof(auto_for_user) ? NULL : geteuid() == 0 ? auto_for_root[i] : auto_for_user[i];
}
