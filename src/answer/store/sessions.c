/* sessions.c - lists of sessions, the search, and removal. */
#include "store/sessions.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/private.h"

/* A file of anybody's may have anything in them; nobody has to read more than this. */
#define ROW                                                                                             \
    "SELECT substr(s.id,1,64), substr(s.title,1,200), substr(s.folder,1,4096), substr(s.model,1,200), " \
    "substr(s.parent,1,64), substr(s.writer,1,300), s.begun, s.used, (SELECT count(*) FROM question q " \
    "WHERE q.session=s.n AND q.state=0), (SELECT count(*) FROM cell c WHERE c.session=s.n)"

#define WORDS_MAX 20
#define FOUND_MAX 50 /* sessions that a search shows */

const char *session_short(const char *id)
{
    const char *dash = strrchr(id, '-');

    return dash ? dash + 1 : id;
}

char *session_folder(const char *sessions, const char *id)
{
    const char *tail = session_short(id);

    /* an id becomes the name of a folder, which may be removed with all that is in it */
    if (!sessions || strspn(id, "0123456789abcdef-") != strlen(id) || !*tail)
        return NULL;
    return xasprintf("%s/%s", sessions, tail);
}

static void give_row(struct db_rows *r, const char *found, struct session_taker to)
{
    char *text[] = {db_copy(r, 0), db_copy(r, 1), db_copy(r, 2), db_copy(r, 3), db_copy(r, 4), db_copy(r, 5)};
    struct session_row row = {.id = text[0] ? text[0] : "",
                              .title = text[1],
                              .folder = text[2],
                              .model = text[3],
                              .parent = text[4],
                              .writer = text[5],
                              .begun = db_int(r, 6),
                              .used = db_int(r, 7),
                              .questions = db_int(r, 8),
                              .cells = db_int(r, 9),
                              .found = found};

    to.row(to.ctx, &row);
    for (size_t i = 0; i < countof(text); i++)
        free(text[i]);
}

static int all_rows(struct db_rows r, const char *found, struct session_taker to, struct error *err)
{
    while (db_next(&r))
        give_row(&r, found, to);
    return db_check(r.db, err);
}

int sessions_list(struct db *db, int64_t max, struct session_taker to, struct error *err)
{
    struct db_rows r = db_query(db, ROW " FROM session s ORDER BY s.used DESC, s.n DESC LIMIT ?", "i",
                                max > 0 ? max : INT64_C(-1));

    return all_rows(r, NULL, to, err);
}

int sessions_before(struct db *db, int64_t time, struct session_taker to, struct error *err)
{
    struct db_rows r = db_query(db, ROW " FROM session s WHERE s.used<? ORDER BY s.used", "i", time);

    return all_rows(r, NULL, to, err);
}

int session_row(struct db *db, const char *id, struct session_taker to, struct error *err)
{
    int64_t n = session_by_id(db, id, err);

    if (!n)
        return -1;
    return all_rows(db_query(db, ROW " FROM session s WHERE s.n=?", "i", n), NULL, to, err);
}

/* What is indexed, by the number of its last row that is. Numbers are used again once the rows behind them
 * are gone: then less is marked. */
static const struct {
    const char *add, *mark, *mark_less;
} indexed[] = {
#define UPTO(table) "(SELECT coalesce(max(n), 0) FROM upto WHERE what='" table "')"
#define MARKS(table, row)                                                                    \
    "INSERT OR REPLACE INTO upto SELECT '" table "', coalesce(max(" row "), 0) FROM " table, \
        "UPDATE upto SET n=min(n, (SELECT coalesce(max(" row "), 0) FROM " table ")) WHERE what='" table "'"
    {"INSERT INTO words(text, session) SELECT text, session FROM turn WHERE role<2 AND agent='' AND n>" UPTO(
         "turn"),
     MARKS("turn", "n")},
    {"INSERT INTO words(text, session) SELECT code, session FROM cell WHERE row>" UPTO("cell"),
     MARKS("cell", "row")},
    {"INSERT INTO words(text, session) SELECT text, session FROM output WHERE n>" UPTO("output"),
     MARKS("output", "n")},
#undef MARKS
#undef UPTO
};

