/* cmd_rerun.c - "sandpiper rerun": runs the code of a receipt again and says whether it comes to the same.
 * The receipt may be a stranger's: its code gets a sandbox of its own with the receipt's data, and nothing
 * else; no folder that config.yaml mounts, no sandbox that has a name.
 *
 * A run here is written down as a receipt too, so that what is compared are two of a kind. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask/setup.h"
#include "ask/with.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "conversation/cell_json.h"
#include "main/command.h"
#include "saved/session.h"
#include "main/rerun_data.h"
#include "mount/mount.h"
#include "process/loop.h"
#include "process/signals.h"
#include "receipt/compare.h"
#include "receipt/receipt.h"
#include "sandbox/sandbox.h"

/* A second run begins so much later than the first: what is written with its time, as a ZIP is to two
 * seconds, is another then. */
#define SECOND_RUN_MS 2100

struct repetition {
    const struct config *c;
    struct loop *loop;
    struct receipt receipt;
    struct rerun_data data;
    struct mounts mounts; /* of the command line alone */
    struct with with;     /* the packages of the receipt */
    struct session session;
    const char *name; /* of the receipt, as the user wrote it */
};

static bool tells(const struct repetition *x, bool detail)
{
    return !x->c->front.quiet && (!detail || x->c->front.verbose);
}

static void on_rerun_notice(void *ctx, bool detail, const char *line)
{
    if (tells(ctx, detail))
        print_line(line);
}

/* ---- one run */

/* What a piece prints, as far as a session saves it. */
struct printed {
    struct buf out[2];
    size_t room;
};

static void on_printed(void *ctx, int stream, const char *text, size_t len)
{
    struct printed *p = ctx;
    size_t n = len < p->room ? len : p->room;

    p->room -= n;
    buf_add(&p->out[stream == 2], text, n);
}

static char *repaired(const struct buf *b)
{
    struct buf text = BUF_INIT(0);

    utf8_repair(&text, buf_str(b), b->len);
    return buf_steal(&text, NULL);
}

