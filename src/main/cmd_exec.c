/* cmd_exec.c - "sandpiper exec FILE", "exec -c CODE": runs Python in the sandbox without a model. The code's
 * stdout and stderr are passed on live and kept apart, byte for byte, or scrubbed if they go to a terminal. A
 * slow reader slows the code down; nothing is cut. The exit code is the code's own, as with python3.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/setup.h"
#include "ask/with.h"
#include "base/argv.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "conversation/cell_json.h"
#include "conversation/language.h"
#include "conversation/network.h"
#include "json/json.h"
#include "mount/mount.h"
#include "packages/packages.h"
#include "main/command.h"
#include "saved/session.h"
#include "pipe/stdin.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/out.h"
#include "process/slow_read.h"
#include "sandbox/sandbox.h"
#include "show/show.h"

#define EXEC_FAILED 125
#define SHOWN_MAX   8000 /* bytes shown of one argument in --dry-run */

struct exec {
    const struct config *c;
    int closed; /* the mask from fd_open_standard() */
    const struct language *language;
    struct loop *loop;
    struct buf code;
    struct inputs inputs;
    struct session session;
    struct mounts mounts;
    struct with with;
    struct network_setup network;
    struct network_count requests;
    struct sandbox *sandbox;
    struct scrub scrub[3];
    bool terminal[3];
    struct cell_text text;  /* what the code writes, with --json-result */
    bool gone;              /* the reader of stdout is gone */
    struct stdin_data data; /* stdin, when it is data for the code */
    char *data_name;        /* its name in /mnt/data; or NULL */
    int write_error;        /* errno of any other failure of stdout */
    bool unread;            /* its reader stalled when the code was to end; the rest of the output is lost */
};

/* Write all of it, waiting for the reader until an interrupt comes. */
static void write_cell_output(struct exec *x, int fd, const char *p, size_t len)
{
    if (len == 0 || x->gone || x->write_error || x->unread)
        return;
    if (loop_check(x->loop))
        x->unread = true;
    else if (out_write(fd, p, len, x->loop) < 0) {
        if (errno == EINTR || errno == ETIMEDOUT)
            x->unread = true;
        else if (fd == 1) { /* losing stderr stops nothing */
            x->gone = errno == EPIPE;
            x->write_error = x->gone ? 0 : errno;
            loop_interrupt(x->loop);
        }
    }
}

static void print_output(void *ctx, int stream, const char *text, size_t len)
{
    struct exec *x = ctx;
    int fd = stream == 2 ? 2 : 1;

    if (x->c->json_result) {
        cell_text_add(&x->text, stream, text, len);
        return;
    }
    if (!x->terminal[fd]) {
        write_cell_output(x, fd, text, len);
        return;
    }
    struct buf clean autorelease(buf_release) = BUF_INIT(0);
    scrub_feed(&x->scrub[fd], text, len, &clean);
    write_cell_output(x, fd, buf_str(&clean), clean.len);
}

static void flush_scrub(struct exec *x)
{
    for (int fd = 1; fd <= 2; fd++) {
        struct buf rest autorelease(buf_release) = BUF_INIT(0);
        if (!x->terminal[fd])
            continue;
        scrub_end(&x->scrub[fd], &rest);
        write_cell_output(x, fd, buf_str(&rest), rest.len);
    }
}

static void on_notice(void *ctx, bool detail, const char *line)
{
    const struct exec *x = ctx;

    if (x->c->front.quiet || (detail && !x->c->front.verbose))
        return;
    print_line(line);
}

static void on_up(void *ctx, const struct sandbox *s)
{
    const char *image = sandbox_image(s);
    autofree char *line = xasprintf("Code runs in %s%s%s", sandbox_engine(s), image ? ", image " : "",
                                    image ? image : "");

    on_notice(ctx, true, line);
}