/* Only a search does this, so that saving costs nothing for the index. */
static void update_index(struct db *db)
{
    for (size_t i = 0; i < countof(indexed); i++)
        if (db_run(db, indexed[i].add, ""))
            db_run(db, indexed[i].mark, "");
}

/* Each word quoted, so that nothing in it is an operator of the search; the last one may go on. */
static void quote_words(struct buf *out, const char *words)
{
    for (int n = 0; *words && n < WORDS_MAX; n++) {
        size_t len = strcspn(words, " \t\r\n");

        if (len) {
            buf_addstr(out, out->len ? " \"" : "\"");
            for (size_t i = 0; i < len; i++)
                if (words[i] != '"')
                    buf_addch(out, words[i]);
            buf_addch(out, '"');
        }
        words += len + strspn(words + len, " \t\r\n");
    }
    if (out->len)
        buf_addch(out, '*');
}

/* The best place of each session. */
static int tell_found(struct db *db, const char *query, struct session_taker to, struct error *err)
{
    struct db_rows r = db_query(db,
                                "SELECT session, substr(snippet(words, 0, '', '', '...', 12),1,400) FROM "
                                "words WHERE words MATCH ? ORDER BY rank "
                                "LIMIT 1000",
                                "s", query);
    int64_t seen[FOUND_MAX];
    size_t n = 0;

    while (db_next(&r)) {
        int64_t session = db_int(&r, 0);
        size_t i = 0;

        while (i < n && seen[i] != session)
            i++;
        if (i < n || n == FOUND_MAX)
            continue;
        seen[n++] = session;
        autofree char *found = db_copy(&r, 1);
        all_rows(db_query(db, ROW " FROM session s WHERE s.n=?", "i", session), found, to, err);
    }
    return db_check(db, err);
}

int sessions_search(struct db *db, const char *words, struct session_taker to, struct error *err)
{
    struct buf query autorelease(buf_release) = BUF_INIT(4096);

    quote_words(&query, words);
    if (!query.len)
        return error_set(err, ERROR_USAGE, 0, "nothing to search for");
    db_patience(db, DB_PATIENCE_MS);
    if (db_begin(db)) {
        update_index(db);
        db_commit(db);
    }
    int status = tell_found(db, buf_str(&query), to, err);
    db_patience(db, DB_TIME_MS);
    return status;
}

int session_remove(struct db *db, const char *id, struct error *err)
{
    static const char *const tables[] = {
        "DELETE FROM question WHERE session=?", "DELETE FROM turn WHERE session=?",
        "DELETE FROM cell WHERE session=?",     "DELETE FROM output WHERE session=?",
        "DELETE FROM file WHERE session=?",     "DELETE FROM piece WHERE session=?",
        "DELETE FROM session WHERE n=?",
    };
    int64_t n = session_by_id(db, id, err);

    db_patience(db, DB_PATIENCE_MS);
    /* what is removed is overwritten, and leaves the log too */
    db_run(db, "PRAGMA secure_delete=ON", "");
    if (!n || !db_begin(db))
        return n ? db_check(db, err) : -1;
    for (size_t i = 0; i < countof(tables); i++)
        db_run(db, tables[i], "i", n);
    db_run(db, "DELETE FROM words WHERE session=?", "i", n);
    db_run(db, "INSERT INTO words(words) VALUES('optimize')", "");
    for (size_t i = 0; i < countof(indexed); i++)
        db_run(db, indexed[i].mark_less, "");
    if (!db_commit(db))
        return db_check(db, err);
    db_tidy(db, true);
    db_patience(db, DB_TIME_MS);
    return 0;
}
