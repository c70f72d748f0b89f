/* histogram.c - the bounds, counting, and the text for Prometheus. */
#include "base/histogram.h"

#include "base/buf.h"

static const double bounds[][HISTOGRAM_BOUNDS] = {
    [HISTOGRAM_SECONDS] = {0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600},
    [HISTOGRAM_TOKENS] = {30, 100, 300, 1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3, 128e3, 256e3, 512e3, 1e6},
    [HISTOGRAM_DOLLARS] = {1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100},
};

void histogram_add(struct histogram *h, enum histogram_of of, double value)
{
    size_t i = 0;

    while (i < HISTOGRAM_BOUNDS && value > bounds[of][i])
        i++;
    if (i < HISTOGRAM_BOUNDS)
        h->within[i]++;
    h->n++;
    h->sum += value;
}

void histogram_print(const struct histogram *h, enum histogram_of of, const char *name, const char *help,
                     struct buf *out)
{
    uint64_t so_far = 0;

    buf_addf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++)
        buf_addf(out, "%s_bucket{le=\"%.15g\"} %llu\n", name, bounds[of][i],
                 (unsigned long long)(so_far += h->within[i]));
    buf_addf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.15g\n%s_count %llu\n", name,
             (unsigned long long)h->n, name, h->sum, name, (unsigned long long)h->n);
}