static void on_exec_request(void *ctx, const struct network_request *r)
{
    struct exec *x = ctx;
    autofree char *line = network_line(r);

    network_count_add(&x->requests, r);
    on_notice(x, r->state == NETWORK_DONE, line);
}

static int too_long(struct error *err, const char *name)
{
    return error_set(err, ERROR_USAGE, EFBIG, "%s: too long (more than %u MiB of code)", name,
                     SANDBOX_CODE_MAX >> 20);
}

static int read_stdin(struct loop *loop, struct buf *code, struct error *err)
{
    const struct slow_reader in = {.fd = 0, .name = "stdin", .loop = loop};
    char piece[16384];
    ssize_t n;

    while ((n = slow_read(&in, piece, sizeof piece, err)) > 0)
        if (!buf_add(code, piece, (size_t)n))
            return too_long(err, "stdin");
    if (n < 0 && err->kind == ERROR_SYSTEM)
        err->kind = ERROR_USAGE;
    return (int)n;
}

static bool code_is_stdin(const struct config *c)
{
    return !c->code && (!c->args.operand || c->args.operand_is_stdin);
}

static const char *code_name(const struct config *c)
{
    return c->code ? "-c" : code_is_stdin(c) ? "stdin" : c->args.operand;
}

/* By what the user says, else by the file's name. */
static int find_language(struct exec *x, struct error *err)
{
    const struct config *c = x->c;
    const char *name = c->language;

    x->language = name                                              ? language_of_tag(name, strlen(name))
                  : c->code || !c->args.operand || code_is_stdin(c) ? NULL
                                                                    : language_of_path(c->args.operand);
    if (!name || x->language)
        return 0;
    autofree char *known = language_names();
    return error_set(err, ERROR_USAGE, 0, "--language: there is no language \"%.40s\", only %s", name, known);
}

static int read_code(struct exec *x, struct error *err)
{
    const struct config *c = x->c;
    struct buf *code = &x->code;
    const char *name = code_name(c);

    if (c->code) {
        if (!buf_addstr(code, c->code))
            return too_long(err, name);
    } else if (c->args.operand && !c->args.operand_is_stdin) {
        if (file_read(c->args.operand, SANDBOX_CODE_MAX, code, err) < 0) {
            err->kind = ERROR_USAGE;
            return err->code == EFBIG ? too_long(err, name) : -1;
        }
    } else if (!c->args.operand && ((x->closed & 1) || isatty(0))) {
        return error_set(err, ERROR_USAGE, 0,
                         "exec needs Python code: sandpiper exec FILE, exec -c CODE, or exec - for stdin");
    } else if (read_stdin(x->loop, code, err) < 0) {
        return -1;
    }
    if (memchr(buf_str(code), 0, code->len))
        return error_set(err, ERROR_USAGE, 0, "%s: not %s: it contains a NUL byte", name,
                         x->language ? x->language->name : "Python");
    if (!utf8_valid(buf_str(code), code->len))
        return error_set(err, ERROR_USAGE, 0, "%s is not valid UTF-8\nConvert it: iconv -f LATIN1 -t UTF-8",
                         name);
    return 0;
}

static void on_stdin_notice(void *exec, enum notice_level level, const char *line)
{
    on_notice(exec, level == NOTICE_DETAIL, line);
}

/* Piped stdin is data unless it is the code; the rules are those of a question. */
static int take_data(struct exec *x, struct error *err)
{
    struct stdin_rules rules = {
        .fd = 0,
        .mode = stdin_mode_named(x->c->stdin_mode),
        .closed = x->closed & 1,
        .max = (uint64_t)x->c->data_size,
        .loop = x->loop,
        .say = on_stdin_notice,
        .ctx = x,
    };

    if (code_is_stdin(x->c))
        return 0;
    return stdin_take(&rules, &x->data, err);
}

