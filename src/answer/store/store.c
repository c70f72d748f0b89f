/* store.c - writes events into the database. Every event first brings the saved conversation up to date,
 * which costs one comparison where nothing has changed, and then saves what the event itself tells. A disk
 * that is full or fails is told once, and saving ends (give_up).
 *
 * RULE: Every message that is shown as complete is saved before. A full disk loses what cannot be stored,
 *     never the answer.
 */
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/beneath.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "conversation/language.h"
#include "json/json.h"
#include "process/loop.h"
#include "store/private.h"

#define TITLE_MAX 200

struct store *store_new(const struct store_options *o, struct conversation *c, struct loop *loop)
{
    struct store *s = xmalloc(sizeof *s);

    *s = (struct store){.o = *o, .lost = o->read_only, .loop = loop};
    s->o.place = xstrdup(o->place);
    s->o.id = xstrdup(o->id);
    s->o.folder = xstrdup(o->folder);
    s->o.sandbox = xstrdup(o->sandbox);
    s->o.writer = xstrdup(o->writer);
    store_agent(s, "", c);
    return s;
}

void store_agent(struct store *s, const char *agent, struct conversation *c)
{
    bool known = false;

    for (size_t i = 0; i < s->n_threads; i++)
        known |= !strcmp(s->v[i].agent, agent);
    if (!known && s->n_threads < STORE_AGENTS_MAX)
        s->v[s->n_threads++] = (struct saved_thread){.c = c, .agent = xstrdup(agent)};
}

static void stop_timer(struct store *s)
{
    if (s->timer)
        loop_timer_stop(s->loop, s);
    s->timer = false;
}

/* Another program holds the lock, or the user did not want to wait. */
static bool passes(const struct error *err)
{
    return err->code == EBUSY || err->kind == ERROR_CANCELLED;
}

/* Saving ends here, with one line. What passes is given up only until the next question, or the end: then
 * the conversation is brought up to date. */
static void stop_saving(struct store *s, const struct error *err)
{
    autofree char *line = xasprintf(passes(err) ? "%s: this session is not saved for the moment"
                                                : "%s: from here on this session is not saved",
                                    err->text);

    if (!s->lost && s->o.notice)
        s->o.notice(s->o.ctx, line);
    s->lost = true;
    stop_timer(s);
}

static void close_db(struct store *s)
{
    db_close(s->db);
    s->db = NULL;
}

/* True: the database is open, and the session is in it. */
static bool ready(struct store *s)
{
    struct error err = {0};
    int64_t now = (int64_t)time(NULL);

    if (s->lost)
        return false;
    if (s->db && s->n)
        return true;
    if (!s->db && !(s->db = db_open(s->o.place, true, &err))) {
        stop_saving(s, &err);
        return false;
    }
    if (s->n)
        return true;
    db_run(s->db,
           "INSERT INTO session(id, begun, used, folder, model, sandbox, writer) VALUES(?,?,?,?,?,?,?)",
           "siissss", s->o.id, now, now, s->o.folder, s->model, s->o.sandbox, s->o.writer);
    if (!db_error(s->db))
        s->n = db_last_id(s->db);
    return s->n != 0;
}

static char *good_text(const char *text, size_t len)
{
    struct buf b = BUF_INIT(0);

    utf8_repair(&b, text, len);
    return buf_steal(&b, NULL);
}

/* Everything below runs in one transaction for each event. */

/* What is to be written of b, which keeps the beginning of a character whose rest may still come; all of
 * it at the end of what b collects. NULL: nothing. The caller frees. */
static char *take_collected(struct buf *b, bool end)
{
    size_t n = b->len - (end ? 0 : utf8_unfinished(buf_str(b), b->len));
    char *text = n ? good_text(b->data, n) : NULL;

    buf_drop(b, n);
    return text;
}

static void flush_pieces(struct store *s, bool end)
{
    autofree char *text = take_collected(&s->text, end), *output = take_collected(&s->output, end);

    if (text) {
        db_run(s->db, "INSERT INTO piece(session, text) VALUES(?,?)", "is", s->n, text);
        s->pieces = true;
    }
    if (output)
        db_run(s->db, "INSERT INTO output(session, cell, stream, text) VALUES(?,?,?,?)", "iiis", s->n,
               s->cell, (int64_t)s->stream, output);
}

