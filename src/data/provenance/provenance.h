/* provenance.h - which numbers of an answer come from nowhere: from no output of code, not from the question,
 * its data or the code. Pure; texts are untrusted.
 */
#ifndef PROVENANCE_PROVENANCE_H
#define PROVENANCE_PROVENANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"
#include "provenance/numerals.h"

#define PROVENANCE_MAX 20 /* numbers that are reported */

struct provenance { /* a zeroed one is empty */
    double *source;
    size_t n, alloc;
    bool full, sorted;       /* full: too many numbers to judge by */
    struct argv unsupported; /* as they stand in the answer, each once */
};

void provenance_release(struct provenance *p);
/* A text that numbers may come from. */
void provenance_source(struct provenance *p, const char *text);
struct number_in_text {
    struct numeral value;
    const char *text; /* as it stands there, len bytes */
    size_t len;
};
/* The numbers of an answer that may be results, small ones too; at most max. Returns how many. */
size_t provenance_numbers(const char *text, struct number_in_text *out, size_t max);
/* Does the text have this number, exactly, or else as it was rounded, or in per cent or another unit? */
bool provenance_has(const char *text, const struct numeral *number, bool exactly);
/* Fills in unsupported. */
void provenance_check(struct provenance *p, const char *answer);

#endif
