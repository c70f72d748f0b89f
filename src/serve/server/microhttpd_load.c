/* microhttpd_load.c - looks up libmicrohttpd's functions by their names. */
#include "server/microhttpd_load.h"

#include <assert.h>
#include <stdbool.h>

#include "base/library.h"
#include "base/mem.h"

const struct mhd_api *mhd_load(struct error *err)
{
    static struct mhd_api api;
    static bool loaded;
#define X(name) "MHD_" #name,
    static const char *const names[] = {MHD_FUNCTIONS(X)};
#undef X
    const struct library mhd = {"libmicrohttpd", "libmicrohttpd12", "0.9.75", {"libmicrohttpd.so.12"},
                                names,           countof(names)};

    static_assert(sizeof api == sizeof names, "a name for each member");
    if (!loaded && library_open(&mhd, &api, err) != 0)
        return NULL;
    loaded = true;
    return &api;
}
