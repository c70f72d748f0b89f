/* fuzz_store.c - a database of sessions that somebody else made: tables without a constraint, values of any
 * type, size and relation; or a file of any bytes. Whatever is read of it, nothing breaks, and a session that
 * is continued is a conversation that a service would take.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "conversation/conversation.h"
#include "process/loop.h"
#include "store/db.h"
#include "store/schema.h"
#include "store/sessions.h"
#include "store/sqlite_load.h"
#include "store/store.h"

#define ID      "20260101-000000-aaaaaaaa"
#define FOLDER  "/somewhere"
#define ROWS    40 /* at most, so that one input takes a millisecond */
#define OUT_MAX ((size_t)1 << 20)

static char place[64], path[96];
static struct buf template; /* an empty database without its promises */
static struct buf promise;  /* what gives them back, to be believed of whatever is in it */
static const struct sqlite_api *api;

static const struct {
    const char *name;
    int columns;
} tables[] = {
    {"session(id, begun, used, folder, title, model, sandbox, parent, writer)", 9},
    {"question(session, number, time, text, status, answer, error, input, output, seconds, state)", 11},
    {"turn(session, agent, serial, place, question, role, state, text, sent, aside, calls, call_id, result, "
     "reasoning, reasoning_field, reasoning_items, origin, images)",
     18},
    {"cell(session, n, question, call_id, code, status, lost, value, exception, traceback, what)", 11},
    {"output(session, cell, stream, text)", 4},
    {"file(session, cell, name, path, size, figure, kept, modified)", 8},
    {"piece(session, text)", 2}};

/* What our own code writes, so that what it means is reached. */
static const char *const texts[] = {
    ID,
    FOLDER,
    "c1",
    "[{\"id\":\"c1\",\"name\":\"execute_python\",\"arguments\":\"{}\"}]",
    "[{\"id\":\"c1\",\"name\":\"x\",\"arguments\":\"[\"},{\"id\":\"c1\"},1]",
    "[{\"name\":\"a.png\",\"path\":\"/a.png\",\"type\":\"image/png\"}]",
    "",
    "how many?",
    "[interrupted]",
    "20260101-000000-bbbbbbbb",
};
static const int64_t numbers[] = {INT64_MAX, INT64_MIN,        INT64_MAX - 1,
                                  -1,        INT64_C(1) << 40, INT64_C(1) << 62};

struct input {
    const uint8_t *at;
    size_t left;
};

static unsigned take(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->at++;
}

static void add_hex(struct buf *sql, struct input *in, size_t n)
{
    buf_addstr(sql, "x'");
    for (; n && in->left; n--)
        buf_addf(sql, "%02x", take(in));
    buf_addstr(sql, "'");
}

static void add_value(struct buf *sql, struct input *in)
{
    unsigned kind = take(in), n = kind >> 3;

    switch (kind & 7) {
    case 0:
        buf_addstr(sql, "NULL");
        break;
    case 1:
        buf_addf(sql, "%lld", (long long)numbers[n % countof(numbers)]);
        break;
    case 2:
    case 3:
        buf_addf(sql, "'%s'", texts[n % countof(texts)]);
        break;
    case 4:
        buf_addstr(sql, "CAST(");
        add_hex(sql, in, n);
        buf_addstr(sql, " AS TEXT)");
        break;
    case 5:
        add_hex(sql, in, n);
        break;
    case 6:
        buf_addstr(sql, n == 1 ? "1e308" : n == 2 ? "zeroblob(100000)" : "0.5");
        break;
    default:
        buf_addf(sql, "%u", n);
    }
}

static void add_row(struct buf *sql, struct input *in)
{
    unsigned head = take(in);
    const int t = (int)(head % countof(tables));

    /* mostly of the first session, as what is written next to each other belongs together */
    buf_addf(sql, "INSERT OR REPLACE INTO %s VALUES(", tables[t].name);
    for (int i = 0; i < tables[t].columns; i++) {
        buf_addstr(sql, i ? "," : "");
        if (!i && t && head < 200)
            buf_addch(sql, '1');
        else if (!i && !t && head < 100)
            buf_addstr(sql, "'" ID "'");
        else
            add_value(sql, in);
    }
    buf_addstr(sql, ");\n");
}

