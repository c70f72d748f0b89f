/* results.h - the file of a batch's results (-o): one JSON object a line, for each row that is done. A row
 * counts once its line is on disk, so a program that is killed asks again at most what it was asking. A
 * second start goes on with the rows that have no line. One program at a time writes to it (flock).
 *
 * Lines of OpenAI's form (openai_line.h) are read too. One that another program wrote does not say what was
 * asked, so it counts by its id alone, for the first epoch.
 */
#ifndef BATCH_RESULTS_H
#define BATCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json;
struct openai_shape;
struct results;

/* Makes the file if it is not there. A last line that was cut by a crash is removed. NULL with ERROR_USAGE:
 * it is no file of results, or another program writes to it; ERROR_SYSTEM. */
struct results *results_open(const char *path, struct error *err);
void results_free(struct results *l);
/* The same, where the batch has failed: if it made the file and has added no line, it removes it. */
void results_give_up(struct results *l);
/* Had that row a line when the file was opened? with_answer: one with an answer. */
bool results_has(const struct results *l, const char *id, const char *sha256, int64_t epoch,
                 bool with_answer);
/* Appends the line of a row: as it is, or with a shape in OpenAI's form. results_sync() brings it to the
 * disk. -1: ERROR_SYSTEM. */
int results_add(struct results *l, const struct json *line, const struct openai_shape *shape,
                struct error *err);
int results_sync(struct results *l, struct error *err);

/* Calls fn for the lines of a file of results that count: of two lines for one row and epoch, the later one.
 * -1: ERROR_USAGE. */
typedef void results_fn(void *ctx, const struct json *line);
int results_each(const char *path, results_fn *fn, void *ctx, struct error *err);
/* Does this line hold an answer? */
bool results_answered(const struct json *line);

#endif
