/* output.h - what a cell wrote: head and tail for a model, with exact counts, and for long output a full
 * copy on disk, up to a limit. */
#ifndef SANDBOX_OUTPUT_H
#define SANDBOX_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/newfile.h"
#include "sandbox/ledger.h"

#define OUTPUT_HALF      (32u << 10) /* bytes of the head, and of the tail */
#define OUTPUT_DISK_CELL (16u << 20)

struct output {
    char *head, *tail;                  /* tail: a ring buffer for what does not fit into the head */
    size_t head_len, tail_len, tail_at; /* tail_at: where the ring is written next */
    uint64_t bytes, lines;
    /* the copy while it grows; it gets its name at the end of the cell */
    struct newfile file;
    bool copying; /* the output is long enough for a copy */
    char *dir, *name;
    /* of the copy; NULL before output_end(), and when there is no copy */
    char *path;
    uint64_t cell_disk; /* bytes of the copy */
    bool cut;           /* the copy lacks the end: OUTPUT_DISK_CELL, or the session's quota, was reached */
    struct ledger *ledger;
    /* why the copy could not be completed and was removed; 0: it was completed */
    int disk_errno;
};

void output_init(struct output *o);
void output_release(struct output *o);
/* A cell begins. A copy will be dir/cell-N.txt; its bytes count towards the quota of ledger. */
void output_begin(struct output *o, const char *dir, unsigned cell, struct ledger *ledger);
void output_add(struct output *o, const char *data, size_t len);
void output_end(struct output *o); /* finish the copy; head, tail and counts stay */
/* Append at most max bytes of valid UTF-8. */
void output_text(const struct output *o, size_t max, struct buf *out);

#endif