/* Tell the user if the file got another name. */
static int put_input(struct exec *x, const struct input *in, const char *name, struct error *err)
{
    int64_t size = sandbox_put(x->sandbox, name, in->fd, err);
    struct stat st;

    if (size < 0)
        return -1;
    if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode))
        return 0; /* the sandbox has told */
    autofree char *line = xasprintf("%s: %llu bytes, in the sandbox as /mnt/data/%s", in->path,
                                    (unsigned long long)size, name);
    const char *slash = strrchr(in->path, '/');
    on_notice(x, in->fd == x->data.fd || !strcmp(name, slash ? slash + 1 : in->path), line);
    return 0;
}

static int put_inputs(struct exec *x, struct error *err)
{
    struct argv names autorelease(argv_release) = ARGV_INIT;

    for (size_t i = 0; i < x->inputs.n; i++) {
        const struct input *in = &x->inputs.v[i];
        autofree char *plain = name_plain(in->path);
        autofree char *name = name_not_taken(plain, (const char *const *)names.v, names.n);

        if (put_input(x, in, name, err) < 0)
            return -1;
        argv_push(&names, name);
    }
    if (!x->data.any)
        return 0;
    autofree char *stem = stdin_data_name(&x->data);
    x->data_name = name_not_taken(stem, (const char *const *)names.v, names.n);
    return put_input(x, &(struct input){.fd = x->data.fd, .path = "stdin"}, x->data_name, err);
}

/* In a sandbox with a name the code may have been given some before. */
static int give_stdin(const struct exec *x, struct error *err)
{
    return x->data_name || x->c->sandbox_name ? sandbox_set_stdin(x->sandbox, x->data_name, err) : 0;
}

/* Set sys.argv as python3 does. */
static int put_arguments(const struct exec *x, struct error *err)
{
    const struct config *c = x->c;
    struct argv v autorelease(argv_release) = ARGV_INIT;

    argv_push(&v, c->code ? "-c" : c->args.operand ? c->args.operand : "");
    for (char *const *word = c->args.rest; word && *word; word++)
        argv_push(&v, *word);
    if (v.n == 1 && !*v.v[0] && !c->sandbox_name) /* a new interpreter has this value already */
        return 0;
    return sandbox_set_arguments(x->sandbox, v.v, v.n, err);
}

/* A module need not be called as its package is, so no name is proposed. */
static void tell_missing(const struct config *c, const struct cell_result *r)
{
    static const char is[] = "ModuleNotFoundError: No module named ";

    if (!r->exception || c->front.quiet)
        return;
    if (r->hint && strstr(r->hint, "--with '")) { /* the sandbox's own does not fit what was added */
        autofree char *hint = scrub_line(r->hint, SCRUB_TERMINAL);

        print_line(hint);
    } else if (!strncmp(r->exception, is, strlen(is)))
        print_line("a package that the sandbox lacks is added by its name: --with NAME");
}

/* Print what python3 itself would print, and which limit was reached. */
static void tell_result(const struct config *c, const struct cell_result *r)
{
    if (r->traceback)
        print_plain(r->traceback);
    if (r->exception && r->status != CELL_INTERRUPTED
        && !(r->traceback && strstr(r->traceback, r->exception)))
        print_plain(r->exception);
    tell_missing(c, r);
    if (r->status != CELL_OK && r->status != CELL_EXIT && r->status != CELL_INTERRUPTED
        && (r->status != CELL_DIED || r->exit_code)) {
        struct cell_result told = *r;

        if (!c->sandbox_name && !r->files_lost) /* nothing runs after this, so the user need not be told */
            told.left = NULL;
        autofree char *line = cell_what(&told);
        if (line)
            print_line(line);
    }
    for (size_t i = 0; i < r->n_files && !c->front.quiet; i++)
        if (r->files[i].kind != FILE_VALUE_HTML || c->front.verbose)
            print_plain(r->files[i].path);
    if (r->files_note) /* shown even with -q, since a lost file is an error */
        print_line(r->files_note);
}

