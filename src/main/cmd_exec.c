/* cmd_exec.c - "sandpiper exec FILE", "exec -c CODE": Python in the sandbox, no model. stdout and stderr are
 * the code's own, live and apart: byte for byte, or scrubbed where they are a terminal. A slow reader slows
 * the code down; nothing is cut.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "main/command.h"
#include "pipe/stdin.h"
#include "sandbox/sandbox.h"

#define SHOWN_MAX 2000 /* bytes of one argument in --dry-run */

struct exec {
    const struct config *c;
    struct loop *loop;
    struct scrub scrub[3];
    bool terminal[3];
    bool gone;              /* nobody reads stdout any more */
    struct stdin_data data; /* stdin beside the code */
    int write_error;        /* errno of stdout when it failed otherwise */
    bool unread;            /* interrupted with output on its way, which is then lost */
};

/* All of it, waiting for the reader but not past an interrupt. */
static void write_out(struct exec *x, int fd, const char *p, size_t len)
{
    if (len == 0 || x->gone || x->write_error || x->unread)
        return;
    if (loop_check(x->loop))
        x->unread = true;
    else if (out_write(fd, p, len, x->loop) < 0) {
        if (errno == EINTR)
            x->unread = true;
        else if (fd == 1) { /* a stderr that is gone stops nothing */
            x->gone = errno == EPIPE;
            x->write_error = x->gone ? 0 : errno;
            loop_interrupt(x->loop);
        }
    }
}

static void on_output(void *ctx, int stream, const char *text, size_t len)
{
    struct exec *x = ctx;
    int fd = stream == 2 ? 2 : 1;

    if (!x->terminal[fd]) {
        write_out(x, fd, text, len);
        return;
    }
    struct buf clean autorelease(buf_release) = BUF_INIT(0);
    scrub_feed(&x->scrub[fd], text, len, &clean);
    write_out(x, fd, buf_str(&clean), clean.len);
}

static void flush_scrub(struct exec *x)
{
    for (int fd = 1; fd <= 2; fd++) {
        struct buf rest autorelease(buf_release) = BUF_INIT(0);
        if (!x->terminal[fd])
            continue;
        scrub_end(&x->scrub[fd], &rest);
        write_out(x, fd, buf_str(&rest), rest.len);
    }
}

