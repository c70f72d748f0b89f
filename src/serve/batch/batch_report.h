/* batch_report.h - what came of a batch, from its file of results: how many rows were answered, and what
 * kept the others from it; time and cost; and what differs between two runs.
 */
#ifndef BATCH_BATCH_REPORT_H
#define BATCH_BATCH_REPORT_H

struct buf;
struct error;

/* other: the results of another run of the same rows, with which they are compared; or NULL. -1:
 * ERROR_USAGE. */
int report_write(const char *path, const char *other, struct buf *out, struct error *err);
/* A table of what kept rows from being answered, a line for each cause. */
int report_causes(const char *path, struct buf *out, struct error *err);

#endif
