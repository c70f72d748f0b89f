/* sqlite_load.c - looks up the functions of libsqlite3 by their names. */
#include "store/sqlite_load.h"

#include <assert.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"

const struct sqlite_api *sqlite_load(struct error *err)
{
    static struct sqlite_api api;
    static bool loaded;
#define X(name) "sqlite3_" #name,
    static const char *const names[] = {SQLITE_FUNCTIONS(X)};
#undef X
    const struct library sqlite = {"libsqlite3",        "libsqlite3-0", "3.20",
                                   {"libsqlite3.so.0"}, names,          countof(names)};

    static_assert(sizeof api == sizeof names, "a name for each member");
    loaded = loaded || library_open(&sqlite, &api, err) == 0;
    return loaded ? &api : NULL;
}