static void fill(struct input *in)
{
    struct buf sql autorelease(buf_release) = BUF_INIT(0);
    sqlite3 *sq = NULL;

    if (api->open_v2(path, &sq, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        buf_addstr(&sql, "BEGIN; INSERT INTO session(n, id, begun, used, folder) VALUES(1, '" ID
                         "', 1, 1, '" FOLDER "');\n");
        for (int i = 0; in->left && i < ROWS; i++)
            add_row(&sql, in);
        buf_addstr(&sql, "COMMIT");
        api->exec(sq, buf_str(&sql), NULL, NULL, NULL);
        api->exec(sq, "COMMIT", NULL, NULL, NULL); /* where a row failed */
        check(api->exec(sq, buf_str(&promise), NULL, NULL, NULL) == SQLITE_OK);
    }
    api->close_v2(sq);
}

static void write_database(const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    check(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static int on_index(void *ctx, int n, char **values, char **names)
{
    (void)ctx, (void)n, (void)names;
    buf_addf(&promise, "INSERT INTO sqlite_master VALUES('index', '%s', '%s', %s, NULL);", values[0],
             values[1], values[2]);
    return 0;
}

static void add_text(struct buf *sql, const char *name, const char *text)
{
    buf_addf(sql, "UPDATE sqlite_master SET sql='");
    for (; *text; text++)
        buf_addf(sql, *text == '\'' ? "''" : "%c", *text);
    buf_addf(sql, "' WHERE name='%s';", name);
}

/* Our own schema, with nothing that it promises, until promise is run: then a text may be missing, of another
 * type, or twice where it is unique. */
static void make_template(void)
{
    static const char *const promises[] = {"NOT NULL", "UNIQUE(session, n)", "UNIQUE(session, agent, serial)",
                                           "UNIQUE"};
    struct buf weak autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};
    sqlite3 *sq = NULL;

    /* in memory: SQLite waits for the disk with each transaction */
    snprintf(place, sizeof place, "%s/fuzz-store-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    check(mkdtemp(place));
    snprintf(path, sizeof path, "%s/sessions.db", place);
    api = sqlite_load(&err);
    check(api);
    db_close(db_open(place, true, &err));
    check(api->open_v2(path, &sq, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    check(api->exec(sq, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL) == SQLITE_OK);
    buf_addstr(&promise, "PRAGMA writable_schema=ON; BEGIN;");
    check(api->exec(sq,
                    "SELECT name, tbl_name, rootpage FROM sqlite_master WHERE sql IS NULL AND tbl_name IN "
                    "('session', 'turn', 'cell')",
                    on_index, NULL, NULL)
          == SQLITE_OK);
    buf_addstr(&weak,
               "PRAGMA writable_schema=ON; BEGIN; DELETE FROM sqlite_master WHERE sql IS NULL AND tbl_name "
               "IN ('session', 'turn', 'cell');");
    for (size_t i = 0; i < schema_count; i++) {
        autofree char *text = xstrdup(schema_parts[i].sql);

        if (schema_parts[i].implied || !strncmp(text, "CREATE VIRTUAL", 14)
            || !strncmp(text, "CREATE INDEX", 12) || !strcmp(schema_parts[i].name, "upto"))
            continue;
        for (size_t k = 0; k < countof(promises); k++)
            for (char *at; (at = strstr(text, promises[k])) != NULL;)
                memcpy(memset(at, ' ', strlen(promises[k])), strchr(promises[k], '(') ? "CHECK(1)" : " ",
                       strchr(promises[k], '(') ? 8 : 1);
        add_text(&weak, schema_parts[i].name, text);
        add_text(&promise, schema_parts[i].name, schema_parts[i].sql);
    }
    buf_addstr(&weak, "COMMIT");
    buf_addstr(&promise, "COMMIT");
    check(api->exec(sq, buf_str(&weak), NULL, NULL, NULL) == SQLITE_OK);
    api->close_v2(sq);
    check(file_read(path, OUT_MAX, &template, &err) == 0);
}

static void clean(void)
{
    file_remove_tree(place);
    buf_release(&template);
    buf_release(&promise);
}

static void on_row(void *ctx, const struct session_row *row)
{
    *(size_t *)ctx += strlen(row->id) + (row->title ? strlen(row->title) : 0);
}

/* ours: its schema is, whatever is in it. */
static void read_all(bool search, bool ours)
{
    static const char *const formats[] = {"md", "json", "py", "ipynb"};
    struct db *db = db_open(place, false, NULL);
    struct error err = {0};
    size_t bytes = 0;

    check(db || !ours);
    if (!db)
        return;
    sessions_list(db, 0, (struct session_taker){on_row, &bytes}, &err);
    sessions_before(db, 1000, (struct session_taker){on_row, &bytes}, &err);
    for (size_t i = 0; i < countof(formats); i++) {
        struct buf out autorelease(buf_release) = BUF_INIT(0);

        session_export(db, &(struct session_export){ID, formats[i], NULL}, &out, &err);
    }
    if (search)
        sessions_search(db, "how many", (struct session_taker){on_row, &bytes}, &err);
    db_close(db);
}

/* As -c does, with one more question behind what was saved. */
static void go_on(bool copy)
{
    struct loop *loop = loop_new();
    struct conversation c;
    struct store_found f;
    struct error err = {0};
    const struct store_options o = {
        .place = place, .id = copy ? "20260101-000000-cccccccc" : ID, .folder = FOLDER, .writer = "me"};

    conversation_init(&c);
    struct store *s = store_new(&o, &c, loop);
    if (store_find(place, copy ? ID : NULL, FOLDER, &f, &err) == 0) {
        check(f.id && f.folder);
        if (store_resume(s, &f, &err) == 0) {
            struct store_rerun again;
            struct event e = {.type = EVENT_QUESTION, .question = 1, .asked = {"more?", 5}};

            store_rerun(s, &again);
            store_rerun_release(&again);
            conversation_user(&c, "more?", 5);
            store_event(s, &e);
            check(conversation_check(&c, &err) == 0);
            store_undone(s);
        } else {
            check(c.n == 0 && err.kind != ERROR_NONE);
        }
    } else {
        check(err.kind != ERROR_NONE);
    }
    store_found_release(&f);
    store_free(s);
    conversation_release(&c);
    loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    unsigned how = take(&in);
    struct error err = {0};

    if (!template.len) {
        make_template();
        atexit(clean);
    }
    if (how & 1) {
        write_database(in.at, in.left);
    } else {
        write_database(template.data, template.len);
        fill(&in);
    }
    read_all(how & 2, !(how & 1));
    go_on(how & 4);
    struct db *db = how & 8 ? db_open(place, false, NULL) : NULL;
    if (db)
        session_remove(db, ID, &err);
    db_close(db);
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < countof(ends); i++) {
        autofree char *one = xasprintf("%s%s", path, ends[i]);
        unlink(one);
    }
    return 0;
}
