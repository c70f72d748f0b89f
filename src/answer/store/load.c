/* load.c - finds a saved session, and makes its conversation again. The file may be damaged or anybody's: all
 * of it is checked before it is used.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "conversation/conversation.h"
#include "store/private.h"

#define TURNS_MAX   100000
#define NUMBER_MAX  (INT64_C(1) << 61) /* of a row that is not damaged: there is room for more behind it */
#define LOADED_MAX  ((size_t)64 << 20) /* bytes of a conversation */
#define CUT_BY_KILL "Not run: the program was killed."

#define FOUND                                                                                               \
    "SELECT substr(s.id,1,64), substr(s.title,1,200), substr(s.folder,1,4096), substr(s.sandbox,1,300), "   \
    "substr(s.writer,1,300), s.used, (SELECT count(*) FROM question q WHERE q.session=s.n AND q.state=0), " \
    "(SELECT count(*) FROM cell c WHERE c.session=s.n), s.n FROM session s "

/* What stands last in session ?1. */
#define LAST                                                                                                 \
    "SELECT substr(q.text,1,1048576), substr(q.answer,1,1048576), (SELECT group_concat(code, "               \
    "char(10,10)) FROM (SELECT substr(c.code,1,1048576) AS code FROM cell c WHERE c.session=q.session AND "  \
    "c.question=q.number AND c.call_id<>'' ORDER BY c.n LIMIT 100)) FROM question q WHERE q.session=?1 AND " \
    "q.state=0 AND q.status IS NOT NULL ORDER BY q.number DESC LIMIT 1"

int64_t session_by_id(struct db *db, const char *id, struct error *err)
{
    int64_t n = 0, hits = 0;
    /* the part behind the time is what is shown, since it is short; no wildcards: compared as text */
    struct db_rows r = db_query(db,
                                "SELECT n, id=?1 FROM session WHERE substr(id,1,length(?1))=?1 OR "
                                "substr(id,17,length(?1))=?1 ORDER BY 2 DESC, used DESC LIMIT 2",
                                "s", id);

    while (db_next(&r)) {
        if (hits++ == 0)
            n = db_int(&r, 0);
        if (hits == 1 && db_int(&r, 1)) {
            db_done(&r);
            break;
        }
    }
    if (db_check(db, err) < 0)
        return 0;
    if (hits == 0)
        error_set(err, ERROR_USAGE, ENOENT, "no session \"%.60s\"\nsandpiper sessions lists them", id);
    else if (hits > 1)
        error_set(err, ERROR_USAGE, 0,
                  "more than one session begins with \"%.60s\"\nsandpiper sessions lists them", id);
    return hits == 1 ? n : 0;
}

void store_found_release(struct store_found *f)
{
    free(f->id);
    free(f->title);
    free(f->folder);
    free(f->sandbox);
    free(f->writer);
    free(f->question);
    free(f->answer);
    free(f->code);
    free(f->lock);
    *f = (struct store_found){0};
}

static void find_last(struct db *db, int64_t session, struct store_found *f)
{
    struct db_rows r = db_query(db, LAST, "i", session);

    if (!db_next(&r))
        return;
    f->question = db_copy(&r, 0);
    f->answer = db_copy(&r, 1);
    f->code = db_copy(&r, 2);
    db_done(&r);
}

/* What its last code ran in says which packages it had. */
static void find_lock(struct db *db, int64_t session, struct store_found *f)
{
    struct db_rows r = db_query(
        db, "SELECT place FROM cell WHERE session=? AND place IS NOT NULL ORDER BY n DESC LIMIT 1", "i",
        session);

    if (!db_next(&r))
        return;
    autofree char *place = db_copy(&r, 0);
    autojson struct json *o = place ? json_parse(place, strlen(place), 0, NULL, NULL) : NULL;

    f->lock = xstrdup(json_str(json_get(o, "with")));
    db_done(&r);
}

static bool take_found(struct db_rows *r, struct store_found *f, int64_t *session)
{
    if (!db_next(r))
        return false;
    f->id = db_copy(r, 0);
    f->title = db_copy(r, 1);
    f->folder = db_copy(r, 2);
    f->sandbox = db_copy(r, 3);
    f->writer = db_copy(r, 4);
    f->used = db_int(r, 5);
    f->questions = db_int(r, 6);
    f->cells = db_int(r, 7);
    *session = db_int(r, 8);
    db_done(r);
    return f->id && f->folder;
}

