/* batch.c - which row is asked next, and what becomes of its answer. */
#include "batch/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "base/size.h"
#include "batch/prepare.h"
#include "batch/results.h"
#include "batch/rows.h"
#include "front/runner.h"
#include "json/json.h"
#include "openai/shape.h"
#include "operations/runner_messages.h"
#include "process/loop.h"
#include "process/signals.h"

#define FILE_MAX   (32u << 20) /* bytes of a row's file; it goes to the runner in one message */
#define TRIES      3           /* for a row whose runner died or whose sandbox did not start */
#define REFUSED_MS 5000        /* the pause after a refusal that named no time */
#define AT_ONCE_MS 1000        /* refusals within this time count as one */
#define LOST_MS    5000        /* between rows that ask whether the service is there again */
#define SETTLE_MS  3000        /* that runners may take to end */

struct due { /* a row to be asked */
    size_t row;
    int epoch, tries;
};

struct place { /* in which a row is asked */
    struct batch *b;
    struct due due;
    struct runner *runner; /* of a place that is free, it waits for another row; or NULL */
    bool taken, ended;
    bool begun;       /* its process has started, and asks the model */
    bool started, up; /* its sandbox may start; has done so */
    bool whole;       /* nothing went wrong, so that the runner may take another row */
    int64_t began;
    struct json *code;
    uint64_t question;   /* the number of its request */
    struct error unlike; /* why it does not begin as the others */
};

struct batch {
    const struct batch_options *o;
    struct batch_counts *n;
    struct due *due; /* a queue: first is next */
    size_t first, last;
    struct place *places;
    unsigned n_places;
    double window;      /* how many at once; automatic */
    int64_t not_before; /* clock_ms(): no row begins earlier */
    int64_t halved_at;
    int64_t told_ms;  /* how long a service last wanted us to wait; 0: none did */
    bool interrupted; /* once */
    bool weaker_told; /* the limits that the engine does not hold */
    struct prepared *prepared;
    unsigned lost;   /* rows in a row that failed for a reason that all rows share */
    int64_t lost_at; /* when the first of them did */
    int64_t lost_told;
    struct error fatal;
};

/* ---- which rows ---- */

static uint64_t random_next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle_rows(struct due *v, size_t n, uint64_t seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)(random_next(&seed) % i);
        struct due kept = v[i - 1];

        v[i - 1] = v[k];
        v[k] = kept;
    }
}

/* The queue has room for each row once more per try. */
static void queue_row(struct batch *b, struct due d)
{
    b->due[b->last++] = d;
}

static int choose_rows(struct batch *b, struct error *err)
{
    const struct batch_options *o = b->o;
    size_t n = rows_count(o->rows), found = 0;

    b->due = xmalloc((n * (size_t)o->epochs + 1) * sizeof *b->due);
    for (int epoch = 1; epoch <= o->epochs; epoch++)
        for (size_t i = 0; i < n; i++) {
            struct row r autorelease(rows_row_release) = {0};

            rows_read(o->rows, i, &r);
            if (o->only && strcmp(o->only, r.id) != 0)
                continue;
            found++;
            if (results_has(o->results, r.id, r.sha256, epoch, o->retry_failed || o->only))
                b->n->before++;
            else
                queue_row(b, (struct due){i, epoch, 0});
        }
    if (!found)
        return error_set(err, ERROR_USAGE, 0, "--only: no row has the id \"%s\"", o->only);
    if (o->shuffle)
        shuffle_rows(b->due, b->last, (uint64_t)o->shuffle);
    if (o->limit && b->last > o->limit)
        b->last = o->limit;
    b->n->rows = b->last;
    return 0;
}

/* ---- a row's question ---- */

static struct json *row_file(const struct batch *b, const char *name, struct error *err)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(FILE_MAX),
                     text autorelease(buf_release) = BUF_INIT(0);
    autofree char *path = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", b->o->folder, name);

    if (file_read(path, FILE_MAX, &bytes, err) < 0)
        return NULL;
    base64_add(&text, (const unsigned char *)bytes.data, bytes.len);
    return json_object_of({"name", json_string(name)}, {"content", json_string(buf_str(&text))},
                          {"encoding", json_string("base64")});
}

static struct json *row_question(const struct batch *b, const struct row *r, struct error *err)
{
    struct json *files = json_array();

