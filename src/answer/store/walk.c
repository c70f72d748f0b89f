/* walk.c - one saved session from its beginning to its end. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "store/private.h"
#include "store/sessions.h"

struct item_walk {
    struct db *db;
    int64_t session;
    struct item_taker to;
};

static void give_item(const struct item_walk *w, const struct item *item)
{
    w->to.item(w->to.ctx, item);
}

static void add_outputs(struct item_walk *w, struct item *item)
{
    struct db_rows r = db_query(w->db,
                                "SELECT stream, text FROM output WHERE session=? AND cell=? ORDER BY n", "ii",
                                w->session, item->number);

    while (db_next(&r)) {
        struct item_output *last = item->n_outputs ? &item->outputs[item->n_outputs - 1] : NULL;
        int stream = db_int(&r, 0) == 2 ? 2 : 1;
        const char *text = db_text(&r, 1, NULL);

        if (!text)
            continue;
        if (last && last->stream == stream) {
            xreplace(&last->text, xasprintf("%s%s", last->text, text));
            continue;
        }
        item->outputs = xreallocarray(item->outputs, item->n_outputs + 1, sizeof *item->outputs);
        item->outputs[item->n_outputs++] = (struct item_output){stream, xstrdup(text)};
    }
}

static void add_files(struct item_walk *w, struct item *item)
{
    struct db_rows r = db_query(
        w->db, "SELECT name, path, size, modified, figure FROM file WHERE session=? AND cell=? ORDER BY n",
        "ii", w->session, item->number);

    while (db_next(&r)) {
        int64_t kind = db_int(&r, 4);
        struct item_file f = {db_copy(&r, 0), db_copy(&r, 1), db_int(&r, 2), db_int(&r, 3),
                              kind >= FILE_MADE && kind <= FILE_FIGURE_FORM ? (enum file_kind)kind
                                                                            : FILE_MADE};

        item->files = xreallocarray(item->files, item->n_files + 1, sizeof *item->files);
        item->files[item->n_files++] = f;
    }
}

static void item_release(struct item *item)
{
    for (size_t i = 0; i < item->n_outputs; i++)
        free(item->outputs[i].text);
    for (size_t i = 0; i < item->n_files; i++) {
        free(item->files[i].name);
        free(item->files[i].path);
    }
    free(item->outputs);
    free(item->files);
}

/* The database may have any number there. */
static int cell_status_of(int64_t saved)
{
    return saved >= CELL_OK && saved <= CELL_OUTPUT ? (int)saved : -1;
}

/* The cells of a question that answer that call; id "": the user's own. */
static void walk_cells(struct item_walk *w, int64_t question, const char *id)
{
    struct db_rows r = db_query(w->db,
                                "SELECT n, code, status, value, exception, traceback, what, exit_code, "
                                "CAST(1e6*seconds AS INTEGER), lost, place FROM cell WHERE session=? AND "
                                "question=? AND call_id=? ORDER BY n",
                                "iis", w->session, question, id);

    while (db_next(&r)) {
        autofree char *code = db_copy(&r, 1), *value = db_copy(&r, 3), *exception = db_copy(&r, 4),
                      *traceback = db_copy(&r, 5), *what = db_copy(&r, 6),
                      *language = store_language(db_text(&r, 10, NULL));
        struct item item = {.kind = ITEM_CELL,
                            .number = db_int(&r, 0),
                            .status = db_text(&r, 2, NULL) ? cell_status_of(db_int(&r, 2)) : -1,
                            .exit_code = (int)(db_int(&r, 7) & 255),
                            .seconds = (double)db_int(&r, 8) / 1e6,
                            .lost = db_int(&r, 9) != LOST_NOTHING,
                            .code = code ? code : "",
                            .language = language,
                            .value = value,
                            .exception = exception,
                            .traceback = traceback,
                            .what = what,
                            .own = !*id};

        add_outputs(w, &item);
        add_files(w, &item);
        give_item(w, &item);
        item_release(&item);
    }
}

static void walk_calls(struct item_walk *w, int64_t question, const char *calls)
{
    autojson struct json *list = json_parse(calls, strlen(calls), 0, NULL, NULL);

    for (const struct json *o = json_first(list); o; o = json_next(o)) {
        const char *id = json_text(json_get(o, "id"));

        if (*id)
            walk_cells(w, question, id);
    }
}

static void walk_turns(struct item_walk *w, int64_t question)
{
    struct db_rows r = db_query(
        w->db,
        "SELECT text, calls FROM turn WHERE session=? AND agent='' AND question=? AND role=1 AND "
        "state<2 ORDER BY place, n",
        "ii", w->session, question);

    while (db_next(&r)) {
        autofree char *text = db_copy(&r, 0), *calls = db_copy(&r, 1);
        struct item item = {.kind = ITEM_TEXT, .number = question, .text = text, .answer = !calls};

        if (!text_is_blank(text))
            give_item(w, &item);
        if (calls)
            walk_calls(w, question, calls);
    }
}

/* What a kill cut off, where nothing has continued since. */
static void walk_pieces(struct item_walk *w, int64_t question)
{
    struct buf text autorelease(buf_release) = BUF_INIT(DB_VALUE_MAX);

    if (!add_pieces(w->db, w->session, &text))
        return;
    struct item item = {.kind = ITEM_TEXT, .number = question, .text = buf_str(&text), .answer = true};
    give_item(w, &item);
}

static void walk_questions(struct item_walk *w)
{
    struct db_rows r = db_query(
        w->db,
        "SELECT number, time, text, status, error, number=(SELECT max(number) FROM question WHERE "
        "session=?1) FROM question WHERE session=?1 AND state=0 ORDER BY number",
        "i", w->session);

    walk_cells(w, 0, "");
    while (db_next(&r)) {
        autofree char *text = db_copy(&r, 2), *error = db_copy(&r, 4);
        int64_t number = db_int(&r, 0);
        bool last = db_int(&r, 5);
        struct item item = {.kind = ITEM_QUESTION, .number = number, .time = db_int(&r, 1), .text = text};
        struct item end = {.kind = ITEM_END,
                           .number = number,
                           .status = db_text(&r, 3, NULL) ? (int)db_int(&r, 3) : -1,
                           .text = error};

        give_item(w, &item);
        walk_turns(w, number);
        if (last)
            walk_pieces(w, number);
        give_item(w, &end);
        walk_cells(w, number, "");
    }
}

static void give_session(void *ctx, const struct session_row *row)
{
    const struct item_walk *w = ctx;
    struct item item = {.kind = ITEM_SESSION, .session = row};

    give_item(w, &item);
}

int session_walk(struct db *db, const char *id, struct item_taker to, struct error *err)
{
    struct item_walk w = {db, session_by_id(db, id, err), to};

    if (!w.session || session_row(db, id, (struct session_taker){give_session, &w}, err) < 0)
        return -1;
    walk_questions(&w);
    return db_check(db, err);
}