static void note_files(struct receipt_piece *p, const struct cell_result *r)
{
    for (size_t i = 0; i < r->n_files; i++) {
        autoclose int fd = open(r->files[i].path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        struct receipt_file *f = receipt_add_file(p);

        f->name = xstrdup(r->files[i].name);
        f->kind = r->files[i].kind;
        if (fd < 0 || sha256_file(fd, f->sha256, &f->size) < 0)
            *f->sha256 = '\0';
    }
}

static int run_piece(const struct repetition *x, const struct receipt_piece *then, struct sandbox *sandbox,
                     struct receipt *now, struct error *err)
{
    struct printed printed = {.out = {BUF_INIT(0), BUF_INIT(0)}, .room = CELL_TEXT_MAX};
    const struct cell_listener listener = {.ctx = &printed, .output = on_printed};
    struct cell_result r autorelease(cell_result_release) = {0};

    if (then->restart && sandbox_reset(sandbox, err) < 0)
        return -1;
    const struct cell_code code = {then->code, strlen(then->code), then->language};
    int status = sandbox_run_code(sandbox, &code, &listener, &r, err);
    if (status == 0 && (r.status == CELL_INTERRUPTED || loop_check(x->loop)))
        status = error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (status == 0) {
        struct receipt_piece *p = receipt_add_piece(now);

        p->status = r.status;
        p->value = xstrdup(r.value);
        p->exception = xstrdup(r.exception);
        for (int i = 0; i < 2; i++)
            p->out[i] = repaired(&printed.out[i]);
        note_files(p, &r);
        receipt_add_packages(&now->places[0], r.packages);
    }
    buf_release(&printed.out[0]);
    buf_release(&printed.out[1]);
    return status;
}

static int put_data(const struct repetition *x, size_t piece, struct sandbox *sandbox, struct error *err)
{
    for (size_t i = 0; i < x->receipt.n_data; i++) {
        const struct receipt_file *f = &x->receipt.data[i];
        autoclose int fd = f->piece == piece ? rerun_data_file(&x->data, f, err) : -1;

        if (f->piece == piece && (fd < 0 || sandbox_put(sandbox, f->name, fd, err) < 0))
            return -1;
    }
    return 0;
}

static void begin_run(struct receipt *now, const struct sandbox *sandbox)
{
    struct receipt_place *place = receipt_add_place(now);

    now->made = (int64_t)time(NULL);
    place->piece = 1;
    place->engine = xstrdup(sandbox_engine(sandbox));
    place->image = xstrdup(sandbox_image(sandbox));
}

/* All of it, in a sandbox of its own, into an empty *now. */
static int run_all(const struct repetition *x, struct receipt *now, struct error *err)
{
    struct sandbox_options o;

    setup_sandbox(x->c, &o);
    o.run.name = NULL;
    o.run.mounts = &x->mounts;
    if (x->with.any) {
        o.run.packages = &x->with.mount;
        o.with = x->with.set.names;
        o.with_python = x->with.python;
    }
    o.run.notice = on_rerun_notice;
    o.run.notice_ctx = (void *)x;
    o.session_dir = x->session.dir;
    struct sandbox *sandbox = sandbox_new(&o, x->loop);
    int status = sandbox_wait(sandbox, err);
    if (status == 0)
        begin_run(now, sandbox);
    for (size_t i = 0; i < x->receipt.n_pieces && status == 0; i++)
        status = put_data(x, i + 1, sandbox, err) < 0
                         || run_piece(x, &x->receipt.pieces[i], sandbox, now, err) < 0
                     ? -1
                     : 0;
    sandbox_free(sandbox);
    return status;
}

/* ---- what is said */

static void tell_names(struct buf *out, const char *what, const struct argv *list)
{
    for (size_t i = 0; i < list->n; i++) {
        autofree char *line = scrub_line(list->v[i], SCRUB_TERMINAL);

        buf_addf(out, "%s%s%s", i ? "; " : what, line, i + 1 < list->n ? "" : "\n");
    }
}

static void add_count(struct buf *out, size_t n, const char *one, const char *many)
{
    if (n)
        buf_addf(out, "%s%zu %s", out->len ? ", " : "", n, n == 1 ? one : many);
}

static void tell_same(struct buf *out, const struct comparison *c)
{
    struct buf counts autorelease(buf_release) = BUF_INIT(0);

    add_count(&counts, c->pieces, "piece of code", "pieces of code");
    add_count(&counts, c->lines, "line of output", "lines of output");
    add_count(&counts, c->values, "value", "values");
    add_count(&counts, c->files, "file", "files");
    add_count(&counts, c->figures, "picture", "pictures");
    buf_addf(out, "same result: %s\n", buf_str(&counts));
}

static void tell_side(struct buf *out, const char *what, const char *text)
{
    autofree char *line = text ? scrub_line(text, SCRUB_TERMINAL) : xstrdup("(nothing)");

    buf_addf(out, "  %s %s\n", what, line);
}

static void tell_different(struct buf *out, const struct comparison *c)
{
    autofree char *where = scrub_line(c->where, SCRUB_TERMINAL);

    buf_addf(out, "different: %s", where);
    if (c->differences > 1)
        buf_addf(out, " (and %zu more)", c->differences - 1);
    buf_addch(out, '\n');
    tell_side(out, "receipt:", c->then);
    tell_side(out, "here:   ", c->now);
}

static int tell_comparison(const struct comparison *c)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    if (c->differences)
        tell_different(&out, c);
    else
        tell_same(&out, c);
    tell_names(&out, "changes from run to run: ", &c->changing);
    tell_names(&out, "not compared: ", &c->not_compared);
    tell_names(&out, "other versions: ", &c->versions);
    int status = print_out(buf_str(&out), out.len);
    return status ? status : c->differences ? 1 : 0;
}

static void tell_code(const struct repetition *x)
{
    const struct receipt *r = &x->receipt;

    for (size_t i = 0; i < r->n_pieces; i++) {
        autofree char *line = xasprintf("piece %zu of %zu:", i + 1, r->n_pieces);

        print_line(line);
        print_plain(r->pieces[i].code);
    }
}

/* Before anything runs. */
static void tell_receipt(const struct repetition *x)
{
    const struct receipt *r = &x->receipt;
    time_t when = (time_t)r->made;
    struct tm tm;
    char day[40] = "";

    if (r->made && gmtime_r(&when, &tm))
        strftime(day, sizeof day, " of %Y-%m-%d", &tm);
    autofree char *line = xasprintf("Running the code of %s%s again: %zu piece%s, %zu data file%s", x->name,
                                    day, r->n_pieces, r->n_pieces == 1 ? "" : "s", r->n_data,
                                    r->n_data == 1 ? "" : "s");

    if (tells(x, false))
        print_line(line);
    if (tells(x, true))
        tell_code(x);
}

/* ---- the command */