    for (size_t i = 0; i < r->files.n; i++) {
        struct json *file = row_file(b, r->files.v[i], err);

        if (!file) {
            json_free(files);
            return NULL;
        }
        json_add(files, file);
    }
    return json_set_all(json_copy(r->ask), {"files", files});
}

/* ---- a row's line ---- */

static void show_counts(struct batch *b)
{
    b->n->jobs = (unsigned)b->window;
    if (b->o->progress)
        b->o->progress(b->o->ctx, b->n);
}

static void fail_batch(struct batch *b, const struct error *err)
{
    if (!b->fatal.kind)
        b->fatal = *err;
    b->n->stopping = true;
}

/* NULL: our own form. */
static const struct openai_shape *row_shape(const struct batch_options *o, const struct row *r)
{
    return !o->openai ? NULL : r->responses ? &openai_responses : &openai_chat;
}

static struct json *row_line(const struct row *r, int epoch, const char *status)
{
    return json_object_of({"id", json_string(r->id)}, {"epoch", json_integer(epoch)},
                          {"status", json_string(status)}, {"sha256", json_string(r->sha256)});
}

static void add_result(struct batch *b, const struct row *r, struct json *given)
{
    autojson struct json *line = given;
    struct error err = {0};

    *(results_answered(line) ? &b->n->answered : &b->n->failed) += 1;
    if (results_add(b->o->results, line, row_shape(b->o, r), &err) < 0)
        fail_batch(b, &err);
    if (b->o->max_errors && b->n->failed >= (size_t)b->o->max_errors && !b->n->stopping) {
        b->n->stopping = true;
        b->o->notice(b->o->ctx, "--max-errors is reached: no further row is asked");
    }
}

static void add_failure(struct batch *b, const struct row *r, const struct due *d, const char *status,
                        const char *why)
{
    add_result(
        b, r,
        json_set_all(row_line(r, d->epoch, status), {"error", json_string(why)}, {"answer", json_null()}));
}

static void count_usage(struct batch *b, const struct json *usage)
{
    double cost = json_double(json_get(usage, "cost"), -1);

    b->n->tokens += json_int(json_get(usage, "input_tokens"), 0)
                    + json_int(json_get(usage, "output_tokens"), 0);
    b->n->cost = cost < 0 || b->n->cost < 0 ? -1 : b->n->cost + cost;
    bool full = (b->o->max_tokens && b->n->tokens >= b->o->max_tokens)
                || (b->o->max_cost > 0 && b->n->cost >= b->o->max_cost);
    if (full && !b->n->stopping) {
        b->n->stopping = true;
        b->o->notice(b->o->ctx, "the limit of tokens or cost is reached: no further row is asked");
    }
}

/* ---- how many at once ---- */

static void slow_down(struct batch *b, int64_t ms)
{
    int64_t now = clock_ms();

    if (now + ms > b->not_before)
        b->not_before = now + ms;
    if (b->o->jobs || now - b->halved_at < AT_ONCE_MS)
        return;
    b->halved_at = now;
    b->window = b->window / 2 < 1 ? 1 : b->window / 2;
    show_counts(b);
}

static void speed_up(struct batch *b)
{
    if (!b->o->jobs && b->window < BATCH_JOBS_MOST && clock_ms() >= b->not_before)
        b->window += 1 / b->window;
}

/* ---- asking ---- */

static void on_row_event(void *ctx, const struct json *event)
{
    struct place *p = ctx;
    const struct json *agent = json_get(event, "agent");

    p->begun = true;
    if (json_is(agent, "tool_call") && json_str(json_get(agent, "code")))
        json_add(p->code, json_copy(json_get(agent, "code")));
    else if (!strcmp(json_text(json_get(event, "event")), "retry"))
        slow_down(p->b, p->b->told_ms = json_int(json_get(event, "ms"), REFUSED_MS));
}

/* Again, unless it was tried often enough. */
static bool ask_later(struct place *p)
{
    if (++p->due.tries >= TRIES)
        return false;
    struct batch *b = p->b;
    memmove(b->due, b->due + b->first, (b->last - b->first) * sizeof *b->due);
    b->last -= b->first;
    b->first = 0;
    queue_row(b, p->due);
    return true;
}

/* The files of a row, as its line names them: with a path where --out keeps them. */
static struct json *row_files(struct batch *b, const struct row *r, const struct json *result)
{
    struct json *list = json_array();
    autofree char *plain = name_plain(r->id),
                  *folder = b->o->out_dir ? xasprintf("%s/%s", b->o->out_dir, plain) : NULL;

