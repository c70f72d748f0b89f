/* engines.c - see engines.h. */
#include "engine/engines.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static const struct engine *const all[] = {&engine_docker, &engine_podman, &engine_bwrap};

const struct engine *engines_find(const char *name)
{
    for (size_t i = 0; name && i < countof(all); i++)
        if (!strcmp(all[i]->name, name))
            return all[i];
    return NULL;
}

const struct engine *engines_at(size_t i)
{
    return i < countof(all) ? all[i] : NULL;
}

/* Rootless first: an escape from it is an ordinary user. podman of root comes after docker, which more people
 * have set up. */
const struct engine *engines_auto(size_t i)
{
    static const struct engine *const order[2][countof(all)] = {
        {&engine_podman, &engine_docker, &engine_bwrap},
        {&engine_docker, &engine_podman, &engine_bwrap},
    };

    return i < countof(all) ? order[geteuid() == 0][i] : NULL;
}