static int load(struct repetition *x, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(RECEIPT_BYTES);
    int status = !strcmp(x->name, "-") ? file_read_open(0, "stdin", RECEIPT_BYTES, &text, err)
                                       : file_read(x->name, RECEIPT_BYTES, &text, err);

    if (status < 0) {
        err->kind = ERROR_USAGE;
        return -1;
    }
    if (receipt_read(buf_str(&text), text.len, &x->receipt, err) < 0)
        return error_wrap(err, "%.200s", x->name);
    if (x->receipt.n_pieces == 0)
        return error_set(err, ERROR_USAGE, 0, "%.200s has no code, so there is nothing to run again",
                         x->name);
    return 0;
}

/* Each file that is missing or has changed is named; the last is left in err. */
static int check_data(const struct repetition *x, struct error *err)
{
    for (size_t i = 0; i < x->receipt.n_data; i++) {
        struct error why = {0};
        autoclose int fd = rerun_data_file(&x->data, &x->receipt.data[i], &why);

        if (fd >= 0)
            continue;
        if (err->kind != ERROR_NONE)
            print_error(err);
        *err = why;
    }
    return err->kind == ERROR_NONE ? 0 : -1;
}

static int wait_until(struct loop *loop, int64_t at, struct error *err)
{
    for (int64_t left; (left = at - clock_ms()) > 0 && !loop_check(loop);)
        loop_wait(loop, (int)left);
    return loop_check(loop) ? error_set(err, ERROR_CANCELLED, 0, "interrupted") : 0;
}

/* Returns the exit code, or -1. */
static int run_and_compare(const struct repetition *x, struct error *err)
{
    struct receipt now autorelease(receipt_release) = {0}, again autorelease(receipt_release) = {0};
    struct comparison c autorelease(comparison_release) = {0};
    int64_t began = clock_ms();

    if (run_all(x, &now, err) < 0)
        return -1;
    receipt_compare(&x->receipt, &now, NULL, &c);
    if (c.differences) {
        comparison_release(&c);
        if (wait_until(x->loop, began + SECOND_RUN_MS, err) < 0 || run_all(x, &again, err) < 0)
            return -1;
        receipt_compare(&x->receipt, &now, &again, &c);
    }
    return tell_comparison(&c);
}

/* Those that the code had, by their hashes, and nothing that config.yaml asks for. All pieces run in one
 * sandbox: of a package that changed its version in between, the last one is taken. */
static int get_receipts_packages(struct repetition *x, struct error *err)
{
    struct sandbox_options o;
    autofree char *lock = NULL;

    for (size_t i = 0; i < x->receipt.n_places; i++)
        if (x->receipt.places[i].lock)
            xreplace(&lock, packages_lock_join(lock, x->receipt.places[i].lock));
    if (!lock || !*lock)
        return 0;
    if (packages_want_lock(&x->with.wanted, x->name, lock, err) < 0)
        return -1;
    setup_sandbox(x->c, &o);
    o.run.name = NULL;
    const struct with_ask ask = {
        .c = x->c, .loop = x->loop, .notice = on_rerun_notice, .ctx = x, .alone = true};
    return with_get(&x->with, &ask, &o, err);
}

static int rerun(struct repetition *x, struct error *err)
{
    const struct config *c = x->c;

    if (c->args.names.n != 1)
        return error_set(err, ERROR_USAGE, 0, "rerun takes one receipt: sandpiper rerun FILE");
    x->name = c->args.names.v[0];
    if (load(x, err) < 0 || setup_engine_check(c, err) < 0
        || rerun_data_open(&x->data, x->name, c->add.n ? (const char *const *)c->add.v : NULL, err) < 0
        || check_data(x, err) < 0)
        return -1;
    if (config_source(c, &c->mounts)->kind == SOURCE_FLAG && setup_mounts(c, &x->mounts, err) < 0)
        return -1;
    if (loop_signals(x->loop, err) < 0 || session_open(&x->session, c, NULL, err) < 0)
        return -1;
    tell_receipt(x);
    if (get_receipts_packages(x, err) < 0)
        return -1;
    int status = run_and_compare(x, err);
    return status < 0 && err->kind == ERROR_CANCELLED ? loop_exit_code(x->loop) : status;
}

int cmd_rerun(struct config *c, int closed)
{
    struct repetition x = {.c = c, .loop = loop_new(), .data = {.folders = {-1, -1}}, .with = WITH_INIT};
    struct error err = {0};

    (void)closed;
    print_notices(c);
    int status = rerun(&x, &err);
    if (status < 0)
        status = print_failure(&err);
    session_close(&x.session);
    mounts_release(&x.mounts);
    with_release(&x.with);
    rerun_data_release(&x.data);
    receipt_release(&x.receipt);
    loop_free(x.loop);
    return status;
}
