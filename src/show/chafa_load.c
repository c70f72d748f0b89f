/* chafa_load.c - see chafa_load.h. */
#include "show/chafa_load.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

const struct chafa_api *chafa_load(struct error *err)
{
    static struct chafa_api api;
    static bool loaded;
    static const struct {
        const char *name;
        size_t offset;
    } table[] = {
#define X(name) {"chafa_" #name, offsetof(struct chafa_api, name)},
        CHAFA_FUNCTIONS(X)
#undef X
            {"g_string_free", offsetof(struct chafa_api, string_free)}, /* found behind libchafa */
    };
    if (loaded)
        return &api;
    void *lib = dlopen("libchafa.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        error_set(
            err, ERROR_SYSTEM, 0,
            "figures are not shown here: libchafa is missing\nInstall it (Debian: apt install libchafa0)");
        return NULL;
    }
    for (size_t i = 0; i < countof(table); i++) {
        void *fn = dlsym(lib, table[i].name);
        if (!fn) {
            error_set(
                err, ERROR_SYSTEM, 0,
                "figures are not shown here: this libchafa has no %s; version 1.10 or newer is required",
                table[i].name);
            return NULL;
        }
        memcpy((char *)&api + table[i].offset, &fn, sizeof fn);
    }
    api.set_n_threads(1); /* a figure takes some 30 ms, and this program has no threads */
    loaded = true;
    return &api;
}
