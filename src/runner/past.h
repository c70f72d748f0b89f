/* past.h - remembers the ids of sandboxes that ended, so that a client can be told what became of its own:
 * the newest thousand, for a day. When an id is forgotten, its note (served.h) is removed too.
 */
#ifndef RUNNER_PAST_H
#define RUNNER_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/runners.h"

struct ended {
    char id[RUNNERS_ID + 1];
    bool expired; /* nobody used it for too long; if not, it was stopped */
    int64_t at;   /* time() when it ended */
};

struct past {
    struct ended *v; /* oldest first */
    size_t n;
    bool noted; /* each has a note */
};

void past_add(struct past *p, const char *id, bool expired, int64_t at);
void past_sort(struct past *p); /* call this after they were added in any order */
void past_forget_old(struct past *p);
const struct ended *past_find(const struct past *p, const char *id); /* NULL: none */
void past_release(struct past *p);

#endif
