/* cmd_batch.c - "sandpiper batch": asks the questions of a file (serve/batch), and "batch report": what came
 * of them. A front, as serve is: it reads what code and models wrote, and has no key.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/size.h"
#include "batch/batch.h"
#include "batch/results.h"
#include "batch/batch_report.h"
#include "batch/rows.h"
#include "json/json.h"
#include "main/command.h"
#include "main/front.h"
#include "process/loop.h"
#include "process/signals.h"
#include "saved/session.h"
#include "show/show.h"

#define DRAW_MS        200
#define STARTING_LEAST 8 /* a start mostly waits: for the kernel, or for a scheduler */

struct progress {
    bool terminal;
    int64_t drawn;
};

static void wipe_progress(struct progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = 0;
}

/* "12s", "4m10s", "3h05m" */
static struct short_text time_left(int64_t s)
{
    struct short_text out;

    if (s < 60)
        snprintf(out.text, sizeof out.text, "%ds", (int)s);
    else if (s < 3600)
        snprintf(out.text, sizeof out.text, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else
        snprintf(out.text, sizeof out.text, "%lldh%02dm", (long long)(s / 3600), (int)(s / 60 % 60));
    return out;
}

/* Adds a part of the line if it fits. Behind it there is room for the ^C that a terminal echoes: a line
 * that is wrapped could not be wiped. */
static void add_to_progress(struct buf *line, char *part)
{
    autofree char *owned = part;

    if ((int)(line->len + strlen(owned)) < show_width(2) - 3)
        buf_addstr(line, owned);
}

/* One line at a terminal, drawn again in its place; nothing in a pipe. */
static void draw_progress(void *ctx, const struct batch_counts *n)
{
    struct progress *p = ctx;
    int64_t now = clock_ms(), ms = now - n->began;
    size_t done = n->answered + n->failed;

    if (!p->terminal || now - p->drawn < DRAW_MS)
        return;
    p->drawn = now;
    struct buf line autorelease(buf_release) = BUF_INIT(512);
    add_to_progress(
        &line, xasprintf("%s of %s done", count_text((int64_t)done).text, count_text((int64_t)n->rows).text));
    if (n->failed)
        add_to_progress(&line, xasprintf(", %s failed", count_text((int64_t)n->failed).text));
    add_to_progress(&line, xasprintf(", %zu running", n->running));
    if (done && ms > 1000) {
        double rate = (double)done * 1000 / (double)ms;

        add_to_progress(&line,
                        xasprintf(", %s left", time_left((int64_t)((double)(n->rows - done) / rate)).text));
        add_to_progress(&line, xasprintf(", %.3g/s", rate));
    }
    if (n->cost > 0)
        add_to_progress(&line, xasprintf(", $%.2f", n->cost));
    add_to_progress(&line, xasprintf(", %s tokens", count_text(n->tokens).text));
    fprintf(stderr, "\r%s\033[K", buf_str(&line));
}

static void say_between(void *ctx, const char *line)
{
    wipe_progress(ctx);
    print_line(line);
}

/* How many sandboxes start at once: each takes a processor for a while. */
static unsigned starting(const struct front_settings *set)
{
    cpu_set_t mine;
    int n = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;

    return (unsigned)(set->max_starting ? set->max_starting : n < STARTING_LEAST ? STARTING_LEAST : n);
}

static int read_jobs(const char *text, unsigned *jobs, struct error *err)
{
    char *end;
    long n = strtol(text, &end, 10);

    *jobs = 0;
    if (!strcmp(text, "auto"))
        return 0;
    if (*end || n < 1 || n > 1000)
        return error_set(err, ERROR_USAGE, 0,
                         "--jobs: expected auto or a number from 1 to 1000, found \"%s\"", text);
    *jobs = (unsigned)n;
    return 0;
}

/* The folder that the file of rows is in, for the files that rows name. */
static char *rows_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return !slash ? xstrdup(".") : slash == path ? xstrdup("/") : xmemdup0(path, (size_t)(slash - path));
}

static int print_report(const char *path, const char *other, struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    if (report_write(path, other, &out, err) < 0)
        return -1;
    return print_out(buf_str(&out), out.len);
}