    for (const struct json *f = json_first(json_get(result, "files")); f; f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));
        autofree char *own = name_plain(name);
        struct error err = {0};
        bool kept = folder && file_mkdirs(folder, 0777, &err) == 0
                    && (newfile_copy(json_text(json_get(f, "path")), folder, own) == 0 || errno == EEXIST);
        autofree char *path = kept ? xasprintf("%s/%s", folder, own) : NULL;

        json_add(list, json_object_of({"name", json_string(name)}, {"size", json_copy(json_get(f, "size"))},
                                      {"path", json_string(path)}));
    }
    return list;
}

static void end_with_result(struct place *p, const struct row *r, const struct json *result)
{
    static const char *const kept[] = {"status", "exit_code", "answer",   "final_answer",
                                       "error",  "model",     "computed", "usage"};
    struct batch *b = p->b;
    struct json *line = row_line(r, p->due.epoch, "");

    json_copy_some(line, result, kept, countof(kept));
    json_set_all(line, {"code", steal(&p->code)}, {"files", row_files(b, r, result)},
                 {"seconds", json_number((double)(clock_ms() - p->began) / 1000)});
    count_usage(b, json_get(result, "usage"));
    add_result(b, r, line);
}

/* Would the next row meet it too? A row's own model may be refused while others are answered. */
static bool fails_all(const struct place *p, const struct row *r, const struct error *why)
{
    bool own_model = json_get(r->ask, "model") != NULL;

    return (why->kind == ERROR_AUTH && !own_model)
           || (why->kind == ERROR_NETWORK && why->code == EHOSTUNREACH)
           || (why->kind == ERROR_BUSY && why->code == EDQUOT && !own_model)
           || (why->kind == ERROR_SANDBOX && !p->up);
}

/* Such a row gets no line. Waits for what has worked before; else nothing more is asked. */
static void note_lost(struct place *p, const struct error *why)
{
    struct batch *b = p->b;
    int64_t now = clock_ms();

    if (b->lost++ == 0)
        b->lost_at = now;
    p->due.tries = 0;
    ask_later(p);
    if (b->lost >= BATCH_LOST && (!b->n->answered || now - b->lost_at >= BATCH_PATIENCE_MS)) {
        struct error err;

        error_set(&err, why->kind == ERROR_NETWORK ? ERROR_BUSY : why->kind, 0, "no row can be asked: %s\n%s",
                  why->text, why->remedy);
        fail_batch(b, &err);
    } else if (b->n->answered) {
        /* What was under way when that was said ends in any order, with answers between. */
        if (b->lost == 1 && p->began >= b->lost_told) {
            autofree char *line = xasprintf("waiting: %s", why->text);
            b->o->notice(b->o->ctx, line);
            b->lost_told = now;
        }
        b->not_before = now + LOST_MS;
    }
}

static void on_row_done(void *ctx, const struct json *result, const struct error *err)
{
    struct place *p = ctx;
    struct batch *b = p->b;
    struct row r autorelease(rows_row_release) = {0};
    const char *status = json_text(json_get(result, "status"));
    struct error why = {0};

    if (p->unlike.kind)
        err = &p->unlike;
    p->ended = true;
    b->n->running--;
    rows_read(b->o->rows, p->due.row, &r);
    if (b->interrupted && (err || !strcmp(status, "interrupted")))
        return; /* the next run asks it */
    if (err)
        why = *err;
    else if (json_type(json_get(result, "failed")) == JSON_OBJECT)
        error_from_json(&why, json_get(result, "failed"));
    if (fails_all(p, &r, &why)) {
        note_lost(p, &why);
    } else if (!strcmp(status, "try_later")) {
        p->due.tries = 0; /* the service is to blame, not the row */
        slow_down(b, b->told_ms ? b->told_ms : REFUSED_MS);
        ask_later(p);
    } else if (err && err->kind == ERROR_USAGE && !json_get(r.ask, "model")) {
        fail_batch(b, err);
    } else if (err && (err->kind == ERROR_USAGE || !ask_later(p))) {
        b->lost = 0;
        add_failure(b, &r, &p->due,
                    err->kind == ERROR_USAGE     ? "usage"
                    : err->kind == ERROR_SANDBOX ? "no_sandbox"
                                                 : "no_answer",
                    err->text);
    } else if (result) {
        b->lost = 0;
        speed_up(b);
        end_with_result(p, &r, result);
        p->whole = p->up || !p->started;
    }
    show_counts(b);
}

