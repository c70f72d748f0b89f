/* histogram.h - how often a figure was within each of a few bounds, as Prometheus counts it. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 14

struct buf;

struct histogram {
    uint64_t within[HISTOGRAM_BOUNDS]; /* up to each bound, and not up to the one before */
    uint64_t n;                        /* all of them, also those above the last bound */
    double sum;
};

enum histogram_of { HISTOGRAM_SECONDS, HISTOGRAM_TOKENS, HISTOGRAM_DOLLARS }; /* which bounds it has */

void histogram_add(struct histogram *h, enum histogram_of of, double value);
/* Writes it in the text format of Prometheus, with its HELP and TYPE. */
void histogram_print(const struct histogram *h, enum histogram_of of, const char *name, const char *help,
                     struct buf *out);

#endif