/* What is left, and why, on stderr. */
static int tell_batch_end(const struct front_settings *set, const struct batch_counts *n, struct error *err)
{
    size_t left = n->rows - n->answered - n->failed;

    if (!set->quiet) {
        struct buf line autorelease(buf_release) = BUF_INIT(0);

        buf_addf(&line, "%s answered, %s failed, %s left", count_text((int64_t)n->answered).text,
                 count_text((int64_t)n->failed).text, count_text((int64_t)left).text);
        if (n->before)
            buf_addf(&line, ", %s done before", count_text((int64_t)n->before).text);
        buf_addf(&line, "; results: %s", set->output);
        if (left)
            buf_addstr(&line, "\nThe same command goes on with what is left");
        if (n->failed)
            buf_addstr(&line, "\n--retry-failed asks those again that failed");
        print_line(buf_str(&line));
    }
    if (n->failed) {
        struct buf causes autorelease(buf_release) = BUF_INIT(0);

        if (report_causes(set->output, &causes, err) < 0)
            return -1;
        print_plain(buf_str(&causes));
    }
    return n->failed || left ? 1 : 0;
}

static int ask_rows(const struct front *f, struct loop *loop, const struct rows *rs, struct results *l,
                    struct error *err)
{
    const struct front_settings *set = &f->set;
    struct progress p = {.terminal = isatty(2) && !set->quiet};
    autofree char *folder = rows_folder(f->names->v[0]);
    struct batch_options o = {.loop = loop,
                              .starter = f->starter,
                              .rows = rs,
                              .results = l,
                              .folder = folder,
                              .out_dir = set->out_dir,
                              .prepare = set->prepare,
                              .only = set->only,
                              .limit = (size_t)set->limit,
                              .shuffle = set->shuffle,
                              .epochs = set->epochs,
                              .max_errors = set->max_errors,
                              .max_tokens = set->max_tokens_total,
                              .max_cost = set->max_cost,
                              .retry_failed = set->retry_failed,
                              .starting = starting(set),
                              .openai = set->format != NULL,
                              .progress = draw_progress,
                              .notice = say_between,
                              .ctx = &p};
    struct batch_counts n;

    if (read_jobs(set->jobs, &o.jobs, err) < 0)
        return -1;
    int status = batch_run(&o, &n, err);
    wipe_progress(&p);
    if (status < 0)
        return -1;
    status = tell_batch_end(set, &n, err);
    return loop_cancelled(loop) ? loop_exit_code(loop) : status;
}

static int run_batch(const struct front *f, struct loop *loop, struct error *err)
{
    const struct front_settings *set = &f->set;
    const struct argv *names = f->names;

    if (!names->n)
        return error_set(err, ERROR_USAGE, 0,
                         "batch needs a file of questions: sandpiper batch questions.csv -o answers.jsonl");
    if (!strcmp(names->v[0], "report") && (names->n == 2 || names->n == 3))
        return print_report(names->v[1], names->n == 3 ? names->v[2] : NULL, err);
    if (!set->output)
        return error_set(err, ERROR_USAGE, 0, "batch needs -o FILE, which gets a line for each answer");
    if (set->format && strcmp(set->format, "openai") != 0)
        return error_set(err, ERROR_USAGE, 0, "batch has the format openai, or its own without --format");
    if (names->n > (set->settle ? 2u : 1u))
        return error_set(err, ERROR_USAGE, 0, "batch asks the questions of one file");
    autofree char *out = set->out_dir ? session_out_dir(set->out_dir, err) : NULL;
    if (set->out_dir && !out)
        return -1;
    struct rows *rs = rows_open(names->v[0], set->template, err);
    struct results *l = rs ? results_open(set->output, err) : NULL;
    int status = !l            ? -1
                 : set->settle ? batch_settle(rs, l, set->settle, names->n > 1 ? names->v[1] : "", err)
                               : ask_rows(f, loop, rs, l, err);
    if (status < 0)
        results_give_up(l);
    else
        results_free(l);
    rows_free(rs);
    return status;
}

int cmd_batch(const struct front *f)
{
    struct loop *loop = loop_new();
    struct error err = {0};
    int status = loop_signals(loop, &err) < 0 ? -1 : run_batch(f, loop, &err);

    if (status < 0)
        status = print_failure(&err);
    loop_free(loop);
    return status;
}
