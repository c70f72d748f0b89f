/* compare.h - is what came of a receipt's code what the receipt says? Pure; all texts are untrusted.
 *
 * Some things change from one run to the next and say nothing of the result. An address (0x7f...) is never
 * compared, the order within a set neither. What else differs is looked at in a second run, where there is
 * one: a time or a random number is another once more, and is told as changing. A number of an answer that
 * changes is a difference all the same. Figures and pictures are the same where their bytes are; where
 * not, they are told as not compared. */
#ifndef RECEIPT_COMPARE_H
#define RECEIPT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"

struct receipt;

struct comparison {
    size_t pieces, lines, values, files, figures; /* that were compared and are the same */
    size_t differences;
    /* the first of them: "piece 2, line 3 of its output", and what stood there */
    char *where, *then, *now; /* then and now may be NULL: there was nothing */
    struct argv changing;     /* where something changes from run to run */
    struct argv not_compared; /* "figure-1.png" */
    struct argv versions;     /* "numpy 1.24.2 (here 1.26.4)" */
};

/* then: the receipt. now: the same pieces as they came out here. again: once more, or NULL. Into a zeroed
 * *c; the caller releases it. */
void receipt_compare(const struct receipt *then, const struct receipt *now, const struct receipt *again,
                     struct comparison *c);
void comparison_release(struct comparison *c);

#endif
