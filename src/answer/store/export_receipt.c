/* export_receipt.c - a session as a receipt: what another needs to repeat it. All code that ran is in it,
 * that of questions which were taken back as well, since later code may rest on it. */
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/error.h"
#include "base/file.h"
#include "base/gather.h"
#include "base/mem.h"
#include "conversation/cell_json.h"
#include "conversation/language.h"
#include "json/json.h"
#include "receipt/receipt.h"
#include "store/private.h"
#include "store/sessions.h"

struct making {
    struct db *db;
    int64_t session;
    char *own; /* the session's folder, or NULL */
    struct receipt *r;
    int64_t *numbers; /* of the questions, as the database counts them */
    int64_t *cells;   /* of the pieces */
    struct argv *lacking;
};

static void add_questions(struct making *m)
{
    struct db_rows r = db_query(
        m->db,
        "SELECT number, time, text, answer, model, service FROM question WHERE session=? "
        "AND state=0 ORDER BY number",
        "i", m->session);

    while (db_next(&r) && m->r->n_questions < RECEIPT_QUESTIONS) {
        struct receipt_question *q = receipt_add_question(m->r);
        const char *text = db_text(&r, 2, NULL);

        m->numbers = xreallocarray(m->numbers, m->r->n_questions, sizeof *m->numbers);
        m->numbers[m->r->n_questions - 1] = db_int(&r, 0);
        *q = (struct receipt_question){.text = xstrdup(text ? text : ""),
                                       .time = db_int(&r, 1),
                                       .answer = db_copy(&r, 3),
                                       .model = db_copy(&r, 4),
                                       .service = db_copy(&r, 5)};
    }
    db_done(&r);
}

static size_t question_index(const struct making *m, int64_t number)
{
    for (size_t i = 0; i < m->r->n_questions; i++)
        if (m->numbers[i] == number)
            return i + 1;
    return 0;
}

/* ---- files */

/* False: it cannot be had as it was. */
static bool digest_of(const struct making *m, const char *path, int64_t size, int64_t modified,
                      char out[SHA256_HEX])
{
    const struct noted_file noted = {path, size, modified};
    autoclose int fd = path && *path ? noted_open(m->own, &noted, NULL) : -1;
    int64_t bytes;

    return fd >= 0 && sha256_file(fd, out, &bytes) == 0 && bytes == size;
}

static void lacks(const struct making *m, struct receipt_file *f)
{
    *f->sha256 = '\0';
    argv_pushf(m->lacking, "%s is no longer there as it was: the receipt has no SHA-256 of it", f->name);
}

static void add_made(struct making *m, struct receipt_piece *p, int64_t cell)
{
    struct db_rows r = db_query(
        m->db, "SELECT name, path, size, modified, figure FROM file WHERE session=? AND cell=? ORDER BY n",
        "ii", m->session, cell);

    while (db_next(&r) && p->n_files < RECEIPT_FILES) {
        struct receipt_file *f = receipt_add_file(p);
        const char *name = db_text(&r, 0, NULL);
        int64_t kind = db_int(&r, 4);

        f->name = xstrdup(name ? name : "");
        f->size = db_int(&r, 2);
        f->kind = kind >= FILE_MADE && kind <= FILE_FIGURE_FORM ? (enum file_kind)kind : FILE_MADE;
        if (!digest_of(m, db_text(&r, 1, NULL), f->size, db_int(&r, 3), f->sha256))
            lacks(m, f);
    }
    db_done(&r);
}

/* The first piece that ran after so many cells, from 1. */
static size_t piece_after(const struct making *m, int64_t cells)
{
    size_t i = 0;

    while (i < m->r->n_pieces && m->cells[i] <= cells)
        i++;
    return i + 1;
}

/* The entry of that name which is there from the same piece on, or a new one. */
static struct receipt_file *data_entry(struct making *m, const char *name, size_t piece)
{
    struct receipt_file *f;

    for (size_t i = 0; i < m->r->n_data; i++) {
        f = &m->r->data[i];
        if (f->piece == piece && !strcmp(f->name, name))
            return f;
    }
    f = receipt_add_data(m->r);
    f->name = xstrdup(name);
    f->piece = piece;
    return f;
}

