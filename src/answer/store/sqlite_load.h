/* sqlite_load.h - opens libsqlite3 when it is first needed, so that a start that saves nothing does not pay
 * for it (1.3 ms if it were linked).
 */
#ifndef STORE_SQLITE_LOAD_H
#define STORE_SQLITE_LOAD_H

#include <sqlite3.h>

struct error;

#define SQLITE_FUNCTIONS(X) \
    X(open_v2)              \
    X(close_v2)             \
    X(busy_timeout)         \
    X(db_config)            \
    X(errmsg)               \
    X(exec)                 \
    X(limit)                \
    X(last_insert_rowid)    \
    X(progress_handler)     \
    X(prepare_v3)           \
    X(finalize)             \
    X(step)                 \
    X(reset)                \
    X(clear_bindings)       \
    X(bind_int64)           \
    X(bind_double)          \
    X(bind_text)            \
    X(column_int64)         \
    X(column_text)          \
    X(column_bytes)         \
    X(wal_checkpoint_v2)

struct sqlite_api {
#define X(name) __typeof__(sqlite3_##name) *name;
    SQLITE_FUNCTIONS(X)
#undef X
};

/* NULL with err if it is not installed, or too old. */
const struct sqlite_api *sqlite_load(struct error *err);

#endif
