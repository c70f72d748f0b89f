/* cells.c - time cells through src/sandbox, as the agent runs them.
 *
 *     cells ENGINE warm N     p50 and p99 of a warm print(1), microseconds, and the time to the first result
 *     cells ENGINE flood MB   one cell that prints MB megabytes: seconds, and our own peak memory in kB
 *     cells ENGINE parked none|numpy|objects
 *                             p50 of print(1) with and without a parked copy, 20 ms apart and in rows without
 *                             a pause; state of 500 MB
 *     cells - profile FILE    write the seccomp profile that containers get
 *     cells ENGINE floor N    the same exchange over bare pipes with an uncontained python3 (no ENGINE)
 *
 * One line of "key value" pairs on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/json.h"
#include "sandbox/sandbox.h"
#include "limits/seccomp.h"

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
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

static void print_times(int64_t *us, int n)
{
    qsort(us, (size_t)n, sizeof *us, by_value);
    printf("p50_us %lld p99_us %lld", (long long)us[n / 2], (long long)us[n * 99 / 100]);
}

static int warm(struct sandbox *s, int n, struct error *err)
{
    int64_t begin = clock_us();
    if (run_cell(s, "print(1)", err) < 0)
        return -1;
    printf("first_ms %.1f ", (double)(clock_us() - begin) / 1000);
    int64_t *us = xcalloc((size_t)n, sizeof *us);
    for (int i = 0; i < n; i++) {
        int64_t t = clock_us();
        if (run_cell(s, "print(1)", err) < 0)
            return -1;
        us[i] = clock_us() - t;
    }
    print_times(us, n);
    free(us);
    return 0;
}

/* A cell's microseconds, or -1. */
static int64_t time_cell(struct sandbox *s, struct error *err)
{
    int64_t begin = clock_us();

    return run_cell(s, "print(1)", err) < 0 ? -1 : clock_us() - begin;
}

/* What a parked copy costs: the same cells in two sandboxes by turns, with and without one. First 20 ms
 * apart, then in rows without a pause, as long as rows may be and still have a copy made after each cell; the
 * first of a row had its pause. */
static int parked(const struct sandbox_options *options, struct loop *loop, const char *state,
                  struct error *err)
{
    enum { APART = 100, ROWS = 20, ROW = 8 };
    const char *prepare = !strcmp(state, "numpy")
                              ? "import numpy\nx = [numpy.ones(6553600) for i in range(10)]"
                          : !strcmp(state, "objects") ? "x = [str(i) * 3 for i in range(6500000)]"
                                                      : "x = 1";
    int64_t apart[2][APART], row[2][ROWS * ROW];
    int status = 0;

    struct sandbox *s[2] = {NULL, NULL};
    for (int on = 0; on < 2; on++) {
        struct sandbox_options o = *options;
        o.snapshots = on;
        o.memory = INT64_C(3) << 30;
        s[on] = sandbox_new(&o, loop);
        status = status < 0 ? -1 : run_cell(s[on], prepare, err);
    }
    for (int i = 0; i < APART && status == 0; i++) {
        usleep(20000);
        for (int on = 0; on < 2 && status == 0; on++)
            status = (apart[on][i] = time_cell(s[on], err)) < 0 ? -1 : 0;
    }
    for (int i = 0; i < ROWS && status == 0; i++)
        for (int on = 0; on < 2 && status == 0; on++) {
            usleep(100000);
            time_cell(s[on], err);
            for (int k = 0; k < ROW && status == 0; k++)
                status = (row[on][i * ROW + k] = time_cell(s[on], err)) < 0 ? -1 : 0;
        }
    for (int on = 0; on < 2; on++) {
        sandbox_free(s[on]);
        if (status < 0)
            continue;
        qsort(apart[on], APART, sizeof *apart[on], by_value);
        qsort(row[on], (size_t)ROWS * ROW, sizeof *row[on], by_value);
        printf("%s_apart_us %lld %s_row_us %lld ", on ? "on" : "off", (long long)apart[on][APART / 2],
               on ? "on" : "off", (long long)row[on][ROWS * ROW / 2]);
    }
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

static int flood(struct sandbox *s, int megabytes, struct error *err)
{
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

/* What the exchange costs with nothing around it: a line of code in, its output and one byte of result back.
 */
static int bare(int n, struct error *err)
{
    static const char guest[] = "import sys,os\n"
                                "g={'__name__':'__main__'}\n"
                                "for line in sys.stdin:\n"
                                "  exec(compile(line,'<cell>','exec'),g)\n"
                                "  sys.stdout.flush()\n"
                                "  os.write(1,b'.')\n";
    int in[2], out[2];
    if (pipe(in) < 0 || pipe(out) < 0)
        return error_errno(err, "pipe");
    struct argv argv = ARGV_INIT;
    argv_pushl(&argv, "/usr/bin/python3", "-I", "-S", "-u", "-c", guest, NULL);
    struct child_options o = {.argv = argv.v, .in = in[0], .out = out[1], .err = 2};
    pid_t pid = child_spawn(&o, err);
    argv_release(&argv);
    if (pid < 0)
        return -1;
    close(in[0]);
    close(out[1]);
    int64_t *us = xcalloc((size_t)n, sizeof *us);
    for (int i = -1; i < n; i++) {
        char buf[64];
        size_t got = 0;
        int64_t t = clock_us();
        if (fd_write_all(in[1], "print(1)\n", 9) < 0)
            return error_errno(err, "write");
        while (got < 3) {
            ssize_t r = read(out[0], buf + got, sizeof buf - got);
            if (r <= 0)
                return error_errno(err, "read");
            got += (size_t)r;
        }
        if (i >= 0)
            us[i] = clock_us() - t;
    }
    print_times(us, n);
    free(us);
    close(in[1]);
    int status;
    child_wait(pid, 2000, &status);
    close(out[0]);
    return 0;
}

static int profile(const char *path, struct error *err)
{
    autojson struct json *json = seccomp_profile();
    autofree char *text = json_print(json);

    return file_write(path, text, strlen(text), 0600, err);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(
            stderr,
            "usage: cells ENGINE warm|flood|floor N, cells ENGINE parked STATE, or cells - profile FILE\n");
        return 2;
    }
    struct error err = {0};
    int n = (int)strtol(argv[3], NULL, 10), status = -1;
    if (!strcmp(argv[2], "floor")) {
        status = bare(n, &err);
    } else if (!strcmp(argv[2], "profile")) {
        status = profile(argv[3], &err);
    } else {
        struct loop *loop = loop_new();
        char dir[] = "/tmp/sandpiper-bench-XXXXXX";
        struct sandbox_options o;
        sandbox_defaults(&o);
        o.engine = argv[1];
        o.session_dir = mkdtemp(dir);
        struct sandbox *s = sandbox_new(&o, loop);
        if (strcmp(argv[2], "parked") != 0)
            sandbox_start(s);
        if (!o.session_dir)
            error_errno(&err, "%s", dir);
        else if (!strcmp(argv[2], "warm"))
            status = warm(s, n, &err);
        else if (!strcmp(argv[2], "parked"))
            status = parked(&o, loop, argv[3], &err);
        else
            status = flood(s, n, &err);
        sandbox_free(s);
        loop_free(loop);
        file_remove_tree(dir);
    }
    if (status < 0)
        fprintf(stderr, "cells: %s\n", err.text);
    else
        putchar('\n');
    return status < 0;
}