static void drop_pieces(struct store *s)
{
    buf_clear(&s->text);
    if (s->pieces)
        db_run(s->db, "DELETE FROM piece WHERE session=?", "i", s->n);
    s->pieces = false;
}

static void on_question(struct store *s, const struct event *e)
{
    size_t len = e->asked.len;
    int64_t now = (int64_t)time(NULL);
    autofree char *text = good_text(e->asked.text, len);
    const char *line = text + strspn(text, " \t\r\n");
    size_t end = strcspn(line, "\r\n");
    autofree char *title = xmemdup0(line, utf8_cut(line, end, end < TITLE_MAX ? end : TITLE_MAX));

    db_run(s->db,
           "INSERT OR REPLACE INTO question(session, number, time, text, model, service) VALUES(?,?,?,?,?,?)",
           "iiisss", s->n, s->question, now, text, s->model, s->service);
    db_run(s->db, "UPDATE session SET used=?, model=?, title=coalesce(title, ?) WHERE n=?", "issi", now,
           s->model, title, s->n);
}

static void on_call(struct store *s, const struct event *e)
{
    flush_pieces(s, true);
    if (!e->call.cell || !e->call.code)
        return;
    s->cell = s->first_cell + e->call.cell;
    s->printed = 0;
    s->language = e->call.language;
    db_run(s->db, "INSERT OR REPLACE INTO cell(session, n, question, call_id, code) VALUES(?,?,?,?,?)",
           "iiiss", s->n, s->cell, s->question, e->call.id, e->call.code);
}

/* What the cell ran in: another language is a part of it. The caller frees. */
static char *place_of_cell(const struct store *s)
{
    if (language_is_python(s->language))
        return xstrdup(s->place);
    autojson struct json *o = s->place ? json_parse(s->place, strlen(s->place), 0, NULL, NULL) : NULL;

    o = o ? o : json_object();
    json_set_str(o, "language", s->language->tags[0]);
    return json_print(o);
}

char *store_language(const char *place)
{
    autojson struct json *o = place ? json_parse(place, strlen(place), 0, NULL, NULL) : NULL;

    return xstrdup(json_text(json_get(o, "language")));
}

static void on_result(struct store *s, const struct event *e)
{
    const struct cell_result *r = e->result.r;
    autofree char *what = cell_what(r), *place = place_of_cell(s);

    flush_pieces(s, true);
    if (!e->result.cell)
        return;
    db_run(s->db,
           "UPDATE cell SET status=?, exit_code=?, lost=?, value=?, exception=?, traceback=?, what=?, "
           "told=?, seconds=?, place=?, packages=?, fresh=? WHERE session=? AND n=?",
           "iiisssssdssiii", (int64_t)r->status, (int64_t)r->exit_code,
           (int64_t)(!r->state_lost && !r->files_lost ? LOST_NOTHING
                     : r->earlier                     ? LOST_BEFORE
                                                      : LOST_BY),
           r->value, r->exception, r->traceback, what, e->result.model_text, r->seconds, place, r->packages,
           (int64_t)s->fresh, s->n, s->first_cell + e->result.cell);
    s->fresh = false;
    for (size_t i = 0; i < r->n_files; i++)
        db_run(s->db,
               "INSERT INTO file(session, cell, name, path, size, figure, modified) VALUES(?,?,?,?,?,?,?)",
               "iissiii", s->n, s->first_cell + e->result.cell, r->files[i].name, r->files[i].path,
               (int64_t)r->files[i].size, (int64_t)r->files[i].kind, noted_time_of(r->files[i].path));
}

static void on_added(struct store *s, const struct event *e)
{
    const char *path = e->file.path ? e->file.path : "";
    autofree char *whole = *path && *path != '/' ? xasprintf("%s/%s", s->o.folder, path) : xstrdup(path);

    db_run(s->db,
           "INSERT INTO file(session, cell, name, path, size, figure, kept, modified, after) "
           "VALUES(?,0,?,?,?,0,?,?,?)",
           "issisii", s->n, e->file.name, whole, (int64_t)e->file.size, e->file.kept, e->file.modified,
           s->cell > s->first_cell ? s->cell : s->first_cell);
}

