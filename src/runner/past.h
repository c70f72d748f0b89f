/* past.h - the ids of sandboxes that ended, so that a client is told what became of its own: the newest
 * thousand, for a day. Their notes (served.h) go with them.
 */
#ifndef RUNNER_PAST_H
#define RUNNER_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/runners.h"

struct ended {
    char id[RUNNERS_ID + 1];
    bool expired;
    int64_t at; /* time() */
};

struct past {
    struct ended *v; /* oldest first */
    size_t n;
    bool noted; /* there are notes of them */
};

void past_add(struct past *p, const char *id, bool expired, int64_t at);
void past_sort(struct past *p); /* once they were added in any order */
void past_forget_old(struct past *p);
const struct ended *past_find(const struct past *p, const char *id); /* NULL: none */
void past_release(struct past *p);

#endif
