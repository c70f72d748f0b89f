/* batch_report.c - counts the lines of a file of results. */
#include "batch/batch_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "batch/results.h"
#include "json/json.h"

#define CAUSES_MAX  20
#define CAUSE_BYTES 120 /* of an error; what follows differs from row to row */

struct cause {
    char *text;
    size_t n;
    char *example; /* the id of a row */
};

struct totals {
    size_t rows, answered;
    int64_t tokens;
    double cost, seconds;
    double *times;                       /* seconds of each row */
    struct cause causes[CAUSES_MAX + 1]; /* the last: all others */
    size_t n_causes;
    struct json *answers; /* by id and epoch; NULL: not wanted */
};

static void totals_release(struct totals *t)
{
    for (size_t i = 0; i < t->n_causes; i++) {
        free(t->causes[i].text);
        free(t->causes[i].example);
    }
    free(t->times);
    json_free(t->answers);
}

static void add_cause(struct totals *t, const struct json *line)
{
    const char *error = json_text(json_get(line, "error"));
    autofree char *first = xmemdup0(error, strcspn(error, "\n")), *clean = scrub_line(first, SCRUB_PIPE);
    autofree char *text = xasprintf("%s: %.*s", json_text(json_get(line, "status")), CAUSE_BYTES, clean);
    size_t i = 0;

    while (i < t->n_causes && strcmp(t->causes[i].text, text) != 0)
        i++;
    if (i == CAUSES_MAX && i == t->n_causes)
        xreplace(&text, xstrdup("others"));
    if (i > CAUSES_MAX)
        i = CAUSES_MAX;
    if (i == t->n_causes)
        t->causes[t->n_causes++] = (struct cause){steal(&text), 0, xstrdup(json_text(json_get(line, "id")))};
    t->causes[i].n++;
}

static void count_line(void *ctx, const struct json *line)
{
    struct totals *t = ctx;
    const struct json *usage = json_get(line, "usage");
    double seconds = json_double(json_get(line, "seconds"), 0);

    if ((t->rows & (t->rows - 1)) == 0)
        t->times = xreallocarray(t->times, t->rows ? 2 * t->rows : 1, sizeof *t->times);
    t->times[t->rows++] = seconds;
    t->seconds += seconds;
    t->tokens += json_int(json_get(usage, "input_tokens"), 0) + json_int(json_get(usage, "output_tokens"), 0);
    t->cost += json_double(json_get(usage, "cost"), 0);
    if (results_answered(line))
        t->answered++;
    else
        add_cause(t, line);
    if (t->answers) {
        autofree char *key = xasprintf("%s\n%lld", json_text(json_get(line, "id")),
                                       (long long)json_int(json_get(line, "epoch"), 1));
        json_set(t->answers, key, json_copy(json_get(line, "final_answer")));
    }
}

static void write_causes(const struct totals *t, struct buf *out)
{
    for (size_t i = 0; i < t->n_causes; i++)
        buf_addf(out, "%8s  %s (row %s)\n", count_text((int64_t)t->causes[i].n).text, t->causes[i].text,
                 t->causes[i].example);
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void write_totals(const struct totals *t, struct buf *out)
{
    buf_addf(out, "%s rows: %s answered, %s not\n", count_text((int64_t)t->rows).text,
             count_text((int64_t)t->answered).text, count_text((int64_t)(t->rows - t->answered)).text);
    write_causes(t, out);
    if (t->rows) {
        qsort(t->times, t->rows, sizeof *t->times, compare_times);
        buf_addf(out, "seconds a row: median %.1f, 90 %% below %.1f, most %.1f; %.0f in all\n",
                 t->times[t->rows / 2], t->times[t->rows * 9 / 10], t->times[t->rows - 1], t->seconds);
    }
    buf_addf(out, "tokens: %s", count_text(t->tokens).text);
    if (t->cost > 0)
        buf_addf(out, "; cost: $%.4g", t->cost);
    buf_addch(out, '\n');
}

/* Rows of both runs whose answers differ. */
static void write_differences(const struct totals *a, const struct totals *b, struct buf *out)
{
    size_t same = 0, differ = 0, missing = 0;
    struct buf list autorelease(buf_release) = BUF_INIT(1 << 20);

    for (const struct json *one = json_first(a->answers); one; one = json_next(one)) {
        const struct json *two = json_get(b->answers, json_key(one));

        if (!two) {
            missing++;
        } else if (json_same(one, two)) {
            same++;
        } else {
            autofree char *x = json_print(one), *y = json_print(two);
            differ++;
            buf_addf(&list, "  %.*s: %.60s -> %.60s\n", (int)strcspn(json_key(one), "\n"), json_key(one), x,
                     y);
        }
    }
    buf_addf(out, "compared: %s have the same answer, %s another, %s are in the first alone\n",
             count_text((int64_t)same).text, count_text((int64_t)differ).text,
             count_text((int64_t)missing).text);
    buf_add(out, buf_str(&list), list.len);
}

static int count_file(const char *path, struct totals *t, struct error *err)
{
    return results_each(path, count_line, t, err);
}

int report_write(const char *path, const char *other, struct buf *out, struct error *err)
{
    struct totals a autorelease(totals_release) = {.answers = other ? json_object() : NULL};
    struct totals b autorelease(totals_release) = {.answers = other ? json_object() : NULL};

    if (count_file(path, &a, err) < 0 || (other && count_file(other, &b, err) < 0))
        return -1;
    write_totals(&a, out);
    if (other) {
        buf_addf(out, "\n%s:\n", other);
        write_totals(&b, out);
        buf_addch(out, '\n');
        write_differences(&a, &b, out);
    }
    return 0;
}

int report_causes(const char *path, struct buf *out, struct error *err)
{
    struct totals t autorelease(totals_release) = {0};

    if (count_file(path, &t, err) < 0)
        return -1;
    write_causes(&t, out);
    return 0;
}