static void note_done(struct store *s, const struct event *e)
{
    drop_pieces(s);
    db_run(s->db,
           "UPDATE question SET status=?, answer=?, error=?, input=?, output=?, seconds=? WHERE session=? "
           "AND number=?",
           "issiidii", (int64_t)e->done.status, e->done.answer, e->done.error, e->done.usage.input,
           e->done.usage.output, e->done.seconds, s->n, s->question);
}

/* The variables of all cells so far are lost. */
static void on_reset(struct store *s, const struct event *e)
{
    (void)e;
    db_run(s->db, "UPDATE cell SET lost=? WHERE session=? AND n=(SELECT max(n) FROM cell WHERE session=?)",
           "iii", (int64_t)LOST_BY, s->n, s->n);
}

static void on_reply_end(struct store *s, const struct event *e)
{
    (void)e;
    drop_pieces(s);
}

typedef void handler_fn(struct store *s, const struct event *e);

/* How an event is saved, beyond what it did to the conversation. NULL: not at all. */
static handler_fn *handler_of(const struct event *e)
{
    static handler_fn *const handlers[] = {
        [EVENT_QUESTION] = on_question,  [EVENT_REPLY_END] = on_reply_end, [EVENT_TOOL_CALL] = on_call,
        [EVENT_TOOL_RESULT] = on_result, [EVENT_DONE] = note_done,         [EVENT_RESET] = on_reset,
        [EVENT_ADDED] = on_added,
    };

    return (size_t)e->type < countof(handlers) ? handlers[e->type] : NULL;
}

static void save(struct store *s, const struct event *e)
{
    handler_fn *handler = handler_of(e);

    sync_vanished(s, e->type == EVENT_DONE ? SAVED_WITHDRAWN : SAVED_LEFT);
    if (handler)
        handler(s, e);
}

/* After a failure: why, once. */
static bool commit(struct store *s)
{
    if (db_commit(s->db))
        return true;
    struct error err = *db_error(s->db);
    close_db(s);
    stop_saving(s, &err);
    if (passes(&err))
        s->lost = false; /* tried again with the next question; ready() opens it */
    return false;
}

static void on_timer(void *ctx)
{
    struct store *s = ctx;

    s->timer = false;
    if (!ready(s) || !db_begin(s->db)) {
        buf_clear(&s->text);
        buf_clear(&s->output);
        return;
    }
    sync_turns(s);
    flush_pieces(s, false);
    commit(s);
}

/* What streams is only collected here. */
static void collect(struct store *s, struct buf *into, const char *text, size_t len)
{
    buf_add(into, text, len);
    if (!s->timer)
        loop_timer(s->loop, clock_ms() + STORE_PIECE_MS, on_timer, s);
    s->timer = true;
}

static void collect_output(struct store *s, const struct event *e)
{
    size_t len = e->output.len, room = STORE_OUTPUT_MAX - s->printed;

    if (s->output.len && s->stream != e->output.stream && ready(s) && db_begin(s->db)) {
        flush_pieces(s, true);
        if (!commit(s))
            return;
    }
    s->stream = e->output.stream;
    len = len < room ? len : room;
    s->printed += len;
    if (len)
        collect(s, &s->output, e->output.text, len);
}

static bool begins(const struct event *e)
{
    return e->type == EVENT_QUESTION || e->type == EVENT_TOOL_CALL || e->type == EVENT_ADDED;
}

/* Is it of an agent whose words are no answer? They are saved with its conversation alone. */
static bool of_another(const struct store *s, const char *agent)
{
    for (size_t i = 1; agent && i < s->n_threads; i++)
        if (!strcmp(s->v[i].agent, agent))
            return true;
    return false;
}

static void note_service(struct store *s, const struct event *e)
{
    xreplace(&s->model, xstrdup(e->session.model));
    xreplace(&s->service, xstrdup(e->session.endpoint));
}

