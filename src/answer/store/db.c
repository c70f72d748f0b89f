/* db.c - see db.h. */
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "store/schema.h"
#include "store/sqlite_load.h"

#define STATEMENTS_MAX 64
#define TIDY_PAGES     1000 /* of the write-ahead log: about 4 MB */

struct db {
    const struct sqlite_api *api;
    sqlite3 *sq;
    char *path;
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } kept[STATEMENTS_MAX];
    size_t n_kept;
    struct error err;
};

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

static bool failed(struct db *db, int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
        return false;
    if (db->err.kind == ERROR_NONE)
        set_error(db, code);
    return true;
}

/* The folder as it really is, after it was seen that no link of another user leads there. */
static char *real_folder(const char *folder, bool make, struct error *err)
{
    autoclose int fd = place_folder(folder, make, err);
    char link[40], path[PATH_MAX];
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) < 0) {
        error_errno(err, "%s", folder);
        return NULL;
    }
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022))
        return error_null(err, ERROR_SYSTEM, EPERM, "%s can be written by others\nchmod 700 it", folder);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path);
    return n > 0 && n < (ssize_t)sizeof path ? xmemdup0(path, (size_t)n) : xstrdup(folder);
}

static bool script(struct db *db, const char *sql)
{
    return db->err.kind == ERROR_NONE && !failed(db, db->api->exec(db->sq, sql, NULL, NULL, NULL));
}

/* Bring the tables up to our version. Another program may be doing the same, so the version is read again
 * once we alone may write. */
static void migrate(struct db *db)
{
    char line[80];

    if (!db_begin(db))
        return;
    int64_t version = db_number(db, "PRAGMA user_version", "");
    for (; version >= 0 && version < SCHEMA_VERSION && db->err.kind == ERROR_NONE; version++)
        script(db, schema_steps[version]);
    snprintf(line, sizeof line, "PRAGMA application_id=%d; PRAGMA user_version=%d", SCHEMA_APPLICATION,
             SCHEMA_VERSION);
    script(db, line);
    db_commit(db);
}

static int prepare_file(struct db *db, struct error *err)
{
    db->api->busy_timeout(db->sq, DB_BUSY_MS);
    db->api->limit(db->sq, SQLITE_LIMIT_LENGTH, DB_VALUE_MAX);
    db->api->db_config(db->sq, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    db->api->db_config(db->sq, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* The log is moved into the main file by db_tidy(), not at some moment while an answer streams. */
    db->api->db_config(db->sq, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    int64_t version = db_number(db, "PRAGMA user_version", "");
    int64_t application = db_number(db, "PRAGMA application_id", "");
    if (db->err.kind == ERROR_NONE && version > SCHEMA_VERSION && application == SCHEMA_APPLICATION)
        error_set(&db->err, ERROR_SYSTEM, ENOTSUP, "%s was made by a newer sandpiper", db->path);
    else if (db->err.kind == ERROR_NONE && (version < 0 || (version && application != SCHEMA_APPLICATION)))
        error_set(&db->err, ERROR_SYSTEM, EUCLEAN, "%s is not a database of sandpiper\nMove it away",
                  db->path);
    script(db, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-512; "
               "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY");
    if (version == 0)
        script(db, "PRAGMA journal_mode=WAL");
    if (version < SCHEMA_VERSION && db->err.kind == ERROR_NONE)
        migrate(db);
    return db_check(db, err);
}

struct db *db_open(const char *folder, bool make, struct error *err)
{
    autofree char *real = real_folder(folder, make, err);
    autofree char *path = real ? xasprintf("%s/sessions.db", real) : NULL;
    /* made and looked at before SQLite opens it: it is a file of ours that nobody else can read */
    autoclose int fd = path ? place_open(path, O_RDWR | (make ? O_CREAT : 0), err) : -1;
    const struct sqlite_api *api = fd >= 0 ? sqlite_load(err) : NULL;

    if (!api)
        return NULL;
    struct db *db = xcalloc(1, sizeof *db);
    db->api = api;
    db->path = steal(&path);
    fd_close(&fd); /* before SQLite has locks: closing any descriptor of a file drops them */
    int code = api->open_v2(db->path, &db->sq,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
    if (!failed(db, code) && prepare_file(db, err) == 0)
        return db;
    db_check(db, err);
    db_close(db);
    return NULL;
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
    if (failed(db, db->api->prepare_v3(db->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL)))
        return NULL;
    db->kept[db->n_kept].sql = sql;
    db->kept[db->n_kept++].statement = s;
    return s;
}

static void bind(struct db *db, sqlite3_stmt *s, const char *types, va_list ap)
{
    for (int i = 1; *types; types++, i++) {
        if (*types == 'i')
            failed(db, db->api->bind_int64(s, i, va_arg(ap, int64_t)));
        else if (*types == 'd')
            failed(db, db->api->bind_double(s, i, va_arg(ap, double)));
        else /* static: the statement is run and reset before the caller's text can change; NULL is null */
            failed(db, db->api->bind_text(s, i, va_arg(ap, const char *), -1, SQLITE_STATIC));
    }
}

static void finish(struct db *db, sqlite3_stmt *s)
{
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
    va_start(ap, types);
    bind(db, s, types, ap);
    va_end(ap);
    do
        code = db->err.kind == ERROR_NONE ? db->api->step(s) : SQLITE_ABORT;
    while (code == SQLITE_ROW);
    failed(db, code);
    finish(db, s);
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

    if (r.statement)
        bind(db, r.statement, types, ap);
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
    failed(r->db, code);
    if (code == SQLITE_ROW)
        return true;
    db_done(r);
    return false;
}

void db_done(struct db_rows *r)
{
    if (r->statement)
        finish(r->db, r->statement);
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

    if (len)
        *len = text ? (size_t)r->db->api->column_bytes(r->statement, column) : 0;
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
