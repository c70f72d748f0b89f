/* think.h - take <think>...</think> off the beginning of a reply's text, streaming. Only there: later it is prose about the tag. */
#ifndef LLM_THINK_H
#define LLM_THINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct think {
    int state;
    bool thought;               /* a <think> part came and ended */
    struct buf held;            /* what may still become a tag */
};

void think_init(struct think *t);
void think_release(struct think *t);
/* Appends text to out and reasoning to inner. */
void think_feed(struct think *t, const char *s, size_t n, struct buf *out, struct buf *inner);
void think_end(struct think *t, struct buf *out, struct buf *inner);

#endif
