/* cells.c - time cells through sandbox, as the agent runs them, by turns with what they are measured
 * against, so that a machine that gets slower does so for both.
 *
 *     cells ENGINE warm N     1,000 times print(1) without a pause, with snapshots, without, and over bare
 *                             pipes to an uncontained python3: p50, p99 and mean in microseconds, of all and
 *                             of the quietest fifth; and the time to the first result
 *     cells ENGINE flood MB   one cell that prints MB megabytes: seconds, and our own peak memory in kB
 *     cells ENGINE snapshots none|numpy|objects
 *                             print(1) with snapshots and without: 20 ms after the last cell, with how much
 *                             more it is in each pair; right after one of 60 ms, which a snapshot then comes
 *                             between; and two cells in such a sandbox, the first of which forks, beside the
 *                             same two without the fork; state of 500 MB
 *     cells ENGINE copies none|numpy
 *                             milliseconds: a live copy is written, again, and gone on from, by a new sandbox
 *                             that is up; the next cell there, and one that writes to each page of the state;
 *                             and what a bare fork with the same two cells takes; state of 500 MB
 *     cells ENGINE forks N    N sandboxes at once that go on from one copy with 500 MB in arrays and read all
 *                             of it: what they take each by itself and together (PSS) in kB; then one takes
 *                             all memory that it may have, and the others are asked again
 *     cells ENGINE languages N  N cells in each language, by turns, and one of Python that does what SQL does
 *                             -1: it is not in the sandbox
 *     cells - profile FILE    write the seccomp profile that containers get
 *
 * One line of "key value" pairs on stdout.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "json/json.h"
#include "limits/seccomp.h"
#include "process/child.h"
#include "process/loop.h"
#include "sandbox/sandbox.h"

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void free_box(struct sandbox **s)
{
    sandbox_free(*s);
}

static int run_cell(struct sandbox *s, const char *code, struct error *err)
{
    struct cell_result r = {0};
    if (sandbox_run(s, code, strlen(code), NULL, &r, err) < 0)
        return -1;
    int ok = r.status == CELL_OK;
    if (!ok)
        error_set(err, ERROR_SANDBOX, 0, "cell: %s", r.what ? r.what : r.exception ? r.exception : "?");
    cell_result_release(&r);
    return ok ? 0 : -1;
}

static void print_times(const char *name, int64_t *us, int n)
{
    int64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += us[i];
    qsort(us, (size_t)n, sizeof *us, by_value);
    printf("%s_p10_us %lld %s_p50_us %lld %s_p99_us %lld %s_mean_us %lld ", name, (long long)us[n / 10], name,
           (long long)us[n / 2], name, (long long)us[n * 99 / 100], name, (long long)(sum / n));
}

/* A cell's microseconds, or -1. */
static int64_t time_cell(struct sandbox *s, struct error *err)
{
    int64_t begin = clock_us();

    return run_cell(s, "print(1)", err) < 0 ? -1 : clock_us() - begin;
}

/* ---- what an exchange costs with nothing around it: a line of code in, its output and a result back */

struct bare {
    int in, out;
    struct child *child;
};

static int bare_begin(struct bare *b, struct error *err)
{
    static const char guest[] = "import sys,os\n"
                                "g={'__name__':'__main__'}\n"
                                "for line in sys.stdin:\n"
                                "  exec(compile(line,'<cell>','exec'),g)\n"
                                "  sys.stdout.flush()\n"
                                "  os.write(1,b'.')\n";
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        return error_errno(err, "pipe");
    struct argv argv = ARGV_INIT;
    argv_pushl(&argv, "/usr/bin/python3", "-I", "-S", "-u", "-c", guest, NULL);
    struct child_options o = {.argv = argv.v, .in = in[0], .out = out[1], .err = 2};
    *b = (struct bare){in[1], out[0], child_start(&o, err)};
    argv_release(&argv);
    close(in[0]);
    close(out[1]);
    return b->child ? 0 : -1;
}

static int64_t bare_time(struct bare *b, struct error *err)
{
    int64_t begin = clock_us();
    char buf[64];
    size_t got = 0;

    if (fd_write_all(b->in, "print(1)\n", 9) < 0)
        return error_errno(err, "write");
    while (got < 3) {
        ssize_t r = read(b->out, buf + got, sizeof buf - got);

        if (r <= 0)
            return error_errno(err, "read");
        got += (size_t)r;
    }
    return clock_us() - begin;
}

