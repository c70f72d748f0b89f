/* db.c - prepares, binds and steps SQLite's statements, and keeps the first failure. */
#include "store/db.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/size.h"
#include "process/signals.h"
#include "store/db_private.h"

#define TIDY_PAGES 1000 /* of the write-ahead log: about 4 MB */
#define SIGNAL_MS  100  /* a statement that is over sooner is never broken off */

/* What a code of SQLite means for the user. */
static int set_error(struct db *db, int code)
{
    const char *what = db->sq ? db->api->errmsg(db->sq) : "out of memory";

    switch (code & 0xff) {
    case SQLITE_FULL:
        return error_set(&db->err, ERROR_SYSTEM, ENOSPC, "the disk of %s is full", db->path);
    case SQLITE_READONLY:
        return error_set(&db->err, ERROR_SYSTEM, EROFS, "%s is read-only", db->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(&db->err, ERROR_SYSTEM, EBUSY, "%s is locked by another program", db->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* a table that is not there */
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
        return error_set(&db->err, ERROR_SYSTEM, EUCLEAN,
                         "%s is damaged (%s)\nMove it away to begin a new one", db->path, what);
    default:
        return error_set(&db->err, ERROR_SYSTEM, EIO, "%s: %s", db->path, what);
    }
}

bool db_failed(struct db *db, int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
        return false;
    if (db->err.kind == ERROR_NONE)
        set_error(db, code);
    return true;
}

bool db_script(struct db *db, const char *sql)
{
    return db->err.kind == ERROR_NONE && !db_failed(db, db->api->exec(db->sq, sql, NULL, NULL, NULL));
}

void db_close(struct db *db)
{
    if (!db)
        return;
    for (size_t i = 0; i < db->n_kept; i++)
        db->api->finalize(db->kept[i].statement);
    db->api->close_v2(db->sq);
    free(db->path);
    free(db);
}

const struct error *db_error(const struct db *db)
{
    return db->err.kind == ERROR_NONE ? NULL : &db->err;
}

int db_check(const struct db *db, struct error *err)
{
    if (!db || db->err.kind == ERROR_NONE)
        return 0;
    if (err)
        *err = db->err;
    return -1;
}

int db_is_late(void *ctx)
{
    struct db *db = ctx;
    struct loop *loop = loop_of_signals();
    int64_t spent = clock_ms() - db->began;

    if (spent > SIGNAL_MS && loop && loop_check(loop) && loop_end_signals(loop) > db->signals)
        error_set(&db->err, ERROR_CANCELLED, 0, "interrupted");
    else if (spent > db->patience_ms)
        error_set(&db->err, ERROR_SYSTEM, ETIMEDOUT,
                  "%s takes too long to read (%d s)\nIt may be damaged. Move it away to begin a new one.",
                  db->path, db->patience_ms / 1000);
    return db->err.kind != ERROR_NONE;
}

/* A statement or query begins. */
static void enter(struct db *db)
{
    struct loop *loop = loop_of_signals();

    if (db->depth++ > 0)
        return;
    db->began = clock_ms();
    db->handed = 0;
    if (loop)
        loop_check(loop);
    db->signals = loop ? loop_end_signals(loop) : 0;
}

void db_patience(struct db *db, int ms)
{
    if (db)
        db->patience_ms = ms;
}

static sqlite3_stmt *statement(struct db *db, const char *sql)
{
    sqlite3_stmt *s = NULL;

    if (!db || db->err.kind != ERROR_NONE)
        return NULL;
    for (size_t i = 0; i < db->n_kept; i++)
        if (db->kept[i].sql == sql)
            return db->kept[i].statement;
    if (db->n_kept == STATEMENTS_MAX)
        return error_null(&db->err, ERROR_SYSTEM, 0, "%s: too many statements", db->path);
    if (db_failed(db, db->api->prepare_v3(db->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL)))
        return NULL;
    db->kept[db->n_kept].sql = sql;
    db->kept[db->n_kept++].statement = s;
    return s;
}

static void bind(struct db *db, sqlite3_stmt *s, const char *types, va_list ap)
{
    for (int i = 1; *types; types++, i++) {
        if (*types == 'i')
            db_failed(db, db->api->bind_int64(s, i, va_arg(ap, int64_t)));
        else if (*types == 'd')
            db_failed(db, db->api->bind_double(s, i, va_arg(ap, double)));
        else /* static: the statement is run and reset before the caller's text can change; NULL is null */
            db_failed(db, db->api->bind_text(s, i, va_arg(ap, const char *), -1, SQLITE_STATIC));
    }
}

static void end_statement(struct db *db, sqlite3_stmt *s)
{
    db->depth--;
    db->api->reset(s);
    db->api->clear_bindings(s);
}

bool db_run(struct db *db, const char *sql, const char *types, ...)
{
    sqlite3_stmt *s = statement(db, sql);
    va_list ap;
    int code;

    if (!s)
        return false;
    enter(db);
    va_start(ap, types);
    bind(db, s, types, ap);
    va_end(ap);
    do
        code = db->err.kind == ERROR_NONE ? db->api->step(s) : SQLITE_ABORT;
    while (code == SQLITE_ROW);
    db_failed(db, code);
    end_statement(db, s);
    return db->err.kind == ERROR_NONE;
}

int64_t db_last_id(struct db *db)
{
    return db->api->last_insert_rowid(db->sq);
}

bool db_begin(struct db *db)
{
    return db_run(db, "BEGIN IMMEDIATE", "");
}

bool db_commit(struct db *db)
{
    if (db_run(db, "COMMIT", ""))
        return true;
    db->api->exec(db->sq, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

static struct db_rows query(struct db *db, const char *sql, const char *types, va_list ap)
{
    struct db_rows r = {db, statement(db, sql)};

    if (r.statement) {
        enter(db);
        bind(db, r.statement, types, ap);
    }
    return r;
}

struct db_rows db_query(struct db *db, const char *sql, const char *types, ...)
{
    va_list ap;

    va_start(ap, types);
    struct db_rows r = query(db, sql, types, ap);
    va_end(ap);
    return r;
}

int64_t db_number(struct db *db, const char *sql, const char *types, ...)
{
    va_list ap;

    va_start(ap, types);
    struct db_rows r = query(db, sql, types, ap);
    va_end(ap);
    int64_t number = db_next(&r) ? db_int(&r, 0) : 0;
    db_done(&r);
    return number;
}

bool db_next(struct db_rows *r)
{
    if (!r->statement || r->db->err.kind != ERROR_NONE) {
        db_done(r);
        return false;
    }
    int code = r->db->api->step(r->statement);
    db_failed(r->db, code);
    if (code == SQLITE_ROW)
        return true;
    db_done(r);
    return false;
}

void db_done(struct db_rows *r)
{
    if (r->statement)
        end_statement(r->db, r->statement);
    r->statement = NULL;
}

int64_t db_int(const struct db_rows *r, int column)
{
    return r->db->api->column_int64(r->statement, column);
}

const char *db_text(const struct db_rows *r, int column, size_t *len)
{
    /* text before bytes: the number of bytes may depend on it */
    const char *text = (const char *)r->db->api->column_text(r->statement, column);

    size_t n = text ? (size_t)r->db->api->column_bytes(r->statement, column) : 0;

    if (len)
        *len = n;
    r->db->handed += n;
    if (r->db->handed > DB_READ_MAX && r->db->err.kind == ERROR_NONE)
        error_set(
            &r->db->err, ERROR_SYSTEM, EFBIG,
            "%s holds more than %s to be read at once\nIt may be damaged. Move it away to begin a new one.",
            r->db->path, size_text(DB_READ_MAX).text);
    return text;
}

char *db_copy(const struct db_rows *r, int column)
{
    size_t len;
    const char *text = db_text(r, column, &len);

    return text ? xmemdup0(text, len) : NULL;
}

void db_tidy(struct db *db, bool all)
{
    autofree char *log = xasprintf("%s-wal", db->path);
    int pages = 0, moved = 0;
    struct stat st;

    if (db->err.kind != ERROR_NONE || stat(log, &st) < 0 || (!all && st.st_size < (off_t)TIDY_PAGES * 4096))
        return;
    db->api->busy_timeout(db->sq, all ? DB_BUSY_MS : 0); /* a reader need not be waited for */
    db->api->wal_checkpoint_v2(db->sq, NULL, SQLITE_CHECKPOINT_TRUNCATE, &pages, &moved);
    db->api->busy_timeout(db->sq, DB_BUSY_MS);
}
