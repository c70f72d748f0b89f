/* stdin.h - is stdin data for the question? It never hangs on a pipe that a parent forgot to close, never
 * takes what a parent still reads, and never loses "curl ... | sandpiper question". For exec's code it is
 * data by the same rules.
 */
#ifndef PIPE_STDIN_H
#define PIPE_STDIN_H

#include <stdbool.h>
#include <stdint.h>

#include "chat/event.h"
#include "pipe/pipe.h"

struct error;
struct loop;

struct stdin_rules {
    int fd;
    enum stdin_mode mode;
    bool closed;  /* it was closed when the program began */
    uint64_t max; /* bytes that /mnt/data takes */
    struct loop *loop;
    void (*say)(void *ctx, enum notice_level level, const char *line);
    void *ctx;
};

struct stdin_data {
    bool any;
    int fd; /* to be read from where it stands to its end; -1: none. Owned */
    uint64_t size;
};

/* Decide, wait, read. 0: see d. -1: ERROR_USAGE (too much), ERROR_CANCELLED, ERROR_SYSTEM. */
int stdin_take(const struct stdin_rules *r, struct stdin_data *d, struct error *err);
/* What it is called in the sandbox: "stdin" with the extension that its content tells. The caller's. */
char *stdin_data_name(const struct stdin_data *d);
void stdin_data_release(struct stdin_data *d);

#endif
