/* db_private.h - the database as db.c and db_open.c share it. */
#ifndef STORE_DB_PRIVATE_H
#define STORE_DB_PRIVATE_H

#include "base/error.h"
#include "store/db.h"
#include "store/sqlite_load.h"

#define STATEMENTS_MAX 64

struct db {
    const struct sqlite_api *api;
    sqlite3 *sq;
    char *path;
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } kept[STATEMENTS_MAX];
    size_t n_kept;
    /* Of the outermost query or statement that is under way; those inside it share its time and bytes. */
    unsigned depth;
    int64_t began;    /* clock_ms() */
    unsigned signals; /* that had come by then */
    size_t handed;    /* bytes of text */
    int patience_ms;
    struct error err;
};

/* Of the whole statement, which is not kept: for what is said to SQLite once. */
bool db_script(struct db *db, const char *sql);
/* code is one of SQLite's: has it failed? The first failure is kept. */
bool db_failed(struct db *db, int code);
/* For sqlite3_progress_handler(): not 0 where the statement that is under way is to end. */
int db_is_late(void *db);

#endif