static void tell_mounts(struct exec *x)
{
    const struct mounts *m = sandbox_options(x->sandbox)->run.mounts;

    for (size_t i = 0; m && i < m->n; i++) {
        autofree char *line = mount_line(&m->v[i]), *unseen = mount_unseen(&m->v[i]);

        on_notice(x, false, line);
        if (unseen)
            on_notice(x, false, unseen);
    }
}

static void tell_network(struct exec *x)
{
    autofree char *line = x->network.text ? network_setup_line(&x->network) : NULL;

    if (line)
        on_notice(x, false, line);
}

static void tell_requests(struct exec *x)
{
    autofree char *line = network_count_line(&x->requests);

    on_notice(x, false, line);
}

/* --json-result: all of it in one line on stdout. */
static int print_result(struct exec *x, const struct cell_result *r)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    autojson struct json *o = json_object_of({"type", json_string("cell")}, {"v", json_integer(1)});

    cell_json(o, r);
    cell_json_files(o, r);
    cell_text_json(o, &x->text, r->value);
    json_line(o, &line);
    return print_json(buf_str(&line), line.len);
}

/* A script may say which Python it is for. */
static int check_python(struct exec *x, struct error *err)
{
    const char *code = buf_str(&x->code);

    if (!strstr(code, "requires-python"))
        return 0;
    return sandbox_wait(x->sandbox, err) < 0
               ? -1
               : packages_script_fits(code_name(x->c), code, sandbox_python(x->sandbox), err);
}

/* The code has been read. Returns with the sandbox started, or err says why not. */
static int run_exec(struct exec *x, struct error *err)
{
    struct sandbox *s = x->sandbox;
    struct cell_listener listener = {.ctx = x, .output = print_output};
    struct cell_result r autorelease(cell_result_release) = {0};

    tell_mounts(x);
    tell_network(x);
    sandbox_start(s);
    if (check_python(x, err) < 0 || put_inputs(x, err) < 0 || put_arguments(x, err) < 0
        || give_stdin(x, err) < 0
        || sandbox_run_code(s, &(struct cell_code){buf_str(&x->code), x->code.len, x->language}, &listener,
                            &r, err)
               < 0)
        return -1;
    if (x->language && x->language->magic && r.value) { /* what a query gives is what it prints */
        print_output(x, 1, r.value, strlen(r.value));
        print_output(x, 1, "\n", 1);
    }
    flush_scrub(x);
    if (r.n_files > 0 && !x->session.out_dir)
        session_keep(&x->session);
    int code = cell_exit_code(&r);
    if (code == 0 && r.undelivered)
        code = EXEC_FAILED;
    if (x->c->json_result && !loop_fatal(x->loop)) {
        int printed = print_result(x, &r);

        return printed ? exec_failed(printed) : code;
    }
    if (!x->gone && !x->write_error) /* in that case we interrupted the loop ourselves */
        tell_result(x->c, &r);
    if (x->unread && !loop_cancelled(x->loop))
        print_line("nobody read the rest of the output, so it is lost");
    int status = x->gone                                ? 141
                 : loop_fatal(x->loop)                  ? 143
                 : x->unread && loop_cancelled(x->loop) ? 130
                                                        : code;
    return !x->write_error ? status
                           : error_set(err, ERROR_SYSTEM, x->write_error, "cannot write to stdout: %s",
                                       strerror(x->write_error));
}

/* The commands of a start, each from the beginning of a line. */
static int dry_run(const struct sandbox_options *o, struct error *err)
{
    struct buf lines autorelease(buf_release) = BUF_INIT(0);
    int more = 1;

    for (size_t step = 0; more > 0; step++) {
        struct argv v autorelease(argv_release) = ARGV_INIT;

        more = sandbox_dry_run(o, step, &v, err);
        for (size_t i = 0; i < v.n; i++)
            if (strlen(v.v[i]) > SHOWN_MAX) /* the source of the supervisor */
                xreplace(&v.v[i], xasprintf("<the supervisor, %zu bytes of Python>", strlen(v.v[i])));
        argv_quote(&v, &lines);
        if (more > 0)
            buf_addch(&lines, '\n');
    }
    return more < 0 ? -1 : print_out(buf_str(&lines), lines.len);
}

