/* channel_place.h - the facade of sandbox over the real supervisor and worker, run without a container by
 * fake_engine.h: a sandbox for each test, and words for what is wanted of a cell. For tests that include it.
 */
#ifndef TESTS_KERNEL_PLACE_H
#define TESTS_KERNEL_PLACE_H

#include <signal.h>

#include "process/signals.h"
#include "sandbox/private.h" /* stage, restored, lost_state: no call says what came while nothing was asked */
#include "tests/unit/unit.h"
#include "tests/unit/sandbox/fake_engine.h"

struct seen {
    struct buf out, err;
};

static struct loop *loop;
static struct sandbox *box;
static struct cell_result r;
static char *said; /* cell_what() of it */
static struct seen seen;
static char session[64];
static int notices;

static inline void on_output(void *ctx, int stream, const char *text, size_t len)
{
    struct seen *s = ctx;

    buf_add(stream == 1 ? &s->out : &s->err, text, len);
}

static inline void on_notice(void *ctx, bool detail, const char *text)
{
    (void)detail;
    (void)text;
    ++*(int *)ctx;
}

/* What a test wants to know or say of its sandbox besides; or NULL. */
static void (*phase_hook)(const struct phase_now *now);
static void (*terminal_hook)(struct sandbox_terminal *t);

static inline void on_phase(void *ctx, const struct phase_now *now)
{
    (void)ctx;
    if (phase_hook)
        phase_hook(now);
}

static inline void on_terminal(void *ctx, struct sandbox_terminal *t)
{
    (void)ctx;
    if (terminal_hook)
        terminal_hook(t);
}

static const struct cell_listener listener = {.ctx = &seen, .output = on_output};

static inline int setup_with(int cell_ms, const char *options)
{
    struct sandbox_options o;

    signal(SIGPIPE, SIG_IGN);
    memset(&fake, 0, sizeof fake);
    snprintf(fake.data, sizeof fake.data, "/tmp/sandbox-test-XXXXXX");
    snprintf(session, sizeof session, "/tmp/sandbox-session-XXXXXX");
    if (!mkdtemp(fake.data) || !mkdtemp(session))
        return -1;
    fake.options = options;
    loop = loop_new();
    sandbox_defaults(&o);
    o.session_dir = session;
    o.cell_ms = cell_ms;
    o.phase = on_phase;
    o.terminal = on_terminal;
    o.max_file = 16 << 20;
    o.run.notice = on_notice;
    o.run.notice_ctx = &notices;
    notices = 0;
    phase_hook = NULL;
    terminal_hook = NULL;
    box = sandbox_new(&o, loop);
    return 0;
}

static inline int setup(void **state)
{
    (void)state;
    return setup_with(20000, NULL);
}

static inline int setup_slow(void **state)
{
    (void)state;
    /* importing matplotlib for the first time builds a cache of fonts */
    return setup_with(60000, NULL);
}

static inline int teardown(void **state)
{
    (void)state;
    free(said);
    said = NULL;
    cell_result_release(&r);
    sandbox_free(box);
    loop_free(loop);
    buf_release(&seen.out);
    buf_release(&seen.err);
    file_remove_tree(fake.data);
    file_remove_tree(session);
    return 0;
}

static inline void run_by(const struct cell_listener *l, const char *code)
{
    struct error err = {0};

    cell_result_release(&r);
    buf_clear(&seen.out);
    buf_clear(&seen.err);
    loop_arm(loop);
    if (sandbox_run(box, code, strlen(code), l, &r, &err) < 0)
        fail_msg("sandbox_run: %s", err.text);
    free(said);
    said = cell_what(&r);
}

/* A cell that is to run into the time limit has a second; the others have what the setup says, which is
 * enough for a busy machine. */
static inline void want_by(const struct cell_listener *l, const char *code, enum cell_status status)
{
    int cell_ms = sandbox_options(box)->cell_ms;

    if (status == CELL_TIMEOUT)
        sandbox_set_cell_time(box, 1000);
    run_by(l, code);
    sandbox_set_cell_time(box, cell_ms);
    if (r.status != status)
        fail_msg("status %d, wanted %d\ncode: %s\nexception: %s\ntraceback: %s\nwhat: %s\noutput: %s%s",
                 r.status, status, code, r.exception ? r.exception : "-", r.traceback ? r.traceback : "-",
                 said ? said : "-", buf_str(&seen.out), buf_str(&seen.err));
}

/* Wait until it is known that the worker has ended between two cells. */
static inline void await_death(void)
{
    int64_t until = clock_ms() + 20000;

    while (!box->restored && !box->lost_state && clock_ms() < until)
        loop_wait(loop, 100);
}

static inline void run(const char *code)
{
    run_by(&listener, code);
}

static inline void want(const char *code, enum cell_status status)
{
    want_by(&listener, code, status);
}

static inline void want_out(const char *code, const char *out)
{
    want(code, CELL_OK);
    assert_string_equal(buf_str(&seen.out), out);
}

static inline void has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("\"%s\" lacks \"%s\"", text ? text : "(null)", part);
}

#define T(f)      cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T_SLOW(f) cmocka_unit_test_setup_teardown(f, setup_slow, teardown)

#endif
