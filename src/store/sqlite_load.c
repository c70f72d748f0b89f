/* sqlite_load.c - see sqlite_load.h. */
#include "store/sqlite_load.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

const struct sqlite_api *sqlite_load(struct error *err)
{
    static struct sqlite_api api;
    static bool loaded;
    static const struct {
        const char *name;
        size_t offset;
    } table[] = {
#define X(name) {"sqlite3_" #name, offsetof(struct sqlite_api, name)},
        SQLITE_FUNCTIONS(X)
#undef X
    };

    if (loaded)
        return &api;
    void *lib = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        error_set(err, ERROR_SYSTEM, 0,
                  "libsqlite3 cannot be loaded: %s\ninstall it (Debian: apt install libsqlite3-0)",
                  dlerror());
        return NULL;
    }
    for (size_t i = 0; i < countof(table); i++) {
        void *fn = dlsym(lib, table[i].name);
        if (!fn) {
            error_set(err, ERROR_SYSTEM, 0, "this libsqlite3 has no %s; version 3.20 or newer is required",
                      table[i].name);
            return NULL;
        }
        memcpy((char *)&api + table[i].offset, &fn, sizeof fn);
    }
    loaded = true;
    return &api;
}