static void on_begun(void *ctx, const struct json *result, const struct error *err)
{
    struct place *p = ctx;

    if (prepared_began(result, err, &p->unlike) < 0)
        runner_cancel(p->runner, p->question);
}

static void on_place_ready(void *ctx, struct runner *runner, const struct error *err)
{
    struct place *p = ctx;

    if (err)
        return; /* it comes with the answer to the question, which tries again */
    p->up = true;
    if (!p->b->weaker_told)
        for (const struct json *line = json_first(json_get(runner_facts(runner), "weaker")); line;
             line = json_next(line))
            p->b->o->notice(p->b->o->ctx, json_text(line));
    p->b->weaker_told = true;
}

/* The next row in this place is asked by the same process, in another sandbox. */
static void clear_place(struct place *p)
{
    struct batch *b = p->b;

    if (p->whole && b->first < b->last && !b->n->stopping)
        runner_ask(p->runner, "another", NULL, -1, &(struct runner_listener){0});
    else
        runner_free(steal(&p->runner));
    json_free(p->code);
    *p = (struct place){.b = b, .runner = p->runner};
}

static bool has_runner(struct place *p, struct error *err)
{
    const struct runner_options ro = {
        .loop = p->b->o->loop, .starter = p->b->o->starter, .ready = on_place_ready, .ctx = p};

    if (p->runner && runner_lost(p->runner))
        runner_free(steal(&p->runner));
    if (!p->runner)
        p->runner = runner_start(&ro, err);
    return p->runner;
}

/* False: it cannot be asked now. */
static bool ask_row(struct place *p, struct due d)
{
    struct batch *b = p->b;
    struct row r autorelease(rows_row_release) = {0};
    struct error err = {0};

    rows_read(b->o->rows, d.row, &r);
    autojson struct json *question = row_question(b, &r, &err);
    if (!question) {
        add_failure(b, &r, &d, "usage", err.text);
        show_counts(b);
        return true;
    }
    const struct runner_listener l = {p, on_row_event, on_row_done};

    bool fresh = !p->runner || runner_lost(p->runner);
    if (!has_runner(p, &err)) {
        if (b->n->running)
            return false; /* no room for another process: when one of the others has ended */
        fail_batch(b, &err);
        return true;
    }
    p->taken = true;
    p->begun = !fresh;
    p->due = d;
    p->began = clock_ms();
    p->code = json_array();
    b->n->running++;
    if (b->prepared) {
        prepared_begin(b->prepared, p->runner, &(struct runner_listener){p, NULL, on_begun});
        json_set(question, "prepared", json_string(prepared_told(b->prepared)));
    }
    p->question = runner_ask(p->runner, "ask", question, -1, &l);
    return true;
}

/* What is being started: processes that do not ask yet, and sandboxes. Of each so many at once, since they
 * take a processor for a while. */
struct starts {
    unsigned processes, sandboxes;
};

static struct starts count_starts(const struct batch *b)
{
    struct starts n = {0};

    for (unsigned i = 0; i < b->n_places; i++) {
        const struct place *p = &b->places[i];

        n.processes += p->taken && !p->begun && !p->ended;
        n.sandboxes += p->started && !p->up && !p->ended;
    }
    return n;
}

/* Who has waited longest for a sandbox; NULL: nobody waits. */
static struct place *next_to_start(struct batch *b)
{
    struct place *next = NULL;

    for (unsigned i = 0; i < b->n_places; i++) {
        struct place *p = &b->places[i];

        if (p->taken && !p->started && !p->ended && (!next || p->began < next->began))
            next = p;
    }
    return next;
}

/* The model is asked at once, and answers while its row waits for this. */
static void start_sandboxes(struct batch *b)
{
    struct place *next;

    for (unsigned n = count_starts(b).sandboxes; n < b->o->starting && (next = next_to_start(b)); n++) {
        next->started = true;
        runner_let_start(next->runner);
    }
}

