/* sweep.h - remove what killed programs left: containers whose label names an owner that is proven dead,
 * their directories and control groups; records of sandboxes that have ended.
 */
#ifndef ENGINE_SWEEP_H
#define ENGINE_SWEEP_H

struct loop;

/* Remove what killed programs left: containers whose label names an owner that is proven dead, their
 * directories and cgroups. */
void sweep_begin(struct loop *loop);
/* Wait until that is done, at most 3 s and not when the user wants to go. What is not done then is for the
 * next start. */
void sweep_end(struct loop *loop);
/* The program ends: a process of its own does that, so that a start which is over in a moment removes as much
 * as any other. */
void sweep_end_in_background(struct loop *loop);

struct sweep_result {
    unsigned sandboxes; /* removed: what killed programs had started */
    unsigned ended;     /* what was left of sandboxes with a name that had come to their end */
    unsigned groups;    /* control groups of which nothing else was left */
    unsigned failed;    /* could not be removed now; the next start tries again */
    char left[120];     /* what the first of those is: one line; "" none */
    unsigned running;   /* private */
};

/* Count and name one that could not be removed. */
void sweep_failed(struct sweep_result *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Remove at once what killed programs left, and wait for it. Adds to out. */
void sweep_now(struct loop *loop, struct sweep_result *out);

#endif
