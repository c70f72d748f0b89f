/* library.c - dlopen and dlsym, with an error that names the Debian package. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

int library_open(const struct library *lib, void *table, struct error *err)
{
    void *handle = NULL;

    for (size_t i = 0; i < countof(lib->files) && lib->files[i] && !handle; i++)
        handle = dlopen(lib->files[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return error_set(err, ERROR_SYSTEM, 0, "%s cannot be loaded: %s\ninstall it (Debian: apt install %s)",
                         lib->name, dlerror(), lib->package);
    for (size_t i = 0; i < lib->n; i++) {
        void *fn = dlsym(handle, lib->functions[i]);

        if (!fn)
            return error_set(err, ERROR_SYSTEM, 0, "this %s has no %s; version %s or newer is required",
                             lib->name, lib->functions[i], lib->version);
        memcpy((char *)table + i * sizeof fn, &fn, sizeof fn);
    }
    return 0;
}
