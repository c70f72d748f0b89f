/* engines.c - the table: the engines built in, the user's behind them, and the order that auto tries. */
#include "engine/engines.h"

#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"

static const struct engine *const all[] = {&engine_docker, &engine_podman, &engine_bwrap};

/* The order in which auto tries them. For an ordinary user rootless comes first: code that escapes from it is
 * only an ordinary user. For root, podman comes after docker, which more people have set up.
 */
static const struct engine *const auto_for_user[] = {&engine_podman, &engine_docker, &engine_bwrap};
static const struct engine *const auto_for_root[] = {&engine_docker, &engine_podman, &engine_bwrap};

_Static_assert(countof(auto_for_user) == countof(auto_for_root), "auto tries the same engines for both");

/* Filled once, before anything is started. */
static struct engine custom[16];
static char digest[countof(custom)][SHA256_HEX];
static size_t customs;

void engines_define(const char *name, const struct argv *start)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    if (customs == countof(custom))
        return;
    argv_quote(start, &line);
    sha256_hex(line.data, line.len, digest[customs]);
    custom[customs] = engine_custom;
    custom[customs].name = name;
    custom[customs].client = start->v[0];
    custom[customs].identity = digest[customs];
    custom[customs++].own = start;
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
