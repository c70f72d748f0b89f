/* db.h - the database of sessions: one file for all of them, in WAL mode, 0600 in a folder of its own (0700).
 *
 * A statement is named by its text, which must be a constant: it is prepared once. Parameters are described
 * by one letter each: i int64_t, d double, s const char * (NULL: null).
 * The first failure is kept (db_error); from then on everything fails at once, so a caller need only ask at
 * the end. Nobody waits longer than DB_BUSY_MS for another program. What takes too long fails, and so does
 * what goes on when a signal asks to end (ERROR_CANCELLED; process/loop.h).
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL is a database in which nothing was saved yet: no query finds a row in it. */
struct db;
struct error;

#define DB_BUSY_MS     500
#define DB_TIME_MS     10000 /* that a statement, or a query with all that is done for its rows, may take */
#define DB_PATIENCE_MS 60000 /* the same of what the user knows to take a while: db_patience() */
#define DB_VALUE_MAX   (32 << 20)          /* bytes of one text; the file may be anybody's */
#define DB_READ_MAX    ((size_t)256 << 20) /* bytes of all texts of one query */

/* Open the database in folder. make: create both where they are missing. NULL with err: its code is ENOENT
 * where there is none, and its text is one line: damaged, not made by this program, locked, no place. A file
 * that has anything in it but the tables of schema.h is neither read nor changed. */
struct db *db_open(const char *folder, bool make, struct error *err);
void db_close(struct db *db);
static inline void db_closep(struct db **db)
{
    db_close(*db);
}
/* How long statements and queries may take from now on. */
void db_patience(struct db *db, int ms);
/* What has failed, or NULL. */
const struct error *db_error(const struct db *db);
/* -1 with err if anything has failed. */
int db_check(const struct db *db, struct error *err);

/* Run a statement to its end. false: it failed. */
bool db_run(struct db *db, const char *sql, const char *types, ...);
int64_t db_last_id(struct db *db); /* of the row that was inserted last */

/* All or nothing. Transactions do not nest. */
bool db_begin(struct db *db);
bool db_commit(struct db *db); /* false: nothing of it is kept */

/* Rows: db_query(), then db_next() until it is false. The texts are valid until the next db_next(). */
struct db_rows {
    struct db *db;
    void *statement;
};
struct db_rows db_query(struct db *db, const char *sql, const char *types, ...);
/* The number in the first column of the first row; 0 if there is none. */
int64_t db_number(struct db *db, const char *sql, const char *types, ...);
bool db_next(struct db_rows *r);
void db_done(struct db_rows *r); /* needed only if db_next() has not been false yet */
int64_t db_int(const struct db_rows *r, int column);
/* NULL: null, or no text. Valid UTF-8 is not promised. len may be NULL. */
const char *db_text(const struct db_rows *r, int column, size_t *len);
char *db_copy(const struct db_rows *r, int column); /* the same, the caller frees */

/* Move what was written into the main file if there is much of it, or all is true: waits for the disk. */
void db_tidy(struct db *db, bool all);

#endif
