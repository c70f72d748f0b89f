/* batch.h - asks the questions of a file, several at once, each in a sandbox of its own, and writes a line
 * for each (results.h). Like every front it runs no code and has no key: runners (front/runner.h) ask and
 * run.
 *
 *  * A service that cannot be reached, refuses the key or has no more quota would fail all rows, and so would
 * an engine that starts no sandbox. Such rows get no line: after BATCH_LOST of them, one behind the other,
 * the batch ends. A service that has answered rows of this run is waited for first, BATCH_PATIENCE_MS at
 * least, while one row at a time asks it.
 *  * How many are asked at once: options.jobs, or as many as the service takes. It begins with BATCH_JOBS,
 * has one more for each round of answers in which nothing was refused, and halves when a service refuses
 * (429, 503); then no row begins before the time that the service named is over.
 */
#ifndef BATCH_BATCH_H
#define BATCH_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json;
struct results;
struct loop;
struct rows;

#define BATCH_JOBS        8
#define BATCH_JOBS_MOST   64
#define BATCH_LOST        3
#define BATCH_PATIENCE_MS 60000

struct batch_counts {
    size_t rows, before; /* to be done, of this run; those that had a line already */
    size_t answered, failed, running;
    unsigned jobs;  /* at once, at present */
    int64_t tokens; /* in and out */
    double cost;    /* dollars; < 0: unknown */
    int64_t began;  /* clock_ms() */
    bool stopping;  /* no further row begins */
};

struct batch_options { /* all is borrowed */
    struct loop *loop;
    int starter;
    const struct rows *rows;
    struct results *results;
    const char *folder;  /* in which files of rows are looked for */
    const char *out_dir; /* files that code makes go to out_dir/ID/; NULL: they are lost */
    const char *prepare; /* a file that makes what all rows begin with (prepare.h); or NULL */
    const char *only;    /* the id of the one row that is asked; or NULL */
    unsigned jobs;       /* 0: automatic */
    unsigned starting;   /* the most sandboxes that start at once */
    size_t limit;        /* the most rows; 0: all */
    int64_t shuffle;     /* the seed of their order; 0: as in the file */
    int epochs;          /* how often each row is asked */
    int max_errors;      /* stop after so many rows without an answer; 0: never */
    int64_t max_tokens;  /* of all rows; 0: no limit */
    double max_cost;     /* the same in dollars */
    bool retry_failed;   /* also ask the rows that have a line without an answer */
    bool openai;         /* write OpenAI's output lines */
    void (*progress)(void *ctx, const struct batch_counts *n); /* something has changed */
    void (*notice)(void *ctx, const char *line);
    void *ctx;
};

/* Asks until all rows are done, a limit is reached or the user stops it: the first Ctrl-C lets the rows
 * that are being asked end, the second leaves them to the next run, as SIGTERM does. Returns 0, or -1 with
 * err: nothing can be asked at all (no model, a key that is refused), or the file of results cannot be
 * written. */
int batch_run(const struct batch_options *o, struct batch_counts *n, struct error *err);

/* Gives the row with this id a line with the status "settled" and the user's reason, so that it is not asked
 * again. -1: ERROR_USAGE: there is no such row. */
int batch_settle(const struct rows *rs, struct results *l, const char *id, const char *reason,
                 struct error *err);

#endif
