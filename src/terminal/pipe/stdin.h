/* stdin.h - decides whether stdin is data for the question (or for exec's code), and reads it. It never hangs
 * on a pipe that a parent forgot to close, never takes what a parent still reads, and never misses the data
 * of "curl ... | sandpiper question".
 */
#ifndef PIPE_STDIN_H
#define PIPE_STDIN_H

#include <stdbool.h>
#include <stdint.h>

#include "conversation/event.h"
#include "pipe/pipe.h"

struct error;
struct loop;

struct stdin_rules {
    int fd;
    enum stdin_mode mode;
    bool closed;  /* it was closed when the program started */
    uint64_t max; /* size of /mnt/data in bytes */
    struct loop *loop;
    void (*say)(void *ctx, enum notice_level level, const char *line);
    void *ctx;
};

struct stdin_data {
    bool any;
    int fd; /* owned; to be read from its present position to its end; -1: no data */
    uint64_t size;
};

/* What --stdin says: data, ignore, script or auto. */
enum stdin_mode stdin_mode_named(const char *word);
/* Decide, wait, read. 0: see d. -1: ERROR_USAGE (too much), ERROR_CANCELLED, ERROR_SYSTEM. */
int stdin_take(const struct stdin_rules *r, struct stdin_data *d, struct error *err);
/* Its name in the sandbox: "stdin" with an extension that fits its content. The caller frees. */
char *stdin_data_name(const struct stdin_data *d);
void stdin_data_release(struct stdin_data *d);

#endif