int store_find(const char *place, const char *id, const char *folder, struct store_found *f,
               struct error *err)
{
    struct error why = {0};
    struct db *db autorelease(db_closep) = db_open(place, false, &why);

    *f = (struct store_found){0};
    if (!db && why.code != ENOENT) {
        *err = why;
        return -1;
    }
    int64_t n = id ? session_by_id(db, id, err) : 0;
    if (id && !n)
        return -1;
    struct db_rows r = id ? db_query(db, FOUND "WHERE s.n=?", "i", n)
                          : db_query(db, FOUND "WHERE s.folder=? ORDER BY s.used DESC, s.n DESC LIMIT 1", "s",
                                     folder);
    if (take_found(&r, f, &n)) {
        find_last(db, n, f);
        find_lock(db, n, f);
        return 0;
    }
    store_found_release(f);
    return db_check(db, err) < 0 ? -1
                                 : error_set(err, ERROR_USAGE, ENOENT,
                                             "no saved session in this folder\n"
                                             "sandpiper sessions lists those of other folders (-r ID "
                                             "continues one).");
}

/* -1: it is not what calls_text() wrote. */
static int load_calls(struct turn *t, const char *text, size_t len)
{
    autojson struct json *list = text ? json_parse(text, len, 0, NULL, NULL) : NULL;

    if (!text)
        return 0;
    if (json_type(list) != JSON_ARRAY)
        return -1;
    t->calls = xcalloc(json_size(list) + 1, sizeof *t->calls);
    for (const struct json *o = json_first(list); o; o = json_next(o)) {
        struct call *c = &t->calls[t->n_calls++];

        c->id = xstrdup(json_str(json_get(o, "id")));
        c->name = xstrdup(json_str(json_get(o, "name")));
        c->arguments = xstrdup(json_str(json_get(o, "arguments")));
        c->extra = xstrdup(json_str(json_get(o, "extra")));
    }
    return 0;
}

#define IMAGES_MOST 100

/* -1: it is not what images_text() wrote. */
static int take_images(struct turn *t, const char *text, size_t len)
{
    autojson struct json *list = text ? json_parse(text, len, 0, NULL, NULL) : NULL;

    if (!text)
        return 0;
    if (json_type(list) != JSON_ARRAY || json_size(list) > IMAGES_MOST)
        return -1;
    t->images = xcalloc(json_size(list) + 1, sizeof *t->images);
    for (const struct json *o = json_first(list); o; o = json_next(o))
        t->images[t->n_images++] = (struct turn_image){.name = xstrdup(json_str(json_get(o, "name"))),
                                                       .path = xstrdup(json_str(json_get(o, "path"))),
                                                       .size = json_int(json_get(o, "size"), 0),
                                                       .modified = json_int(json_get(o, "modified"), 0)};
    return 0;
}

static int take_turn(struct saved_thread *h, const struct db_rows *r)
{
    int64_t role = db_int(r, 2), result = db_int(r, 7), aside = db_int(r, 4);
    size_t length, len;
    const char *text = db_text(r, 3, &length), *sent = db_text(r, 13, NULL);
    struct turn t = {.role = (enum turn_role)role, .serial = (uint64_t)db_int(r, 0)};

    if (role < TURN_USER || role > TURN_RESULT || result < 0 || result > RESULT_NO_MORE || !text
        || db_int(r, 1) <= 0)
        return -1;
    t.text = xstrdup(sent ? sent : text);
    t.aside = aside > 0 && (size_t)aside <= strlen(t.text) ? (size_t)aside : 0;
    t.result = (enum result_kind)result;
    if (role == TURN_RESULT && !(t.call_id = db_copy(r, 6)))
        t.call_id = xstrdup("");
    const char *calls = role == TURN_ASSISTANT ? db_text(r, 5, &len) : NULL;
    int status = load_calls(&t, calls, calls ? len : 0);
    const char *images = role != TURN_ASSISTANT ? db_text(r, 14, &len) : NULL;
    status |= take_images(&t, images, images ? len : 0);
    if (role == TURN_ASSISTANT) {
        t.reasoning = db_copy(r, 8);
        t.reasoning_field = db_copy(r, 9);
        t.reasoning_items = db_copy(r, 10);
        t.origin = db_copy(r, 11);
    }
    conversation_restore(h->c, &t);
    sync_loaded(h, db_int(r, 1), length);
    return status;
}

