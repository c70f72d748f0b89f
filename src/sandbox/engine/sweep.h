/* sweep.h - remove what killed programs left: containers whose label names an owner that is provably dead,
 * with their directories and control groups; and the records of named sandboxes that have ended.
 */
#ifndef ENGINE_SWEEP_H
#define ENGINE_SWEEP_H

struct loop;

/* Begin a sweep in the background. */
void sweep_begin(struct loop *loop);
/* Wait for its end, at most 3 s, and not once the user wants to quit. What is left is removed by the next
 * start. */
void sweep_end(struct loop *loop);
/* The program is ending: continue the sweep in a process of its own, so that even a very short run removes
 * as much as any other. */
void sweep_end_in_background(struct loop *loop);
/* Sweep in a process of its own, instead of each fork of this process. */
void sweep_for_forks(void);

struct sweep_result {
    unsigned sandboxes; /* removed: sandboxes that killed programs had started */
    unsigned ended;     /* removed: what was left of named sandboxes that have ended */
    unsigned groups;    /* removed: control groups of which nothing else was left */
    unsigned failed;    /* could not be removed now; the next start tries again */
    char left[120];     /* the first of those that failed, in one line; "": none */
    char silent[200];   /* engines that did not say what they have, each with the cause; "": none */
    unsigned running;   /* private */
};

/* Count one that could not be removed, and name it if it is the first. */
void sweep_failed(struct sweep_result *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sweep at once and wait for the result, which is added to out. */
void sweep_now(struct loop *loop, struct sweep_result *out);

#endif
