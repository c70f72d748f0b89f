/* chafa_load.c - looks up libchafa's functions by their names. */
#include "show/chafa_load.h"

#include <assert.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"

const struct chafa_api *chafa_load(struct error *err)
{
    static struct chafa_api api;
    static bool loaded;
#define X(name) "chafa_" #name,
    static const char *const names[] = {CHAFA_FUNCTIONS(X) "g_string_free" /* found behind libchafa */};
#undef X
    const struct library chafa = {"libchafa", "libchafa0", "1.10", {"libchafa.so.0"}, names, countof(names)};

    static_assert(sizeof api == sizeof names, "a name for each member");
    if (loaded)
        return &api;
    if (library_open(&chafa, &api, err) != 0) {
        error_wrap(err, "figures are not shown here");
        return NULL;
    }
    api.set_n_threads(1); /* a figure takes some 30 ms, and this program has no threads */
    loaded = true;
    return &api;
}
