/* cell.h - one cell under way: turns its frames into a struct cell_result. Deadlines are kept in run.c.
 */
#ifndef SANDBOX_CELL_H
#define SANDBOX_CELL_H

#include "base/overwrite.h"
#include "sandbox/files.h"
#include "sandbox/private.h"

struct cell {
    struct request request; /* must be the first member: a frame handler gets only the request */
    struct cell_result *r;
    const struct cell_listener *listener;
    /* set before cell_begin(): no code for the worker, but a process beside it; or code for the interpreter
     * of another language */
    bool command;
    const struct language *language;
    bool answered;            /* the worker's result has arrived; files may follow */
    uint64_t output;          /* bytes that it wrote, of those that count */
    bool flooded;             /* it wrote more than max_output; the rest is not looked at */
    enum cell_status claimed; /* what the worker reports; not trusted */
    struct delivery delivery;
    bool delivering;
    enum file_kind kind; /* of the file that is coming */
    unsigned figures;    /* files so far that are not FILE_MADE */
    char *file_name;
    uint64_t file_bytes; /* of all files so far */
    size_t file_count;
    struct buf notes;
    struct overwrite
        settled[2]; /* of stdout and stderr: what the model is told of lines that are overwritten */
};

void cell_begin(struct cell *c, struct sandbox *s, const struct cell_listener *l, struct cell_result *r);
void cell_end(struct cell *c); /* releases everything; the notes go into r */

#endif