static void fill_places(struct batch *b)
{
    unsigned starts = count_starts(b).processes;

    for (unsigned i = 0; i < b->n_places && b->first < b->last && !b->n->stopping; i++) {
        if (b->n->running >= (b->lost ? 1 : (unsigned)b->window) || clock_ms() < b->not_before)
            break;
        if (b->places[i].taken || (!b->places[i].runner && starts >= b->o->starting))
            continue;
        struct due d = b->due[b->first++];
        if (!ask_row(&b->places[i], d)) {
            b->first--;
            break;
        }
        starts += b->places[i].taken && !b->places[i].begun;
    }
}

static void note_interrupt(struct batch *b)
{
    if (loop_interrupts(b->o->loop) == 0 || b->interrupted)
        return;
    b->interrupted = b->n->stopping = true;
    autofree char *line = xasprintf(
        "finishing the %zu rows that are being asked; Ctrl-C again leaves them to the next "
        "run",
        b->n->running);
    b->o->notice(b->o->ctx, line);
}

static bool left_early(const struct batch *b)
{
    return loop_fatal(b->o->loop) || loop_interrupts(b->o->loop) > 1;
}

static int until_next_row(const struct batch *b)
{
    int64_t ms = b->not_before - clock_ms();

    return b->first < b->last && ms > 0 && ms < 1000 ? (int)ms : 1000;
}

static void run_rows(struct batch *b)
{
    for (;;) {
        for (unsigned i = 0; i < b->n_places; i++)
            if (b->places[i].ended)
                clear_place(&b->places[i]);
        fill_places(b);
        start_sandboxes(b);
        struct error err = {0};
        if (results_sync(b->o->results, &err) < 0)
            fail_batch(b, &err);
        bool more = b->first < b->last && !b->n->stopping;
        if ((!b->n->running && !more) || left_early(b))
            return;
        loop_wait(b->o->loop, until_next_row(b));
        note_interrupt(b);
        show_counts(b);
    }
}

/* What ended the batch, and how it goes on. */
static int tell_fatal(const struct batch *b, struct error *err)
{
    const struct batch_counts *n = b->n;
    size_t left = n->rows - n->answered - n->failed;

    return error_set(err, b->fatal.kind, b->fatal.code,
                     "%s\n%s%s%s answered, %s left: the same command goes on with them", b->fatal.text,
                     b->fatal.remedy, *b->fatal.remedy ? "\n" : "", count_text((int64_t)n->answered).text,
                     count_text((int64_t)left).text);
}

/* What comes before the first row. */
static int begin_batch(struct batch *b, struct error *err)
{
    if (choose_rows(b, err) < 0)
        return -1;
    if (!b->o->prepare || !b->n->rows)
        return 0;
    b->prepared = prepare_new(b->o, err);
    return b->prepared ? 0 : -1;
}

int batch_run(const struct batch_options *o, struct batch_counts *n, struct error *err)
{
    struct batch b = {.o = o, .n = n, .window = o->jobs ? o->jobs : BATCH_JOBS};

    *n = (struct batch_counts){.began = clock_ms()};
    if (begin_batch(&b, err) < 0) {
        free(b.due);
        return -1;
    }
    b.n_places = o->jobs ? o->jobs : BATCH_JOBS_MOST;
    b.places = xcalloc(b.n_places, sizeof *b.places);
    for (unsigned i = 0; i < b.n_places; i++)
        b.places[i].b = &b;
    run_rows(&b);
    for (unsigned i = 0; i < b.n_places; i++) {
        runner_free(b.places[i].runner);
        json_free(b.places[i].code);
    }
    runner_settle(o->loop, SETTLE_MS);
    runner_let_go();
    prepare_free(b.prepared);
    free(b.places);
    free(b.due);
    return b.fatal.kind ? tell_fatal(&b, err) : 0;
}

int batch_settle(const struct rows *rs, struct results *l, const char *id, const char *reason,
                 struct error *err)
{
    for (size_t i = 0; i < rows_count(rs); i++) {
        struct row r autorelease(rows_row_release) = {0};

        rows_read(rs, i, &r);
        if (strcmp(r.id, id) != 0)
            continue;
        autojson struct json *line = json_set_all(row_line(&r, 1, "settled"), {"answer", json_null()},
                                                  {"error", json_string(reason)});
        return results_add(l, line, NULL, err) < 0 || results_sync(l, err) < 0 ? -1 : 0;
    }
    return error_set(err, ERROR_USAGE, 0, "--settle: no row has the id \"%s\"", id);
}