static int load_turns(struct store *s, struct saved_thread *h, int64_t session, int64_t skip)
{
    struct db_rows r = db_query(
        s->db,
        "SELECT serial, place, role, text, aside, calls, call_id, result, reasoning, "
        "reasoning_field, reasoning_items, origin, n, sent, images FROM turn WHERE session=? "
        "AND agent=? AND state=0 AND question<>? ORDER BY place, n",
        "isi", session, h->agent, skip);
    size_t bytes = 0;

    while (db_next(&r)) {
        if (take_turn(h, &r) < 0 || h->c->n > TURNS_MAX
            || (bytes += strlen(h->c->v[h->c->n - 1].text)) > LOADED_MAX) {
            db_done(&r);
            return -1;
        }
    }
    return 0;
}

bool add_pieces(struct db *db, int64_t session, struct buf *out)
{
    struct db_rows r = db_query(db, "SELECT text FROM piece WHERE session=? ORDER BY n", "i", session);

    while (db_next(&r))
        buf_addstr(out, db_text(&r, 0, NULL) ? db_text(&r, 0, NULL) : "");
    if (!out->len)
        return false;
    buf_addstr(out, "\n[interrupted]");
    return true;
}

/* What was shown of a reply that a kill cut off stays. */
static void take_pieces(struct store *s, int64_t session)
{
    struct conversation *c = s->v[0].c;
    struct buf text autorelease(buf_release) = BUF_INIT(LOADED_MAX);

    s->pieces = add_pieces(s->db, session, &text);
    if (s->pieces && c->n && c->v[c->n - 1].role != TURN_ASSISTANT)
        conversation_assistant(c, buf_str(&text), NULL, 0);
}

/* -1: no row of ours has such a number. */
static int64_t number(struct store *s, const char *sql, int64_t session, const char *agent)
{
    int64_t n = agent ? db_number(s->db, sql, "is", session, agent) : db_number(s->db, sql, "i", session);

    return n >= 0 && n <= NUMBER_MAX ? n : -1;
}

/* Would a service take this history with one more question behind it? */
static int check_loaded(struct conversation *c, struct error *err)
{
    conversation_close_open_calls(c, CUT_BY_KILL);
    conversation_interrupted(c);
    size_t n = c->n;
    if (n && c->v[n - 1].role == TURN_USER)
        return conversation_check(c, err);
    conversation_user(c, "?", 1);
    int status = conversation_check(c, err);
    conversation_truncate(c, n);
    return status;
}

void store_forget(struct store *s)
{
    for (size_t i = 0; i < s->n_threads; i++)
        conversation_truncate(s->v[i].c, 0);
}

static bool load_thread(struct store *s, struct saved_thread *h, int64_t session, int64_t skip)
{
    int64_t serial = number(s, "SELECT max(serial) FROM turn WHERE session=? AND agent=?", session, h->agent);

    h->place = number(s, "SELECT max(place) FROM turn WHERE session=? AND agent=?", session, h->agent);
    if (serial < 0 || h->place < 0)
        return false;
    h->c->serial = h->serial = (uint64_t)serial;
    return load_turns(s, h, session, skip) == 0;
}

int load_session(struct store *s, int64_t session, int64_t skip, struct error *err)
{
    struct error why = {0};

    s->first_question = number(s, "SELECT max(number) FROM question WHERE session=?", session, NULL);
    s->first_cell = number(s, "SELECT max(n) FROM cell WHERE session=?", session, NULL);
    bool whole = s->first_question >= 0 && s->first_cell >= 0;
    for (size_t i = 0; i < s->n_threads && whole; i++)
        whole = load_thread(s, &s->v[i], session, skip);
    if (whole && skip < 0 && db_check(s->db, err) == 0)
        take_pieces(s, session);
    if (db_check(s->db, err) == 0 && whole) {
        for (size_t i = 0; i < s->n_threads && whole; i++)
            whole = check_loaded(s->v[i].c, &why) == 0;
        if (whole)
            return 0;
    }
    store_forget(s);
    if (db_error(s->db))
        return -1;
    return error_set(err, ERROR_SYSTEM, EUCLEAN,
                     "session %s cannot be continued: what is saved of it is damaged%s%s", s->o.id,
                     *why.text ? ": " : "", why.text);
}
