/* db_open.c - opens the database, or makes it. The file may be anybody's, so SQLite is told to trust nothing
 * of it (as sqlite.org/security.html advises), and what it would act on by itself is looked at first: the
 * files beside it, and the schema.
 *
 * RULE: The database of sessions may be anybody's: a schema that is not ours is refused, journals that
 *     somebody put beside it too, and a statement that takes too long is ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "base/place.h"
#include "store/db_private.h"
#include "store/schema.h"

#define NAME     "sessions.db"
#define LATE_OPS 4000 /* instructions of SQLite between two looks at the clock: less than 1 ms */

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

/* SQLite opens these by their names and does what a journal says: it would remove the file that one names.
 * There is never a journal of ours. */
static int check_beside(const char *path, struct error *err)
{
    static const char *const names[] = {"-wal", "-shm", "-journal"};
    struct stat st;

    for (size_t i = 0; i < countof(names); i++) {
        autofree char *beside = xasprintf("%s%s", path, names[i]);

        if (lstat(beside, &st) < 0 && errno == ENOENT)
            continue;
        if (!strcmp(names[i], "-journal") || !S_ISREG(st.st_mode) || st.st_nlink > 1
            || (st.st_uid != geteuid() && st.st_uid != 0))
            return error_set(err, ERROR_SYSTEM, EUCLEAN, "%s is not of sandpiper's making\nMove it away.",
                             beside);
    }
    return 0;
}