static void set_data(struct making *m, const char *name, size_t piece, int fd)
{
    struct receipt_file *f = data_entry(m, name, piece);

    *f->sha256 = '\0';
    if (fd < 0 || sha256_file(fd, f->sha256, &f->size) < 0)
        lacks(m, f);
}

/* Each file of a folder, as it lies there. */
static void set_folder(struct making *m, const char *folder, size_t piece, int fd)
{
    struct gathered found autorelease(gathered_release) = {0};

    if (gather(fd, folder, &found, NULL) < 0)
        argv_pushf(m->lacking, "%s cannot be read: its files are not in the receipt", folder);
    for (size_t i = 0; i < found.n && m->r->n_data < RECEIPT_DATA; i++) {
        autoclose int file = gather_open(fd, found.v[i].path);
        autofree char *name = xasprintf("%s/%s", folder, found.v[i].path);

        set_data(m, name, piece, file);
    }
}

/* What the user added: our copy of it, or the file where it was. */
static void add_user_data(struct making *m)
{
    struct db_rows r = db_query(
        m->db,
        "SELECT name, kept, path, size, modified, after FROM file WHERE session=? AND "
        "cell=0 ORDER BY n",
        "i", m->session);

    while (db_next(&r) && m->r->n_data < RECEIPT_DATA) {
        const char *name = db_text(&r, 0, NULL);
        struct noted_file noted = {db_text(&r, 1, NULL), db_int(&r, 3), db_int(&r, 4)};
        size_t piece = piece_after(m, db_int(&r, 5));
        autoclose int fd = noted_open(m->own, &noted, NULL);
        struct stat st;

        noted.path = db_text(&r, 2, NULL);
        if (fd < 0)
            fd = noted_open(m->own, &noted, NULL);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
            set_folder(m, name ? name : "", piece, fd);
        else
            set_data(m, name ? name : "", piece, fd);
    }
    db_done(&r);
}

/* ---- code */

static void lacks_once(const struct making *m, char *line)
{
    autofree char *own = line;

    for (size_t i = 0; i < m->lacking->n; i++)
        if (!strcmp(m->lacking->v[i], own))
            return;
    argv_push(m->lacking, own);
}

static void lacks_mounts(const struct making *m, const struct json *mounts)
{
    for (const struct json *path = json_first(mounts); path; path = json_next(path))
        lacks_once(
            m, xasprintf("the code could read %s, which was mounted: its files are not in the receipt (rerun "
                         "--mount gives them again)",
                         json_text(path)));
}

static void lacks_hosts(const struct making *m, const char *hosts)
{
    if (hosts)
        lacks_once(m, xasprintf("the code could reach %s (--allow-net): what came from there is not in the "
                                "receipt, and rerun has no network",
                                hosts));
}

/* What a piece ran in: a new place only where it is another one than before. packages: the lines of a
 * cell. */
static void add_place_of(struct making *m, const char *text, const char *packages)
{
    autojson struct json *o = text ? json_parse(text, strlen(text), 0, NULL, NULL) : NULL;
    struct receipt_place *p = m->r->n_places ? &m->r->places[m->r->n_places - 1] : NULL, now = {0};

    now.engine = (char *)json_str(json_get(o, "engine"));
    now.image = (char *)json_str(json_get(o, "image"));
    now.runtime = (char *)json_str(json_get(o, "runtime"));
    now.sandpiper = (char *)json_str(json_get(o, "sandpiper"));
    now.lock = (char *)json_str(json_get(o, "with"));
    if (!p || !receipt_same_place(p, &now)) {
        if (m->r->n_places == RECEIPT_PLACES)
            return;
        p = receipt_add_place(m->r);
        *p = (struct receipt_place){.piece = m->r->n_pieces,
                                    .engine = xstrdup(now.engine),
                                    .image = xstrdup(now.image),
                                    .runtime = xstrdup(now.runtime),
                                    .sandpiper = xstrdup(now.sandpiper),
                                    .lock = xstrdup(now.lock)};
    }
    receipt_add_packages(p, packages);
    lacks_mounts(m, json_get(o, "mounts"));
    lacks_hosts(m, json_str(json_get(o, "hosts")));
}