static void bare_end(struct bare *b)
{
    close(b->in);
    close(b->out);
    child_wait(b->child, 2000);
    child_free(b->child);
}

/* ---- */

/* Two sandboxes: without snapshots, and with. */
static int begin_two(struct sandbox *s[2], const struct sandbox_options *options, struct loop *loop,
                     struct error *err)
{
    int status = 0;

    for (int on = 0; on < 2; on++) {
        struct sandbox_options o = *options;

        o.run.snapshots = on;
        o.run.memory = INT64_C(3) << 30;
        s[on] = sandbox_new(&o, loop);
        int64_t begin = clock_us();
        if (status == 0)
            status = run_cell(s[on], "import os, time", err);
        if (on)
            printf("first_ms %.1f ", (double)(clock_us() - begin) / 1000);
    }
    return status;
}

enum { ROWS = 5 };

/* Of the fifth in which the machine did least besides: the lowest p50 and the lowest mean of one. */
static void print_quietest(const char *name, int64_t *us, int n)
{
    int row = n / ROWS;
    int64_t p50 = INT64_MAX, mean = INT64_MAX;

    for (int i = 0; i < ROWS; i++) {
        int64_t sum = 0, *at = us + i * row;

        for (int k = 0; k < row; k++)
            sum += at[k];
        qsort(at, (size_t)row, sizeof *at, by_value);
        p50 = at[row / 2] < p50 ? at[row / 2] : p50;
        mean = sum / row < mean ? sum / row : mean;
    }
    printf("%s_row_p50_us %lld %s_row_mean_us %lld ", name, (long long)p50, name, (long long)mean);
}

static int warm(const struct sandbox_options *options, struct loop *loop, int n, struct error *err)
{
    static const char *const names[] = {"off", "on", "bare"};
    int64_t *us[3];
    struct sandbox *s[2];
    struct bare bare = {0};
    int status = begin_two(s, options, loop, err) < 0 ? -1 : bare_begin(&bare, err);

    for (int k = 0; k < 3; k++)
        us[k] = xcalloc((size_t)n, sizeof *us[k]);
    /* Rows of a fifth by turns. */
    for (int i = 0; i < n * 3 && status == 0; i++) {
        int row = n / ROWS, turn = i / row, k = turn % 3, at = turn / 3 * row + i % row;
        int64_t took = k < 2 ? time_cell(s[k], err) : bare_time(&bare, err);

        status = took < 0 ? -1 : 0;
        us[k][at] = took;
    }
    bare_end(&bare);
    for (int k = 0; k < 3; k++) {
        if (k < 2)
            sandbox_free(s[k]);
        if (status == 0) {
            print_quietest(names[k], us[k], n);
            print_times(names[k], us[k], n);
        }
        free(us[k]);
    }
    return status;
}

/* What any copy needs at the least is a fork that lives on, and the page faults that follow. Of about 147 of
 * them in the parent fork() itself has 15 and the rest of the cell that called it 104, so both cells count,
 * beside two that do the same without a fork. */
static const char fork_code[] = "def fork(make=os.fork):\n"
                                "    global child\n"
                                "    child = make()\n"
                                "    if child == 0: time.sleep(10); os._exit(0)\n";

static int64_t time_two(struct sandbox *s, const char *first, struct error *err)
{
    int64_t begin = clock_us();

    return run_cell(s, first, err) < 0 || run_cell(s, "print(1)", err) < 0 ? -1 : clock_us() - begin;
}

/* ---- the processor time of the three processes of an exchange, which others' work does not touch */

struct spent {
    pid_t pids[3]; /* ours, the supervisor's, the worker's */
};

/* Whether that process is in this pid namespace, with this number there. */
static bool is_inside(const char *pid, const char *space, long number)
{
    autofree char *ns = xasprintf("/proc/%s/ns/pid", pid), *status = xasprintf("/proc/%s/status", pid);
    char link[64] = "", line[256];
    long last = -1;

    if (readlink(ns, link, sizeof link - 1) < 0 || strcmp(link, space) != 0)
        return false;
    FILE *f = fopen(status, "re");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "NSpid:", 6))
            last = strtol(strrchr(line, '\t'), NULL, 10);
    if (f)
        fclose(f);
    return last == number;
}

