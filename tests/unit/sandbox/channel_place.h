/* channel_place.h - the facade of src/sandbox over the real supervisor and worker, run without a container by
 * fake_engine.h: a sandbox for each test, and words for what is wanted of a cell. For tests that include it.
 */
#ifndef TESTS_KERNEL_PLACE_H
#define TESTS_KERNEL_PLACE_H

#include <signal.h>

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
    o.run.notice = on_notice;
    o.run.notice_ctx = &notices;
    notices = 0;
    box = sandbox_new(&o, loop);
    return 0;
}

static inline int setup(void **state)
{
    (void)state;
    return setup_with(1000, NULL);
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

static inline void want_by(const struct cell_listener *l, const char *code, enum cell_status status)
{
    run_by(l, code);
    if (r.status != status)
        fail_msg("status %d, wanted %d\ncode: %s\nexception: %s\ntraceback: %s\nwhat: %s\noutput: %s%s",
                 r.status, status, code, r.exception ? r.exception : "-", r.traceback ? r.traceback : "-",
                 said ? said : "-", buf_str(&seen.out), buf_str(&seen.err));
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

/* 'S': it sleeps, 'Z': it has ended; 0: it is gone. */
static inline char process_state(int pid)
{
    char path[64], state = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if ((f = fopen(path, "r"))) {
        if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        fclose(f);
    }
    return state;
}

/* The ns of processor time that a process has had, or -1 if it is gone or not asleep: on a busy machine what
 * has work to do waits for a processor, which is not sleep. */
static inline long long slept_after(int pid)
{
    char path[64];
    long long ns = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    if (process_state(pid) == 'S' && (f = fopen(path, "r"))) {
        if (fscanf(f, "%lld", &ns) != 1)
            ns = -1;
        fclose(f);
    }
    return ns;
}

/* The sum over the supervisor and its children, each with its pid; -1: not all of them sleep. */
static inline long long all_asleep_after(void)
{
    long long sum = slept_after(fake.pid), one;
    char path[64];
    int pid;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", fake.pid, fake.pid);
    f = fopen(path, "r");
    while (f && sum >= 0 && fscanf(f, "%d", &pid) == 1) {
        one = slept_after(pid);
        sum = one < 0 ? -1 : sum + one + pid;
    }
    if (f)
        fclose(f);
    return sum;
}

/* Wait until whatever follows a cell is done, such as its snapshot: until supervisor and workers have slept
 * for longer than any of them waits on purpose (50 ms from one snapshot to the next). */
static inline void settle(void)
{
    const int64_t until = clock_ms() + 20000;
    long long before = -1, now;

    for (int still = 0; still < 6 && clock_ms() < until; before = now) {
        usleep(10000);
        now = all_asleep_after();
        still = now >= 0 && now == before ? still + 1 : 0;
    }
}

static inline void has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("\"%s\" lacks \"%s\"", text ? text : "(null)", part);
}

#define T(f)      cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T_SLOW(f) cmocka_unit_test_setup_teardown(f, setup_slow, teardown)

#endif