static void note_place(struct store *s, const struct event *e)
{
    struct json *mounts = json_array();

    for (size_t i = 0; i < e->sandbox.n_mounts; i++)
        json_add(mounts, json_string(e->sandbox.mounts[i].path));
    autojson struct json *o = json_object_of(
        {"engine", json_string(e->sandbox.engine)}, {"image", json_string(e->sandbox.image)},
        {"runtime", json_string(e->sandbox.runtime)}, {"sandpiper", json_string(VERSION)}, {"mounts", mounts},
        {"with", json_string(e->sandbox.lock)}, {"hosts", json_string(e->sandbox.hosts)});

    xreplace(&s->place, json_print(o));
}

void store_fresh(struct store *s)
{
    s->fresh = true;
}

void store_event(struct store *s, const struct event *e)
{
    if (e->type == EVENT_SESSION)
        note_service(s, e);
    else if (e->type == EVENT_SANDBOX)
        note_place(s, e);
    if (s->lost || (!s->n && !begins(e)))
        return;
    if (e->type == EVENT_QUESTION) {
        const struct conversation *c = s->v[0].c;

        s->question = s->first_question + e->question;
        s->asked = c->n ? c->v[c->n - 1].serial : 0;
    }
    if (e->type == EVENT_TEXT && !of_another(s, e->agent))
        collect(s, &s->text, e->text.text, e->text.len);
    if (e->type == EVENT_TOOL_OUTPUT)
        collect_output(s, e);
    if (!(handler_of(e) || sync_needed(s)) || (!s->db && !begins(e)))
        return;
    if (!ready(s)) {
        if (s->db && db_error(s->db))
            commit(s);
        return;
    }
    if (db_begin(s->db)) /* what is not saved must not count as saved */
        save(s, e);
    if (commit(s) && e->type == EVENT_DONE) {
        stop_timer(s);
        db_tidy(s->db, false);
    }
}

void store_undone(struct store *s)
{
    if (!s->n || !ready(s))
        return;
    if (db_begin(s->db))
        sync_vanished(s, SAVED_WITHDRAWN);
    db_run(s->db,
           "UPDATE question SET state=? WHERE session=? AND number=(SELECT max(number) FROM question WHERE "
           "session=? AND state=0)",
           "iii", (int64_t)SAVED_WITHDRAWN, s->n, s->n);
    commit(s);
}

int store_fork(struct store *s, const char *id, const char *title, struct error *err)
{
    char *was = (char *)s->o.id;
    int64_t copy = 0;

    if (!s->n || !ready(s))
        return error_set(err, ERROR_SYSTEM, 0, "this session is not saved");
    s->o.id = xstrdup(id);
    if (db_begin(s->db)) {
        sync_turns(s);
        copy = copy_session(s, s->n, -1);
    }
    db_run(s->db, "UPDATE session SET title=coalesce(?, title || ' (fork)') WHERE n=?", "si", title, copy);
    db_run(s->db, "UPDATE session SET writer=NULL WHERE n=?", "i", s->n);
    if (!commit(s)) {
        free((char *)s->o.id);
        s->o.id = was;
        return error_set(err, ERROR_SYSTEM, 0, "the session could not be copied");
    }
    s->n = copy;
    free(was);
    return 0;
}

void store_rename(struct store *s, const char *title)
{
    if (!ready(s))
        return;
    db_begin(s->db);
    db_run(s->db, "UPDATE session SET title=? WHERE n=?", "si", title, s->n);
    commit(s);
}

struct db *store_db(struct store *s)
{
    return s->n ? s->db : NULL;
}

bool store_lost(const struct store *s)
{
    return s->lost;
}

void store_free(struct store *s)
{
    if (!s)
        return;
    stop_timer(s);
    s->o.notice = NULL; /* the user was told */
    if (s->n && ready(s) && db_begin(s->db)) {
        sync_turns(s);
        flush_pieces(s, true);
        db_run(s->db, "UPDATE session SET writer=NULL WHERE n=?", "i", s->n);
        db_commit(s->db);
    }
    close_db(s);
    for (size_t i = 0; i < s->n_threads; i++) {
        free(s->v[i].turns);
        free(s->v[i].agent);
    }
    free(s->model);
    free(s->service);
    free(s->place);
    buf_release(&s->text);
    buf_release(&s->output);
    free((char *)s->o.place);
    free((char *)s->o.id);
    free((char *)s->o.folder);
    free((char *)s->o.sandbox);
    free((char *)s->o.writer);
    free(s);
}