/* Its own output, each stream by itself. */
static void add_streams(struct making *m, struct receipt_piece *p, int64_t cell)
{
    struct db_rows r = db_query(m->db,
                                "SELECT stream, text FROM output WHERE session=? AND cell=? ORDER BY n", "ii",
                                m->session, cell);
    struct buf out[2] = {BUF_INIT(CELL_TEXT_MAX), BUF_INIT(CELL_TEXT_MAX)};

    while (db_next(&r))
        buf_addstr(&out[db_int(&r, 0) == 2], db_text(&r, 1, NULL) ? db_text(&r, 1, NULL) : "");
    for (int i = 0; i < 2; i++)
        p->out[i] = buf_steal(&out[i], NULL);
}

static void add_piece_of(struct making *m, struct db_rows *row, bool restart)
{
    int64_t cell = db_int(row, 0);
    struct receipt_piece *p = receipt_add_piece(m->r);
    const char *call = db_text(row, 2, NULL);

    m->cells = xreallocarray(m->cells, m->r->n_pieces, sizeof *m->cells);
    m->cells[m->r->n_pieces - 1] = cell;
    *p = (struct receipt_piece){.code = db_copy(row, 3),
                                .question = question_index(m, db_int(row, 1)),
                                .own = !call || !*call,
                                .restart = restart,
                                .status = (enum cell_status)db_int(row, 4),
                                .value = db_copy(row, 5),
                                .exception = db_copy(row, 6)};
    if (!p->code)
        p->code = xstrdup("");
    autofree char *language = store_language(db_text(row, 8, NULL));
    p->language = *language ? language_of_tag(language, strlen(language)) : NULL;
    add_place_of(m, db_text(row, 8, NULL), db_text(row, 9, NULL));
    add_streams(m, p, cell);
    add_made(m, p, cell);
}

/* Code that was interrupted, or cut off by a kill, has no result that could be repeated. */
static void add_pieces_of_code(struct making *m)
{
    struct db_rows r = db_query(m->db,
                                "SELECT n, question, call_id, code, status, value, exception, lost, place, "
                                "packages, fresh FROM cell WHERE session=? ORDER BY n",
                                "i", m->session);
    size_t left_out = 0;
    bool restart = false;

    while (db_next(&r) && m->r->n_pieces < RECEIPT_PIECES) {
        int64_t status = db_text(&r, 4, NULL) ? db_int(&r, 4) : -1, lost = db_int(&r, 7);
        bool ran = status >= CELL_OK && status <= CELL_OUTPUT && status != CELL_NOT_RUN;

        restart |= lost == LOST_BEFORE || db_int(&r, 10);
        if (ran && status != CELL_INTERRUPTED) {
            add_piece_of(m, &r, restart && m->r->n_pieces > 0);
            restart = false;
        } else {
            left_out += ran || status < 0;
        }
        restart |= lost == LOST_BY;
    }
    db_done(&r);
    if (left_out)
        argv_pushf(m->lacking,
                   "%zu piece%s of code %s interrupted and cannot be repeated: not in the receipt", left_out,
                   left_out == 1 ? "" : "s", left_out == 1 ? "was" : "were");
}

/* A sandbox with a name may have had variables and files before. */
static void lacks_named(struct making *m)
{
    struct db_rows r = db_query(m->db, "SELECT sandbox FROM session WHERE n=? AND sandbox IS NOT NULL", "i",
                                m->session);

    if (!db_next(&r))
        return;
    lacks_once(m, xasprintf("the code ran in the sandbox \"%s\": what was in it before is not in the receipt",
                            db_text(&r, 0, NULL)));
    db_done(&r);
}

int session_receipt(struct db *db, const struct session_export *e, struct receipt *r, struct argv *lacking,
                    struct error *err)
{
    struct making m = {.db = db,
                       .session = session_by_id(db, e->id, err),
                       .own = e->sessions ? session_folder(e->sessions, e->id) : NULL,
                       .r = r,
                       .lacking = lacking};

    if (m.session) {
        db_patience(db, DB_PATIENCE_MS);
        r->session = xstrdup(e->id);
        r->sandpiper = xstrdup(VERSION);
        r->made = (int64_t)time(NULL);
        add_questions(&m);
        add_pieces_of_code(&m);
        add_user_data(&m);
        lacks_named(&m);
        db_patience(db, DB_TIME_MS);
    }
    free(m.own);
    free(m.numbers);
    free(m.cells);
    return m.session ? db_check(db, err) : -1;
}