static int spent_init(struct spent *q, struct sandbox *s, struct error *err)
{
    static const char whose[] = "'%s %d' % (os.readlink('/proc/self/ns/pid'), os.getpid())";
    struct cell_result r = {0};
    char space[64];
    long worker;

    if (sandbox_run(s, whose, strlen(whose), NULL, &r, err) < 0)
        return -1;
    int n = r.value ? sscanf(r.value, "'%63[^ ] %ld'", space, &worker) : 0;
    cell_result_release(&r);
    *q = (struct spent){{getpid()}};
    DIR *d = opendir("/proc");
    for (struct dirent *e = d ? readdir(d) : NULL; n == 2 && e; e = readdir(d))
        for (int i = 1; i < 3; i++)
            if (is_inside(e->d_name, space, i == 1 ? 1 : worker))
                q->pids[i] = (pid_t)strtol(e->d_name, NULL, 10);
    if (d)
        closedir(d);
    return q->pids[1] && q->pids[2] ? 0
                                    : error_set(err, ERROR_SYSTEM, 0, "no supervisor and worker in /proc");
}

/* Nanoseconds, all three together: in an exchange one waits for the other, so they add up. */
static int64_t spent_ns(const struct spent *q)
{
    int64_t sum = 0;

    for (int i = 0; i < 3; i++) {
        char path[64];
        long long ns = 0;

        snprintf(path, sizeof path, "/proc/%d/schedstat", (int)q->pids[i]);
        FILE *f = fopen(path, "re");
        if (f && fscanf(f, "%lld", &ns) == 1)
            sum += ns;
        if (f)
            fclose(f);
    }
    return sum;
}

/* No waiting awake (see loop_expect), which is processor time too, but not that of the exchange. */
static void wait_asleep(struct loop *loop)
{
    cpu_set_t all, one;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) < 0)
        return;
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        loop_expect(loop); /* the first call: it sees one processor, and remembers that */
    sched_setaffinity(0, sizeof all, &all);
}

/* A cell 20 ms after the last one: its processor time in microseconds, or -1. On a machine with nothing else
 * to do that is how long it takes; on any other its time would be that of the queues. */
static int64_t time_apart(struct sandbox *s, const struct spent *q, struct error *err)
{
    if (run_cell(s, "print(1)", err) < 0)
        return -1;
    usleep(20000);
    int64_t before = spent_ns(q);
    return run_cell(s, "print(1)", err) < 0 ? -1 : (spent_ns(q) - before) / 1000;
}

/* Pairs, off and on right after each other and by turns first, so that a machine that gets slower does so for
 * both. What counts is the difference within a pair. */
static int apart(struct sandbox *s[2], struct error *err)
{
    enum { PAIRS = 200 };
    int64_t us[2][PAIRS], more[PAIRS];
    struct spent spent[2];

    if (spent_init(&spent[0], s[0], err) < 0 || spent_init(&spent[1], s[1], err) < 0)
        return -1;
    for (int i = 0; i < PAIRS; i++) {
        for (int turn = 0; turn < 2; turn++) {
            int on = (turn + i) & 1;

            us[on][i] = time_apart(s[on], &spent[on], err);
            if (us[on][i] < 0)
                return -1;
        }
        more[i] = us[1][i] - us[0][i];
    }
    print_times("off_apart", us[0], PAIRS);
    print_times("on_apart", us[1], PAIRS);
    print_times("more_apart", more, PAIRS);
    return 0;
}

/* Right after a cell of 60 ms: one that a snapshot comes before, beside one without; and the bare fork, where
 * nothing of the other sandbox's snapshot is still under way. */