static void on_exec_terminal(void *ctx, struct sandbox_terminal *t)
{
    (void)ctx;
    if (show_is_terminal(1))
        t->columns = show_width(1);
}

static int exec_in_session(struct exec *x, struct error *err)
{
    const struct config *c = x->c;
    struct sandbox_options o;
    int status = -1;

    if (setup_name_check(c, err) < 0 || setup_mounts(c, &x->mounts, err) < 0
        || setup_network(c, &x->network, err) < 0)
        return -1;
    setup_sandbox(c, &o);
    o.run.mounts = &x->mounts;
    network_setup_use(&x->network, &o);
    o.on_network = on_exec_request;
    if (!o.run.name) {
        o.run.snapshots = false; /* no later cell could need a snapshot */
        o.run.program = true;
    }
    if (config_source(c, &c->max_output)->kind == SOURCE_DEFAULT)
        o.max_output = 0; /* all that python3 would write */
    o.run.notice = on_notice;
    o.up = on_up;
    o.terminal = on_exec_terminal;
    o.run.notice_ctx = o.ctx = x;
    if (find_language(x, err) < 0 || (!c->dry_run && read_code(x, err) < 0))
        return -1;
    if (!c->dry_run && packages_want_script(&x->with.wanted, code_name(c), buf_str(&x->code), err) < 0)
        return -1;
    if (with_get(&x->with, &(struct with_ask){.c = c, .loop = x->loop, .notice = on_notice, .ctx = x}, &o,
                 err)
        < 0)
        return -1;
    if (c->dry_run) {
        o.session_dir = "/tmp";
        return dry_run(&o, err);
    }
    if (inputs_open(&x->inputs, "--add ", c->add.n ? (const char *const *)c->add.v : NULL, err) < 0
        || take_data(x, err) < 0)
        return -1;
    if (session_open(&x->session, c, NULL, err) == 0) {
        if (x->session.dir_lost)
            on_notice(x, false, x->session.dir_lost);
        o.session_dir = x->session.dir;
        o.out_dir = x->session.out_dir;
        x->sandbox = sandbox_new(&o, x->loop);
        status = sandbox_claim(x->sandbox, err) < 0 ? -1 : run_exec(x, err);
        sandbox_free(x->sandbox);
        if (x->network.text && status >= 0)
            tell_requests(x);
        autofree char *lost = session_cache_lost(&x->session);
        if (lost)
            on_notice(x, false, lost);
    }
    session_close(&x->session);
    return status;
}

int exec_failed(int status)
{
    return status == 130 || status == 141 || status == 143 ? status : EXEC_FAILED;
}

int cmd_exec(struct config *c, int closed)
{
    struct exec x = {
        .c = c, .closed = closed, .code = BUF_INIT(SANDBOX_CODE_MAX), .data = {.fd = -1}, .with = WITH_INIT};

    cell_text_init(&x.text);
    struct error err = {0};
    int status = -1;

    for (int fd = 1; fd <= 2; fd++) {
        x.terminal[fd] = isatty(fd);
        scrub_init(&x.scrub[fd], SCRUB_TERMINAL);
    }
    print_notices(c);
    x.loop = loop_new();
    if (loop_signals(x.loop, &err) == 0)
        status = exec_in_session(&x, &err);
    if (status < 0)
        status = exec_failed(print_failure(&err));
    mounts_release(&x.mounts);
    with_release(&x.with);
    network_setup_release(&x.network);
    stdin_data_release(&x.data);
    free(x.data_name);
    inputs_release(&x.inputs);
    buf_release(&x.code);
    cell_text_release(&x.text);
    loop_free(x.loop);
    return status;
}
