/* sandbox.h - one locked-down, long-lived place where Python runs; its variables live from cell to cell.
 *
 * sandbox_start() begins the start-up and returns; the loop carries it on while the caller waits for
 * something else. Everything that needs the sandbox waits for it first. A worker that dies is replaced, by a
 * copy from before the cell where there is one (state_restored); a container that is gone is replaced too;
 * all is told in the result (state_lost). Everything from inside is hostile: deadlines, exit status, memory
 * kills and sizes are measured out here. Prints nothing.
 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "chat/cell_result.h"
#include "engine/options.h"
#include "engine/sweep.h"

struct error;
struct loop;
struct sandbox;

struct sandbox *sandbox_new(const struct sandbox_options *o, struct loop *loop);
/* Ends it; one with a name lives on. The engine may take a moment longer to remove a container, which a
 * process of its own waits for. */
void sandbox_free(struct sandbox *s);

/* May a sandbox be called so? ERROR_USAGE, one line. */
int sandbox_name_check(const char *name, struct error *err);
/* Take the name in o->name, so that nobody else gets it meanwhile; without one there is nothing to do.
 * ERROR_SANDBOX: another program holds it; or one runs whose engine is another than asked for by name, or
 * that allows more than asked for. Else the options become those of the one that runs. */
int sandbox_claim(struct sandbox *s, struct error *err);
/* The limits in force, which are those of the one that runs. */
const struct sandbox_options *sandbox_options(const struct sandbox *s);

void sandbox_start(struct sandbox *s); /* in the background; calling again does nothing */
/* until it is ready. ERROR_SANDBOX: cause and remedy, two lines */
int sandbox_wait(struct sandbox *s, struct error *err);
/* has the start been given up? err: why. Does not wait */
bool sandbox_failed(const struct sandbox *s, struct error *err);
const char *sandbox_engine(const struct sandbox *s); /* "docker", ...; "" before it is known */
/* NULL: before it is known, and where the engine has none */
const char *sandbox_image(const struct sandbox *s);
/* the one it was started under, where that is not the engine's own; or NULL */
const char *sandbox_runtime(const struct sandbox *s);
/* "docker, image sandpiper:latest": what it runs on, or what it will most likely, as it did the last time;
 * NULL when nobody can say. The caller frees. */
char *sandbox_place(struct sandbox *s);

/* What the interpreter inside can import of the packages worth naming to a model: "numpy 1.24, pandas 1.5" or
 * "". Known without a start where it is remembered or can be seen from outside, else waits for the start.
 * Valid until the next call. */
const char *sandbox_packages(struct sandbox *s, struct error *err);
const char *sandbox_python(struct sandbox *s); /* "3.11" or "" */

#define SANDBOX_CODE_MAX (1u << 20) /* bytes of code that one cell takes */

struct cell_listener { /* may be NULL */
    void *ctx;
    /* output as it comes, raw bytes; false: stop reading until the loop serves it again (back-pressure, only
     * exec wants it) */
    void (*output)(void *ctx, int stream, const char *text, size_t len);
    /* whose interrupt of the loop ended the code; NULL: the user's */
    const char *(*interrupter)(void *ctx);
};

/* Run one cell. 0: it was run, see r->status (an exception is a normal result). -1: there is no sandbox
 * (ERROR_SANDBOX). An interrupt of the loop sends SIGINT to the code; a second within a second, or code that
 * does not end within 2 s, kills the worker. Reaching cell_ms takes the same ladder. */
int sandbox_run(struct sandbox *s, const char *code, size_t len, const struct cell_listener *l,
                struct cell_result *r, struct error *err);

/* sys.argv of the cells that follow, byte for byte as os.fsencode() gives it back. -1: ERROR_SANDBOX,
 * ERROR_CANCELLED, ERROR_USAGE (too long). */
int sandbox_set_arguments(struct sandbox *s, char *const *argv, size_t n, struct error *err);

/* Head and tail of the cell's output for a model: stdout and stderr in the order they came, the value, cut to
 * max bytes with exact counts of what was left out. Call before cell_result_release of the same cell; the
 * sandbox keeps the last cell's head and tail. */
void sandbox_output_text(struct sandbox *s, size_t max, struct buf *out);

/* Put a file into /mnt/data from fd (read to its end, at most data_size bytes: more is ERROR_USAGE with both
 * sizes). Returns its bytes, or -1. */
int64_t sandbox_put(struct sandbox *s, const char *name, int fd, struct error *err);
/* A profile of such a file, made inside: how to read it, columns, first rows, about 70 tokens. Untrusted
 * text, at most 4 KiB. */
int sandbox_profile(struct sandbox *s, const char *name, struct buf *out, struct error *err);

/* What earlier programs left in a sandbox with a name: "variables df (DataFrame), n (int); files in
 * /mnt/data: a.csv". At most some 300 bytes of untrusted text on one line; nothing when it is new or has no
 * name. Does not wait for a start. */
void sandbox_inventory(struct sandbox *s, struct buf *out);
unsigned sandbox_cells(const struct sandbox *s); /* that ran in it, those of earlier programs too */

int sandbox_reset(struct sandbox *s, struct error *err); /* a fresh interpreter; files stay */

/* Remove at once what killed programs left, and wait for it. A start does the same in the background. */
void sandbox_gc(struct loop *loop, struct sweep_result *out);

/* Sandboxes with a name. */
struct sandbox_info {
    const char *name, *engine, *image; /* engine "": it is only just being made */
    long holder;                       /* pid of the program at it; 0: nobody */
    int64_t since;                     /* time(): when it came, or when the last one went */
    int64_t created, idle;             /* time(); seconds it lives with nobody there */
    int64_t memory, memory_used;       /* limit; -1: cannot be seen */
    bool silent;                       /* nobody holds it, and it does not answer */
};
void sandbox_list(void (*fn)(void *ctx, const struct sandbox_info *info), void *ctx);
/* End one. ERROR_SANDBOX: a program holds it; ERROR_USAGE: there is none of that name. */
int sandbox_remove(const char *name, struct loop *loop, struct error *err);

/* What one engine does here, found out by a real start with these options (o->engine: not auto) and one cell.
 */
struct sandbox_check {
    bool works;
    struct error err; /* when not: cause, remedy */
    double seconds;   /* from nothing to the first result */
    char python[32];
    /* runtime: the one it was started under, where it is not the engine's own */
    char *packages, *runtime;
    bool gvisor;               /* runsc is installed, and the engine could use it */
    struct argv holds, weaker; /* a line each: limits as the kernel has them; what is weaker, and why */
    /* Seen from inside, a line each: walls that stand, and what is open. contained: every wall stands. What
     * a custom engine starts answers for itself here, so this finds mistakes, not malice. */
    struct argv walls, open;
    bool contained;
};
void sandbox_check(const struct sandbox_options *o, struct loop *loop, struct sandbox_check *out);
void sandbox_check_release(struct sandbox_check *c);

/* The argument vector that a start would use, for --dry-run. */
int sandbox_dry_run(const struct sandbox_options *o, struct argv *out, struct error *err);

#endif