static int row(struct sandbox *s[2], struct error *err)
{
    enum { TURNS = 40, OFF = 0, ON, SAME, FORK, KINDS };
    static const char *const names[KINDS] = {"off_row", "on_row", "same", "fork"};
    int64_t us[KINDS][TURNS];

    for (int i = 0; i < TURNS; i++)
        for (int k = 0; k < KINDS; k++) {
            struct sandbox *in = s[k == ON];

            if (run_cell(in, "time.sleep(0.06)", err) < 0)
                return -1;
            us[k][i] = k == FORK   ? time_two(in, "fork()", err)
                       : k == SAME ? time_two(in, "fork(os.getpid)", err)
                                   : time_cell(in, err);
            if (us[k][i] < 0)
                return -1;
            if (k == FORK && run_cell(in, "os.kill(child, 9)\nos.waitpid(child, 0);", err) < 0)
                return -1;
        }
    for (int k = 0; k < KINDS; k++)
        print_times(names[k], us[k], TURNS);
    return 0;
}

static int snapshots(const struct sandbox_options *options, struct loop *loop, const char *state,
                     struct error *err)
{
    const char *prepare = !strcmp(state, "numpy")
                              ? "import numpy\nx = [numpy.ones(6553600) for i in range(10)]"
                          : !strcmp(state, "objects") ? "x = [str(i) * 3 for i in range(6500000)]"
                                                      : "x = 1";
    struct sandbox *s[2];

    wait_asleep(loop);
    int status = begin_two(s, options, loop, err);
    for (int on = 0; on < 2 && status == 0; on++)
        status = run_cell(s[on], prepare, err) < 0 ? -1 : run_cell(s[on], fork_code, err);
    if (status == 0)
        status = apart(s, err) < 0 ? -1 : row(s, err);
    sandbox_free(s[0]);
    sandbox_free(s[1]);
    return status;
}

/* ---- live copies */

/* Writes to each page, so that each is copied. */
static const char touch_code[] = "for a in x:\n"
                                 "    a[::512] += 1\n";
/* In a child, of which the parent knows when it had begun and when it was done. */
static const char fork_and_touch_code[] = "def fork_and_touch():\n"
                                          "    begin = time.monotonic()\n"
                                          "    child = os.fork()\n"
                                          "    if child == 0:\n"
                                          "        try:\n"
                                          "            print(1, end='')\n"
                                          "            for a in x: a[::512] += 1\n"
                                          "        finally:\n"
                                          "            os._exit(0)\n"
                                          "    os.waitpid(child, 0)\n"
                                          "    return time.monotonic() - begin\n";

/* The copy in fd is gone on from in a new sandbox: how long that took, and its first two cells. */
static int time_copy(const struct sandbox_options *o, struct loop *loop, int fd, int64_t us[3],
                     struct error *err)
{
    autorelease(free_box) struct sandbox *s = sandbox_new(o, loop);

    if (run_cell(s, "1", err) < 0)
        return -1;
    int64_t at[4] = {clock_us()};
    if (sandbox_copy_in(s, fd, 1, err) < 0)
        return -1;
    at[1] = clock_us();
    if (run_cell(s, "print(1)", err) < 0)
        return -1;
    at[2] = clock_us();
    if (run_cell(s, touch_code, err) < 0)
        return -1;
    at[3] = clock_us();
    for (int i = 0; i < 3; i++)
        us[i] = at[i + 1] - at[i];
    return 0;
}

static int64_t time_fork(struct sandbox *s, struct error *err)
{
    struct cell_result r = {0};

    if (sandbox_run(s, "fork_and_touch()", strlen("fork_and_touch()"), NULL, &r, err) < 0)
        return -1;
    int64_t us = r.value ? (int64_t)(strtod(r.value, NULL) * 1e6) : -1;
    cell_result_release(&r);
    return us;
}

static int copies(const struct sandbox_options *given, struct loop *loop, const char *state,
                  struct error *err)
{
    enum { TURNS = 7, OUT = 0, IN, FIRST, TOUCH, FORK, KINDS };
    static const char *const names[KINDS] = {"out", "in", "first", "touch", "fork"};
    struct sandbox_options o = *given;
    int64_t us[KINDS][TURNS], copied[3];

