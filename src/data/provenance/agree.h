/* agree.h - do two answers to one question say the same? Pure; texts are untrusted. */
#ifndef PROVENANCE_AGREE_H
#define PROVENANCE_AGREE_H

#include "conversation/event.h"

/* Of two answers that disagree: a number of each that the other has not. Both NULL: it was yes and no. */
struct differing {
    char *first, *second;
};
void differing_release(struct differing *d);

/* Numbers decide: those of the answer that has fewer must all be in the other, as far as both are rounded;
 * those of the question do not count. Where one has no number, words decide only if both begin with yes or
 * no, or one is contained in the other; else it is UNCLEAR. differ must be zeroed; the caller releases it. */
enum verified answers_agree(const char *question, const char *first, const char *second,
                            struct differing *differ);

#endif