struct sqlite_setting {
    int what, value;
};
static const struct sqlite_setting config[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_ENABLE_FKEY, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},
    /* The log is moved into the main file by db_tidy(), not at some moment while an answer streams. */
    {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
};
/* Some more than this program needs. */
static const struct sqlite_setting limits[] = {
    {SQLITE_LIMIT_LENGTH, DB_VALUE_MAX}, {SQLITE_LIMIT_SQL_LENGTH, 64 << 10},
    {SQLITE_LIMIT_COLUMN, 64},           {SQLITE_LIMIT_EXPR_DEPTH, 100},
    {SQLITE_LIMIT_COMPOUND_SELECT, 4},   {SQLITE_LIMIT_VDBE_OP, 25000},
    {SQLITE_LIMIT_FUNCTION_ARG, 16},     {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 64},  {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},     {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static void distrust(struct db *db)
{
    for (size_t i = 0; i < countof(config); i++)
        db->api->db_config(db->sq, config[i].what, config[i].value, NULL);
    for (size_t i = 0; i < countof(limits); i++)
        db->api->limit(db->sq, limits[i].what, limits[i].value);
    db->api->busy_timeout(db->sq, DB_BUSY_MS);
    db->api->progress_handler(db->sq, LATE_OPS, db_is_late, db);
}

/* path is borrowed. NULL with err. */
static struct db *open_file(const char *path, struct error *err)
{
    const struct sqlite_api *api = sqlite_load(err);

    if (!api)
        return NULL;
    struct db *db = xcalloc(1, sizeof *db);
    db->api = api;
    db->path = xstrdup(path);
    db->patience_ms = DB_TIME_MS;
    if (!db_failed(db,
                   api->open_v2(path, &db->sq,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL))) {
        distrust(db);
        return db;
    }
    db_check(db, err);
    db_close(db);
    return NULL;
}

/* ---- the schema */

static const struct schema_part *part_named(const char *name)
{
    for (size_t i = 0; i < schema_count; i++)
        if (!strcmp(schema_parts[i].name, name))
            return &schema_parts[i];
    return NULL;
}

static int other_schema(const struct db *db, const char *what, const char *name, struct error *err)
{
    return error_set(
        err, ERROR_SYSTEM, EUCLEAN,
        "%s has %s%s%.60s%s and was not read\nIts sessions are as they were. Move it away to begin "
        "a new one.",
        db->path, what, *name ? " \"" : "", name, *name ? "\"" : "");
}

/* Is it what this program makes, each part as it makes it, and nothing else? */
static int check_parts(struct db *db, struct error *err)
{
    struct db_rows r = db_query(db, "SELECT name, sql FROM sqlite_master", "");
    size_t found = 0;

    while (db_next(&r)) {
        const char *name = db_text(&r, 0, NULL), *sql = db_text(&r, 1, NULL);
        const struct schema_part *part = name ? part_named(name) : NULL;

        if (!sql) /* the index of a UNIQUE, which has no definition of its own */
            continue;
        if (part && !strcmp(sql, part->sql)) {
            found++;
            continue;
        }
        other_schema(db, "something that sandpiper did not make,", name ? name : "", err);
        db_done(&r);
        return -1;
    }
    if (db_check(db, err) < 0)
        return -1;
    return found == schema_count ? 0 : other_schema(db, "not all tables of sandpiper", "", err);
}

static int check_schema(struct db *db, struct error *err)
{
    int64_t application = db_number(db, "PRAGMA application_id", "");
    int64_t version = db_number(db, "PRAGMA user_version", "");

    if (db_check(db, err) < 0)
        return -1;
    if (application != SCHEMA_APPLICATION)
        return error_set(err, ERROR_SYSTEM, EUCLEAN, "%s is not a database of sandpiper\nMove it away.",
                         db->path);
    if (version != SCHEMA_VERSION)
        return error_set(
            err, ERROR_SYSTEM, ENOTSUP,
            "%s was made by %s sandpiper and was not read\nMove it away to begin a new one; that "
            "sandpiper can still read it.",
            db->path, version > SCHEMA_VERSION ? "a newer" : "an older");
    return check_parts(db, err);
}

/* ---- a new file */

static int make_parts(const char *path, struct error *err)
{
    struct db *db autorelease(db_closep) = open_file(path, err);
    char line[96];

    if (!db)
        return -1;
    /* nobody knows the file yet, so that it needs neither a journal nor the disk */
    db_script(db, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN");
    for (size_t i = 0; i < schema_count; i++)
        if (!schema_parts[i].implied)
            db_script(db, schema_parts[i].sql);
    snprintf(line, sizeof line, "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
             SCHEMA_APPLICATION, SCHEMA_VERSION);
    db_script(db, line);
    return db_check(db, err);
}

/* It gets its name when it is whole. Another program may have made it meanwhile: then that one counts. */
static int make_file(const char *folder, struct error *err)
{
    struct newfile f autorelease(newfile_release) = NEWFILE_INIT;
    static const char wal[] = {2,
                               2}; /* the log that it is written with (sqlite.org/fileformat2.html, 1.3.3) */

    if (newfile_open_hidden(&f, folder, 0600) < 0)
        return error_errno(err, "%s", folder);
    autofree char *path = xasprintf("%s/%s", folder, f.temp);
    if (make_parts(path, err) < 0)
        return -1;
    if (pwrite(f.fd, wal, sizeof wal, 18) != sizeof wal || fdatasync(f.fd) < 0
        || (newfile_name(&f, NAME) < 0 && errno != EEXIST))
        return error_errno(err, "%s/" NAME, folder);
    return 0;
}

/* Is there a file of ours that nobody else can read? It is looked at before SQLite has locks: closing any
 * descriptor of a file drops them. */
static int look_at_file(const char *folder, const char *path, bool make, struct error *err)
{
    struct error why = {0};
    autoclose int fd = place_open(path, O_RDWR, &why);

    if (fd < 0 && why.code == ENOENT && make) {
        if (make_file(folder, err) < 0)
            return -1;
        fd = place_open(path, O_RDWR, &why);
    }
    if (fd >= 0)
        return check_beside(path, err);
    if (err)
        *err = why;
    return -1;
}

struct db *db_open(const char *folder, bool make, struct error *err)
{
    autofree char *real = real_folder(folder, make, err);
    autofree char *path = real ? xasprintf("%s/" NAME, real) : NULL;
    struct db *db = path && look_at_file(real, path, make, err) == 0 ? open_file(path, err) : NULL;

    if (!db)
        return NULL;
    if (check_schema(db, err) == 0) {
        db_script(db, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-512; "
                      "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; "
                      "PRAGMA journal_mode=WAL");
        if (db_check(db, err) == 0)
            return db;
    }
    db_close(db);
    return NULL;
}
