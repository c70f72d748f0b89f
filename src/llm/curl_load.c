/* curl_load.c - see curl_load.h. */
#include "llm/curl_load.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

const struct curl_api *curl_load(struct error *err)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    static struct curl_api api;
    static int loaded;
    if (loaded)
        return &api;
    void *lib = NULL;
    for (size_t i = 0; i < countof(names) && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        error_set(err, ERROR_SYSTEM, 0,
                  "libcurl cannot be loaded: %s\ninstall it (Debian: apt install libcurl4)", dlerror());
        return NULL;
    }
    static const struct {
        const char *name;
        size_t offset;
    } table[] = {
#define X(name) {"curl_" #name, offsetof(struct curl_api, name)},
        CURL_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < countof(table); i++) {
        void *fn = dlsym(lib, table[i].name);
        if (!fn) {
            error_set(err, ERROR_SYSTEM, 0, "this libcurl has no %s; version 7.66 or newer is required",
                      table[i].name);
            return NULL;
        }
        memcpy((char *)&api + table[i].offset, &fn, sizeof fn);
    }
    if (api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, ERROR_SYSTEM, 0, "libcurl could not be initialised");
        return NULL;
    }
    loaded = 1;
    return &api;
}