    o.run.memory = INT64_C(3) << 30;
    o.run.snapshots = false;
    autorelease(free_box) struct sandbox *s = sandbox_new(&o, loop);
    autofree char *prepare = xasprintf(
        "import os, time\n%s\n%s",
        !strcmp(state, "numpy") ? "import numpy\nx = [numpy.ones(6553600) for i in range(10)]" : "x = []",
        fork_and_touch_code);
    if (run_cell(s, prepare, err) < 0)
        return -1;
    for (int i = 0; i < TURNS; i++) {
        autoclose int fd = fd_sealable("bench");
        int64_t begin = clock_us();

        us[FORK][i] = time_fork(s, err);
        begin = clock_us();
        if (us[FORK][i] < 0 || sandbox_copy_out(s, fd, err) < 0)
            return -1;
        us[OUT][i] = clock_us() - begin;
        if (time_copy(&o, loop, fd, copied, err) < 0)
            return -1;
        for (int k = 0; k < 3; k++)
            us[IN + k][i] = copied[k];
    }
    for (int k = 0; k < KINDS; k++)
        print_times(names[k], us[k], TURNS);
    return 0;
}

/* The number that a line of its smaps_rollup has, in kB; the state is read before. -1 with err. */
static int64_t memory_of(struct sandbox *s, const char *line, struct error *err)
{
    autofree char *code = xasprintf(
        "for a in x: a.sum()\n"
        "next(int(w.split()[1]) for w in open('/proc/self/smaps_rollup') if w.startswith('%s:'))",
        line);
    struct cell_result r = {0};

    if (sandbox_run(s, code, strlen(code), NULL, &r, err) < 0)
        return -1;
    int64_t kb = r.value ? strtoll(r.value, NULL, 10) : -1;
    if (kb < 0)
        error_set(err, ERROR_SANDBOX, 0, "no memory: %s", r.exception ? r.exception : "?");
    cell_result_release(&r);
    return kb;
}

static int sum_memory(struct sandbox *const *s, int n, struct error *err)
{
    static const char *const lines[] = {"Rss", "Pss", "Private_Dirty"};

    for (size_t k = 0; k < countof(lines); k++) {
        int64_t sum = 0;

        for (int i = 0; i < n; i++) {
            int64_t kb = memory_of(s[i], lines[k], err);

            if (kb < 0)
                return -1;
            sum += kb;
        }
        printf("%s_kb %lld ", lines[k], (long long)sum);
    }
    return 0;
}

/* How many of the others are not as they were after the first one has taken all memory. */
static int hurt(struct sandbox *const *s, int n, struct error *err)
{
    static const char eat[] = "y = []\nwhile True: y.append(bytearray(b'x' * (16 << 20)))",
                      whole[] = "assert sum(a.sum() for a in x) == 65536000";
    struct cell_result r = {0};
    struct error why;
    int bad = 0;

    if (sandbox_run(s[0], eat, strlen(eat), NULL, &r, err) < 0)
        return -1;
    int ended = r.status;
    cell_result_release(&r);
    for (int i = 1; i < n; i++)
        bad += run_cell(s[i], whole, &why) < 0;
    printf("ended %d hurt %d ", ended, bad);
    return 0;
}

static int begin_forks(const struct sandbox_options *o, struct loop *loop, struct sandbox **s, int n,
                       struct error *err)
{
    autorelease(free_box) struct sandbox *first = sandbox_new(o, loop);
    autoclose int fd = fd_sealable("bench");

    if (run_cell(first, "import numpy\nx = [numpy.ones(6553600) for i in range(10)]", err) < 0
        || sandbox_copy_out(first, fd, err) < 0)
        return -1;
    int64_t begin = clock_us();
    for (int i = 0; i < n; i++) {
        s[i] = sandbox_new(o, loop);
        if (sandbox_copy_in(s[i], fd, 1, err) < 0)
            return -1;
    }
    printf("started_ms %lld ", (long long)(clock_us() - begin) / 1000);
    return 0;
}

static int forks(const struct sandbox_options *given, struct loop *loop, int n, struct error *err)
{
    struct sandbox_options o = *given;
    struct sandbox **s = xcalloc((size_t)n, sizeof(struct sandbox *));

    o.run.memory = INT64_C(1) << 30;
    o.run.snapshots = false;
    int status = begin_forks(&o, loop, s, n, err) < 0 || sum_memory(s, n, err) < 0 ? -1 : hurt(s, n, err);
    for (int i = 0; i < n; i++)
        sandbox_free(s[i]);
    free(s);
    return status;
}