static void on_notice(void *ctx, bool detail, const char *line)
{
    const struct exec *x = ctx;

    if (x->c->quiet || (detail && !x->c->verbose))
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

static int too_long(struct error *err, const char *name)
{
    return error_set(err, ERROR_USAGE, EFBIG, "%s: too long (more than %u MiB of code)", name,
                     SANDBOX_CODE_MAX >> 20);
}

/* Blocking, but an interrupt ends it: a terminal or a pipe may never send anything. */
static int read_stdin(struct loop *loop, struct buf *code, struct error *err)
{
    for (;;) {
        struct pollfd pfd = {.fd = 0, .events = POLLIN};
        char piece[16384];
        ssize_t n;

        if (loop_check(loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        if (poll(&pfd, 1, 100) <= 0)
            continue;
        n = read(0, piece, sizeof piece);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return error_set(err, ERROR_USAGE, errno, "stdin: %s", strerror(errno));
        if (n > 0 && !buf_add(code, piece, (size_t)n))
            return too_long(err, "stdin");
    }
}

static bool code_is_stdin(const struct config *c)
{
    return !c->code && (!c->operand || c->operand_is_stdin);
}

static int read_code(const struct config *c, int closed, struct loop *loop, struct buf *code,
                     struct error *err)
{
    const char *name = c->code ? "-c" : code_is_stdin(c) ? "stdin" : c->operand;

    if (c->code) {
        if (!buf_addstr(code, c->code))
            return too_long(err, name);
    } else if (c->operand && !c->operand_is_stdin) {
        if (file_read(c->operand, SANDBOX_CODE_MAX, code, err) < 0) {
            err->kind = ERROR_USAGE;
            return err->code == EFBIG ? too_long(err, name) : -1;
        }
    } else if (!c->operand && ((closed & 1) || isatty(0))) {
        return error_set(err, ERROR_USAGE, 0,
                         "exec needs Python code: sandpiper exec FILE, exec -c CODE, or exec - for stdin");
    } else if (read_stdin(loop, code, err) < 0) {
        return -1;
    }
    if (memchr(buf_str(code), 0, code->len))
        return error_set(err, ERROR_USAGE, 0, "%s: not Python: it contains a NUL byte", name);
    if (!utf8_valid(buf_str(code), code->len))
        return error_set(err, ERROR_USAGE, 0, "%s: not valid UTF-8, which Python requires", name);
    return 0;
}

static void say(void *exec, enum notice_level level, const char *line)
{
    on_notice(exec, level == NOTICE_DETAIL, line);
}

/* What is piped in is data, where it is not the code: by the rules of a question. */
static int take_data(struct exec *x, int closed, struct error *err)
{
    struct stdin_rules rules = {
        .fd = 0,
        .mode = setup_stdin(x->c),
        .closed = closed & 1,
        .max = (uint64_t)x->c->data_size,
        .loop = x->loop,
        .say = say,
        .ctx = x,
    };

    if (code_is_stdin(x->c))
        return 0;
    return stdin_take(&rules, &x->data, err);
}

static int put_file(struct exec *x, struct sandbox *s, const char *from, const char *name, int fd,
                    bool detail, struct error *err)
{
    uint64_t size = 0;

    if (sandbox_put(s, name, fd, &size, err) < 0)
        return -1;
    autofree char *line = xasprintf("%s: %llu bytes, in the sandbox as /mnt/data/%s", from,
                                    (unsigned long long)size, name);
    on_notice(x, detail, line);
    return 0;
}

static int put_files(struct exec *x, struct inputs *in, struct sandbox *s, struct error *err)
{
    struct argv names autorelease(argv_release) = ARGV_INIT;

    for (size_t i = 0; i < in->n; i++) {
        const char *slash = strrchr(in->v[i].path, '/'),
                   *last = slash && slash[1] ? slash + 1 : in->v[i].path;
        autofree char *name = name_not_taken(last, (const char *const *)names.v, names.n);

        if (put_file(x, s, in->v[i].path, name, in->v[i].fd, !strcmp(name, last), err) < 0)
            return -1;
        argv_push(&names, name);
    }
    if (!x->data.any)
        return 0;
    autofree char *stem = stdin_data_name(&x->data);
    autofree char *name = name_not_taken(stem, (const char *const *)names.v, names.n);
    return put_file(x, s, "stdin", name, x->data.fd, false, err);
}

/* sys.argv as python3 has it. */
static int put_arguments(const struct config *c, struct sandbox *s, struct error *err)
{
    struct argv v autorelease(argv_release) = ARGV_INIT;

    argv_push(&v, c->code ? "-c" : c->operand ? c->operand : "");
    for (size_t i = 0; i < c->arguments.n; i++)
        argv_push(&v, c->arguments.v[i]);
    if (v.n == 1 && !*v.v[0] && !c->sandbox_name) /* so it is in a new interpreter */
        return 0;
    return sandbox_set_arguments(s, v.v, v.n, err);
}

static int code_of(const struct cell_result *r)
{
    switch (r->status) {
    case CELL_OK:
        return 0;
    case CELL_EXIT:
        return r->exit_code == 0 ? 0 : 1;
    case CELL_TIMEOUT:
    case CELL_MEMORY:
        return 5;
    case CELL_INTERRUPTED:
        return 130;
    default:
        return 1;
    }
}

/* What python itself would have said, and which limit was met. */
static void tell_result(const struct config *c, const struct cell_result *r)
{
    if (r->traceback)
        print_plain(r->traceback);
    if (r->exception && r->status != CELL_INTERRUPTED
        && !(r->traceback && strstr(r->traceback, r->exception)))
        print_plain(r->exception);
    if (r->what && r->status != CELL_OK && r->status != CELL_EXIT && r->status != CELL_INTERRUPTED) {
        /* nothing runs after this, so it is no news */
        const char *state = c->sandbox_name ? NULL : strstr(r->what, "; variables are ");
        autofree char *line = xasprintf("%.*s", (int)(state ? (size_t)(state - r->what) : strlen(r->what)),
                                        r->what);

        print_line(line);
    }
    for (size_t i = 0; i < r->n_files && !c->quiet; i++)
        print_plain(r->files[i].path);
    if (r->files_note) /* with -q as well: what is lost is no news but an error */
        print_line(r->files_note);
}

/* The code has been read; the sandbox is there or err says why not. */
static int run(struct exec *x, struct sandbox *s, struct session *session, struct inputs *in,
               const struct buf *code, struct error *err)
{
    struct cell_listener listener = {.ctx = x, .output = on_output};
    struct cell_result r = {0};
    int status;

    sandbox_start(s);
    if (put_files(x, in, s, err) < 0 || put_arguments(x->c, s, err) < 0
        || sandbox_run(s, buf_str(code), code->len, &listener, &r, err) < 0)
        return -1;
    flush_scrub(x);
    if (r.n_files > 0 && !session->out_dir)
        session_keep(session);
    if (!x->gone && !x->write_error) /* the interrupt was ours then */
        tell_result(x->c, &r);
    status = x->gone ? 141 : loop_fatal(x->loop) ? 143 : x->unread ? 130 : code_of(&r);
    if (status == 0 && r.undelivered)
        status = 1;
    if (x->write_error) {
        cell_result_release(&r);
        return error_set(err, ERROR_SYSTEM, x->write_error, "cannot write to stdout: %s",
                         strerror(x->write_error));
    }
    cell_result_release(&r);
    return status;
}

static int dry_run(const struct sandbox_options *o, struct error *err)
{
    struct argv v = ARGV_INIT;
    struct buf line = BUF_INIT(0);
    int status = sandbox_dry_run(o, &v, err);

    for (size_t i = 0; status == 0 && i < v.n; i++)
        /* the supervisor's text: nobody wants to read the rest behind it */
        if (strlen(v.v[i]) > SHOWN_MAX) {
            char *name = xasprintf("<the supervisor, %zu bytes of Python>", strlen(v.v[i]));
            free(v.v[i]);
            v.v[i] = name;
        }
    if (status == 0) {
        argv_quote(&v, &line);
        buf_addch(&line, '\n');
        status = print_out(buf_str(&line), line.len);
    }
    argv_release(&v);
    buf_release(&line);
    return status;
}

static int with_session(struct exec *x, int closed, struct error *err)
{
    const struct config *c = x->c;
    struct buf code autorelease(buf_release) = BUF_INIT(SANDBOX_CODE_MAX);
    struct inputs in autorelease(inputs_release) = {0};
    struct session session = {0};
    struct sandbox_options o;
    struct sandbox *s;
    int status = -1;

    setup_sandbox(c, &o);
    if (!o.name)
        o.park = false; /* nothing follows that could need a copy */
    o.notice = on_notice;
    o.up = on_up;
    o.notice_ctx = x;
    if (c->dry_run) {
        o.session_dir = "/tmp";
        return dry_run(&o, err);
    }
    if (o.name && sandbox_name_check(o.name, err) < 0)
        return -1;
    if (read_code(c, closed, x->loop, &code, err) < 0
        || inputs_open(&in, c->add.n ? (const char *const *)c->add.v : NULL, err) < 0
        || take_data(x, closed, err) < 0)
        return -1;
    if (session_open(&session, c, err) == 0) {
        if (session.dir_lost)
            on_notice(x, false, session.dir_lost);
        o.session_dir = session.dir;
        o.out_dir = session.out_dir;
        s = sandbox_new(&o, x->loop);
        status = sandbox_claim(s, err) < 0 ? -1 : run(x, s, &session, &in, &code, err);
        sandbox_free(s);
        autofree char *lost = session_cache_lost(&session);
        if (lost)
            on_notice(x, false, lost);
    }
    session_close(&session);
    return status;
}

int cmd_exec(struct config *c, int closed)
{
    struct exec x = {.c = c, .data = {.fd = -1}};
    struct error err = {0};
    int status = -1;

    for (int fd = 1; fd <= 2; fd++) {
        x.terminal[fd] = isatty(fd);
        scrub_init(&x.scrub[fd], SCRUB_TERMINAL);
    }
    print_notices(c);
    x.loop = loop_new();
    if (loop_signals(x.loop, &err) == 0)
        status = with_session(&x, closed, &err);
    if (status < 0 && err.kind == ERROR_CANCELLED) {
        status = loop_fatal(x.loop) ? 143 : 130;
    } else if (status < 0) {
        print_error(&err);
        status = error_exit_code(&err);
    }
    stdin_data_release(&x.data);
    loop_free(x.loop);
    return status;
}
