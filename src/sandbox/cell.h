/* cell.h - one cell under way: its frames become a struct cell_result. Knows no deadlines; those are run.c's.
 */
#ifndef SANDBOX_CELL_H
#define SANDBOX_CELL_H

#include "sandbox/files.h"
#include "sandbox/private.h"

struct cell {
    struct request request; /* first: the request's frames come here */
    struct sandbox *sandbox;
    struct cell_result *r;
    const struct cell_listener *listener;
    bool answered;            /* the worker's result is here; files may follow */
    int64_t answered_at;      /* ms */
    int64_t blocked_ms;       /* spent in the listener: a slow reader's time is not the cell's */
    enum cell_status claimed; /* what the worker says of itself */
    struct delivery delivery;
    bool delivering, figure;
    unsigned figures; /* so far */
    char *file_name;
    uint64_t file_bytes; /* of all files so far */
    size_t file_count;
    struct buf notes;
};

void cell_begin(struct cell *c, struct sandbox *s, const struct cell_listener *l, struct cell_result *r);
void cell_end(struct cell *c); /* closes everything; the notes go into r */

#endif