/* A cell in each language by turns, and those of Python that do as much. */
static int cells_of_languages(const struct sandbox_options *options, struct loop *loop, int n,
                              struct error *err)
{
    static const struct row {
        const char *name, *tag, *code;
    } all[] = {
        {"python", "py", "print(1)"},           {"shell", "sh", "echo 1"},
        {"javascript", "js", "console.log(1)"}, {"frame", "py", "pd.DataFrame({'n': [1]})"},
        {"sql", "sql", "select 1 as n"},
    };
    struct cell_listener quiet = {0};
    struct sandbox_options o = *options;

    o.run.memory = INT64_C(3) << 30;
    struct sandbox *s autorelease(free_box) = sandbox_new(&o, loop);
    int64_t *us = xcalloc(countof(all) * (size_t)n, sizeof *us);
    int status = run_cell(s, "import pandas as pd", err);
    for (int i = -5; i < n && status == 0; i++) /* five to warm up */
        for (size_t k = 0; k < countof(all) && status == 0; k++) {
            const struct cell_code code = {all[k].code, strlen(all[k].code),
                                           language_of_tag(all[k].tag, strlen(all[k].tag))};
            struct cell_result r autorelease(cell_result_release) = {0};
            int64_t begin = clock_us();

            status = sandbox_run_code(s, &code, &quiet, &r, err);
            us[k * (size_t)n + (size_t)(i < 0 ? 0 : i)] = r.status == CELL_OK ? clock_us() - begin : -1;
        }
    for (size_t k = 0; k < countof(all) && status == 0; k++)
        print_times(all[k].name, us + k * (size_t)n, n);
    free(us);
    return status;
}

/* Peak memory in KiB. Not getrusage: its figure is inherited from who started us. */
static long peak_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "re");

    while (f && kb < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) != 1)
            kb = -1;
    if (f)
        fclose(f);
    return kb;
}

static int flood(const struct sandbox_options *o, struct loop *loop, int megabytes, struct error *err)
{
    autorelease(free_box) struct sandbox *s = sandbox_new(o, loop);

    if (run_cell(s, "import sys", err) < 0)
        return -1;
    long before = peak_kb();
    autofree char *code = xasprintf("for i in range(%d): sys.stdout.write(('x' * 99 + '\\n') * 10486)",
                                    megabytes);
    int64_t begin = clock_us();
    if (run_cell(s, code, err) < 0)
        return -1;
    int64_t end = clock_us();
    printf("seconds %.2f rss_kb %ld grown_kb %ld", (double)(end - begin) / 1e6, peak_kb(),
           peak_kb() - before);
    return 0;
}

static int profile(const char *path, struct error *err)
{
    autojson struct json *json = seccomp_profile();
    autofree char *text = json_print(json);

    return file_write(path, text, strlen(text), err);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    int status = -1;

    if (argc != 4) {
        fprintf(stderr, "usage: cells ENGINE warm|flood|forks|languages N, cells ENGINE snapshots|copies "
                        "STATE, or cells - profile "
                        "FILE\n");
        return 2;
    }
    if (!strcmp(argv[2], "profile")) {
        status = profile(argv[3], &err);
    } else {
        struct loop *loop = loop_new();
        char dir[] = "/tmp/sandpiper-bench-XXXXXX";
        struct sandbox_options o;
        int n = (int)strtol(argv[3], NULL, 10);

        sandbox_defaults(&o);
        o.run.engine = argv[1];
        o.session_dir = mkdtemp(dir);
        if (!o.session_dir)
            error_errno(&err, "%s", dir);
        else if (!strcmp(argv[2], "warm"))
            status = warm(&o, loop, n, &err);
        else if (!strcmp(argv[2], "copies"))
            status = copies(&o, loop, argv[3], &err);
        else if (!strcmp(argv[2], "languages"))
            status = cells_of_languages(&o, loop, n, &err);
        else if (!strcmp(argv[2], "forks"))
            status = forks(&o, loop, n, &err);
        else if (!strcmp(argv[2], "snapshots"))
            status = snapshots(&o, loop, argv[3], &err);
        else
            status = flood(&o, loop, n, &err);
        loop_free(loop);
        file_remove_tree(dir);
    }
    if (status < 0)
        fprintf(stderr, "cells: %s\n", err.text);
    else
        putchar('\n');
    return status < 0;
}
